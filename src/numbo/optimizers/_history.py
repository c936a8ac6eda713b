"""What an optimizer has seen: observations in arrays that grow, and the points that are still out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numbo.models import finite_range

Array = NDArray[np.float64]


def point_key(x: Array) -> bytes:
    """Identity of a unit-cube point, equal for points that differ by rounding only."""
    return np.rint(x * 1e12).astype(np.int64).tobytes()


def own(params: Any) -> Any:
    """A copy of a user's point that is ours: a dict of values, or the index of an arm."""
    return dict(params) if isinstance(params, Mapping) else int(params)


@dataclass(frozen=True)
class Pending:
    """A point that was handed out, and the part of the search that proposed it (`numbo.optimizers._base`)."""

    x: Array
    params: Any
    origin: int
    identity: bytes

    @classmethod
    def of(cls, x: Array, params: Any, origin: int) -> Pending:
        return cls(x, own(params), origin, point_key(x))


class History:
    """Observations ``X (n, d)``, ``y (n,)`` (larger is better, NaN for a failure) and pending points by key."""

    def __init__(self, d: int) -> None:
        self.n = 0
        self._X, self._y = np.empty((64, d)), np.empty(64)
        self.counts: Counter[bytes] = Counter()
        self.pending: dict[Hashable, Pending] = {}
        self.best = -1
        self.best_params: Any = {}

    @property
    def X(self) -> Array:
        return self._X[: self.n]

    @property
    def y(self) -> Array:
        return self._y[: self.n]

    def add(self, x: Array, y: float, params: Any = None) -> int:
        """Append an observation; returns its index. ``params`` are kept word by word if it is the best."""
        i = self.n
        if i == len(self._y):
            self._X = np.concatenate([self._X, np.empty_like(self._X)])
            self._y = np.concatenate([self._y, np.empty_like(self._y)])
        self._X[i], self._y[i] = x, y
        self.n = i + 1
        self.counts[point_key(x)] += 1
        if not np.isnan(y) and (self.best < 0 or y > self._y[self.best]):
            self.best, self.best_params = i, own({} if params is None else params)
        return i

    def values(self, n: int | None = None) -> Array:
        """The first ``n`` of ``y``, failures and infinities replaced by what a model can take (`finite_range`)."""
        return finite_range(self.y[:n])

    def pending_points(self) -> Array:
        """Pending points (p, d), oldest first."""
        points = [p.x for p in self.pending.values()]
        return np.array(points) if points else np.empty((0, self._X.shape[1]))

    def taken(self, x: Array) -> bool:
        """Whether the point was observed or is pending."""
        key = point_key(x)
        return key in self.counts or any(p.identity == key for p in self.pending.values())
