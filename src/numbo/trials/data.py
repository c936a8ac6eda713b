"""Observations as models take them: points, finite values, and the known variance of each value."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from numbo._types import Array


class Data(NamedTuple):
    """Observations of a function.

    Attributes:
        X: points (n, d) in the unit cube.
        y: values (n,), finite, larger ones being better.
        variance: (n,) of each value, in addition to the common noise; 0 if unknown.
    """

    X: Array
    y: Array
    variance: Array

    @classmethod
    def of(cls, X: Array, y: Array) -> Data:
        """Observations without known variances."""
        return cls(X, y, np.zeros(len(y)))

    @classmethod
    def unknown(cls, X: Array) -> Data:
        """Points without values."""
        return cls(X, np.full(len(X), np.nan), np.full(len(X), np.nan))

    @property
    def n(self) -> int:
        return len(self.y)

    def at(self, rows: Any) -> Data:
        """Some of them."""
        return Data(self.X[rows], self.y[rows], self.variance[rows])


def finite_range(y: Array) -> Array:
    """``y (n,)`` with non-finite values replaced: inf by the best finite value, -inf and NaN by the worst.

    Larger is better here. If no value is finite, all become 0.
    """
    finite = np.isfinite(y)
    if finite.all():
        return y
    if not finite.any():
        return np.zeros_like(y)
    low = y[finite].min()
    high = y[finite].max()
    return np.clip(np.nan_to_num(y, nan=low, posinf=high, neginf=low), low, high)
