"""Maximise an acquisition function over a mixed space.

Candidates are screened in one sweep; the best few are improved by gradient ascent on the coordinates that have a
gradient, and by flipping the others one at a time, in turns.

Points that are evaluated at the same time must be spread out. How far is a matter of information: a point is *crowded*
where the pending points leave less than a share `CROWDED` of the variance that the model has without them. A copy of a
pending point keeps the share noise / (variance + noise), so that copies are welcome where noise prevails; without
noise, a point in the distance r of a single one keeps 1 - rho(r)^2, where rho is the posterior correlation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from numbo._types import Array
from numbo.kernels.acquisition import Acquisition, Posterior, acquisition_values, predict
from numbo.kernels.ascent import ascend
from numbo.spaces import INACTIVE, Space

ASCENT_ITERATIONS = 40
ASCENT_TOLERANCE = 1e-5
FLIP_ROUNDS = 4
#: Share of its variance that pending points must leave to the next one.
CROWDED = 0.1
#: Number of points tested for it first, best first; it doubles in each round.
BLOCK = 4


def maximize(
    posterior: Posterior,
    acquisition: Acquisition,
    space: Space,
    groups: Sequence[Array],
    lower: Array,
    upper: Array,
    taken: Callable[[Array], bool],
    *,
    starts: int,
    alone: Posterior | None = None,
    dormant: Array | None = None,
) -> Array | None:
    """The best point found within ``[lower, upper]`` that is neither ``taken`` nor crowded; ``None`` if all are.

    Args:
        groups: snapped points (c, d) of the space inside the box, in groups from different sources.
        lower, upper: corners (d,) of the box in the unit cube.
        taken: which points must not be proposed.
        starts: how many of the candidates of each group are improved; 0 to take the best candidate as it is.
        alone: the posterior without the pending points, ``None`` if there are none.
        dormant: (m, d) values for coordinates that become active; None where all are always active.
    """
    candidates = np.concatenate(groups)
    values = acquisition_values(posterior, acquisition, candidates)
    chosen, first = [], 0
    for group in groups:
        some = _uncrowded(posterior, alone, group, values[first : first + len(group)])
        chosen += [first + i for i in islice(some, starts)]
        first += len(group)
    best = np.array(chosen, dtype=np.int64)
    X, found = candidates[best], values[best]
    improve = _Improvement(posterior, acquisition, space, lower, upper, dormant)
    if starts and space.relaxed.any():
        X, found = improve.ascend(X, found)
    if starts and space.discrete.any():
        X, found = improve.flip(X, found)
    points, values = np.concatenate([X, candidates]), np.concatenate([found, values])
    free = (points[i] for i in _uncrowded(posterior, alone, points, values) if not taken(points[i]))
    return next(free, None)


def remaining_share(posterior: Posterior, alone: Posterior, X: Array) -> Array:
    """Share (c,) of the variance at ``X (c, d)`` under ``alone`` left under ``posterior``; 0 where there was none."""
    before, after = predict(alone, X)[1], predict(posterior, X)[1]
    out: Array = after / np.maximum(before, np.finfo(float).tiny)
    return out


def _uncrowded(posterior: Posterior, alone: Posterior | None, points: Array, values: Array) -> Iterator[int]:
    """Rows of ``points (c, d)`` that are not crowded, by descending ``values (c,)``."""
    order = np.argsort(-values, kind="stable")
    if alone is None:
        yield from order.tolist()
        return
    size = BLOCK
    while len(order):
        block, order = order[:size], order[size:]
        yield from block[remaining_share(posterior, alone, points[block]) >= CROWDED].tolist()
        size *= 2


class _Improvement(NamedTuple):
    """Moves points of the space within a box to larger values of an acquisition function."""

    posterior: Posterior
    acquisition: Acquisition
    space: Space
    lower: Array
    upper: Array
    dormant: Array | None

    def values(self, X: Array) -> Array:
        return acquisition_values(self.posterior, self.acquisition, X)

    def ascend(self, X: Array, found: Array) -> tuple[Array, Array]:
        """Climb from ``X (s, d)`` of values ``found (s,)`` in the relaxed coordinates, snap, and keep what improved."""
        space = self.space
        moving = space.relaxed & (X != INACTIVE)
        low, high = (np.where(moving, side, X) for side in space.limits(X, self.lower, self.upper))
        climbed, values = ascend(self.posterior, self.acquisition, X, low, high, ASCENT_ITERATIONS, ASCENT_TOLERANCE)
        if space.discrete.any() or self.dormant is not None:
            snapped = space.snap(climbed, self.dormant)
            if (moved := (snapped != climbed).any(axis=1)).any():
                climbed, values[moved] = snapped, self.values(snapped[moved])
        better = values > found
        return np.where(better[:, None], climbed, X), np.where(better, values, found)

    def flip(self, X: Array, found: Array) -> tuple[Array, Array]:
        """Move ``X (s, d)`` to their best neighbours in the discrete coordinates, then climb, until neither helps."""
        X, found = X.copy(), found.copy()
        moving = np.arange(len(X))
        for _ in range(FLIP_ROUNDS):
            near, owner = self.space.neighbours(X[moving], self.dormant)
            inside = np.all((near >= self.lower) & (near <= self.upper) | (near == INACTIVE), axis=1)
            near, owner = near[inside], moving[owner[inside]]
            values = self.values(near)
            moved = []
            for r in moving:
                mine = np.flatnonzero(owner == r)
                if len(mine) and values[best := mine[np.argmax(values[mine])]] > found[r]:
                    X[r], found[r] = near[best], values[best]
                    moved.append(r)
            if not moved:
                break
            moving = np.array(moved)
            if self.space.continuous.any():
                X[moving], found[moving] = self.ascend(X[moving], found[moving])
        return X, found
