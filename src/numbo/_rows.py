"""Rows of a matrix that are equal, rows of the smallest values, and arrays that grow by rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from numbo._types import Array, Indices


def distinct_rows(rows: NDArray[Any]) -> tuple[Indices, Indices]:
    """Which of the ``rows (n, d)`` are equal: the first one (m,) of each kind, and the kind (n,) of each.

    ``numpy.unique(axis=0)`` compares structured arrays, and an interrupt meanwhile would get out as a `TypeError`.
    """
    order = np.lexsort(rows.T[::-1])
    new = np.ones(len(rows), dtype=np.bool_)
    new[1:] = (rows[order[1:]] != rows[order[:-1]]).any(axis=1)
    kind = np.empty(len(rows), dtype=np.int64)
    kind[order] = np.cumsum(new) - 1
    return order[new], kind


def smallest(values: Array, count: int) -> Indices:
    """Rows of the ``count`` smallest of the ``values (n,)``, the first of equal ones; all rows if there are no more.

    ``numpy.argpartition`` would take other ones of equal values, in another order, on another processor.
    """
    rows: Indices = np.arange(len(values))
    if len(rows) <= count:
        return rows
    limit = np.partition(values, count)[count]
    return np.concatenate([rows[values < limit], rows[values == limit]])[:count]


def extended(rows: NDArray[Any], n: int, new: Any) -> NDArray[Any]:
    """``rows`` with the ``new (m, ...)`` ones after the first ``n``, in an array that is doubled if it has no room."""
    while n + len(new) > len(rows):
        rows = np.concatenate([rows, np.empty_like(rows)])
    rows[n : n + len(new)] = new
    return rows
