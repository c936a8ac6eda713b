"""Where an optimizer is told the trials of a study: those that have ended, and those that run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from optuna.trial import FrozenTrial, TrialState

from numbo import _checks
from numbo.models.instances import Instances
from numbo.optimizers import GLOBAL, Optimizer
from numbo.optuna import _records
from numbo.optuna._distributions import KnownSpace, Searched, to_internal
from numbo.optuna._fixed import within
from numbo.optuna._records import Published
from numbo.optuna._warnings import warn
from numbo.spaces import misfit
from numbo.trials import UNASKED, Pending

#: A cause for which trials are not learned: a parameter, and the range that its value is not in, or the kind of cause.
Cause: TypeAlias = tuple[str, str]
#: What a finished trial has found: a value, or those of several objectives; None for a failure.
Value: TypeAlias = float | list[float] | None
CONTRADICTION = "", "contradiction"
CONTRADICTED = "contradict the conditions of search_space="
#: Maximum number of causes that a warning describes.
DESCRIBED = 3
#: So many complete trials without a cost are worth a warning. Not tuned.
MANY = 10


class Desk:
    """An optimizer over a searched space, and what it was told.

    Args:
        optimizer: the optimizer.
        searched: its space.
        by_instance: whether reports are values at instances (`Instances`), and not those of a curve.
        cost: what trials cost: ``"duration"``, or the name of a user attribute; None if costs are of no interest.
        warned: the causes that a warning has named, of all desks of a study.

    Attributes:
        identity: what records refer to.
        told: the numbers of the trials that the optimizer was told, in this order.
    """

    def __init__(
        self, optimizer: Optimizer, searched: Searched, *, by_instance: bool, cost: str | None, warned: set[Cause]
    ) -> None:
        self.optimizer = optimizer
        self.searched = searched
        self.identity = _records.Identity.of(searched)
        self.told: list[int] = []
        self._by_instance = by_instance
        self._instances = Instances()
        self._cost = cost
        #: Number of complete trials without a cost.
        self._without_cost = 0
        #: The points of running trials by their numbers, with a mark that changes if the trial does.
        self._running: dict[int, tuple[tuple[int, int, list[str], float | None], Pending | None]] = {}
        self._left_out = 0
        #: Number of trials that contradict the conditions, and were told where they fit.
        self._bent = 0
        #: Checksums of the times and results of those that have no record: all are equal only if one trial is a copy of
        #: another. Times alone may be equal, as some clocks tick every 16 ms.
        self._seen: set[int] = set()
        #: Causes for which trials were left out (`_causes_of`), with the first trial of each in words.
        self._causes: dict[Cause, str] = {}
        self._warned = warned

    def hold(self, running: Iterable[FrozenTrial]) -> None:
        """Make the ``running`` trials the optimizer's pending points."""
        known = self._running
        self._running = {}
        for trial in running:
            mark = len(trial.params), len(trial.intermediate_values), _records.pieces(trial), self._told_cost(trial)
            before = known.get(trial.number)
            if before is None or before[0] != mark:
                before = mark, self._point(trial)
            self._running[trial.number] = before
        self.optimizer.hold_only({number: p for number, (_, p) in self._running.items() if p is not None})

    def _point(self, trial: FrozenTrial) -> Pending | None:
        """A running trial's point as a pending one; None if it is unknown or out of range."""
        try:
            params, origin = self._params(trial, _records.read(trial, self.identity))
            cost = self._told_cost(trial)
            return self.optimizer.pending_point(params, origin, self._curve(trial), cost)
        except (ValueError, TypeError):
            return None

    def _params(self, trial: FrozenTrial, published: Published) -> tuple[dict[str, Any], int]:
        """The internal parameters that a trial is evaluated with, and the part of the search that proposed them.

        The values that the trial has used take precedence, then enqueued values, then ``published`` ones. A parameter
        that a finished trial never asked for had no influence on it. If no value was published, a conditional parameter
        of a complete trial is inactive. All others are set to the middle of their range, including conditional
        parameters that a trial has not used yet, or did not reach.

        A failed or running trial that contradicts the conditions counts where the values are that fit: there it is not
        to be tried again.

        Raises:
            ValueError: if a value does not fit, or a trial with a value contradicts a condition; if a trial used none,
                unless all are published.
        """
        space = self.optimizer.space
        distributions = self.searched.distributions
        optional = self.searched.optional
        actual = to_internal(trial.params, distributions)
        known = dict(actual)
        if not trial.state.is_finished():
            known = to_internal(trial.system_attrs.get("fixed_params", {}), distributions) | known
        elif not actual:
            raise ValueError("The trial has none of the parameters that are searched.")
        unused = optional if trial.state == TrialState.COMPLETE else ()
        rest = {n: v for n, v in published.params.items() if n not in known and n in distributions and n not in unused}
        params = {name: value for name, value in rest.items() if space[name].contains(value)} | known
        origin = published.origin
        if published.params and any(published.params.get(name, value) != value for name, value in known.items()):
            origin = GLOBAL  # it was not evaluated at the proposed point
        missing = distributions.keys() - optional - space.conditions.keys() - params.keys()
        if not params or (missing and not known):
            raise ValueError("The trial's parameters are not known yet.")
        params |= {name: space[name].from_unit(0.5) for name in missing}
        if space.conditions and trial.state != TrialState.COMPLETE:
            params = space.completed(params)
            if not known.keys() <= params.keys() and self._value(trial) is not None:
                raise ValueError("The trial contradicts the conditions.")
        if self.searched.ranges and trial.state != TrialState.COMPLETE:
            params = space.moved_into_ranges(params, params.keys() - known.keys())
        return params, origin

    def tell(self, trials: Iterable[FrozenTrial]) -> None:
        """Tell the optimizer finished trials, in the order of their completion."""
        for trial in sorted(trials, key=_completion):
            published = _records.read(trial, self.identity)
            value = self._value(trial)
            if self._by_instance and not isinstance(value, list):
                complete = trial.state == TrialState.COMPLETE
                value = self._instances.value(value, trial.intermediate_values, complete=complete)
            try:
                params, origin = self._params(trial, published)
                self._learn(trial, value, params, UNASKED if self._copied(trial, published) else origin)
            except (ValueError, TypeError) as error:
                if value is not None:
                    self._learn_what_fits(trial, value, published, str(error))

    def _learn(self, trial: FrozenTrial, value: Value, params: Mapping[str, Any], origin: int) -> None:
        """Tell the optimizer a finished trial at internal ``params``; `ValueError` if they do not fit."""
        self.optimizer.learn(
            params,
            value,
            origin=origin,
            key=trial.number,
            std=self._std(trial),
            partial=trial.state == TrialState.PRUNED and not self._by_instance,
            reports=self._curve(trial),
            constraints=_records.constraints_of(trial) if self.optimizer.constraints else None,
            cost=self._cost_of(trial),
        )
        self.told.append(trial.number)

    def _curve(self, trial: FrozenTrial) -> Mapping[int, float]:
        """What a trial has reported by its steps; nothing if steps are instances."""
        return {} if self._by_instance else trial.intermediate_values

    def _std(self, trial: FrozenTrial) -> float | None:
        """The known standard deviation of a complete trial's value, by its user attribute; None if it has none."""
        known = trial.user_attrs.get(_records.STD)
        if known is None or trial.state != TrialState.COMPLETE:
            return None
        if not self.optimizer.capabilities.std or len(self.optimizer.directions) > 1:
            self._warn_of(_records.STD, "is used by GSSBOSampler and GPUCBSampler alone, and with one objective.")
            return None
        if not _checks.is_finite(known) or known < 0.0:
            words = f"must be a finite number of at least 0, got {known!r} in trial {trial.number}."
            self._warn_of(_records.STD, words)
            return None
        return float(known)

    def _cost_of(self, trial: FrozenTrial) -> float | None:
        """What a finished trial has cost; None if it is not known."""
        if self._cost is None:
            return None
        if self._cost == _records.DURATION:
            return _records.seconds_of(trial)
        told = trial.user_attrs.get(self._cost)
        if told is None:
            self._without_cost += trial.state == TrialState.COMPLETE
            if self._without_cost == MANY:
                self._warn_of(self._cost, f"has no value in {MANY} complete trials: their costs are unknown.")
            return None
        cost = self._told_cost(trial)
        if cost is None:
            self._warn_of(self._cost, f"must be a number above 0, got {told!r} in trial {trial.number}.")
        return cost

    def _told_cost(self, trial: FrozenTrial) -> float | None:
        """What a trial, which may still run, says that it costs; None if it does not, or its duration counts."""
        if self._cost is None or self._cost == _records.DURATION:
            return None
        known: Any = trial.user_attrs.get(self._cost)
        return float(known) if _checks.is_finite(known) and known > 0.0 else None

    def _warn_of(self, attribute: str, words: str) -> None:
        cause = attribute, words.partition(",")[0]
        if cause not in self._warned:
            self._warned.add(cause)
            warn(f"The user attribute {attribute!r} {words}")

    def _learn_what_fits(self, trial: FrozenTrial, value: Value, published: Published, error: str) -> None:
        """Learn a trial with a value, which contradicts the conditions, where the rest of its values is.

        Where a declared condition is wrong, one point would be suggested for ever, as nothing is learned there. Other
        trials that do not fit are left out.
        """
        space = self.optimizer.space
        causes = {cause: f"trial {trial.number}: {words}" for cause, words in self._causes_of(trial, error).items()}
        contradicts = CONTRADICTION in causes
        if contradicts:
            params = published.params | to_internal(trial.params, self.searched.distributions)
            try:
                self._learn(trial, value, space.completed(params), GLOBAL)
            except ValueError:
                contradicts = False
        self._left_out += not contradicts
        self._bent += contradicts
        self._causes = causes | self._causes

    def _copied(self, trial: FrozenTrial, published: Published) -> bool:
        """Whether a finished trial was not evaluated: made from given results, or a copy of another trial.

        Trials that a sampler of numbo began say so themselves. Others count as made from results if they took no time,
        or have the times and results of another trial.
        """
        asked = _records.asked_for(trial, published)
        if asked is not None:
            return not asked
        mark = hash(repr((trial.datetime_start, trial.datetime_complete, trial.params, trial.values)))
        known = mark in self._seen
        self._seen.add(mark)
        return known or took_no_time(trial)

    def _causes_of(self, trial: FrozenTrial, error: str) -> dict[Cause, str]:
        """Why a trial is left out, in words: values outside the present ranges, or else what the ``error`` says."""
        space = self.optimizer.space
        distributions = self.searched.distributions
        out = {}
        for name in trial.params.keys() & distributions.keys():
            present = distributions[name]
            asked = trial.distributions[name]
            if name not in within(trial.params, {name: present}, space):
                also = "" if asked == present else f", and was asked for with {asked}"
                out[name, repr(present)] = f"{name} = {trial.params[name]!r} is not in {present}{also}"
        if out:
            return out
        params = to_internal(trial.params, distributions)
        if not params:
            return {("", "no parameter"): f"it has none of the parameters {sorted(distributions)}"}
        wrong = space.misfits(space.partial(params, snapped=False))
        if trial.state != TrialState.COMPLETE:  # it may have ended before it used the others
            wrong = [name for name in wrong if name in params]
        if wrong:
            error = misfit(wrong[0], wrong[0] in params, self.searched.words().get(wrong[0]))
        return {CONTRADICTION: error.removesuffix(".")}

    def _value(self, trial: FrozenTrial) -> Value:
        """The value learned from a finished trial, or those of several objectives; ``None`` for a failure."""
        return _records.value_of(trial, len(self.optimizer.directions))

    def _established(self, cause: Cause, space: KnownSpace) -> bool:
        """Whether trials are left out for good; later ones may still show that a range depends on another value."""
        name, _ = cause
        return not name or not space.undecided(name, self.searched.distributions[name])

    def warn_of_misfits(self, space: KnownSpace) -> None:
        """Warn of trials that are not learned as they are, of each cause once, as far as the ``space`` is clear."""
        fresh = [cause for cause in self._causes if cause not in self._warned and self._established(cause, space)]
        self._warned |= set(fresh)
        finished = self._left_out + len(self.told)
        if CONTRADICTION in fresh and self._bent:
            fresh.remove(CONTRADICTION)
            removed = sorted(space.usage.removed)
            said = f"used parameters that later ones do not, {removed}" if removed else CONTRADICTED
            learned = "and are learned for what fits"
            warn(f"{self._bent} of {finished} finished trials {said}, {learned}; {self._causes[CONTRADICTION]}.")
        if fresh:
            described = "; ".join(self._causes[cause] for cause in fresh[:DESCRIBED])
            warn(f"{self._left_out} of {finished} finished trials are not learned; {described}.")


def took_no_time(trial: FrozenTrial) -> bool:
    """Whether a trial was made from given results."""
    return trial.datetime_start == trial.datetime_complete


def _completion(trial: FrozenTrial) -> tuple[float, int]:
    """Sort key for the order of completion, for times with and without a time zone."""
    done = trial.datetime_complete
    return (-math.inf if done is None else done.timestamp(), trial.number)
