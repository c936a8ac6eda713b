"""Dictionaries of a sparse GP: points drawn so that what they span represents all of them.

The importance of a point is its ridge leverage score

    tau_i(lambda) = [K (K + lambda I)^-1]_ii = var(x_i) / lambda,

the posterior variance at the point given all of them, in the units of `numbo.models.SparseGP`. Their sum is the
effective dimension. A dictionary that holds each point with probability ``min(1, qbar tau_i)``, for a large enough
``qbar``, gives variances within a constant factor of the exact ones (Calandriello et al. 2019, theorem 1).

`posterior_variance_sampling` draws by scores that are known; `recursive_rls` and `bless` find them for a whole
history at once, without ever forming K.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from numbo.kernels.covariance import Covariance, cross_covariance, prior_variances

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

#: Recursion of `recursive_rls` ends at so few points: all of them are kept.
FEW = 192


def posterior_variance_sampling(variance: Array, qbar: float, rng: np.random.Generator) -> Indices:
    """Indices of a Bernoulli draw with probabilities ``min(1, qbar * variance)`` (Calandriello et al. 2019, alg. 1).

    Args:
        variance: ``var~`` (n,) of the points, one entry an observation.
        qbar: the oversampling factor; the theory wants ``6 alpha log(4 T / delta) / eps^2``, practice uses 2.
        rng: source of the draws.
    """
    return np.flatnonzero(rng.random(len(variance)) < qbar * variance)


def leverage_estimates(covariance: Covariance, X: Array, dictionary: Array, weights: Array, scale: float) -> Array:
    """``(k(x, x) - k_S(x)^T (K_S + diag(weights))^-1 k_S(x)) / scale`` at the rows of ``X (n, d)``, in blocks."""
    prior = prior_variances(covariance, X)
    if len(dictionary) == 0:
        return prior / scale
    ST = np.ascontiguousarray(dictionary.T)
    K = cross_covariance(covariance, ST, ST) + np.diag(weights)
    factor = cho_factor(K, lower=True)
    out = np.empty(len(X))
    for start in range(0, len(X), 4096):
        block = slice(start, start + 4096)
        cross = cross_covariance(covariance, ST, np.ascontiguousarray(X[block].T))
        explained = np.einsum("ij,ji->i", cross, cho_solve(factor, cross.T, check_finite=False))
        out[block] = np.maximum(prior[block] - explained, 0.0) / scale
    return out


def recursive_rls(
    covariance: Covariance,
    X: Array,
    rng: np.random.Generator,
    *,
    delta: float = 0.1,
    qbar: float | None = None,
    limit: int | None = None,
) -> Indices:
    """Recursive ridge leverage score sampling (Musco & Musco 2017, algorithm 2).

    Args:
        covariance: its noise variance is lambda.
        X: points (n, d).
        rng: source of the draws.
        delta: failure probability of the guarantee.
        qbar: oversampling factor of every level; by default the paper's ``16 log(sum of scores / delta)``.
        limit: most points wanted; of more, so many are kept at random.

    Returns:
        Indices (m,) of the dictionary, in increasing order.
    """
    chosen, _ = _recursive_rls(covariance, X, rng, delta, qbar)
    if limit is None or len(chosen) <= limit:
        return chosen
    return np.sort(rng.choice(chosen, limit, replace=False))


def _recursive_rls(
    covariance: Covariance, X: Array, rng: np.random.Generator, delta: float, qbar: float | None
) -> tuple[Indices, Array]:
    """The dictionary before any limit, and the probabilities (m,) it was drawn with: the weights of the next level."""
    n, lam = len(X), covariance.noise_variance
    if (n <= FEW * max(1.0, math.log(1.0 / delta)) and qbar is None) or n <= FEW:
        return np.arange(n), np.ones(n)
    half = np.flatnonzero(rng.random(n) < 0.5)
    if len(half) == 0:
        half = np.arange(n)[:1]
    inner, probabilities = _recursive_rls(covariance, X[half], rng, delta / 3.0, qbar)
    scores = 1.5 * leverage_estimates(covariance, X, X[half][inner], lam * probabilities, lam)
    factor = 16.0 * math.log(max(float(scores.sum()), 2.0) / delta) if qbar is None else qbar
    p = np.minimum(1.0, factor * scores)
    chosen = np.flatnonzero(rng.random(n) < p)
    if len(chosen) == 0:
        chosen = np.array([int(np.argmax(p))])
    return chosen, p[chosen]


def bless(
    covariance: Covariance,
    X: Array,
    rng: np.random.Generator,
    *,
    qbar: float = 2.0,
    step: float = 2.0,
    limit: int | None = None,
) -> Indices:
    """Bottom-up leverage score sampling (Rudi et al. 2018, "On Fast Leverage Score Sampling", algorithm 2, BLESS-R).

    Follows the path of regularisations from ``k(x, x)`` times n down to lambda: at each of them few uniform
    candidates are needed, and the dictionary of the one before gives their scores.

    Args:
        covariance: its noise variance is lambda.
        X: points (n, d).
        rng: source of the draws.
        qbar: oversampling factor.
        step: ratio of successive regularisations, above 1.
        limit: most points wanted. The path ends early at the regularisation whose dictionary would hold more, so that
            what is returned is accurate for a larger lambda.

    Returns:
        Indices (m,) of the dictionary, in increasing order.

    Raises:
        ValueError: if ``step`` is not above 1.
    """
    if not step > 1.0:
        raise ValueError(f"step must be above 1, got {step!r}.")
    n, lam = len(X), covariance.noise_variance
    largest = float(prior_variances(covariance, X).max())
    path = max(n * largest, lam)
    chosen, p = np.empty(0, dtype=np.int64), np.empty(0)
    while True:
        path = max(path / step, lam)
        # a score is at most k(x, x) / path: points are candidates with that bound as their probability
        bound = min(1.0, qbar * largest / path)
        candidates = np.flatnonzero(rng.random(n) < bound)
        scores = leverage_estimates(covariance, X[candidates], X[chosen], path * p, path)
        accept = np.minimum(qbar * scores, bound)
        kept = rng.random(len(candidates)) * bound < accept
        if limit is not None and np.count_nonzero(kept) > limit:
            break
        if kept.any():
            chosen, p = candidates[kept], accept[kept]
        if path <= lam:
            break
    return chosen if len(chosen) else np.array([int(rng.integers(n))])
