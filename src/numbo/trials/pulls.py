"""The distinct points of a history, and how often each was observed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import is_
from typing import Any

import numpy as np

from numbo._plain import Kept, copied
from numbo._rows import extended
from numbo._types import Array, Indices, PointNumbers
from numbo.trials.history import History
from numbo.trials.points import Pending, point_key, point_keys


class Pulls(Kept):
    """Numbers distinct points in the order in which they were first seen, pending or told."""

    _kept = ("X",)
    __copy__ = copied

    def __init__(self, d: int) -> None:
        self.d = d
        self.u = 0
        self._X = np.empty((64, d))
        self._number: dict[bytes, int] = {}
        self._told = np.empty(64, dtype=np.int64)
        self._n = 0
        self._pending: tuple[list[Pending], list[int]] = [], []

    @property
    def X(self) -> Array:
        """The distinct points (u, d)."""
        return self._X[: self.u]

    def number(self, x: Array, identity: bytes | None = None) -> int:
        """The number of the point ``x (d,)``, a new one if it has not been seen before."""
        identity = point_key(x) if identity is None else identity
        found = self._number.get(identity)
        if found is None:
            found = self.u
            self._number[identity] = found
            self._X = extended(self._X, self.u, x[None])
            self.u += 1
        return found

    def told(self, history: History, n: int | None = None) -> PointNumbers:
        """Numbers (n,) of the points of the first ``n`` observations; of all by default."""
        if self._n < history.n:
            X = history.X[self._n :]
            numbers = list(map(self.number, X, point_keys(X)))
            self._told = extended(self._told, self._n, numbers)
            self._n = history.n
        return self._told[: history.n if n is None else n]

    def pending(self, pending: Iterable[Pending]) -> list[int]:
        """Numbers (p,) of pending points; those that follow the points of the last call are looked up."""
        points = list(pending)
        known, numbers = self._pending
        if len(known) > len(points) or not all(map(is_, known, points)):
            known, numbers = [], []
        numbers = numbers + [self.number(p.x, p.identity) for p in points[len(known) :]]
        self._pending = points, numbers
        return numbers

    def counts(self, numbers: PointNumbers) -> Indices:
        """How often each point occurs among ``numbers``, (u,)."""
        return np.bincount(numbers, minlength=self.u)

    def restore(self, state: Mapping[str, Any], data: Any = None) -> None:
        for x in state["X"]:
            self.number(x)
