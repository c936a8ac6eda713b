"""A callback that logs what is left of a study. No mathematics here."""

from __future__ import annotations

import time
from collections import deque
from contextlib import suppress

from optuna import logging
from optuna.study import Study
from optuna.trial import FrozenTrial

from numbo import _checks
from numbo.inspection import TooEarly, usual_interval
from numbo.inspection.ending import NEWEST
from numbo.inspection.words import rounded
from numbo.optuna._inspection import NothingVaries
from numbo.optuna._looking import remaining, sampler_of


class Progress:
    """Logs what is left of a call of ``optimize``: what its other trials would bring (`remaining`), and the time.

        study.optimize(objective, n_trials=200, callbacks=[Progress(n_trials=200)])

    The logger ``"optuna.numbo"`` says it at info level. Make one for each call: it counts the trials of this process
    from its first one on.

    Args:
        n_trials: that of ``optimize``, which does not tell a callback. This or ``timeout`` has to be given.
        timeout: likewise, in seconds.
        every: number of trials from one line to the next.

    Raises:
        ValueError: for an unsupported value; when it is called, if the study's sampler is not one of numbo's.
    """

    def __init__(self, n_trials: int | None = None, timeout: float | None = None, *, every: int = 10) -> None:
        if n_trials is None and timeout is None:
            raise ValueError("n_trials or timeout must be given, those of optimize; got None for both.")
        self._n_trials = None if n_trials is None else _checks.integer("n_trials", n_trials, 1)
        self._timeout = None if timeout is None else _checks.number("timeout", timeout, 0.0, above=True)
        self._every = _checks.integer("every", every, 1)
        self._done = 0
        #: When trials ended in seconds, the first time the beginning of the first one.
        self._ends: deque[float] = deque(maxlen=NEWEST)
        self._start = 0.0

    def __repr__(self) -> str:
        return f"Progress(n_trials={self._n_trials!r}, timeout={self._timeout!r}, every={self._every!r})"

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        sampler_of(study)
        now = time.monotonic()
        if not self._done:
            self._start = now - (0.0 if trial.duration is None else trial.duration.total_seconds())
            self._ends.append(self._start)
        self._done += 1
        self._ends.append(now)
        if self._done % self._every == 0:
            logging.get_logger("optuna.numbo").info(self._line(study, now))

    def _line(self, study: Study, now: float) -> str:
        """What is done, what is left, and how long that takes."""
        interval = usual_interval(list(self._ends))
        left, seconds = self._left(interval, now)
        words = ["1 trial" if self._done == 1 else f"{self._done} trials"]
        with suppress(ValueError, RuntimeError):  # no trial counts yet, or there are several objectives
            words[0] += f", best {study.best_value:.6g}"
        if left > 0:
            with suppress(NothingVaries, TooEarly):
                words.append(str(remaining(study, left)))
            words.append(f"about {_time(seconds)} left")
        return "; ".join(words)

    def _left(self, interval: float, now: float) -> tuple[int, float]:
        """The number of further trials, and their time in seconds, at an ``interval`` from end to end."""
        trials = [] if self._n_trials is None else [max(self._n_trials - self._done, 0)]
        if self._timeout is not None:
            seconds = max(self._timeout - (now - self._start), 0.0)
            trials.append(int(min(seconds / interval, 1e6)) if interval > 0.0 else 10**6)
        left = min(trials)
        return left, left * interval


def _time(seconds: float) -> str:
    """A time in words."""
    if seconds < 120.0:
        return f"{rounded(seconds, 2)} s"
    return f"{rounded(seconds / 60.0, 2)} min" if seconds < 7200.0 else f"{rounded(seconds / 3600.0, 2)} h"
