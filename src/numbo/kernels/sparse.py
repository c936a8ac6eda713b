"""The linear algebra of a sparse (DTC) posterior, independent of the number of BLAS threads.

    k_S(x)  covariances with the m atoms of the dictionary         K_S = L L^T,  R = L^-1
    z(x)    = R k_S(x)                                             the embedding
    V       = Z^T N Z + lambda I = LV LV^T                         N: diagonal, observations per point
    U^T U   = I - lambda V^-1                                      U lower triangular

Glossary: ``S (m, d)`` atoms, ``ST (d, m)`` their transpose; ``Z (u, m)`` embedded points by row.
"""

from __future__ import annotations

import math

import numpy as np

from numbo.compiling.jit import jit
from numbo.kernels.cholesky import (
    accumulate,
    cholesky_into,
    cholesky_update,
    inverse_into,
    invert_lower_into,
    lower_product_into,
    unwhiten_into,
    whiten_into,
)
from numbo.kernels.covariance import copy_rows_into, covariance_into, covariances_into, prior_variance, prior_variances
from numbo.kernels.optional import active_columns
from numbo.kernels.selection import independent_columns

EMBEDDED_AT_ONCE = 128


@jit
def inverse_factor(L):
    """R = L^-1 and its transpose."""
    m = L.shape[0]
    R, RT = np.zeros((m, m)), np.zeros((m, m))
    invert_lower_into(L, m, np.int64(0), R, RT)
    return R, RT


@jit
def embed(cov, S, R, X):
    """Z (n, m): the embedding of every row of ``X (n, d)``, in blocks of points."""
    (n, d), m = X.shape, S.shape[0]
    Z = np.empty((n, m))
    K, XT, product = np.empty((m, EMBEDDED_AT_ONCE)), np.empty((d, EMBEDDED_AT_ONCE)), np.empty((m, EMBEDDED_AT_ONCE))
    for start in range(0, n, EMBEDDED_AT_ONCE):
        size = min(EMBEDDED_AT_ONCE, n - start)
        copy_rows_into(X, start, size, XT)
        offsets, columns = active_columns(XT, cov.optional)
        for i in range(m):
            covariances_into(cov, XT, size, S[i], offsets, columns, K[i])
        lower_product_into(R, m, K, size, product)
        for c in range(size):
            for i in range(m):
                Z[start + c, i] = product[i, c]
    return Z


@jit
def precision_factor(Z, counts, regularization):
    """LV, lower triangular: the Cholesky factor of Z^T diag(counts) Z + regularization I; and whether it succeeded."""
    u, m = Z.shape
    zero = np.int64(0)
    V, LV, c = np.zeros((m, m)), np.empty((m, m)), np.empty(EMBEDDED_AT_ONCE)
    for start in range(0, u, EMBEDDED_AT_ONCE):
        size = min(EMBEDDED_AT_ONCE, u - start)
        block = Z[start : start + size]
        for i in range(m):
            for t in range(size):
                c[t] = counts[start + t] * block[t, i]
            accumulate(V[i], zero, i + 1, c, block, zero, size)
    for i in range(m):
        V[i, i] += regularization
        for j in range(i):
            V[j, i] = V[i, j]
    return LV, cholesky_into(V, m, LV)


@jit
def dtc_weights(R, LV, regularization):
    """W = U R (m, m), U (m, m), LV^-1 (m, m) and its transpose, and whether the factorisation succeeded.

    ``lambda var~(x) = k(x, x) - |W k_S(x)|^2``. A direction that was never observed has the eigenvalue 0 in
    ``I - lambda V^-1``, up to rounding: the diagonal is raised by the smallest power of ten that makes the
    factorisation succeed.
    """
    m = R.shape[0]
    zero = np.int64(0)
    half, halfT, inverse = np.zeros((m, m)), np.zeros((m, m)), np.empty((m, m))
    invert_lower_into(LV, m, zero, half, halfT)
    inverse_into(half, m, inverse)
    M, C = np.empty((m, m)), np.empty((m, m))
    ok, jitter = False, 1e-15
    while not ok and jitter < 1e-5:
        for i in range(m):  # rows and columns in reverse: a factor U^T U from a factor C C^T
            for j in range(i + 1):
                value = -regularization * inverse[i, j]
                if i == j:
                    value += 1.0 + jitter
                M[m - 1 - i, m - 1 - j] = value
                M[m - 1 - j, m - 1 - i] = value
        ok = cholesky_into(M, m, C)
        jitter *= 10.0
    U, W = np.zeros((m, m)), np.zeros((m, m))
    for i in range(m):
        for j in range(i + 1):
            U[i, j] = C[m - 1 - j, m - 1 - i]
        for j in range(0, i + 1, 4):
            last = min(j + 4, i + 1)
            accumulate(W[i], zero, last, U[i], R, j, last)
    return W, U, half, halfT, ok


@jit
def dtc_mean_weights(R, half, halfT, Zty):
    """alpha = R^T V^-1 Z^T y (m,), so that ``mu~(x) = alpha^T k_S(x)``; ``half`` is LV^-1."""
    m = R.shape[0]
    v, w, alpha = np.empty(m), np.empty(m), np.empty(m)
    whiten_into(halfT, m, Zty, v)
    unwhiten_into(half, m, v, w)
    unwhiten_into(R, m, w, alpha)
    return alpha


@jit
def dtc_variances(Z, U, prior):
    """``lambda var~`` (u,) at embedded points: prior - |U z|^2, never negative."""
    u, m = Z.shape
    out, v = np.empty(u), np.empty(m)
    UT = np.ascontiguousarray(U.T)
    for i in range(u):
        whiten_into(UT, m, Z[i], v)
        total = 0.0
        for j in range(m):
            total += v[j] * v[j]
        out[i] = max(prior[i] - total, 0.0)
    return out


@jit
def dtc_embedding(cov, X, candidates, tolerance):
    """The points ``X (u, d)`` on the independent ones of ``candidates (c,)``, as in `independent_columns`.

    Returns:
        which candidates are atoms (m,), Z (u, m), L, R and its transpose.
    """
    kept, Z = independent_columns(cov, np.ascontiguousarray(X.T), candidates, tolerance)
    L = Z[candidates[kept]]
    R, RT = inverse_factor(L)
    return kept, Z, L, R, RT


@jit
def dtc_posterior(cov, X, Z, R, counts, regularization):
    """The posterior of the points ``X (u, d)``, embedded as ``Z (u, m)`` and observed ``counts (u,)`` times.

    Returns:
        LV, and whether that succeeded; what `dtc_weights` returns, with the transpose of W, and whether that succeeded;
        ``lambda var~`` (u,) at the points.
    """
    LV, positive = precision_factor(Z, counts, regularization)
    W, U, half, halfT, ok = dtc_weights(R, LV, regularization)
    variances = dtc_variances(Z, U, prior_variances(cov, X))
    return LV, positive, (W, U, half, halfT, np.ascontiguousarray(W.T)), ok, variances


@jit
def dtc_variance(cov, ST, WT, x):
    """``lambda var~(x)`` at one point ``x (d,)``, never negative; terms in the order of `numbo.kernels.lazy`."""
    explained, variance = embed_one(cov, ST, WT, x), prior_variance(cov, x)
    for i in range(explained.shape[0]):
        variance -= explained[i] * explained[i]
    return max(variance, 0.0)


@jit
def embed_one(cov, ST, RT, x):
    """z(x), the embedding (m,) of one point ``x (d,)``."""
    m = ST.shape[1]
    k, z = np.empty(m), np.empty(m)
    covariance_into(cov, ST, m, x, k)
    whiten_into(RT, m, k, z)
    return z


@jit
def observe(R, LV, z, regularization):
    """Add one more observation at the embedded point ``z (m,)``: LV is updated in place.

    Returns h (m,): the observation reduces ``lambda var~(x)`` by ``(h^T k_S(x))^2`` at every ``x``. O(m^2).
    """
    m = z.shape[0]
    w, h = z.copy(), np.empty(m)
    norm = 0.0
    for i in range(m):  # w = LV^-1 z
        total = w[i]
        for j in range(i):
            total -= LV[i, j] * w[j]
        w[i] = total / LV[i, i]
        norm += w[i] * w[i]
    for i in range(m - 1, -1, -1):  # w = V^-1 z
        w[i] /= LV[i, i]
        for j in range(i):
            w[j] -= LV[i, j] * w[i]
    scale = math.sqrt(regularization / (1.0 + norm))  # Sherman-Morrison: h = scale R^T V^-1 z
    for i in range(m):
        w[i] *= scale
    unwhiten_into(R, m, w, h)
    cholesky_update(LV, m, np.int64(0), z.copy())
    return h
