"""One study as a sampler sees it: the trials it has taken in, the search space, and the optimizer over it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from numbo.optuna import _records
from numbo.optuna._distributions import LatestSpace, to_internal, to_space

from numbo.optimizers import GLOBAL, Optimizer
from numbo.space import Space
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

#: Running trials beyond this many (the newest count) are not looked at.
MAX_PENDING = 128
#: A running trial that so many later ones have overtaken belongs to a worker that is gone.
MAX_OVERTAKEN = 1000


class StudyView:
    """Takes in trials once each, in the order in which they finished.

    Args:
        learn_failures: whether failed trials are remembered as places to avoid.
    """

    def __init__(self, learn_failures: bool | str) -> None:
        self._complete, self._pruned = LatestSpace(), LatestSpace()
        self.optimizer: Optimizer | None = None
        self._learn_failures = learn_failures
        #: What the optimizer searches; empty before there is one.
        self.distributions: dict[str, BaseDistribution] = {}
        self.digest = 0
        self._looked_at = 0
        self._last_number = -1
        self._unfinished: list[int] = []
        self._n_finished = 0

    def continues(self, trials: Sequence[FrozenTrial]) -> bool:
        """Whether ``trials`` are those that were looked at before, and more."""
        k = self._looked_at
        return k == 0 or (len(trials) >= k and trials[k - 1].number == self._last_number)

    def sync(self, trials: Sequence[FrozenTrial]) -> None:
        """Take in what has finished since the last call."""
        unfinished = self._unfinished + list(range(self._looked_at, len(trials)))
        fresh = [trials[i] for i in unfinished if trials[i].state.is_finished()]
        self._unfinished = [i for i in unfinished if not trials[i].state.is_finished()]
        self._looked_at, self._last_number = len(trials), trials[-1].number if trials else -1
        self._n_finished += len(fresh)
        for trial in fresh:
            if trial.state == TrialState.COMPLETE:
                self._complete.add(trial)
            elif trial.state == TrialState.PRUNED:
                self._pruned.add(trial)
        if self.optimizer is not None:
            self._tell(fresh)

    @property
    def space(self) -> LatestSpace:
        """The search space of complete trials; while there are none, of pruned ones, which may have stopped short."""
        return self._complete if self._complete.known else self._pruned

    def optimizer_over(
        self,
        distributions: Mapping[str, BaseDistribution],
        trials: Sequence[FrozenTrial],
        make: Callable[[Space], Optimizer],
    ) -> Optimizer:
        """The optimizer over ``distributions``, with all finished trials that fit them told."""
        if self.optimizer is None or self.distributions != distributions:
            self.distributions = dict(distributions)
            self.digest = _records.digest(distributions)
            self.optimizer = make(to_space(distributions))
            self._tell(t for t in trials if t.state.is_finished())
        return self.optimizer

    def hold_running(self, trials: Sequence[FrozenTrial], current: int) -> None:
        """Make the running trials, other than number ``current``, the optimizer's pending points."""
        assert self.optimizer is not None
        self.optimizer.release_all()
        running = [
            trials[i]
            for i in self._unfinished
            if trials[i].state == TrialState.RUNNING
            and trials[i].number != current
            and self._n_finished - trials[i].number <= MAX_OVERTAKEN
        ]
        for trial in running[-MAX_PENDING:]:
            self._hold(trial)

    def _hold(self, trial: FrozenTrial) -> dict[str, Any] | None:
        """Make the trial's point pending; returns its internal parameters, ``None`` if unknown or out of range."""
        assert self.optimizer is not None
        record = _records.read(trial, self.digest)
        origin = GLOBAL if record is None else record[1]
        params = to_internal(trial.params, self.distributions)
        if params is None and record is not None and record[0].keys() >= self.distributions.keys():
            params = {name: record[0][name] for name in self.distributions}
        if params is None:
            return None
        try:
            self.optimizer.hold(trial.number, params, origin)
        except (ValueError, TypeError):
            return None
        return params

    def _tell(self, trials: Iterable[FrozenTrial]) -> None:
        """Tell the optimizer finished trials, in the order of their completion."""
        assert self.optimizer is not None
        for trial in sorted(trials, key=_completion):
            value = self._value(trial)
            params = self._hold(trial)
            if params is None:
                continue
            if value is None:
                self.optimizer.release(trial.number)
                self.optimizer.exclude(params)
            else:
                self.optimizer.tell(params, value, key=trial.number)

    def _value(self, trial: FrozenTrial) -> float | None:
        """What is learned from a finished trial: a value, NaN for a failure, ``None`` for nothing but its place.

        A trial that was pruned before it reported anything is a failure: that is how objectives refuse a point.
        """
        if trial.state == TrialState.COMPLETE:
            return trial.value
        if trial.state == TrialState.PRUNED:
            reported = [v for _, v in sorted(trial.intermediate_values.items()) if not math.isnan(v)]
            if reported:
                return reported[-1]
        return math.nan if self._learn_failures else None


def _completion(trial: FrozenTrial) -> tuple[float, int]:
    """Order of completion, for local times and for those with a time zone."""
    done = trial.datetime_complete
    return (-math.inf if done is None else done.timestamp(), trial.number)
