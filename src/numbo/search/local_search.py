"""A local search next to the global model: a GP on the observations nearest the incumbent, in a trust region.

Eriksson et al. (2019) restart such a search at random points, and each search forgets the data of the others. Here each
search uses all data near it, and starting points of three kinds take turns (`numbo.search.trust_region`).

The model is fitted in the units of the box around its data, so that priors and trend have the same meaning at every
scale. Late in a search, when the box is small, the trend is the quadratic model of classical trust-region methods
(Conn, Scheinberg & Vicente 2009, "Introduction to Derivative-Free Optimization", chapter 10), and the GP models the
rest.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from numbo._plain import Kept
from numbo._types import Array, ObservationIndices
from numbo.models.moments import mean_at
from numbo.models.outputs import Outputs
from numbo.models.surrogate import Surrogate
from numbo.run.situation import GLOBAL, Situation, Suggestion
from numbo.search.engine import Engine, Origin
from numbo.search.maximiser import Maximiser
from numbo.search.near import LastNearest, condition_near
from numbo.search.trust_region import Region, TrustRegion
from numbo.spaces import INACTIVE, Corners, Domain
from numbo.trials import History, scores_of

LOCAL_CANDIDATES = 256
#: Maximum expected number of coordinates of the incumbent that are changed at once (Eriksson et al. 2019, supplement).
PERTURBED = 20
#: Under noise, a region is given up if the model's means in it differ by less than this share of a value's deviation
#: (``benchmarks/results/compare-given-up-under-noise.md``). Others were not compared.
BLIND = 0.1


class LocalSearch(Kept, Engine):
    """Trust region, local surrogate and candidates.

    Args:
        outputs: unfitted models over the space.
        size: maximum number of observations that they are conditioned on.
        number: of this engine in its algorithm.
    """

    _kept = ("trust_region", "outputs", "_waiting")
    new_region: ClassVar[type[TrustRegion]] = TrustRegion

    def __init__(
        self,
        space: Domain,
        outputs: Outputs,
        size: int,
        maximiser: Maximiser,
        number: int = 0,
    ) -> None:
        self.space = space
        self.outputs = outputs
        self.size = size
        self._maximiser = maximiser
        self._number = number
        self.trust_region = self.new_region(space.d)
        #: Observations that wait for the model to average them, with their boxes and numbers of active dimensions.
        self._waiting: list[tuple[int, int, int]] = []
        self._nearest = LastNearest.of_none()

    @property
    def surrogate(self) -> Surrogate:
        """The model of the first objective."""
        return self.outputs.first

    @property
    def models(self) -> tuple[Outputs, ...]:
        return (self.outputs,)

    # -- proposing -----------------------------------------------------------------------------------------------

    def eager(self, run: Situation) -> bool:
        """Whether the region starts among unexplored points, and is still evaluating these."""
        return self._scouts(run) and self.trust_region.exploring and run.available.fixed is None

    def _scouts(self, run: Situation) -> bool:
        """Whether the region has no center yet, and needs scouts to find one."""
        return self.trust_region.scouting

    def propose(self, run: Situation) -> Suggestion | None:
        """A point of the region, or a scout among unexplored points; None if the global model does the scouting."""
        if self._scouts(run):
            return Suggestion(run.scout()) if self.eager(run) else None
        return self._propose_inside(run)

    def _propose_inside(self, run: Situation) -> Suggestion | None:
        """The best point in the region; None if it was or is given up, or contains none with the fixed values.

        None as well if what is best is a branch that fails. If all points of a branch that lie in the region are known,
        another one is left: half of the trials of a search went into it. Within a branch, points that may fail have to
        be tried: otherwise optima at the edge of a region that fails were found less precisely.
        """
        with run.times.phase("model"):
            corners = self.update(run)
        if corners is None:
            return None
        fixed = run.available.fix(corners.lower)
        if not np.array_equal(np.clip(fixed, *corners), fixed):
            return None  # no point of the region has the fixed values
        spread = run.candidates.spread(LOCAL_CANDIDATES, run.rng)
        groups = [self._candidates(run.history, spread, corners, run.rng)]
        if self._averages(run) and self._blind(groups[0]):
            self.trust_region.give_up()
            return None
        x = self._maximiser.best(run, self.outputs, groups, corners, center=self.trust_region.center)
        if x is None or (self._in_another_branch(run.history, x) and not run.may_succeed(x)):
            return None
        if not run.costs.fit(run.history, x[None])[0]:
            return None  # what is left of the budget is too little for the region, if not for others
        return Suggestion(x, Origin(self._number, self.trust_region.origin).packed)

    def _in_another_branch(self, history: History, x: Array) -> bool:
        """Whether ``x (d,)`` has other categories than the center, or other active coordinates."""
        center = history.X[self.trust_region.center]
        apart = self.space.categorical | (x == INACTIVE) | (center == INACTIVE)
        return bool((x != center)[apart].any())

    def update(self, run: Situation) -> Corners | None:
        """Condition the models on the data near the incumbent; returns the box, None if the region was given up."""
        history = run.history
        trust_region = self.trust_region
        self._nearest = condition_near(self.outputs, history, run.noises, trust_region.center, self.size, self._nearest)
        if self._averages(run) or self._waiting:
            number = trust_region.number
            self._fold_waiting(history)
            if trust_region.number != number:
                return None
        center = history.X[trust_region.center]
        return trust_region.box(center, self.outputs.lengthscales, ~self.space.categorical & (center != INACTIVE))

    def _candidates(self, history: History, spread: Array, corners: Corners, rng: np.random.Generator) -> Array:
        """Points (c, d) that differ from the incumbent in some coordinates; these are from ``spread (c, d)``."""
        center = history.X[self.trust_region.center]
        anywhere = corners.lower + (corners.upper - corners.lower) * spread
        asleep = center == INACTIVE
        count = len(spread)
        awake = np.flatnonzero(~asleep)
        changed = rng.random(spread.shape) < self._changes(count, min(1.0, PERTURBED / len(awake)))
        changed[np.arange(count), awake[rng.integers(len(awake), size=count)]] = True
        points = np.where(changed | asleep, anywhere, center)
        return self.space.snap(np.concatenate([np.where(asleep, anywhere[:1], center), points]))

    def _blind(self, X: Array) -> bool:
        """Whether noise hides how the points ``X (c, d)`` of the region differ.

        It takes two hundred values at each of two points to tell means apart that differ by a tenth of a value's
        deviation.
        """
        surrogate = self.surrogate
        variance = surrogate.gp.covariance.noise_variance + float(np.median(surrogate.gp.extra))
        return float(np.ptp(mean_at(surrogate.posterior, X))) < BLIND * math.sqrt(variance)

    def _changes(self, count: int, most: float) -> Array | float:
        """The probability that a coordinate of a candidate is changed, ``most`` or (count, 1); at least one is."""
        return most

    def _averages(self, run: Situation) -> bool:
        """Whether the region follows the means of the model, instead of the values told."""
        return self.surrogate.averages(run.noise)

    # -- observations ----------------------------------------------------------------------------------------------

    def tell(self, run: Situation, i: int, y: float, origin: int) -> None:
        """Update the region by observation ``i`` with value ``y``; under noise, once the model has averaged it.

        An infinite value never counts as an improvement.
        """
        trust_region = self.trust_region
        noisy = self._averages(run)
        y = -np.inf if np.isinf(y) else y
        now = trust_region.center
        if now >= 0 and not noisy and (run.history.constrained or run.history.stopped[now]):
            trust_region.expect(run.history.assured(now))  # expected ends or scales of violations may have changed
        box = self._box_of(origin)
        active = self._active(run.history)
        if noisy and not trust_region.scouting:
            self._waiting.append((i, box, active))
        else:
            trust_region.tell(i, y, box, active, record=not noisy)

    def _box_of(self, origin: int) -> int:
        """The box that proposed a point, `GLOBAL` if it was no box of this search."""
        asked = Origin.of(origin)
        return asked.box if asked.engine == self._number else GLOBAL

    def _active(self, history: History) -> int:
        """How many dimensions are active at the center."""
        center = self.trust_region.center
        return int(np.count_nonzero(history.X[center] != INACTIVE)) if center >= 0 else self.trust_region.d

    def _fold_waiting(self, history: History) -> None:
        """Update the region by the waiting observations, with the model's means, and move to the best point by
        these."""
        trust_region = self.trust_region
        surrogate = self.surrogate
        number = trust_region.number
        expected = self._expected(history, surrogate.rows)
        best = int(np.argmax(expected))
        means = self._expected(history, np.array([trust_region.center] + [i for i, _, _ in self._waiting])).tolist()
        trust_region.expect(means[0])
        for mean in means[1:]:
            i, box, active = self._waiting.pop(0)
            trust_region.tell(i, mean, box, active)
        if trust_region.number == number and expected[best] > trust_region.best:
            trust_region.recenter(int(surrogate.rows[best]), float(expected[best]))

    def _expected(self, history: History, rows: ObservationIndices) -> Array:
        """The model's means at observations (m,), and the scores of those that do not meet the constraints.

        Stopped trials count one standard deviation of their expected end less.
        """
        means = self.surrogate.mean_sd(history.X[rows]).mean
        expected = np.where(self.outputs.constraints.met(history, rows), means, scores_of(history, rows))
        return expected - np.where(history.stopped[rows], np.sqrt(history.variance[rows]), 0.0)

    def region(self, history: History) -> Region:
        now = self.trust_region
        center = int(history.positions[now.center]) if now.center >= 0 else -1
        return Region(number=now.number, length=now.length, center=center)
