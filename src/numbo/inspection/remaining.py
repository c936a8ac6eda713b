"""What more trials would bring, in the user's units (`numbo.models.improvements`)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from numbo import _checks
from numbo._types import Array, ObservationIndices
from numbo.inspection.fronts import hypervolumes
from numbo.inspection.words import rounded
from numbo.models.improvements import Improvements, differ
from numbo.run.situation import Situation
from numbo.trials.front import front_rows

#: The reference point of a hypervolume lies beyond the worst values of the front by this share of its range.
BEYOND = 0.1
#: Numbers of trials that are considered in deciding whether to go on: gains may come after many.
HORIZONS = (1, 3, 10, 30, 100)
#: The quantiles of the interval that is stated.
LOW, HIGH = 0.1, 0.9


@dataclass(frozen=True)
class Remaining:
    """A forecast of how much the best value would improve in more trials.

    Gains are at least 0, in the units of the objective; of several objectives, in those of the hypervolume.

    Attributes:
        trials: number of the trials.
        least: gains up to this one do not count as improvements.
        probability: of an improvement.
        expected: mean of the gain.
        low, median, high: quantiles of the gain: one run in ten gains less than ``low``, nine in ten gain less than
            ``high``.
    """

    trials: int
    least: float
    probability: float
    expected: float
    low: float
    median: float
    high: float

    @classmethod
    def of(cls, gains: Array, trials: int, least: float = 0.0) -> Remaining:
        """The summary of samples (s,) of the gain."""
        low, median, high = (float(np.quantile(gains, share)) for share in (LOW, 0.5, HIGH))
        largest = float(gains.max())
        expected = largest * float(np.mean(gains / largest)) if largest > 0.0 else 0.0  # their sum may be too large
        return cls(trials, least, float(np.mean(gains > least)), expected, low, median, high)

    def __str__(self) -> str:
        more = "1 more trial" if self.trials == 1 else f"{self.trials} more trials"
        better = "better" if self.least == 0.0 else f"better by {rounded(self.least)}"
        return (
            f"{more}: {better} with {self.probability:.0%}; gain {rounded(self.expected)} in the mean, "
            f"{rounded(self.low)} to {rounded(self.high)}"
        )


class TooEarly(ValueError):
    """No forecast can be made yet."""


class Prospects:
    """Forecasts of what more trials would bring.

    Args:
        run: the data.
        rows: the observations that count.
        values: (n, k) of all observations, expected ones if values are noisy; larger ones are better.
        reference: (k,) of the hypervolume; None for the usual one. Of one objective, values up to it bring nothing.

    Attributes:
        progress: the values (t,) of all trials, or the hypervolumes; NaN for those that do not count.

    Raises:
        TooEarly: before trials that count have different values.
    """

    def __init__(self, run: Situation, rows: ObservationIndices, values: Array, reference: Array | None = None) -> None:
        history = run.history
        Y = np.full((history.told, history.k), np.nan)
        Y[history.positions[rows]] = values[rows]
        if history.several:
            self.progress = _volumes(Y, reference)
        else:
            self.progress = Y[:, 0] if reference is None else np.maximum(Y[:, 0], reference[0])
        self._left = run.available.left
        left = math.inf if history.several else self._left  # of several, many points make a front
        self._improvements = Improvements(self.progress, left) if differ(self.progress) else None
        if self._left and self._improvements is None:
            raise TooEarly("A forecast needs trials with different values that count; tell more.")

    def remaining(self, trials: int, least: float = 0.0) -> Remaining:
        """The forecast for so many trials (`numbo.optimizers.Optimizer.remaining`)."""
        trials = _checks.integer("trials", trials, 1)
        least = _checks.number("least", least, 0.0)
        possible = int(min(float(trials), self._left))
        found = self._improvements.gains(possible) if self._improvements is not None and possible else np.zeros(1)
        return Remaining.of(found, trials, least)

    def worthwhile(self, worth: float) -> Remaining | None:
        """The forecast with the largest surplus (`numbo.optimizers.Optimizer.worthwhile`)."""
        worth = _checks.number("worth", worth, 0.0, above=True)
        possible = sorted({int(min(float(trials), self._left)) for trials in HORIZONS} - {0})
        found = [self.remaining(trials) for trials in possible]
        best = max(found, key=lambda one: one.expected - worth * one.trials, default=None)
        return best if best is not None and best.expected > worth * best.trials else None


def _volumes(Y: Array, reference: Array | None) -> Array:
    """The hypervolume (t,) after each of the trials ``Y (t, k)``, NaN for those that do not count."""
    counted = ~np.isnan(Y[:, 0])
    if reference is None:
        values = Y[counted]
        front = values[front_rows(values)] if len(values) else np.zeros((1, Y.shape[1]))
        extent = np.ptp(front, axis=0)
        if len(values):  # a front may be one point
            extent = np.where(extent > 0.0, extent, np.ptp(values, axis=0))
        reference = front.min(axis=0) - BEYOND * extent
    return hypervolumes(Y, counted, reference)
