"""A rule for early stopping by the model of learning curves.

A running trial ends better than the best one with some probability, at the cost of the steps that are left. A new trial
does so too, at the cost of all steps. The trial with the larger probability per step should go on. So a trial is
stopped if

    P(it ends better than the best) / steps left  <  P(a new one does) / all steps

Once the best trial is good, hardly any new trial is likely to be better, and a fixed threshold would stop all of them.
The cost of a new trial is that of all steps, though most will be stopped early: the rule stops too late rather than too
soon.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from numbo import _checks
from numbo._types import Array
from numbo.models.curves import GROWTH, Chain
from numbo.trials import Curve
from numbo.trials.schedule import Schedule

logger = logging.getLogger("numbo")
#: The probability for a new trial is the mean over this many newest trials, given only their first reports.
FRESH = 32
#: Samples of an end are smoothed by this share of their standard deviation, so that small probabilities can be
#: compared.
BLUR = 0.3


class Verdict(NamedTuple):
    """The decision about a trial.

    Attributes:
        stop: whether it ends here.
        probability: that it ends better than the best trial; NaN if it was not computed.
        needed: the smallest probability with which it goes on.
        reason: in a few words.
    """

    stop: bool
    probability: float
    needed: float
    reason: str


class Stopping:
    """The rule, for larger values being better. It uses only the curves of trials.

    Args:
        probability: trials that end better than the best one with at least this probability are never stopped.
        complete: no trial is stopped before this number of trials have ended.
    """

    def __init__(self, probability: float, complete: int) -> None:
        self.probability = _checks.number("probability", probability, 0.0, 1.0)
        self.complete = complete
        self._curves: list[Curve] = []
        self._ends: list[float] = []
        self._completed = 0
        self._best = -1
        self._fits = Schedule(GROWTH)
        self._chain: Chain | None = None
        self._fresh: tuple[int, float] = (-1, 0.0)
        self._lengths: list[float] = []
        #: The last rung at which each running trial was judged.
        self._judged: dict[Hashable, int] = {}

    @property
    def known(self) -> int:
        """Number of trials that have ended."""
        return len(self._ends)

    def learn(self, key: Hashable, curve: Curve | None, end: float) -> None:
        """Learn the trial ``key``, which has ended with the value ``end``, NaN if it was stopped or failed."""
        self._judged.pop(key, None)
        if curve is None:
            return
        self._curves.append(curve)
        self._ends.append(end)
        if not math.isnan(end):
            self._completed += 1
            self._lengths.append(float(curve.steps[-1]))
            self._best = len(self._ends) - 1 if self._best < 0 or end > self._ends[self._best] else self._best

    def due(self, key: Hashable, step: float) -> bool:
        """Whether the trial ``key`` has reached a rung at ``step`` at which it was not judged yet."""
        if self._completed < self.complete or not math.isfinite(step):
            return False
        return int(np.searchsorted(self._fitted().rungs, step, "right")) - 1 > self._judged.get(key, -1)

    def verdict(self, key: Hashable, curve: Curve) -> Verdict:
        """Judge whether the trial ``key``, with this curve so far, goes on; once at every rung."""
        found = self._judge(key, curve)
        logger.debug(
            "Trial %s at step %g ends better than the best with probability %.3g and goes on from %.3g: %s.",
            key,
            curve.steps[-1],
            found.probability,
            found.needed,
            found.reason,
        )
        return found

    def _judge(self, key: Hashable, curve: Curve) -> Verdict:
        step = float(curve.steps[-1])
        if not self.due(key, step):
            return _goes_on("nothing new is known")
        chain = self._fitted()
        self._judged[key] = int(np.searchsorted(chain.rungs, step, "right")) - 1
        start = _start(chain.rungs)
        last = float(np.median(self._lengths))
        if step >= last:
            return _goes_on("it is as long as others")
        needed = min(self._promise_of_fresh(chain) * (last - step) / (last - start), self.probability)
        chance = float(self._chances(chain, [curve])[0])
        if chance >= needed:
            return Verdict(False, chance, needed, "it may become the best")
        if curve.last >= max((c.at(step) for c in self._curves if c.steps[-1] >= step), default=-math.inf):
            return Verdict(False, chance, needed, "none was better at this step")
        # a check from Ax: a rule that would have stopped the best trial is harmful
        best = self._curves[self._best].until(step)
        if best is not None and self._chances(chain, [best])[0] < needed:
            return Verdict(False, chance, needed, "the best trial would have been stopped here")
        return Verdict(True, chance, needed, "a fresh trial promises more per step")

    def _fitted(self) -> Chain:
        """The model of the curves of ended trials."""
        n = len(self._ends)
        if self._chain is None or self._fits.due(n):
            self._fits.done(n)
            self._chain = Chain(self._curves, np.array(self._ends))
        return self._chain

    def _promise_of_fresh(self, chain: Chain) -> float:
        """The probability that a new trial ends better than the best one."""
        n = len(self._curves)
        if self._fresh[0] != n:
            firsts = (curve.until(chain.rungs[0]) for curve in self._curves[-FRESH:])
            begun = [curve for curve in firsts if curve is not None]
            self._fresh = n, float(np.mean(self._chances(chain, begun))) if begun else 0.0
        return self._fresh[1]

    def _chances(self, chain: Chain, curves: Sequence[Curve]) -> Array:
        """The probabilities (m,) that curves end better than the best trial."""
        from scipy.special import ndtr

        ends = chain.ends(curves)
        best = chain.transformed(np.array([self._ends[self._best]]))
        blur = BLUR * ends.std(axis=1, keepdims=True) + np.finfo(float).tiny
        with np.errstate(over="ignore"):
            better = np.where(ends == best, 0.0, ndtr((ends - best) / blur))  # a tie is no better
        out: Array = better.mean(axis=1)
        return out


def _start(rungs: Array) -> float:
    """The step at which trials begin, one before their first report."""
    return float(rungs[0] - (rungs[1] - rungs[0])) if len(rungs) > 1 else 0.0


def _goes_on(reason: str) -> Verdict:
    return Verdict(False, math.nan, 0.0, reason)
