"""Posterior mean and variance, acquisition values and their gradients, one point at a time.

Everything is maximised. Glossary: ``mu``, ``sd`` posterior mean and standard deviation; ``z = (mu - best) / sd``;
``h(z) = phi(z) + z Phi(z)``, so that ``EI = sd h(z)``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from numbo.compiling.jit import jit, subroutine
from numbo.kernels.basis import Basis, add_features_gradient_into, lift, prior_mean, with_features
from numbo.kernels.cholesky import accumulate, lower_product_into, unwhiten_into, whiten_into
from numbo.kernels.covariance import (
    MATERN52,
    Covariance,
    add_basis_into,
    add_products_into,
    copy_rows_into,
    correlations_into,
    covariances_into,
    is_stationary_alone,
    prior_variance,
    prior_variance_gradient_into,
    products_into,
    squared_distances_into,
    stationary_mean,
    stationary_mean_slope,
)
from numbo.kernels.optional import active_columns

#: Kinds of acquisition functions, see `Acquisition`.
UCB, LOG_EI, LOG_PROBABILITY, MEAN = 0, 1, 2, 3
#: Those whose parameter is the value to improve on.
IMPROVEMENTS = (LOG_EI,)
SQRT_2PI = math.sqrt(2.0 * math.pi)
LOG_SQRT_2PI = math.log(SQRT_2PI)
RELATIVE_VARIANCE_FLOOR = 1e-14
PREDICTED_AT_ONCE = 128


class Posterior(NamedTuple):
    """A conditioned GP: the first ``n`` rows of ``X (cap, d)``, with ``W = L^-1`` and ``alpha = K^-1 y``.

    Pending points, whose value is still unknown, take part in ``W`` with ``alpha = 0``: they shrink the variance and
    leave the mean unchanged (hallucination, Desautels et al. 2014, section 3.2).

    With a ``basis``, the rows of ``X`` are lifted (`numbo.kernels.basis`), and kernels take lifted points.
    """

    covariance: Covariance
    n: int
    X: np.ndarray
    XT: np.ndarray
    alpha: np.ndarray
    W: np.ndarray
    WT: np.ndarray
    basis: Basis | None = None

    def lifted(self, Z: np.ndarray) -> np.ndarray:
        """The points ``Z (c, d)`` with their features, if there is a basis (`numbo.kernels.basis.with_features`)."""
        return with_features(self.basis, Z)


class Success(NamedTuple):
    """The probability that a point can be evaluated at all: ``p(x) = offset + slope mean(x)``, within [0.01, 1].

    ``mean(x) = sum_i alpha_i k(x, X_i)`` is the mean of a GP whose covariance has the stationary term only; the fields
    are those of `Covariance` and `Posterior`. Its points may have a coordinate that ``x`` does not have, such as the
    time at which they were told; ``elsewhere (n,)`` is the contribution of that coordinate to the squared distances.
    Without points, p is 1. With p below ``threshold`` a point is too likely to fail, whatever its improvement.
    """

    family: int
    inverse_squared_lengthscales: np.ndarray
    signal_variance: float
    categorical: np.ndarray
    optional: np.ndarray
    XT: np.ndarray
    alpha: np.ndarray
    elsewhere: np.ndarray
    offset: float
    slope: float
    threshold: float


NONE = np.zeros(0, dtype=np.bool_)
CERTAIN = Success(MATERN52, np.ones(0), 1.0, NONE, NONE, np.zeros((0, 0)), np.zeros(0), np.zeros(0), 1.0, 0.0, 0.0)
LEAST_SUCCESS = 0.01
#: Penalty in nats per unit of probability below the threshold.
STEEP = 1e4


class Acquisition(NamedTuple):
    """``kind`` is `UCB` (``parameter`` multiplies sd), `LOG_EI` (``parameter`` is the best value so far),
    `LOG_PROBABILITY`, the log probability that the value is at least ``parameter``, or `MEAN`, ``parameter`` times mu.

    A point fails with probability ``1 - p``, where p comes from ``success``. An improvement is then realised with
    probability p (Gelbart et al. 2014): ``log EI + log p``. Late in a search log EI varies by arbitrarily many nats, so
    log p alone would not stop suggestions from failing at the edge of the feasible region. Below the threshold the
    acquisition therefore falls off so steeply that no improvement outweighs it. For UCB, a failure counts as the value
    ``worst``: ``p UCB + (1 - p) worst``. A constant probability changes no choice.

    For `LOG_EI`, standard deviations count ``width`` times: above 1, what is uncertain is overrated, as it is by UCB.
    """

    kind: int
    parameter: float
    success: Success = CERTAIN
    worst: float = 0.0
    width: float = 1.0


class Term(NamedTuple):
    """An acquisition function of a posterior; `numbo.kernels.ascent.ascend` maximises a sum of such terms."""

    posterior: Posterior
    acquisition: Acquisition


@subroutine
def mills_continued_fraction(x):
    """c(x) with Phi(-x) / phi(x) = 1 / (x + c(x)), for x >= 2 (Abramowitz & Stegun 26.2.14)."""
    terms = 16 + int(480.0 / (x * x))
    c = 0.0
    for k in range(terms, 0, -1):
        c = k / (x + c)
    return c


@subroutine
def log_h(z):
    """log h(z), Phi(z) / h(z) and phi(z) / h(z), accurate for every z.

    In the left tail h is the difference of two nearly equal numbers; there the continued fraction of the Mills ratio
    gives h(z) = phi(z) c / (|z| + c) without cancellation (Ament et al. 2023, section 4.1, describe the problem and
    solve it with erfcx).
    """
    if z < -2.0:  # Phi = phi / (c - z) and h = phi + z Phi = phi c / (c - z)
        c = mills_continued_fraction(-z)
        return -0.5 * z * z - LOG_SQRT_2PI + math.log(c / (c - z)), 1.0 / c, (c - z) / c
    phi = math.exp(-0.5 * z * z) / SQRT_2PI
    cdf = 0.5 * math.erfc(-z / math.sqrt(2.0))
    h = phi + z * cdf
    return math.log(h), cdf / h, phi / h


@subroutine
def log_cdf(z):
    """log Phi(z) and phi(z) / Phi(z), accurate for every z."""
    if z < -2.0:  # Phi = phi / (c - z)
        c = mills_continued_fraction(-z)
        return -0.5 * z * z - LOG_SQRT_2PI - math.log(c - z), c - z
    tail = 0.5 * math.erfc(z / math.sqrt(2.0))  # 1 - Phi
    return math.log1p(-tail), math.exp(-0.5 * z * z) / (SQRT_2PI * (1.0 - tail))


@subroutine
def acquisition_terms(kind, parameter, width, mu, sd):
    """Value of the acquisition and its derivatives with respect to ``mu`` and ``sd``, if every point succeeds."""
    if kind == UCB:
        return mu + parameter * sd, 1.0, parameter
    if kind == LOG_PROBABILITY:
        z = (mu - parameter) / sd
        value, ratio = log_cdf(z)
        return value, ratio / sd, -z * ratio / sd
    if kind == MEAN:
        return parameter * mu, parameter, 0.0
    # log EI = log sd + log h(z); with h' = Phi, dz/dmu = 1 / sd and dz/dsd = -z / sd:
    #   d/dmu = Phi / (h sd),  d/dsd = 1 / sd - z Phi / (h sd) = (h - z Phi) / (h sd) = phi / (h sd)
    wide = width * sd
    value, cdf_ratio, phi_ratio = log_h((mu - parameter) / wide)
    return math.log(wide) + value, cdf_ratio / wide, width * (phi_ratio / wide)


@subroutine
def floored_sd(variance, prior):
    return math.sqrt(max(variance, RELATIVE_VARIANCE_FLOOR * prior))


@jit
def mean_variance(posterior, Z):
    """Posterior mean (c,) and variance (c,) of the latent function at the rows of ``Z (c, d)``; never negative.

    Points are processed in blocks that share the rows of ``W``; the result for a point does not depend on its block.
    """
    n, (count, d) = posterior.n, Z.shape
    zero = np.int64(0)
    mean, variance = np.zeros(count), np.empty(count)
    width = min(PREDICTED_AT_ONCE, count)
    K, ZT, V = np.empty((n, width)), np.empty((d, width)), np.empty((n, width))
    for c in range(count):
        variance[c] = prior_variance(posterior.covariance, Z[c])
    for start in range(0, count, PREDICTED_AT_ONCE):
        size = min(PREDICTED_AT_ONCE, count - start)
        copy_rows_into(Z, start, size, ZT)
        mu, var = mean[start : start + size], variance[start : start + size]
        offsets, columns = active_columns(ZT, posterior.covariance.optional)
        for i in range(n):
            covariances_into(posterior.covariance, ZT, size, posterior.X[i], offsets, columns, K[i])
        accumulate(mu, zero, size, posterior.alpha, K, zero, n)  # mean = K^T alpha
        lower_product_into(posterior.W, n, K, size, V)  # variance = k(x, x) - |W k|^2
        for i in range(n):
            for c in range(size):
                var[c] -= V[i, c] * V[i, c]
        for c in range(size):
            var[c] = max(var[c], 0.0)
    for c in range(count):
        mean[c] += prior_mean(posterior.basis, Z[c])
    return mean, variance


@subroutine
def success_probability(success, x, k, slope, gradient):
    """p at ``x (d,)``; its gradient is written to ``gradient (d,)``. ``k (n,)`` and ``slope (n,)`` are workspace."""
    n, w = success.alpha.shape[0], success.inverse_squared_lengthscales
    squared_distances_into(w, success.categorical, success.optional, success.XT, n, x, k)
    for i in range(n):
        k[i] += success.elsewhere[i]
    mean = stationary_mean(success.family, success.signal_variance, success.alpha, n, k, slope)
    p = success.offset + success.slope * mean
    inside = LEAST_SUCCESS < p < 1.0  # outside, p is clipped and its gradient is 0
    for j in range(x.shape[0]):
        moves = inside and not success.categorical[j]
        total = stationary_mean_slope(success.XT[j], n, x[j], slope) if moves else 0.0
        gradient[j] = total * (success.slope * w[j])
    return min(max(p, LEAST_SUCCESS), 1.0)


@jit
def success_probabilities(success, Z):
    """p (c,) at the rows of ``Z (c, d)``."""
    n, out = success.alpha.shape[0], np.ones(Z.shape[0])
    k, slope, gradient = np.empty(n), np.empty(n), np.empty(Z.shape[1])
    for c in range(Z.shape[0] if n > 0 else 0):
        out[c] = success_probability(success, Z[c], k, slope, gradient)
    return out


@subroutine
def weighted(kind, worst, threshold, value, p):
    """The acquisition with success probability ``p``, given its ``value`` for p = 1; its derivatives in value and p."""
    if kind == UCB:
        return p * value + (1.0 - p) * worst, p, value - worst
    if p < threshold:  # a steep line in p that meets value + log p at the threshold
        return value + math.log(threshold) - STEEP * (threshold - p), 1.0, STEEP
    return value + math.log(p), 1.0, 1.0 / p


@jit
def unweighted_values(kind, parameter, width, covariance, Z, mean, variance):
    """Acquisition (c,) if every point succeeds, from posterior means and variances (c,) at ``Z (c, d)``."""
    out = np.empty(Z.shape[0])
    for c in range(Z.shape[0]):
        sd = floored_sd(variance[c], prior_variance(covariance, Z[c]))
        out[c] = acquisition_terms(kind, parameter, width, mean[c], sd)[0]
    return out


@jit
def weighted_values(kind, worst, threshold, values, p):
    """Acquisition (c,) with success probabilities ``p (c,)``, given its ``values (c,)`` for p = 1."""
    out = np.empty(values.shape[0])
    for c in range(values.shape[0]):
        out[c] = weighted(kind, worst, threshold, values[c], p[c])[0]
    return out


def acquisition_values(posterior: Posterior, acquisition: Acquisition, Z: np.ndarray) -> np.ndarray:
    """Acquisition (c,) at the rows of ``Z (c, d)``.

    Not a kernel itself, so that the kernels it calls are compiled once, for all callers.
    """
    kind, parameter, success, worst, width = acquisition
    lifted = posterior.lifted(Z)
    mean, variance = mean_variance(posterior, lifted)
    values = unweighted_values(kind, parameter, width, posterior.covariance, lifted, mean, variance)
    if len(success.alpha) == 0:
        return values
    return weighted_values(kind, worst, success.threshold, values, success_probabilities(success, Z))


@subroutine
def moments_into(posterior, offsets, columns, x, slope, q, products):
    """Posterior mean and standard deviation at ``x (d,)``, which is lifted if the posterior has a basis.

    ``slope``, ``q`` and ``products (n,)`` are overwritten with the input of `moments_gradient_into`. ``offsets`` and
    ``columns`` are from `active_columns`, for the points that ``posterior`` is conditioned on.
    """
    cov, n = posterior.covariance, posterior.n
    k, v = np.empty(n), np.empty(n)
    alone = is_stationary_alone(cov)
    if alone:
        squared_distances_into(cov.inverse_squared_lengthscales, cov.categorical, cov.optional, posterior.XT, n, x, k)
    else:  # until `add_products_into`, v holds <u^2, v^2> and q holds sum_j kappa_j
        products_into(cov, posterior.XT, n, x, offsets, columns, k, products, v, q, None)
    correlations_into(cov.family, n, k, slope)
    for i in range(n):
        k[i] *= cov.signal_variance
        slope[i] *= 2.0 * cov.signal_variance  # 2 s rho'(r2)
    if not alone:
        add_products_into(cov, cov.categorical.shape[0], n, products, v, q, k)
    add_basis_into(cov, posterior.XT, n, x, k)
    whiten_into(posterior.WT, n, k, v)  # v = W k
    unwhiten_into(posterior.W, n, v, q)  # q = W^T W k, so that d |W k|^2 = 2 q^T dk
    prior = prior_variance(cov, x)
    mu, var = prior_mean(posterior.basis, x), prior
    for i in range(n):
        mu += k[i] * posterior.alpha[i]
        var -= v[i] * v[i]
    return mu, floored_sd(var, prior)


@subroutine
def moments_gradient_into(posterior, x, slopes, sd, d_mu, d_sd, slope, q, products, gradient):
    """Write the gradient of a function of mean and sd, with derivatives ``d_mu`` and ``d_sd``, to ``gradient (d,)``.

    It is zero in categorical dimensions. ``x`` and ``slopes`` are from `numbo.kernels.basis.lift`. ``slope``, ``q`` and
    ``products`` are those of `moments_into`; ``q`` is overwritten.
    """
    cov, n, d = posterior.covariance, posterior.n, gradient.shape[0]
    alone = is_stationary_alone(cov)
    # mu = alpha^T k and sd^2 = k(x, x) - |W k|^2, so that by the chain rule
    #   da = d_sd / (2 sd) dk(x, x) + sum_i c_i dk_i,  c_i = d_mu alpha_i - d_sd / sd q_i
    prior_variance_gradient_into(cov, x, gradient)
    for j in range(d):
        gradient[j] *= 0.5 * d_sd / sd
    of_kernel, linear, quadratic, effects = np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(d)
    scale, weight = 1.0 / (cov.radius * cov.radius), cov.additive_weight
    # dk_i / dx_j is the sum of these, with t = X_ij - center_j; factors that do not depend on i follow after the loop:
    #   stationary            2 s rho'(r2) w_j (x_j - X_ij)
    #   linear, interactions  (a1 + 2 a3 <u, v>) t / radius^2
    #   quadratic             2 a2 (x_j - center_j) t^2 / radius^4
    #   main effects          -2 (b / d) weight (x_j - X_ij) kappa_j^2
    for i in range(n):
        row = posterior.X[i]
        q[i] = c = d_mu * posterior.alpha[i] - d_sd / sd * q[i]
        radial = c * slope[i]
        for j in range(d):
            of_kernel[j] += radial * (x[j] - row[j])
        if not alone:
            bilinear = c * (cov.linear_variance + 2.0 * cov.interaction_variance * products[i])
            for j in range(d):
                t, diff = row[j] - cov.center[j], x[j] - row[j]
                linear[j] += bilinear * t
                quadratic[j] += c * (t * t)
                kappa = 1.0 / (1.0 + weight * (diff * diff))
                effects[j] += c * diff * (kappa * kappa)
    for j in range(d):
        if cov.optional[j] and x[j] >= 0.0:  # once more: inactive rows enter the stationary part only
            of_kernel[j] = linear[j] = quadratic[j] = effects[j] = 0.0
            for i in range(n):
                value_ij = posterior.X[i, j]
                active = value_ij >= 0.0
                diff = x[j] - (value_ij if active else 0.5)
                of_kernel[j] += q[i] * slope[i] * diff
                if active and not alone:
                    t = value_ij - cov.center[j]
                    linear[j] += q[i] * (cov.linear_variance + 2.0 * cov.interaction_variance * products[i]) * t
                    quadratic[j] += q[i] * (t * t)
                    kappa = 1.0 / (1.0 + weight * (diff * diff))
                    effects[j] += q[i] * diff * (kappa * kappa)
        if cov.categorical[j] or (cov.optional[j] and x[j] < 0.0):
            gradient[j] = 0.0
        else:
            gradient[j] += cov.inverse_squared_lengthscales[j] * of_kernel[j] + scale * linear[j]
            gradient[j] += 2.0 * cov.quadratic_variance * scale * scale * (x[j] - cov.center[j]) * quadratic[j]
            gradient[j] -= 2.0 * cov.additive_variance / d * weight * effects[j]
    add_features_gradient_into(posterior.basis, cov, posterior.X, n, x, slopes, d_mu, 0.5 * d_sd / sd, q, gradient)


@subroutine
def acquisition_gradient_into(posterior, acquisition, offsets, columns, x, gradient):
    """Acquisition at ``x (d,)``; its gradient is written to ``gradient (d,)``, as by `moments_gradient_into`.

    ``offsets`` and ``columns`` are from `active_columns`, for the points that ``posterior`` is conditioned on.
    """
    n = posterior.n
    slope, q, products = np.empty(n), np.empty(n), np.empty(n)
    z, slopes = lift(posterior.basis, x)
    mu, sd = moments_into(posterior, offsets, columns, z, slope, q, products)
    value, d_mu, d_sd = acquisition_terms(acquisition.kind, acquisition.parameter, acquisition.width, mu, sd)
    moments_gradient_into(posterior, z, slopes, sd, d_mu, d_sd, slope, q, products, gradient)
    if acquisition.success.alpha.shape[0] == 0:
        return value
    return weighted_gradient_into(acquisition.kind, acquisition.worst, acquisition.success, x, value, gradient)


@subroutine
def weighted_gradient_into(kind, worst, success, x, value, gradient):
    """`weighted` of an acquisition with ``value`` at ``x (d,)``; ``gradient (d,)`` becomes the result's gradient."""
    m, d = success.alpha.shape[0], x.shape[0]
    of_success = np.empty(d)
    p = success_probability(success, x, np.empty(m), np.empty(m), of_success)
    value, d_value, d_p = weighted(kind, worst, success.threshold, value, p)
    for j in range(d):
        gradient[j] = d_value * gradient[j] + d_p * of_success[j]
    return value
