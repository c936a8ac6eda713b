"""The part of an optimizer that answers questions about it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, overload

from numbo._interrupts import interrupts_get_out
from numbo._types import Array
from numbo.inspection.explanation import Explanation
from numbo.inspection.remaining import Remaining
from numbo.inspection.snapshot import Snapshot
from numbo.models.view import ModelView
from numbo.run.situation import Situation
from numbo.search.trust_region import Region


class Inspectable(ABC):
    """The part of `numbo.optimizers.Optimizer` that answers questions."""

    _run: Situation

    @abstractmethod
    def _repair(self) -> None: ...

    @abstractmethod
    def _view(self, run: Situation) -> ModelView:
        """The model updated by ``run``, a copy with nothing pending; the optimizer's own model is unchanged."""

    @abstractmethod
    def _region(self) -> Region | None: ...

    @overload
    def predict(self, params: Mapping[str, Any] | int) -> tuple[float, float]: ...
    @overload
    def predict(self, params: Sequence[Any]) -> tuple[Array, Array]: ...
    def predict(self, params: Any) -> tuple[Any, Any]:
        """Posterior mean and standard deviation of the objective, without its noise, in the user's units.

        For one point, or as arrays (c,) for a sequence of ``c`` points. With k objectives, arrays (k,) for one point,
        and (c, k) for a sequence. The model is fitted to the raw values, or to values whose bad tail is compressed; the
        search itself may use log-transformed values. If repeats show that there is no noise, the mean at a measured
        point is its value.

        Raises:
            ValueError: before the first successful observation, or for points outside the space.
        """
        return self.snapshot().predict(params)

    def predict_feasible(self, params: Any) -> Any:
        """The probability that all constraints hold, between 0 and 1; an array (c,) for a sequence of ``c`` points.

        Raises:
            ValueError: without constraints, before the first successful observation, or for points outside the space.
        """
        return self.snapshot().predict_feasible(params)

    def front(self) -> list[tuple[Any, tuple[float, ...]]]:
        """The points that no other point dominates, with their values: the trade-offs between several objectives.

        Only points that meet all constraints, sorted by the first objective, the best first; of equal ones, the first.
        Values that are not final (``partial`` in `tell`) are left out. If values of an objective are noisy, expected
        values are compared and returned, since the front of noisy values consists of lucky points.
        """
        return self.snapshot().front()

    def hypervolumes(self, reference: Sequence[float]) -> Array:
        """The volume (n,) that the front dominates after each of the ``n`` trials, up to a ``reference`` point.

        It uses the values told. Points that violate a constraint, failed, or have no final values do not count.

        Args:
            reference: a value of each objective; points that are worse in any of them do not count.

        Raises:
            ValueError: if ``reference`` is not as many finite numbers as there are objectives.
        """
        return self.snapshot().hypervolumes(reference)

    def predict_end(self, reports: Mapping[Any, Any]) -> tuple[float, float]:
        """The predicted final value of a trial with these reports by step, and its standard deviation.

        It is predicted from the curves of all trials told, whatever the parameters are (`numbo.models.curves`).

        Raises:
            ValueError: if ``reports`` are no mapping or have no number, no trial has reported anything, or
                ``use_curves`` is off.
        """
        return self.snapshot().predict_end(reports)

    def best_predicted(
        self, *, anywhere: bool = False, tolerance: Mapping[str, float] | None = None
    ) -> tuple[Any, float] | None:
        """The observed point with the best expected value, and that value; ``None`` before the first success.

        Only points that meet all constraints count; None if there is none.

        For noisy objectives this is a better answer than `best`, which is the luckiest observation. The expectation is
        the model's, corrected by the values observed at the point itself (`numbo.inspection.recommendation`). Under
        strong noise, it is the point with the largest mean less one standard deviation. As long as the data show no
        evidence of noise, it is `best`. Under noise, GSSBO fits a model to more observations than its subset for this
        purpose, which takes about half a second. It may be a point without a final value (``partial`` in `tell`), with
        its predicted end.

        Args:
            anywhere: whether a point without an observation may be returned, with its posterior mean: the point of the
                whole space with the largest mean less one standard deviation, if this is better than at all observed
                points. It is a prediction that has not been checked.
            tolerance: how far parameters may be off when the point is used, by name and in their units: uniform errors
                up to so much to either side. The point is then the best by the posterior mean over such errors less one
                standard deviation, with ``anywhere`` of the whole space, and the value is this mean.

        Raises:
            ValueError: if there are several objectives, or ``tolerance`` names an unknown parameter, or one that is no
                number, or has a value that is no number of at least 0.
        """
        return self.snapshot().best_predicted(anywhere=anywhere, tolerance=tolerance)

    def remaining(self, trials: int, *, least: float = 0.0, reference: Sequence[float] | None = None) -> Remaining:
        """What so many more trials would bring: how likely an improvement is, and how large.

        It is forecast by how often and by how much the best value has improved so far (`numbo.models.improvements`),
        and corrected by what such forecasts would have been worth earlier in the run. If values are noisy, expected
        values count; with constraints, points that meet them; of several objectives, the hypervolume of the front.
        Nothing is left in a space of which all points were tried.

        Args:
            trials: their number, failures included.
            least: gains up to this one do not count as improvements, in the units of the objective.
            reference: of several objectives, the point up to which the hypervolume is taken; by default the worst
                values on the front, and a tenth of its range beyond.

        Raises:
            ValueError: for an unsupported value, or before trials have different values.
        """
        return self.snapshot().remaining(trials, least=least, reference=reference)

    def worthwhile(self, worth: float, *, reference: Sequence[float] | None = None) -> Remaining | None:
        """For how many more trials it pays to go on, and what they would bring; None if it does not pay.

        It pays if the expected gain of some number of trials exceeds their cost. Of several such numbers, up to 100,
        it is the one whose gain exceeds it by most. A single trial would not do, as gains may come after many.

        Args:
            worth: the gain that has to come of a trial for it to pay, in the units of the objective; of several
                objectives, of the hypervolume. Trials are failures, too.
            reference: as in `remaining`.

        Raises:
            ValueError: as `remaining`.
        """
        return self.snapshot().worthwhile(worth, reference=reference)

    def acquisition_values(self, params: Sequence[Any]) -> Array:
        """The acquisition function (c,) of the next ask by the global model, at ``c`` points, with nothing pending.

        Larger is better. For UCB it is the mean of the standardised values plus beta standard deviations, otherwise the
        logarithm of the expected improvement, of several objectives that of the hypervolume. Log probabilities that
        points succeed and meet constraints are added.

        Raises:
            ValueError: before the first successful observation, or for points outside the space.
        """
        return self.snapshot().acquisition_values(params)

    def explain(self, objective: int = 0) -> Explanation:
        """A description of the model, and the time of the last ask.

        Args:
            objective: which one of several objectives, from 0: each has its own model.

        Raises:
            ValueError: before the first successful observation, or if ``objective`` is too large.
        """
        return self.snapshot().explain(objective)

    @interrupts_get_out()
    def snapshot(self) -> Snapshot:
        """A read-only copy for inspection, safe to use from another thread; its model knows all observations.

        It has the same methods as the optimizer, and costs one update of the model, however many are called.
        """
        self._repair()
        run = self._run.quiet()
        view, region = (None, None) if run.history.best < 0 else (self._view(run), self._region())
        run.history.pending.update(self._run.history.pending)
        return Snapshot(type(self).__name__, run, view, region, self._run.times)

    @property
    def parameter_names(self) -> list[str]:
        """Names of the dimensions, in the order of the coordinates of the unit cube."""
        return list(self._run.space.names)

    @property
    def observations(self) -> tuple[Array, Array]:
        """All points told (n, d) in the unit cube, in their order, and their values (n,), NaN for a failure.

        Of several objectives, values (n, k).
        """
        trials = self._run.history.trials
        return trials.X.copy(), self._run.goal.values_of(trials.Y)
