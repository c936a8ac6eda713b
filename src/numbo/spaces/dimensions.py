"""Dimensions of a search space: user values <-> one coordinate in [0, 1].

A continuous dimension is mapped affinely, on a linear or logarithmic scale. A dimension with ``k`` values is mapped to
the midpoints of ``k`` cells, so that a uniform draw from the cube is a uniform draw of values. Categories use the same
cells, but only their equality has a meaning.

With ``when``, a dimension is active only for some values of others (`numbo.spaces.conditions`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np

from numbo import _checks, _elementary
from numbo._types import Array, Indices

#: Ordinal dimensions with more values than this have no cells, since doubles cannot represent all values.
COUNTABLE = 2**53
#: Coordinates that differ by more than this are different points (`numbo.trials.point_key`).
RESOLUTION = 1e-12
#: Usual lengthscales, in units of the range on its scale, or of the distance of two categories; of others 1. Models of
#: 160 random points of 31 searches of models of scikit-learn and of 17 surrogates of networks had in the median .31 and
#: .5 for reals on a log scale, .6 and .4 for integers, 1.1 and 1.3 for other reals and for integers on a log scale, 1.8
#: for two categories, .9 for more: what matters most is searched on a log scale. These are nearer to 1: with .4, .6,
#: 1.5 and .8 searches were not better after 50 trials (``benchmarks/results/usual-lengthscales.md``; in pairs with the
#: code before, ``compare-before-usual-lengthscales.md``).
OF_LOGARITHMS = 0.6
OF_INTEGERS = 0.8
OF_TWO = 1.2
OF_CATEGORIES = 0.9


def _check_bounds(kind: str, low: Any, high: Any, log: Any) -> None:
    _checks.flag(f"{kind} log", log)
    if not (_checks.is_finite(low) and _checks.is_finite(high)):
        raise ValueError(f"{kind} bounds must be finite numbers, got low={low!r}, high={high!r}.")
    if low > high:
        raise ValueError(f"{kind} needs low <= high, got low={low!r}, high={high!r}.")
    if log and low <= 0:
        raise ValueError(f"{kind}(log=True) needs low > 0, got low={low!r}.")


@dataclass(frozen=True)
class Float:
    """A real parameter in ``[low, high]``; ``log`` searches on a log scale, ``step`` on the grid ``low + i * step``."""

    low: float
    high: float
    log: bool = False
    step: float | None = None
    when: Any = field(default=None, kw_only=True, hash=False, repr=False)

    def __post_init__(self) -> None:
        _check_bounds("Float", self.low, self.high, self.log)
        if self.step is not None and not (_checks.is_finite(self.step) and self.step > 0):
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

    @property
    def usual_lengthscale(self) -> float:
        """The lengthscale that a model expects, in units of the range on its scale."""
        return OF_LOGARITHMS if self.log else 1.0

    @property
    def coarse(self) -> bool:
        """Whether a continuous range has fewer distinct doubles than coordinates (`RESOLUTION`)."""
        if math.isfinite(self.size):
            return False
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        rounding = max(math.ulp(low), math.ulp(high), math.ulp(1.0) if self.log else 0.0)
        return rounding > RESOLUTION * (high - low)

    def to_unit(self, value: float) -> float:
        if self.low == self.high:
            return 0.5
        if self.step is not None:
            size = self.size
            if size == 1:
                return 0.5
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
            value = _exponential(u, math.log(self.low), math.log(self.high), self)
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
    """An integer parameter in ``[low, high]`` on the grid ``low + i * step``; ``log`` searches on a log scale."""

    low: int
    high: int
    log: bool = False
    step: int = 1
    when: Any = field(default=None, kw_only=True, hash=False, repr=False)

    def __post_init__(self) -> None:
        _check_bounds("Int", self.low, self.high, self.log)
        if self.low != int(self.low) or self.high != int(self.high):
            raise ValueError(f"Int bounds must be integers, got low={self.low!r}, high={self.high!r}.")
        if not _checks.is_finite(self.step) or self.step != int(self.step) or self.step < 1:
            raise ValueError(f"Int step must be a positive integer, got {self.step!r}.")
        if self.log and self.step != 1:
            raise ValueError("Int takes log=True or a step, not both.")

    @property
    def size(self) -> float:
        return (int(self.high) - int(self.low)) // int(self.step) + 1

    @property
    def usual_lengthscale(self) -> float:
        """The lengthscale that a model expects, in units of the range on its scale."""
        return 1.0 if self.log else OF_INTEGERS

    @property
    def coarse(self) -> bool:
        """Whether there are too many values for cells, but several coordinates still have the same value."""
        return self.size > COUNTABLE and self.log

    @property
    def log_bounds(self) -> tuple[float, float] | None:
        """Logarithms of the outer edges of the first and last cell; None for a linear scale or too narrow a range."""
        if not self.log or self.size == 1:
            return None
        low = math.log(self.low - 0.5)
        high = math.log(self.high + 0.5)
        return (low, high) if low < high else None

    def to_unit(self, value: int) -> float:
        if self.size == 1:
            return 0.5
        if self.log_bounds is not None:
            return _fraction(math.log(value), *self.log_bounds)
        cell = min(round((value - self.low) / self.step), self.size - 1)
        return (cell + 0.5) / self.size

    def from_unit(self, u: float) -> int:
        if self.size == 1:
            return int(self.low)
        if self.log_bounds is not None:
            value = round(_exponential(u, *self.log_bounds, self))
        else:
            value = int(self.low) + _cell(u, self.size) * int(self.step)
        return int(min(max(value, self.low), self.high))

    def contains(self, value: Any) -> bool:
        try:
            return bool(self.low <= value <= self.high and value == int(value))
        except (TypeError, ValueError, OverflowError):
            return False


#: Types whose values have equal hashes if they are equal, also to values of other types.
SIMPLE = (bool, int, float, str, bytes, type(None))


@dataclass(frozen=True)
class Categorical:
    """An unordered parameter: one of ``choices`` (any objects; looked up by identity or equality)."""

    choices: tuple[Any, ...]
    when: Any = field(default=None, kw_only=True, hash=False, repr=False)
    coarse: ClassVar[bool] = False

    def __init__(self, choices: Sequence[Any], *, when: Any = None) -> None:
        if not isinstance(choices, Iterable) or isinstance(choices, str | bytes | bytearray):
            raise ValueError(f'Categorical choices must be a sequence such as ["relu", "tanh"], got {choices!r}.')
        object.__setattr__(self, "choices", tuple(choices))
        object.__setattr__(self, "when", when)
        if not self.choices:
            raise ValueError("Categorical needs at least one choice, got none.")
        first: dict[int, int] = {}
        for i, choice in enumerate(self.choices):
            if first.setdefault(id(choice), i) != i:
                raise ValueError(f"Categorical choices must differ, got {choice!r} twice.")

    @property
    def size(self) -> float:
        return len(self.choices)

    @property
    def usual_lengthscale(self) -> float:
        """The lengthscale that a model expects, in units of the distance of two categories."""
        return OF_TWO if len(self.choices) == 2 else OF_CATEGORIES

    def index(self, value: Any) -> int:
        """Position of ``value``, -1 if absent; equal choices such as 1 and True are distinguished by type.

        The time does not depend on the number of choices, unless no choice is found by its hash.
        """
        objects, typed, plain = self._known
        i = objects.get(id(value), -1)
        if i >= 0 and self.choices[i] is value:
            return i
        with suppress(TypeError):  # it has no hash
            i = typed.get((type(value), value), -1)
            i = plain.get(value, -1) if i < 0 else i
            if i >= 0:
                return i
        for same in (operator.is_, _equal_and_of_one_type, equal):
            for i, choice in enumerate(self.choices):
                if same(choice, value):
                    return i
        return -1

    @cached_property
    def _known(self) -> tuple[dict[int, int], dict[Any, int], dict[Any, int]]:
        """Positions of choices: by identity, by type and value, and, if all of them are `SIMPLE`, by value."""
        objects: dict[int, int] = {}
        typed: dict[Any, int] = {}
        plain: dict[Any, int] = {}
        simple = all(type(choice) in SIMPLE for choice in self.choices)
        for i, choice in enumerate(self.choices):
            objects[id(choice)] = i
            with suppress(TypeError):  # it has no hash
                typed.setdefault((type(choice), choice), i)
            if simple:
                plain.setdefault(choice, i)
        return objects, typed, plain

    def __getstate__(self) -> dict[str, Any]:
        return {"choices": self.choices, "when": self.when}  # positions by identity do not hold in a copy

    def to_unit(self, value: Any) -> float:
        return (self.index(value) + 0.5) / len(self.choices)

    def from_unit(self, u: float) -> Any:
        return self.choices[_cell(u, len(self.choices))]

    def contains(self, value: Any) -> bool:
        return self.index(value) >= 0


Dimension: TypeAlias = Float | Int | Categorical


def _equal_and_of_one_type(a: Any, b: Any) -> bool:
    return type(a) is type(b) and equal(a, b)


def equal(a: Any, b: Any) -> bool:
    """Equality of any two objects, including arrays and NaN."""
    try:
        return bool(np.all(a == b)) or bool(a != a and b != b)
    except (TypeError, ValueError):
        return False


def _cell(u: float, size: float) -> int:
    if u >= 1.0:  # the product may be rounded by more than a cell
        return int(size) - 1
    return int(min(max(math.floor(u * size), 0), size - 1))


def _fraction(value: float, low: float, high: float) -> float:
    """Relative position of ``value`` in [low, high], for ranges up to the largest double and down to the smallest."""
    half = 0.5 * high - 0.5 * low
    if not half > 0.0:
        return 0.5
    u = (0.5 * value - 0.5 * low) / half
    return 0.0 if u < 0.0 else 1.0 if u > 1.0 else u


def _blend(u: Any, low: float, high: float) -> Any:
    """The value, or values, at the relative position ``u`` in [low, high]."""
    return (1.0 - u) * low + u * high


def _exponential(u: float, low: float, high: float, dimension: Float | Int) -> float:
    """The value at the relative position ``u`` between the logarithms ``low`` and ``high``.

    At both ends it is exactly the bound of the ``dimension``; the exponential of its logarithm may differ.
    """
    logarithm = float(_blend(u, low, high))
    if u < 0.5 and logarithm <= low:
        return dimension.low
    return dimension.high if u >= 0.5 and logarithm >= high else math.exp(logarithm)


def cells(dimension: Dimension, u: Array) -> Indices:
    """Numbers (n,), from 0, of the values of a finite ``dimension`` at the coordinates ``u (n,)``."""
    bounds = dimension.log_bounds if isinstance(dimension, Int) else None
    if isinstance(dimension, Int) and bounds is not None:
        found = np.round(_elementary.exp(_blend(u, *bounds)) - dimension.low)
    else:
        found = np.floor(u * float(dimension.size))
    return np.clip(found, 0, dimension.size - 1).astype(np.int64)


def middles(dimension: Dimension, numbers: Indices) -> Array:
    """Coordinates (n,) of the values of a finite ``dimension`` with the ``numbers (n,)``."""
    bounds = dimension.log_bounds if isinstance(dimension, Int) else None
    if isinstance(dimension, Int) and bounds is not None:
        low, high = bounds
        return np.asarray((_elementary.log(dimension.low + numbers) - low) / (high - low), dtype=np.float64)
    return (numbers.astype(np.float64) + 0.5) / float(dimension.size)
