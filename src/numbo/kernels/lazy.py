"""Lazy maximisation of upper confidence bounds over a fixed set of arms, while variances can only shrink.

Calandriello et al. (2020), appendix A.3: between two updates of the mean and the dictionary no bound can grow. So a
bound computed earlier in the batch is still an upper bound, and an arm is recomputed only while its old bound is the
largest. A full evaluation would return the same arm; ties go to the first arm.

    bound(x)      = p(x) (mean(x) + beta sqrt(variance_t(x))) + shift(x)
    mean(x)       = alpha^T k_S(x)
    variance_t(x) = k(x, x) - |W k_S(x)|^2 - sum_j (h_j^T k_S(x))^2

where ``h_j`` is the direction by which the j-th chosen point reduced variances (`numbo.kernels.sparse.observe`), and
``p`` the probability that an arm can be evaluated (`numbo.kernels.acquisition.Acquisition`).

Glossary: ``X (A, d)`` arms; ``H (capacity, m)`` directions by row, ``count`` of them in use; ``top`` the best arm of
each block of `BLOCK_WIDTH` arms.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from numbo.compiling.jit import jit, subroutine
from numbo.kernels.cholesky import whiten_into
from numbo.kernels.covariance import covariance_into, prior_variance

BLOCK_WIDTH = 128
#: Number of arms whose means are computed together: so many sums stay in a fast cache
#: (``benchmarks/results/compare-arms.md``).
MEANS_WIDTH = 2048
UNKNOWN = -1


class Bounds(NamedTuple):
    """Current knowledge of the arms: arrays (A,), and ``top (ceil(A / BLOCK_WIDTH),)``.

    ``bound`` is an upper bound on the upper confidence bound, -inf for an excluded arm. ``stamp`` is the number of
    directions that ``variance`` includes; if it is `UNKNOWN`, ``mean`` and ``variance`` have not been computed yet.
    ``weight`` is p; if it is 1, ``shift`` is 0.
    """

    mean: np.ndarray
    variance: np.ndarray
    bound: np.ndarray
    stamp: np.ndarray
    weight: np.ndarray
    shift: np.ndarray
    top: np.ndarray


@jit
def best_of_block(bound, block):
    """The arm of a block with the largest bound; ties go to the first arm."""
    start = block * BLOCK_WIDTH
    best = start
    for i in range(start + 1, min(start + BLOCK_WIDTH, bound.shape[0])):
        if bound[i] > bound[best]:
            best = i
    return best


@jit
def rank_blocks(bounds):
    """Find the best arm of every block again."""
    for block in range(bounds.top.shape[0]):
        bounds.top[block] = best_of_block(bounds.bound, block)


@jit
def combine_into(rows, slots, alpha, out):
    """out (A,) = sum of alpha[j] rows[slots[j]], for ``rows (r, A)``, in blocks of arms that stay in the cache."""
    m, A = slots.shape[0], out.shape[0]
    for start in range(0, A, MEANS_WIDTH):
        t = out[start : min(start + MEANS_WIDTH, A)]
        n = t.shape[0]
        for i in range(n):
            t[i] = 0.0
        j = 0
        while j + 4 <= m:
            a0, a1, a2, a3 = alpha[j], alpha[j + 1], alpha[j + 2], alpha[j + 3]
            r0, r1 = rows[slots[j], start : start + n], rows[slots[j + 1], start : start + n]
            r2, r3 = rows[slots[j + 2], start : start + n], rows[slots[j + 3], start : start + n]
            for i in range(n):
                t[i] += (a0 * r0[i] + a1 * r1[i]) + (a2 * r2[i] + a3 * r3[i])
            j += 4
        while j < m:
            a0, r0 = alpha[j], rows[slots[j], start : start + n]
            for i in range(n):
                t[i] += a0 * r0[i]
            j += 1


@jit
def squared_remainders_into(between, C, V, out):
    """out (A,) = sum over j of (between[j] - sum over i of C[i, j] V[i])^2, for ``V (m, A)``, in blocks of arms.

    Four rows of ``V`` at a time, with a quarter of the loads and stores of a sum; terms are added one after the other.
    """
    (m, q), A = C.shape, out.shape[0]
    t = np.empty(min(MEANS_WIDTH, A))
    for start in range(0, A, MEANS_WIDTH):
        total = out[start : min(start + MEANS_WIDTH, A)]
        n = total.shape[0]
        for x in range(n):
            total[x] = 0.0
        for j in range(q):
            for x in range(n):
                t[x] = 0.0
            i = 0
            while i + 4 <= m:
                c0, c1, c2, c3 = C[i, j], C[i + 1, j], C[i + 2, j], C[i + 3, j]
                v0, v1 = V[i, start : start + n], V[i + 1, start : start + n]
                v2, v3 = V[i + 2, start : start + n], V[i + 3, start : start + n]
                for x in range(n):
                    t[x] = (((t[x] + c0 * v0[x]) + c1 * v1[x]) + c2 * v2[x]) + c3 * v3[x]
                i += 4
            while i < m:
                c0, v0 = C[i, j], V[i, start : start + n]
                for x in range(n):
                    t[x] += c0 * v0[x]
                i += 1
            row = between[j, start : start + n]
            for x in range(n):
                total[x] += (row[x] - t[x]) * (row[x] - t[x])


@jit
def start_bounds(means, deviations, beta, slack, worst, excluded, bounds):
    """Set all bounds by upper bounds ``mean + beta deviation + slack`` (A,), given ``bounds.weight``, and rank them.

    ``excluded (A,)`` is empty if no arm is.
    """
    for i in range(means.shape[0]):
        p = bounds.weight[i]
        bounds.stamp[i] = UNKNOWN
        bounds.shift[i] = (1.0 - p) * worst
        bounds.bound[i] = ((deviations[i] * beta + means[i]) + slack) * p + bounds.shift[i]
    for i in range(excluded.shape[0]):
        if excluded[i]:
            bounds.bound[i] = -math.inf
    rank_blocks(bounds)


@subroutine
def refresh(posterior, X, H, count, beta, bounds, arm, k, v):
    """Bring the bound of one arm up to date. ``k (m,)`` and ``v (m,)`` are workspace."""
    m = posterior.n
    covariance_into(posterior.covariance, posterior.XT, m, X[arm], k)
    if bounds.stamp[arm] == UNKNOWN:  # mean = alpha^T k, variance_0 = k(x, x) - |W k|^2
        whiten_into(posterior.WT, m, k, v)
        mean, variance = 0.0, prior_variance(posterior.covariance, X[arm])
        for i in range(m):
            mean += posterior.alpha[i] * k[i]
            variance -= v[i] * v[i]
        bounds.mean[arm], bounds.variance[arm], bounds.stamp[arm] = mean, max(variance, 0.0), 0
    variance = bounds.variance[arm]
    for t in range(bounds.stamp[arm], count):  # variance_t = variance_{t-1} - (h_t^T k)^2, for directions not included
        projection, h = 0.0, H[t]
        for i in range(m):
            projection += k[i] * h[i]
        variance -= projection * projection
    bounds.variance[arm], bounds.stamp[arm] = max(variance, 0.0), count
    # p (mean + beta sd) + shift
    bound = bounds.mean[arm] + beta * math.sqrt(bounds.variance[arm])
    bounds.bound[arm] = bounds.weight[arm] * bound + bounds.shift[arm]


@jit
def lazy_argmax(posterior, X, H, count, beta, bounds):
    """The arm with the largest bound, -1 if all are excluded; and how many bounds were computed."""
    m = posterior.n
    k, v = np.empty(m), np.empty(m)
    computed = 0
    while True:
        # the largest bound, possibly an old one: no other arm can exceed it
        arm = bounds.top[0]
        for block in range(1, bounds.top.shape[0]):
            if bounds.bound[bounds.top[block]] > bounds.bound[arm]:
                arm = bounds.top[block]
        if not bounds.bound[arm] > -math.inf:
            return -1, computed
        if bounds.stamp[arm] == count:  # exact, and all others are at most their own upper bounds
            return arm, computed
        refresh(posterior, X, H, count, beta, bounds, arm, k, v)
        bounds.top[arm // BLOCK_WIDTH] = best_of_block(bounds.bound, arm // BLOCK_WIDTH)
        computed += 1
