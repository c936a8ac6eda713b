"""The identity of points, and points whose results are pending."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from numbo._types import Array, Indices
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
