"""The views of the studies that a sampler was last used for, and the choice of the view for a study."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from numbo.optuna._view import StudyView

from optuna.study import Study
from optuna.trial import FrozenTrial

#: Maximum number of studies kept in memory; others are rebuilt from the storage when needed.
MAX_VIEWS = 8


class Views(dict[Any, StudyView]):
    """Views by their study, the most recently used one last.

    A study may begin with copies of another one's trials, and Hyperband passes another object for each bracket. So a
    study is identified by its number, its directions, its first trial, and its storage.
    """

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
