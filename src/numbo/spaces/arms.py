"""An explicit finite set of arms, in place of a search space."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from numbo._types import Array, Indices, Mask
from numbo.spaces.conditions import Condition
from numbo.spaces.domain import Corners, Derived

#: Number of nearby arms to which the search may step from an arm.
NEIGHBOURS = 64
#: They may be farther than the nearest arms by this share. With 100,000 arms in 16 dimensions they are farther by less
#: than 1 % on average, and are found in 0.15 ms in place of 3 ms.
TOLERANCE = 1.0


class Arms:
    """The rows of ``X (A, d)``, searched by index: the setting of the bandit literature.

    Optimizers search it as they search a space. Features are scaled to the unit cube internally, so that
    the priors of a learned kernel apply; lengthscales passed by the user are in the units of ``X``.

    Args:
        X: one row of finite features per arm. Equal rows are one arm, identified by the first of their indices.

    Raises:
        ValueError: if ``X`` is not such an array.
    """

    explicit: ClassVar[bool] = True
    #: No feature depends on another one.
    conditions: Mapping[str, Condition] = MappingProxyType({})
    #: Nothing is known of features together, but which rows are allowed: None if all are.
    allowed: None = None
    beliefs: None = None
    default: None = None
    permitted: Mask | None = None

    def __init__(self, X: Any) -> None:
        try:
            points = np.array(X, dtype=np.float64, order="C")
        except (TypeError, ValueError):
            raise ValueError("arms must be an array (A, d) of numbers, with one row per arm.") from None
        if points.ndim != 2 or 0 in points.shape:
            raise ValueError(
                f"arms must be an array (A, d) with at least one row and column, got shape {points.shape}."
            )
        if not np.isfinite(points).all():
            raise ValueError(
                f"arms must be finite, got NaN or infinity in row {np.argmin(np.isfinite(points).all(1))}."
            )
        low = points.min(axis=0)
        high = points.max(axis=0)
        half = 0.5 * high - 0.5 * low  # halved first, for ranges up to the largest double
        #: (d,) length of the unit cube's sides in units of the features; 1 for a constant feature.
        self.ranges: Array = np.where(half > 0.0, np.minimum(half, 8e307) * 2.0, 1.0)
        self._low: Array = low
        scaled = np.where(half > 0.0, (0.5 * points - 0.5 * low) / np.where(half > 0.0, half, 1.0), 0.5)
        self._grid: Array = np.ascontiguousarray(scaled)
        self._index: dict[bytes, int] = {}
        for i in range(len(points) - 1, -1, -1):
            self._index[self._grid[i].tobytes()] = i
        self.d = points.shape[1]
        self.usual_lengthscales: Array = np.ones(self.d)
        self.categorical: Mask = np.zeros(self.d, dtype=bool)
        self.conditional: Mask = np.zeros(self.d, dtype=bool)
        self.optional: Mask = np.zeros(self.d, dtype=bool)
        self.continuous: Mask = np.zeros(self.d, dtype=bool)
        self.relaxed: Mask = np.zeros(self.d, dtype=bool)
        self.discrete: Mask = np.ones(self.d, dtype=bool)

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return [f"feature {j}" for j in range(self.d)]

    @property
    def cardinality(self) -> float:
        """Number of arms."""
        return float(len(self._grid))

    def __len__(self) -> int:
        return len(self._grid)

    def __repr__(self) -> str:
        return f"Arms(<{len(self)} arms of {self.d} features>)"

    @cached_property
    def first(self) -> Mask:
        """Which rows (A,) are the first of several equal ones."""
        first = np.zeros(len(self), dtype=bool)
        first[list(self._index.values())] = True
        return first

    def encode(self, arm: Any) -> Array:
        """Unit-cube features (d,) of an arm.

        Raises:
            ValueError: if ``arm`` is not the index of a row.
        """
        try:
            index = int(arm)
            valid = index == arm and 0 <= index < len(self) and not isinstance(arm, bool | np.bool_)
        except (TypeError, ValueError, OverflowError):
            valid = False
        if not valid:
            raise ValueError(f"An arm must be an integer from 0 to {len(self) - 1}, got {arm!r}.")
        return self._grid[index].copy()

    def place(self, arm: Any) -> Array:
        """The unit-cube features (d,) of the index of an arm, or of features (d,) in the units of the arms.

        Raises:
            ValueError: if ``arm`` is neither.
        """
        if np.ndim(arm) == 0:
            return self.encode(arm)
        try:
            features = np.array(arm, dtype=np.float64)
        except (TypeError, ValueError):
            features = np.empty(0)
        if features.shape != (self.d,):
            raise ValueError(f"An arm must be an index or {self.d} features, got {arm!r}.")
        out: Array = (features - self._low) / self.ranges
        return out

    def partial(self, params: Any) -> Array:
        """Not supported: arms have no parameters to fix.

        Raises:
            ValueError: always.
        """
        raise ValueError(f"fixed must be None over arms, got {params!r}: an arm is chosen as a whole.")

    def decode(self, x: Array) -> int:
        """The index of the arm with the features ``x (d,)``."""
        return int(self.grid_index(x[None])[0])

    def grid(self) -> Array:
        """Unit-cube features (A, d) of all arms."""
        return self._grid

    def grid_index(self, X: Array) -> Indices:
        """Indices of the arms with the features ``X (n, d)``; the nearest arm if none matches."""
        rows = [self._index.get(x.tobytes(), -1) for x in X]
        found = np.array(rows, dtype=np.int64)
        if -1 in rows:
            found[found < 0] = self._nearest(X[found < 0])
        return found

    def representable(self, x: Array) -> Array:
        """``x (d,)``, the features of an arm."""
        return x

    def snap(self, X: Array, dormant: Array | None = None) -> Array:
        """The arms nearest to the points ``X (n, d)`` of the unit cube."""
        return self._grid[self._nearest(X)]

    def wake(self, X: Array, dormant: Array | None) -> Derived:
        """The points as they are, and their rows (n,): all features are always active."""
        return Derived(X, np.arange(len(X)))

    def limits(self, X: Array, corners: Corners) -> Corners:
        """The corners as they are."""
        return corners

    def neighbours(self, X: Array, dormant: Array | None = None) -> Derived:
        """The `NEIGHBOURS` arms (k, d) nearest to each row of ``X (n, d)``."""
        count = min(NEIGHBOURS, len(self))
        nearest = self._tree.query(X, count, eps=TOLERANCE)[1].reshape(-1)
        return Derived(self._grid[nearest], np.repeat(np.arange(len(X)), count))

    def _nearest(self, X: Array) -> Indices:
        nearest: Indices = self._tree.query(X)[1]
        return np.array([self._index[self._grid[i].tobytes()] for i in nearest], dtype=np.int64)

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import cKDTree

        return cKDTree(self._grid)
