"""What a suggestion maximises: a sum of acquisition functions, each of a posterior of its own.

There is one term for the objective. Others may say how likely a constraint holds, or how good another objective may
be. Terms are evaluated one after the other, and climbed together in compiled code.

Points that are evaluated at the same time must be spread out. How far is a matter of information: a point is *crowded*
where the pending points leave less than a share `CROWDED` of the variance that the model has without them. A copy of a
pending point keeps the share noise / (variance + noise), so that copies are welcome where noise prevails; without
noise, a point in the distance r of a single one keeps 1 - rho(r)^2, where rho is the posterior correlation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from numbo._types import Array
from numbo.kernels.acquisition import Posterior, Term, acquisition_values, mean_variance
from numbo.kernels.ascent import ascend
from numbo.trials import best_first

ASCENT_ITERATIONS = 40
ASCENT_TOLERANCE = 1e-5
#: Share of its variance that pending points must leave to the next one.
CROWDED = 0.1
#: Number of points tested for it first, best first; it doubles in each round.
TESTED = 4


class Utility(NamedTuple):
    """The sum of the ``terms``, of which the first one is the objective's.

    Attributes:
        terms: posteriors with their acquisition functions.
        alone: the posterior of the first one without the pending points, None if there are none.
    """

    terms: tuple[Term, ...]
    alone: Posterior | None = None

    def values(self, X: Array) -> Array:
        """The utility (c,) at the points ``X (c, d)``."""
        first, *others = (acquisition_values(term.posterior, term.acquisition, X) for term in self.terms)
        for values in others:
            first = first + values
        return first

    def climb(self, X: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Local optima (s, d) and their utility (s,), from ``X (s, d)`` each within its own corners (s, d)."""
        climbed, values = ascend(self.terms, X, lower, upper, ASCENT_ITERATIONS, ASCENT_TOLERANCE)
        return climbed, values

    def uncrowded(self, points: Array, values: Array) -> Iterator[int]:
        """Rows of ``points (c, d)`` that are not crowded, by descending ``values (c,)``."""
        order = best_first(values)
        if self.alone is None:
            yield from order.tolist()
            return
        size = TESTED
        while len(order):
            block, order = order[:size], order[size:]
            yield from block[remaining_share(self.terms[0].posterior, self.alone, points[block]) >= CROWDED].tolist()
            size *= 2


def remaining_share(posterior: Posterior, alone: Posterior, X: Array) -> Array:
    """Share (c,) of the variance at ``X (c, d)`` under ``alone`` left under ``posterior``; 0 where there was none."""
    before, after = mean_variance(alone, X)[1], mean_variance(posterior, X)[1]
    out: Array = after / np.maximum(before, np.finfo(float).tiny)
    return out
