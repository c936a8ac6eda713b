"""Points that were suggested and have no result yet."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Hashable, Mapping, ValuesView
from itertools import islice

import numpy as np

from numbo._types import Array, Indices
from numbo.trials.points import Pending


class PendingPoints(UserDict[Hashable, Pending]):
    """Pending points by their keys, oldest first.

    What is computed from all of them is kept until they change.

    Attributes:
        generation: as long as it is the same object, points have only been added, after all others.
    """

    def __init__(self, d: int, points: Mapping[Hashable, Pending] | None = None) -> None:
        self.data = {} if points is None else dict(points)
        self._d = d
        self.generation = object()
        self._forget()

    def _forget(self) -> None:
        self._keys: dict[bytes, dict[Hashable, None]] | None = None
        self._X: Array | None = None
        self._origins: Indices | None = None

    def __setitem__(self, key: Hashable, point: Pending) -> None:
        keys = self._keys
        if key in self.data:
            keys = None
            self.generation = object()
        self._forget()  # first, for interrupts
        self.data[key] = point
        if keys is not None:
            keys.setdefault(point.identity, {})[key] = None
            self._keys = keys

    def __delitem__(self, key: Hashable) -> None:
        keys = self._keys
        self.generation = object()
        self._forget()
        point = self.data.pop(key)
        if keys is not None:
            del keys[point.identity][key]
            if not keys[point.identity]:
                del keys[point.identity]
            self._keys = keys

    def values(self) -> ValuesView[Pending]:
        return self.data.values()  # many times as fast as the view of a `UserDict`

    def after(self, count: int) -> list[Pending]:
        """All points but the ``count`` oldest ones."""
        newest = list(islice(reversed(self.data.values()), len(self.data) - count))
        return newest[::-1]

    def copy(self) -> PendingPoints:
        return PendingPoints(self._d, self.data)

    __copy__ = copy

    def key_of(self, identity: bytes) -> Hashable | None:
        """The key of the oldest point with this ``identity``, None if there is none."""
        if self._keys is None:
            keys: dict[bytes, dict[Hashable, None]] = {}
            for key, point in self.data.items():
                keys.setdefault(point.identity, {})[key] = None
            self._keys = keys
        return next(iter(self._keys.get(identity, ())), None)

    @property
    def X(self) -> Array:
        """The points (p, d), oldest first; not to be changed."""
        if self._X is None:
            self._X = np.array([point.x for point in self.values()]).reshape(len(self), self._d)
        return self._X

    @property
    def origins(self) -> Indices:
        """Their origins (p,)."""
        if self._origins is None:
            self._origins = np.array([point.origin for point in self.values()], dtype=np.int64)
        return self._origins
