"""A named product of dimensions: user values <-> the unit cube, enumeration, neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from numbo.spaces.dimensions import Categorical, Dimension, Float, Int, cells, middles

Array: TypeAlias = NDArray[np.float64]


class Space(Mapping[str, Dimension]):
    """A named product of dimensions, ``Space({"lr": Float(1e-6, 1.0, log=True), "act": Categorical([...])})``.

    Raises:
        ValueError: if there is no dimension, or one is not a `Float`, `Int` or `Categorical`.
    """

    #: Ordinal dimensions with at most this many values are searched value by value, larger ones also by gradient.
    SMALL = 16
    #: Ordinal dimensions with more values than this, which doubles cannot all represent, are snapped only by `decode`.
    COUNTABLE = 2**53
    #: A space is not a set of arms (`numbo.spaces.domain.Domain`).
    explicit: ClassVar[bool] = False

    def __init__(self, dimensions: Mapping[str, Dimension]) -> None:
        if not isinstance(dimensions, Mapping):
            raise ValueError(f'A space must be a mapping such as {{"x": Float(0, 1)}}, got {dimensions!r}.')
        if not dimensions:
            raise ValueError("Space needs at least one dimension, got an empty mapping.")
        for name, dimension in dimensions.items():
            if not isinstance(dimension, Float | Int | Categorical):
                raise ValueError(f"Space dimension {name!r} must be a Float, Int or Categorical, got {dimension!r}.")
        self._dimensions = dict(dimensions)
        parts = list(self._dimensions.values())
        #: (d,) number of values of each dimension, ``inf`` for continuous ones.
        self.sizes: Array = np.array([float(p.size) for p in parts])
        #: (d,) which dimensions have no order.
        self.categorical: NDArray[np.bool_] = np.array([isinstance(p, Categorical) for p in parts])
        #: (d,) which dimensions gradient ascent moves.
        self.relaxed: NDArray[np.bool_] = ~self.categorical & (self.sizes > self.SMALL)
        #: (d,) which dimensions have at most `COUNTABLE` values, and which do not.
        self.discrete: NDArray[np.bool_] = self.sizes <= self.COUNTABLE
        self.continuous: NDArray[np.bool_] = ~self.discrete
        self._parts = parts
        self._discrete = np.flatnonzero(self.discrete).tolist()

    def __getitem__(self, name: str) -> Dimension:
        return self._dimensions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._dimensions)

    def __len__(self) -> int:
        return len(self._dimensions)

    def __repr__(self) -> str:
        return f"Space({self._dimensions!r})"

    @property
    def d(self) -> int:
        """Number of dimensions."""
        return len(self._dimensions)

    @property
    def names(self) -> list[str]:
        """Names of the dimensions, in the order of the coordinates."""
        return list(self._dimensions)

    @property
    def cardinality(self) -> float:
        """Number of points, ``inf`` if a dimension is continuous."""
        return float(np.prod(self.sizes))

    def encode(self, params: Mapping[str, Any]) -> Array:
        """The unit-cube point (d,) of user values.

        Raises:
            ValueError: if a name is missing or unknown, or a value is outside its dimension.
        """
        if params.keys() != self._dimensions.keys():
            missing, unknown = sorted(self.keys() - params.keys()), sorted(params.keys() - self.keys())
            raise ValueError(f"params must name exactly the space's dimensions: missing {missing}, unknown {unknown}.")
        return self.partial(params, snapped=False)

    def partial(self, params: Mapping[str, Any], *, snapped: bool = True) -> Array:
        """The coordinates (d,) of some of the parameters, snapped as by `snap`, and NaN for the others.

        Raises:
            ValueError: if a name is unknown, or a value is outside its dimension.
        """
        if unknown := sorted(params.keys() - self.keys()):
            raise ValueError(f"params must name dimensions of the space: {unknown} are unknown.")
        x = np.full(self.d, np.nan)
        for j, (name, dimension) in enumerate(self._dimensions.items()):
            if name not in params:
                continue
            value = params[name]
            if not dimension.contains(value):
                raise ValueError(f"params[{name!r}] = {value!r} is not in {dimension}.")
            x[j] = dimension.to_unit(value)
        if not snapped:
            return x
        whole = self.snap(np.where(np.isnan(x), 0.5, x)[None])[0]
        return np.where(np.isnan(x), x, whole)

    def decode(self, x: Array) -> dict[str, Any]:
        """User values of the unit-cube point ``x (d,)``."""
        return {name: p.from_unit(float(u)) for (name, p), u in zip(self._dimensions.items(), x, strict=True)}

    def cells(self, X: Array) -> NDArray[np.int64]:
        """Numbers (n, d), from 0, of the discrete values at the points ``X (n, d)``; 0 in continuous dimensions."""
        out = np.zeros(X.shape, dtype=np.int64)
        for j in self._discrete:
            out[:, j] = cells(self._parts[j], X[:, j])
        return out

    def snap(self, X: Array) -> Array:
        """A copy of ``X (n, d)`` with each discrete coordinate moved to the midpoint of its cell."""
        X = np.clip(X, 0.0, 1.0)
        if self._discrete:
            numbers = self.cells(X)
            for j in self._discrete:
                X[:, j] = middles(self._parts[j], numbers[:, j])
        return X

    def grid(self) -> Array:
        """All points of a finite space, (cardinality, d), in lexicographic order."""
        rows = np.arange(int(self.cardinality))
        numbers = rows[:, None] // self._strides() % self.sizes.astype(np.int64)
        return np.stack([middles(part, numbers[:, j]) for j, part in enumerate(self._parts)], axis=1)

    def grid_index(self, X: Array) -> NDArray[np.int64]:
        """Row numbers in `grid` of the points ``X (n, d)`` of a finite space."""
        return self.cells(X) @ self._strides()

    def _strides(self) -> NDArray[np.int64]:
        """Distance in rows of `grid` between neighbouring values of each dimension."""
        sizes = self.sizes.astype(np.int64)
        return np.append(np.cumprod(sizes[:0:-1])[::-1], 1).astype(np.int64)

    def neighbours(self, X: Array) -> tuple[Array, NDArray[np.int64]]:
        """Points (k, d) that differ from a row of ``X (n, d)`` in one discrete coordinate, and the row numbers (k,).

        Categorical and small ordinal dimensions take all other values; larger ones move by one step and by a tenth of
        their range, up and down.
        """
        here = self.cells(X)
        points, owners = [X[:0]], [np.empty(0, dtype=np.int64)]
        for j in self._discrete:
            size = int(self.sizes[j])
            if self.relaxed[j]:
                jump = max(2, size // 10)
                values = here[:, j, None] + np.array([-jump, -1, 1, jump])
                keep = (values >= 0) & (values < size)
            else:
                values = np.broadcast_to(np.arange(size), (len(X), size))
                keep = values != here[:, j, None]
            owner = np.nonzero(keep)[0]
            block = X[owner]
            block[:, j] = middles(self._parts[j], values[keep])
            points.append(block)
            owners.append(owner)
        return np.concatenate(points), np.concatenate(owners)
