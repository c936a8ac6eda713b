"""GP-UCB on all data: the exact baseline (Srinivas et al. 2010, algorithm 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from numbo import _checks
from numbo._types import Array, AvoidRepeats, Beta, Direction, ObservationIndices
from numbo.models.view import ModelView
from numbo.optimizers.base import Optimizer
from numbo.optimizers.parts.settings import GPSettings, names_checked
from numbo.run.run import Run, Suggestion
from numbo.search.gp_search import GPSearch
from numbo.spaces import Arms, Space


@dataclass(frozen=True, kw_only=True)
class GPUCBSettings(GPSettings):
    """Settings of `GPUCB`.

    Args:
        n_initial: number of points of the space-filling initial design before the model takes over; by default 10.
        avoid_repeats: whether to avoid points that were observed or are pending while others are left. With ``"auto"``,
            the default, observed points may be measured again if values are noisy.
        learn_failures: whether failures depend on the parameters: ``True`` weights points by their probability of
            success, ``False`` only never repeats a point that failed, ``"auto"`` lets the data decide between the two.
        use_curves: whether the final value of a stopped trial, and its uncertainty, are predicted from its curve.
            Otherwise, and with several objectives, its last value counts as its final one.
        kernel: ``"matern52"``, ``"matern32"`` or ``"rbf"``.
        acquisition: ``"ucb"`` (mean + beta * standard deviation), ``"log_ei"`` (log expected improvement), or
            ``"alternate"``: alternates between the two. Of several objectives it is always the expected hypervolume
            improvement.
        beta: the multiplier of UCB, or ``"log"`` for ``sqrt(0.2 d log(2 t))`` (Kandasamy et al. 2015, section 4).
        trend: whether the covariance has a linear and quadratic part.
        additive: whether the covariance has an additive part, a sum of functions of one coordinate each.
        winsorize: whether outliers on the bad side are clipped if the model then predicts better.
        warp: whether the model is fitted to the logarithm of the gap to the best value if it then predicts better.

    Raises:
        ValueError: for an unsupported value.
        TypeError: for an unknown setting.
    """


class GPUCB(Optimizer):
    """Exact GP-UCB. O(n^2) a suggestion and O(n^3) at a refit: for comparison, and for a few hundred trials.

        opt = GPUCB({"x": Float(-5, 5)}, beta="log", seed=0)

    Args:
        space: the space: a `numbo.Space`, or a mapping of names to `Float`, `Int` and `Categorical`; or
        arms: an explicit set of arms, an array (A, d) of features or `numbo.Arms`. Points are then row indices.
        direction: ``"minimize"`` or ``"maximize"``; by default spaces are minimised and arms are maximised.
        directions: of two to five objectives, in place of ``direction``; `tell` then takes as many values.
        constraints: names of values that have to be 0 or less; `tell` takes these values.
        n_initial: number of points of the space-filling initial design before the model takes over; by default 10.
        seed: anything that `numpy.random.default_rng` takes. Same seed and same history give the same suggestions.
        avoid_repeats: whether to avoid points that were observed or are pending while others are left. With ``"auto"``,
            the default, observed points may be measured again if values are noisy.
        beta: the multiplier of UCB, by default 2, or ``"log"`` for ``sqrt(0.2 d log(2 t))`` (Kandasamy et al. 2015,
            section 4).
        settings: all settings; settings given by name take precedence.

    Raises:
        ValueError: for an unsupported value.
        TypeError: for an unknown setting.
    """

    settings: GPUCBSettings
    settings_class = GPUCBSettings
    _takes_std = True

    @names_checked(GPUCBSettings)
    def __init__(
        self,
        space: Space | Arms | Mapping[str, Any] | None = None,
        *,
        arms: Arms | ArrayLike | None = None,
        direction: Direction | None = None,
        directions: Sequence[str] | None = None,
        constraints: Sequence[str] = (),
        n_initial: int | None = None,
        seed: _checks.Seed = None,
        avoid_repeats: AvoidRepeats | None = None,
        beta: Beta | None = None,
        settings: GPUCBSettings | None = None,
    ) -> None:
        settings = GPUCBSettings.of(settings, n_initial=n_initial, avoid_repeats=avoid_repeats, beta=beta)
        super().__init__(
            space,
            arms=arms,
            direction=direction,
            directions=directions,
            constraints=constraints,
            seed=seed,
            settings=settings,
            use_curves=settings.use_curves,
        )
        self._search = GPSearch(
            self.space.categorical,
            self.space.conditional,
            kernel=settings.kernel,
            acquisition=settings.acquisition,
            beta=settings.beta,
            trend=settings.trend,
            additive=settings.additive,
            winsorize=settings.winsorize,
            warp=settings.warp,
            goal=self._run.goal,
        )
        self._run.listen(self._search.outputs.objectives)

    def _propose(self) -> Suggestion:
        """The point that maximises the acquisition function, ``mu + beta sigma`` by default, on all observations."""
        return Suggestion(self._search.next_point(self._run, self._members(self._run)))

    @staticmethod
    def _members(run: Run) -> ObservationIndices:
        """All observations without copies."""
        return run.noise.distinct(np.arange(run.history.n))

    def _scores(self, run: Run, X: Array) -> Array:
        return self._search.copy().scores(run, self._members(run), X)

    def _view(self, run: Run) -> ModelView:
        return self._search.copy().view(run, self._members(run))

    def _model_state(self) -> dict[str, Any]:
        return {"global": self._search.state_dict()}

    def _restore_model(self, state: dict[str, Any]) -> None:
        self._search.restore(state["global"], self._run.history)
