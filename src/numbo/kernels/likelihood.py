"""Log marginal likelihood of an exact GP and its analytic gradient (Rasmussen & Williams 2006, eqs. 5.8, 5.9).

The parameters are one vector of logarithms,

    theta = (log w_1 .. log w_d, log s, log noise [, log a1, log a2, log a3] [, log b, log c])

with the names of `numbo.kernels.covariance`; the bracketed groups are present only if the covariance has a trend or an
additive part. The ``w`` of numerical dimensions and ``c`` are in units in which the box of ``radius`` around
``center`` is a unit cube.
"""

from __future__ import annotations

import math

import numpy as np

from numbo.compiling.jit import jit, subroutine
from numbo.kernels.cholesky import cholesky_into, inverse_into, invert_lower_into, unwhiten_into, whiten_into
from numbo.kernels.covariance import (
    Covariance,
    add_products_into,
    copy_column_into,
    correlations_into,
    prior_variance,
    products_into,
    squared_distances_into,
)
from numbo.kernels.optional import APART_SQUARED, active_columns, optional_gaps_into

WORKSPACE = 9
#: The fields of a `Covariance` that `parameters` returns.
PARAMETERS = (
    "inverse_squared_lengthscales",
    "signal_variance",
    "linear_variance",
    "quadratic_variance",
    "interaction_variance",
    "noise_variance",
    "additive_variance",
    "additive_weight",
)
TREND, ADDITIVE = 3, 2
LOG_2PI = math.log(2.0 * math.pi)


@jit
def parts(theta, d):
    """Whether ``theta`` has a trend, and whether it has an additive part."""
    extra = theta.shape[0] - (d + 2)
    return extra >= TREND, extra == ADDITIVE or extra == TREND + ADDITIVE


@subroutine
def unpack(theta, family, categorical, center, radius, optional):
    """The covariance with log-parameters ``theta``; for calls from other kernels only.

    A kernel must not return a NamedTuple to Python: its constructor is Python code, in which a signal may be handled,
    and Numba does not expect it to raise.
    """
    weights, s, linear, quadratic, interaction, noise, variance, weight = parameters(theta, categorical, radius)
    return Covariance(
        family,
        weights,
        s,
        linear,
        quadratic,
        interaction,
        noise,
        categorical,
        center,
        radius,
        variance,
        weight,
        optional,
        0.0,
    )


@jit
def parameters(theta, categorical, radius):
    """The `PARAMETERS` of the `Covariance` with log-parameters ``theta``."""
    d, size = categorical.shape[0], theta.shape[0]
    trend, additive = parts(theta, d)
    unit = 1.0 / (2.0 * radius) ** 2
    linear = quadratic = interaction = variance = 0.0
    weight = unit
    if trend:
        linear, quadratic, interaction = math.exp(theta[d + 2]), math.exp(theta[d + 3]), math.exp(theta[d + 4])
    if additive:
        variance, weight = math.exp(theta[size - 2]), unit * math.exp(theta[size - 1])
    weights = np.empty(d)
    for j in range(d):
        weights[j] = math.exp(theta[j]) * (1.0 if categorical[j] else unit)
    s, noise = math.exp(theta[d]), math.exp(theta[d + 1])
    return weights, s, linear, quadratic, interaction, noise, variance, weight


@jit
def log_marginal_likelihood(theta, XT, y, extra, family, categorical, center, radius, optional, known, workspace):
    """Value and gradient (len(theta),) of log p(y | X, theta); (-inf, 0) if K is not positive definite.

    ``extra (n,)`` are known variances of the values, in addition to the common noise. ``known (n, n)`` is a known part
    of K; if there is none, it has no rows. ``workspace (WORKSPACE, n, n)``
    is overwritten; allocating it at every call would cost as much as the arithmetic.
    """
    d, n = XT.shape
    cov = unpack(theta, family, categorical, center, radius, optional)
    gradient = np.zeros(theta.shape[0])
    trend, additive = parts(theta, d)
    s, noise = cov.signal_variance, cov.noise_variance
    a1, a2, a3, b = cov.linear_variance, cov.quadratic_variance, cov.interaction_variance, cov.additive_variance / d
    K, slopes, L, W, WT = workspace[0], workspace[1], workspace[2], workspace[3], workspace[4]
    linear_products, quadratic_products, effects, squares = workspace[5], workspace[6], workspace[7], workspace[8]
    offsets, columns = active_columns(XT, optional)
    branching = offsets.shape[0] > 0
    x = np.empty(d)
    for i in range(n):
        copy_column_into(XT, i, x)
        row, slope = K[i], slopes[i]
        if trend or additive:
            u, u2, kappa, kappa2 = linear_products[i], quadratic_products[i], effects[i], squares[i]
            products_into(cov, XT, i + 1, x, offsets, columns, row, u, u2, kappa, kappa2)
        else:
            squared_distances_into(cov.inverse_squared_lengthscales, categorical, optional, XT, i, x, row)
        correlations_into(family, i, row, slope)
        for k in range(i):
            row[k] *= s
            slope[k] *= s
        if trend or additive:
            add_products_into(cov, d, i, linear_products[i], quadratic_products[i], effects[i], row)
        row[i] = prior_variance(cov, x) + noise + extra[i]
        if known.shape[0] > 0:
            for k in range(i + 1):
                row[k] += known[i, k]
        for k in range(i):
            K[k, i] = row[k]
    if not cholesky_into(K, n, L):
        return -math.inf, gradient
    invert_lower_into(L, n, np.int64(0), W, WT)
    v, alpha = np.empty(n), np.empty(n)
    whiten_into(WT, n, y, v)
    unwhiten_into(W, n, v, alpha)
    value = -0.5 * n * LOG_2PI
    for i in range(n):
        value -= 0.5 * v[i] * v[i] + math.log(L[i, i])

    # G = alpha alpha^T - K^-1, lower triangle, one row at a time; d value / d t = 1/2 tr(G dK/dt)
    inverse = K
    inverse_into(W, n, inverse)
    lengthscale_sums = np.zeros((d, n))
    linear = quadratic = interaction = effect = weight = noise_sum = extra_sum = known_sum = 0.0
    coefficient, gaps = np.empty(n), np.empty(n)
    for i in range(n):
        G, slope = inverse[i], slopes[i]
        for k in range(i + 1):
            G[k] = alpha[i] * alpha[k] - G[k]
        noise_sum += G[i]
        extra_sum += extra[i] * G[i]
        G[i] *= 0.5  # the triangle below counts twice
        if known.shape[0] > 0:
            for k in range(i + 1):
                known_sum += G[k] * known[i, k]
        for k in range(i):
            coefficient[k] = G[k] * slope[k]
        for j in range(d):
            column, xj, sums = XT[j], XT[j, i], lengthscale_sums[j]
            if optional[j]:
                continue
            if categorical[j]:
                for k in range(i):
                    sums[k] += coefficient[k] if column[k] != xj else 0.0
            else:
                for k in range(i):
                    diff = column[k] - xj
                    sums[k] += coefficient[k] * (diff * diff)
        if branching:  # a separate loop keeps the loop above fast
            for j in range(d):
                column, xj, sums = XT[j], XT[j, i], lengthscale_sums[j]
                if optional[j] and xj < 0.0:
                    for at in range(offsets[j], offsets[j + 1]):
                        k = columns[at]
                        if k >= i:
                            break
                        sums[k] += coefficient[k] * (1.0 if categorical[j] else (column[k] - 0.5) ** 2 + APART_SQUARED)
                elif optional[j]:
                    optional_gaps_into(categorical[j], column, i, xj, gaps)
                    for k in range(i):
                        sums[k] += coefficient[k] * gaps[k]
        if trend:
            for k in range(i + 1):
                linear += G[k] * linear_products[i, k]
                quadratic += G[k] * quadratic_products[i, k]
                interaction += G[k] * (linear_products[i, k] * linear_products[i, k])
        if additive:
            for k in range(i + 1):
                effect += G[k] * effects[i, k]
                weight += G[k] * (squares[i, k] - effects[i, k])
    # tr(G dK/dlog s) follows from tr(G K) = y^T alpha - n, less the other parts
    trace = -float(n)
    for i in range(n):
        trace += y[i] * alpha[i]
    for j in range(d):
        total = 0.0
        for k in range(n):
            total += lengthscale_sums[j, k]
        gradient[j] = cov.inverse_squared_lengthscales[j] * total
    linear, quadratic, interaction, effect = a1 * linear, a2 * quadratic, a3 * interaction, b * effect
    gradient[d + 1] = 0.5 * noise * noise_sum
    gradient[d] = 0.5 * (trace - extra_sum) - gradient[d + 1] - linear - quadratic - interaction - effect - known_sum
    if trend:
        gradient[d + 2] = linear
        gradient[d + 3] = quadratic
        gradient[d + 4] = interaction
    if additive:  # d kappa / d log c = kappa^2 - kappa
        gradient[theta.shape[0] - 2] = effect
        gradient[theta.shape[0] - 1] = b * weight
    return value, gradient
