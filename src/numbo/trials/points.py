"""The identity of points, what is known by it, and points whose results are pending."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from numbo._plain import copied
from numbo._types import Array, Indices, Mask
from numbo.trials.curve import Curve
from numbo.trials.trials import own


def identities(X: Array) -> Indices:
    """Integers that are equal if coordinates of ``X`` in the unit cube differ only by rounding."""
    out: Indices = np.rint(X * 1e12).astype(np.int64)
    return out


def point_key(x: Array) -> bytes:
    """Identity of a unit-cube point, equal for points that differ only by rounding."""
    return identities(x).tobytes()


def point_keys(X: Array) -> list[bytes]:
    """The `point_key` of each of the points ``X (n, d)``."""
    return [row.tobytes() for row in identities(X)]


@dataclass(frozen=True)
class Pending:
    """A point that was suggested, and the part of the search that proposed it (`numbo.run.situation.Suggestion`).

    Attributes:
        curve: the reports of its trial so far, None if there are none.
        cost: of the trial, if it is known already; NaN otherwise.
    """

    x: Array
    params: Any
    origin: int
    identity: bytes
    curve: Curve | None = None
    cost: float = math.nan

    @classmethod
    def of(cls, x: Array, params: Any, origin: int, curve: Curve | None = None, cost: float | None = None) -> Pending:
        return cls(x, own(params), origin, point_key(x), curve, math.nan if cost is None else cost)

    def reporting(self, curve: Curve | None) -> Pending:
        """The pending point after a further report."""
        return self if curve is None else replace(self, curve=curve if self.curve is None else self.curve.joined(curve))


class Visits:
    """Which points were told, by their identity, and how often.

    Attributes:
        first: the first observation at each point.
        again: for each observation that is not the first at its point, the index of the first and its own.
        failures: the positions among all trials of the failures at each point.
        failed_again: how many trials failed at a point with an observation.
        told_again: how many trials that no search asked for are at a point that was told before.
    """

    def __init__(self) -> None:
        self.first: dict[bytes, int] = {}
        self.again: list[tuple[int, int]] = []
        self.failures: dict[bytes, tuple[int, ...]] = {}
        self.failed_again = 0
        self.told_again = 0

    __copy__ = copied

    def add(self, key: bytes, i: int, t: int, *, failed: bool, unasked: bool) -> None:
        """Count the trial at position ``t`` at the point with this ``key``, observation ``i`` if it has not failed."""
        self.told_again += unasked and (key in self.first or key in self.failures)
        if failed:
            self.failures[key] = (*self.failures.get(key, ()), t)
            self.failed_again += key in self.first
        elif (first := self.first.setdefault(key, i)) != i:
            self.again.append((first, i))

    def only_failed(self, key: bytes) -> bool:
        """Whether the point with this ``key`` has failed, and never succeeded."""
        return key in self.failures and key not in self.first

    @property
    def failed(self) -> dict[bytes, int]:
        """The position of the last failure at each point that has never succeeded."""
        return {key: failures[-1] for key, failures in self.failures.items() if key not in self.first}

    def superseded(self, n: int) -> Mask:
        """Which of all ``n`` trials are failures at a point that has also succeeded."""
        out = np.zeros(n, dtype=bool)
        for key, failures in self.failures.items():
            out[list(failures)] = key in self.first
        return out

    def observed(self, points: Iterable[Pending]) -> int:
        """How many of these ``points`` have an observation."""
        return sum(point.identity in self.first for point in points)
