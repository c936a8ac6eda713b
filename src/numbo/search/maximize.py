"""Maximise a utility over a mixed space.

All candidates are evaluated at once. The best few are improved in turns by gradient ascent on coordinates with a
gradient, and by changing one of the other coordinates at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from numbo._types import Array, Indices, Mask
from numbo.run.availability import Availability
from numbo.search.utility import Utility, Valued
from numbo.spaces import INACTIVE, Corners, Domain
from numbo.spaces.allowed import Allowed
from numbo.spaces.domain import Derived
from numbo.trials import best_first

FLIP_ROUNDS = 4
#: Of each group of candidates so many are asked of a function that says what is allowed, and moved if they are not.
ON_TOP = 8


class Box(NamedTuple):
    """A box in the unit cube of a domain.

    Attributes:
        available: what is allowed, and which coordinates are fixed.
        corners: (d,) of the box.
        dormant: (m, d) values for coordinates that become active; None if all are always active.
    """

    available: Availability
    corners: Corners
    dormant: Array | None = None

    @property
    def space(self) -> Domain:
        """The searched space."""
        return self.available.space

    @property
    def allowed(self) -> Allowed | None:
        """What is known of the parameters together, in a space that is not a list of points."""
        return self.space.allowed if self.available.grid is None else None


def maximize(
    utility: Utility,
    box: Box,
    groups: Sequence[Array],
    taken: Callable[[Array], bool],
    *,
    starts: int,
    fit: Callable[[Array], Mask] | None = None,
) -> Array | None:
    """The best point found within the ``box`` that is neither ``taken`` nor crowded (`Utility`); None if all are.

    Args:
        utility: the function to maximise.
        box: the search space.
        groups: snapped points (c, d) of the space inside the box, in groups from different sources.
        taken: which points must not be proposed.
        starts: how many candidates of each group are improved; with 0, the best candidate is returned unchanged.
        fit: which of some points (c, d) fit into a budget: others are proposed only if none of the points found does.
    """
    candidates = np.concatenate(groups)
    values = utility.values(candidates)
    if box.allowed is not None and box.allowed.predicates:
        candidates, values = _within(utility, box, box.allowed.anchors, candidates, values, groups)
    chosen = []
    first = 0
    for group in groups:
        some = utility.uncrowded(candidates[first : first + len(group)], values[first : first + len(group)])
        chosen += [first + i for i in islice(some, starts) if values[first + i] > -np.inf]
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
    if box.allowed is not None:
        taken = _once(taken)
    free = (points[i] for i in utility.uncrowded(points, values) if not taken(points[i]))
    x = next(free, None)
    if x is not None and fit is not None and not fit(x[None])[0]:
        rest = list(free)
        fine = fit(np.array(rest)) if rest else np.zeros(1, dtype=bool)
        return rest[int(np.argmax(fine))] if fine.any() else x
    return x


def _once(taken: Callable[[Array], bool]) -> Callable[[Array], bool]:
    """As ``taken``, which is asked once of each point: many points are moved to the same one."""
    known: set[bytes] = set()

    def asked(x: Array) -> bool:
        key = x.tobytes()
        if key in known:
            return True
        known.add(key)
        return taken(x)

    return asked


def _within(
    utility: Utility, box: Box, anchors: Array, candidates: Array, values: Array, groups: Sequence[Array]
) -> Valued:
    """The ``candidates (c, d)`` with those on top of each group moved to allowed points, and the ``values (c,)``.

    Those that are no longer on top stay as they are: whether they are allowed is asked when they are to be suggested.
    """
    available = box.available
    X = candidates.copy()
    values = values.copy()
    moved = []
    first = 0
    for group in groups:
        top = first + best_first(values[first : first + len(group)])[:ON_TOP]
        fine = np.array([available.permits(X[i]) for i in top], dtype=bool)
        bases = np.concatenate([X[top[fine]], anchors])
        for i in top[~fine]:
            base = bases[int(np.argmin(np.sum((bases - X[i]) ** 2, axis=1)))]
            if available.held is None or np.array_equal(available.fix(base), base):
                X[i] = available.pulled(X[i], base)
                moved.append(i)
            else:
                values[i] = -np.inf
        first += len(group)
    if moved:
        values[moved] = utility.values(X[moved])
    return Valued(X, values)


class _Improvement(NamedTuple):
    """Moves points of the space within a box to larger values of a utility."""

    utility: Utility
    box: Box

    def ascend(self, start: Valued) -> Valued:
        """Gradient ascent in the relaxed coordinates, then snapping; points that did not improve are kept."""
        space = self.box.space
        moving = space.relaxed & (start.X != INACTIVE)
        limits = space.limits(start.X, self.box.corners)
        lower = np.where(moving, limits.lower, start.X)
        upper = np.where(moving, limits.upper, start.X)
        if self.box.allowed is not None:
            return self._ascend_allowed(self.box.allowed, start, lower, upper)
        found = self.utility.climb(start.X, lower, upper)
        if space.discrete.any() or self.box.dormant is not None:
            snapped = space.snap(found.X, self.box.dormant)
            if (moved := (snapped != found.X).any(axis=1)).any():
                found = found._replace(X=snapped)
                found.values[moved] = self.utility.values(snapped[moved])
        better = found.values > start.values
        return Valued(np.where(better[:, None], found.X, start.X), np.where(better, found.values, start.values))

    def _ascend_allowed(self, allowed: Allowed, start: Valued, lower: Array, upper: Array) -> Valued:
        """`ascend` where not all points are allowed; the starts are."""
        if allowed.linear:
            still = allowed.at_zero(start.X)
            lower = np.where(still, start.X, np.minimum(lower, start.X))
            upper = np.where(still, start.X, np.maximum(upper, start.X))
        found = self.utility.climb(start.X, lower, upper, allowed.polytope if allowed.linear else None)
        X = self.box.space.snap(found.X, self.box.dormant)
        X, fine = allowed.mended(X, self.box.available.held)
        X = np.where(fine[:, None], X, start.X)
        if allowed.predicates:
            X = np.array([self.box.available.pulled(x, base) for x, base in zip(X, start.X, strict=True)])
        values = self.utility.values(X)
        better = values > start.values
        return Valued(np.where(better[:, None], X, start.X), np.where(better, values, start.values))

    def _neighbours(self, X: Array) -> Derived:
        """Points (k, d) of the space near rows of ``X (n, d)``; linear constraints hold there."""
        space = self.box.space
        near = space.neighbours(X, self.box.dormant)
        if self.box.allowed is None:
            return near
        held = X[near.rows] != near.X
        if self.box.available.held is not None:
            held |= self.box.available.held
        moved, fine = self.box.allowed.mended(near.X, held)
        return Derived(moved[fine], near.rows[fine])

    def flip(self, start: Valued) -> Valued:
        """Move points to their best neighbours in the discrete coordinates, then ascend, until neither helps."""
        space = self.box.space
        X = start.X.copy()
        found = start.values.copy()
        moving = np.arange(len(X))
        for _ in range(FLIP_ROUNDS):
            neighbours = self._neighbours(X[moving])
            inside = self.box.corners.hold(neighbours.X)
            near = neighbours.X[inside]
            owner = moving[neighbours.rows[inside]]
            values = self.utility.values(near)
            moved = []
            for r in moving:
                mine = np.flatnonzero(owner == r)
                best = self._best_of(near, values, mine)
                if best >= 0 and values[best] > found[r]:
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

    def _best_of(self, X: Array, values: Array, rows: Indices) -> int:
        """The best of the ``rows`` of ``X (k, d)`` by their ``values (k,)`` that is allowed; -1 if there is none."""
        if self.box.allowed is None or not self.box.allowed.predicates:
            return int(rows[np.argmax(values[rows])]) if len(rows) else -1
        best = rows[best_first(values[rows])[:ON_TOP]]
        return next((int(i) for i in best if self.box.available.permits(X[i])), -1)
