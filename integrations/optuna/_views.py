"""The views of the studies that a sampler was last used for, and the choice of the view for a study."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial

from numbo.optuna._view import StudyView

#: Maximum number of studies kept in memory; others are rebuilt from the storage when needed.
MAX_VIEWS = 8


class Read(NamedTuple):
    """The trials of a study as they were read for a trial that is about to begin."""

    storage: weakref.ref[BaseStorage]
    trial: int
    trials: list[FrozenTrial]


class Views(dict[Any, StudyView]):
    """Views by their study, the most recently used one last.

    A study may begin with copies of another one's trials, and Hyperband passes another object for each bracket. So a
    study is identified by its number, its directions, its first trial, and its storage.
    """

    def __init__(self) -> None:
        super().__init__()
        self._read: Read | None = None

    def read(self, study: Study, trial: FrozenTrial | None = None) -> list[FrozenTrial]:
        """All trials of ``study``; those kept for ``trial``, if none have been read since.

        A relational storage reads all running trials anew each time, for about a millisecond each in 20 dimensions
        (``benchmarks/results/running.csv``). Runs of one process are as with a read more, to the last digit
        (``benchmarks/results/compare-read-once.md``).
        """
        kept, self._read = self._read, None  # later it may be older than a view
        if kept is not None and trial is not None and kept[:2] == (weakref.ref(study._storage), trial._trial_id):
            return kept.trials
        return study._get_trials(deepcopy=False, use_cache=False)

    def keep(self, study: Study, trial: FrozenTrial, trials: list[FrozenTrial]) -> None:
        """Keep the ``trials`` of ``study`` for the next `read` for ``trial``."""
        self._read = Read(weakref.ref(study._storage), trial._trial_id, trials)

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
        if view is not None and view.storage() is storage and view.continues(trials):
            return key, view
        elsewhere = [other for other in self if other[1:] == known and other != key]
        for other in reversed(elsewhere):
            if self[other].continues(trials, compare_all=True):
                view = self.pop(other)
                break
        else:
            view = StudyView()
        view.storage = weakref.ref(storage)
        return key, view

    def put_back(self, key: Any, view: StudyView) -> None:
        """Keep a view after its use."""
        self[key] = view
        while len(self) > MAX_VIEWS:
            del self[next(iter(self))]
