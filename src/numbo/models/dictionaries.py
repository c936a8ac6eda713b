"""Dictionaries of a sparse GP: points drawn so that their span represents all points.

The importance of a point is its ridge leverage score

    tau_i(lambda) = [K (K + lambda I)^-1]_ii = var(x_i) / lambda,

the posterior variance at the point given all points, in the units of `numbo.models.SparseGP`. The sum of the scores is
the effective dimension. A dictionary that holds each point with probability ``min(1, qbar tau_i)``, for a large enough
``qbar``, gives variances within a constant factor of the exact ones (Calandriello et al. 2019, theorem 3.1).

`posterior_variance_sampling` draws by known scores; `recursive_rls` and `bless` estimate them for a whole history at
once, without ever forming K. `DictionaryRule` combines them with a limit on the number of atoms.
"""

from __future__ import annotations

import math

import numpy as np

from numbo._types import Array, AtomIndices, Mask
from numbo.kernels.cholesky import cholesky_into
from numbo.kernels.covariance import Covariance, cross_covariance, prior_variances
from numbo.kernels.sparse import embed, inverse_factor

#: Factor by which a dictionary may outgrow its limit between two draws.
OVERGROWTH = 1.25
#: The first dictionary holds the whole history up to this size, without sampling.
SMALL_HISTORY = 64
#: With at most this number of points, the recursion of `recursive_rls` ends and keeps all.
FEW = 192


def unrepresented(covariance: Covariance, X: Array, Z: Array) -> Array:
    """The prior variance (n,) at ``X (n, d)`` that a dictionary with the embeddings ``Z (n, m)`` does not represent.

    That is ``k(x, x) - z(x)^T z(x)`` (`numbo.models.sparse_gp`), never negative.
    """
    return np.maximum(prior_variances(covariance, X) - np.sum(Z**2, axis=1), 0.0)


def posterior_variance_sampling(variance: Array, qbar: float, rng: np.random.Generator) -> AtomIndices:
    """Indices of a Bernoulli draw with probabilities ``min(1, qbar * variance)`` (Calandriello et al. 2019, alg. 1).

    ``variance (n,)`` is ``var~`` of the points, one entry per observation. The theory needs an oversampling factor
    ``qbar`` of ``6 alpha log(4 T / delta) / eps^2``, and BBKB C~ times as much (theorem 2); in practice 2 is used.
    """
    return np.flatnonzero(rng.random(len(variance)) < qbar * variance)


def leverage_estimates(covariance: Covariance, X: Array, dictionary: Array, weights: Array, scale: float) -> Array:
    """``(k(x, x) - k_S(x)^T (K_S + diag(weights))^-1 k_S(x)) / scale`` at the rows of ``X (n, d)``, in blocks."""
    prior = prior_variances(covariance, X)
    if len(dictionary) == 0:
        return prior / scale
    ST = np.ascontiguousarray(dictionary.T)
    K = cross_covariance(covariance, ST, ST) + np.diag(weights)
    L = np.empty_like(K)
    if not cholesky_into(K, len(K), L):
        raise np.linalg.LinAlgError("K + diag(weights) is not positive definite: points are not finite, or all alike.")
    R, _ = inverse_factor(L)
    out = np.empty(len(X))
    for start in range(0, len(X), 4096):
        block = slice(start, start + 4096)
        Z = embed(covariance, dictionary, R, X[block])
        out[block] = np.maximum(prior[block] - np.einsum("ij,ij->i", Z, Z), 0.0) / scale
    return out


def recursive_rls(
    covariance: Covariance,
    X: Array,
    rng: np.random.Generator,
    *,
    delta: float = 0.1,
    qbar: float | None = None,
    limit: int | None = None,
) -> AtomIndices:
    """Recursive ridge leverage score sampling (Musco & Musco 2017, algorithm 2).

    Args:
        covariance: its noise variance is lambda.
        X: points (n, d).
        rng: source of the draws.
        delta: failure probability of the guarantee.
        qbar: oversampling factor of every level; by default the paper's ``16 log(sum of scores / delta)``.
        limit: maximum number of points; if more are drawn, a random choice of them is kept.

    Returns:
        Indices (m,) of the dictionary, in increasing order.
    """
    chosen, _ = _recursive_rls(covariance, X, rng, delta, qbar)
    if limit is None or len(chosen) <= limit:
        return chosen
    return np.sort(rng.choice(chosen, limit, replace=False))


def _recursive_rls(
    covariance: Covariance, X: Array, rng: np.random.Generator, delta: float, qbar: float | None
) -> tuple[AtomIndices, Array]:
    """The dictionary (m,) before any limit, and the probabilities (m,) of its points, the weights of the next level."""
    n = len(X)
    lam = covariance.noise_variance
    if (n <= FEW * max(1.0, math.log(1.0 / delta)) and qbar is None) or n <= FEW:
        return np.arange(n), np.ones(n)
    half = np.flatnonzero(rng.random(n) < 0.5)
    if len(half) == 0:
        half = np.arange(n)[:1]
    inner, weights = _recursive_rls(covariance, X[half], rng, delta / 3.0, qbar)
    scores = 1.5 * leverage_estimates(covariance, X, X[half][inner], lam * weights, lam)
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
) -> AtomIndices:
    """Bottom-up leverage score sampling (Rudi et al. 2018, "On Fast Leverage Score Sampling", algorithm 2, BLESS-R).

    Follows a path of regularisations from n times ``k(x, x)`` down to lambda. Each needs few uniform candidates, whose
    scores are estimated with the dictionary of the previous regularisation.

    Args:
        covariance: its noise variance is lambda.
        X: points (n, d).
        rng: source of the draws.
        qbar: oversampling factor.
        step: ratio of successive regularisations, above 1.
        limit: maximum number of points. The path ends before the first regularisation whose dictionary would hold
            more, so that the result is accurate for a larger lambda.

    Returns:
        Indices (m,) of the dictionary, in increasing order.

    Raises:
        ValueError: if ``step`` is not above 1.
    """
    if not step > 1.0:
        raise ValueError(f"step must be above 1, got {step!r}.")
    n = len(X)
    lam = covariance.noise_variance
    largest = float(prior_variances(covariance, X).max())
    path = max(n * largest, lam)
    chosen = np.empty(0, dtype=np.int64)
    p = np.empty(0)
    while True:
        path = max(path / step, lam)
        # a score is at most k(x, x) / path: points become candidates with probability qbar times that bound
        bound = min(1.0, qbar * largest / path)
        candidates = np.flatnonzero(rng.random(n) < bound)
        scores = leverage_estimates(covariance, X[candidates], X[chosen], path * p, path)
        accept = np.minimum(qbar * scores, bound)
        kept = rng.random(len(candidates)) * bound < accept
        if limit is not None and np.count_nonzero(kept) > limit:
            break
        if kept.any():
            chosen = candidates[kept]
            p = accept[kept]
        if path <= lam:
            break
    return chosen if len(chosen) else np.array([int(rng.integers(n))])


class DictionaryRule:
    """How dictionaries are drawn: first from a history, later by the posterior variance.

    Args:
        qbar: oversampling factor; infinity makes every point an atom.
        limit: maximum number of atoms of a draw, None for no limit.
        initial: ``"bless"`` or ``"rls"``, how the first dictionary is drawn from a history.
        delta: failure probability of ``"rls"``.
    """

    def __init__(self, qbar: float, limit: int | None, initial: str, delta: float) -> None:
        self.qbar = qbar
        self.limit = limit
        self.initial = initial
        self.delta = delta

    def first(self, covariance: Covariance, X: Array, rng: np.random.Generator) -> tuple[AtomIndices, Mask]:
        """Atoms for points ``X (n, d)`` not yet in any model: all points if few, else a leverage score sample.

        Returns:
            their indices (m,), and which of them (m,) were drawn with probability 1.
        """
        if len(X) <= SMALL_HISTORY or (math.isinf(self.qbar) and self.limit is None):
            return np.arange(len(X)), np.ones(len(X), dtype=bool)
        X = np.ascontiguousarray(X)
        if self.initial == "bless":
            chosen = bless(covariance, X, rng, qbar=self.qbar, limit=self.limit)
        else:
            chosen = recursive_rls(covariance, X, rng, delta=self.delta, limit=self.limit)
        return chosen, np.zeros(len(chosen), dtype=bool)

    def draw(self, leverage: Array, rng: np.random.Generator) -> tuple[AtomIndices, Mask]:
        """Atoms as `first` returns them: each point with probability ``min(1, qbar leverage)`` (BBKB, lines 12 to 15).

        ``leverage (u,)`` is the variance ``var~`` of a point, summed over its pulls: the point is at least as likely to
        be drawn as by one draw per pull. ``qbar`` is lowered if the expected number of atoms would exceed the limit.
        """
        qbar = self.qbar
        if self.limit is not None and np.minimum(1.0, _times(qbar, leverage)).sum() > self.limit:
            qbar = _expecting(leverage, self.limit)
        p = _times(qbar, leverage)
        chosen = posterior_variance_sampling(p, 1.0, rng)
        if len(chosen) == 0:
            chosen = np.array([int(np.argmax(leverage))])
        return chosen, p[chosen] >= 1.0

    def joins(self, variance: float, size: int, rng: np.random.Generator) -> bool:
        """Whether a new point with this ``variance`` joins a dictionary of ``size`` atoms between two draws."""
        return not self.overgrown(size) and bool(rng.random() < self.qbar * variance)

    def overgrown(self, size: int) -> bool:
        """Whether a dictionary of ``size`` atoms should be drawn again rather than grow."""
        return self.limit is not None and size >= OVERGROWTH * self.limit


def _times(qbar: float, leverage: Array) -> Array:
    """``qbar leverage``, with an infinite ``qbar`` meaning certainty."""
    return np.full(len(leverage), np.inf) if math.isinf(qbar) else qbar * leverage


def _expecting(leverage: Array, size: int) -> float:
    """The ``qbar`` with ``sum min(1, qbar leverage) = size``; there are more than ``size`` points."""
    falling = np.sort(leverage)[::-1]
    rest = np.append(np.cumsum(falling[::-1])[::-1], 0.0)
    for certain in range(size):  # the most important points reach probability 1 first
        qbar = (size - certain) / max(rest[certain], np.finfo(float).tiny)
        if qbar * falling[certain] <= 1.0:
            break
    return float(qbar)
