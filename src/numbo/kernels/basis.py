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
    Covariance,
    add_covariance_gradient_into,
    add_products_into,
    correlations_into,
    covariances_into,
    products_into,
)
from numbo.kernels.optional import active_columns

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
        family, categorical, optional, center, radius: as in a `Covariance`, for all studies.
        inverse_squared_lengthscales: (M, d).
        variances: (M, 6) of the signal, of the linear, quadratic and interaction part of the trend, of the additive
            part, and the inverse squared lengthscale of the latter.
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
    center: np.ndarray
    radius: float
    inverse_squared_lengthscales: np.ndarray
    variances: np.ndarray


@subroutine
def covariance_of(basis, m):
    """The covariance function of study ``m``."""
    s, a1, a2, a3, b, c = basis.variances[m]
    return Covariance(
        basis.family,
        basis.inverse_squared_lengthscales[m],
        s,
        a1,
        a2,
        a3,
        0.0,
        basis.categorical,
        basis.center,
        basis.radius,
        b,
        c,
        basis.optional,
        0.0,
    )


@jit
def features(basis, Z):
    """phi (c, M) at the points ``Z (c, d)``."""
    (count, d), M = Z.shape, basis.shifts.shape[0]
    out = np.empty((count, M))
    width = min(AT_ONCE, count)
    ZT, k, mean = np.empty((d, width)), np.empty(width), np.empty(width)
    for start in range(0, count, AT_ONCE):
        size = min(AT_ONCE, count - start)
        for c in range(size):
            for j in range(d):
                ZT[j, c] = Z[start + c, j]
        offsets, columns = active_columns(ZT, basis.optional)
        for m in range(M):
            cov = covariance_of(basis, m)
            for c in range(size):
                mean[c] = 0.0
            for i in range(basis.counts[m]):
                covariances_into(cov, ZT, size, basis.X[m, i], offsets, columns, k)
                for c in range(size):
                    mean[c] += basis.alpha[m, i] * k[c]
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
        variances=basis.variances[:0],
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
    k, slope, q = np.empty(most), np.empty(most), np.zeros(most)
    linear, quadratic, effects = np.empty(most), np.empty(most), np.empty(most)
    for j in range(d):
        z[j] = x[j]
    for m in range(M):
        cov, n = covariance_of(basis, m), basis.counts[m]
        XT = np.ascontiguousarray(basis.XT[m, :, :n])
        offsets, columns = active_columns(XT, cov.optional)
        products_into(cov, XT, n, x, offsets, columns, k, linear, quadratic, effects, None)
        correlations_into(cov.family, n, k, slope)
        for i in range(n):
            k[i] *= cov.signal_variance
            slope[i] *= 2.0 * cov.signal_variance
            q[i] = basis.alpha[m, i]
        add_products_into(cov, d, n, linear, quadratic, effects, k)
        total = 0.0
        for i in range(n):
            total += basis.alpha[m, i] * k[i]
        z[d + m] = total - basis.shifts[m]
        gradient = slopes[m]
        for j in range(d):
            gradient[j] = 0.0
        add_covariance_gradient_into(cov, basis.X[m], n, x, q, slope, linear, gradient)
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
            if not (cov.categorical[j] or (cov.optional[j] and z[j] < 0.0)):
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
