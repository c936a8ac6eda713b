"""Ascent on a utility within known constraints: spectral projected gradients (Birgin, Martinez & Raydan 2000)."""

from __future__ import annotations

import numpy as np

from numbo.compiling.jit import jit
from numbo.kernels.ascent import SUFFICIENT_INCREASE, utility_gradient_into
from numbo.kernels.optional import active_columns
from numbo.kernels.polytope import pull_back, settle

#: How often a step is shortened, and by which factor; the first one moves a coordinate by this share of its range.
BACKTRACKS = 10
SHORTER = 0.4
FIRST_STEP = 0.1
#: Bounds of the spectral step.
SHORTEST = 1e-10
LONGEST = 1e10


@jit
def ascend_within(terms, front, p, starts, lower, upper, iterations, tolerance, prior=None):
    """As `numbo.kernels.ascent.ascend`, within the `Polytope` ``p``, in which the ``starts (s, d)`` lie.

    Equal bounds keep a coordinate fixed. Discrete ones are not rounded.
    """
    count, d = starts.shape
    layouts = [active_columns(term.posterior.XT, term.posterior.covariance.optional) for term in terms]
    X, values = starts.copy(), np.empty(count)
    gradient, new_gradient, trial, other = np.empty(d), np.empty(d), np.empty(d), np.empty(d)
    held = np.empty(d, dtype=np.bool_)
    for r in range(count):
        x, low, high = X[r], lower[r], upper[r]
        value = utility_gradient_into(terms, front, prior, layouts, x, gradient, other)
        largest = 0.0
        for j in range(d):
            held[j] = low[j] == high[j]
            if not held[j]:
                largest = max(largest, abs(gradient[j]))
        step = FIRST_STEP / largest if largest > 0.0 else 0.0
        for _ in range(iterations):
            improved, new_value, length = False, value, step
            for _ in range(BACKTRACKS):
                for j in range(d):
                    trial[j] = x[j] if held[j] else min(max(x[j] + length * gradient[j], low[j]), high[j])
                if not settle(p, trial, held, low, high):
                    pull_back(p, trial, x)
                gain = 0.0
                for j in range(d):
                    gain += gradient[j] * (trial[j] - x[j])
                new_value = utility_gradient_into(terms, front, prior, layouts, trial, new_gradient, other)
                improved = new_value > value and new_value >= value + SUFFICIENT_INCREASE * gain
                if improved:
                    break
                length *= SHORTER
            if not improved:
                break
            ss = sy = 0.0
            for j in range(d):
                change = trial[j] - x[j]
                ss += change * change
                sy += change * (gradient[j] - new_gradient[j])
            step = min(max(ss / sy, SHORTEST), LONGEST) if sy > 0.0 else 4.0 * length
            increase, value = new_value - value, new_value
            for j in range(d):
                x[j], gradient[j] = trial[j], new_gradient[j]
            if increase <= tolerance * (1.0 + abs(value)):
                break
        values[r] = value
    return X, values
