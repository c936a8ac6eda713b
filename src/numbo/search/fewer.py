"""Suggestions that differ from a default only where it pays (Daulton et al. 2026, "BONSAI").

One coordinate after the other is set back to its default, that first which costs least, as long as little is lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from numbo._types import Array, Mask
from numbo.search.maximize import Box
from numbo.search.utility import Utility
from numbo.spaces import INACTIVE, Domain

#: The share of the expected improvement that each of them may lose: ``benchmarks/results/known.md``.
LOSS = 0.4


def fewer_changes(
    utility: Utility,
    box: Box,
    x: Array,
    taken: Callable[[Array], bool],
    fit: Callable[[Array], Mask] | None = None,
) -> Array:
    """``x (d,)`` with as many coordinates at their defaults as cost little, in the box and where it is not ``taken``.

    The ``utility`` is a logarithm of an improvement: a bound does not say what a coordinate is worth. Coordinates that
    are fixed stay, and so does what would not be allowed, or would not ``fit`` into a budget.
    """
    space = box.space
    assert space.default is not None
    default = np.where(np.isnan(space.default), x, space.default)
    dormant = np.where(default == INACTIVE, 0.5, default)[None]
    held = np.zeros(len(x), dtype=bool) if box.available.held is None else box.available.held
    at_x = float(utility.values(x[None])[0])
    while True:
        least = at_x + math.log1p(-LOSS)
        back = np.flatnonzero((x != default) & (x != INACTIVE) & ~held)
        X = np.tile(x, (len(back), 1))
        X[np.arange(len(back)), back] = default[back]
        X = space.snap(X, dormant)
        X = X[box.corners.hold(X)]
        X = X if fit is None else X[fit(X)]
        values = utility.values(X)
        X, values = X[values >= least], values[values >= least]
        found = next((i for i in utility.uncrowded(X, values) if not taken(X[i])), None)
        if found is None:
            return x
        x, at_x = X[found], float(values[found])


def changed(space: Domain, x: Array) -> tuple[str, ...]:
    """The names of the parameters in which ``x (d,)`` differs from the default."""
    assert space.default is not None
    differ = (x != space.default) & (x != INACTIVE) & ~np.isnan(space.default)
    return tuple(name for name, one in zip(space.names, differ.tolist(), strict=True) if one)
