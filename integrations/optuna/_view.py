"""A study as a sampler sees it: the trials learned so far, the search space, and the optimizer over it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from numbo.optuna import _records
from numbo.optuna._distributions import LatestSpace, to_internal, to_space

from numbo.optimizers import GLOBAL, Optimizer
from numbo.spaces import Space
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

#: Maximum number of running trials that are considered: the newest ones.
MAX_PENDING = 128
#: A running trial overtaken by more than this number of later ones belongs to a worker that is gone.
MAX_OVERTAKEN = 1000


class StudyView:
    """Adds each trial once, in the order in which they finished."""

    def __init__(self) -> None:
        self._complete, self._pruned = LatestSpace(), LatestSpace()
        self.optimizer: Optimizer | None = None
        #: What the optimizer searches; empty before there is one.
        self.distributions: dict[str, BaseDistribution] = {}
        self.digest = 0
        self._looked_at = 0
        self._last_number = -1
        self._unfinished: list[int] = []
        self._n_finished = 0
        self._warned = False

    def continues(self, trials: Sequence[FrozenTrial]) -> bool:
        """Whether ``trials`` extend the trials seen before."""
        k = self._looked_at
        return k == 0 or (len(trials) >= k and trials[k - 1].number == self._last_number)

    def sync(self, trials: Sequence[FrozenTrial]) -> None:
        """Add the trials that have finished since the last call."""
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
        """The search space of complete trials or, while there are none, of pruned ones, which may be incomplete."""
        return self._complete if self._complete.known else self._pruned

    def known_distributions(self, trials: Sequence[FrozenTrial], current: int) -> dict[str, BaseDistribution]:
        """The search space; before a trial has finished, what running trials other than ``current`` have in common."""
        if self.space.known:
            return self.space.distributions()
        running = LatestSpace()
        for i in self._unfinished:
            if trials[i].number != current:
                running.add(trials[i])
        return running.distributions()

    def optimizer_over(
        self,
        distributions: Mapping[str, BaseDistribution],
        trials: Sequence[FrozenTrial],
        make: Callable[[Space], Optimizer],
    ) -> Optimizer:
        """The optimizer over ``distributions``, told all finished trials that fit them."""
        if self.optimizer is None or self.distributions != distributions:
            self.distributions = dict(distributions)
            self.digest = _records.digest(distributions)
            self.optimizer = make(to_space(distributions))
            self._tell(t for t in trials if t.state.is_finished())
        return self.optimizer

    def hold_running(self, trials: Sequence[FrozenTrial], current: int) -> None:
        """Make the running trials other than number ``current`` the optimizer's pending points."""
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
        """Make the trial's point pending; returns its internal parameters, or ``None`` if unknown or out of range."""
        assert self.optimizer is not None
        published = _records.read(trial, self.digest)
        try:
            params, origin = self._params(trial, *(({}, GLOBAL) if published is None else published))
            self.optimizer.hold(trial.number, params, origin)
        except (ValueError, TypeError):
            return None
        return params

    def _params(self, trial: FrozenTrial, published: Mapping[str, Any], origin: int) -> tuple[dict[str, Any], int]:
        """The internal parameters that a trial is evaluated with, and the part of the search that proposed them.

        The values that the trial has used take precedence, then those enqueued and those published for it. A parameter
        that a finished trial never asked for had no influence on it: if nothing was published, it is set to the middle
        of its range.

        Raises:
            ValueError: if a value does not fit, a running trial has unknown values, or a finished trial used none.
        """
        actual = to_internal(trial.params, self.distributions)
        known = dict(actual)
        if not trial.state.is_finished():
            known = to_internal(trial.system_attrs.get("fixed_params", {}), self.distributions) | known
        elif not actual:
            raise ValueError("The trial has none of the parameters that are searched.")
        params = {name: published[name] for name in self.distributions if name in published} | known
        if any(published.get(name, value) != value for name, value in known.items()):
            origin = GLOBAL  # it was not evaluated where the search had proposed
        if params.keys() != self.distributions.keys():
            if not trial.state.is_finished():
                raise ValueError("The trial's parameters are not known yet.")
            assert self.optimizer is not None
            space = self.optimizer.space
            params = {name: params.get(name, space[name].from_unit(0.5)) for name in self.distributions}
        return params, origin

    def _tell(self, trials: Iterable[FrozenTrial]) -> None:
        """Tell the optimizer finished trials, in the order of their completion."""
        assert self.optimizer is not None
        left_out = told = 0
        for trial in sorted(trials, key=_completion):
            params = self._hold(trial)
            if params is None:
                left_out += trial.state == TrialState.COMPLETE
                continue
            self.optimizer.tell(params, self._value(trial), key=trial.number)
            told += 1
        if left_out and not self._warned:
            self._warned = True
            warnings.warn(
                f"{left_out} of {left_out + told} finished trials are not learned: they have none of the parameters "
                f"{sorted(self.distributions)}, or values outside their present ranges.",
                stacklevel=2,
            )

    @staticmethod
    def _value(trial: FrozenTrial) -> float | None:
        """The value learned from a finished trial, ``None`` for a failure.

        A trial pruned before it reported anything is a failure: that is how objectives reject a point.
        """
        if trial.state == TrialState.COMPLETE:
            return trial.value
        if trial.state == TrialState.PRUNED:
            reported = [v for _, v in sorted(trial.intermediate_values.items()) if not math.isnan(v)]
            if reported:
                return reported[-1]
        return None


def _completion(trial: FrozenTrial) -> tuple[float, int]:
    """Sort key for the order of completion, for times with and without a time zone."""
    done = trial.datetime_complete
    return (-math.inf if done is None else done.timestamp(), trial.number)
