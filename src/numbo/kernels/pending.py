"""A posterior given points whose values are still unknown."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from numbo.compiling.jit import jit, subroutine
from numbo.kernels.cholesky import accumulate, invert_lower_into, lower_product_into, unwhiten_into, whiten_into
from numbo.kernels.covariance import (
    copy_column_into,
    covariance_into,
    covariances_into,
    prior_variance,
    squared_distances_into,
)
from numbo.kernels.optional import active_columns
from numbo.kernels.selection import next_columns, prior_residuals

#: Values whose conditional variance, noise included, is at most this share of the prior variance are known.
DEPENDENT = 1e-13
#: Smallest number of points that are whitened together, and the largest number at once.
TOGETHER = 64
AT_ONCE = 128


@subroutine
def whitened(posterior, PT):
    """V = W k_S(P), (m, p), for points ``PT (d, p)``."""
    m, p = posterior.n, PT.shape[1]
    K, V = np.empty((m, p)), np.empty((m, p))
    offsets, columns = active_columns(PT, posterior.covariance.optional)
    for i in range(m):
        covariances_into(posterior.covariance, PT, p, posterior.X[i], offsets, columns, K[i])
    lower_product_into(posterior.W, m, K, p, V)
    return V


@subroutine
def reduce_by_squares(variance, V):
    """Subtract the squares of the rows of ``V (n, c)`` from ``variance (c,)``."""
    for t in range(V.shape[0]):
        for i in range(V.shape[1]):
            variance[i] -= V[t, i] * V[t, i]


@subroutine
def greatest(variance, taken):
    """The point with the largest ``variance (p,)`` that is not ``taken (p,)``; -1 if all are."""
    best = -1
    for i in range(variance.shape[0]):
        if not taken[i] and (best < 0 or variance[i] > variance[best]):
            best = i
    return best


@jit
def extend(posterior, PT, noise, most):
    """The factor of a posterior after observations at points ``PT (d, p)`` that leave its mean unchanged.

    With ``v = W k_S(P)`` and the posterior covariance ``C = k(P, P) - v^T v`` of the points P that are taken in,

        W' = [[W, 0], [-M v^T W, M]],  M^T M = (C + noise I)^-1, M lower triangular,

    so that ``k(x, x) - |W' k_SP(x)|^2`` is the variance given P as well, exactly, whether the points that the posterior
    is conditioned on represent those of P or not.

    If there are more than ``most`` points, the next one taken in is the one with the largest variance given those
    before (pivoted Cholesky of C + noise I): what the others would change is small, since these determine them.
    Otherwise all are taken in, in their order. The rows of points whose values are known are zero.

    Returns W' (m + q, m + q), and the numbers (q,) of the points that are taken in, q = min(p, most).
    O(p m^2 + q p (m + q)).
    """
    m, (d, p) = posterior.n, PT.shape
    zero = np.int64(0)
    V = whitened(posterior, PT)
    prior, variance, taken = np.empty(p), np.empty(p), np.zeros(p, dtype=np.bool_)
    x = np.empty(d)
    for i in range(p):
        copy_column_into(PT, i, x)
        prior[i] = prior_variance(posterior.covariance, x)
        variance[i] = prior[i]
    reduce_by_squares(variance, V)
    q = min(p, most)
    chosen, factor, c = np.empty(q, dtype=np.int64), np.zeros((q, p)), np.empty(max(m, q))
    roots = np.full(q, math.inf)
    for r in range(q):
        pivot = r if p <= most else greatest(variance, taken)
        taken[pivot] = True
        chosen[r] = pivot
        of_value, column = max(variance[pivot], 0.0) + noise, factor[r]
        if not of_value > DEPENDENT * prior[pivot]:
            continue
        copy_column_into(PT, pivot, x)
        covariance_into(posterior.covariance, PT, p, x, column)
        for t in range(m):
            c[t] = -V[t, pivot]
        accumulate(column, zero, p, c, V, zero, m)
        for t in range(r):
            c[t] = -factor[t, pivot]
        accumulate(column, zero, p, c, factor, zero, np.int64(r))
        roots[r] = math.sqrt(of_value)
        for i in range(p):
            column[i] /= roots[r]
            variance[i] -= column[i] * column[i]
    L, M, MT = np.zeros((q, q)), np.zeros((q, q)), np.zeros((q, q))
    for i in range(q):
        for j in range(i):
            L[i, j] = factor[j, chosen[i]]
        L[i, i] = roots[i]
    invert_lower_into(L, q, zero, M, MT)
    return bordered(posterior, V, M, chosen), chosen


@jit
def bordered(posterior, V, M, chosen):
    """W' of `extend`, from ``V (m, p)``, ``M (q, q)`` and the numbers ``chosen (q,)`` of its points among the p."""
    m, q = posterior.n, chosen.shape[0]
    zero = np.int64(0)
    W = np.zeros((m + q, m + q))
    for i in range(m):
        for j in range(i + 1):
            W[i, j] = posterior.W[i, j]
    v, VW = np.empty(m), np.empty((q, m))
    for i in range(q):
        for t in range(m):
            v[t] = V[t, chosen[i]]
        unwhiten_into(posterior.W, m, v, VW[i])
    for i in range(q):
        accumulate(W[m + i], zero, m, -M[i], VW, zero, i + 1)
        for j in range(i + 1):
            W[m + i, m + j] = M[i, j]
    return W


class Extension(NamedTuple):
    """What `extend` computes, with room for ``room`` points: zeros at first, filled by `extend_by`.

    ``factor`` and its diagonal, the ``roots``, have the Cholesky factor L of C + noise I by column; ``M = L^-1``.
    """

    PT: np.ndarray  # (d, room)
    V: np.ndarray  # (m, room)
    factor: np.ndarray  # (room, room)
    roots: np.ndarray  # (room,)
    L: np.ndarray  # (room, room)
    M: np.ndarray  # (room, room)
    MT: np.ndarray  # (room, room)
    VW: np.ndarray  # (room, m)
    W: np.ndarray  # (m + room, m + room), with the W of the posterior
    WT: np.ndarray  # (m + room, m + room)


@jit
def extend_by(posterior, ext, known, PT, noise):
    """Add the points ``PT (d, p)`` to an ``ext`` that has ``known`` points: all together as by `extend`, bit for bit.

    O(p (m + known + p)^2).
    """
    m, (d, size) = posterior.n, PT.shape
    zero, count = np.int64(0), known + size
    V, factor = ext.V, ext.factor
    fresh = whitened(posterior, PT)
    prior, variance, k = np.empty(size), np.empty(size), np.empty(size)
    x, c = np.empty(d), np.empty(max(m, count))
    for i in range(size):
        copy_column_into(PT, i, x)
        for j in range(d):
            ext.PT[j, known + i] = x[j]
        prior[i] = prior_variance(posterior.covariance, x)
        variance[i] = prior[i]
    for t in range(m):
        for i in range(size):
            V[t, known + i] = fresh[t, i]
    reduce_by_squares(variance, fresh)
    for r in range(count):
        if r >= known:
            of_value = max(variance[r - known], 0.0) + noise
            ext.roots[r] = math.sqrt(of_value) if of_value > DEPENDENT * prior[r - known] else math.inf
        if ext.roots[r] == math.inf:
            continue
        copy_column_into(ext.PT, r, x)
        covariance_into(posterior.covariance, PT, size, x, k)
        column = factor[r]
        for i in range(size):
            column[known + i] = k[i]
        for t in range(m):
            c[t] = -V[t, r]
        accumulate(column, known, count, c, V, zero, m)
        for t in range(r):
            c[t] = -factor[t, r]
        accumulate(column, known, count, c, factor, zero, np.int64(r))
        for i in range(size):
            column[known + i] /= ext.roots[r]
            variance[i] -= column[known + i] * column[known + i]
    v = np.empty(m)
    for i in range(known, count):
        for j in range(i):
            ext.L[i, j] = factor[j, i]
        ext.L[i, i] = ext.roots[i]
        for t in range(m):
            v[t] = V[t, i]
        unwhiten_into(posterior.W, m, v, ext.VW[i])
    invert_lower_into(ext.L, count, known, ext.M, ext.MT)
    for i in range(known, count):
        row = ext.W[m + i]
        for j in range(m):
            row[j] = 0.0
        accumulate(row, zero, m, -ext.M[i], ext.VW, zero, i + 1)
        for j in range(i + 1):
            row[m + j] = ext.M[i, j]
        for j in range(m + i + 1):
            ext.WT[j, m + i] = row[j]


@jit
def embedded_given(posterior, PT, most, tolerance, least):
    """The points ``PT (d, p)`` on at most ``most`` of them, under the covariance that the ``posterior`` leaves.

    As `numbo.kernels.selection.independent_columns`, where all are candidates. The next one is the one with the largest
    variance given those before, as long as that exceeds ``least`` and ``tolerance`` times the largest prior variance.

    Returns V = W k_S(P) (m, p), the numbers (q,) of the points, Z (p, q), and the variances (p,) that they leave at all
    points. O(q p (m + q)).
    """
    V = whitened(posterior, PT)
    residual, scale = prior_residuals(posterior.covariance, PT)
    reduce_by_squares(residual, V)
    candidates, least = np.arange(PT.shape[1]), max(tolerance * scale, least)
    chosen, Z = next_columns(posterior.covariance, PT, V, candidates, min(most, PT.shape[1]), residual, least)
    for i in range(residual.shape[0]):
        residual[i] = max(residual[i], 0.0)
    return V, chosen, Z, residual


@subroutine
def whitened_rows(posterior, X):
    """V = W k_S(X), (n, c), for points ``X (c, d)``, one after another if they are few.

    With 192 observations in 20 dimensions, a point takes 3 us alone; 64 take 190 us both ways, 128 together 280 us.
    """
    n, count = posterior.n, X.shape[0]
    if count >= TOGETHER:
        return whitened(posterior, np.ascontiguousarray(X.T))
    V, k, v = np.empty((n, count)), np.empty(n), np.empty(n)
    offsets, columns = active_columns(posterior.XT, posterior.covariance.optional)
    for i in range(count):
        covariances_into(posterior.covariance, posterior.XT, n, X[i], offsets, columns, k)
        whiten_into(posterior.WT, n, k, v)
        for t in range(n):
            V[t, i] = v[t]
    return V


@jit
def shares_left(posterior, alone, X):
    """Share (c,) of the variance at ``X (c, d)`` under ``alone`` that is left under ``posterior``; 0 if there was none.

    The ``posterior`` is ``alone`` given more points (`extend`): its W begins with that of ``alone``. O(c n^2).
    """
    m, count = alone.n, X.shape[0]
    out = np.zeros(count)
    for start in range(0, count, AT_ONCE):
        block = X[start : start + AT_ONCE]
        before = np.empty(block.shape[0])
        for i in range(block.shape[0]):
            before[i] = prior_variance(posterior.covariance, block[i])
        V = whitened_rows(posterior, block)
        reduce_by_squares(before, V[:m])
        left = before.copy()
        reduce_by_squares(left, V[m:])
        for i in range(block.shape[0]):
            if before[i] > 0.0:
                out[start + i] = max(left[i], 0.0) / before[i]
    return out


@jit
def shares_beside(posterior, X, PT, noise):
    """Share (c,) of the variance at ``X (c, d)`` that an observation at the nearest point of ``PT (d, p)`` leaves.

    With the posterior covariance c of both points, it is ``1 - c(x, p)^2 / (c(x, x) (c(p, p) + noise))``. O(c n^2).
    """
    (count, d), p = X.shape, PT.shape[1]
    cov = posterior.covariance
    distances, z, between = np.empty(p), np.empty(d), np.empty(1)
    out = np.zeros(count)
    for start in range(0, count, AT_ONCE):
        block = X[start : start + AT_ONCE]
        size = block.shape[0]
        nearest = np.empty((size, d))
        here, there, both = np.empty(size), np.empty(size), np.empty(size)
        for i in range(size):
            squared_distances_into(
                cov.inverse_squared_lengthscales, cov.categorical, cov.optional, PT, p, block[i], distances
            )
            copy_column_into(PT, np.argmin(distances), z)
            for j in range(d):
                nearest[i, j] = z[j]
            here[i], there[i] = prior_variance(cov, block[i]), prior_variance(cov, z)
            covariance_into(cov, z.reshape((d, 1)), np.int64(1), block[i], between)
            both[i] = between[0]
        V, U = whitened_rows(posterior, block), whitened_rows(posterior, nearest)
        reduce_by_squares(here, V)
        reduce_by_squares(there, U)
        for t in range(posterior.n):
            for i in range(size):
                both[i] -= V[t, i] * U[t, i]
        for i in range(size):
            of_value = there[i] + noise
            if here[i] > 0.0 and of_value > 0.0:
                out[start + i] = max(1.0 - both[i] * both[i] / (here[i] * of_value), 0.0)
    return out
