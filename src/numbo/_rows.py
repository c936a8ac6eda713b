"""Rows of a matrix that are equal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from numbo._types import Indices


def distinct_rows(rows: NDArray[Any]) -> tuple[Indices, Indices]:
    """The first row of each kind in ``rows (n, d)``, and the kind (n,) of each row.

    ``numpy.unique(axis=0)`` compares structured arrays, and an interrupt meanwhile would get out as a `TypeError`.
    """
    order = np.lexsort(rows.T[::-1])
    new = np.ones(len(rows), dtype=np.bool_)
    new[1:] = (rows[order[1:]] != rows[order[:-1]]).any(axis=1)
    kind = np.empty(len(rows), dtype=np.int64)
    kind[order] = np.cumsum(new) - 1
    return order[new], kind
