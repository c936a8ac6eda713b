"""Slow and obvious twins of the kernels, in NumPy, SciPy and mpmath."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
from scipy import linalg, special, stats

from numbo.kernels.acquisition import LOG_EI, LOG_PROBABILITY, MEAN, UCB, Acquisition
from numbo.kernels.covariance import MATERN32, MATERN52, Covariance
from numbo.kernels.optional import APART_SQUARED


def k(cov: Covariance, x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Of two points, or of all pairs of two arrays of points that broadcast together."""
    active, both = (x >= 0).astype(int) + (z >= 0), (x >= 0) & (z >= 0)
    a, b = np.where(x < 0, 0.5, x), np.where(z < 0, 0.5, z)
    apart = np.where(active == 1, APART_SQUARED, 0.0)
    different = np.where(cov.categorical, (x != z).astype(float), (a - b) ** 2 + apart)
    r2 = different @ cov.inverse_squared_lengthscales
    if cov.family == MATERN52:
        rho = (1 + np.sqrt(5 * r2) + 5 * r2 / 3) * np.exp(-np.sqrt(5 * r2))
    elif cov.family == MATERN32:
        rho = (1 + np.sqrt(3 * r2)) * np.exp(-np.sqrt(3 * r2))
    else:
        rho = np.exp(-r2 / 2)
    u, v = (np.where(p < 0, 0.0, (p - cov.center) / cov.radius)[..., ~cov.categorical] for p in (x, z))
    dot = (u * v).sum(axis=-1)
    trend = cov.linear_variance * dot + cov.quadratic_variance * (u**2 * v**2).sum(axis=-1)
    trend += cov.interaction_variance * dot**2
    effects = both * np.where(cov.categorical, x == z, 1 / (1 + cov.additive_weight * (x - z) ** 2))
    return cov.signal_variance * rho + trend + cov.additive_variance * effects.mean(axis=-1)


def gram(cov: Covariance, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
    return k(cov, X[:, None], (X if Z is None else Z)[None])


def log_marginal_likelihood(cov: Covariance, X: np.ndarray, y: np.ndarray, extra: np.ndarray | float = 0.0) -> float:
    K = gram(cov, X) + (cov.noise_variance + extra) * np.eye(len(X))
    return float(stats.multivariate_normal(np.zeros(len(X)), K, allow_singular=True).logpdf(y))


def posterior(
    cov: Covariance, X: np.ndarray, y: np.ndarray, Z: np.ndarray, extra: np.ndarray | float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    K = gram(cov, X) + (cov.noise_variance + extra) * np.eye(len(X))
    cross = gram(cov, Z, X)
    mean = cross @ linalg.solve(K, y)
    variance = np.diag(gram(cov, Z) - cross @ linalg.solve(K, cross.T))
    return mean, variance


def log_ei(mu: float, sd: float, best: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        return mpmath.log(sd) + log_h((mpmath.mpf(mu) - mpmath.mpf(best)) / mpmath.mpf(sd))


def acquisition(of: Acquisition, mu: float, sd: float) -> float:
    """The value of an acquisition function, from a posterior mean and standard deviation."""
    if of.kind == UCB:
        return mu + of.parameter * sd
    if of.kind == LOG_EI:
        return float(log_ei(mu, of.width * sd, of.parameter))
    if of.kind == LOG_PROBABILITY:
        return float(special.log_ndtr((mu - of.parameter) / sd))
    if of.kind == MEAN:
        return of.parameter * mu
    raise ValueError(f"There is no twin of kind {of.kind}.")


def log_h(z: float) -> mpmath.mpf:
    """log(phi(z) + z Phi(z)); asymptotic series where even 60 digits cannot tell phi and z Phi apart."""
    with mpmath.workdps(60):
        z = mpmath.mpf(z)
        if z < -1e4:
            s = sum((-1) ** j * (2 * j + 1) * mpmath.fac2(2 * j - 1) / z ** (2 * j) for j in range(8))
            return -z * z / 2 - mpmath.log(mpmath.sqrt(2 * mpmath.pi)) - 2 * mpmath.log(-z) + mpmath.log(s)
        return mpmath.log(mpmath.npdf(z) + z * mpmath.erfc(-z / mpmath.sqrt(2)) / 2)


def greedy_nystrom(cov: Covariance, X: np.ndarray, size: int, forced: list[int], weights: np.ndarray) -> list[int]:
    """The largest weighted conditional variance next, each computed from scratch."""
    chosen = list(forced)
    K = gram(cov, X)
    while len(chosen) < size:
        residual = np.diag(K).copy()
        if chosen:
            residual -= np.einsum("ij,ji->i", K[:, chosen], linalg.pinvh(K[np.ix_(chosen, chosen)]) @ K[chosen])
        score = np.maximum(residual, 0.0) * weights
        score[chosen] = -np.inf
        chosen.append(int(np.argmax(score)))
    return chosen


def kmeans_plus_plus(cov: Covariance, X: np.ndarray, size: int, forced: list[int], uniforms: np.ndarray) -> list[int]:
    chosen, K = list(forced), gram(cov, X)
    while len(chosen) < size:
        free = [i for i in range(len(X)) if i not in chosen]
        if chosen:
            weights = np.array([min(max(K[i, i] + K[c, c] - 2 * K[i, c], 0) for c in chosen) for i in free])
        else:
            weights = np.ones(len(free))
        edges = np.cumsum(weights) - weights
        threshold = uniforms[len(chosen)] * weights.sum()
        fits = [j for j in range(len(free)) if (edges[j] <= threshold and weights[j] > 0) or j == 0]
        chosen.append(free[fits[-1]])
    return chosen


def best_sign_imbalance(positive: np.ndarray, size: int, forced: list[int]) -> int:
    """Smallest |sum of signs| of any subset, by trying all of them."""
    rest = [i for i in range(len(positive)) if i not in forced]
    signs = np.where(positive, 1, -1)
    return min(
        abs(int(signs[list(forced) + list(extra)].sum())) for extra in itertools.combinations(rest, size - len(forced))
    )


def numerical_gradient(f, x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    out = np.empty_like(x)
    for j in range(len(x)):
        e = np.zeros_like(x)
        e[j] = step
        out[j] = (f(x + e) - f(x - e)) / (2 * step)
    return out
