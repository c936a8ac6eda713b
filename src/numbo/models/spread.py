"""Which points a small model of many trials uses: those near one point, and others far from each other."""

from __future__ import annotations

import math

import numpy as np

from numbo._types import Array, TrialPositions
from numbo.kernels.covariance import squared_distances
from numbo.kernels.selection import kmeans_plus_plus
from numbo.models.surrogate import Surrogate


def members_of(
    surrogate: Surrogate,
    X: Array,
    live: TrialPositions,
    here: Array,
    size: int,
    joining: int,
    seed: int,
    *,
    anew: bool = False,
) -> TrialPositions:
    """Which of the ``live`` rows of ``X (n, d)`` a model uses: up to a ``size``, all of them.

    Of more, one half is nearest ``here (d,)``, and the others are spread out. They are chosen by their location alone,
    by draws with the ``seed``. Up to so many that are ``joining`` are added to those that the model has, unless one of
    these is no longer live, before they are chosen ``anew``.
    """
    if len(live) <= size:
        return live
    old = surrogate.members
    grown = np.concatenate([old, live[live >= surrogate.updated_at]])
    if not anew and len(old) and len(grown) <= size + joining and np.isin(old, live).all():
        return grown
    covariance = surrogate.gp.covariance
    points = X[live]
    near = np.argsort(squared_distances(covariance, points, here, math.inf), kind="stable")[: size // 2]
    draws = np.random.default_rng(seed).random(size)
    chosen = kmeans_plus_plus(covariance, np.ascontiguousarray(points.T), size, near, draws)
    return np.sort(live[chosen])
