"""Predictions of a model at points: means, with variances or standard deviations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from numbo._types import Array
from numbo.kernels.acquisition import Posterior, mean_variance
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
    return Moments(*mean_variance(posterior, np.ascontiguousarray(X, dtype=np.float64)))


def mean_at(posterior: Posterior, X: Array) -> Array:
    """The mean (c,) of a ``posterior`` at ``X (c, d)``."""
    n = posterior.n
    XT = np.ascontiguousarray(posterior.XT[:, :n])
    K = cross_covariance(posterior.covariance, XT, np.ascontiguousarray(X.T))
    out: Array = np.einsum("cn,n->c", K, posterior.alpha[:n])
    return out


class Prediction(NamedTuple):
    """Mean (c,) and standard deviation (c,) of values, in their own units."""

    mean: Array
    std: Array
