"""Search spaces: user values <-> the unit cube, enumeration, neighbours.

Every dimension maps to one coordinate in [0, 1]. A continuous one maps affinely (or in the logarithm). One with
``k`` values maps to the middles of ``k`` cells, so that a uniform draw from the cube is a uniform draw of values.
Categories use the same cells, but only their equality means anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]


def _check_bounds(kind: str, low: float, high: float, log: bool) -> None:
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"{kind} bounds must be finite numbers, got low={low!r}, high={high!r}.")
    if low > high:
        raise ValueError(f"{kind} needs low <= high, got low={low!r}, high={high!r}.")
    if log and low <= 0:
        raise ValueError(f"{kind}(log=True) needs low > 0, got low={low!r}.")


@dataclass(frozen=True)
class Float:
    """A real parameter in ``[low, high]``; ``log`` searches in the logarithm, ``step`` on ``low + i * step``."""

    low: float
    high: float
    log: bool = False
    step: float | None = None

    def __post_init__(self) -> None:
        _check_bounds("Float", self.low, self.high, self.log)
        if self.step is not None and not (math.isfinite(self.step) and self.step > 0):
            raise ValueError(f"Float step must be a positive finite number or None, got {self.step!r}.")
        if self.step is not None and self.log:
            raise ValueError("Float takes log=True or a step, not both.")

    @property
    def size(self) -> float:
        """Number of values, ``inf`` if continuous."""
        if self.low == self.high:
            return 1
        if self.step is None:
            return math.inf
        return math.floor((self.high / self.step - self.low / self.step) * (1 + 1e-15) + 1e-8) + 1

    def to_unit(self, value: float) -> float:
        size = self.size
        if size == 1:
            return 0.5
        if self.step is not None:
            return (min(round((value - self.low) / self.step), size - 1) + 0.5) / size
        if self.log:
            return _fraction(math.log(value), math.log(self.low), math.log(self.high))
        return _fraction(value, self.low, self.high)

    def from_unit(self, u: float) -> float:
        size = self.size
        if size == 1:
            return float(self.low)
        if self.step is not None:
            value = self.low + _cell(u, size) * self.step
        elif self.log:
            value = math.exp(_blend(u, math.log(self.low), math.log(self.high)))
        else:
            value = _blend(u, self.low, self.high)
        return float(min(max(value, self.low), self.high))

    def contains(self, value: Any) -> bool:
        try:
            return bool(self.low <= value <= self.high)
        except TypeError:
            return False


@dataclass(frozen=True)
class Int:
    """An integer parameter in ``[low, high]`` on ``low + i * step``; ``log`` searches in the logarithm."""

    low: int
    high: int
    log: bool = False
    step: int = 1

    def __post_init__(self) -> None:
        _check_bounds("Int", self.low, self.high, self.log)
        if self.low != int(self.low) or self.high != int(self.high):
            raise ValueError(f"Int bounds must be integers, got low={self.low!r}, high={self.high!r}.")
        if self.step != int(self.step) or self.step < 1:
            raise ValueError(f"Int step must be a positive integer, got {self.step!r}.")
        if self.log and self.step != 1:
            raise ValueError("Int takes log=True or a step, not both.")

    @property
    def size(self) -> float:
        return (int(self.high) - int(self.low)) // int(self.step) + 1

    @property
    def _log_bounds(self) -> tuple[float, float] | None:
        """Logarithms of the outer edges of the first and last cell; None for a linear or too narrow range."""
        if not self.log:
            return None
        low, high = math.log(self.low - 0.5), math.log(self.high + 0.5)
        return (low, high) if low < high else None

    def to_unit(self, value: int) -> float:
        if self.size == 1:
            return 0.5
        if self._log_bounds is not None:
            return _fraction(math.log(value), *self._log_bounds)
        cell = min(round((value - self.low) / self.step), self.size - 1)
        return (cell + 0.5) / self.size

    def from_unit(self, u: float) -> int:
        if self.size == 1:
            return int(self.low)
        if self._log_bounds is not None:
            value = round(math.exp(_blend(u, *self._log_bounds)))
        else:
            value = int(self.low) + _cell(u, self.size) * int(self.step)
        return int(min(max(value, self.low), self.high))

    def contains(self, value: Any) -> bool:
        try:
            return bool(self.low <= value <= self.high and value == int(value))
        except (TypeError, ValueError, OverflowError):
            return False


@dataclass(frozen=True)
class Categorical:
    """An unordered parameter: one of ``choices`` (any objects; looked up by identity or equality)."""

    choices: tuple[Any, ...]

    def __init__(self, choices: Sequence[Any]) -> None:
        object.__setattr__(self, "choices", tuple(choices))
        if not self.choices:
            raise ValueError("Categorical needs at least one choice, got none.")
        for i, choice in enumerate(self.choices):
            if self.index(choice) != i:
                raise ValueError(f"Categorical choices must differ, got {choice!r} twice.")

    @property
    def size(self) -> float:
        return len(self.choices)

    def index(self, value: Any) -> int:
        """Position of ``value``; the type decides between equal choices such as 1 and True. -1 if absent."""
        for same in (_identical, _equal_and_of_one_type, _equal):
            for i, choice in enumerate(self.choices):
                if same(choice, value):
                    return i
        return -1

    def to_unit(self, value: Any) -> float:
        return (self.index(value) + 0.5) / len(self.choices)

    def from_unit(self, u: float) -> Any:
        return self.choices[_cell(u, len(self.choices))]

    def contains(self, value: Any) -> bool:
        return self.index(value) >= 0


Dimension: TypeAlias = Float | Int | Categorical


def _identical(a: Any, b: Any) -> bool:
    return a is b


def _equal_and_of_one_type(a: Any, b: Any) -> bool:
    return type(a) is type(b) and _equal(a, b)


def _equal(a: Any, b: Any) -> bool:
    """Equality of any two objects, arrays and NaN among them."""
    try:
        return bool(np.all(a == b)) or bool(a != a and b != b)
    except (TypeError, ValueError):
        return False


def _cell(u: float, size: float) -> int:
    return int(min(max(math.floor(u * size), 0), size - 1))


def _fraction(value: float, low: float, high: float) -> float:
    """Position of ``value`` in [low, high], for ranges up to the largest double and down to the smallest."""
    half = 0.5 * high - 0.5 * low
    return min(max((0.5 * value - 0.5 * low) / half, 0.0), 1.0) if half > 0.0 else 0.5


def _blend(u: float, low: float, high: float) -> float:
    return (1.0 - u) * low + u * high


class Space(Mapping[str, Dimension]):
    """A named product of dimensions, ``Space({"lr": Float(1e-6, 1.0, log=True), "act": Categorical([...])})``.

    Raises:
        ValueError: if there is no dimension, or one is not a `Float`, `Int` or `Categorical`.
    """

    #: Ordinal dimensions with at most this many values are searched value by value, larger ones by gradient too.
    SMALL = 16
    #: Ordinal dimensions with more values than a double can count are snapped when they are decoded only.
    COUNTABLE = 2**53

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
        #: (d,) which dimensions have finitely many values, and which have not.
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
    def cardinality(self) -> float:
        """Number of points, ``inf`` if a dimension is continuous."""
        return float(np.prod(self.sizes))

    def encode(self, params: Mapping[str, Any]) -> Array:
        """The unit-cube point (d,) of user values.

        Raises:
            ValueError: if a name is missing or unknown, or a value lies outside its dimension.
        """
        if params.keys() != self._dimensions.keys():
            missing, unknown = sorted(self.keys() - params.keys()), sorted(params.keys() - self.keys())
            raise ValueError(f"params must name exactly the space's dimensions: missing {missing}, unknown {unknown}.")
        return self.partial(params, snapped=False)

    def partial(self, params: Mapping[str, Any], *, snapped: bool = True) -> Array:
        """The coordinates (d,) of some of the parameters, as `snap` has them, and NaN for the others.

        Raises:
            ValueError: if a name is unknown, or a value lies outside its dimension.
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
        """Which value of each discrete dimension the points ``X (n, d)`` stand for, counted from 0; else 0."""
        out = np.zeros(X.shape, dtype=np.int64)
        for j in self._discrete:
            size, part = self.sizes[j], self._parts[j]
            bounds = part._log_bounds if isinstance(part, Int) else None
            if bounds is not None and size > 1:
                cell = np.round(np.exp(_blend(X[:, j], *bounds)) - part.low)  # type: ignore[arg-type, union-attr]
            else:
                cell = np.floor(X[:, j] * size)
            out[:, j] = np.clip(cell, 0, size - 1)
        return out

    def snap(self, X: Array) -> Array:
        """``X (n, d)`` with each discrete coordinate moved to the cell middle of its value; a new array."""
        X = np.clip(X, 0.0, 1.0)
        if self._discrete:
            cells = self.cells(X)
            for j in self._discrete:
                X[:, j] = self._middles(j, cells[:, j])
        return X

    def grid(self) -> Array:
        """All points of a finite space, (cardinality, d), in lexicographic order."""
        rows = np.arange(int(self.cardinality))
        cells = rows[:, None] // self._strides() % self.sizes.astype(np.int64)
        return np.stack([self._middles(j, cells[:, j]) for j in range(self.d)], axis=1)

    def grid_index(self, X: Array) -> NDArray[np.int64]:
        """Rows of `grid` at which the points ``X (n, d)`` of a finite space stand."""
        return self.cells(X) @ self._strides()

    def _strides(self) -> NDArray[np.int64]:
        """How many rows of `grid` lie between neighbouring values of each dimension."""
        sizes = self.sizes.astype(np.int64)
        return np.append(np.cumprod(sizes[:0:-1])[::-1], 1).astype(np.int64)

    def _middles(self, j: int, cells: NDArray[np.int64]) -> Array:
        """Unit-cube coordinates of values of dimension ``j``, given by their number."""
        part, size = self._parts[j], self.sizes[j]
        bounds = part._log_bounds if isinstance(part, Int) else None
        if bounds is not None and size > 1:
            low, high = bounds
            return (np.log(part.low + cells) - low) / (high - low)  # type: ignore[union-attr]
        return (cells + 0.5) / size

    def neighbours(self, X: Array) -> tuple[Array, NDArray[np.int64]]:
        """Points (k, d) that differ from a row of ``X (n, d)`` in one discrete coordinate, and which row (k,).

        All values of categorical and small ordinal dimensions; one step up and down, and a tenth of the range,
        for larger ones.
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
            block[:, j] = self._middles(j, values[keep])
            points.append(block)
            owners.append(owner)
        return np.concatenate(points), np.concatenate(owners)
