"""What the optimizers on an exact GP share: settings, candidates, and one step of the acquisition."""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numbo import _checks
from numbo.arms import Arms
from numbo.kernels.acquisition import LOG_EI, UCB, Acquisition, acquisition_values, predict
from numbo.models.gp import FAMILIES
from numbo.optimizers._base import GLOBAL, Optimizer
from numbo.optimizers._candidates import CANDIDATES, ELITES
from numbo.optimizers._search import maximize
from numbo.optimizers._surrogate import Surrogate
from numbo.space import Space

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

ACQUISITIONS = ("ucb", "log_ei", "alternate")
#: Suggestions in a turn. One of them is the global model's, where there is a local search too; and the acquisition
#: functions alternate by the turn.
TURN = 4
STARTS = 3


class GPOptimizer(Optimizer):
    """An `Optimizer` whose next point maximises an acquisition function of an exact GP.

    Args:
        kernel: ``"matern52"``, ``"matern32"`` or ``"rbf"``.
        acquisition: ``"ucb"`` (mean + beta * standard deviation), ``"log_ei"`` (log expected improvement), or
            ``"alternate"``: log EI, with which the global model takes turns with UCB. EI is greedy where the model is
            sure of itself, and UCB leaves what EI is stuck in.
        beta: the multiplier of UCB, or ``"log"`` for ``sqrt(0.2 d log(2 t))`` (Kandasamy et al. 2015, section 4).
        trend, additive: whether the covariance has a linear and quadratic trend, and a part in which every coordinate
            has an effect of its own (`numbo.kernels.covariance`).
        winsorize: whether outliers on the bad side are clipped where the model then predicts better.
        warp: whether the global model sees the logarithm of the gap to the best value where it then predicts better
            (`numbo.models.OutputTransform`).
    """

    _shown: Surrogate  # of a double that is looked at

    def __init__(
        self,
        space: Space | Mapping[str, Any],
        *,
        kernel: str = "matern52",
        acquisition: str = "ucb",
        beta: float | str = 2.0,
        trend: bool = False,
        additive: bool = False,
        winsorize: bool = False,
        warp: bool = False,
        **options: Any,
    ) -> None:
        if isinstance(space, Arms):
            raise ValueError(
                f"{type(self).__name__} searches a space, got {space!r}: over arms take BBKB, BKB or SBPE."
            )
        super().__init__(space, **options)
        self.kernel = _checks.one_of("kernel", kernel, FAMILIES)
        self.acquisition = _checks.one_of("acquisition", acquisition, ACQUISITIONS)
        self.beta = _checks.number_or(("log",), "beta", beta)
        self.trend, self.additive = _checks.flag("trend", trend), _checks.flag("additive", additive)
        self.winsorize, self.warp = _checks.flag("winsorize", winsorize), _checks.flag("warp", warp)
        self._global = self._surrogate(warp=warp)

    def _surrogate(self, **options: Any) -> Surrogate:
        return Surrogate(
            self.space.categorical,
            kernel=self.kernel,
            trend=self.trend,
            additive=self.additive,
            winsorize=self.winsorize,
            **options,
        )

    def _acquisition(self, surrogate: Surrogate) -> Acquisition:
        """The acquisition function for a surrogate.

        What an expected improvement has to improve on is the best posterior mean at an observed point: the best value
        itself, less what the model takes for noise (Picheny et al. 2013 compare such rules). Pending points count as
        observed with the value that is expected there (the kriging believer of Ginsbourger et al. 2010): where the
        model expects more than has been seen, a batch would otherwise go there again and again.
        """
        kind = self.acquisition
        if kind == "alternate":
            turn = (self._history.told + len(self._history.pending)) // TURN
            exploring = surrogate is self._global and turn % 2 == 0 and self._pinned is None
            kind = "ucb" if exploring else "log_ei"
        success = self._success()
        if kind == "log_ei":
            return Acquisition(LOG_EI, surrogate.gp.best_mean, success)
        beta = self.beta
        if beta == "log":
            beta = math.sqrt(0.2 * self.space.d * math.log(2.0 * max(self._history.n, 1)))
        return Acquisition(UCB, float(beta), success, float(surrogate.gp.fitted_means.min()))

    def _step(self, surrogate: Surrogate, groups: Sequence[Array], lower: Array, upper: Array) -> Array | None:
        """Maximise the acquisition with all pending points hallucinated; ``None`` if nothing is left to propose."""
        with self._times.phase("search"):
            alone = surrogate.gp.posterior if self._history.pending else None
            surrogate.hold(self._history.pending_points())
            groups, acquisition = [self._pin(group) for group in groups], self._acquisition(surrogate)
            if self._pinned is not None and acquisition.kind == LOG_EI:  # improve on what its slice offers
                mean = predict(surrogate.gp.posterior, np.concatenate(groups))[0]
                acquisition = acquisition._replace(parameter=float(mean.max()))
            return maximize(
                surrogate.gp.posterior,
                acquisition,
                self.space,
                groups,
                self._pin(lower),
                self._pin(upper),
                self.taken,
                starts=STARTS,
                alone=alone,
            )

    def _propose_from(self, members: Indices) -> Array:
        """The next point by a model on ``members`` of the history, over the whole space."""
        history = self._history
        y = history.values()
        with self._times.phase("model"):
            self._global.update(history.X, y, members)
            # a slice may lie far from the optimum, where the model of the search tells little apart
            model = self._global if self._pinned is None else self._global.shown(history.X, y)
        d = self.space.d
        x = self._step(model, self._candidates(members, y), np.zeros(d), np.ones(d))
        return self._space_filling() if x is None else x

    def _candidates(self, members: Indices, y: Array) -> list[Array]:
        """Unseen points of a finite space, or a shifted Sobol set and perturbations of the best members."""
        if self._grid is not None:
            rows = self._free_rows()
            if len(rows) > 2 * CANDIDATES:
                rows = self._rng.choice(rows, 2 * CANDIDATES, replace=False)
            return [self._grid[rows] if len(rows) else self._pin(self._grid[:1])]
        elites = self._history.X[members[np.argsort(-y[members], kind="stable")[:ELITES]]]
        return self._starts.groups(elites, self._global.gp.hyperparameters.lengthscales, self._rng)

    def _model_state(self) -> dict[str, Any]:
        return {"global": self._global.state_dict()}

    def _restore_model(self, state: dict[str, Any]) -> None:
        self._restore_surrogate(self._global, state["global"])

    def _restore_surrogate(self, surrogate: Surrogate, state: dict[str, Any]) -> None:
        surrogate.restore(state, self._history.X, self._history.values(state["updated_at"]))

    @abstractmethod
    def _members(self) -> Indices:
        """Indices of the observations that the global model is conditioned on."""

    def _propose(self) -> tuple[Array, int]:
        return self._propose_from(self._members()), GLOBAL

    def _bring_up_to_date(self) -> None:
        self._global, self._feasibility = copy.deepcopy((self._global, self._feasibility))
        self._global.update(self._history.X, self._history.values(), self._members())
        self._shown = self._global.shown(self._history.X, self._history.values())

    def _predict(self, X: Array) -> tuple[Array, Array]:
        return self._shown.predict(X)

    def _at_observations(self) -> tuple[Array, Array]:
        mean, std = self._shown.predict(self._history.X)
        std[self._shown.members] = 0.0
        return mean, std

    def _acquire(self, X: Array) -> Array:
        values: Array = acquisition_values(self._global.gp.posterior, self._acquisition(self._global), X)
        return values

    def _describe(self) -> dict[str, Any]:
        found, scale = self._shown.gp.hyperparameters, self._shown.transform.scale
        acquisition = self._acquisition(self._global)
        return {
            "members": self._history.order_of(self._shown.members),
            "lengthscales": dict(zip(self.parameter_names, found.lengthscales.tolist(), strict=True)),
            "noise_std": math.sqrt(found.noise_variance) * scale,
            "beta": acquisition.parameter if acquisition.kind == UCB else None,
        }
