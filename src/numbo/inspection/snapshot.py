"""A copy of an optimizer's knowledge at one moment, for inspection."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from numbo import _checks
from numbo._interrupts import interrupts_get_out
from numbo._plain import copied
from numbo._types import Array, Mask
from numbo.inspection.beyond import expected_beyond
from numbo.inspection.fronts import reference_of
from numbo.inspection.learning_curve import LearningCurve, curves_of
from numbo.inspection.predictions import Predictions
from numbo.inspection.questions import Questions
from numbo.inspection.recommendation import Recommendations
from numbo.inspection.remaining import Prospects, TooEarly
from numbo.models.moments import Prediction
from numbo.models.view import ModelView
from numbo.run.situation import Situation
from numbo.run.times import AskTimes
from numbo.search.trust_region import Region
from numbo.spaces import Condition
from numbo.trials import scores_of


class Snapshot(Questions):
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
        self.region = region
        self.times = copied(times)
        self.predictions = Predictions(run, view)
        self._history = run.history
        self._goal = run.goal

    def _asked(self) -> Snapshot:
        return self

    def _repair(self) -> None:
        """Nothing of it is half done."""

    @cached_property
    def recommendations(self) -> Recommendations:
        return Recommendations(self.predictions)

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
        return expected_beyond(self.predictions, lambda: self.recommendations.front, count, objectives)

    def reference(self, given: Sequence[float]) -> Array:
        """A reference point in outputs (k,); larger outputs are better."""
        return reference_of(given, self._goal)

    def prospects(self, reference: Sequence[float] | None = None) -> Prospects:
        """Answers to `remaining` and `worthwhile`, for several numbers of trials or values of ``worth``."""
        if self.predictions.view is None:
            raise TooEarly("A forecast needs a successful observation; tell one first.")
        at = None if reference is None else self.reference(reference)
        return Prospects(self._run, self.recommendations.final, self.recommendations.settled, at)

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
        known = self.predictions
        view = None if known.view is None else replace(known.views("objective")[number], others=())
        return Snapshot(self.algorithm, self._run.of_output(number), view, self.region, self.times)

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
        return self.recommendations.best(having, anywhere=anywhere, tolerance=tolerance)

    @interrupts_get_out()
    def least_violated(self, having: Collection[str] = ()) -> Any:
        """The observed point that violates the constraints least, in units of their typical sizes; of ties, the best.

        Only points ``having`` these conditional dimensions count, as in `best_predicted`; None if there is none.
        """
        rows = self.recommendations.rows(having)
        return self._history.params(int(rows[np.argmax(scores_of(self._history, rows))])) if len(rows) else None

    @interrupts_get_out()
    def woken(self, X: Array) -> Array:
        """Points ``X (c, d)`` made to satisfy the conditions; new coordinates are those of the best observation."""
        return self.recommendations.woken(X)

    @property
    def direction(self) -> str:
        """``"minimize"`` or ``"maximize"``, of the first objective."""
        return self._goal.directions[0]

    @property
    def directions(self) -> tuple[str, ...]:
        """``"minimize"`` or ``"maximize"`` for each objective."""
        return self._goal.directions

    @property
    def conditions(self) -> Mapping[str, Condition]:
        """Conditions of the dimensions that have one."""
        return self._run.space.conditions

    @property
    def expected(self) -> Prediction:
        """The final values (n,) of all points told, and the standard deviations (n,) of those that are not known.

        A trial that was pruned has the value that is expected at its end, as the model takes it. Others have the value
        told, NaN for a failure, with a deviation of 0. Of several objectives, the first.
        """
        history = self._history
        values = self._goal.values_of(history.trials.Y).reshape(history.trials.n, -1)[:, 0]
        std = np.zeros(len(values))
        rows = np.flatnonzero(history.stopped)
        at = history.positions[rows]
        values[at] = self._goal.value(history.y[rows])
        std[at] = np.sqrt(history.variance[rows])
        return Prediction(values, std)

    @property
    def acquisition_name(self) -> str:
        """What `acquisition_values` are: a bound on standardised values, or logarithms.

        Of the expected improvement, in standardised values or of the hypervolume, and of the probability that all
        constraints hold (feasibility).
        """
        return self.predictions.model("acquisition_name").acquisition_name

    @property
    def study_predictions(self) -> dict[str, Array]:
        """By name, what each earlier study that has an influence predicts (n,) at all points told, in normal scores."""
        return self.predictions.model("study_predictions").predicted_by_studies(self._history.trials.X)

    @property
    def constraints(self) -> tuple[str, ...]:
        """Names of the constraints."""
        return self._goal.constraints

    @property
    def met(self) -> Mask:
        """Which of the points told (n,) violate no constraint whose value was told."""
        return self._history.trials.met.copy()


class Inspectable(Questions):
    """The part of `numbo.optimizers.Optimizer` that is asked questions, which a snapshot answers."""

    @abstractmethod
    def _view(self, run: Situation) -> ModelView:
        """The model updated by ``run``, a copy with nothing pending; the optimizer's own model is unchanged."""

    def _region(self) -> Region | None:
        """The trust region, if there is one."""
        return None

    @interrupts_get_out()
    def snapshot(self) -> Snapshot:
        """A read-only copy for inspection, safe to use from another thread; its model knows all observations.

        It has the same methods as the optimizer, and costs one update of the model, however many are called.
        """
        self._repair()
        run = self._run.quiet()
        view, region = (None, None) if not run.history.n else (self._view(run), self._region())
        run.history.pending.update(self._run.history.pending)
        return Snapshot(type(self).__name__, run, view, region, self._run.times)

    def _asked(self) -> Snapshot:
        return self.snapshot()
