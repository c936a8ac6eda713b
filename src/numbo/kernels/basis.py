"""The predictions of earlier studies as basis functions of a GP.

    f(x) = sum_m w_m phi_m(x) + g(x)      w ~ N(a, b I)      phi_m(x) = mean_m(x) - c_m

``mean_m`` is the posterior mean of a GP on study m, and ``g`` the present GP. So the prior mean is
``a sum_m phi_m(x)``, and the covariance has one more term, ``b <phi(x), phi(z)>``. A point is *lifted* if its features
``phi`` follow its coordinates: ``(d + M,)``. Covariances of lifted points include the term, those of others do not; all
else in a kernel ignores the features.

Glossary: ``M`` studies; ``C`` the largest number of points of a study.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from numbo.compiling.jit import jit, subroutine
from numbo.kernels.covariance import (
    copy_rows_into,
    correlations_into,
    squared_distances_into,
    stationary_mean,
    stationary_mean_slope,
)

AT_ONCE = 128
NO_SLOPES = np.empty((0, 0))


class Basis(NamedTuple):
    """The posterior means of M studies, and the prior mean of their weights.

    Attributes:
        weight: a, the prior mean of each weight.
        shifts: (M,) the numbers c_m.
        counts: (M,) number of points of each study.
        X, XT: (M, C, d) and (M, d, C) these points.
        alpha: (M, C) the weights of their covariances in the mean.
        family, categorical, optional: of their covariances, which have the stationary term only.
        inverse_squared_lengthscales, signal_variances: (M, d) and (M,) of these.
    """

    weight: float
    shifts: np.ndarray
    counts: np.ndarray
    X: np.ndarray
    XT: np.ndarray
    alpha: np.ndarray
    family: int
    categorical: np.ndarray
    optional: np.ndarray
    inverse_squared_lengthscales: np.ndarray
    signal_variances: np.ndarray


@jit
def features(basis, Z):
    """phi (c, M) at the points ``Z (c, d)``."""
    (count, d), M = Z.shape, basis.shifts.shape[0]
    out = np.empty((count, M))
    width = min(AT_ONCE, count)
    ZT, k, slope, mean = np.empty((d, width)), np.empty(width), np.empty(width), np.empty(width)
    for start in range(0, count, AT_ONCE):
        size = min(AT_ONCE, count - start)
        copy_rows_into(Z, start, size, ZT)
        for m in range(M):
            w = basis.inverse_squared_lengthscales[m]
            for c in range(size):
                mean[c] = 0.0
            for i in range(basis.counts[m]):
                squared_distances_into(w, basis.categorical, basis.optional, ZT, size, basis.X[m, i], k)
                correlations_into(basis.family, size, k, slope)
                weight = basis.signal_variances[m] * basis.alpha[m, i]
                for c in range(size):
                    mean[c] += weight * k[c]
            for c in range(size):
                out[start + c, m] = mean[c] - basis.shifts[m]
    return out


def without_studies(basis: Basis) -> Basis:
    """A basis of no study, for the posteriors that `numbo.kernels.ascent.ascend` takes together with one of some."""
    return basis._replace(
        weight=0.0,
        shifts=basis.shifts[:0],
        counts=basis.counts[:0],
        X=basis.X[:0],
        XT=basis.XT[:0],
        alpha=basis.alpha[:0],
        inverse_squared_lengthscales=basis.inverse_squared_lengthscales[:0],
        signal_variances=basis.signal_variances[:0],
    )


def with_features(basis: Basis | None, Z: np.ndarray) -> np.ndarray:
    """The points ``Z (c, d)`` with their features, if there is a basis: (c, d + M)."""
    if basis is None:
        return Z
    return np.ascontiguousarray(np.concatenate([Z, features(basis, Z)], axis=1))  # it may be in the order of columns


def prior_means(basis: Basis | None, Z: np.ndarray) -> np.ndarray:
    """The prior mean (c,) at lifted points ``Z (c, d + M)``; 0 without a basis."""
    if basis is None:
        return np.zeros(len(Z))
    return basis.weight * Z[:, len(basis.categorical) :].sum(axis=1)


@subroutine
def lift(basis, x):
    """The lifted point ``x (d,)``, and the gradient (M, d) of its features; none without a basis."""
    if basis is None:
        return x, NO_SLOPES
    d, M, most = x.shape[0], basis.shifts.shape[0], basis.alpha.shape[1]
    z, slopes = np.empty(d + M), np.empty((M, d))
    k, slope = np.empty(most), np.empty(most)
    for j in range(d):
        z[j] = x[j]
    for m in range(M):
        w, XT, n = basis.inverse_squared_lengthscales[m], basis.XT[m], basis.counts[m]
        squared_distances_into(w, basis.categorical, basis.optional, XT, n, x, k)
        mean = stationary_mean(basis.family, basis.signal_variances[m], basis.alpha[m], n, k, slope)
        z[d + m] = mean - basis.shifts[m]
        for j in range(d):
            moves = not (basis.categorical[j] or (basis.optional[j] and x[j] < 0.0))
            slopes[m, j] = w[j] * stationary_mean_slope(XT[j], n, x[j], slope) if moves else 0.0
    return z, slopes


@subroutine
def add_features_gradient_into(basis, cov, X, n, z, slopes, d_mu, d_variance, q, gradient):
    """Add the part of the features to the gradient of a function of mean and variance at a lifted point ``z (d + M,)``.

    ``slopes`` are from `lift`; ``q (n,)`` are the derivatives in the covariances with the points ``X``; ``d_variance``
    is that in k(x, x).
    """
    if basis is None:
        return
    d, b = gradient.shape[0], cov.basis_variance
    for m in range(slopes.shape[0]):
        total = d_mu * basis.weight + 2.0 * d_variance * b * z[d + m]
        for i in range(n):
            total += q[i] * b * X[i, d + m]
        for j in range(d):
            gradient[j] += total * slopes[m, j]


@subroutine
def prior_mean(basis, z):
    """The prior mean at a lifted point ``z (d + M,)``; 0 without a basis."""
    if basis is None:
        return 0.0
    total = 0.0
    for j in range(basis.categorical.shape[0], z.shape[0]):
        total += z[j]
    return basis.weight * total
