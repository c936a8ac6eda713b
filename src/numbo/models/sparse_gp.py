"""Sparse Gaussian process regression on a dictionary: the DTC posterior of BKB, BBKB and S-BPE.

Calandriello et al. (2019), "Gaussian Process Optimization with Adaptive Sketching: Scalable and No Regret", eqs. 3
and 4; Calandriello et al. (2020), "Near-linear Time Gaussian Process Optimization with Adaptive Batching and
Resparsification", section 2.

    z(x)      = (K_S^{1/2})^+ k_S(x)                                  Nystrom embedding on the dictionary S
    V         = Z^T Z + lambda I
    mu~(x)    = z(x)^T V^-1 Z^T y
    k~(x, x') = (k(x, x') - z(x)^T z(x')) / lambda + z(x)^T V^-1 z(x')
    var~(x)   = k~(x, x)

``lambda var~`` is the variance of the deterministic training conditional (Quinonero-Candela & Rasmussen 2005). Its
first term, what the dictionary cannot represent, is never dropped: without it the variance starves far from the
dictionary. With a dictionary that spans all points, ``lambda var~`` and ``mu~`` are the exact GP's.

Any square root of ``K_S^+`` gives the same ``k~``. Here it is the inverse Cholesky factor of a maximal set of
numerically independent dictionary points, found by pivoting, so that repeats and near-repeats do no harm.

Glossary: ``S (m, d)`` dictionary, ``Z (n, m)`` embedded observations, ``alpha`` and ``w`` solutions with ``V``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, solve_triangular

from numbo.kernels.cholesky import cholesky_update
from numbo.kernels.covariance import Covariance, cross_covariance, prior_variances
from numbo.kernels.selection import independent_columns

Array = NDArray[np.float64]

#: A dictionary point whose variance given the others falls below this share of the largest is left out.
DEPENDENT = 1e-10


class SparseGP:
    """The DTC posterior of observations under a covariance, on a dictionary.

    Args:
        covariance: the covariance function; its noise variance is lambda.
        dictionary: points (m, d), repeats allowed.

    Raises:
        ValueError: if lambda is not positive, or the dictionary is empty.
    """

    def __init__(self, covariance: Covariance, dictionary: Array) -> None:
        if not covariance.noise_variance > 0.0:
            raise ValueError(f"lambda (the noise variance) must be positive, got {covariance.noise_variance!r}.")
        if len(dictionary) == 0:
            raise ValueError("The dictionary must have at least one point, got none.")
        self.covariance = covariance
        self.regularization = float(covariance.noise_variance)
        points = np.ascontiguousarray(dictionary, dtype=np.float64)
        kept, L = independent_columns(covariance, np.ascontiguousarray(points.T), DEPENDENT)
        self.dictionary, self._L = points[kept], L
        self._ST = np.ascontiguousarray(self.dictionary.T)
        m = len(kept)
        self._LV = np.sqrt(self.regularization) * np.eye(m)  # V = LV LV^T
        self._Zty = np.zeros(m)
        self.n = 0

    @property
    def m(self) -> int:
        """Number of independent dictionary points."""
        return len(self.dictionary)

    def embed(self, X: Array) -> Array:
        """Nystrom embedding Z (n, m) of the points ``X (n, d)``."""
        K = cross_covariance(self.covariance, self._ST, np.ascontiguousarray(X.T))
        return self.embed_columns(K)

    def embed_columns(self, K: Array) -> Array:
        """The embedding (n, m), from covariances ``K (n, m)`` with the dictionary that are already there."""
        Z: Array = solve_triangular(self._L, K.T, lower=True, check_finite=False).T
        return Z

    def condition(self, Z: Array, y: Array, counts: Array | None = None) -> None:
        """Condition on embedded points ``Z (n, m)`` with values ``y (n,)``.

        ``counts (n,)`` lets a row stand for several observations; its value is then their mean.
        """
        weighted = Z if counts is None else Z * counts[:, None]
        self._LV = np.linalg.cholesky(weighted.T @ Z + self.regularization * np.eye(self.m))
        self._Zty = weighted.T @ y
        self.n = len(Z) if counts is None else int(counts.sum())

    def add(self, z: Array, y: float | None) -> None:
        """Add one embedded observation ``z (m,)``; without a value it is pending and shrinks variances only. O(m^2)."""
        cholesky_update(self._LV, self.m, np.int64(0), z.copy())
        if y is not None:
            self._Zty += y * z
        self.n += 1

    def solve(self, B: Array) -> Array:
        """V^-1 B."""
        return cho_solve((self._LV, True), B, check_finite=False)

    def mean(self, Z: Array) -> Array:
        """mu~ (n,) at embedded points ``Z (n, m)``."""
        return Z @ self.solve(self._Zty)

    def variance(self, Z: Array, prior: Array) -> Array:
        """var~ (n,) at embedded points ``Z (n, m)`` with prior variances ``prior (n,)``; never negative."""
        outside = np.maximum(prior - np.einsum("ij,ij->i", Z, Z), 0.0)
        inside = solve_triangular(self._LV, Z.T, lower=True, check_finite=False)
        return outside / self.regularization + np.einsum("ji,ji->i", inside, inside)

    def predict(self, X: Array) -> tuple[Array, Array]:
        """mu~ (n,) and var~ (n,) at ``X (n, d)``."""
        Z = self.embed(X)
        return self.mean(Z), self.variance(Z, prior_variances(self.covariance, np.ascontiguousarray(X)))

    def cross(self, X: Array, Y: Array) -> Array:
        """k~ (n, p) between the points ``X (n, d)`` and ``Y (p, d)``."""
        ZX, ZY = self.embed(X), self.embed(Y)
        K = cross_covariance(self.covariance, np.ascontiguousarray(Y.T), np.ascontiguousarray(X.T))
        return (K - ZX @ ZY.T) / self.regularization + ZX @ self.solve(ZY.T)
