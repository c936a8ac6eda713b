"""The search with an exact GP over the whole space: its candidates, and the view of its model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from numbo._plain import Kept
from numbo._settings import GPSettings
from numbo._types import Array, ObservationIndices
from numbo.kernels.acquisition import LOG_EI, UCB, Acquisition
from numbo.models.earlier import Sources
from numbo.models.moments import study_weights
from numbo.models.outputs import Outputs
from numbo.models.priors import VALUES
from numbo.models.surrogate import Surrogate
from numbo.models.view import ModelView
from numbo.run.candidates import CANDIDATES, elite_rows
from numbo.run.situation import Situation
from numbo.search.maximiser import STARTS, Maximiser
from numbo.search.utility import Utility
from numbo.spaces import INACTIVE, Corners, Domain
from numbo.trials import Data, Goal, best_first, scores_of

#: Up to this number of arms, all are candidates. Of more, this many random ones are, and those around the best.
ARMS = 2048
#: With several objectives: number of points of the front around which candidates lie, and number of candidates
#: anywhere.
FRONT_ELITES = 4
FRONT_SPREAD = 256
#: Number of candidates that differ from a point of the front in one coordinate; they stay as good in most objectives.
#: Without them searches of ZDT2 in 20 dimensions stayed at one end of the front for 200 trials.
FRONT_LINES = 256
#: Number of points on each line along a front, which differ so much from each observation in some coordinate: the model
#: may be conditioned on others.
ALONG = 128
APART = 0.02
#: Number of candidates where good values are believed to be.
BELIEVED = 128
#: One objective without constraints.
ONE = Goal(("maximize",))


class GPSearch(Kept):
    """Suggests the point that maximises an acquisition function of an exact GP over the whole space.

    Args:
        sources: the earlier studies that the models of the objectives learn from, for each objective; empty for none.

    Attributes:
        outputs: the global models.
    """

    _kept = ("outputs",)

    def __init__(self, space: Domain, settings: GPSettings, goal: Goal = ONE, sources: Sequence[Sources] = ()) -> None:
        self._kinds = space.categorical, space.conditional
        self._prior = VALUES.around(space.usual_lengthscales)
        self._settings = settings
        # winsorising could clip the values of a constraint across its limit 0
        limit = partial(self.new_surrogate, winsorize=False)
        self.outputs = Outputs(partial(self.new_surrogate, warp=settings.warp), limit, goal)
        for one, own in zip(self.outputs.objectives, sources, strict=False):
            one.gp.sources = own
        self.maximiser = Maximiser(settings, self.surrogate)

    @property
    def surrogate(self) -> Surrogate:
        """The model of the first objective."""
        return self.outputs.first

    def new_surrogate(self, **options: Any) -> Surrogate:
        """Another model with the same settings."""
        own = self._settings
        usual = {"kernel": own.kernel, "trend": own.trend, "additive": own.additive, "all_data": own.all_data}
        return Surrogate(*self._kinds, prior=self._prior, **({**usual, "winsorize": own.winsorize} | options))

    def prepared(self, run: Situation, size: int) -> Surrogate:
        """The global model without pending points, for choosing its next members.

        The first model of a long history is fitted to ``size`` evenly spaced observations.
        """
        history = run.history
        surrogate = self.surrogate
        if len(surrogate.members) == 0:
            even = np.linspace(0, history.n - 1, size).astype(np.int64)
            surrogate.update(history.data(), even)
            surrogate.fits.done(0)  # the next update fits again
        surrogate.release()
        return surrogate

    def update(self, run: Situation, members: ObservationIndices) -> Data:
        """Update the models; returns the data of the first objective."""
        history = run.history
        distinct = run.noise.distinct
        data = history.data()
        for j, (surrogate, noise) in enumerate(zip(self.outputs.objectives, run.noises, strict=True)):
            own = data if j == 0 else history.data(output=j)
            surrogate.update_all(own, members, lambda: distinct(np.arange(data.n)), noise)
        self.outputs.constraints.update(history, members)
        return data

    def next_point(
        self,
        run: Situation,
        members: ObservationIndices,
        *,
        among: Callable[[], Array] | None = None,
        ends: bool = False,
    ) -> Array | None:
        """The next point (d,) by a model on ``members`` of the history; None if none is left.

        It is the best of the whole space, or of the points (c, d) ``among`` which it is, which are made once the model
        is up to date. With ``ends``, one that moves an end of the front, where that is worth it.
        """
        models = self._updated(run, members)
        groups = self._candidates(run, members) if among is None else [among()]
        x = self.maximiser.best(
            run,
            models,
            groups,
            Corners.of_cube(run.space.d),
            starts=STARTS if among is None else 0,
            exploring=self.maximiser.exploring(run),
            ends=ends,
        )
        if x is None and among is not None:
            models.release()
        return x

    def beyond(self, run: Situation, members: ObservationIndices) -> Array | None:
        """A point (d,) along the front, between and beyond its pieces, if it may be worth it (`Maximiser.beyond`)."""
        models = self._updated(run, members)
        X = self._along(run)
        x = self.maximiser.beyond(run, models, X) if len(X) else None
        if x is None:
            models.release()
        return x

    def _along(self, run: Situation) -> Array:
        """Points (c, d) on lines through the ends of the front and some other points of it; none without a front.

        The lines are in those coordinates in which the front is longest, in lengthscales: of k objectives it is a
        surface of k - 1 dimensions.
        """
        rows = self.outputs.front_rows(run.history)
        X = run.history.X[rows]
        if len(X) == 0:
            return X
        length = np.where((X != INACTIVE).all(axis=0), np.std(X, axis=0) / self.outputs.lengthscales, 0.0)
        along = best_first(length)[: run.history.k - 1]
        along = along[length[along] > 0.0]
        if len(along) == 0:
            return X[:0]
        ends = np.argmax(run.history.outputs(rows), axis=0)
        others = run.rng.choice(len(X), min(len(X), FRONT_ELITES), replace=False)
        through = X[np.union1d(ends, others)]
        lines = run.candidates.lines
        points = np.concatenate([lines(x, run.rng, ALONG * len(along), along) for x in through])
        return points[[float(np.abs(run.history.X - x).max(axis=1).min()) >= APART for x in points]]

    def _updated(self, run: Situation, members: ObservationIndices) -> Outputs:
        """The models for the next suggestion.

        Fixed values may be far from the optimum, where the model of the search is imprecise.
        """
        with run.times.phase("model"):
            data = self.update(run, members)
            return self.outputs if run.available.fixed is None else self.outputs.shown(data)

    def _candidates(self, run: Situation, members: ObservationIndices) -> list[Array]:
        """Unseen points of a finite space, or a shifted Sobol set and perturbations of the best members.

        With many arms, these are random arms, and arms around the best members. With several objectives, random points
        of the front take the place of the best members.
        """
        X = run.history.X
        front = self.outputs.front_rows(run.history)
        if len(front):
            elites = X[run.rng.choice(front, min(len(front), FRONT_ELITES), replace=False)]
        else:
            elites = X[members[elite_rows(X[members], scores_of(run.history, members))]]
        if run.grid is not None:
            rows = run.available.rows()
            limit = ARMS if run.space.explicit else 2 * CANDIDATES
            few = len(rows) <= limit
            some = run.grid[rows if few else run.rng.choice(rows, limit, replace=False)]
            if len(rows) == 0:
                return [run.available.fix(run.grid[:1])]
            return [some] if few or not run.space.explicit else [run.space.neighbours(elites).X, some]
        candidates = run.candidates
        scales = self.outputs.lengthscales
        beliefs = run.space.beliefs
        believed = [] if beliefs is None else [run.space.snap(beliefs.drawn(candidates.spread(BELIEVED, run.rng)))]
        if not run.history.several:
            return candidates.groups(elites, scales, run.rng) + believed
        return [
            *candidates.groups(elites, scales, run.rng, FRONT_SPREAD),
            candidates.lines(elites[0], run.rng, FRONT_LINES),
            *believed,
        ]

    def lines(self, run: Situation) -> Array:
        """Points that differ in one coordinate from the best point by the model."""
        rows = self.surrogate.rows
        means = self.surrogate.means
        if run.history.constrained:
            met = self.outputs.constraints.met(run.history, rows)
            means = np.where(met, means, scores_of(run.history, rows))
        best = rows[np.argmax(means)]
        return run.candidates.lines(run.history.X[best], run.rng)

    def acquisition(self, run: Situation) -> Acquisition:
        """The acquisition function of the global model, which has to be up to date."""
        exploring = self.maximiser.exploring(run)
        return self.maximiser.acquisition(run, self.outputs, exploring=exploring)

    def _utility(self, run: Situation) -> Utility:
        """The utility that the next suggestion maximises."""
        if run.history.several:
            found = self.maximiser.improving(run, self.outputs)
        else:
            found = self.maximiser.of_one(run, self.outputs, self.acquisition(run))
        return found._replace(prior=run.prior())

    def scores(self, run: Situation, members: ObservationIndices, X: Array) -> Array:
        """The acquisition function (c,) at ``X (c, d)`` by a model on ``members`` of the history."""
        self.update(run, members)
        return self._utility(run).values(X)

    def view(self, run: Situation, members: ObservationIndices, buffer_size: int | None = None) -> ModelView:
        """The view of the model after updating it with ``members``; nothing may be pending in ``run``."""
        data = self.update(run, members)
        if not run.history.several:
            return self._view_of(self.surrogate, data, self.acquisition(run), run, buffer_size)
        success = Acquisition(LOG_EI, 0.0, run.success())
        pairs = [(one, run.history.data(output=j)) for j, one in enumerate(self.outputs.objectives)]
        views = [self._view_of(one, own, success, run, buffer_size) for one, own in pairs]
        return replace(views[0], others=tuple(views[1:]), improving=self._utility(run).values)

    def _view_of(
        self, surrogate: Surrogate, data: Data, acquisition: Acquisition, run: Situation, buffer_size: int | None
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
            studies=_studies(shown),
            unfitted=self.new_surrogate() if surrogate.all_data else None,
            constraints=self.outputs.constraints,
            feasible=run.history.any_feasible,
            costs=run.cost_terms(),
            prior=run.prior(),
        )


def _studies(surrogate: Surrogate) -> dict[str, float]:
    """The expected weights of earlier studies, by their names."""
    sources = surrogate.gp.sources
    if sources is None:
        return {}
    weights = study_weights(surrogate.posterior)
    return dict(zip(sources.names, weights.tolist() if len(weights) else [0.0] * len(sources), strict=True))
