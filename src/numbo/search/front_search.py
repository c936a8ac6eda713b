"""The local search for several objectives: a box around a point of the front, a different one for each suggestion.

Daulton et al. (2022), "Multi-Objective Bayesian Optimization over High-Dimensional Search Spaces" (MORBO), keep several
trust regions, each with its own models, around the points that contribute most to the hypervolume. Here one box moves
along the front, to isolated points more often, and its models are conditioned on the observations around its center.
Its length depends on how often its points have joined the front.
"""

from __future__ import annotations

import numpy as np

from numbo._types import Array
from numbo.run.situation import Situation
from numbo.search.local_search import LocalSearch
from numbo.search.trust_region import INITIAL_LENGTH, TrustRegion
from numbo.spaces import Corners
from numbo.trials.front import isolation

#: The box is halved after this many successive points that did not join the front, as a share of active dimensions.
PATIENCE = 1 / 3
#: Maximum number of points of a front among which the center is chosen.
LOOKED_AT = 256


class ShrinkingRegion(TrustRegion):
    """The length of the box, which never grows, and is reset to the full length when it has become too short.

    With a good model most points join the front, whatever the length of the box (`benchmarks/results/single-runs.md`).
    """

    def count(self, better: bool, origin: int, active: int | None = None) -> None:
        if origin != self.origin:
            return
        self.failures = 0 if better else self.failures + 1
        if self.failures >= max(3.0, PATIENCE * (self.d if active is None else active)):
            self.length = 0.5 * self.length
            self.failures = 0
        if self.length < self.shortest:
            self.number = self.number + 1
            self.length = INITIAL_LENGTH


class FrontSearch(LocalSearch):
    """`LocalSearch` for several objectives."""

    new_region = ShrinkingRegion

    def eager(self, run: Situation) -> bool:
        return False

    def _scouts(self, run: Situation) -> bool:
        return False

    def _averages(self, run: Situation) -> bool:
        return False

    def update(self, run: Situation) -> Corners | None:
        self.trust_region.center = self._chosen(run)
        return super().update(run)

    def _chosen(self, run: Situation) -> int:
        """The center of the next box: a point of the front, or the point with the least violation."""
        history = run.history
        rng = run.rng
        rows = self.outputs.front_rows(history)
        if len(rows) == 0:
            return history.best
        if len(rows) <= history.k:
            return int(rows[rng.integers(len(rows))])
        if len(rows) > LOOKED_AT:
            rows = rng.choice(rows, LOOKED_AT, replace=False)
        weights = isolation(history.outputs(rows))
        total = weights.sum()
        return int(rng.choice(rows, p=weights / total if total > 0.0 else None))

    def _changes(self, count: int, most: float) -> Array | float:
        """Half of the candidates change only one coordinate, since few others are as good as a point of the front."""
        return np.where(np.arange(count) < count // 2, most, 0.0)[:, None]

    def tell(self, run: Situation, i: int, y: float, origin: int) -> None:
        """Shrink the box after points that did not join the front; not under noise, when this says little."""
        if any(noise.found for noise in run.noises):
            return
        joined_front = bool((run.history.front.rows == i).any())
        self.trust_region.count(joined_front, self._box_of(origin), self._active(run.history))
