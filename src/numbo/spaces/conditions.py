"""Conditions: the values of other dimensions, its parents, under which a dimension is active.

A condition is a list of alternatives, one of which has to hold. An alternative consists of tests of one or more
parents. A test fails if its parent is inactive, so that conditions nest.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from numbo._types import Array, Mask
from numbo.spaces.dimensions import Categorical, Dimension, cells

#: Coordinate of an inactive dimension, outside the unit cube.
INACTIVE = -1.0
#: Values of a parent are looked up in a table if there are at most this many.
LISTED_PLACES = 1024
COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
ACCEPTED = (
    'a mapping such as {"optimizer": "sgd"}, {"optimizer": ["sgd", "rmsprop"]} or {"layers": (">=", 3)}, or a list of '
    "such mappings, of which one has to hold"
)


class OneOf(NamedTuple):
    """A test of a parent: it has one of these values."""

    values: tuple[Any, ...]


class Compared(NamedTuple):
    """A test of an ordered parent: a comparison with a number."""

    sign: str
    bound: float


@dataclass(frozen=True)
class Condition:
    """Alternatives, each with tests of one or more parents, by name: the normal form of ``when=``."""

    alternatives: tuple[tuple[tuple[str, OneOf | Compared], ...], ...]

    @classmethod
    def of(cls, name: str, when: Any, space: Mapping[str, Dimension]) -> Condition:
        """The condition of the dimension ``name`` of a space.

        Raises:
            ValueError: if ``when`` is not accepted, or tests for a value that a parent cannot have.
        """
        if isinstance(when, Condition):
            return when
        alternatives = [when] if isinstance(when, Mapping) else when
        fine = isinstance(alternatives, Sequence) and not isinstance(alternatives, str) and len(alternatives) > 0
        if not fine or not all(isinstance(a, Mapping) and a for a in alternatives):
            raise ValueError(f"when of {name!r} must be {ACCEPTED}; got {when!r}.")
        return cls(tuple(tuple((p, _asked(name, p, v, space)) for p, v in a.items()) for a in alternatives))

    @property
    def parents(self) -> set[str]:
        """Names of the dimensions that are tested."""
        return {parent for alternative in self.alternatives for parent, _ in alternative}

    def met(self, values: Mapping[str, Any]) -> bool:
        """Whether it holds where other dimensions have these ``values``; those without one are inactive."""
        return any(all(p in values and _passes(values[p], a) for p, a in group) for group in self.alternatives)

    def translated(self, translate: Callable[[str, Any], Any]) -> Condition:
        """The same condition with ``translate(parent, value)`` in place of each value."""

        def one(parent: str, asked: OneOf | Compared) -> OneOf | Compared:
            if isinstance(asked, Compared):
                return asked
            return OneOf(tuple(translate(parent, value) for value in asked.values))

        return Condition(tuple(tuple((p, one(p, a)) for p, a in group) for group in self.alternatives))

    def __str__(self) -> str:
        return ", or ".join(" and ".join(_words(p, a) for p, a in group) for group in self.alternatives)


def _asked(name: str, parent: str, value: Any, space: Mapping[str, Dimension]) -> OneOf | Compared:
    """The test of ``parent`` that a user's ``value`` means."""
    if parent not in space or parent == name:
        raise ValueError(f"when of {name!r} must name other dimensions of the space, got {parent!r}.")
    dimension = space[parent]
    if dimension.size == math.inf and not _is_comparison(value):
        raise ValueError(
            f'when of {name!r} must compare {parent!r}, which is continuous, with a number, as in (">=", 0.5); '
            f"got {value!r}."
        )
    if dimension.contains(value):
        return OneOf((value,))
    pair = _is_comparison(value)
    if pair and not isinstance(dimension, Categorical):
        try:
            bound = float(value[1])
        except (TypeError, ValueError):
            bound = math.nan
        ends = [COMPARISONS[value[0]](end, bound) for end in (dimension.low, dimension.high)]
        if math.isfinite(bound) and any(ends):
            return Compared(value[0], bound)
    several = isinstance(value, Iterable) and not isinstance(value, str | Mapping)
    values = tuple(value) if several and not pair else ()
    if not values or not all(dimension.contains(v) for v in values):
        raise ValueError(f"when of {name!r} must ask for values that {parent!r}, {dimension}, can have; got {value!r}.")
    return OneOf(values)


def _is_comparison(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) and value[0] in COMPARISONS


def _words(parent: str, asked: OneOf | Compared) -> str:
    if isinstance(asked, Compared):
        return f"{parent} {asked.sign} {asked.bound:g}"
    *first, last = map(str, asked.values)
    return f"{parent} is {', '.join(first)} or {last}" if first else f"{parent} is {last}"


#: Positions (n,) of points in one dimension: the numbers of its values if it is finite, otherwise coordinates.
Places: TypeAlias = NDArray[Any]
#: Alternatives, each a list of coordinates with the tests of their positions.
Tests: TypeAlias = list[list[tuple[int, Callable[[Places], Mask]]]]


class Activity:
    """Which coordinates are active, at many points at once.

    Args:
        dimensions: the dimensions of a space.
        conditions: those of the dimensions that are not always active.
        ranges: of dimensions whose range depends on another one; only the order matters here, parents first.

    Raises:
        ValueError: if a dimension depends on itself.
    """

    def __init__(
        self, dimensions: Mapping[str, Dimension], conditions: Mapping[str, Condition], ranges: Mapping[str, Any]
    ) -> None:
        names = list(dimensions)
        self._dimensions = list(dimensions.values())
        parents = {name: set(condition.parents) for name, condition in conditions.items()}
        for name, rule in ranges.items():
            parents.setdefault(name, set()).add(rule.parent)
        self.order = [names.index(name) for name in _sorted(names, parents)]
        self._tests: list[Tests] = [
            [[(names.index(p), _test(dimensions[p], asked)) for p, asked in group] for group in c.alternatives]
            if (c := conditions.get(name))
            else []
            for name in names
        ]
        #: Coordinates with the same condition, and the number of the first of them; parents come first.
        shared: dict[Any, list[int]] = {}
        for j in self.order:
            if names[j] in conditions:  # with coordinates in place of values, which need not be hashable
                condition = conditions[names[j]].translated(lambda parent, value: dimensions[parent].to_unit(value))
                shared.setdefault(condition, []).append(j)
        self._shared = [(np.array(js), js[0]) for js in shared.values()]

    def of(self, X: Array) -> Mask:
        """Which coordinates (n, d) of ``X (n, d)`` are active; without a condition, if they are not `INACTIVE`."""
        out: Mask = X != INACTIVE
        places: dict[int, Places] = {}
        for columns, first in self._shared:
            out[:, columns] = self.at(first, X, out, places)[:, None]
        return out

    def at(self, j: int, X: Array, active: Mask, places: dict[int, Places] | None = None) -> Mask:
        """At which points (n,) coordinate ``j`` is active, given whether its parents are, ``active (n, d)``.

        ``places`` keeps the positions of the parents at ``X`` from one call to the next.
        """
        places = {} if places is None else places
        found = np.full(len(X), not self._tests[j])
        for group in self._tests[j]:
            holds = None
            for parent, test in group:
                if parent not in places:
                    places[parent] = _places(self._dimensions[parent], X[:, parent])
                passed = active[:, parent] & test(places[parent])
                holds = passed if holds is None else holds & passed
            found |= holds
        return found


def _passes(value: Any, asked: OneOf | Compared) -> bool:
    """Whether a parent's ``value`` passes a test."""
    if isinstance(asked, OneOf):
        return value in asked.values
    return bool(COMPARISONS[asked.sign](value, asked.bound))


def _sorted(names: list[str], parents: Mapping[str, set[str]]) -> list[str]:
    """Names in an order in which parents come first."""
    done: list[str] = []
    while len(done) < len(names):
        ready = [n for n in names if n not in done and parents.get(n, set()) <= set(done)]
        if not ready:
            circle = sorted(set(names) - set(done))
            raise ValueError(f"when must not lead back to the same dimension, as it does for {circle}.")
        done += ready
    return done


def _places(dimension: Dimension, u: Array) -> Places:
    return u if dimension.size == math.inf else cells(dimension, u)


def _test(dimension: Dimension, asked: OneOf | Compared) -> Callable[[Places], Mask]:
    """The test as a function of a parent's positions (n,)."""
    if isinstance(asked, Compared):
        return _comparison(dimension, asked.sign, asked.bound)
    wanted = _places(dimension, np.array([dimension.to_unit(value) for value in asked.values]))
    if dimension.size > LISTED_PLACES:
        return partial(np.isin, test_elements=wanted)
    listed = np.zeros(int(dimension.size), dtype=bool)
    listed[wanted] = True
    return listed.__getitem__


def _comparison(dimension: Any, sign: str, bound: float) -> Callable[[Places], Mask]:
    compare = COMPARISONS[sign]
    if dimension.size == math.inf:
        if not dimension.low <= bound <= dimension.high:
            return partial(np.full_like, fill_value=compare(dimension.low, bound), dtype=bool)
        return partial(_compared, compare, dimension.to_unit(bound))
    number = (bound - dimension.low) / (dimension.step or 1.0)
    if abs(number - round(number)) < 1e-8:  # on the grid, up to rounding
        number = float(round(number))
    return partial(_compared, compare, number)


def _compared(compare: Callable[[Any, Any], Any], limit: float, places: Places) -> Mask:
    found: Mask = compare(places, limit)
    return found
