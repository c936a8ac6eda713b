"""A sampler's view of a study: the trials learned so far, the search space, and the optimizer over it.

Whatever ended or runs says what parameters there are: in pairs, ``benchmarks/results/compare-every-trial.md``.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from types import NoneType
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from numbo.optimizers import Optimizer, Snapshot
from numbo.optuna import _records
from numbo.optuna._desk import Cause, Desk, took_no_time
from numbo.optuna._distributions import KnownSpace, RunningSpace, Searched, to_space
from numbo.spaces import Space, Table
from numbo.trials import point_key

#: If more than this number of trials that started later have finished, and more than `ROUNDS` times as many as are
#: running and not overtaken by so many, the worker of a running trial counts as dead. Trials that nobody ran (imported
#: results, copies of older trials) do not count.
MAX_OVERTAKEN = 1000
ROUNDS = 4


#: What records refer to where no space is known.
NO_SPACE = _records.Identity.of(Searched({}))
#: A declared parameter that none of this many complete trials has asked for is not searched. Not tuned.
MANY = 10


class StudyView:
    """Adds each trial once, in the order in which they finished.

    Args:
        by_instance: whether reports are values at instances (`Instances`), and not those of a curve.
        cost: what trials cost: ``"duration"``, or the name of a user attribute; None if costs are of no interest.
    """

    def __init__(self, *, by_instance: bool = False, cost: str | None = None) -> None:
        self._by_instance = by_instance
        self._cost = cost
        self._noted = False
        #: From finished trials, of which only complete ones show which parameters the program does not use.
        self.space = KnownSpace()
        self._space_of_running = RunningSpace()
        #: Where the optimizer is told trials; None before there is one.
        self.desk: Desk | None = None
        self._known_constraints: tuple[str, ...] = ()
        #: The table that was last compared with the study's.
        self.table: Table | None = None
        #: Names of the constraints that trials have.
        self.constraints: tuple[str, ...] = ()
        #: A weak reference to the storage of the study.
        self.storage: Callable[[], Any] = NoneType  # returns None
        self._finished: dict[int, FrozenTrial] = {}  # by their place
        self._looked_at = 0
        self._last_number = -1
        self._unfinished: list[int] = []
        #: Start times of the finished trials, ascending.
        self._starts: list[datetime] = []
        #: Number of complete trials that were run, and not made from results.
        self.n_complete = 0
        #: Whether a failed trial was told since this was set to False, and not while an optimizer catches up.
        self.heard_failure = False
        #: The causes that a warning has named.
        self._warned: set[Cause] = set()

    @property
    def searched(self) -> Searched:
        """The space that the optimizer searches; empty before there is an optimizer."""
        return Searched({}) if self.desk is None else self.desk.searched

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
            # it took its time, by its clock or its record
            was_run = not took_no_time(trial) or bool(_records.asked_for(trial, _records.read(trial, NO_SPACE)))
            if trial.datetime_start is not None and was_run:
                insort(self._starts, _naive(trial.datetime_start))
        self.space.add(fresh)
        self.n_complete += sum(t.state == TrialState.COMPLETE and not took_no_time(t) for t in fresh)
        names = self.constraints
        self.constraints = tuple(sorted({*names, *(c for t in fresh for c in _records.constraints_of(t))}))
        if self.desk is not None:
            self.heard_failure |= any(trial.state == TrialState.FAIL for trial in fresh)
            if self.constraints == names:
                self.desk.tell(fresh)

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
        if self.n_complete < MANY or not asked:
            return set()
        parents = set().union(*(condition.parents for condition in declared.conditions.values()))
        left = names - asked - parents - declared.conditions.keys()
        return {name for name in left if not declared.distributions[name].single()}

    def desk_over(
        self,
        searched: Searched,
        trials: Sequence[FrozenTrial],
        make: Callable[[Space | Table, tuple[str, ...]], Optimizer],
    ) -> Desk:
        """The desk of the optimizer over the ``searched`` space, which was told all finished trials that fit it."""
        if self.desk is None or self.searched != searched or self._known_constraints != self.constraints:
            self._known_constraints = self.constraints
            optimizer = make(to_space(searched), self.constraints)
            self.desk = Desk(optimizer, searched, by_instance=self._by_instance, cost=self._cost, warned=self._warned)
            self.desk.tell(t for t in trials if t.state.is_finished())
        self.desk.warn_of_misfits(self.space)
        return self.desk

    def hold_running(self, trials: Sequence[FrozenTrial], current: int) -> None:
        """Make the running trials other than number ``current`` the optimizer's pending points.

        Those that so many have overtaken that they are dead are left out.
        """
        assert self.desk is not None
        running = [trials[i] for i in self._unfinished if trials[i].state == TrialState.RUNNING]
        living = self._not_overtaken(running, MAX_OVERTAKEN)
        awaited = self._not_overtaken(running, max(MAX_OVERTAKEN, ROUNDS * len(living)))
        self.desk.hold(trial for trial in awaited if trial.number != current)

    def _not_overtaken(self, running: list[FrozenTrial], most: int) -> list[FrozenTrial]:
        """Those of the ``running`` trials than which at most ``most`` have started later and finished."""
        if len(self._starts) <= most:
            return running
        first = self._starts[-most - 1]  # a trial that started before it has been overtaken by it, and by ``most`` more
        return [t for t in running if t.datetime_start is None or _naive(t.datetime_start) >= first]


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


def _mark(trial: FrozenTrial) -> int:
    """A checksum of everything that is learned from a finished trial."""
    known = trial.number, trial.state, trial.values, trial.params, trial.intermediate_values, trial.datetime_complete
    pruned = trial.state == TrialState.PRUNED
    reports = [(k, v) for k, v in trial.user_attrs.items() if k.startswith(_records.REPORT)] if pruned else []
    return hash(repr((known, reports)))


def _naive(moment: datetime) -> datetime:
    """A time without a time zone, as Optuna records it: in local time."""
    return moment if moment.tzinfo is None else moment.astimezone().replace(tzinfo=None)


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
