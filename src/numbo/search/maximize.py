"""Maximise a utility over a mixed space.

Candidates are screened in one sweep; the best few are improved by gradient ascent on the coordinates that have a
gradient, and by flipping the others one at a time, in turns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from numbo._types import Array
from numbo.search.utility import Utility
from numbo.spaces import INACTIVE, Domain

FLIP_ROUNDS = 4


class Box(NamedTuple):
    """A box in the unit cube of a domain.

    Attributes:
        space: what is searched.
        lower, upper: corners (d,).
        dormant: (m, d) values for coordinates that become active; None where all are always active.
    """

    space: Domain
    lower: Array
    upper: Array
    dormant: Array | None = None


def maximize(
    utility: Utility, box: Box, groups: Sequence[Array], taken: Callable[[Array], bool], *, starts: int
) -> Array | None:
    """The best point found within the ``box`` that is neither ``taken`` nor crowded; ``None`` if all are.

    Args:
        utility: what is maximised.
        box: where.
        groups: snapped points (c, d) of the space inside the box, in groups from different sources.
        taken: which points must not be proposed.
        starts: how many of the candidates of each group are improved; 0 to take the best candidate as it is.
    """
    candidates = np.concatenate(groups)
    values = utility.values(candidates)
    chosen = []
    first = 0
    for group in groups:
        some = utility.uncrowded(group, values[first : first + len(group)])
        chosen += [first + i for i in islice(some, starts)]
        first += len(group)
    best = np.array(chosen, dtype=np.int64)
    X = candidates[best]
    found = values[best]
    improve = _Improvement(utility, *box)
    if starts and box.space.relaxed.any():
        X, found = improve.ascend(X, found)
    if starts and box.space.discrete.any():
        X, found = improve.flip(X, found)
    points = np.concatenate([X, candidates])
    values = np.concatenate([found, values])
    free = (points[i] for i in utility.uncrowded(points, values) if not taken(points[i]))
    return next(free, None)


class _Improvement(NamedTuple):
    """Moves points of the space within a box to larger values of a utility."""

    utility: Utility
    space: Domain
    lower: Array
    upper: Array
    dormant: Array | None

    def ascend(self, X: Array, found: Array) -> tuple[Array, Array]:
        """Climb from ``X (s, d)`` of values ``found (s,)`` in the relaxed coordinates, snap, and keep what improved."""
        space = self.space
        moving = space.relaxed & (X != INACTIVE)
        low, high = (np.where(moving, side, X) for side in space.limits(X, self.lower, self.upper))
        climbed, values = self.utility.climb(X, low, high)
        if space.discrete.any() or self.dormant is not None:
            snapped = space.snap(climbed, self.dormant)
            if (moved := (snapped != climbed).any(axis=1)).any():
                climbed = snapped
                values[moved] = self.utility.values(snapped[moved])
        better = values > found
        return np.where(better[:, None], climbed, X), np.where(better, values, found)

    def flip(self, X: Array, found: Array) -> tuple[Array, Array]:
        """Move ``X (s, d)`` to their best neighbours in the discrete coordinates, then climb, until neither helps."""
        X = X.copy()
        found = found.copy()
        moving = np.arange(len(X))
        for _ in range(FLIP_ROUNDS):
            near, owner = self.space.neighbours(X[moving], self.dormant)
            inside = np.all((near >= self.lower) & (near <= self.upper) | (near == INACTIVE), axis=1)
            near = near[inside]
            owner = moving[owner[inside]]
            values = self.utility.values(near)
            moved = []
            for r in moving:
                mine = np.flatnonzero(owner == r)
                if len(mine) and values[best := mine[np.argmax(values[mine])]] > found[r]:
                    X[r] = near[best]
                    found[r] = values[best]
                    moved.append(r)
            if not moved:
                break
            moving = np.array(moved)
            if self.space.continuous.any():
                X[moving], found[moving] = self.ascend(X[moving], found[moving])
        return X, found
