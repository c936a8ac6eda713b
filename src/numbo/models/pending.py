"""Posteriors given pending points: these count as observed with the posterior mean as their values."""

from __future__ import annotations

import numpy as np

from numbo._types import Array
from numbo.kernels.acquisition import Posterior
from numbo.kernels.pending import extend


def extended(posterior: Posterior, points: Array, noise: float, most: int | None = None) -> Posterior:
    """The ``posterior`` given one more observation at each of ``points (p, d)``, which leaves its mean unchanged.

    Args:
        posterior: of an exact or a sparse model.
        points: where the observations are; any number, equal ones too.
        noise: their variance.
        most: largest number of points that are taken in, those that determine the others best; None for all.
    """
    if len(points) == 0:
        return posterior
    W, chosen = extend(posterior, np.ascontiguousarray(points.T), noise, len(points) if most is None else most)
    m = posterior.n
    X = np.concatenate([posterior.X[:m], points[chosen]])
    return Posterior(
        posterior.covariance,
        len(X),
        X,
        np.ascontiguousarray(X.T),
        np.append(posterior.alpha[:m], np.zeros(len(chosen))),
        W,
        np.ascontiguousarray(W.T),
    )
