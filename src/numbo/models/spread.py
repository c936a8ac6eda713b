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
    """Which of the ``live`` rows of ``X (n, d)`` a model uses: all up to a ``size``, else as `near_and_apart`.

    Up to so many that are ``joining`` are added to those that it has, before they are chosen ``anew``.
    """
    if len(live) <= size:
        return live
    known = None if anew else kept(surrogate, live, size + joining)
    return near_and_apart(surrogate, X, live, here, size, seed) if known is None else known


def kept(surrogate: Surrogate, live: TrialPositions, most: int) -> TrialPositions | None:
    """The members of a model with those of the ``live`` rows that are new to it; None if they have to be chosen again.

    That is so if there would be more than ``most``, or one of them is no longer live.
    """
    old = surrogate.members
    grown = np.concatenate([old, live[live >= surrogate.updated_at]])
    return grown if len(old) and len(grown) <= most and np.isin(old, live).all() else None


def near_and_apart(
    surrogate: Surrogate, X: Array, live: TrialPositions, here: Array, size: int, seed: int
) -> TrialPositions:
    """So many of the ``live`` rows of ``X (n, d)``: one half is nearest ``here (d,)``, the others are spread out.

    They are chosen by their location alone, by draws with the ``seed``.
    """
    covariance = surrogate.gp.covariance
    points = X[live]
    near = np.argsort(squared_distances(covariance, points, here, math.inf), kind="stable")[: size // 2]
    draws = np.random.default_rng(seed).random(size)
    chosen = kmeans_plus_plus(covariance, np.ascontiguousarray(points.T), size, near, draws)
    return np.sort(live[chosen])
