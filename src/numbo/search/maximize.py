"""Maximise a utility over a mixed space.

All candidates are evaluated at once. The best few are improved in turns by gradient ascent on coordinates with a
gradient, and by changing one of the other coordinates at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from numbo._types import Array
from numbo.search.utility import Utility, Valued
from numbo.spaces import INACTIVE, Corners, Domain

FLIP_ROUNDS = 4


class Box(NamedTuple):
    """A box in the unit cube of a domain.

    Attributes:
        space: the searched space.
        corners: (d,) of the box.
        dormant: (m, d) values for coordinates that become active; None if all are always active.
    """

    space: Domain
    corners: Corners
    dormant: Array | None = None


def maximize(
    utility: Utility, box: Box, groups: Sequence[Array], taken: Callable[[Array], bool], *, starts: int
) -> Array | None:
    """The best point found within the ``box`` that is neither ``taken`` nor crowded (`Utility`); None if all are.

    Args:
        utility: the function to maximise.
        box: the search space.
        groups: snapped points (c, d) of the space inside the box, in groups from different sources.
        taken: which points must not be proposed.
        starts: how many candidates of each group are improved; with 0, the best candidate is returned unchanged.
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
    found = Valued(candidates[best], values[best])
    improve = _Improvement(utility, box)
    if starts and box.space.relaxed.any():
        found = improve.ascend(found)
    if starts and box.space.discrete.any():
        found = improve.flip(found)
    points = np.concatenate([found.X, candidates])
    values = np.concatenate([found.values, values])
    free = (points[i] for i in utility.uncrowded(points, values) if not taken(points[i]))
    return next(free, None)


class _Improvement(NamedTuple):
    """Moves points of the space within a box to larger values of a utility."""

    utility: Utility
    box: Box

    def ascend(self, start: Valued) -> Valued:
        """Gradient ascent in the relaxed coordinates, then snapping; points that did not improve are kept."""
        space = self.box.space
        moving = space.relaxed & (start.X != INACTIVE)
        limits = space.limits(start.X, self.box.corners)
        found = self.utility.climb(
            start.X, np.where(moving, limits.lower, start.X), np.where(moving, limits.upper, start.X)
        )
        if space.discrete.any() or self.box.dormant is not None:
            snapped = space.snap(found.X, self.box.dormant)
            if (moved := (snapped != found.X).any(axis=1)).any():
                found = found._replace(X=snapped)
                found.values[moved] = self.utility.values(snapped[moved])
        better = found.values > start.values
        return Valued(np.where(better[:, None], found.X, start.X), np.where(better, found.values, start.values))

    def flip(self, start: Valued) -> Valued:
        """Move points to their best neighbours in the discrete coordinates, then ascend, until neither helps."""
        space = self.box.space
        X = start.X.copy()
        found = start.values.copy()
        moving = np.arange(len(X))
        for _ in range(FLIP_ROUNDS):
            neighbours = space.neighbours(X[moving], self.box.dormant)
            inside = self.box.corners.hold(neighbours.X)
            near = neighbours.X[inside]
            owner = moving[neighbours.rows[inside]]
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
            if space.continuous.any():
                climbed = self.ascend(Valued(X[moving], found[moving]))
                X[moving] = climbed.X
                found[moving] = climbed.values
        return Valued(X, found)
