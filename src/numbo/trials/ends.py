"""The ends of learning curves, and the model that a history asks for them (`numbo.models.curves.Curves`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from numbo._types import Array
from numbo.trials.curve import Curve
from numbo.trials.data import Data
from numbo.trials.trials import Trials

if TYPE_CHECKING:
    from numbo.trials.history import History


class Expected(NamedTuple):
    """Expected values (m,) at the ends of curves, and their variances (m,); NaN where nothing is known."""

    values: Array
    variances: Array

    @classmethod
    def of_nothing(cls, m: int) -> Expected:
        """For ``m`` curves about which nothing is known."""
        return cls(np.full(m, np.nan), np.full(m, np.nan))


class Ends(Protocol):
    """A model of the ends of stopped and running trials."""

    def __copy__(self) -> Ends:
        """An independent copy."""

    def see(self, trials: Trials, n: int) -> bool:
        """Learn the last of the first ``n`` trials; returns whether this changes the expected ends of earlier ones."""

    def expected(self, curves: Sequence[Curve], trials: Trials, n: int) -> Expected:
        """The ends of ``curves (m,)`` given the first ``n`` trials; NaN as long as none of these has reported."""

    def running(self, curves: Sequence[Curve], trials: Trials, n: int) -> Expected:
        """As `expected`, for running trials."""

    def end_of(self, curve: Curve, trials: Trials) -> tuple[float, float] | None:
        """The expected end of another curve, and its standard deviation; None if the ``trials`` have no curves."""


def expected_pending(history: History) -> Data:
    """Pending points, oldest first, with the expected final values of those that have reported something.

    The values of the others are NaN.
    """
    curves = [p.curve for p in history.pending.values()]
    found = Expected.of_nothing(len(curves))
    at = [k for k, curve in enumerate(curves) if curve is not None]
    if history.ends is not None and at:
        reported = [curve for curve in curves if curve is not None]
        found.values[at], found.variances[at] = history.ends.running(reported, history.trials, history.told)
    return Data(history.pending.X, found.values, found.variances)
