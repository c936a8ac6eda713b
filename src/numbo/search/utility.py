"""The function that a suggestion maximises: a sum of acquisition functions, each with its own posterior.

There is one term for the objective. Other terms are the log probability that a constraint holds, or belong to other
objectives. Terms are evaluated one after the other, and maximised together in compiled code.

Points that are evaluated at the same time must be spread out, by a measure of information. A point is *crowded* if the
pending points leave less than a share `CROWDED` of the variance that the model has without them. A copy of a pending
point keeps the share noise / (variance + noise), so that copies are allowed under strong noise. Without noise, a point
at distance r from a single pending point keeps 1 - rho(r)^2, where rho is the posterior correlation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from numbo._types import Array
from numbo.kernels.acquisition import (
    LOG_EI,
    Posterior,
    Success,
    Term,
    acquisition_values,
    mean_variance,
    success_probabilities,
    weighted_values,
)
from numbo.kernels.ascent import ascend
from numbo.kernels.basis import without_studies
from numbo.kernels.front import Front, deviations, improvements
from numbo.kernels.pending import shares_beside, shares_left
from numbo.kernels.polytope import Polytope
from numbo.kernels.tables import table_sums
from numbo.kernels.within import ascend_within
from numbo.trials import best_first

ASCENT_ITERATIONS = 40
ASCENT_TOLERANCE = 1e-5
#: Minimum share of its variance that pending points must leave to the next point.
CROWDED = 0.1
#: Number of points tested for crowding in the first round, best first; it doubles in each round.
TESTED = 4


class Valued(NamedTuple):
    """Points ``X (s, d)`` and their ``values (s,)``."""

    X: Array
    values: Array


class Utility(NamedTuple):
    """The sum of the ``terms``; those of the objectives come first.

    Attributes:
        terms: posteriors with their acquisition functions.
        alone: the posteriors of the objectives without the pending points, empty if nothing is pending.
        front: the front of several objectives; their terms are then replaced by its expected hypervolume improvement.
            None for one objective.
        crowd: (p, d) pending points, if the posteriors do not have all of them; None or empty otherwise.
        prior: (d, g) what is believed of the parameters (`Situation.prior`), which is added; None for nothing.
    """

    terms: tuple[Term, ...]
    alone: tuple[Posterior, ...] = ()
    front: Front | None = None
    crowd: Array | None = None
    prior: Array | None = None

    @property
    def objectives(self) -> int:
        """Number of terms that belong to objectives."""
        return 1 if self.front is None else len(self.front.bounds)

    def values(self, X: Array) -> Array:
        """The utility (c,) at the points ``X (c, d)``."""
        own = self.terms[: self.objectives]
        others = self.terms[self.objectives :]
        total: Array = acquisition_values(*own[0], X) if self.front is None else front_values(own, self.front, X)
        for term in others:
            total = total + acquisition_values(*term, X)
        return total if self.prior is None else total + table_sums(self.prior, X)

    def climb(self, X: Array, lower: Array, upper: Array, within: Polytope | None = None) -> Valued:
        """Local optima from ``X (s, d)``, each within its own corners (s, d), and all ``within`` a polytope."""
        terms = alike(self.terms)
        region = X, lower, upper, ASCENT_ITERATIONS, ASCENT_TOLERANCE, self.prior
        if within is None:
            return Valued(*ascend(terms, self.front, *region))
        return Valued(*ascend_within(terms, self.front, within, *region))

    def uncrowded(self, points: Array, values: Array) -> Iterator[int]:
        """Rows of ``points (c, d)`` that are not crowded, by descending ``values (c,)``."""
        order = best_first(values)
        if not self.alone:
            yield from order.tolist()
            return
        size = TESTED
        while len(order):
            block = order[:size]
            order = order[size:]
            yield from block[self._remaining(points[block]) >= CROWDED].tolist()
            size *= 2

    def _remaining(self, X: Array) -> Array:
        """The largest share (c,) over the objectives of the variance at ``X (c, d)`` that pending points leave.

        The nearest point of the ``crowd``, which may not be among those of the posteriors, counts where they leave
        enough.
        """
        pairs = zip(self.terms, self.alone, strict=False)
        shares: Array = np.max([shares_left(term.posterior, alone, alone.lifted(X)) for term, alone in pairs], axis=0)
        if self.crowd is not None and len(self.crowd) and len(free := np.flatnonzero(shares >= CROWDED)):
            beside = [
                shares_beside(
                    alone,
                    alone.lifted(X[free]),
                    np.ascontiguousarray(alone.lifted(self.crowd).T),
                    alone.covariance.noise_variance,
                )
                for alone in self.alone
            ]
            shares[free] = np.minimum(shares[free], np.max(beside, axis=0))
        return shares


def alike(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """The ``terms`` with a basis in each posterior, if one has one: the kernel takes terms of one type."""
    known = next((term.posterior.basis for term in terms if term.posterior.basis is not None), None)
    if known is None:
        return terms
    empty = without_studies(known)
    return tuple(
        term if term.posterior.basis is not None else term._replace(posterior=term.posterior._replace(basis=empty))
        for term in terms
    )


def front_values(terms: Sequence[Term], front: Front, X: Array) -> Array:
    """The log expected hypervolume improvement (c,) at ``X (c, d)``, weighted by the probability of success."""
    means, sd = [], []
    for posterior, _ in terms:
        lifted = posterior.lifted(X)
        mean, variance = mean_variance(posterior, lifted)
        means.append(mean)
        sd.append(deviations(posterior.covariance, lifted, variance))
    values: Array = improvements(front, np.array(means), np.array(sd))
    return if_successful(values, terms[0].acquisition.success, X)


def if_successful(values: Array, success: Success, X: Array) -> Array:
    """Logarithms of improvements ``values (c,)`` at ``X (c, d)``, weighted by the probability of ``success``."""
    if len(success.alpha) == 0:
        return values
    weighted: Array = weighted_values(LOG_EI, 0.0, success.threshold, values, success_probabilities(success, X))
    return weighted
