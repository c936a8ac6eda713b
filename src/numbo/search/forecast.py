"""Whether a quadratic foresees how new observations rank.

The value of each observation, by whomever it was proposed, is predicted before it is taken in. While predictions rank
the newest observations as their values do, a search that follows a quadratic is the right one; and no suggestion is
spent on finding that out.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from numbo._plain import Kept
from numbo._types import Array
from numbo.models.quadratic import GATE, LARGEST, MOST, Quadratic, coefficients_of, rank_correlation
from numbo.spaces import Space

#: So many of the newest predictions are looked at.
LOOKED_AT = 30
#: The model is fitted anew when this share of its points is new. Fits at a twentieth, as in the population search, gave
#: the same taus in those runs.
GROWTH = 0.25


class Forecast(Kept):
    """Predictions of a full quadratic in ``d`` dimensions, of one observation after the other."""

    _kept = ("_model", "_pairs")

    def __init__(self, d: int) -> None:
        self._model = Quadratic(d, growth=GROWTH)
        #: Predictions and values.
        self._pairs = deque[tuple[float, float]](maxlen=LOOKED_AT)

    def learn(self, x: Array, y: float) -> None:
        """Take in a point ``x (d,)`` with value ``y``; failures are left out."""
        if not math.isfinite(y):
            return
        y = min(max(y, -LARGEST), LARGEST)
        if self._model.fitted:
            self._pairs.append((float(self._model.values(x[None])[0]), y))
        self._model.add(x, y)
        if self._model.full:
            self._model.refresh()

    @property
    def holds(self) -> bool:
        """Whether the newest predictions rank observations as their values do."""
        if len(self._pairs) < LOOKED_AT:
            return False
        predicted, values = np.array(self._pairs).T
        return rank_correlation(predicted, values) >= GATE


def foreseeable(space: Space) -> bool:
    """Whether all coordinates are numbers that are always active, and few enough for a full quadratic."""
    mixed = bool(np.any(space.categorical | space.conditional))
    return not mixed and coefficients_of(space.d) <= MOST
