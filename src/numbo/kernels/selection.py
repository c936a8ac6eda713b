"""Kernels that choose a subset of points under a covariance function.

`pivoted_cholesky` and `kmeans_plus_plus` start from the ``forced`` points and return ``size`` distinct indices, forced
ones first.
"""

from __future__ import annotations

import numpy as np

from numbo.compiling.jit import jit, subroutine
from numbo.kernels.cholesky import accumulate
from numbo.kernels.covariance import copy_column_into, covariance_into, prior_variance


@subroutine
def prior_residuals(cov, XT):
    """Prior variances (n,), the conditional variances before any choice, and the largest of them."""
    d, n = XT.shape
    residual, largest = np.empty(n), 0.0
    x = np.empty(d)
    for i in range(n):
        copy_column_into(XT, i, x)
        residual[i] = prior_variance(cov, x)
        largest = max(largest, residual[i])
    return residual, largest


@subroutine
def project_out(cov, XT, columns, rank, pivot, residual):
    """One step of pivoted Cholesky: write column ``rank`` for ``pivot``, subtract its squares from ``residual``."""
    d, n = XT.shape
    x, c, column = np.empty(d), np.empty(rank), columns[rank]
    root = np.sqrt(residual[pivot])
    copy_column_into(XT, pivot, x)
    covariance_into(cov, XT, n, x, column)
    for t in range(rank):
        c[t] = -columns[t, pivot]
    accumulate(column, np.int64(0), n, c, columns, np.int64(0), rank)
    for i in range(n):
        column[i] /= root
        residual[i] -= column[i] * column[i]
    column[pivot] = root
    residual[pivot] = 0.0


@jit
def pivoted_cholesky(cov, XT, size, forced, weights):
    """Greedy Nystrom subset: the next point has the largest conditional variance given those already chosen.

    In the RKHS this is the residual norm of a kernel column after projection onto the columns already chosen
    (Wei et al., GSSBO, appendix A); the algorithm is pivoted Cholesky (Harbrecht et al. 2012). ``weights (n,)``
    multiply the conditional variances. O(n size^2 + n size d).
    """
    n = XT.shape[1]
    residual, scale = prior_residuals(cov, XT)
    taken = np.zeros(n, dtype=np.bool_)
    chosen, columns = np.empty(size, dtype=np.int64), np.empty((size, n))
    for m in range(size):
        pivot = -1
        if m < forced.shape[0]:
            pivot = forced[m]
        else:
            best = -1.0
            for i in range(n):
                score = max(residual[i], 0.0) * weights[i]
                if not taken[i] and score > best:
                    best, pivot = score, i
        chosen[m] = pivot
        taken[pivot] = True
        if residual[pivot] > 1e-13 * scale:
            project_out(cov, XT, columns, m, pivot, residual)
        else:  # numerically dependent on the chosen points: it reduces no variance
            for i in range(n):
                columns[m, i] = 0.0
            residual[pivot] = 0.0
    return chosen


@subroutine
def next_columns(cov, XT, first, candidates, most, residual, least):
    """Pivots of a Cholesky factorisation among the ``candidates (c,)``, after those with the columns ``first (m, n)``.

    Stops after ``most`` pivots, or when no candidate's conditional variance, in ``residual (n,)``, exceeds ``least``.
    Returns their positions (r,), and the columns (n, r), as `independent_columns`.
    """
    known, n = first.shape
    chosen, columns = np.empty(most, dtype=np.int64), np.empty((known + most, n))
    for t in range(known):
        for i in range(n):
            columns[t, i] = first[t, i]
    rank = np.int64(0)
    while rank < most:
        best = 0
        for c in range(candidates.shape[0]):
            if residual[candidates[c]] > residual[candidates[best]]:
                best = c
        pivot = candidates[best]
        if not residual[pivot] > least:
            break
        project_out(cov, XT, columns, known + rank, pivot, residual)
        chosen[rank] = best
        rank += 1
    Z = np.empty((n, rank))
    for t in range(rank):
        for i in range(n):
            Z[i, t] = columns[known + t, i]
    for r in range(rank):
        for t in range(r + 1, rank):
            Z[candidates[chosen[r]], t] = 0.0
    return chosen[:rank].copy(), Z


@jit
def independent_columns(cov, XT, candidates, tolerance):
    """A maximal numerically independent set among the points ``candidates (c,)``, by pivoted Cholesky.

    Stops when no conditional variance exceeds ``tolerance`` times the largest prior variance. Returns the positions
    (r,) in ``candidates`` in the order of the pivots, and the embedding Z (n, r) of all points, ``Z = K_nS L^-T``; its
    rows at the pivots are L, the lower Cholesky factor of their covariance matrix.
    """
    residual, scale = prior_residuals(cov, XT)
    none = np.empty((0, XT.shape[1]))
    return next_columns(cov, XT, none, candidates, candidates.shape[0], residual, tolerance * scale)


@jit
def kmeans_plus_plus(cov, XT, size, forced, uniforms):
    """k-means++ seeding (Arthur & Vassilvitskii 2007) in the feature space of the covariance.

    The next point is drawn with probability proportional to its squared distance k(x,x) + k(c,c) - 2 k(x,c) to
    the nearest chosen point ``c``. ``uniforms (size,)`` are numbers in [0, 1), one per draw.
    """
    d, n = XT.shape
    prior, distance, row = np.empty(n), np.empty(n), np.empty(n)
    taken = np.zeros(n, dtype=np.bool_)
    x = np.empty(d)
    for i in range(n):
        copy_column_into(XT, i, x)
        prior[i], distance[i] = prior_variance(cov, x), np.inf
    chosen = np.empty(size, dtype=np.int64)
    for m in range(size):
        if m < forced.shape[0]:
            pick = forced[m]
        else:
            total = 0.0
            for i in range(n):
                if not taken[i]:
                    total += distance[i] if m > 0 else 1.0
            threshold, cumulative, pick = uniforms[m] * total, 0.0, -1
            for i in range(n):
                if not taken[i]:
                    weight = distance[i] if m > 0 else 1.0
                    if pick < 0 or (cumulative <= threshold and weight > 0.0):
                        pick = i
                    cumulative += weight
        chosen[m] = pick
        taken[pick] = True
        copy_column_into(XT, pick, x)
        covariance_into(cov, XT, n, x, row)
        for i in range(n):
            distance[i] = min(distance[i], max(prior[i] + prior[pick] - 2.0 * row[i], 0.0))
    return chosen
