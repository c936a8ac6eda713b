"""The terms of optional dimensions in covariances, where points may be inactive (see `numbo.kernels.covariance`)."""

from __future__ import annotations

import numpy as np

from numbo.compiling.jit import subroutine

#: Squared distance of an inactive coordinate from the middle of its range.
APART_SQUARED = 0.25


@subroutine
def optional_gap(categorical, a, b):
    """Squared distance between the coordinates ``a`` and ``b`` of an optional dimension, before it is weighted."""
    if categorical:
        return 0.0 if a == b else 1.0
    diff = (a if a >= 0.0 else 0.5) - (b if b >= 0.0 else 0.5)
    return diff * diff + (0.0 if (a >= 0.0) == (b >= 0.0) else APART_SQUARED)


@subroutine
def optional_gaps_into(categorical, row, n, b, gaps):
    """Write `optional_gap` between ``row[:n]`` and ``b`` to ``gaps[:n]``, in loops without branches."""
    if categorical:
        for i in range(n):
            gaps[i] = 0.0 if row[i] == b else 1.0
    elif b < 0.0:
        for i in range(n):
            diff = row[i] - 0.5
            gaps[i] = diff * diff + APART_SQUARED if row[i] >= 0.0 else 0.0
    else:
        apart = (0.5 - b) * (0.5 - b) + APART_SQUARED
        for i in range(n):
            diff = row[i] - b
            gaps[i] = diff * diff if row[i] >= 0.0 else apart


@subroutine
def active_columns(XT, optional):
    """Columns of ``XT (d, n)`` active in optional dimension j, as ``columns[offsets[j] : offsets[j + 1]]``.

    Returns:
        the pair of ``offsets (d + 1,)`` and ``columns``; both are empty if no dimension is optional.
    """
    d, n = optional.shape[0], XT.shape[1]
    if not optional.any():
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    offsets = np.zeros(d + 1, dtype=np.int64)
    for j in range(d):
        offsets[j + 1] = offsets[j]
        if optional[j]:
            for i in range(n):
                offsets[j + 1] += XT[j, i] >= 0.0
    columns = np.empty(offsets[d], dtype=np.int64)
    for j in range(d):
        if optional[j]:
            at = offsets[j]
            for i in range(n):
                if XT[j, i] >= 0.0:
                    columns[at] = i
                    at += 1
    return offsets, columns


@subroutine
def add_inactive_gaps_into(categorical, row, n, columns, start, stop, factor, out):
    """Add ``factor`` times `optional_gap` between ``columns[start:stop]`` of ``row`` and an inactive coordinate."""
    for at in range(start, stop):
        i = columns[at]
        if i >= n:
            break
        diff = row[i] - 0.5
        out[i] += factor * (1.0 if categorical else diff * diff + APART_SQUARED)


@subroutine
def optional_products_into(cov, j, row, n, xj, gaps, r2, linear, quadratic, effects, squares):
    """Add the terms of the optional dimension ``j`` to the output of `products_into`; ``row (n,)`` is XT[j].

    ``xj`` is active. ``gaps (n,)`` is overwritten.
    """
    wj, c, categorical = cov.inverse_squared_lengthscales[j], cov.additive_weight, cov.categorical[j]
    optional_gaps_into(categorical, row, n, xj, gaps)
    for i in range(n):
        r2[i] += wj * gaps[i]
    if categorical:
        for i in range(n):
            same = 1.0 if row[i] == xj else 0.0
            effects[i] += same
            if squares is not None:
                squares[i] += same
        return
    center = cov.center[j]
    uj = (xj - center) / cov.radius / cov.radius
    for i in range(n):
        active = 1.0 if row[i] >= 0.0 else 0.0
        p, effect = active * uj * (row[i] - center), active / (1.0 + c * (row[i] - xj) ** 2)
        linear[i] += p
        quadratic[i] += p * p
        effects[i] += effect
        if squares is not None:
            squares[i] += effect * effect
