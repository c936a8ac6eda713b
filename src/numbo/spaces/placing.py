"""Where points of other spaces lie in the coordinates of a space."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from numbo import _checks
from numbo._types import Array
from numbo.spaces import Domain
from numbo.spaces.dimensions import Categorical, Dimension, Float, Int

#: Values outside of a range lie at most so many times its width from it. With 1, values over ten times the range lay in
#: two heaps, and studies with them were of no use (`benchmarks/results/compare-earlier.md`).
OUTSIDE = 64.0
#: The coordinate of a category that a dimension does not have: different from all of its own.
OTHER = 2.0


def placed(domain: Domain, points: Iterable[Any]) -> Array:
    """The coordinates (n, d) of ``points`` of any space, NaN where a point has no value that a dimension understands.

    Points of arms are rows, or features in the units of the arms; those of tables are rows, or values of columns.
    """
    rows = [_placed(domain, point) for point in points]
    return np.array(rows).reshape(len(rows), domain.d)


def _placed(domain: Domain, point: Any) -> Array:
    space: Any = domain
    if domain.explicit:
        with suppress(ValueError):
            return np.clip(space.place(point), -OUTSIDE, 1.0 + OUTSIDE)
        return np.full(domain.d, np.nan)
    if not isinstance(point, Mapping):
        return np.full(domain.d, np.nan)
    return np.array([coordinate(space[name], point[name]) if name in point else math.nan for name in space.names])


def coordinate(dimension: Dimension, value: Any) -> float:
    """The coordinate of a ``value`` that may lie outside of the ``dimension``; NaN if that has no meaning."""
    if isinstance(dimension, Categorical):
        return dimension.to_unit(value) if dimension.contains(value) else OTHER
    if not _checks.is_finite(value) or (dimension.log and value <= 0):
        return math.nan
    if dimension.contains(value):
        return dimension.to_unit(value)
    low, high = _edges(dimension)
    if not high > low:
        return math.nan
    u = ((math.log(value) if dimension.log else float(value)) - low) / (high - low)
    return min(max(u, -OUTSIDE), 1.0 + OUTSIDE)


def _edges(dimension: Float | Int) -> tuple[float, float]:
    """The values at the coordinates 0 and 1, on the scale of the ``dimension``."""
    if isinstance(dimension, Int) and dimension.log_bounds is not None:
        return dimension.log_bounds
    if dimension.log:
        return math.log(dimension.low), math.log(dimension.high)
    half = 0.5 * float(dimension.step) if dimension.step is not None and math.isfinite(dimension.size) else 0.0
    return float(dimension.low) - half, float(dimension.high) + half
