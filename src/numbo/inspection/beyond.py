"""What lies beyond a front, as far as the models of several objectives expect.

That is the front of their means over the whole space. It is sought in rounds: among points that fill the space, and
around the points of the front, where the next round starts from the best ones, in smaller steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from numbo._types import Array, Mask
from numbo.kernels.acquisition import CERTAIN, success_probabilities
from numbo.models.view import ModelView
from numbo.run.run import Run
from numbo.trials import point_key
from numbo.trials.front import beaten, extent, non_dominated, thinned

#: Number of rounds, how much smaller the steps get in each, and the number of points that each starts around.
ROUNDS = 8
SHRINKING = 0.6
AROUND = 48
#: So many points of a finite space are looked at, at random if there are more.
MOST = 16384
#: What meets all constraints with at least this log probability is taken for feasible. With one half, points
#: lay far outside a slab of three dimensions, 40 trials after the start, where its model knows next to nothing.
LIKELY = math.log(0.9)
#: A point has to be so far ahead of the front in some objective, as a share of its range, against each of its points:
#: otherwise the ends of a front and the gaps between its points are full of others that hardly differ.
AHEAD = 0.01


def beyond(run: Run, view: ModelView, means: Callable[[Array], Array], X: Array, front: Array) -> Array:
    """Points (m, d) that nobody has measured, and whose means neither the front nor each other dominate.

    Args:
        run: what is known, with nothing pending.
        view: the model, whose constraints have to hold with a probability of `LIKELY`.
        means: of the objectives (c, k) at points (c, d); larger ones are better.
        X: (f, d) the points of the front.
        front: (f, k) what they have, finite.
    """
    with np.errstate(over="ignore"):
        least = front + AHEAD * extent(front, np.zeros(front.shape[1]))[1] if len(front) else front
    rng = np.random.default_rng(0)
    found = X[:0]
    expected = front[:0]
    for k in range(1 if run.grid is not None else ROUNDS):
        known = np.concatenate([X, found]), np.concatenate([front, expected])
        points = _candidates(run, view.lengthscales * SHRINKING**k, *known, rng)
        fresh = points[_allowed(run, view, points)]
        if not len(fresh):
            continue
        values = means(fresh)
        ahead = ~beaten(values, least)
        found = np.concatenate([found, fresh[ahead]])
        expected = np.concatenate([expected, values[ahead]])
        best = non_dominated(expected)
        found = found[best]
        expected = expected[best]
    return found


def _candidates(run: Run, lengthscales: Array, X: Array, values: Array, rng: np.random.Generator) -> Array:
    """Points (c, d) that fill the space, and around those of ``X (f, d)`` whose ``values (f, k)`` are far apart."""
    if run.grid is not None:
        rows = run.available.rows(anyhow=True)
        return run.grid[rows if len(rows) <= MOST else rng.choice(rows, MOST, replace=False)]
    elites = X[thinned(values, AROUND)] if len(X) else X
    return np.concatenate(run.design.candidates.groups(elites, lengthscales, rng))


def _allowed(run: Run, view: ModelView, points: Array) -> Mask:
    """Which of the ``points (c, d)`` nobody has measured, and are likely to succeed and to meet all constraints."""
    out = np.array([point_key(x) not in run.history.first for x in points], dtype=bool)
    success = view.acquisition.success
    if success is not CERTAIN:
        out &= success_probabilities(success, points) >= success.threshold
    if len(view.constraints):
        out &= view.constraints.log_probability(points) > LIKELY
    return out
