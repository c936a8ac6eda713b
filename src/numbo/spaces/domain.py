"""Boxes in the unit cube, and points that are derived from others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from numbo._types import Array, Indices, Mask
from numbo.spaces.conditions import INACTIVE


class Corners(NamedTuple):
    """The ``lower`` and the ``upper`` corner of a box in the unit cube: (d,), or (n, d), one box for each point."""

    lower: Array
    upper: Array

    @classmethod
    def of_cube(cls, d: int) -> Corners:
        """The whole unit cube."""
        return cls(np.zeros(d), np.ones(d))

    def hold(self, X: Array) -> Mask:
        """Which of the points ``X (n, d)`` lie in the box in all their active coordinates."""
        inside: Mask = np.all((self.lower <= X) & (self.upper >= X) | (X == INACTIVE), axis=1)
        return inside


class Derived(NamedTuple):
    """Points ``X (k, d)`` derived from other points, and the ``rows (k,)`` of the originals."""

    X: Array
    rows: Indices
