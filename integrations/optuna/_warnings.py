"""Warnings that name the user's line."""

from __future__ import annotations

import sys
import warnings
from types import FrameType
from weakref import WeakKeyDictionary

from optuna.storages import BaseStorage
from optuna.study import Study

#: Packages whose lines lie between the user's and a warning.
BETWEEN = ("numbo", "optuna")


class Once:
    """Warnings of which each kind is given once for a study."""

    def __init__(self) -> None:
        #: By storage, the numbers of studies and the kinds that were given for them.
        self._given: WeakKeyDictionary[BaseStorage, set[tuple[int, str]]] = WeakKeyDictionary()

    def warn(self, study: Study, kind: str, message: str) -> None:
        """Warn, unless a warning of this ``kind`` was given for the study."""
        given = self._given.setdefault(study._storage, set())
        if (study._study_id, kind) not in given:
            given.add((study._study_id, kind))
            warn(message)


def warn(message: str) -> None:
    """Warn at the line that called Optuna or numbo."""
    level = 1
    frame: FrameType | None = sys._getframe()
    while frame is not None and str(frame.f_globals.get("__name__")).split(".")[0] in BETWEEN:
        frame = frame.f_back
        level += 1
    warnings.warn(message, UserWarning, stacklevel=level)
