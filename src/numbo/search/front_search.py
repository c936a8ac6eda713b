"""The local search for several objectives: a box around a point of the front, another one for each suggestion.

Daulton et al. (2022), "Multi-Objective Bayesian Optimization over High-Dimensional Search Spaces" (MORBO), keep several
trust regions with models of their own, around points that contribute most to the hypervolume. Here one box moves along
the front, to isolated points more often than to crowded ones, and its models follow: what lies near each point of a
front is learned by all that pass. Its length follows from how often its points have joined the front.
"""

from __future__ import annotations

from numbo._types import Array
from numbo.search.local_search import LocalSearch
from numbo.search.run import Run
from numbo.trials.front import isolation


class FrontSearch(LocalSearch):
    """`LocalSearch` for several objectives."""

    def eager(self, run: Run) -> bool:
        return False

    def _scouts(self, run: Run) -> bool:
        return False

    def update(self, run: Run) -> tuple[Array, Array] | None:
        self.trust_region.center = self._chosen(run)
        return super().update(run)

    def _chosen(self, run: Run) -> int:
        """The center of the next box: a point of the front, or the least violated one."""
        history, rng = run.history, run.rng
        rows = history.front.rows
        if len(rows) == 0:
            return history.best
        if len(rows) <= history.k:
            return int(rows[rng.integers(len(rows))])
        weights = isolation(history.outputs(rows))
        total = weights.sum()
        return int(rng.choice(rows, p=weights / total if total > 0.0 else None))

    def tell(self, run: Run, i: int, y: float, origin: int) -> None:
        """Let the box grow after points that joined the front, and shrink after others."""
        improved = bool((run.history.front.rows == i).any())
        self._count(run, improved, origin)
