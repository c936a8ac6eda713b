"""Minimisation of a smooth function in a box: projected L-BFGS, the same to the last digit whatever BLAS there is.

The directions are those of `numbo.kernels.ascent`, and all sums are in an order that does not depend on the processor.
SciPy's L-BFGS-B calls a BLAS, which adds up in another order on another processor. Searches are as good as with it:
``benchmarks/results/compare-own-arithmetic.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from numbo._types import Array
from numbo.kernels.ascent import direction_into

#: Number of steps that are remembered: all of most fits. Of 791 fits, the log posterior is better than SciPy's by 0.1
#: in 44 and worse in 31, with ten steps in 33 and 40.
MEMORY = 20
SUFFICIENT_DECREASE = 1e-4
#: Number of steps tried along a direction. Each is between these shares of the one before, as a parabola says.
BACKTRACKS = 20
SHORTEST = 0.1
LONGEST = 0.5


class Minimum(NamedTuple):
    """A point (d,), and the value there."""

    x: Array
    value: float


def minimize(
    function: Callable[[Array], tuple[float, Array]],
    start: Array,
    bounds: Array,
    *,
    iterations: int,
    tolerance: float,
    flat: float,
) -> Minimum:
    """A local minimum within the ``bounds (d, 2)``.

    Args:
        function: finite value and gradient (d,) at a point.
        start: (d,) where the search starts, moved into the bounds.
        bounds: the lower and the upper one of each coordinate.
        iterations: maximum number of steps.
        tolerance: a step that decreases the value by at most this share of it, or of 1 if that is larger, is the last.
        flat: the search ends where no component of the gradient that leads into the box is larger.
    """
    low, high = bounds.T
    x = np.clip(start, low, high)
    value, gradient = function(x)
    steps = np.empty((MEMORY, len(x)))
    changes = np.empty((MEMORY, len(x)))
    rho = np.empty(MEMORY)
    stored = 0
    direction = np.empty_like(x)
    for _ in range(iterations):
        if np.max(np.abs(np.clip(x - gradient, low, high) - x)) <= flat:
            break
        free = ~(((x <= low) & (gradient >= 0.0)) | ((x >= high) & (gradient <= 0.0)))
        direction_into(steps, changes, rho, stored, -gradient, free, direction)
        # The first step is far: from a small noise, short steps do not get to a large one. In 60 first fits of noisy
        # data the log posterior was worse than SciPy's by 0.1 in the median, and by 0.9 with a first step of length 1.
        if stored == 0:
            np.clip(x - gradient, low, high, out=direction)
            direction -= x
        step = 1.0
        for _ in range(BACKTRACKS):
            trial = np.clip(x + step * direction, low, high)
            slope = _product(gradient, trial - x)
            found, new_gradient = function(trial)
            if found <= value + SUFFICIENT_DECREASE * slope:
                break
            step *= min(max(-0.5 * slope / (found - value - slope), SHORTEST), LONGEST)
        else:
            if stored == 0:
                break
            stored = 0
            continue
        moved = trial - x
        change = np.where(moved != 0.0, new_gradient - gradient, 0.0)  # what stays at a bound has no part in curvature
        curvature = _product(moved, change)
        if curvature > np.finfo(float).eps * _product(change, change):
            m = stored % MEMORY
            steps[m], changes[m], rho[m] = moved, change, 1.0 / curvature
            stored += 1
        decrease = value - found
        x, value, gradient = trial, found, new_gradient
        if decrease <= tolerance * max(abs(value + decrease), abs(value), 1.0):
            break
    return Minimum(x, value)


def _product(a: Array, b: Array) -> float:
    return float(np.add.reduce(a * b))
