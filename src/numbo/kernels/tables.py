"""Sums of functions of one coordinate each, by their values at even places and lines in between."""

from __future__ import annotations

import numpy as np

from numbo.compiling.jit import jit, subroutine


@subroutine
def add_table_gradient(tables, x, gradient):
    """The sum of the functions with values ``tables (d, g)`` at ``x (d,)``; adds its gradient to ``gradient (d,)``.

    An inactive coordinate, below 0, has no part in it.
    """
    last, total = tables.shape[1] - 1, 0.0
    for j in range(x.shape[0]):
        if x[j] >= 0.0:
            cell = min(int(x[j] * last), last - 1)
            rise = tables[j, cell + 1] - tables[j, cell]
            total += tables[j, cell] + (x[j] * last - cell) * rise
            gradient[j] += last * rise
    return total


@jit
def table_sums(tables, X):
    """The sums (c,) of the functions with values ``tables (d, g)`` at ``X (c, d)``."""
    count, d = X.shape
    out, gradient = np.empty(count), np.zeros(d)
    for i in range(count):
        out[i] = add_table_gradient(tables, X[i], gradient)
    return out
