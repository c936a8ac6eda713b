"""Covariance functions: stationary ARD kernels over mixed inputs, a linear and quadratic trend, and main effects.

    k(x, z) = s * rho(r2) + a1 <u, v> + a2 <u^2, v^2> + a3 <u, v>^2 + b mean_j kappa_j + e <phi(x), phi(z)>
    r2      = sum_j w_j (x_j - z_j)^2      over numerical dimensions
            + sum_j w_j [x_j != z_j]       over categorical dimensions (Hamming distance)
    u       = (x - center) / radius        over numerical dimensions; v likewise from z; u^2 and v^2 elementwise
    kappa_j = 1 / (1 + c (x_j - z_j)^2)    in numerical dimensions, [x_j = z_j] in categorical ones
    phi     = features that follow the coordinates of a lifted point (`numbo.kernels.basis`); most points have none

An optional dimension may be inactive, with a negative coordinate. The point then lies beside the middle of the range,
at the distance APART in an extra dimension. In place of (x_j - z_j)^2, an active and an inactive point have
(x_j - 1/2)^2 + APART^2 (1 if it is categorical), and two inactive points have 0. Trend and additive part contain only
dimensions that are active at both points.

Glossary: ``XT (d, n)`` points by column; ``x (d,)`` one point; ``w (d,)`` inverse squared lengthscales;
``s`` signal variance; ``a1``, ``a2``, ``a3`` trend variances; ``b`` additive variance; ``c`` inverse squared
lengthscale of the additive part; ``e`` basis variance; ``rho`` the correlation as a function of ``r2``.

The trend is Bayesian linear regression on ``u``, ``u^2`` and all products ``u_i u_j`` in its kernel form (Rasmussen
& Williams 2006, sections 2.7 and 4.2.2): it makes the prior variance depend on ``x``.

The additive part is a sum of GPs over single coordinates (Duvenaud et al. 2011, "Additive Gaussian Processes", first
order): the effect of one coordinate is learned for all values of the others, so that few points are informative even in
many dimensions. Its kernel is the rational quadratic with alpha = 1 (Rasmussen & Williams, eq. 4.19), which needs no
exponential.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from numbo.compiling.jit import jit, subroutine
from numbo.kernels.optional import (
    active_columns,
    add_inactive_gaps_into,
    optional_gap,
    optional_gaps_into,
    optional_products_into,
)

MATERN52, MATERN32, RBF = 0, 1, 2
INVERSE_LOG_2 = 1.0 / math.log(2.0)
LOG_2_HIGH, LOG_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
ROUND = 1.5 * 2.0**52
#: Number of coordinates after which `squared_distances` checks whether a point is too far away.
FIRST = 8
C0, C1, C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13 = [1.0 / math.factorial(k) for k in range(14)]


class Covariance(NamedTuple):
    """Hyperparameters of a covariance function, in the form that kernels take."""

    family: int
    inverse_squared_lengthscales: np.ndarray
    signal_variance: float
    linear_variance: float
    quadratic_variance: float
    interaction_variance: float
    noise_variance: float
    categorical: np.ndarray
    center: np.ndarray
    radius: float
    additive_variance: float
    additive_weight: float
    optional: np.ndarray
    basis_variance: float = 0.0


def stationary(
    family: int,
    inverse_squared_lengthscales: np.ndarray,
    signal_variance: float,
    noise_variance: float,
    categorical: np.ndarray,
    optional: np.ndarray | None = None,
) -> Covariance:
    """A `Covariance` with the stationary term only."""
    d = len(inverse_squared_lengthscales)
    return Covariance(
        family=family,
        inverse_squared_lengthscales=inverse_squared_lengthscales,
        signal_variance=signal_variance,
        linear_variance=0.0,
        quadratic_variance=0.0,
        interaction_variance=0.0,
        noise_variance=noise_variance,
        categorical=categorical,
        center=np.full(d, 0.5),
        radius=0.5,
        additive_variance=0.0,
        additive_weight=1.0,
        optional=np.zeros(d, dtype=np.bool_) if optional is None else optional,
    )


@subroutine
def decay_into(r, n, out):
    """out[:n] = exp(-r[:n]) for ``r >= 0``, to a relative error of 5e-16; constant from r = 708 on.

    Vectorised, and several times faster than library calls: exp(-r) = 2^k e^t with |t| <= log(2) / 2. Adding
    1.5 * 2^52 rounds to the integer k and leaves it in the last bits; shifted up, they are the exponent of 2^k. e^t is
    evaluated by its Taylor polynomial.
    """
    bits = out.view(np.int64)
    for i in range(n):
        out[i] = -min(r[i], 708.0) * INVERSE_LOG_2 + ROUND
    for i in range(n):
        bits[i] = (bits[i] + 1023) << 52
    for i in range(n):
        x = -min(r[i], 708.0)
        k = (x * INVERSE_LOG_2 + ROUND) - ROUND
        t = (x - k * LOG_2_HIGH) - k * LOG_2_LOW
        t2 = t * t
        t4 = t2 * t2
        low = ((C0 + C1 * t) + (C2 + C3 * t) * t2) + ((C4 + C5 * t) + (C6 + C7 * t) * t2) * t4
        high = ((C8 + C9 * t) + (C10 + C11 * t) * t2) + (C12 + C13 * t) * t4
        out[i] *= low + high * (t4 * t4)


@subroutine
def correlations_into(family, n, r2, slope):
    """Replace r2[:n] by rho(r2), and write d rho / d r2, finite at r2 = 0, to slope[:n].

    Matern-5/2, Matern-3/2 or RBF, as in Rasmussen & Williams (2006), eqs. 4.9 and 4.17.
    """
    if family == RBF:
        for i in range(n):
            r2[i] *= 0.5
    else:
        factor = 5.0 if family == MATERN52 else 3.0
        for i in range(n):
            r2[i] = math.sqrt(factor * r2[i])
    decay_into(r2, n, slope)
    if family == MATERN52:
        for i in range(n):
            r, e = r2[i], slope[i]
            r2[i], slope[i] = (1.0 + r + r * r / 3.0) * e, -(5.0 / 6.0) * (1.0 + r) * e
    elif family == MATERN32:
        for i in range(n):
            r, e = r2[i], slope[i]
            r2[i], slope[i] = (1.0 + r) * e, -1.5 * e
    else:
        for i in range(n):
            r2[i], slope[i] = slope[i], -0.5 * slope[i]


@subroutine
def copy_column_into(XT, i, x):
    """x[:] = XT[:, i], without the error handling that Numba compiles for a slice assignment."""
    for j in range(x.shape[0]):
        x[j] = XT[j, i]


@subroutine
def copy_rows_into(Z, start, size, ZT):
    """ZT[:, :size] = Z[start : start + size].T, as `copy_column_into`."""
    for c in range(size):
        for j in range(Z.shape[1]):
            ZT[j, c] = Z[start + c, j]


@subroutine
def stationary_mean(family, signal_variance, alpha, n, r2, slope):
    """sum_i alpha_i s rho(r2_i) over n points, the mean of a GP with the stationary term only.

    ``r2 (n,)`` becomes rho, and ``slope (n,)`` the input of `stationary_mean_slope`, 2 alpha_i s rho'(r2_i).
    """
    correlations_into(family, n, r2, slope)
    mean = 0.0
    for i in range(n):
        weight = signal_variance * alpha[i]
        mean += weight * r2[i]
        slope[i] *= 2.0 * weight
    return mean


@subroutine
def stationary_mean_slope(row, n, xj, slope):
    """The derivative of a `stationary_mean` in a coordinate that is ``xj``, and ``row[:n]`` at the points, before it is
    weighted by w_j."""
    total = 0.0
    for i in range(n):
        total += slope[i] * (xj - (row[i] if row[i] >= 0.0 else 0.5))
    return total


@subroutine
def is_stationary_alone(cov):
    """Whether the covariance has the stationary term only."""
    trend = cov.linear_variance > 0.0 or cov.quadratic_variance > 0.0 or cov.interaction_variance > 0.0
    return not (trend or cov.additive_variance > 0.0)


@subroutine
def squared_distances_into(w, categorical, optional, XT, n, x, r2):
    """Write r2 between ``x`` and the first ``n`` columns of ``XT`` to ``r2[:n]``."""
    gaps = np.empty(n if optional.any() else 0)
    for i in range(n):
        r2[i] = 0.0
    for j in range(min(w.shape[0], x.shape[0])):  # points may be lifted; those of a `Success` have a coordinate more
        row, xj, wj = XT[j], x[j], w[j]
        if optional[j]:
            optional_gaps_into(categorical[j], row, n, xj, gaps)
            for i in range(n):
                r2[i] += wj * gaps[i]
        elif categorical[j]:
            for i in range(n):
                r2[i] += wj if row[i] != xj else 0.0
        else:
            for i in range(n):
                diff = row[i] - xj
                r2[i] += wj * (diff * diff)


@subroutine
def products_into(cov, XT, n, x, offsets, columns, r2, linear, quadratic, effects, squares):
    """Write r2, <u, v>, <u^2, v^2>, sum_j kappa_j and sum_j kappa_j^2 between ``x`` and ``n`` columns of ``XT``.

    ``offsets`` and ``columns`` are from `active_columns`. If ``squares`` is None, sum_j kappa_j^2 is not computed.

    Numerical dimensions are taken two at a time. This halves loads and stores, and needs one division for two kappa,
    as 1/s + 1/t = (s + t) / (s t).
    """
    w, c = cov.inverse_squared_lengthscales, cov.additive_weight
    for i in range(n):
        r2[i] = linear[i] = quadratic[i] = effects[i] = 0.0
        if squares is not None:
            squares[i] = 0.0
    held, branching = -1, offsets.shape[0] > 0
    gaps = np.empty(n if branching else 0)
    for j in range(w.shape[0]):
        if branching and cov.optional[j]:
            if x[j] < 0.0:
                add_inactive_gaps_into(cov.categorical[j], XT[j], n, columns, offsets[j], offsets[j + 1], w[j], r2)
            else:
                optional_products_into(cov, j, XT[j], n, x[j], gaps, r2, linear, quadratic, effects, squares)
        elif cov.categorical[j]:
            row, xj, wj = XT[j], x[j], w[j]
            for i in range(n):
                same = 1.0 if row[i] == xj else 0.0
                r2[i] += wj * (1.0 - same)
                effects[i] += same
                if squares is not None:
                    squares[i] += same
        elif held < 0:
            held = j
        else:
            row, xj, wj, center = XT[j], x[j], w[j], cov.center[j]
            other, xh, wh, middle = XT[held], x[held], w[held], cov.center[held]
            uj = (xj - center) / cov.radius / cov.radius
            uh = (xh - middle) / cov.radius / cov.radius
            for i in range(n):
                e, f = row[i] - xj, other[i] - xh
                e, f = e * e, f * f
                r2[i] += wj * e + wh * f
                p, q = uj * (row[i] - center), uh * (other[i] - middle)
                linear[i] += p + q
                quadratic[i] += p * p + q * q
                e, f = 1.0 + c * e, 1.0 + c * f
                inverse = 1.0 / (e * f)
                effect = (e + f) * inverse
                effects[i] += effect
                if squares is not None:
                    squares[i] += effect * effect - 2.0 * inverse
            held = -1
    if held >= 0:
        row, xj, wj, center = XT[held], x[held], w[held], cov.center[held]
        uj = (xj - center) / cov.radius / cov.radius
        for i in range(n):
            e, p = (row[i] - xj) ** 2, uj * (row[i] - center)
            r2[i] += wj * e
            linear[i] += p
            quadratic[i] += p * p
            effect = 1.0 / (1.0 + c * e)
            effects[i] += effect
            if squares is not None:
                squares[i] += effect * effect


@subroutine
def add_products_into(cov, d, n, linear, quadratic, effects, out):
    """Add the trend and the additive part to ``out[:n]``, from the output of `products_into`."""
    a1, a2, a3, b = cov.linear_variance, cov.quadratic_variance, cov.interaction_variance, cov.additive_variance / d
    for i in range(n):
        out[i] += (a1 + a3 * linear[i]) * linear[i] + a2 * quadratic[i] + b * effects[i]


@subroutine
def covariances_into(cov, XT, n, x, offsets, columns, out):
    """Write k(x, X_i) for the first ``n`` columns of ``XT`` to ``out[:n]``; for the others see `products_into`."""
    slope = np.empty(n)
    if is_stationary_alone(cov):
        squared_distances_into(cov.inverse_squared_lengthscales, cov.categorical, cov.optional, XT, n, x, out)
        correlations_into(cov.family, n, out, slope)
        for i in range(n):
            out[i] *= cov.signal_variance
    else:
        linear, quadratic, effects = np.empty(n), np.empty(n), np.empty(n)
        products_into(cov, XT, n, x, offsets, columns, out, linear, quadratic, effects, None)
        correlations_into(cov.family, n, out, slope)
        for i in range(n):
            out[i] *= cov.signal_variance
        add_products_into(cov, cov.categorical.shape[0], n, linear, quadratic, effects, out)
    add_basis_into(cov, XT, n, x, out)


@subroutine
def add_basis_into(cov, XT, n, x, out):
    """Add the term of the features between ``x`` and ``n`` columns of ``XT``, if they are lifted, to ``out[:n]``."""
    if cov.basis_variance > 0.0:
        for j in range(cov.categorical.shape[0], x.shape[0]):
            row, xj = XT[j], cov.basis_variance * x[j]
            for i in range(n):
                out[i] += row[i] * xj


@jit
def covariance_into(cov, XT, n, x, out):
    """Write k(x, X_i) for the first ``n`` columns of ``XT`` to ``out[:n]``."""
    offsets, columns = active_columns(XT, cov.optional)
    covariances_into(cov, XT, n, x, offsets, columns, out)


@jit
def prior_variance(cov, x):
    """k(x, x); it depends on x if there is a trend, or an additive part and inactive dimensions."""
    value, d = cov.signal_variance + cov.additive_variance, cov.categorical.shape[0]
    if not is_stationary_alone(cov):
        linear = 0.0
        for j in range(d):
            if cov.optional[j] and x[j] < 0.0:
                value -= cov.additive_variance / d
            elif not cov.categorical[j]:
                u2 = ((x[j] - cov.center[j]) / cov.radius) ** 2
                linear += u2
                value += cov.quadratic_variance * (u2 * u2)
        value += (cov.linear_variance + cov.interaction_variance * linear) * linear
    if cov.basis_variance > 0.0:
        for j in range(d, x.shape[0]):
            value += cov.basis_variance * (x[j] * x[j])
    return value


@jit
def prior_variances(cov, X):
    """k(x, x) at every row of ``X (n, d)``, as an array (n,)."""
    out = np.empty(X.shape[0])
    for i in range(X.shape[0]):
        out[i] = prior_variance(cov, X[i])
    return out


@subroutine
def prior_variance_gradient_into(cov, x, out):
    """d k(x, x) / dx, without the term of the features; zero in categorical dimensions."""
    linear = 0.0
    for j in range(out.shape[0]):
        if not (cov.categorical[j] or (cov.optional[j] and x[j] < 0.0)):
            linear += ((x[j] - cov.center[j]) / cov.radius) ** 2
    common = 2.0 * cov.linear_variance + 4.0 * cov.interaction_variance * linear
    for j in range(out.shape[0]):
        out[j] = 0.0
        if not (cov.categorical[j] or (cov.optional[j] and x[j] < 0.0)):
            u = (x[j] - cov.center[j]) / cov.radius
            out[j] = (common * u + 4.0 * cov.quadratic_variance * (u * u * u)) / cov.radius


@jit
def cross_covariance(cov, XT, ZT):
    """k(Z_c, X_i) as an array (c, n), one row per point of ``Z``."""
    d, n = XT.shape
    out = np.empty((ZT.shape[1], n))
    x = np.empty(d)
    offsets, columns = active_columns(XT, cov.optional)
    for c in range(ZT.shape[1]):
        copy_column_into(ZT, c, x)
        covariances_into(cov, XT, n, x, offsets, columns, out[c])
    return out


@jit
def gram_into(cov, XT, n, noise, out):
    """Write K_ij = k(X_i, X_j) + noise_i [i = j] of the first ``n`` columns of ``XT`` to ``out[:n, :n]``, symmetric."""
    x = np.empty(XT.shape[0])
    offsets, columns = active_columns(XT, cov.optional)
    for i in range(n):
        copy_column_into(XT, i, x)
        covariances_into(cov, XT, i, x, offsets, columns, out[i])
        out[i, i] = prior_variance(cov, x) + noise[i]
        for k in range(i):
            out[k, i] = out[i, k]


@subroutine
def squared_gap(cov, j, a, b):
    """The term of coordinate j in r2, if it is ``a`` at one point and ``b`` at the other."""
    w = cov.inverse_squared_lengthscales[j]
    if cov.optional[j]:
        return w * optional_gap(cov.categorical[j], a, b)
    if cov.categorical[j]:
        return w if a != b else 0.0
    return w * (a - b) ** 2


@jit
def squared_distances(cov, X, x, limit):
    """r2 between ``x (d,)`` and every row of ``X (n, d)``, as an array (n,); infinite where it exceeds ``limit``."""
    out = np.empty(X.shape[0])
    w = cov.inverse_squared_lengthscales
    plain, first = not (cov.optional.any() or cov.categorical.any()), min(FIRST, x.shape[0])
    for i in range(X.shape[0]):
        total = 0.0
        if plain:  # separate loops are faster
            for j in range(first):
                total += w[j] * (X[i, j] - x[j]) ** 2
            if total <= limit:  # checked once: a check at each coordinate costs more than it saves
                for j in range(first, x.shape[0]):
                    total += w[j] * (X[i, j] - x[j]) ** 2
        else:
            for j in range(x.shape[0]):
                total += squared_gap(cov, j, X[i, j], x[j])
        out[i] = math.inf if total > limit else total
    return out


@jit
def nearest_before(cov, X):
    """For each row of ``X (n, d)`` the nearest different point among the rows before it, and its r2: (n,) and (n,).

    If there is none, r2 is infinite.
    """
    rows, r2 = np.zeros(X.shape[0], dtype=np.int64), np.full(X.shape[0], math.inf)
    for i in range(X.shape[0]):
        for k in range(i):
            total, same = 0.0, True
            for j in range(X.shape[1]):
                same = same and X[i, j] == X[k, j]
                total += squared_gap(cov, j, X[k, j], X[i, j])
                if total >= r2[i]:
                    break
            if total < r2[i] and not same:
                rows[i], r2[i] = k, total
    return rows, r2
