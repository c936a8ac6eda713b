"""Bounds on which points fail although points next to them succeed: an open range that was given as a closed one.

A search often proposes values exactly on a bound, and a fraction of 0.0 may fail where 1e-6 works. For a model of
smooth functions the two are one point. So failures are explained by bounds first, starting with the bound that explains
most. A bound explains its failures if no point on it has succeeded, if the nearest points off it succeed, and if this
number of failures is less probable than `UNLIKELY` at the failure rate of the points off it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from numbo._types import Array, Mask

SIDES = (0.0, 1.0)
UNLIKELY = 0.05
#: Distance by which a point is moved off a bound, and how often it is doubled at most to find a point not taken.
STEP = 1e-3
DOUBLINGS = 6


def failing_bounds(X: Array, failed: Mask, continuous: Mask) -> tuple[Mask, Mask]:
    """The bounds (2, d), lower and upper, on which points of ``X (n, d)`` fail, and the failures (n,) they explain.

    Args:
        failed: (n,) which of the points have failed.
        continuous: (d,) which coordinates may have such bounds.
    """
    closed = np.zeros((2, X.shape[1]), dtype=bool)
    explained = np.zeros(len(X), dtype=bool)
    while True:
        left = ~explained
        lost = X[failed & left]
        counts = np.array([np.sum((lost == side) & continuous, axis=0) for side in SIDES])
        for side, j in np.argwhere(counts):
            if not _fails(X[left, j], failed[left], SIDES[side]):
                counts[side, j] = 0
        if not counts.any():
            return closed, explained
        side, j = np.unravel_index(int(np.argmax(counts)), counts.shape)
        closed[side, j] = True
        explained |= (X[:, j] == SIDES[side]) & failed


def _fails(x: Array, failed: Mask, side: float) -> bool:
    """Whether the bound ``side`` of one coordinate ``x (n,)`` explains failures ``failed (n,)``."""
    on = x == side
    off = (x >= 0.0) & (x != side)
    if not failed[on].all() or not off.any():
        return False
    distance = np.abs(x - side)
    nearest = off & (distance == distance[off].min())
    rate = (failed[off].sum() + 1.0) / (off.sum() + 2.0)
    return bool(np.mean(failed[nearest]) < 0.5 and rate ** on.sum() < UNLIKELY)


def off_bounds(x: Array, closed: Mask, taken: Callable[[Array], bool]) -> Array:
    """``x (d,)`` moved off the bounds ``closed (2, d)`` that it lies on; not ``taken`` if such a point is found."""
    if not closed.any():
        return x
    lower = closed[0] & (x == SIDES[0])
    upper = closed[1] & (x == SIDES[1])
    if not (lower.any() or upper.any()):
        return x
    moved = x
    for k in range(DOUBLINGS + 1):
        step = STEP * 2.0**k
        moved = np.where(lower, step, np.where(upper, 1.0 - step, x))
        if not taken(moved):
            break
    return moved
