"""Predictions of a model at points: means, with variances or standard deviations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from numbo._types import Array
from numbo.kernels.acquisition import Posterior, mean_variance
from numbo.kernels.basis import prior_means
from numbo.kernels.covariance import cross_covariance


class Moments(NamedTuple):
    """Mean (c,) and variance (c,) of the latent function, in the units of a posterior; the latter is never negative."""

    mean: Array
    variance: Array

    @property
    def std(self) -> Array:
        """Standard deviation (c,)."""
        return np.sqrt(self.variance)


def moments(posterior: Posterior, X: Array) -> Moments:
    """The moments of a ``posterior`` at ``X (c, d)``."""
    return Moments(*mean_variance(posterior, posterior.lifted(np.ascontiguousarray(X, dtype=np.float64))))


def mean_at(posterior: Posterior, X: Array) -> Array:
    """The mean (c,) of a ``posterior`` at ``X (c, d)``."""
    n = posterior.n
    X = posterior.lifted(np.ascontiguousarray(X, dtype=np.float64))
    XT = np.ascontiguousarray(posterior.XT[:, :n])
    K = cross_covariance(posterior.covariance, XT, np.ascontiguousarray(X.T))
    out: Array = np.einsum("cn,n->c", K, posterior.alpha[:n])
    return out if posterior.basis is None else out + prior_means(posterior.basis, X)


def study_weights(posterior: Posterior) -> Array:
    """The expected weights (M,) of the predictions of earlier studies; none without a basis."""
    basis = posterior.basis
    if basis is None:
        return np.empty(0)
    n = posterior.n
    F = posterior.X[:n, len(basis.categorical) :]
    out: Array = basis.weight + posterior.covariance.basis_variance * np.einsum("nm,n->m", F, posterior.alpha[:n])
    return out


class Prediction(NamedTuple):
    """Mean (c,) and standard deviation (c,) of values, in their own units."""

    mean: Array
    std: Array
