"""What trials cost, and what that adds to the utility of a suggestion.

A GP models the logarithm of what a trial costs that runs to its end. An improvement is worth its cost to a power: with
c(x) the expected cost, the utility is ``log EI(x) - a log c(x)``. With a = 1, improvement per cost, a search does not
leave a cheap region whose values are bad, as improvements there are small, but dear ones are divided by much. With a
budget, a falls as it runs out (Snoek et al. 2012, Lee et al. 2020, "Cost-aware Bayesian optimization"), and the log
probability that the trial still fits is added:

    log EI(x) - a log c(x) + log P(c(x) <= left)        a = min(1/2, left / budget)

Where running trials are expected to use up what is left, what is as cheap as the cheapest trial fits. A time limit is a
budget of which the clock says what is left, whatever trials run: each of several workers has all of it.

The model is of *cheapness*, minus the log cost, so that larger is better, as elsewhere. A trial that failed says
nothing of what a whole one costs, but counts for the budget. The cost of one that was stopped is scaled by its number
of reports to the usual number of them.
"""

from __future__ import annotations

import math

import numpy as np

from numbo import _elementary
from numbo._plain import Kept
from numbo._types import Array, Mask
from numbo.kernels.acquisition import LOG_PROBABILITY, MEAN, Acquisition, Term
from numbo.models.moments import mean_at
from numbo.models.spread import members_of
from numbo.models.surrogate import Surrogate
from numbo.trials import Data
from numbo.trials.history import History

#: a, the weight of log costs.
WEIGHT = 0.5
#: Fewer known costs than this say nothing of how they depend on the point. Not tuned.
LEAST = 4
#: Costs are equal if their logarithms differ by rounding only.
EQUAL = 1e-9
#: Maximum number of trials for the model, and of those that are added before they are chosen again.
SIZE = 128
JOINING = 32


class Costs(Kept):
    """The model of the costs of trials.

    Args:
        categorical, optional: (d,) as for `numbo.models.surrogate.Surrogate`.
        budget: what all trials may cost together; None for no limit.
    """

    _kept = ("_surrogate",)

    def __init__(self, categorical: Mask, optional: Mask | None = None, budget: float | None = None) -> None:
        self.budget = budget
        #: The time that a framework allows, in the units of costs, and what is left of it; None for no limit.
        self.time: tuple[float, float] | None = None
        self._surrogate = Surrogate(
            categorical, optional, kernel="matern52", trend=True, additive=False, winsorize=False, of=cheapness_of
        )
        #: Number of trials when it was last looked whether costs count, and the result.
        self._looked_at = -1
        self._counts = False
        self._cheapest = math.inf

    @property
    def limited(self) -> bool:
        """Whether there is a limit to what trials may cost together."""
        return self.budget is not None or self.time is not None

    def terms(self, history: History) -> tuple[Term, ...]:
        """What costs add to the utility of a point; nothing unless a few are known that differ.

        Nor once all is spent: no trial fits then, so that costs have no say.
        """
        if not self.counts(history):
            return ()
        model = self._surrogate
        scale = model.transform.scale
        if not self.limited:
            return (Term(model.posterior, Acquisition(MEAN, WEIGHT * scale)),)
        room = self._room(history)
        if room is None:
            return ()
        most, share = room
        weight = min(WEIGHT, share)
        # costs vary around their expectation: what fits has a margin of one standard deviation of that noise
        limit = float(model.transform.forward(np.array([-math.log(most)]))[0])
        limit += math.sqrt(model.gp.covariance.noise_variance)
        return (
            Term(model.posterior, Acquisition(MEAN, weight * scale)),
            Term(model.posterior, Acquisition(LOG_PROBABILITY, limit)),
        )

    def left(self, history: History) -> float:
        """What is left of the budget, if pending trials cost what they say, or what is expected."""
        left = self._unspent(history)
        pending = history.pending.X
        if not len(pending):
            return left
        known = np.array([point.cost for point in history.pending.values()])
        with np.errstate(over="ignore"):
            return left - float(np.where(np.isnan(known), self.expected(history, pending), known).sum())

    def _unspent(self, history: History) -> float:
        """What trials that have ended leave of the budget."""
        assert self.budget is not None
        with np.errstate(over="ignore"):
            return self.budget - float(np.nansum(history.trials.cost))

    def _room(self, history: History) -> tuple[float, float] | None:
        """What a trial may cost at most within budget and time, and which share of what all may cost is left.

        None once nothing is left of one of them.
        """
        most = share = math.inf
        if self.budget is not None:
            if self._unspent(history) <= 0.0:
                return None
            left = self.left(history)
            most = left if left > 0.0 else self._cheapest
            share = max(left, 0.0) / self.budget
        if self.time is not None:
            limit, left = self.time
            if left <= 0.0:
                return None
            most = min(most, left)
            share = min(share, left / limit)
        return most, share

    def fit(self, history: History, X: Array) -> Mask:
        """Which of the points ``X (c, d)`` are expected to cost no more than is left; all, if `terms` are silent."""
        if not self.limited or not self.counts(history) or (room := self._room(history)) is None:
            return np.ones(len(X), dtype=bool)
        most, _ = room
        return np.asarray(self.expected(history, X) <= most)

    def expected(self, history: History, X: Array) -> Array:
        """The expected costs (c,) at ``X (c, d)``, the medians of the model; the mean cost as long as there is none."""
        if not self.counts(history):
            known = history.trials.cost[~np.isnan(history.trials.cost)]
            return np.full(len(X), np.mean(known) if len(known) else 0.0)
        transform = self._surrogate.transform
        cheapness = mean_at(self._surrogate.posterior, X) * transform.scale + transform.location
        with np.errstate(over="ignore"):
            out: Array = _elementary.exp(-cheapness)
        return out

    def counts(self, history: History) -> bool:
        """Bring the model up to date; whether costs are known that differ, so that suggestions depend on them."""
        told = history.told
        if told == self._looked_at:
            return self._counts
        data = cheapness_of(history, told)
        cheapness = data.y
        live = np.flatnonzero(~np.isnan(cheapness))
        self._counts = len(live) >= LEAST and bool(np.ptp(cheapness[live]) > EQUAL)
        if self._counts:
            self._cheapest = float(_elementary.exp(-cheapness[live].max(keepdims=True))[0])
        if self._counts and self._surrogate.updated_at != told:
            here = history.X[history.best]
            members = members_of(self._surrogate, data.X, live, here, SIZE, JOINING, len(live))
            self._surrogate.update(data, members)
        self._looked_at = told
        return self._counts


def cheapness_of(history: History, n: int) -> Data:
    """Minus the log cost of a whole trial, from each of the first ``n``; NaN if it is not known."""
    trials = history.trials
    out = np.full(n, np.nan)
    known = ~np.isnan(trials.cost[:n])
    data = Data.of(trials.X[:n], out)
    if not known.any():  # as in most runs: curves need not be looked at
        return data
    out[known] = -_elementary.log(trials.cost[:n][known])
    out[trials.failed[:n]] = np.nan
    final = trials.final[:n]
    if not final.all():
        curves = trials.curves[:n]
        reports = np.array([math.nan if curve is None else len(curve.steps) for curve in curves])
        whole = reports[final & ~trials.failed[:n] & ~np.isnan(reports)]
        usual = np.median(whole) if len(whole) else math.nan
        out[~final] -= _elementary.log(np.maximum(usual / reports[~final], 1.0))
    return data
