"""Maximise an acquisition function over a mixed space.

Candidates are screened in one sweep; the best few are improved by gradient ascent on the coordinates that have a
gradient, and by flipping the others one at a time, in turns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from numbo.kernels.acquisition import Acquisition, Posterior, acquisition_values
from numbo.kernels.ascent import ascend
from numbo.space import Space

Array = NDArray[np.float64]

ASCENT_ITERATIONS = 40
ASCENT_TOLERANCE = 1e-5
FLIP_ROUNDS = 4


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
) -> Array | None:
    """The best point found within ``[lower, upper]`` that is not ``taken``; ``None`` if all are.

    Args:
        groups: snapped points (c, d) of the space inside the box, in groups from different sources.
        lower, upper: corners (d,) of the box in the unit cube.
        taken: which points must not be proposed.
        starts: how many of the candidates of each group are improved.
    """
    candidates = np.concatenate(groups)
    values = acquisition_values(posterior, acquisition, candidates)
    chosen, first = [], 0
    for group in groups:
        chosen.append(first + np.argsort(-values[first : first + len(group)], kind="stable")[:starts])
        first += len(group)
    best = np.concatenate(chosen)
    X, found = candidates[best], values[best]
    if space.relaxed.any():
        X, found = _ascend(posterior, acquisition, space, X, found, lower, upper)
    if space.discrete.any():
        X, found = _flip(posterior, acquisition, space, X, found, lower, upper)
    points, values = np.concatenate([X, candidates]), np.concatenate([found, values])
    for i in np.argsort(-values, kind="stable"):
        if not taken(points[i]):
            return points[i]
    return None


def _ascend(
    posterior: Posterior, acquisition: Acquisition, space: Space, X: Array, found: Array, lower: Array, upper: Array
) -> tuple[Array, Array]:
    """Climb from ``X (s, d)`` of values ``found (s,)`` in the relaxed coordinates, snap, and keep what improved."""
    low, high = np.where(space.relaxed, lower, X), np.where(space.relaxed, upper, X)
    climbed, values = ascend(posterior, acquisition, X, low, high, ASCENT_ITERATIONS, ASCENT_TOLERANCE)
    if space.discrete.any():
        climbed = space.snap(climbed)
        values = acquisition_values(posterior, acquisition, climbed)
    better = values > found
    return np.where(better[:, None], climbed, X), np.where(better, values, found)


def _flip(
    posterior: Posterior, acquisition: Acquisition, space: Space, X: Array, found: Array, lower: Array, upper: Array
) -> tuple[Array, Array]:
    """Move each of ``X (s, d)`` to its best neighbour in the discrete coordinates, then climb, until neither helps."""
    X, found = X.copy(), found.copy()
    moving = np.arange(len(X))
    for _ in range(FLIP_ROUNDS):
        near, owner = space.neighbours(X[moving])
        inside = np.all((near >= lower) & (near <= upper), axis=1)
        near, owner = near[inside], moving[owner[inside]]
        values = acquisition_values(posterior, acquisition, near)
        moved = []
        for r in moving:
            mine = np.flatnonzero(owner == r)
            if len(mine) and values[best := mine[np.argmax(values[mine])]] > found[r]:
                X[r], found[r] = near[best], values[best]
                moved.append(r)
        if not moved:
            break
        moving = np.array(moved)
        if space.continuous.any():
            X[moving], found[moving] = _ascend(posterior, acquisition, space, X[moving], found[moving], lower, upper)
    return X, found
