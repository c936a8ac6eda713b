"""Which points a small model of many trials uses: those near one point, and others far from each other."""

from __future__ import annotations

import math

import numpy as np

from numbo._types import Array, Indices
from numbo.kernels.covariance import Covariance, squared_distances
from numbo.kernels.selection import kmeans_plus_plus


def near_and_apart(covariance: Covariance, X: Array, here: Array, size: int, seed: int) -> Indices:
    """Rows (size,) of ``X (n, d)``: one half is nearest the point ``here (d,)``, the others are spread out.

    They are chosen by their location alone, by draws with the ``seed``.
    """
    near = np.argsort(squared_distances(covariance, X, here, math.inf), kind="stable")[: size // 2]
    draws = np.random.default_rng(seed).random(size)
    chosen: Indices = kmeans_plus_plus(covariance, np.ascontiguousarray(X.T), size, near, draws)
    return chosen
