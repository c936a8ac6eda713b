"""Which observed point is the best: the prediction of a model at each, corrected by the values observed there.

A model attributes everything that it cannot explain to noise, ``noise_seen^2``. This includes the noise of the
measurements, but also variation of the objective on scales too fine for the model, or missed because the model uses a
subset. Only the noise of measurements should be averaged away. So an observation is modelled as
``mean + misfit + noise``. Given the mean ``y`` of ``c`` values at a point, the expected objective there is

    mean + latent / (latent + noise^2 / c) (y - mean)        latent = unexplained + noise_seen^2 - noise^2

where ``unexplained`` is the variance at the point that the model cannot explain. It is 0 if the model is conditioned on
the value. If not, it is the posterior variance (the formula is then the exact update by one more observation). In a
sparse model it is ``k - z^T z`` (as in FITC, Quinonero-Candela & Rasmussen 2005). Without noise, the result is the
observed value. With noise and a model that explains everything else, it is the posterior mean.

The noise is estimated where it matters, from the observations around the best one, which are close together.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Collection
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from numbo import _checks
from numbo._rows import distinct_rows
from numbo._types import Array, Mask, ObservationIndices
from numbo.inspection.predictions import Predictions
from numbo.inspection.tolerance import tolerated
from numbo.kernels.acquisition import UCB, Acquisition, Term, acquisition_values
from numbo.models.moments import Prediction, moments
from numbo.models.noise import ODDS, Noise
from numbo.models.outputs import Outputs
from numbo.models.surrogate import Surrogate
from numbo.models.transform_choice import transformed
from numbo.models.view import ModelView
from numbo.run.candidates import elite_rows
from numbo.run.situation import Situation
from numbo.search.maximize import Box, maximize
from numbo.search.near import LastNearest, condition_near
from numbo.search.utility import Utility
from numbo.spaces import INACTIVE, Corners, Domain
from numbo.trials import History, best_first, point_key, scores_of
from numbo.trials.front import NonDominated, front_rows
from numbo.trials.points import identities

#: The noise is estimated from the half of the observations nearest to the best one, within these numbers.
NEAREST = (32, 64)
#: A smaller noise variance counts as no noise; in units of the variance of these values.
NO_NOISE = 1e-6
#: Maximum number of observations that a model for a recommendation is fitted to.
RECOMMENDED_BY = 384
#: Number of starting points of each kind in the search for the optimum of the model.
OPTIMUM_STARTS = 8
#: Upper limit of ratios of standard deviations, as their squares have to be finite.
HUGE = 1e100

#: An unobserved point is recommended only if it meets all constraints with at least this log probability.
ASSURED = math.log(0.9)
#: Recommendations are cautious if the share of noise in the variance that the model cannot explain is at least this.
NOISE_PREVAILS = 0.25


def noise_near_best(space: Domain, history: History) -> float:
    """Standard deviation of the noise around the best observation, 0 if the data show no evidence of noise.

    It is at least the noise that repeats show anywhere in the space (`Noise.scatter`).
    """
    known = Noise(history)
    models = Outputs.of_one(
        Surrogate(space.categorical, space.conditional, kernel="matern52", trend=True, additive=False, winsorize=True)
    )
    surrogate = models.first
    data = history.data()
    size = int(np.clip((history.n - len(known.copies)) // 2, *NEAREST))
    condition_near(models, history, [known], history.best, size, LastNearest.of_none())
    gp = surrogate.gp
    targets = transformed(data.at(surrogate.members), surrogate.transform)
    if gp.covariance.noise_variance <= NO_NOISE:
        return known.scatter
    noise = surrogate.noise_std
    with_noise = gp.log_posterior(gp.theta, np.ascontiguousarray(targets.X.T), targets.y, targets.variance)
    established = with_noise.value - gp.fit(*targets, noise=NO_NOISE) > math.log(ODDS)
    return max(noise if established else 0.0, known.scatter)


def recommending_view(history: History, noise: Noise, view: ModelView) -> ModelView:
    """The view of a model of up to `RECOMMENDED_BY` observations: the best ones by ``view``, and a random sample.

    A search can afford only a small subset, but a recommendation is made once.
    """
    data = history.data()
    rows = noise.distinct(np.arange(history.n))
    if view.unfitted is None or len(rows) <= len(view.members):
        return view
    order = rows[best_first(view.mean_sd(data.X[rows]).mean)]
    best = min(len(rows), RECOMMENDED_BY) // 4
    others = np.random.default_rng(0).permutation(order[best:])[: RECOMMENDED_BY - best]
    model = copy.deepcopy(view.unfitted)
    members = np.sort(np.concatenate([order[:best], others]))
    model.update_all(data, members, lambda: rows, noise)
    return replace(
        view,
        posterior=model.posterior,
        transform=model.transform,
        members=model.members,
        lengthscales=model.gp.lengthscales,
        noise_std=model.noise_std,
        sparse=model.sparse,
    )


def optimum(run: Situation, view: ModelView, scores: Array) -> Array | None:
    """The point (d,) of the space with the largest posterior mean less one standard deviation.

    The mean alone would not do: its maximum over many points without a measurement is biased upwards.

    If points may fail, a point with probability p of success counts as p times its value plus 1 - p times the worst
    value that the model expects of an observation. None if no point may be suggested.

    Args:
        run: a run with nothing pending.
        view: the model.
        scores: (n,) of the observations; the search is densest around the best ones.
    """
    X = run.history.X
    rng = np.random.default_rng(0)
    worst = float(moments(view.posterior, X).mean.min())
    acquisition = Acquisition(UCB, -1.0, view.acquisition.success, worst)
    if run.grid is not None:
        free = run.available.rows(anyhow=True)
        values = acquisition_values(view.posterior, acquisition, run.grid[free])
        values = values + view.constraints.log_probability(run.grid[free])
        return run.grid[free[np.argmax(values)]] if len(free) else None
    groups = run.around(X[elite_rows(X, scores)], view.lengthscales, rng)
    box = Box(run.available, Corners.of_cube(run.space.d), run.dormant(rng))
    if run.history.constrained and not run.history.any_feasible:
        return None
    utility = Utility(view.constraints.weigh(Term(view.posterior, acquisition), feasible=True))
    return maximize(utility, box, groups, run.available.barred, starts=OPTIMUM_STARTS)


def expected_values(
    history: History, mean: Array, unexplained: Array, noise_seen: float, noise: float, copies: ObservationIndices
) -> Array:
    """The expected objective (n,) at each observation, given the model and all values at the same point.

    If a value was told with a variance, it is the model's mean, since the model knows the variance.

    Args:
        history: ``n`` observations.
        mean: (n,) by the model.
        unexplained: (n,) square root of the unexplained variance.
        noise_seen: standard deviation of everything that the model attributes to noise.
        noise: the part of it that is noise of measurements.
        copies: observations that do not count.
    """
    y = history.values()
    uncertain = history.variance > 0.0
    if not noise_seen > 0.0:
        return np.where(uncertain, mean, y)
    averages, counts = _averages(history, copies, noise)
    certain = min(noise / noise_seen, 1.0) ** 2
    latent = np.minimum(unexplained / noise_seen, HUGE) ** 2 + 1.0 - certain
    own = latent / (latent + certain / counts)
    return np.where(uncertain, mean, (1.0 - own) * mean + own * averages)


def with_own_values(
    history: History, found: Prediction, others: Mask, noise: float, copies: ObservationIndices
) -> Prediction:
    """What is expected (n,) at each observation, given its own values as well.

    Args:
        history: ``n`` observations.
        found: (n,) by a model.
        others: (n,) observations that the model is not conditioned on.
        noise: standard deviation of the noise, above 0.
        copies: observations that do not count.
    """
    averages, counts = _averages(history, copies, noise)
    latent = np.where(others, found.std / noise, 0.0) ** 2
    own = latent / (latent + 1.0 / counts)
    return Prediction((1.0 - own) * found.mean + own * averages, found.std * np.sqrt(1.0 - own))


def _averages(history: History, copies: ObservationIndices, noise: float) -> tuple[Array, Array]:
    """The mean (n,) of all values but ``copies`` at the point of each observation, and their number (n,).

    A value with a variance in addition to the ``noise`` counts as less than one value; without noise, as nearly none.
    """
    _, point = distinct_rows(identities(history.X))
    weights = np.ones(history.n)
    if (uncertain := history.variance > 0.0).any():
        with np.errstate(over="ignore"):
            ratio = np.sqrt(history.variance[uncertain]) / max(noise, np.finfo(float).tiny)
        weights[uncertain] = 1.0 / (1.0 + np.minimum(ratio, HUGE) ** 2)
    weights[copies] = 0.0
    counts: Array = np.bincount(point, weights).astype(np.float64)
    averages: Array = np.bincount(point, history.values() * weights) / counts
    return averages[point], counts[point]


class Recommendations:
    """What is expected of each successful observation of a run, given its own values as well.

    Args:
        predictions: of the run.
    """

    def __init__(self, predictions: Predictions) -> None:
        self._predictions = predictions
        self._run = predictions.run
        self._history = predictions.run.history

    def best(self, having: Collection[str], *, anywhere: bool, tolerance: Any) -> tuple[Any, float] | None:
        """The point with the best expected value (`numbo.inspection.Snapshot.best_predicted`)."""
        _checks.flag("anywhere", anywhere)
        history = self._history
        rows = self.rows(having)
        if history.several:
            raise ValueError(f"There is no best point of {history.k} objectives: see front().")
        if self._predictions.view is None or not len(rows):
            return None
        rows = rows[self.met[rows]]
        if not len(rows):
            return None
        if tolerance is not None:
            return tolerated(self._predictions, self._model, rows, tolerance, anywhere=anywhere)
        i = int(rows[np.argmax(self.assured[rows])])
        if anywhere and (x := self._optimum) is not None:
            mean, std = self._predictions.widened(self._model, x[None])
            met = self._predictions.view.constraints.log_probability(x[None])[0] > ASSURED
            if met and mean[0] - std[0] > self.assured[i]:
                return self._run.space.decode(x), self._run.goal.value(float(mean[0]))
        same = point_key(history.X[i]) == point_key(history.X[history.best])
        return history.params(history.best if same else i), self._run.goal.value(float(self._value[i]))

    def rows(self, having: Collection[str]) -> ObservationIndices:
        """The successful observations ``having`` these conditional dimensions."""
        columns = [self._run.space.names.index(name) for name in having]
        return np.flatnonzero((self._history.X[:, columns] != INACTIVE).all(axis=1))

    @cached_property
    def met(self) -> Mask:
        """Which successful observations (n,) meet all constraints; if values are noisy, by the models."""
        view = self._predictions.model("best_predicted")
        return view.constraints.met(self._history, np.arange(self._history.n))

    @cached_property
    def _optimum(self) -> Array | None:
        """The point (d,) of the whole space with the largest mean less one standard deviation."""
        return optimum(self._run, self._model, self.assured)

    @property
    def final(self) -> ObservationIndices:
        """The observations that meet all constraints and have their final values."""
        history = self._history
        return np.flatnonzero(self.met & history.final)

    @cached_property
    def settled(self) -> Array:
        """The values (n, k) of the observations: those told, or the models' means where values are noisy."""
        return np.stack([self._settled(j) for j in range(self._history.k)], axis=1)

    def _settled(self, objective: int) -> Array:
        noise = self._run.noises[objective]
        if not noise.found:
            return self._history.output(objective)
        view = self._predictions.views("front")[objective]
        mean, unexplained = view.at_observations(self._history.X)
        own = self._history.of_output(objective)
        return expected_values(own, mean, unexplained, view.noise_std, view.noise_std, noise.copies)

    @property
    def front(self) -> NonDominated:
        """The front (f,) by the settled values of the final points; the best of the first objective comes first."""
        rows = self.final
        rows = rows[front_rows(self.settled[rows])]
        return NonDominated(rows, self.settled[rows])

    @cached_property
    def _noise(self) -> float:
        """Standard deviation of the noise around the best observation."""
        view = self._predictions.model("best_predicted")
        if view.noise_is_given:
            return view.noise_std
        return 0.0 if self._run.noise.refuted else noise_near_best(self._run.space, self._history)

    @cached_property
    def _model(self) -> ModelView:
        """The model for recommendations; without noise the usual model, as recommendations hardly depend on it."""
        view = self._predictions.model("best_predicted")
        return recommending_view(self._history, self._run.noise, view) if self._noise > 0.0 else view

    @cached_property
    def expected(self) -> Array:
        """The expected value (n,) of each successful observation."""
        view = self._model
        mean, unexplained = view.at_observations(self._history.X)
        copies = self._run.noise.copies
        return expected_values(self._history, mean, unexplained, view.noise_std, self._noise, copies)

    @cached_property
    def assured(self) -> Array:
        """The criterion (n,) that a recommendation maximises, at each successful observation.

        The maximum of many noisy estimates is biased upwards. So if the variance that the model cannot explain is
        mostly noise, or a value was told with a variance, it is the mean less one standard deviation.
        """
        uncertain = self._history.variance > 0.0
        if not (self._cautious or uncertain.any()):
            return self.expected
        return self._value - self._predicted.std * (uncertain | self._cautious)

    @cached_property
    def _predicted(self) -> Prediction:
        """Mean and standard deviation (n,) at each successful observation, given its own values as well."""
        view = self._model
        found = view.mean_sd(self._history.X)
        if view.sparse is not None:  # conditioned on all of them
            return found
        copies = self._run.noise.copies
        others = np.ones(self._history.n, dtype=bool)
        others[view.members] = False
        others[copies] = False
        return with_own_values(self._history, found, others, view.noise_std, copies)

    @property
    def _value(self) -> Array:
        """The value (n,) to report for each successful observation; the predicted mean if `_cautious`."""
        return self._predicted.mean if self._cautious else self.expected

    @cached_property
    def _cautious(self) -> bool:
        """Whether the variance that the model cannot explain is mostly noise."""
        return self._noise > math.sqrt(NOISE_PREVAILS) * self._model.noise_std

    def woken(self, X: Array) -> Array:
        """Points ``X (c, d)`` made to satisfy the conditions; new coordinates are those of the best observation."""
        space = self._run.space
        best = best_first(np.where(self.met, self.expected, scores_of(self._history)))
        observed = self._history.X[best]
        first = np.argmax(observed != INACTIVE, axis=0)
        values: Array = observed[first, np.arange(space.d)]
        return space.snap(X, np.where(values == INACTIVE, 0.5, values)[None])
