"""The search with an exact GP over the whole space: its candidates, and the view of its model."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any

import numpy as np

from numbo._types import Array, Mask, ObservationIndices
from numbo.kernels.acquisition import LOG_EI, UCB, Acquisition
from numbo.models.moments import moments
from numbo.models.outputs import Outputs
from numbo.models.surrogate import Surrogate
from numbo.models.view import ModelView
from numbo.run.candidates import CANDIDATES, elite_rows
from numbo.run.run import Run
from numbo.search.combinations import Combinations
from numbo.search.maximiser import Maximiser
from numbo.search.second_chance import SecondChance
from numbo.search.utility import Utility
from numbo.spaces import Corners
from numbo.trials import Data, Goal, History, best_first

#: Up to this number of arms, all are candidates. Of more, this many random ones are, and those around the best.
ARMS = 2048
#: The best mean stands out if it exceeds the median over `EVEN` points of the space by `STANDS_OUT` standard deviations
#: of the noise. The largest of some hundred values of pure noise exceeds it by 2.5 to 3. Of 80 runs of 150 trials on
#: two bumps over a noisy plateau, 6 never left the plateau without this rule, 4 with 1.0, one with 2.5, and none with
#: 3.0. Cost on other problems: ``benchmarks/results/compare-stands-out.md``.
STANDS_OUT = 3.0
EVEN = 64
#: That noise is estimated from this many of the best members: if noise is proportional to the value, the optimum never
#: stands out from the noise of all members. On spheres in six dimensions with noise of 0.8 of the value, or exponential
#: around it, mean regrets of 14 seeds were a seventh and a quarter smaller; with 8 members they were not. Other
#: problems: ``benchmarks/results/compare-noise-of-the-best.md``.
BEST = 4
#: With several objectives: number of points of the front around which candidates lie, and number of candidates
#: anywhere.
FRONT_ELITES = 4
FRONT_SPREAD = 256
#: Number of candidates that differ from a point of the front in one coordinate; they stay as good in most objectives.
#: Without them searches of ZDT2 in 20 dimensions stayed at one end of the front for 200 trials.
FRONT_LINES = 256
#: One objective without constraints.
ONE = Goal(("maximize",))


class GPSearch:
    """Suggests the point that maximises an acquisition function of an exact GP over the whole space.

    Args:
        categorical: (d,) which dimensions compare by equality.
        optional: (d,) which dimensions may be inactive.
        kernel: ``"matern52"``, ``"matern32"`` or ``"rbf"``.
        acquisition: ``"ucb"`` (mean + beta * standard deviation), ``"log_ei"`` (log expected improvement), or
            ``"alternate"``: log EI; the global model alternates between it and UCB. EI exploits where the model is
            confident; UCB lets the search escape when EI stalls. With ``all_data``, it is UCB under strong noise.
        beta: the multiplier of UCB, or ``"log"`` for ``sqrt(0.2 d log(2 t))`` (Kandasamy et al. 2015, section 4).
        trend, additive, winsorize: as `numbo.models.surrogate.Surrogate`.
        warp: as there, for the global model only.
        all_data: whether the posterior uses all observations under noise; otherwise it uses the members only.
        cover_categories: whether each combination of categories is tried, if there are few
            (`numbo.search.combinations`).
        avoid_ties: whether to avoid points so near a known point that they most likely have exactly its value
            (`numbo.run.resolution`).
        goal: the objectives and constraints.

    Attributes:
        outputs: the global models.
    """

    def __init__(
        self,
        categorical: Mask,
        optional: Mask,
        *,
        kernel: str,
        acquisition: str,
        beta: float | str,
        trend: bool,
        additive: bool,
        winsorize: bool,
        warp: bool,
        all_data: bool = False,
        cover_categories: bool = False,
        avoid_ties: bool = False,
        goal: Goal = ONE,
    ) -> None:
        self._kinds = categorical, optional
        self._settings: dict[str, Any] = {
            "kernel": kernel,
            "trend": trend,
            "additive": additive,
            "winsorize": winsorize,
            "all_data": all_data,
        }
        self._cover_categories = cover_categories
        self._combinations: Combinations | None = None
        self._second_chance: SecondChance | None = None
        self.outputs = Outputs(lambda: self.new_surrogate(warp=warp), self.new_constraint, goal)
        self.maximiser = Maximiser(acquisition, beta, self.surrogate, avoid_ties=avoid_ties)

    @property
    def surrogate(self) -> Surrogate:
        """The model of the first objective."""
        return self.outputs.first

    def new_surrogate(self, **options: Any) -> Surrogate:
        """Another model with the same settings."""
        return Surrogate(*self._kinds, **(self._settings | options))

    def new_constraint(self, **options: Any) -> Surrogate:
        """A model of a constraint, without winsorising, which could clip values across the limit 0."""
        return self.new_surrogate(winsorize=False, **options)

    def prepared(self, run: Run, size: int) -> Surrogate:
        """The global model without pending points, for choosing its next members.

        The first model of a long history is fitted to ``size`` evenly spaced observations.
        """
        history = run.history
        surrogate = self.surrogate
        if len(surrogate.members) == 0:
            even = np.linspace(0, history.n - 1, size).astype(np.int64)
            surrogate.update(history.data(), even)
            surrogate.fit_again()
        surrogate.release()
        return surrogate

    def update(self, run: Run, members: ObservationIndices) -> Data:
        """Update the models; returns the data of the first objective."""
        history = run.history
        distinct = run.noise.distinct
        data = history.data()
        for j, (surrogate, noise) in enumerate(zip(self.outputs.objectives, run.noises, strict=True)):
            own = data if j == 0 else history.data(output=j)
            surrogate.update_all(own, members, lambda: distinct(np.arange(data.n)), noise)
        self.outputs.constraints.update(history, members)
        return data

    def next_point(self, run: Run, members: ObservationIndices, *, lines: bool = False) -> Array:
        """The next point (d,) by a model on ``members`` of the history, over the whole space.

        With ``lines`` it differs from the best point in one coordinate, as long as there is one that was not tried
        (coordinate LineBO, Kirschner et al. 2019): a point that differs in every coordinate is rarely an improvement.
        """
        everywhere = Corners.of_cube(run.space.d)
        with run.times.phase("model"):
            data = self.update(run, members)
            # fixed values may be far from the optimum, where the model of the search is imprecise
            models = self.outputs if run.available.fixed is None else self.outputs.shown(data)
        x = None
        exploring = self.maximiser.exploring(run)
        if (other := self._categories(run)) is not None:
            x = self.maximiser.best(run, models, [other], everywhere, starts=0, exploring=exploring)
            if x is not None:
                return x
            models.release()
        if lines:
            x = self.maximiser.best(run, models, [self._lines(run)], everywhere, starts=0, exploring=exploring)
            models.release()
        if x is None:
            groups = self._candidates(run, members, run.history.scores(members))
            x = self.maximiser.best(run, models, groups, everywhere, exploring=exploring)
        return run.space_filling() if x is None else x

    def stands_out(self, run: Run) -> bool:
        """Whether the best point stands out from the noise; otherwise a local search would settle at a lucky value.

        It uses the model of the last update, and the noise among its best members (`_noise_of_the_best`).
        """
        surrogate = self.surrogate
        several = run.history.several
        if several or len(surrogate.members) == 0 or run.available.fixed is not None or not run.noise.found:
            return True
        surrogate.release()
        anywhere = run.space.snap(run.design.candidates.even(EVEN))
        rise = float(surrogate.means.max() - np.median(moments(surrogate.posterior, anywhere).mean))
        return rise >= STANDS_OUT * self._noise_of_the_best()

    def _noise_of_the_best(self) -> float:
        """Standard deviation of the noise among the best members: at most that of all, less if residuals are
        smaller."""
        gp = self.surrogate.gp
        best = best_first(gp.fitted_means)[:BEST]
        alone = gp.leave_one_out()
        ratio = float(np.mean(alone.residual[best] ** 2 / alone.variance[best]))
        return math.sqrt(gp.covariance.noise_variance * min(ratio, 1.0))

    def covers(self, run: Run) -> bool:
        """Whether the next suggestion tries certain categories: an untried combination, or one by `SecondChance`."""
        chance = self._chance(run)
        again = chance is not None and chance.due(run) is not None
        return again or self._covering(run) is not None

    def _categories(self, run: Run) -> Array | None:
        """Points (c, d) with categories that are due: one by `SecondChance`, or the untried combinations."""
        chance = self._chance(run)
        if chance is not None and (points := chance.candidates(run)) is not None:
            return points
        combinations = self._covering(run)
        return None if combinations is None else combinations.candidates(run)

    def _chance(self, run: Run) -> SecondChance | None:
        if self._second_chance is None and run.named_space is not None:
            self._second_chance = SecondChance(run.named_space)
        return self._second_chance

    def _covering(self, run: Run) -> Combinations | None:
        """The combinations of categories, if an untried one is due."""
        space = run.named_space
        if space is None or run.grid is not None or not self._cover_categories:
            return None
        if self._combinations is None:
            self._combinations = Combinations(space)
        return self._combinations if self._combinations.due(run) else None

    def _candidates(self, run: Run, members: ObservationIndices, scores: Array) -> list[Array]:
        """Unseen points of a finite space, or a shifted Sobol set and perturbations of the best members by ``scores``.

        With many arms, these are random arms, and arms around the best members.
        """
        elites = run.history.X[self._elites(run, members, scores)]
        if run.grid is not None:
            rows = run.available.rows()
            limit = ARMS if run.space.explicit else 2 * CANDIDATES
            few = len(rows) <= limit
            some = run.grid[rows if few else run.rng.choice(rows, limit, replace=False)]
            if len(rows) == 0:
                return [run.available.fix(run.grid[:1])]
            return [some] if few or not run.space.explicit else [run.space.neighbours(elites).X, some]
        candidates = run.design.candidates
        scales = self.outputs.lengthscales
        if not run.history.several:
            return candidates.groups(elites, scales, run.rng)
        return [
            *candidates.groups(elites, scales, run.rng, FRONT_SPREAD),
            candidates.lines(elites[0], run.rng, FRONT_LINES),
        ]

    def _elites(self, run: Run, members: ObservationIndices, scores: Array) -> ObservationIndices:
        """The best members (e,) by ``scores (m,)``; with several objectives, some random points of the front."""
        front = self.outputs.front_rows(run.history)
        if len(front) == 0:
            return members[elite_rows(run.history.X[members], scores)]
        return run.rng.choice(front, min(len(front), FRONT_ELITES), replace=False)

    def _lines(self, run: Run) -> Array:
        """Points that differ in one coordinate from the best point by the model."""
        rows = self.surrogate.rows
        means = self.surrogate.means
        if run.history.constrained:
            met = self.outputs.constraints.met(run.history, rows)
            means = np.where(met, means, run.history.scores(rows))
        best = rows[np.argmax(means)]
        return run.design.candidates.lines(run.history.X[best], run.rng)

    def acquisition(self, run: Run) -> Acquisition:
        """The acquisition function of the global model, which has to be up to date."""
        exploring = self.maximiser.exploring(run)
        return self.maximiser.acquisition(run, self.outputs, exploring=exploring)

    def _utility(self, run: Run) -> Utility:
        """The utility that the next suggestion maximises."""
        if run.history.several:
            return self.maximiser.improving(run, self.outputs)
        return self.maximiser.of_one(run, self.outputs, self.acquisition(run))

    def scores(self, run: Run, members: ObservationIndices, X: Array) -> Array:
        """The acquisition function (c,) at ``X (c, d)`` by a model on ``members`` of the history."""
        self.update(run, members)
        return self._utility(run).values(X)

    def copy(self) -> GPSearch:
        """The same search with copies of the models."""
        twin = copy.copy(self)
        known: dict[int, Any] = {}  # the maximiser refers to one of the models
        twin.outputs = copy.deepcopy(self.outputs, known)
        twin.maximiser = copy.deepcopy(self.maximiser, known)
        return twin

    def view(self, run: Run, members: ObservationIndices, buffer_size: int | None = None) -> ModelView:
        """The view of the model after updating it with ``members``; nothing may be pending in ``run``."""
        data = self.update(run, members)
        if run.history.several:
            return self._view_of_several(run, buffer_size)
        return self._view_of(self.surrogate, data, self.acquisition(run), run, buffer_size)

    def _view_of_several(self, run: Run, buffer_size: int | None) -> ModelView:
        """The view of the first objective, with the views of the others."""
        success = Acquisition(LOG_EI, 0.0, run.success())
        data = [run.history.data(output=j) for j in range(run.history.k)]
        pairs = zip(self.outputs.objectives, data, strict=True)
        views = [self._view_of(one, own, success, run, buffer_size) for one, own in pairs]
        return replace(views[0], others=tuple(views[1:]), improving=self._utility(run).values)

    def _view_of(
        self, surrogate: Surrogate, data: Data, acquisition: Acquisition, run: Run, buffer_size: int | None
    ) -> ModelView:
        """The view of one objective."""
        shown = surrogate.shown(data)
        return ModelView(
            posterior=shown.posterior,
            transform=shown.transform,
            searched=surrogate.posterior,
            acquisition=acquisition,
            members=shown.members,
            lengthscales=shown.gp.lengthscales,
            noise_std=shown.noise_std,
            beta=acquisition.parameter if acquisition.kind == UCB else None,
            buffer_size=buffer_size,
            sparse=shown.sparse,
            calibration=shown,
            unfitted=self.new_surrogate() if surrogate.all_data else None,
            constraints=self.outputs.constraints,
            feasible=run.history.any_feasible,
        )

    def state_dict(self) -> dict[str, Any]:
        return self.outputs.state_dict()

    def restore(self, state: dict[str, Any], history: History) -> None:
        """Restore a `state_dict`."""
        self.outputs.restore(state, history)
