"""Which parameters were varied, and how little is known where they were not.

The lengthscale of a parameter is learned from values at points that differ in it. If there are none, a model has that
of the prior, but a signal variance that the other parameters have determined: it is nearly certain everywhere. What is
known there is only the prior: a change from the value that was tried may change the objective as much as everything
else has, over a distance like the size of the space. So at the distance ``r`` from the values tried, the standard
deviation is at least that of all values told, times the square root of

    1 - rho(r)^2        rho: Matern-5/2 with lengthscale 1, as at the start of a fit (`numbo.models.priors`)

Two different categories have the distance 1. If ``k`` of them were tried, and the model takes them for alike, another
one is most likely alike, too: its part is divided by ``k``.
"""

from __future__ import annotations

import math

import numpy as np

from numbo._types import Array, Mask
from numbo.kernels.optional import APART_SQUARED
from numbo.spaces import INACTIVE, Domain, named_space
from numbo.trials.points import identities


class Variation:
    """The values of each coordinate that were tried.

    Args:
        X: the observations (n, d).
        space: their space.

    Attributes:
        unvaried: (d,) which coordinates have other values than those tried, and were never active with two of them.
    """

    def __init__(self, X: Array, space: Domain) -> None:
        self._categorical = space.categorical
        self._tried = [np.unique(column) for column in X.T]
        self._counts = np.array([np.sum(tried != INACTIVE) for tried in self._tried])
        named = named_space(space)
        several = (space.grid() != space.grid()[0]).any(axis=0) if named is None else named.sizes != 1
        self.unvaried: Mask = (self._counts <= 1) & several

    def held(self, X: Array) -> Array:
        """The points ``X (c, d)`` with all active coordinates that were not varied at the values tried."""
        if not self.unvaried.any():
            return X
        out = X.copy()
        for j in np.flatnonzero(self.unvaried).tolist():
            active = self._tried[j][self._tried[j] != INACTIVE]
            out[X[:, j] != INACTIVE, j] = active[0] if len(active) else 0.5
        return out

    def unknown(self, X: Array) -> Array:
        """The share (c,) of the prior variance at ``X (c, d)`` that is due to values that were not tried."""
        known = np.ones(len(X))
        for j in np.flatnonzero(self.unvaried | self._categorical).tolist():
            gaps = (_unequal if self._categorical[j] else _squared_gaps)(X[:, j], self._tried[j])
            if gaps.any():
                r = math.sqrt(5.0) * np.sqrt(gaps)
                correlations = (1.0 + r + r * r / 3.0) * np.exp(-r)
                known *= 1.0 - (1.0 - correlations**2) / max(self._counts[j], 1)
        return 1.0 - known


def _unequal(column: Array, tried: Array) -> Array:
    """1.0 for each of the categories (c,) that is active and not among those ``tried``, 0.0 for others."""
    known = np.isin(identities(column), identities(tried))
    return np.where(known | (column == INACTIVE), 0.0, 1.0)


def _squared_gaps(column: Array, tried: Array) -> Array:
    """The least squared distance (c,) of numerical coordinates from those ``tried``, as in `numbo.kernels.optional`."""
    inactive = column[:, None] == INACTIVE, tried == INACTIVE
    apart = APART_SQUARED * (inactive[0] != inactive[1])
    distances = np.where(inactive[0], 0.5, column[:, None]) - np.where(inactive[1], 0.5, tried)
    least: Array = np.min(distances**2 + apart, axis=1)
    return least
