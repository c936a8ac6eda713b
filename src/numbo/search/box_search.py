"""The search of a large space with a sparse posterior: candidates, gradient ascent and flips."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from numbo._types import Array
from numbo.kernels.acquisition import UCB, Acquisition, Posterior, Term
from numbo.models.feedback import FeedbackModel
from numbo.run.candidates import elite_rows
from numbo.run.situation import Situation
from numbo.search.chooser import Chooser
from numbo.search.maximize import Box, maximize
from numbo.search.second_chance import SecondChance
from numbo.search.utility import Utility
from numbo.spaces import Corners, Space

BOX_STARTS = 2
#: Space-filling candidates of a search.
BOX_SPREAD = 256


class BoxSearch(Chooser):
    """Chooses the point with the largest upper confidence bound, given all pulls of the batch together.

    In a space of parameters with names, categories that are due are tried first (`SecondChance`).
    """

    def __init__(self, space: Space | None) -> None:
        super().__init__()
        self._second_chance = None if space is None else SecondChance(space)

    def next_point(self, run: Situation, model: FeedbackModel, width: float) -> Array | None:
        """The next point (d,), line 4 of the papers; None if none is left."""
        # u~ = mu~_fb + alpha_fb sqrt(var~), where the posterior given the batch has the mean of the last feedback
        posterior, _ = model.given_batch()
        other = None if self._second_chance is None else self._second_chance.candidates(run)
        if other is not None:
            x = self.maximize(run, model, posterior, width, [other()], run.available.taken, starts=0)
            if x is not None:
                return x
        groups = run.candidates.groups(self.elites(run), model.kernel.lengthscales, self.rng, BOX_SPREAD)
        return self.maximize(run, model, posterior, width, groups, run.available.taken)

    def maximize(
        self,
        run: Situation,
        model: FeedbackModel,
        posterior: Posterior,
        width: float,
        groups: Sequence[Array],
        out: Callable[[Array], bool],
        starts: int = BOX_STARTS,
    ) -> Array | None:
        """The point (d,) with the largest ``mean + width sd``, from ``groups`` of candidates.

        ``out(x)`` is true for points that must not be proposed. Returns None if that holds for all. Ascents begin at
        the best ``starts`` candidates.
        """
        dormant = run.dormant(self.rng)
        success = run.success()
        worst = model.worst(run.history) if posterior.alpha.any() else 0.0
        acquisition = Acquisition(UCB, width, success, worst)
        corners = run.available.fix_corners(Corners.of_cube(run.space.d))
        groups = [run.available.fix_points(group, dormant) for group in groups]
        utility = Utility((Term(posterior, acquisition),))
        return maximize(utility, Box(run.available, corners, dormant), groups, out, starts=starts)

    def elites(self, run: Situation) -> Array:
        """The best observed points (e, d)."""
        history = run.history
        return history.X[elite_rows(history.X, history.values())]
