"""A callback that ends a study when more trials do not pay. No mathematics here."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from statistics import median
from typing import Any

from optuna import logging
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from numbo import _checks
from numbo.inspection import TooEarly
from numbo.optuna._inspection import NothingVaries
from numbo.optuna._looking import sampler_of, worthwhile

#: The user attribute of a study that says after how many finished trials it was ended, for other workers.
ENDED = "numbo:ended"
#: The time of a trial is the median of so many of the newest intervals between the ends of two.
INTERVALS = 32
FINISHED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)


class StopWhenDone:
    """Ends a study when more trials would not bring what they cost.

        study.optimize(objective, n_trials=1000, callbacks=[StopWhenDone(worth=1e-4)])

    A study goes on as long as some number of further trials, up to 100, is expected to gain more than ``worth`` for
    each of them (`worthwhile`). Workers that share a storage end together if each has the callback. The logger
    ``"optuna.numbo"`` says at info level why a study ended. A study that is continued afterwards starts to wait anew.

    Args:
        worth: the gain that has to come of a trial, or of an hour, for it to pay, in the units of the objective; of
            several objectives, of the hypervolume.
        per: ``"trial"`` or ``"hour"``. Of an hour, the time that workers together take for a trial counts.
        patience: number of finished trials in a row after which the forecast has to say so.
        n_startup_trials: number of trials that have to finish before.
        reference: of several objectives, the point up to which the hypervolume is taken; by default the worst values on
            the front, and a tenth of its range beyond.

    Raises:
        ValueError: for an unsupported value; when it is called, also if the study's sampler is not one of numbo's.
    """

    def __init__(
        self,
        worth: float,
        *,
        per: str = "trial",
        patience: int = 5,
        n_startup_trials: int = 20,
        reference: Sequence[float] | None = None,
    ) -> None:
        self._worth = _checks.number("worth", worth, 0.0, above=True)
        self._per = _checks.one_of("per", per, ("trial", "hour"))
        self._patience = _checks.integer("patience", patience, 1)
        self._n_startup_trials = _checks.integer("n_startup_trials", n_startup_trials, 1)
        self._reference = None if reference is None else tuple(reference)
        #: By study: the mark of an end that was there at first, and the number of trials in a row that did not pay.
        self._known: dict[str, Any] = {}
        self._in_vain: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"StopWhenDone(worth={self._worth!r}, per={self._per!r}, patience={self._patience!r})"

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        sampler_of(study)
        count = len(study.directions)
        if self._reference is not None and len(self._reference) != count:
            raise ValueError(f"reference must be {count} finite numbers, one an objective; got {self._reference!r}.")
        name = study.study_name
        worth = self._worth
        mark = study.user_attrs.get(ENDED)
        if mark != self._known.setdefault(name, mark):
            self._end(study)
            return
        finished = study.get_trials(deepcopy=False, states=FINISHED)
        if len(finished) < self._n_startup_trials:
            return
        if self._per == "hour":
            worth *= _hours(finished)
        if not worth > 0.0:  # trials took no time
            return
        try:
            found = worthwhile(study, worth, reference=self._reference)
        except (NothingVaries, TooEarly):
            return
        self._in_vain[name] = 0 if found is not None else self._in_vain.get(name, 0) + 1
        if self._in_vain[name] >= self._patience:
            study.set_user_attr(ENDED, len(finished))
            logging.get_logger("optuna.numbo").info(
                f"The study ends after {len(finished)} trials: no number of further ones is expected to gain "
                f"{self._worth:g} for each {self._per}."
            )
            self._end(study)

    def _end(self, study: Study) -> None:
        """End it here; if it goes on later, it starts to wait anew."""
        self._known.pop(study.study_name, None)
        self._in_vain.pop(study.study_name, None)
        study.stop()


def _hours(finished: Sequence[FrozenTrial]) -> float:
    """Hours from the end of one of the newest trials to that of the next; 0 if none is known."""
    ends = sorted(trial.datetime_complete for trial in finished if trial.datetime_complete is not None)
    newest = ends[-INTERVALS:]
    return median((b - a) / timedelta(hours=1) for a, b in pairwise(newest)) if len(newest) > 1 else 0.0
