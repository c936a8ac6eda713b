"""Bounded ascent on an acquisition function from many starts: projected L-BFGS.

Limited-memory BFGS directions (Nocedal & Wright 2006, algorithm 7.4) restricted to the coordinates that a bound
does not hold, with a projected backtracking line search (Bertsekas 1982). Fixed coordinates (categorical and
discrete ones) are given by equal bounds.
"""

from __future__ import annotations

import numpy as np

from numbo.kernels._jit import jit
from numbo.kernels.acquisition import acquisition_gradient_into

MEMORY = 6
BACKTRACKS = 12
SUFFICIENT_INCREASE = 1e-4


@jit
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


@jit
def ascend_one(posterior, acquisition, x, lower, upper, iterations, tolerance):
    """Climb from ``x (d,)`` in place within ``[lower, upper]``; returns the value reached, never below the start's."""
    d = x.shape[0]
    gradient, new_gradient = np.empty(d), np.empty(d)
    direction, trial = np.empty(d), np.empty(d)
    free = np.empty(d, dtype=np.bool_)
    S, Y, rho, stored = np.empty((MEMORY, d)), np.empty((MEMORY, d)), np.empty(MEMORY), 0
    value = acquisition_gradient_into(posterior, acquisition, x, gradient)
    for _ in range(iterations):
        largest = 0.0
        for j in range(d):
            held = (x[j] <= lower[j] and gradient[j] <= 0.0) or (x[j] >= upper[j] and gradient[j] >= 0.0)
            free[j] = not held
            if free[j]:
                largest = max(largest, abs(gradient[j]))
        if not largest > 0.0:
            break
        direction_into(S, Y, rho, stored, gradient, free, direction)
        uphill = 0.0
        for j in range(d):
            uphill += direction[j] * gradient[j]
        if not uphill > 0.0:
            stored = 0
            direction_into(S, Y, rho, stored, gradient, free, direction)
        step = 1.0
        if stored == 0:  # the first step moves no coordinate by more than a tenth of its range
            for j in range(d):
                if free[j] and abs(direction[j]) * step > 0.1 * (upper[j] - lower[j]):
                    step = 0.1 * (upper[j] - lower[j]) / abs(direction[j])
        improved = False
        new_value = value
        for _ in range(BACKTRACKS):
            gain = 0.0
            for j in range(d):
                trial[j] = min(max(x[j] + step * direction[j], lower[j]), upper[j])
                gain += gradient[j] * (trial[j] - x[j])
            new_value = acquisition_gradient_into(posterior, acquisition, trial, new_gradient)
            if new_value >= value + SUFFICIENT_INCREASE * gain and new_value > value:
                improved = True
                break
            step *= 0.4
        if not improved:
            if stored == 0:
                break
            stored = 0
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
        increase = new_value - value
        value = new_value
        for j in range(d):
            x[j] = trial[j]
            gradient[j] = new_gradient[j]
        if increase <= tolerance * (1.0 + abs(value)):
            break
    return value


@jit
def ascend(posterior, acquisition, starts, lower, upper, iterations, tolerance):
    """Climb from every row of ``starts (s, d)`` within its own row of ``lower``, ``upper (s, d)``.

    Returns the points (s, d) and their values (s,).
    """
    X = starts.copy()
    values = np.empty(X.shape[0])
    for r in range(X.shape[0]):
        values[r] = ascend_one(posterior, acquisition, X[r], lower[r], upper[r], iterations, tolerance)
    return X, values
