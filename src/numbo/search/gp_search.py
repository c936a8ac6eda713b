"""The search with an exact GP: an acquisition function by its name, candidates, and one maximisation."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from numbo import _checks
from numbo._types import Array, Mask, ObservationIndices
from numbo.kernels.acquisition import LOG_EI, UCB, Acquisition, acquisition_values, predict
from numbo.models.gp import FAMILIES
from numbo.models.surrogate import Surrogate
from numbo.models.view import ModelView
from numbo.search.candidates import CANDIDATES, elite_rows
from numbo.search.maximize import maximize
from numbo.search.run import Run
from numbo.spaces import INACTIVE
from numbo.trials import History

ACQUISITIONS = ("ucb", "log_ei", "alternate")
#: Cycle length: with a local search, one suggestion in `TURN` is the global model's; and the acquisition functions
#: switch every `TURN` suggestions.
TURN = 4
STARTS = 3
#: Number of observations from which exploring suggestions lie on lines; before that the best point is not good enough.
LINES_FROM = 60
#: Share of the noise in the variance of the values above which no improvement is certain enough to be pursued.
STRONG_NOISE = 0.06


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
        warp: likewise, of the global model only.
        all_data: whether the posterior stands on all observations under noise, and on no more than members otherwise.
        coordinate_lines: whether, with ``"alternate"``, suggestions by UCB differ from the best point in one coordinate
            (coordinate LineBO, Kirschner et al. 2019): what is far away in all of them at once is hardly ever better.

    Attributes:
        surrogate: the global model.
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
        coordinate_lines: bool = False,
    ) -> None:
        self._kinds = categorical, optional
        self._settings: dict[str, Any] = {
            "kernel": _checks.one_of("kernel", kernel, FAMILIES),
            "trend": _checks.flag("trend", trend),
            "additive": _checks.flag("additive", additive),
            "winsorize": _checks.flag("winsorize", winsorize),
            "all_data": _checks.flag("all_data", all_data),
        }
        self._coordinate_lines = _checks.flag("coordinate_lines", coordinate_lines)
        self._acquisition = _checks.one_of("acquisition", acquisition, ACQUISITIONS)
        self._beta = _checks.number_or(("log",), "beta", beta)
        self.surrogate = self.new_surrogate(warp=_checks.flag("warp", warp))

    def new_surrogate(self, **options: Any) -> Surrogate:
        """Another model with the same settings."""
        categorical, optional = self._kinds
        return Surrogate(categorical, optional, **self._settings, **options)

    def acquisition(self, run: Run, surrogate: Surrogate) -> Acquisition:
        """The acquisition function for a surrogate.

        What an expected improvement has to improve on is the best posterior mean at an observed point: the best value
        itself, less what the model attributes to noise (Picheny et al. 2013 compare such rules). Pending points count
        as observed with the value that is expected there (the kriging believer of Ginsbourger et al. 2010): where the
        model expects more than has been seen, a batch would otherwise go there again and again.
        """
        kind = self._acquisition
        if kind == "alternate":
            exploring = surrogate is self.surrogate and self._exploring(run)
            exploring |= self._strong_noise(run)
            kind = "ucb" if exploring and run.available.fixed is None else "log_ei"
        success = run.success()
        if kind == "log_ei":
            return Acquisition(LOG_EI, surrogate.best_mean, success)
        beta = self._beta
        if beta == "log":
            beta = math.sqrt(0.2 * run.space.d * math.log(2.0 * max(run.history.n, 1)))
        return Acquisition(UCB, float(beta), success, float(surrogate.means.min()))

    def _strong_noise(self, run: Run) -> bool:
        """Whether noise is so strong that no improvement is certain enough to be pursued, where the model averages."""
        claimed = self.surrogate.claimed_noise
        return self.surrogate.averages(run.noise) and claimed is not None and claimed > STRONG_NOISE

    def _exploring(self, run: Run) -> bool:
        """Whether it is the global model's turn to explore, where it has turns."""
        return self._acquisition == "alternate" and (run.step // TURN) % 2 == 0 and run.available.fixed is None

    def best(
        self,
        run: Run,
        surrogate: Surrogate,
        groups: Sequence[Array],
        lower: Array,
        upper: Array,
        starts: int = STARTS,
    ) -> Array | None:
        """The best point (d,) in a box given all pending points, from groups of candidates; ``None`` if none is left.

        Pending points stay hallucinated in ``surrogate`` until its next update.

        Args:
            run: what is known.
            surrogate: a model that is up to date.
            groups, starts: as `numbo.search.maximize.maximize`.
            lower, upper: corners (d,) of the box.
        """
        available = run.available
        with run.times.phase("search"):
            alone, dormant = surrogate.posterior if run.history.pending else None, run.dormant(run.rng)
            surrogate.hold(run.history.pending_points())
            if available.repeating and not run.box.continuous.any():  # nothing is as near as the point itself
                groups = [*groups, _again(run.history.X, surrogate, lower, upper)]
            groups = [available.fix_points(group, dormant) for group in groups]
            acquisition = self.acquisition(run, surrogate)
            if available.fixed is not None and acquisition.kind == LOG_EI:
                # improve on the best mean among the candidates of its slice
                mean = predict(surrogate.posterior, np.concatenate(groups))[0]
                acquisition = acquisition._replace(parameter=float(mean.max()))
            return maximize(
                surrogate.posterior,
                acquisition,
                run.box,
                groups,
                available.fix(lower),
                available.fix(upper),
                available.taken,
                starts=starts,
                alone=alone,
                dormant=dormant,
            )

    def _update(self, run: Run, y: Array, members: ObservationIndices) -> None:
        history = run.history
        self.surrogate.update_all(history.X, y, members, lambda: np.arange(history.n), run.noise)

    def next_point(self, run: Run, members: ObservationIndices) -> Array:
        """The next point (d,) by a model on ``members`` of the history, over the whole space."""
        history, d = run.history, run.space.d
        y = history.values()
        with run.times.phase("model"):
            self._update(run, y, members)
            # a slice may lie far from the optimum, where the model of the search discriminates poorly
            model = self.surrogate if run.available.fixed is None else self.surrogate.shown(history.X, y)
        x, lower, upper = None, np.zeros(d), np.ones(d)
        if self._coordinate_lines and run.grid is None and history.n >= LINES_FROM and self._exploring(run):
            x = self.best(run, model, [self._lines(run)], lower, upper, starts=0)
            model.release()
        if x is None:
            x = self.best(run, model, self._candidates(run, members, y), lower, upper)
        return run.space_filling() if x is None else x

    def _candidates(self, run: Run, members: ObservationIndices, y: Array) -> list[Array]:
        """Unseen points of a finite space, or a shifted Sobol set and perturbations of the best members."""
        if run.grid is not None:
            rows = run.available.rows()
            if len(rows) > 2 * CANDIDATES:
                rows = run.rng.choice(rows, 2 * CANDIDATES, replace=False)
            return [run.grid[rows] if len(rows) else run.available.fix(run.grid[:1])]
        elites = run.history.X[members[elite_rows(run.history.X[members], y[members])]]
        return run.design.starts.groups(elites, self.surrogate.gp.hyperparameters.lengthscales, run.rng)

    def _lines(self, run: Run) -> Array:
        """Points that differ in one coordinate from the point that is best by the model."""
        best = self.surrogate.rows[np.argmax(self.surrogate.means)]
        return run.design.starts.lines(run.history.X[best], run.rng)

    def scores(self, run: Run, members: ObservationIndices, X: Array) -> Array:
        """The acquisition function (c,) at ``X (c, d)`` by a model on ``members`` of the history."""
        self._update(run, run.history.values(), members)
        values: Array = acquisition_values(self.surrogate.posterior, self.acquisition(run, self.surrogate), X)
        return values

    def copy(self) -> GPSearch:
        """The same search with a model of its own."""
        twin = copy.copy(self)
        twin.surrogate = copy.deepcopy(self.surrogate)
        return twin

    def view(self, run: Run, members: ObservationIndices, buffer_size: int | None = None) -> ModelView:
        """The view of the model after updating it with ``members``; nothing may be pending in ``run``."""
        history, y = run.history, run.history.values()
        self._update(run, y, members)
        shown, acquisition = self.surrogate.shown(history.X, y), self.acquisition(run, self.surrogate)
        return ModelView(
            posterior=shown.posterior,
            transform=shown.transform,
            searched=self.surrogate.posterior,
            acquisition=acquisition,
            members=shown.members,
            lengthscales=shown.gp.hyperparameters.lengthscales,
            noise_std=shown.noise_std,
            beta=acquisition.parameter if acquisition.kind == UCB else None,
            buffer_size=buffer_size,
            sparse=shown.sparse,
            calibration=shown,
            unfitted=self.new_surrogate() if self.surrogate.all_data else None,
        )

    def state_dict(self) -> dict[str, Any]:
        return self.surrogate.state_dict()

    def restore(self, run: Run, state: dict[str, Any]) -> None:
        """Take in a `state_dict`."""
        restore_surrogate(run.history, self.surrogate, state)


def _again(X: Array, surrogate: Surrogate, lower: Array, upper: Array) -> Array:
    """The best observed points (s, d) of ``X (n, d)`` by the model that lie in a box, which may be measured again."""
    best = X[surrogate.rows[np.argsort(-surrogate.means, kind="stable")[:STARTS]]]
    out: Array = best[np.all((best >= lower) & (best <= upper) | (best == INACTIVE), axis=1)]
    return out


def restore_surrogate(history: History, surrogate: Surrogate, state: dict[str, Any]) -> None:
    """Restore a surrogate from its state: it was conditioned on members of the first ``updated_at`` observations."""
    surrogate.restore(state, history.X, history.values(state["updated_at"]))
