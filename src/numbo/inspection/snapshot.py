"""A copy of an optimizer's knowledge at one moment, for inspection."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, overload

import numpy as np

from numbo import _checks
from numbo._interrupts import interrupts_get_out
from numbo._plain import copied
from numbo._types import Array, Mask, ObservationIndices
from numbo.inspection.beyond import beyond
from numbo.inspection.explanation import SAMPLES, Explanation, relevance
from numbo.inspection.fronts import hypervolumes, reference_of
from numbo.inspection.hints import hints_of
from numbo.inspection.learning_curve import LearningCurve, curves_of
from numbo.inspection.recommendation import (
    at_observations,
    expected_values,
    noise_near_best,
    optimum,
    recommending_view,
)
from numbo.inspection.remaining import Prospects, Remaining, TooEarly
from numbo.inspection.spending import Spending
from numbo.inspection.tolerance import tolerated
from numbo.inspection.variation import Variation
from numbo.kernels.acquisition import CERTAIN, success_probabilities
from numbo.models.moments import Prediction, moments
from numbo.models.transforms import LARGEST
from numbo.models.view import ModelView
from numbo.run.failures import failing_place
from numbo.run.situation import Situation
from numbo.run.times import AskTimes
from numbo.search.fewer import changed
from numbo.search.trust_region import Region
from numbo.spaces import INACTIVE, Condition
from numbo.trials import best_first, own, point_key, scores_of
from numbo.trials.front import NonDominated, best_of_first, front_rows, non_dominated, thinned

#: An unobserved point is recommended only if it meets all constraints with at least this log probability.
ASSURED = math.log(0.9)
#: Recommendations are cautious if the share of noise in the variance that the model cannot explain is at least this.
NOISE_PREVAILS = 0.25
#: For how many more trials an explanation says what they would bring.
AHEAD = 50


class _Optimum(NamedTuple):
    """A point ``x (d,)``, its mean, and this less one standard deviation."""

    x: Array
    mean: float
    assured: float


class Snapshot:
    """The data and the model of an optimizer at one moment. It can be queried later, and from another thread.

    Args:
        algorithm: name of the optimizer.
        run: a copy of the optimizer's run, with its pending points.
        view: the model of all observations; None before the first success.
        region: the trust region, if there is one.
        times: of the optimizer.
    """

    def __init__(
        self, algorithm: str, run: Situation, view: ModelView | None, region: Region | None, times: AskTimes
    ) -> None:
        self.algorithm = algorithm
        self._run = run
        self._space = run.space
        self._history = run.history
        self._goal = run.goal
        self._view = view
        self._region = region
        self._times = copied(times)

    @property
    def space(self) -> Any:
        """The searched domain: a `Space`, or `Arms`."""
        return self._space

    def _model(self, what: str) -> ModelView:
        if self._view is None:
            raise ValueError(f"{what} needs at least one successful observation; tell one first.")
        return self._view

    @overload
    def predict(self, params: Mapping[str, Any] | int) -> tuple[float, float]: ...
    @overload
    def predict(self, params: Sequence[Any]) -> tuple[Array, Array]: ...
    @interrupts_get_out()
    def predict(self, params: Any) -> tuple[Any, Any]:
        """Posterior mean and standard deviation of the objectives (`numbo.optimizers.Optimizer.predict`)."""
        views = self._views("predict")
        one = isinstance(params, Mapping) or np.ndim(params) == 0
        X = self._encoded([params] if one else params)
        found = [self._predict(view, j, X) for j, view in enumerate(views)]
        if not self._history.several:
            mean = found[0].mean
            std = found[0].std
            return (float(mean[0]), float(std[0])) if one else (mean, std)
        mean = np.stack([own.mean for own in found], axis=1)
        std = np.stack([own.std for own in found], axis=1)
        return (mean[0], std[0]) if one else (mean, std)

    def _predict(self, view: ModelView, objective: int, X: Array) -> Prediction:
        """Mean and standard deviation (c,) of an ``objective`` at ``X (c, d)``."""
        found = self._widened(view, X)
        mean = found.mean
        if self._run.noises[objective].refuted:  # repeats show no noise: measured values are exact
            told = np.array([self._history.first.get(point_key(x), -1) for x in X], dtype=np.int64)
            mean = np.where(told >= 0, self._history.values(output=objective)[told], mean)
        return Prediction(self._goal.values(mean, objective), found.std)

    def _widened(self, view: ModelView, X: Array) -> Prediction:
        """`ModelView.mean_sd` at ``X (c, d)``, with larger deviations where the model is too sure."""
        found = view.mean_sd(X)
        with np.errstate(over="ignore"):
            return self._unsure(view, X, found._replace(std=np.minimum(view.widening * found.std, LARGEST)))

    def _unsure(self, view: ModelView, X: Array, found: Prediction) -> Prediction:
        """What was ``found`` at ``X (c, d)``, at least as uncertain as values are that were not tried."""
        if view.noise_is_given:  # and the covariance, too
            return found
        unknown = self._variation.unknown(X)
        if not unknown.any():
            return found
        latent = moments(view.posterior, X)
        least = view.transform.backward(latent.mean, np.sqrt(unknown)).std
        return found._replace(std=np.maximum(found.std, least))

    @cached_property
    def _variation(self) -> Variation:
        """Which parameters were varied."""
        return Variation(self._history.X, self._space)

    def _views(self, what: str) -> list[ModelView]:
        """The models of all objectives."""
        view = self._model(what)
        return [view, *view.others]

    @interrupts_get_out()
    def front(self) -> list[tuple[Any, tuple[float, ...]]]:
        """The points that no other point dominates, with their values (`numbo.optimizers.Optimizer.front`)."""
        if self._view is None:
            return []
        rows, values = self._front
        return list(zip(map(self._history.params, rows.tolist()), self._told(values), strict=True))

    @property
    def _front(self) -> NonDominated:
        """The front by the expected values of points; the best of the first objective comes first."""
        history = self._history
        rows = self._final
        values = np.stack([self._settled(j) for j in range(history.k)], axis=1)
        rows = rows[front_rows(values[rows])]
        return NonDominated(rows, values[rows])

    @property
    def _final(self) -> ObservationIndices:
        """The observations that meet all constraints and have their final values."""
        history = self._history
        return np.flatnonzero(self._met & history.final)

    def _told(self, outputs: Array) -> list[tuple[float, ...]]:
        """Outputs (c, k) as tuples of the user's values."""
        signed = [self._goal.values(column, j).tolist() for j, column in enumerate(outputs.T)]
        return list(zip(*signed, strict=True))

    @interrupts_get_out()
    def beyond_front(
        self, count: int = 20, objectives: Sequence[int] | None = None
    ) -> list[tuple[Any, tuple[float, ...], tuple[float, ...]]]:
        """Points without a trial that the models expect beyond the front: with their means and standard deviations.

        By their means, they are dominated neither by the front nor by each other, and better than each point of the
        front by 1 % of its range in some objective. They are likely to succeed, and meet all constraints with a
        probability of 90 %. They are sorted like `front`, and chosen to be far apart among all that are found
        (`numbo.inspection.beyond`).

        Args:
            count: maximum number of points.
            objectives: the objectives that count, as if there were no others; all by default.

        Raises:
            ValueError: before the first successful observation, or if an objective does not exist.
        """
        history = self._history
        count = _checks.integer("count", count, 1)
        kept = list(range(history.k)) if objectives is None else self._kept(objectives)
        views = self._views("beyond_front")
        rows, values = self._front
        own = np.clip(values[:, kept], -LARGEST, LARGEST)
        best = non_dominated(own)

        def means(Z: Array) -> Array:
            return np.stack([views[j].mean_sd(Z).mean for j in kept], axis=1)

        X = beyond(self._run, views[0], means, history.X[rows[best]], own[best])
        if not len(X):
            return []
        found = [self._widened(view, X) for view in views]
        mean = np.stack([own.mean for own in found], axis=1)
        std = np.stack([own.std for own in found], axis=1)
        apart = thinned(mean[:, kept], count)
        order = apart[best_of_first(mean[apart][:, kept])]
        points = map(self._space.decode, X[order])
        return list(zip(points, self._told(mean[order]), map(tuple, std[order].tolist()), strict=True))

    def _kept(self, objectives: Sequence[int]) -> list[int]:
        """Some of the objectives, by their numbers from 0."""
        k = self._history.k
        found = list(objectives) if isinstance(objectives, Iterable) else []
        if not found or not all(_checks.is_integer(j) and 0 <= j < k for j in found) or len(set(found)) < len(found):
            raise ValueError(f"objectives must be different integers from 0 to {k - 1}, got {objectives!r}.")
        return found

    def _settled(self, objective: int) -> Array:
        """The values (n,) of an ``objective``: those told, or the model's means if values are noisy."""
        history = self._history
        noise = self._run.noises[objective]
        told = history.output(objective)
        if not noise.found:
            return told
        view = self._views("front")[objective]
        mean, unexplained = view.at_observations(history.X)
        own = history.of_output(objective)
        return expected_values(own, mean, unexplained, view.noise_std, view.noise_std, noise.copies)

    def hypervolumes(self, reference: Sequence[float]) -> Array:
        """The hypervolume of the front after each trial (`numbo.optimizers.Optimizer.hypervolumes`)."""
        trials = self._history.trials
        at = self.reference(reference)
        counted = trials.final & ~trials.failed & ~(trials.C > 0.0).any(axis=1)
        return hypervolumes(trials.Y, counted, at)

    def reference(self, given: Sequence[float]) -> Array:
        """A reference point in outputs (k,); larger outputs are better."""
        return reference_of(given, self._goal)

    @interrupts_get_out()
    def remaining(self, trials: int, *, least: float = 0.0, reference: Sequence[float] | None = None) -> Remaining:
        """What more trials would bring (`numbo.optimizers.Optimizer.remaining`)."""
        return self.prospects(reference).remaining(trials, least)

    @interrupts_get_out()
    def worthwhile(self, worth: float, *, reference: Sequence[float] | None = None) -> Remaining | None:
        """For how many more trials to go on (`numbo.optimizers.Optimizer.worthwhile`)."""
        return self.prospects(reference).worthwhile(worth)

    def prospects(self, reference: Sequence[float] | None = None) -> Prospects:
        """Answers to both questions, for several numbers of trials or values of ``worth``."""
        if self._view is None:
            raise TooEarly("A forecast needs a successful observation; tell one first.")
        values = np.stack([self._settled(j) for j in range(self._history.k)], axis=1)
        return Prospects(self._run, self._final, values, None if reference is None else self.reference(reference))

    def objective(self, number: int) -> Snapshot:
        """A snapshot of one of several objectives, which answers as if there were no other.

        Args:
            number: which one, from 0.

        Raises:
            ValueError: if ``number`` is too large.
        """
        history = self._history
        if not (_checks.is_integer(number) and 0 <= number < history.k):
            accepted = f"an integer from 0 to {history.k - 1}" if history.several else "0, as there is one objective"
            raise ValueError(f"objective must be {accepted}, got {number!r}.")
        if not history.several:
            return self
        view = None if self._view is None else replace(self._views("objective")[number], others=())
        return Snapshot(self.algorithm, self._run.of_output(number), view, self._region, self._times)

    @interrupts_get_out()
    def predict_feasible(self, params: Any) -> Any:
        """The probability that all constraints hold (`numbo.optimizers.Optimizer.predict_feasible`)."""
        if not self._history.constrained:
            raise ValueError(f"predict_feasible needs constraints, of which this {self.algorithm} has none.")
        view = self._model("predict_feasible")
        one = isinstance(params, Mapping) or np.ndim(params) == 0
        out = np.exp(view.constraints.log_probability(self._encoded([params] if one else params)))
        return float(out[0]) if one else out

    @interrupts_get_out()
    def predict_end(self, reports: Mapping[Any, Any]) -> tuple[float, float]:
        """The predicted final value of a trial with these reports (`numbo.optimizers.Optimizer.predict_end`)."""
        curve = self._goal.curve(reports)
        ends = self._history.ends
        if ends is None:
            raise ValueError(f"predict_end needs the curves of trials, which this {self.algorithm} does not use.")
        if curve is None:
            raise ValueError(f"reports must hold at least one number, got {reports!r}.")
        found = ends.end_of(curve, self._history.trials)
        if found is None:
            raise ValueError("predict_end needs a trial that has ended and reported something; tell one first.")
        return self._goal.value(found.value), found.std

    @interrupts_get_out()
    def curves(self) -> list[LearningCurve]:
        """The curves of all trials that did not fail: those told, in their order, then running ones, oldest first.

        Trials without reports are left out. The ends are those that the search uses, from the last fit of the model of
        curves; `predict_end` uses all trials.

        Raises:
            ValueError: if the optimizer uses no curves (``use_curves``).
        """
        if self._history.ends is None:
            raise ValueError(f"There are no learning curves: this {self.algorithm} does not use the curves of trials.")
        return curves_of(self._history, self._goal)

    @interrupts_get_out()
    def best_predicted(
        self, having: Collection[str] = (), *, anywhere: bool = False, tolerance: Any = None
    ) -> tuple[Any, float] | None:
        """The point with the best expected value (`numbo.optimizers.Optimizer.best_predicted`).

        Only observed points ``having`` these conditional dimensions are considered; None if there is none.
        """
        _checks.flag("anywhere", anywhere)
        history = self._history
        rows = self._rows(having)
        if history.several:
            raise ValueError(f"There is no best point of {history.k} objectives: see front().")
        if self._view is None or not len(rows):
            return None
        rows = rows[self._met[rows]]
        if not len(rows):
            return None
        if tolerance is not None:
            return tolerated(self._run, self._recommending, rows, tolerance, anywhere=anywhere)
        i = int(rows[np.argmax(self._assured[rows])])
        if anywhere and (found := self._optimum) is not None:
            met = self._view.constraints.log_probability(found.x[None])[0] > ASSURED
            if met and found.assured > self._assured[i]:
                return self._space.decode(found.x), self._goal.value(found.mean)
        same = point_key(history.X[i]) == point_key(history.X[history.best])
        return history.params(history.best if same else i), self._goal.value(float(self._value[i]))

    @interrupts_get_out()
    def least_violated(self, having: Collection[str] = ()) -> Any:
        """The observed point that violates the constraints least, in units of their typical sizes; of ties, the best.

        Only points ``having`` these conditional dimensions count, as in `best_predicted`; None if there is none.
        """
        rows = self._rows(having)
        return self._history.params(int(rows[np.argmax(scores_of(self._history, rows))])) if len(rows) else None

    def _rows(self, having: Collection[str]) -> ObservationIndices:
        """The successful observations ``having`` these conditional dimensions."""
        columns = [self.parameter_names.index(name) for name in having]
        return np.flatnonzero((self._history.X[:, columns] != INACTIVE).all(axis=1))

    @cached_property
    def _met(self) -> Mask:
        """Which successful observations (n,) meet all constraints; if values are noisy, by the models."""
        return self._model("best_predicted").constraints.met(self._history, np.arange(self._history.n))

    @cached_property
    def _noise(self) -> float:
        """Standard deviation of the noise around the best observation."""
        view = self._model("best_predicted")
        if view.noise_is_given:
            return view.noise_std
        return 0.0 if self._run.noise.refuted else noise_near_best(self._space, self._history)

    @cached_property
    def _recommending(self) -> ModelView:
        """The model for recommendations; without noise the usual model, as recommendations hardly depend on it."""
        view = self._model("best_predicted")
        return recommending_view(self._history, self._run.noise, view) if self._noise > 0.0 else view

    @cached_property
    def _expected(self) -> Array:
        """The expected value (n,) of each successful observation."""
        history = self._history
        view = self._recommending
        mean, unexplained = view.at_observations(history.X)
        copies = self._run.noise.copies
        return expected_values(history, mean, unexplained, view.noise_std, self._noise, copies)

    @cached_property
    def _assured(self) -> Array:
        """The criterion (n,) that a recommendation maximises, at each successful observation.

        The maximum of many noisy estimates is biased upwards. So if the variance that the model cannot explain is
        mostly noise, or a value was told with a variance, it is the mean less one standard deviation.
        """
        uncertain = self._history.variance > 0.0
        if not (self._cautious or uncertain.any()):
            return self._expected
        return self._value - self._predicted.std * (uncertain | self._cautious)

    @cached_property
    def _predicted(self) -> Prediction:
        """Mean and standard deviation (n,) at each successful observation, given its own values as well."""
        return at_observations(self._history, self._recommending, self._run.noise.copies)

    @property
    def _value(self) -> Array:
        """The value (n,) to report for each successful observation; the predicted mean if `_cautious`."""
        return self._predicted.mean if self._cautious else self._expected

    @cached_property
    def _cautious(self) -> bool:
        """Whether the variance that the model cannot explain is mostly noise."""
        return self._noise > math.sqrt(NOISE_PREVAILS) * self._recommending.noise_std

    @cached_property
    def _optimum(self) -> _Optimum | None:
        """The point of the whole space with the largest mean less one standard deviation."""
        view = self._recommending
        x = optimum(self._run, view, self._assured)
        if x is None:
            return None
        found = self._unsure(view, x[None], view.mean_sd(x[None]))
        return _Optimum(x, float(found.mean[0]), float(found.mean[0] - found.std[0]))

    @interrupts_get_out()
    def woken(self, X: Array) -> Array:
        """Points ``X (c, d)`` made to satisfy the conditions; new coordinates are those of the best observation."""
        best = best_first(np.where(self._met, self._expected, scores_of(self._history)))
        observed = self._history.X[best]
        first = np.argmax(observed != INACTIVE, axis=0)
        values: Array = observed[first, np.arange(self._space.d)]
        out: Array = self._space.snap(X, np.where(values == INACTIVE, 0.5, values)[None])
        return out

    @interrupts_get_out()
    def acquisition_values(self, params: Sequence[Any]) -> Array:
        """The acquisition function of the next ask (`numbo.optimizers.Optimizer.acquisition_values`)."""
        view = self._model("acquisition_values")
        return view.acquire(self._encoded(params))

    @interrupts_get_out()
    @np.errstate(over="ignore", invalid="ignore")
    def explain(self, objective: int = 0) -> Explanation:
        """A description of the model, and the time of the last ask (`numbo.optimizers.Optimizer.explain`)."""
        one = self.objective(objective)
        found = one._explain() if one is self else one._explain().of_objective(objective)
        with suppress(TooEarly):
            found = replace(found, remaining=self.remaining(AHEAD))
        return found

    def _explain(self) -> Explanation:
        """The description for one objective."""
        view = self._model("explain")
        history = self._history
        names = self.parameter_names
        space = self._space
        drawn = np.random.default_rng(0).random((SAMPLES, space.d))
        points = space.grid()[(drawn[:, 0] * space.cardinality).astype(int)] if space.explicit else drawn
        unit = view.transform.slope(0.0)  # values may be of any size
        variance = float(np.var(history.values() / unit))
        noise = view.noise_std / unit
        variation = self._variation
        unvaried = variation.unvaried
        shares = relevance(lambda X: view.mean_sd(variation.held(X)).mean / unit, space, unvaried=unvaried)
        rows = np.flatnonzero(self._met & (not history.several))
        rows = rows[best_first(self._assured[rows])]
        spread = unit * float(np.std(view.mean_sd(space.snap(points)).mean / unit))
        return Explanation(
            algorithm=self.algorithm,
            n_told=history.told,
            n_pending=len(history.pending),
            members=history.positions[view.members],
            relevance=shares,
            changed=None if space.default is None or not len(rows) else changed(space, history.X[rows[0]]),
            hints=hints_of(self._run, view, rows, shares, unvaried, spread),
            unvaried=tuple(name for name, same in zip(names, unvaried.tolist(), strict=True) if same),
            lengthscales=dict(zip(names, view.lengthscales.tolist(), strict=True)),
            noise_std=view.noise_std,
            spread_std=spread,
            n_failed=history.told - history.n,
            failure_trust=self._run.feasibility.trust,
            failing=failing_place(self._run),
            success=self._success(history.X[history.best]),
            n_feasible=int(history.meets(np.arange(history.n)).sum()) if history.constrained else None,
            violated=dict(zip(self._goal.constraints, np.mean(history.C > 0.0, axis=0).tolist(), strict=True)),
            noise_share=min(1.0, noise * noise / variance) if variance > 0.0 else 0.0,
            noisy=self._run.noise.found,
            all_data=view.sparse is not None,
            conditions={name: str(condition) for name, condition in self.conditions.items()},
            buffer_size=view.buffer_size,
            beta=view.beta,
            effective_dimension=view.effective_dimension,
            batch_sizes=view.batch_sizes,
            studies=view.studies,
            spending=Spending.of(self._run, view),
            region=self._region,
            phases=dict(self._times.phases),
            asked_at=np.array([n for n, _ in self._times.asks], dtype=np.int64),
            ask_seconds=np.array([seconds for _, seconds in self._times.asks], dtype=np.float64),
        )

    def _success(self, x: Array) -> float:
        """The probability of success at ``x (d,)``; the share of successes if failures are not learned."""
        success = self._model("explain").acquisition.success
        if success is CERTAIN:
            return self._history.n / self._history.told
        return float(success_probabilities(success, x[None])[0])

    @property
    def direction(self) -> str:
        """``"minimize"`` or ``"maximize"``, of the first objective."""
        return self._goal.directions[0]

    @property
    def directions(self) -> tuple[str, ...]:
        """``"minimize"`` or ``"maximize"`` for each objective."""
        return self._goal.directions

    @property
    def parameter_names(self) -> list[str]:
        """Names of the dimensions, in the order of the coordinates of the unit cube."""
        return self._space.names

    @property
    def conditions(self) -> Mapping[str, Condition]:
        """Conditions of the dimensions that have one."""
        return self._space.conditions

    @property
    def observations(self) -> tuple[Array, Array]:
        """All points told (n, d) in the unit cube, in their order, and their values (n,), NaN for a failure.

        Of several objectives, values (n, k). Inactive coordinates are `numbo.spaces.INACTIVE`, which is outside the
        cube.
        """
        trials = self._history.trials
        return trials.X.copy(), self._goal.values_of(trials.Y)

    @property
    def expected(self) -> Prediction:
        """The final values (n,) of all points told, and the standard deviations (n,) of those that are not known.

        A trial that was pruned has the value that is expected at its end, as the model takes it. Others have the value
        told, NaN for a failure, with a deviation of 0. Of several objectives, the first.
        """
        history = self._history
        values = self._goal.values_of(history.trials.Y).reshape(history.trials.n, -1)[:, 0]
        std = np.zeros(len(values))
        rows = np.flatnonzero(history.were_stopped(np.arange(history.n)))
        at = history.positions[rows]
        values[at] = self._goal.values(history.y[rows])
        std[at] = np.sqrt(history.variance[rows])
        return Prediction(values, std)

    @property
    def acquisition_name(self) -> str:
        """What `acquisition_values` are: a bound on standardised values, or logarithms.

        Of the expected improvement, in standardised values or of the hypervolume, and of the probability that all
        constraints hold (feasibility).
        """
        return self._model("acquisition_name").acquisition_name

    @property
    def study_predictions(self) -> dict[str, Array]:
        """By name, what each earlier study that has an influence predicts (n,) at all points told, in normal scores."""
        return self._model("study_predictions").predicted_by_studies(self._history.trials.X)

    @property
    def constraints(self) -> tuple[str, ...]:
        """Names of the constraints."""
        return self._goal.constraints

    @property
    def met(self) -> Mask:
        """Which of the points told (n,) violate no constraint whose value was told."""
        return np.asarray(~(self._history.trials.C > 0.0).any(axis=1))

    @property
    def best(self) -> tuple[Any, float] | None:
        """Best point that meets all constraints, and its value; ``None`` before the first such point."""
        return self._history.best_of(self._goal)

    @property
    def n_told(self) -> int:
        """Number of trials told, failures included."""
        return self._history.told

    @property
    def pending(self) -> list[Any]:
        """Points that were pending, oldest first."""
        return [own(p.params) for p in self._history.pending.values()]

    def _encoded(self, params: Sequence[Any]) -> Array:
        return np.array([self._space.encode(p) for p in params]).reshape(-1, self._space.d)
