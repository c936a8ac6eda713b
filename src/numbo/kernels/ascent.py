"""Bounded ascent on a utility from many starts: projected L-BFGS.

Limited-memory BFGS directions (Nocedal & Wright 2006, algorithm 7.4) restricted to the coordinates not held at a
bound, with a projected backtracking line search (Bertsekas 1982). Equal bounds keep a coordinate (categorical or
discrete) fixed.
"""

from __future__ import annotations

import numpy as np

from numbo.compiling.jit import jit, subroutine
from numbo.kernels.acquisition import (
    LOG_EI,
    acquisition_gradient_into,
    moments_gradient_into,
    moments_into,
    weighted_gradient_into,
)
from numbo.kernels.basis import lift
from numbo.kernels.front import improvement_gradient_into
from numbo.kernels.optional import active_columns
from numbo.kernels.tables import add_table_gradient

MEMORY = 6
BACKTRACKS = 12
SUFFICIENT_INCREASE = 1e-4


@jit
def direction_into(S, Y, rho, stored, gradient, free, out):
    """Two-loop recursion on the free coordinates; the steepest ascent direction when nothing is stored.

    ``S``, ``Y (memory, d)`` and ``rho (memory,)`` hold the newest of the ``stored`` steps, changes of the gradient, and
    reciprocals of their products: number ``t`` in row ``t % memory``.
    """
    d, memory = gradient.shape[0], S.shape[0]
    coefficient = np.empty(memory)
    for j in range(d):
        out[j] = gradient[j] if free[j] else 0.0
    first = max(0, stored - memory)
    for t in range(stored - 1, first - 1, -1):
        m = t % memory
        total = 0.0
        for j in range(d):
            total += S[m, j] * out[j]
        coefficient[m] = rho[m] * total
        for j in range(d):
            out[j] -= coefficient[m] * Y[m, j]
    if stored > 0:
        m = (stored - 1) % memory
        yy = 0.0
        for j in range(d):
            yy += Y[m, j] * Y[m, j]
        for j in range(d):
            out[j] /= rho[m] * yy
    for t in range(first, stored):
        m = t % memory
        total = 0.0
        for j in range(d):
            total += Y[m, j] * out[j]
        for j in range(d):
            out[j] += (coefficient[m] - rho[m] * total) * S[m, j]
    for j in range(d):
        if not free[j]:
            out[j] = 0.0


@subroutine
def utility_gradient_into(terms, front, prior, layouts, x, gradient, other):
    """The utility at ``x (d,)``; its gradient is written to ``gradient (d,)``.

    ``other (d,)`` is overwritten. ``layouts`` are from `active_columns`, for the points of each term.
    """
    if front is None:
        value, first = acquisition_gradient_into(terms[0].posterior, terms[0].acquisition, *layouts[0], x, gradient), 1
    else:
        value, first = front_gradient_into(terms, front, layouts, x, gradient, other), front.bounds.shape[0]
    for t in range(first, len(terms)):
        value += acquisition_gradient_into(terms[t].posterior, terms[t].acquisition, *layouts[t], x, other)
        for j in range(x.shape[0]):
            gradient[j] += other[j]
    if prior is not None:
        value += add_table_gradient(prior, x, gradient)
    return value


@subroutine
def front_gradient_into(terms, front, layouts, x, gradient, other):
    """As `utility_gradient_into`, for the terms that are objectives of a ``front`` only."""
    k, most = front.bounds.shape[0], 0
    for j in range(k):
        most = max(most, terms[j].posterior.n)
    slope, q, products = np.empty((k, most)), np.empty((k, most)), np.empty((k, most))
    mu, sd, d_mu, d_sd = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    lifted = [lift(terms[j].posterior.basis, x) for j in range(k)]
    for j in range(k):
        n = terms[j].posterior.n
        z, _ = lifted[j]
        mu[j], sd[j] = moments_into(terms[j].posterior, *layouts[j], z, slope[j, :n], q[j, :n], products[j, :n])
    value = improvement_gradient_into(front, mu, sd, d_mu, d_sd)
    for i in range(x.shape[0]):
        gradient[i] = 0.0
    for j in range(k):
        posterior, n = terms[j].posterior, terms[j].posterior.n
        z, slopes = lifted[j]
        moments_gradient_into(
            posterior, z, slopes, sd[j], d_mu[j], d_sd[j], slope[j, :n], q[j, :n], products[j, :n], other
        )
        for i in range(x.shape[0]):
            gradient[i] += other[i]
    success = terms[0].acquisition.success
    if success.alpha.shape[0] == 0:
        return value
    return weighted_gradient_into(LOG_EI, 0.0, success, x, value, gradient)


@jit
def ascend(terms, front, starts, lower, upper, iterations, tolerance, prior=None):
    """Maximise the utility from every row of ``starts (s, d)``, each within its row of ``lower``, ``upper (s, d)``.

    The utility is the sum of the ``terms``, a tuple of `Term`; the kernel is compiled for each length of the tuple. If
    ``front`` is not None, the first terms are its objectives; their expected improvement of the front is one summand.
    A ``prior (d, g)``, if it is not None, is a sum of functions of one coordinate each (`numbo.kernels.tables`).

    Returns the points (s, d) and their values (s,), which are never below those of the starts.
    """
    count, d = starts.shape
    layouts = [active_columns(term.posterior.XT, term.posterior.covariance.optional) for term in terms]
    X, values = np.empty((count, d)), np.empty(count)
    gradient, new_gradient, direction, trial, other = np.empty(d), np.empty(d), np.empty(d), np.empty(d), np.empty(d)
    free = np.empty(d, dtype=np.bool_)
    S, Y, rho = np.empty((MEMORY, d)), np.empty((MEMORY, d)), np.empty(MEMORY)
    for r in range(count):
        x, low, high = X[r], lower[r], upper[r]
        for j in range(d):
            x[j] = starts[r, j]
        value = utility_gradient_into(terms, front, prior, layouts, x, gradient, other)
        stored = np.int64(0)
        for _ in range(iterations):
            movable = False
            for j in range(d):
                held = (x[j] <= low[j] and gradient[j] <= 0.0) or (x[j] >= high[j] and gradient[j] >= 0.0)
                free[j] = not held
                movable = movable or (free[j] and gradient[j] != 0.0)
            if not movable:
                break
            direction_into(S, Y, rho, stored, gradient, free, direction)
            step = 1.0
            if stored == 0:  # the first step moves no coordinate by more than a tenth of its range
                for j in range(d):
                    if free[j] and abs(direction[j]) * step > 0.1 * (high[j] - low[j]):
                        step = 0.1 * (high[j] - low[j]) / abs(direction[j])
            improved, new_value = False, value
            for _ in range(BACKTRACKS):
                gain = 0.0
                for j in range(d):
                    trial[j] = min(max(x[j] + step * direction[j], low[j]), high[j])
                    gain += gradient[j] * (trial[j] - x[j])
                new_value = utility_gradient_into(terms, front, prior, layouts, trial, new_gradient, other)
                improved = new_value > value and new_value >= value + SUFFICIENT_INCREASE * gain
                if improved:
                    break
                step *= 0.4
            if not improved:
                if stored == 0:
                    break
                stored = np.int64(0)
                continue
            m = stored % MEMORY
            sy = yy = 0.0
            for j in range(d):
                S[m, j] = trial[j] - x[j]
                Y[m, j] = gradient[j] - new_gradient[j]
                sy += S[m, j] * Y[m, j]
                yy += Y[m, j] * Y[m, j]
            if sy > 1e-12 * yy:
                rho[m] = 1.0 / sy
                stored += 1
            increase, value = new_value - value, new_value
            for j in range(d):
                x[j], gradient[j] = trial[j], new_gradient[j]
            if increase <= tolerance * (1.0 + abs(value)):
                break
        values[r] = value
    return X, values
