"""Ranges that depend on the value of another dimension: as limits of coordinates, and their inference from trials."""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Hashable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from numbo._types import Array, Indices
from numbo.spaces.conditions import INACTIVE
from numbo.spaces.dimensions import Dimension, cells, middles


class RangeRule(NamedTuple):
    """The range of a dimension for each value of its ``parent``; for other values, the whole range."""

    parent: str
    bounds: Mapping[Any, tuple[float, float]]


def interpolated(bounds: Mapping[int, tuple[float, float]]) -> dict[int, tuple[float, float]]:
    """The ``bounds`` for integers, and for integers between two of them the range that covers both of their ranges."""
    known = sorted(bounds)
    out: dict[int, tuple[float, float]] = {}
    for a, b in pairwise(known):
        (low, high) = bounds[a]
        (other_low, other_high) = bounds[b]
        out |= dict.fromkeys(range(a, b), (min(low, other_low), max(high, other_high)))
    return out | dict(bounds)


class Limits:
    """A `RangeRule` in unit-cube coordinates.

    Args:
        j, q: numbers of the dimension and of its parent.
        dimension, parent: these dimensions; the parent is finite.
        rule: in user values.

    Attributes:
        low, high: (size of the parent,) the first and the last coordinate that the dimension may have.
    """

    def __init__(self, j: int, q: int, dimension: Dimension, parent: Dimension, rule: RangeRule) -> None:
        self.j = j
        self.q = q
        self._dimension = dimension
        self._parent = parent
        whole = dimension.from_unit(0.0), dimension.from_unit(1.0)
        values = [parent.from_unit(float(u)) for u in middles(parent, np.arange(int(parent.size)))]
        found = np.array([[dimension.to_unit(v) for v in rule.bounds.get(value, whole)] for value in values])
        self.low = found[:, 0]
        self.high = found[:, 1]

    def of(self, X: Array) -> tuple[Array, Array]:
        """The first and the last coordinates (n,) at ``X (n, d)``, for the rows that have both dimensions."""
        at = cells(self._parent, X[:, self.q])
        there = (X[:, self.q] != INACTIVE) & (X[:, self.j] != INACTIVE)
        return np.where(there, self.low[at], INACTIVE), np.where(there, self.high[at], 1.0)

    def count(self, X: Array) -> tuple[Indices, Indices]:
        """The number of the first value (n,), and the number of values, of a finite dimension at ``X (n, d)``."""
        at = cells(self._parent, X[:, self.q])
        first, last = (cells(self._dimension, side)[at] for side in (self.low, self.high))
        return first, last - first + 1

    def wrap(self, X: Array) -> Array:
        """``X (n, d)`` with coordinates outside the range wrapped into it, so that uniform ones stay uniform."""
        low, high = self.of(X)
        u = X[:, self.j]
        out = (u < low) | (u > high)
        if not out.any():
            return X
        X = X.copy()
        width = np.where(high > low, high - low, 1.0)
        inside = np.where(high > low, low + (u - low) % width, low)[out]
        if np.isfinite(self._dimension.size):
            inside = middles(self._dimension, cells(self._dimension, inside))
        X[out, self.j] = inside
        return X


class RangeUsage:
    """The ranges that parameters had, with the values of others; infers which other parameter determines a range."""

    #: A parameter with more values than this is never assumed to determine ranges.
    LISTED = 64
    #: Mappings of ranges that are recognised.
    PLAIN = 64
    #: A rule needs this many times as many trials as the parent has had values.
    EVIDENCE = 1.5
    #: A range counts as dynamic if it has changed more often than the first number, or at every third trial and at
    #: least as often as the second number.
    CHANGES = 8
    OFTEN = 3
    #: A new range comes from a changed program if this number of trials in a row have had it.
    SETTLED = 8

    def __init__(self) -> None:
        self._trials: list[tuple[int, Mapping[str, float], Mapping[str, Hashable]]] = []
        #: Some mappings of ranges that were recorded, by their identity.
        self._plain: dict[int, Mapping[str, Hashable]] = {}
        #: The range of each parameter that has had one only: most have, and nothing else is recorded of them.
        self._only: dict[str, Hashable] = {}
        #: Of the others: the ranges, each with a number, and the trials with the numbers of their ranges, in order.
        self._ranges: dict[str, dict[Hashable, int]] = {}
        self._order: dict[str, list[tuple[int, int]]] = {}
        self._changes: Counter[str] = Counter()
        #: For parameters with several ranges, by parent: the range for each of the parent's values.
        self._tables: dict[str, dict[str, dict[float, Hashable]]] = {}

    def add(self, number: int, values: Mapping[str, float], ranges: Mapping[str, Hashable]) -> None:
        """Record a trial: its number, its values, and the ranges of parameters that have one.

        Trials with the same ``ranges`` may share the mapping, which takes less time.
        """
        self._trials.append((number, values, ranges))
        if self._plain.get(id(ranges)) is ranges and not self._tables:
            return
        if len(self._plain) == self.PLAIN:
            self._plain.clear()
        self._plain[id(ranges)] = ranges
        for name, found in ranges.items():
            if name not in self._tables:
                if self._only.setdefault(name, found) == found:
                    continue
                self._tables[name] = {q: {} for q in values if q != name}
                for earlier, others, had in self._trials[:-1]:
                    if name in had:
                        self._note(name, earlier, others, had[name])
            self._note(name, number, values, found)

    def _place(self, name: str, number: int, k: int) -> None:
        order = self._order.setdefault(name, [])
        at = bisect(order, (number, k))
        around = [other for _, other in order[max(at - 1, 0) : at + 1]]
        self._changes[name] += sum(other != k for other in around) - (len(set(around)) > 1)
        order.insert(at, (number, k))

    def _note(self, name: str, number: int, values: Mapping[str, float], found: Hashable) -> None:
        """Record the range of a parameter with several ones in a trial."""
        known = self._ranges.setdefault(name, {})
        self._place(name, number, known.setdefault(found, len(known)))
        tables = self._tables[name]
        for q in list(tables):
            if q not in values or tables[q].setdefault(values[q], found) != found or len(tables[q]) > self.LISTED:
                del tables[q]

    def several(self, name: str) -> bool:
        """Whether a parameter has had more than one range."""
        return name in self._tables

    def varies(self, name: str) -> bool:
        """Whether a parameter's range changes too often to be explained by changes of the program."""
        if not self.several(name):
            return False
        changes = self._changes[name]
        trials = len(self._order[name])
        return changes > self.CHANGES or (changes >= self.OFTEN and trials < 3 * (changes + 1))

    def undecided(self, name: str) -> bool:
        """Whether it is too early to say why a parameter has had several ranges: `SETTLED` trials may say more."""
        if not self.several(name) or self.varies(name):
            return False
        latest = [k for _, k in self._order[name][-self.SETTLED :]]
        return latest != [latest[-1]] * self.SETTLED

    def rule(self, name: str, finite: Mapping[str, bool]) -> tuple[str, Mapping[float, Hashable]] | None:
        """The parent that determines the range of a parameter, and the range for each of its values; None if unknown.

        Args:
            name: a parameter.
            finite: the parameters that may be parents, and whether they are unordered.
        """
        tables = self._tables.get(name, {})
        parents = [q for q, t in tables.items() if q in finite and self.EVIDENCE * len(t) <= len(self._order[name])]
        if not parents:
            return None
        best = min(parents, key=lambda q: (not finite[q], len(tables[q]), q))
        return best, tables[best]
