"""What the experiments compare numbo with: an exact GP in NumPy, and functions of known norm."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from numbo.kernels.covariance import RBF, Covariance, stationary

Array = NDArray[np.float64]


def gaussian(X: Array, Z: Array, lengthscale: float) -> Array:
    """The Gaussian kernel of unit variance between ``X (n, d)`` and ``Z (p, d)``."""
    r2 = ((X[:, None] - Z[None]) ** 2).sum(axis=2)
    return np.asarray(np.exp(-0.5 * r2 / lengthscale**2))


def covariance(d: int, lengthscale: float, lam: float) -> Covariance:
    """The same kernel as numbo takes it; ``lam`` is lambda, the variance of the noise."""
    return stationary(RBF, np.full(d, lengthscale**-2.0), 1.0, lam, np.zeros(d, dtype=bool))


def unit_arms(n: int, d: int, rng: np.random.Generator) -> Array:
    """Random arms whose bounding box is the unit cube: their features are what the model sees."""
    X = rng.random((n, d))
    return np.asarray((X - X.min(axis=0)) / np.ptp(X, axis=0))


def rkhs_function(X: Array, lengthscale: float, rng: np.random.Generator, norm: float = 1.0) -> Array:
    """Values (n,) at ``X (n, d)`` of a function whose norm in the kernel's space is ``norm``."""
    centers = rng.random((12, X.shape[1]))
    weights = rng.normal(size=12)
    scale = norm / math.sqrt(weights @ gaussian(centers, centers, lengthscale) @ weights)
    return np.asarray(scale * gaussian(X, centers, lengthscale) @ weights)


class ExactGP:
    """The exact posterior covariance over arms, by one update for each pull.

    Args:
        K: the prior covariance (A, A).
        lam: lambda, the variance of the noise.

    Attributes:
        pulls: how often each arm was pulled (A,).
        information: ``log det(K / lambda + I)`` of the pulls.
        last, before: the sums of ``var_t(x_t)`` and of ``var_{t-1}(x_t)``, in units of lambda.
    """

    def __init__(self, K: Array, lam: float) -> None:
        self.C = K.copy()
        self.lam = lam
        self.pulls = np.zeros(len(K))
        self.information = 0.0
        self.last = 0.0
        self.before = 0.0

    @property
    def variance(self) -> Array:
        """In units of lambda (A,)."""
        return np.maximum(np.diag(self.C), 0.0) / self.lam

    @property
    def effective_dimension(self) -> float:
        """``sum_s var_t(x_s)`` over the pulls."""
        return float(self.pulls @ self.variance)

    def pull(self, arm: int) -> None:
        """Observe an arm."""
        v = max(float(self.C[arm, arm]), 0.0) / self.lam
        column = self.C[:, arm] / math.sqrt(self.lam * (1.0 + v))
        self.C -= np.outer(column, column)
        self.pulls[arm] += 1.0
        self.information += math.log1p(v)
        self.before += v
        self.last += v / (1.0 + v)
