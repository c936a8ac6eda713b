"""What can be asked of an optimizer, and of a snapshot of it, which answers: each question is written once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from numbo._interrupts import interrupts_get_out
from numbo._types import Array
from numbo.inspection.explanation import Explanation, explained
from numbo.inspection.fronts import hypervolumes, reference_of, told
from numbo.inspection.remaining import Remaining, TooEarly
from numbo.run.situation import Situation
from numbo.trials import own

if TYPE_CHECKING:
    from numbo.inspection.snapshot import Snapshot

#: For how many more trials an explanation says what they would bring.
AHEAD = 50


class Questions(ABC):
    """The questions about a run. Those that need a model are answered by a `Snapshot`."""

    _run: Situation

    @abstractmethod
    def _asked(self) -> Snapshot:
        """The snapshot that answers."""

    @abstractmethod
    def _repair(self) -> None:
        """Make whole what an interrupted call has left half done."""

    @property
    def space(self) -> Any:
        """The searched domain: a `Space`, or `Arms`."""
        return self._run.space

    @property
    def n_told(self) -> int:
        """Number of trials told, failures included."""
        return self._run.history.told

    @property
    def pending(self) -> list[Any]:
        """Points that are pending, oldest first."""
        self._repair()
        return [own(p.params) for p in self._run.history.pending.values()]

    @property
    def best(self) -> tuple[Any, float] | None:
        """Best point so far that meets all constraints, and its value; ``None`` before the first such point.

        Raises:
            ValueError: if there are several objectives: `front` has the best points then.
        """
        self._repair()
        return self._run.best

    @overload
    def predict(self, params: Mapping[str, Any] | int) -> tuple[float, float]: ...
    @overload
    def predict(self, params: Sequence[Any]) -> tuple[Array, Array]: ...
    @interrupts_get_out()
    def predict(self, params: Any) -> tuple[Any, Any]:
        """Posterior mean and standard deviation of the objective, without its noise, in the user's units.

        For one point, or as arrays (c,) for a sequence of ``c`` points. With k objectives, arrays (k,) for one point,
        and (c, k) for a sequence. The model is fitted to the raw values, or to values whose bad tail is compressed; the
        search itself may use log-transformed values. If repeats show that there is no noise, the mean at a measured
        point is its value.

        Raises:
            ValueError: before the first successful observation, or for points outside the space.
        """
        return self._asked().predictions.predict(params)

    @interrupts_get_out()
    def predict_feasible(self, params: Any) -> Any:
        """The probability that all constraints hold, between 0 and 1; an array (c,) for a sequence of ``c`` points.

        Raises:
            ValueError: without constraints, before the first successful observation, or for points outside the space.
        """
        known = self._asked()
        if not known._run.history.constrained:
            raise ValueError(f"predict_feasible needs constraints, of which this {known.algorithm} has none.")
        view = known.predictions.model("predict_feasible")
        X, one = known.predictions.encoded(params)
        out = np.exp(view.constraints.log_probability(X))
        return float(out[0]) if one else out

    @interrupts_get_out()
    def front(self) -> list[tuple[Any, tuple[float, ...]]]:
        """The points that no other point dominates, with their values: the trade-offs between several objectives.

        Only points that meet all constraints, sorted by the first objective, the best first; of equal ones, the first.
        Values that are not final (``partial`` in `tell`) are left out. If values of an objective are noisy, expected
        values are compared and returned, since the front of noisy values consists of lucky points.
        """
        known = self._asked()
        if known.predictions.view is None:
            return []
        rows, outputs = known.recommendations.front
        return list(zip(map(known._run.history.params, rows.tolist()), told(known._run.goal, outputs), strict=True))

    @interrupts_get_out()
    def hypervolumes(self, reference: Sequence[float]) -> Array:
        """The volume (n,) that the front dominates after each of the ``n`` trials, up to a ``reference`` point.

        It uses the values told. Points that violate a constraint, failed, or have no final values do not count.

        Args:
            reference: a value of each objective; points that are worse in any of them do not count.

        Raises:
            ValueError: if ``reference`` is not as many finite numbers as there are objectives.
        """
        run = self._asked()._run
        trials = run.history.trials
        at = reference_of(reference, run.goal)
        counted = trials.final & ~trials.failed & trials.met
        return hypervolumes(trials.Y, counted, at)

    @interrupts_get_out()
    def predict_end(self, reports: Mapping[Any, Any]) -> tuple[float, float]:
        """The predicted final value of a trial with these reports by step, and its standard deviation.

        It is predicted from the curves of all trials told, whatever the parameters are (`numbo.models.curves`).

        Raises:
            ValueError: if ``reports`` are no mapping or have no number, no trial has reported anything, or
                ``use_curves`` is off.
        """
        known = self._asked()
        history = known._run.history
        curve = known._run.goal.curve(reports)
        if history.ends is None:
            raise ValueError(f"predict_end needs the curves of trials, which this {known.algorithm} does not use.")
        if curve is None:
            raise ValueError(f"reports must hold at least one number, got {reports!r}.")
        found = history.ends.end_of(curve, history.trials)
        if found is None:
            raise ValueError("predict_end needs a trial that has ended and reported something; tell one first.")
        value, std = found
        return known._run.goal.value(value), std

    @interrupts_get_out()
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
        return self._asked().recommendations.best((), anywhere=anywhere, tolerance=tolerance)

    @interrupts_get_out()
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
        return self._asked().prospects(reference).remaining(trials, least)

    @interrupts_get_out()
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
        return self._asked().prospects(reference).worthwhile(worth)

    @interrupts_get_out()
    def acquisition_values(self, params: Sequence[Any]) -> Array:
        """The acquisition function (c,) of the next ask by the global model, at ``c`` points, with nothing pending.

        Larger is better. For UCB it is the mean of the standardised values plus beta standard deviations, otherwise the
        logarithm of the expected improvement, of several objectives that of the hypervolume. Log probabilities that
        points succeed and meet constraints are added.

        Raises:
            ValueError: before the first successful observation, or for points outside the space.
        """
        predictions = self._asked().predictions
        return predictions.model("acquisition_values").acquire(predictions.encoded(list(params))[0])

    @interrupts_get_out()
    @np.errstate(over="ignore", invalid="ignore")
    def explain(self, objective: int = 0) -> Explanation:
        """A description of the model, and the time of the last ask.

        Args:
            objective: which one of several objectives, from 0: each has its own model.

        Raises:
            ValueError: before the first successful observation, or if ``objective`` is too large.
        """
        known = self._asked()
        one = known.objective(objective)
        found = explained(one) if one is known else explained(one).of_objective(objective)
        with suppress(TooEarly):
            found = replace(found, remaining=known.prospects().remaining(AHEAD))
        return found

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
