"""A sampler's view of a study: the trials learned so far, the search space, and the optimizer over it.

Whatever ended or runs says what parameters there are: in pairs, ``benchmarks/results/compare-every-trial.md``.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, TypeAlias

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from numbo import _checks
from numbo.models.instances import Instances
from numbo.optimizers import GLOBAL, Optimizer, Snapshot
from numbo.optuna import _records
from numbo.optuna._distributions import KnownSpace, RunningSpace, Searched, to_internal, to_space
from numbo.optuna._fixed import within
from numbo.optuna._records import Published
from numbo.optuna._warnings import warn
from numbo.spaces import Space, Table, misfit
from numbo.trials import UNASKED, Pending, point_key

#: If more than this number of trials that started later have finished, and more than `ROUNDS` times as many as are
#: running and not overtaken by so many, the worker of a running trial counts as dead. Trials that nobody ran (imported
#: results, copies of older trials) do not count.
MAX_OVERTAKEN = 1000
ROUNDS = 4


#: A cause for which trials are not learned: a parameter, and the range that its value is not in, or the kind of cause.
Cause: TypeAlias = tuple[str, str]
#: What a finished trial has found: a value, or those of several objectives; None for a failure.
Value: TypeAlias = float | list[float] | None
CONTRADICTION = "", "contradiction"
CONTRADICTED = "contradict the conditions of search_space="
#: Maximum number of causes that a warning describes.
DESCRIBED = 3
#: A declared parameter that none of this many complete trials has asked for is not searched. Not tuned.
MANY = 10


class StudyView:
    """Adds each trial once, in the order in which they finished.

    Args:
        by_instance: whether reports are values at instances (`Instances`), and not those of a curve.
    """

    def __init__(self, *, by_instance: bool = False) -> None:
        self._by_instance = by_instance
        self._noted = False
        self._instances = Instances()
        #: From finished trials, of which only complete ones show which parameters the program does not use.
        self.space = KnownSpace()
        self._space_of_running = RunningSpace()
        self.optimizer: Optimizer | None = None
        self._known_constraints: tuple[str, ...] = ()
        #: The space that the optimizer searches; empty before there is an optimizer.
        self.searched = Searched({})
        self.identity = _records.Identity.of(self.searched)
        #: The table that was last compared with the study's.
        self.table: Table | None = None
        #: What trials cost: ``"duration"``, or the name of a user attribute; None if costs are of no interest.
        self.cost: str | None = None
        #: Number of complete trials without this attribute.
        self._without_cost = 0
        #: Names of the constraints that trials have.
        self.constraints: tuple[str, ...] = ()
        #: A weak reference to the storage of the study.
        self.storage: Callable[[], Any] = _no_storage
        self._finished: dict[int, FrozenTrial] = {}  # by their place
        #: The points of running trials by their numbers, with a mark that changes if the trial does.
        self._running: dict[int, tuple[tuple[int, int, list[str], float | None], Pending | None]] = {}
        self._looked_at = 0
        self._last_number = -1
        self._unfinished: list[int] = []
        #: Start times of the finished trials, ascending.
        self._starts: list[datetime] = []
        #: The numbers of the trials that the optimizer was told, in this order.
        self.told: list[int] = []
        self._left_out = 0
        #: Number of trials that contradict the conditions, and were told where they fit.
        self._bent = 0
        #: Number of complete trials that were run, and not made from results.
        self._complete = 0
        #: Whether a failed trial was told since this was set to False, and not while an optimizer catches up.
        self.heard_failure = False
        #: Checksums of the times and results of those that have no record: all are equal only if one trial is a copy of
        #: another. Times alone may be equal, as some clocks tick every 16 ms.
        self._seen: set[int] = set()
        #: Causes for which trials were left out (`_causes_of`), with the first trial of each in words.
        self._causes: dict[Cause, str] = {}
        #: The causes that a warning has named.
        self._warned: set[Cause] = set()

    @property
    def n_complete(self) -> int:
        """Number of complete trials that were run, and not made from results."""
        return self._complete

    def continues(self, trials: Sequence[FrozenTrial], *, compare_all: bool = False) -> bool:
        """Whether ``trials`` extend the trials seen before, by their number and the first and last finished ones, or
        all.

        With the first and last ones only, the time does not depend on the number of trials.
        """
        k = self._looked_at
        if k == 0:
            return not compare_all
        if len(trials) < k or trials[k - 1].number != self._last_number:
            return False
        known = self._finished
        places = list(known) if compare_all else [*islice(known, 1), *islice(reversed(known), 1)]
        return all(trials[i] is known[i] or _mark(trials[i]) == _mark(known[i]) for i in places)

    def suits(self, study: Study) -> bool:
        """Whether the study's reports are what the view takes them for, by its pruner."""
        return self._by_instance or not _records.prunes_by_instance(study)

    def note(self, study: Study) -> None:
        """Record in the study what its storage does not keep."""
        if self._by_instance and not self._noted:
            _records.note_instances(study)
            self._noted = True

    def sync(self, trials: Sequence[FrozenTrial]) -> None:
        """Add the trials that have finished since the last call."""
        unfinished = self._unfinished + list(range(self._looked_at, len(trials)))
        done = [i for i in unfinished if trials[i].state.is_finished()]
        fresh = [trials[i] for i in done]
        self._finished |= zip(done, fresh, strict=True)
        self._unfinished = [i for i in unfinished if not trials[i].state.is_finished()]
        self._looked_at = len(trials)
        self._last_number = trials[-1].number if trials else -1
        for trial in fresh:
            if trial.datetime_start is not None and self._was_run(trial):
                insort(self._starts, _naive(trial.datetime_start))
        self.space.add(fresh)
        self._complete += sum(t.state == TrialState.COMPLETE and not _took_no_time(t) for t in fresh)
        names = self.constraints
        self.constraints = tuple(sorted({*names, *(c for t in fresh for c in _records.constraints_of(t))}))
        if self.optimizer is not None:
            self.heard_failure |= any(trial.state == TrialState.FAIL for trial in fresh)
            if self.constraints == names:
                self._tell(fresh)

    def known_space(self, trials: Sequence[FrozenTrial], current: int) -> Searched:
        """The search space; before a trial has finished, that of running trials other than ``current``."""
        others = (trials[i] for i in self._unfinished if trials[i].number != current)
        running = [trial for trial in others if trial.state == TrialState.RUNNING]
        if self.space.known:
            return self.space.searched(running)
        return self._space_of_running.searched(running)

    def unused(self, declared: Searched) -> set[str]:
        """The ``declared`` parameters that no trial has asked for, once many are complete; unless that are all.

        Suggestions that differ in them only would be one point. Those that have a condition, or that others depend on,
        may still be asked for.
        """
        names = declared.distributions.keys()
        asked = self.space.names & names
        if self._complete < MANY or not asked:
            return set()
        parents = set().union(*(condition.parents for condition in declared.conditions.values()))
        left = names - asked - parents - declared.conditions.keys()
        return {name for name in left if not declared.distributions[name].single()}

    def optimizer_over(
        self,
        searched: Searched,
        trials: Sequence[FrozenTrial],
        make: Callable[[Space | Table, tuple[str, ...]], Optimizer],
    ) -> Optimizer:
        """The optimizer over the ``searched`` space, told all finished trials that fit it."""
        if self.optimizer is None or self.searched != searched or self._known_constraints != self.constraints:
            self._known_constraints = self.constraints
            self.searched = searched
            self.identity = _records.Identity.of(searched)
            self.optimizer = make(to_space(searched), self.constraints)
            self.told = []
            self._left_out = 0
            self._bent = 0
            self._running = {}
            self._causes = {}
            self._seen = set()
            self._without_cost = 0
            self._instances = Instances()
            self._tell(t for t in trials if t.state.is_finished())
        self._warn_of_misfits()
        return self.optimizer

    def _warn_of_misfits(self) -> None:
        """Warn of trials that are not learned as they are, of each cause once."""
        fresh = [cause for cause in self._causes if cause not in self._warned and self._established(cause)]
        self._warned |= set(fresh)
        finished = self._left_out + len(self.told)
        if CONTRADICTION in fresh and self._bent:
            fresh.remove(CONTRADICTION)
            removed = sorted(self.space.usage.removed)
            said = f"used parameters that later ones do not, {removed}" if removed else CONTRADICTED
            learned = "and are learned for what fits"
            warn(f"{self._bent} of {finished} finished trials {said}, {learned}; {self._causes[CONTRADICTION]}.")
        if fresh:
            described = "; ".join(self._causes[cause] for cause in fresh[:DESCRIBED])
            warn(f"{self._left_out} of {finished} finished trials are not learned; {described}.")

    def hold_running(self, trials: Sequence[FrozenTrial], current: int) -> None:
        """Make the running trials other than number ``current`` the optimizer's pending points."""
        assert self.optimizer is not None
        known = self._running
        self._running = {}
        for trial in self._awaited([trials[i] for i in self._unfinished]):
            number = trial.number
            if number == current:
                continue
            mark = len(trial.params), len(trial.intermediate_values), _records.pieces(trial), self._told_cost(trial)
            before = known.get(number)
            if before is None or before[0] != mark:
                before = mark, self._point(trial)
            self._running[number] = before
        self.optimizer.hold_only({number: p for number, (_, p) in self._running.items() if p is not None})

    def _awaited(self, unfinished: Iterable[FrozenTrial]) -> list[FrozenTrial]:
        """The ``unfinished`` trials that are running, without those that so many have overtaken that they are dead."""
        running = [trial for trial in unfinished if trial.state == TrialState.RUNNING]
        living = self._not_overtaken(running, MAX_OVERTAKEN)
        return self._not_overtaken(running, max(MAX_OVERTAKEN, ROUNDS * len(living)))

    def _not_overtaken(self, running: list[FrozenTrial], most: int) -> list[FrozenTrial]:
        """Those of the ``running`` trials than which at most ``most`` have started later and finished."""
        if len(self._starts) <= most:
            return running
        first = self._starts[-most - 1]  # a trial that started before it has been overtaken by it, and by ``most`` more
        return [t for t in running if t.datetime_start is None or _naive(t.datetime_start) >= first]

    def _point(self, trial: FrozenTrial) -> Pending | None:
        """A running trial's point as a pending one; None if it is unknown or out of range."""
        assert self.optimizer is not None
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
        assert self.optimizer is not None
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

    def _tell(self, trials: Iterable[FrozenTrial]) -> None:
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
        assert self.optimizer is not None
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
        assert self.optimizer is not None
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
        if self.cost is None:
            return None
        if self.cost == _records.DURATION:
            return _records.seconds_of(trial)
        told = trial.user_attrs.get(self.cost)
        if told is None:
            self._without_cost += trial.state == TrialState.COMPLETE
            if self._without_cost == MANY:
                self._warn_of(self.cost, f"has no value in {MANY} complete trials: their costs are unknown.")
            return None
        cost = self._told_cost(trial)
        if cost is None:
            self._warn_of(self.cost, f"must be a number above 0, got {told!r} in trial {trial.number}.")
        return cost

    def _told_cost(self, trial: FrozenTrial) -> float | None:
        """What a trial, which may still run, says that it costs; None if it does not, or its duration counts."""
        if self.cost is None or self.cost == _records.DURATION:
            return None
        known: Any = trial.user_attrs.get(self.cost)
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
        assert self.optimizer is not None
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
        return known or _took_no_time(trial)

    def _was_run(self, trial: FrozenTrial) -> bool:
        """Whether a finished trial took its time, by its record or its clock."""
        return not _took_no_time(trial) or bool(_records.asked_for(trial, _records.read(trial, self.identity)))

    def _causes_of(self, trial: FrozenTrial, error: str) -> dict[Cause, str]:
        """Why a trial is left out, in words: values outside the present ranges, or else what the ``error`` says."""
        assert self.optimizer is not None
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

    def _established(self, cause: Cause) -> bool:
        """Whether trials are left out for good; later ones may still show that a range depends on another value."""
        name, _ = cause
        return not name or not self.space.undecided(name, self.searched.distributions[name])

    def _value(self, trial: FrozenTrial) -> Value:
        """The value learned from a finished trial, or those of several objectives; ``None`` for a failure."""
        assert self.optimizer is not None
        return _records.value_of(trial, len(self.optimizer.directions))


class FirstTrials:
    """The first successful trial of a study at each point.

    Args:
        optimizer: a snapshot of the optimizer.
        told: the numbers of the trials that it was told, in this order.
        trials: all trials of the study.
    """

    def __init__(self, optimizer: Snapshot, told: Sequence[int], trials: Iterable[FrozenTrial]) -> None:
        self._optimizer = optimizer
        self._told = list(told)
        self._trials = trials

    def at(self, points: Iterable[Mapping[str, Any]], *, complete: bool = False) -> list[FrozenTrial | None]:
        """The trials at internal ``points``, None if there is none; only complete trials if ``complete``."""
        X, values = self._optimizer.observations
        failed = [math.isnan(y) for y in (values if values.ndim == 1 else values[:, 0])]
        by_number = {trial.number: trial for trial in self._trials}
        first: dict[bytes, FrozenTrial] = {}
        for number, x, out in zip(self._told, X, failed, strict=True):
            trial = by_number.get(number)
            if not out and trial is not None and (not complete or trial.state == TrialState.COMPLETE):
                first.setdefault(point_key(x), trial)
        return [first.get(point_key(self._optimizer.space.encode(point))) for point in points]

    def left_out(self) -> list[FrozenTrial]:
        """Complete trials that the optimizer was not told, as they lie outside its space."""
        told = set(self._told)
        return [t for t in self._trials if t.state == TrialState.COMPLETE and t.number not in told]

    def finished(self) -> list[FrozenTrial]:
        """All trials that have ended, in the order of their numbers."""
        return sorted((t for t in self._trials if t.state.is_finished()), key=lambda trial: trial.number)


def _no_storage() -> None:
    return None


def _took_no_time(trial: FrozenTrial) -> bool:
    """Whether a trial was made from given results."""
    return trial.datetime_start == trial.datetime_complete


def _mark(trial: FrozenTrial) -> int:
    """A checksum of everything that is learned from a finished trial."""
    known = trial.number, trial.state, trial.values, trial.params, trial.intermediate_values, trial.datetime_complete
    pruned = trial.state == TrialState.PRUNED
    reports = [(k, v) for k, v in trial.user_attrs.items() if k.startswith(_records.REPORT)] if pruned else []
    return hash(repr((known, reports)))


def _naive(moment: datetime) -> datetime:
    """A time without a time zone, as Optuna records it: in local time."""
    return moment if moment.tzinfo is None else moment.astimezone().replace(tzinfo=None)


def _completion(trial: FrozenTrial) -> tuple[float, int]:
    """Sort key for the order of completion, for times with and without a time zone."""
    done = trial.datetime_complete
    return (-math.inf if done is None else done.timestamp(), trial.number)


def checked(study: Any) -> Study:
    """The study, if it is one."""
    if not isinstance(study, Study):
        raise ValueError(f"study must be an optuna.Study, got {study!r}.")
    return study


def too_many(sampler: str, most: int, study: Study) -> str:
    """Error message for a study of more objectives than the ``most`` that a sampler takes."""
    takes = "one objective" if most == 1 else f"up to {most} objectives"
    other = "use GSSBOSampler for several" if most == 1 else "use NSGAIISampler or TPESampler of Optuna for more"
    return (
        f"{sampler} optimises {takes}, but the study has {len(study.directions)}: {other}, or create a study of "
        f"{takes} (weighted sums, say)."
    )
