"""Log marginal likelihood of an exact GP and its analytic gradient (Rasmussen & Williams 2006, eqs. 5.8, 5.9).

The parameters come as one vector of logarithms,

    theta = (log w_1 .. log w_d, log s, log noise [, log a1, log a2])

with the names of `numbo.kernels.covariance`; the last two are there only for a covariance with a trend.
"""

from __future__ import annotations

import math

import numpy as np

from numbo.kernels._jit import jit
from numbo.kernels.cholesky import cholesky_into, invert_lower_into, unwhiten_into, whiten_into
from numbo.kernels.covariance import (
    Covariance,
    add_trend_into,
    correlation,
    correlation_slope,
    prior_variance,
    squared_distances_into,
)

LOG_2PI = math.log(2.0 * math.pi)


@jit
def unpack(theta, family, categorical):
    """The covariance that the log-parameters ``theta`` stand for."""
    d = categorical.shape[0]
    linear = quadratic = 0.0
    if theta.shape[0] > d + 2:
        linear, quadratic = math.exp(theta[d + 2]), math.exp(theta[d + 3])
    return Covariance(
        family, np.exp(theta[:d]), math.exp(theta[d]), linear, quadratic, math.exp(theta[d + 1]), categorical
    )


@jit
def log_marginal_likelihood(theta, XT, y, family, categorical):
    """Value and gradient (len(theta),) of log p(y | X, theta); (-inf, 0) where K is not positive definite."""
    d, n = XT.shape
    cov = unpack(theta, family, categorical)
    gradient = np.zeros(theta.shape[0])
    trend = theta.shape[0] > d + 2
    s, noise = cov.signal_variance, cov.noise_variance
    K, slopes, L = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    x = np.empty(d)
    for i in range(n):
        x[:] = XT[:, i]
        row, slope = K[i], slopes[i]
        squared_distances_into(cov, XT, i, x, row)
        for k in range(i):
            slope[k] = s * correlation_slope(family, row[k])
            row[k] = s * correlation(family, row[k])
        if trend:
            add_trend_into(cov, XT, i, x, row)
        row[i] = prior_variance(cov, x) + noise
        for k in range(i):
            K[k, i] = row[k]
    if not cholesky_into(K, L):
        return -math.inf, gradient
    W, WT = np.empty((n, n)), np.empty((n, n))
    invert_lower_into(L, n, 0, W, WT)
    v, alpha = np.empty(n), np.empty(n)
    whiten_into(WT, n, y, v)
    unwhiten_into(W, n, v, alpha)
    value = -0.5 * n * LOG_2PI
    for i in range(n):
        value -= 0.5 * v[i] * v[i] + math.log(L[i, i])

    # G = alpha alpha^T - K^-1, lower triangle, one row at a time; d value / d t = 1/2 tr(G dK/dt)
    inverse = K
    for i in range(n):
        for k in range(i + 1):
            inverse[i, k] = 0.0
    for m in range(n):
        row = W[m]
        for i in range(m + 1):
            f = row[i]
            target = inverse[i]
            for k in range(i + 1):
                target[k] += f * row[k]
    lengthscale_sums = np.zeros((d, n))
    linear_sums, quadratic_sums = np.zeros(n), np.zeros(n)
    noise_sum = 0.0
    coefficient = np.empty(n)
    for i in range(n):
        G, slope = inverse[i], slopes[i]
        diagonal = alpha[i] * alpha[i] - G[i]
        noise_sum += diagonal
        for k in range(i):
            G[k] = alpha[i] * alpha[k] - G[k]
            coefficient[k] = G[k] * slope[k]
        G[i] = 0.5 * diagonal
        for j in range(d):
            column, xj, sums = XT[j], XT[j, i], lengthscale_sums[j]
            if categorical[j]:
                for k in range(i):
                    sums[k] += coefficient[k] if column[k] != xj else 0.0
            else:
                for k in range(i):
                    diff = column[k] - xj
                    sums[k] += coefficient[k] * (diff * diff)
                if trend:
                    u = 2.0 * xj - 1.0
                    u2 = u * u
                    for k in range(i + 1):
                        t = 2.0 * column[k] - 1.0
                        linear_sums[k] += G[k] * (u * t)
                        quadratic_sums[k] += G[k] * (u2 * (t * t))
    # tr(G rho) follows from tr(G K) = y^T alpha - n and the other parts, which are at hand
    trace = -float(n)
    for i in range(n):
        trace += y[i] * alpha[i]
    linear = quadratic = 0.0
    for k in range(n):
        linear += linear_sums[k]
        quadratic += quadratic_sums[k]
    for j in range(d):
        total = 0.0
        for k in range(n):
            total += lengthscale_sums[j, k]
        gradient[j] = cov.inverse_squared_lengthscales[j] * total
    linear *= cov.linear_variance
    quadratic *= cov.quadratic_variance
    gradient[d + 1] = 0.5 * noise * noise_sum
    gradient[d] = 0.5 * trace - gradient[d + 1] - linear - quadratic
    if trend:
        gradient[d + 2] = linear
        gradient[d + 3] = quadratic
    return value, gradient
