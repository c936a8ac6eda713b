"""The views of the studies that a sampler was last used for: the choice of the view for a study, and its space."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial

from numbo.optimizers import Optimizer
from numbo.optuna import _records
from numbo.optuna._allowed import allowing, unknown_names
from numbo.optuna._desk import Desk
from numbo.optuna._distributions import Searched
from numbo.optuna._timers import Timers
from numbo.optuna._view import StudyView
from numbo.optuna._warnings import Once, warn
from numbo.spaces.known import Known

#: Maximum number of studies kept in memory; others are rebuilt from the storage when needed.
MAX_VIEWS = 8
#: After so many complete trials, parameters with known constraints that no trial has asked for are worth a warning.
PLENTY = 10


class Views(dict[Any, StudyView]):
    """Views by their study, the most recently used one last.

    A study may begin with copies of another one's trials, and Hyperband passes another object for each bracket. So a
    study is identified by its number, its directions, its first trial, and its storage.

    Args:
        said: what the user says of the parameters.
        declared: the space that the user declares; None if it is inferred from the trials.
        cost: what trials cost, by name.
        timers: the time that is left of each study.
        make: makes an optimizer of the searched parameters, their space, the directions and the constraints.
    """

    def __init__(
        self, said: Known, declared: Searched | None, cost: str | None, timers: Timers, make: Callable[..., Optimizer]
    ) -> None:
        super().__init__()
        self.said = said
        self.declared = declared
        self.make = make
        self._cost = cost
        self.timers = timers
        #: The warnings that were given for the studies.
        self.once = Once()
        #: A storage, a trial that is about to begin, and the trials of its study as they were read for it.
        self._read: tuple[weakref.ref[BaseStorage], int, list[FrozenTrial]] | None = None

    @contextmanager
    def of(self, study: Study, trial: FrozenTrial | None = None, *, anew: bool = True) -> Iterator[InUse]:
        """The ``study`` in use for a running ``trial``, or for a look inside.

        Its trials are read, unless not ``anew``: then they may be those that were kept for the trial (`keep`).

        While in use, the view is removed from the store, and it is put back only if no exception is raised. So a view
        that an interrupt or an error leaves half done is discarded, and rebuilt from the storage when needed again.
        """
        trials = self._read_for(study, None if anew else trial)
        key, view = self.take_out(study, trials)
        view.sync(trials)
        yield InUse(self, study, view, trials, -1 if trial is None else trial.number)
        self[key] = view
        while len(self) > MAX_VIEWS:
            del self[next(iter(self))]

    def _read_for(self, study: Study, trial: FrozenTrial | None) -> list[FrozenTrial]:
        """All trials of ``study``; those kept for ``trial``, if none have been read since.

        A relational storage reads all running trials anew each time, for about a millisecond each in 20 dimensions
        (``benchmarks/results/running.csv``). Runs of one process are as with a read more, to the last digit
        (``benchmarks/results/compare-read-once.md``).
        """
        kept, self._read = self._read, None  # later it may be older than a view
        if kept is not None and trial is not None and kept[:2] == (weakref.ref(study._storage), trial._trial_id):
            return kept[2]
        return study._get_trials(deepcopy=False, use_cache=False)

    def keep(self, study: Study, trial: FrozenTrial, trials: list[FrozenTrial]) -> None:
        """Keep the ``trials`` of ``study`` for a use of it for ``trial``, unless they are read before."""
        self._read = weakref.ref(study._storage), trial._trial_id, trials

    def take_out(self, study: Study, trials: Sequence[FrozenTrial]) -> tuple[Any, StudyView]:
        """The key and the view of a study with these ``trials``, a new one if there is none.

        A storage does not change finished trials, so comparing two of them is enough. In another storage object, such
        as the same storage loaded again, all finished trials have to equal those that the view saw.
        """
        first = trials[0] if trials else None
        start = None if first is None else (first._trial_id, first.datetime_start)
        storage = study._storage
        known = (study._study_id, tuple(study.directions), start)
        key = (id(storage), *known)
        view = self.pop(key, None)
        if view is not None and view.storage() is storage and view.suits(study) and view.continues(trials):
            return key, view
        elsewhere = [other for other in self if other[1:] == known and other != key]
        for other in reversed(elsewhere):
            if self[other].suits(study) and self[other].continues(trials, compare_all=True):
                view = self.pop(other)
                break
        else:
            view = StudyView(by_instance=_records.is_by_instance(study), cost=self._cost)
        view.storage = weakref.ref(storage)
        return key, view


@dataclass(frozen=True)
class InUse:
    """A study whose view is in use.

    Attributes:
        of: all views.
        study, view, trials: the study, its up-to-date view, and all its trials.
        current: the number of the trial for which it is used, which is not pending; -1 for none.
    """

    of: Views
    study: Study
    view: StudyView
    trials: list[FrozenTrial]
    current: int

    def searched(self) -> Searched:
        """The searched space."""
        known = self.view.known_space(self.trials, self.current)
        if self.of.declared is None:
            return known
        if self.of.declared.table is not None:
            return self.of.declared.without_single()
        distributions = self.of.declared.distributions
        conditions = self.of.declared.conditions
        same = {name for name, distribution in distributions.items() if known.distributions.get(name) == distribution}
        inferred = {name: condition for name, condition in known.conditions.items() if condition.parents <= same}
        optional = known.optional | conditions.keys()  # a trial may end before it uses them
        space = Searched(distributions, conditions or inferred, optional, since=known.since)
        unused = self.view.unused(space)
        if not unused:
            return space.without_single()
        words = f"search_space= has {sorted(unused)}, which no trial so far has asked for; they are not searched."
        self.of.once.warn(self.study, "unused", words)
        return space.only(distributions.keys() - unused)

    def brought_up(self, searched: Searched) -> Desk:
        """The desk for the ``searched`` space, told all finished trials; others than the current one are pending."""
        view = self.view
        directions = _records.directions_of(self.study)
        searched = self._allowing(searched)
        if searched.table is not None and view.table is not searched.table:
            view.table = searched.table
            if not _records.is_the_table(self.study, searched.table):
                warn(
                    f"The first rows of {searched.table!r} are not those of the table that this study has searched: "
                    "its finished trials are learned for the rows that have their numbers now. Keep the rows in their "
                    "order, keep the columns that describe them, and add new rows at the end."
                )
        desk = view.desk_over(
            searched, self.trials, lambda space, names: self.of.make(searched, space, directions, names)
        )
        view.hold_running(self.trials, self.current)
        self.of.timers.tell(self.study, desk.optimizer)
        if view.heard_failure:
            view.heard_failure = False
            if (trouble := desk.optimizer.trouble) is not None:
                self.of.once.warn(self.study, f"trouble {trouble.kind}", str(trouble.translated(searched.shown)))
        return desk

    def _allowing(self, searched: Searched) -> Searched:
        """The ``searched`` space with what the user says of the parameters, as far as these are known."""
        said = self.of.said
        declared = self.of.declared
        view = self.view
        if not said:
            return searched
        if searched.table is not None and view.searched.table is not None:
            return view.searched
        known = view.space.latest if declared is None else declared.distributions
        partly = declared is None and not view.space.known
        found = allowing(searched, said, known, partly=partly)
        if searched.table is None and view.n_complete >= PLENTY:
            unasked = "which no trial so far has asked for: they"
            if names := sorted(said.names - known.keys()):
                self.of.once.warn(self.study, "prior", f"prior= or default= has {names}, {unasked} do not count.")
            if names := unknown_names(found, view.searched, said.allowed):
                words = f"allowed= has {names}, {unasked} count as if they did not exist."
                self.of.once.warn(self.study, "allowed", words)
        return found
