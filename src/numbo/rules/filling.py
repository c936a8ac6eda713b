"""Points that fill the space after the initial design: while nothing stands out from noise, and under a pruner."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from numbo.models.moments import moments
from numbo.models.surrogate import Surrogate
from numbo.rules.everywhere import GlobalModel
from numbo.rules.in_turn import of_engines
from numbo.rules.rule import Circumstance, is_turn, several_objectives, values_fixed
from numbo.run.situation import Situation, Suggestion
from numbo.trials import SCOUT, best_first
from numbo.trials.effort import effort, pending_scouts

#: The best mean stands out if it exceeds the median over `EVEN` points of the space by `STANDS_OUT` standard deviations
#: of the noise. The largest of some hundred values of pure noise exceeds it by 2.5 to 3. Cost on other problems:
#: ``benchmarks/results/compare-stands-out.md``.
STANDS_OUT = 3.0
EVEN = 64
#: That noise is estimated from this many of the best members: if noise is proportional to the value, the optimum never
#: stands out from the noise of all members. Other problems: ``benchmarks/results/compare-noise-of-the-best.md``.
BEST = 4
#: Under a pruner scouts, points that fill the space, are cheap. A scout is the best by the model of this many points:
#: ``benchmarks/results/curves.md`` and ``single-runs.md``.
SCOUTED = 4


@dataclass(frozen=True)
class Scouts:
    """Under a pruner: the best of the next `SCOUTED` space-filling points, by the model.

    Args:
        share: the share of the reports of all trials that is spent on them, times the share that stopping has saved.
        first: position of the first one in the design.
    """

    model: GlobalModel
    share: float
    first: int
    silent_with: tuple[Circumstance, ...] = ()

    def propose(self, run: Situation) -> Suggestion | None:
        history = run.history
        known = history.fact(effort)
        pending = pending_scouts(history)
        if not known.scout_is_due(self.share, pending):
            return None
        start = self.first + SCOUTED * (known.scouts + pending)
        X = np.array([run.scout(start + k) for k in range(SCOUTED)])
        return Suggestion(X[np.argmax(self.model.scores(run, X))], SCOUT)


@dataclass(frozen=True)
class Filling:
    """As long as the best point does not stand out from the noise, in turns: engines have nothing to start from.

    Args:
        turn: one suggestion in this many is left to the rules that follow. The points are counted without these: a
            Sobol set without every fourth point would leave a slab empty.
    """

    surrogate: Surrogate
    turn: int
    silent_with: tuple[Circumstance, ...] = (values_fixed, several_objectives)

    def propose(self, run: Situation) -> Suggestion | None:
        if is_turn(run.turn, self.turn) or stands_out(run, self.surrogate):
            return None
        return Suggestion(run.scout(of_engines(run.turn, self.turn)))


def stands_out(run: Situation, surrogate: Surrogate) -> bool:
    """Whether the best point stands out from the noise; otherwise a local search would settle at a lucky value.

    The noise is that among the best members (`_noise_of_the_best`).
    """
    if len(surrogate.members) == 0 or not run.noise.found:
        return True
    surrogate.release()
    anywhere = run.space.snap(run.candidates.even(EVEN))
    rise = float(surrogate.means.max() - np.median(moments(surrogate.posterior, anywhere).mean))
    return rise >= STANDS_OUT * _noise_of_the_best(run, surrogate)


def _noise_of_the_best(run: Situation, surrogate: Surrogate) -> float:
    """Standard deviation of the noise among the best members: at most that of all, less if residuals are smaller."""
    gp = surrogate.gp
    best = best_first(gp.fitted_means)[:BEST]
    alone = gp.leave_one_out()
    ratio = float(np.mean(alone.residual[best] ** 2 / alone.variance[best]))
    told = float(np.mean(gp.extra[best])) if run.noise.known > 0.0 else 0.0  # else it is of ends that are expected
    noise = gp.covariance.noise_variance + told
    return math.sqrt(noise * min(ratio, 1.0))
