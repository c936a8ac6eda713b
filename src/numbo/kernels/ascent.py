"""Bounded ascent on a sum of acquisition functions from many starts: projected L-BFGS.

Limited-memory BFGS directions (Nocedal & Wright 2006, algorithm 7.4) restricted to the coordinates not held at a
bound, with a projected backtracking line search (Bertsekas 1982). Equal bounds keep a coordinate (categorical or
discrete) fixed.
"""

from __future__ import annotations

import numpy as np

from numbo.kernels._jit import jit, subroutine
from numbo.kernels.acquisition import acquisition_gradient_into
from numbo.kernels.optional import active_columns

MEMORY = 6
BACKTRACKS = 12
SUFFICIENT_INCREASE = 1e-4


@subroutine
def direction_into(S, Y, rho, stored, gradient, free, out):
    """Two-loop recursion on the free coordinates; the steepest ascent direction when nothing is stored."""
    d = gradient.shape[0]
    coefficient = np.empty(MEMORY)
    for j in range(d):
        out[j] = gradient[j] if free[j] else 0.0
    first = max(0, stored - MEMORY)
    for t in range(stored - 1, first - 1, -1):
        m = t % MEMORY
        total = 0.0
        for j in range(d):
            total += S[m, j] * out[j]
        coefficient[m] = rho[m] * total
        for j in range(d):
            out[j] -= coefficient[m] * Y[m, j]
    if stored > 0:
        m = (stored - 1) % MEMORY
        yy = 0.0
        for j in range(d):
            yy += Y[m, j] * Y[m, j]
        for j in range(d):
            out[j] /= rho[m] * yy
    for t in range(first, stored):
        m = t % MEMORY
        total = 0.0
        for j in range(d):
            total += Y[m, j] * out[j]
        for j in range(d):
            out[j] += (coefficient[m] - rho[m] * total) * S[m, j]
    for j in range(d):
        if not free[j]:
            out[j] = 0.0


@subroutine
def utility_gradient_into(terms, layouts, x, gradient, other):
    """The sum of the ``terms`` at ``x (d,)``; its gradient is written to ``gradient (d,)``.

    ``other (d,)`` is overwritten. ``layouts`` are those of `active_columns`, of the points of each term.
    """
    value = acquisition_gradient_into(terms[0].posterior, terms[0].acquisition, *layouts[0], x, gradient)
    for t in range(1, len(terms)):
        value += acquisition_gradient_into(terms[t].posterior, terms[t].acquisition, *layouts[t], x, other)
        for j in range(x.shape[0]):
            gradient[j] += other[j]
    return value


@jit
def ascend(terms, starts, lower, upper, iterations, tolerance):
    """Climb from every row of ``starts (s, d)`` within its own row of ``lower``, ``upper (s, d)``.

    The sum of the ``terms`` is climbed, a tuple of `Term`; for each length of it this is compiled once.

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
        value = utility_gradient_into(terms, layouts, x, gradient, other)
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
                new_value = utility_gradient_into(terms, layouts, trial, new_gradient, other)
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
