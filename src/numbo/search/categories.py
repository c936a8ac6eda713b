"""Candidates with certain categories."""

from __future__ import annotations

import numpy as np

from numbo._types import Array, Indices
from numbo.run.situation import Situation
from numbo.spaces import INACTIVE, Space
from numbo.spaces.dimensions import middles
from numbo.trials import best_first, scores_of

#: Number of candidates for each combination: the best points with changed categories, and points anywhere. Not tuned.
NEAR_BEST = 4
RANDOM = 12


def with_categories(space: Space, run: Situation, at: Indices, numbers: Indices) -> Array:
    """Points (c, d) with each row of ``numbers (k, m)``, the categories of the coordinates ``at (m,)``.

    Other coordinates are from the best points, or anywhere.
    """
    history = run.history
    best = history.X[best_first(scores_of(history))[:NEAR_BEST]]
    anywhere = run.candidates.spread(RANDOM, run.rng)
    dormant = run.dormant(run.rng)
    filled = best if dormant is None else np.where(best == INACTIVE, dormant[:1], best)
    base = np.concatenate([filled, anywhere])
    points = []
    for row in numbers:
        some = base.copy()
        for j, number in zip(at, row, strict=True):
            some[:, j] = middles(space[space.names[j]], np.array([number]))[0]
        points.append(some)
    return space.snap(np.concatenate(points))
