"""Which trials are worth going on with: a rule for early stopping by the model of learning curves.

A trial that has begun offers a chance to end better than the best one, at the price of the steps that are left. So does
a fresh trial, at the price of all steps. Whoever offers more per step goes on: a trial is stopped if

    P(it ends better than the best) / steps left  <  P(a fresh one does) / all steps

Once the best is good, hardly any fresh trial is likely to be better. A fixed threshold would then stop all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from numbo import _checks
from numbo._types import Array
from numbo.models.curves import GROWTH, Chain
from numbo.models.schedule import Schedule
from numbo.trials import Curve

#: A fresh trial promises what the first reports of so many of the newest ones do, in the mean.
FRESH = 32
#: Samples of an end are blurred by this share of their standard deviation, so that small probabilities can be compared.
BLUR = 0.3


class Verdict(NamedTuple):
    """What becomes of a trial.

    Attributes:
        stop: whether it ends here.
        probability: that it ends better than the best trial; NaN where that was not asked.
        needed: the smallest probability with which it goes on.
        reason: in a few words.
    """

    stop: bool
    probability: float
    needed: float
    reason: str


class Stopping:
    """The rule, for larger values being better. It knows no more of trials than their curves.

    Args:
        probability: no trial is stopped that ends better than the best with at least this probability.
        complete: no trial is stopped before so many have ended.
    """

    def __init__(self, probability: float, complete: int) -> None:
        self.probability = _checks.number("probability", probability, 0.0, 1.0)
        self.complete = complete
        self._curves: list[Curve] = []
        self._ends: list[float] = []
        self._completed, self._best = 0, -1
        self._fits = Schedule(GROWTH)
        self._chain: Chain | None = None
        self._fresh: tuple[int, float] = (-1, 0.0)

    @property
    def known(self) -> int:
        """Number of trials that have ended."""
        return len(self._ends)

    def learn(self, curve: Curve | None, end: float) -> None:
        """Take in a trial that has ended: its value, NaN if it was stopped or failed."""
        if curve is None:
            return
        self._curves.append(curve)
        self._ends.append(end)
        if not math.isnan(end):
            self._completed += 1
            self._best = len(self._ends) - 1 if self._best < 0 or end > self._ends[self._best] else self._best

    def verdict(self, curve: Curve) -> Verdict:
        """Whether a trial that has this curve so far goes on; asked once at every rung."""
        if self._completed < self.complete:
            return _goes_on("too few trials have ended")
        chain = self._fitted()
        step = float(curve.steps[-1])
        rung = int(np.searchsorted(chain.rungs, step, "right")) - 1
        if rung < 0 or step >= chain.rungs[-1]:
            return _goes_on("before the first or after the last rung")
        if len(curve.steps) > 1 and curve.steps[-2] >= chain.rungs[rung]:
            return _goes_on("between rungs")
        start, last = min(chain.rungs[0], 0.0), chain.rungs[-1]
        needed = min(self._promise_of_fresh(chain) * (last - step) / (last - start), self.probability)
        chance = float(self._chances(chain, [curve])[0])
        if chance >= needed:
            return Verdict(False, chance, needed, "it may become the best")
        if curve.last >= max((c.at(step) for c in self._curves if c.steps[-1] >= step), default=-math.inf):
            return Verdict(False, chance, needed, "none was better at this step")
        # the check of Ax: a rule that would have stopped the best trial does harm
        best = self._curves[self._best].until(step)
        if best is not None and self._chances(chain, [best])[0] < needed:
            return Verdict(False, chance, needed, "the best trial would have been stopped here")
        return Verdict(True, chance, needed, "a fresh trial promises more per step")

    def _fitted(self) -> Chain:
        """The model of the curves that have ended."""
        n = len(self._ends)
        if self._chain is None or self._fits.due(n):
            self._fits.at, self._chain = n, Chain(self._curves, np.array(self._ends))
        return self._chain

    def _promise_of_fresh(self, chain: Chain) -> float:
        """The probability that a fresh trial ends better than the best."""
        n = len(self._curves)
        if self._fresh[0] != n:
            firsts = (curve.until(chain.rungs[0]) for curve in self._curves[-FRESH:])
            begun = [curve for curve in firsts if curve is not None]
            self._fresh = n, float(np.mean(self._chances(chain, begun))) if begun else 0.0
        return self._fresh[1]

    def _chances(self, chain: Chain, curves: Sequence[Curve]) -> Array:
        """The probabilities (m,) that curves end better than the best trial."""
        from scipy.special import ndtr

        ends, best = chain.ends(curves), chain.transformed(np.array([self._ends[self._best]]))
        blur = BLUR * ends.std(axis=1, keepdims=True) + np.finfo(float).tiny
        with np.errstate(over="ignore"):
            out: Array = ndtr((ends - best) / blur).mean(axis=1)
        return out


def _goes_on(reason: str) -> Verdict:
    return Verdict(False, math.nan, 0.0, reason)
