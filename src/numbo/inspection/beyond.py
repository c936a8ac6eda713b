"""Points that the models of several objectives expect beyond a front.

These are the front of the models' means over the whole space. It is searched in rounds: among points that fill the
space, and around the points of the front. Each round starts from the best points of the last one, in smaller steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from numbo import _checks
from numbo._types import Array, Mask
from numbo.inspection.fronts import told
from numbo.inspection.predictions import Predictions, stacked
from numbo.kernels.acquisition import CERTAIN, success_probabilities
from numbo.models.transforms import LARGEST
from numbo.models.view import ModelView
from numbo.run.situation import Situation
from numbo.trials import point_key
from numbo.trials.front import NonDominated, beaten, best_of_first, extent, non_dominated, thinned

#: Number of rounds, the factor by which steps shrink in each, and the number of points around which each searches.
ROUNDS = 8
SHRINKING = 0.6
AROUND = 48
#: Maximum number of points of a finite space that are considered, at random if there are more.
MOST = 16384
#: Points that meet all constraints with at least this log probability count as feasible. With a probability of one
#: half, points lay far outside a feasible slab of three dimensions after 40 trials, where its model had few data.
LIKELY = math.log(0.9)
#: Against each point of the front, a new point has to be better by this share of the range in some objective.
#: Otherwise many nearly equal points would lie at the ends of a front and between its points.
AHEAD = 0.01


def expected_beyond(
    predictions: Predictions, front: Callable[[], NonDominated], count: int, objectives: Sequence[int] | None
) -> list[tuple[Any, tuple[float, ...], tuple[float, ...]]]:
    """Points that the models expect beyond the ``front`` (`numbo.inspection.Snapshot.beyond_front`)."""
    history = predictions.run.history
    count = _checks.integer("count", count, 1)
    kept = list(range(history.k)) if objectives is None else _kept(objectives, history.k)
    views = predictions.views("beyond_front")
    rows, values = front()
    own = np.clip(values[:, kept], -LARGEST, LARGEST)
    best = non_dominated(own)

    def means(Z: Array) -> Array:
        return np.stack([views[j].mean_sd(Z).mean for j in kept], axis=1)

    X = beyond(predictions.run, views[0], means, history.X[rows[best]], own[best])
    if not len(X):
        return []
    mean, std = stacked([predictions.widened(view, X) for view in views])
    apart = thinned(mean[:, kept], count)
    order = apart[best_of_first(mean[apart][:, kept])]
    points = map(predictions.run.space.decode, X[order])
    return list(zip(points, told(predictions.run.goal, mean[order]), map(tuple, std[order].tolist()), strict=True))


def _kept(objectives: Sequence[int], k: int) -> list[int]:
    """Some of the ``k`` objectives, by their numbers from 0."""
    found = list(objectives) if isinstance(objectives, Iterable) else []
    if not found or not all(_checks.is_integer(j) and 0 <= j < k for j in found) or len(set(found)) < len(found):
        raise ValueError(f"objectives must be different integers from 0 to {k - 1}, got {objectives!r}.")
    return found


def beyond(run: Situation, view: ModelView, means: Callable[[Array], Array], X: Array, front: Array) -> Array:
    """Points (m, d) without a trial whose means are dominated neither by the front nor by each other.

    Args:
        run: a run with nothing pending.
        view: the model; its constraints have to hold with a probability of `LIKELY`.
        means: of the objectives (c, k) at points (c, d); larger ones are better.
        X: (f, d) the points of the front.
        front: (f, k) their outputs, finite.
    """
    with np.errstate(over="ignore"):
        least = front + AHEAD * extent(front, np.zeros(front.shape[1]))[1] if len(front) else front
    rng = np.random.default_rng(0)
    found = X[:0]
    expected = front[:0]
    for k in range(1 if run.grid is not None else ROUNDS):
        known = np.concatenate([X, found]), np.concatenate([front, expected])
        points = _candidates(run, view.lengthscales * SHRINKING**k, *known, rng)
        fresh = points[recommendable(run, view, points)]
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


def _candidates(run: Situation, lengthscales: Array, X: Array, values: Array, rng: np.random.Generator) -> Array:
    """Points (c, d) that fill the space, and points around those of ``X (f, d)`` with distant ``values (f, k)``."""
    if run.grid is not None:
        rows = run.available.rows(anyhow=True)
        return run.grid[rows if len(rows) <= MOST else rng.choice(rows, MOST, replace=False)]
    elites = X[thinned(values, AROUND)] if len(X) else X
    return np.concatenate(run.around(elites, lengthscales, rng))


def recommendable(run: Situation, view: ModelView, points: Array) -> Mask:
    """Which of the ``points (c, d)`` have no trial, are allowed, and are likely to succeed and meet all constraints."""
    out = np.array([point_key(x) not in run.history.visits.first for x in points], dtype=bool)
    success = view.acquisition.success
    if success is not CERTAIN:
        out &= success_probabilities(success, points) >= success.threshold
    if len(view.constraints):
        out &= view.constraints.log_probability(points) > LIKELY
    return out if run.space.allowed is None else out & run.space.allowed.rows(points)
