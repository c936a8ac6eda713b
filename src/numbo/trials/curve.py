"""The reports of a trial while it ran: values at some steps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from numbo import _checks
from numbo._types import Array


class Curve(NamedTuple):
    """A learning curve.

    Attributes:
        steps: (r,) ascending.
        values: (r,) at these steps, larger ones being better; infinite ones are allowed.
    """

    steps: Array
    values: Array

    @classmethod
    def of(cls, reports: Mapping[Any, Any] | None, sign: float) -> Curve | None:
        """The curve of ``reports``, values by step in any order; None if no report is usable.

        Values that are NaN or no numbers are left out. ``sign`` is 1 if larger ones are better, -1 if smaller ones are.

        Raises:
            ValueError: if ``reports`` are no mapping, or a step is no finite number.
        """
        if reports is None:
            return None
        if not isinstance(reports, Mapping):
            raise ValueError(
                f"reports must be a mapping of steps to values such as {{1: 0.9, 2: 0.7}}, got {reports!r}."
            )
        numbers = [(_checks.finite("A step of reports", s), _number(value)) for s, value in reports.items()]
        known = sorted((step, sign * value) for step, value in numbers if not math.isnan(value))
        if not known:
            return None
        steps, values = np.array(known).T
        return cls(steps, values)

    def at(self, step: float) -> float:
        """The last value up to ``step``, NaN if there is none."""
        place = int(np.searchsorted(self.steps, step, "right")) - 1
        return float(self.values[place]) if place >= 0 else math.nan

    def until(self, step: float) -> Curve | None:
        """The part up to ``step``, None if it is empty."""
        count = int(np.searchsorted(self.steps, step, "right"))
        return Curve(self.steps[:count], self.values[:count]) if count else None

    def joined(self, later: Curve) -> Curve:
        """Both curves together; at equal steps the value of ``later`` counts."""
        old = ~np.isin(self.steps, later.steps)
        steps = np.concatenate([self.steps[old], later.steps])
        order = np.argsort(steps, kind="stable")
        return Curve(steps[order], np.concatenate([self.values[old], later.values])[order])

    @property
    def last(self) -> float:
        """The value at the last step."""
        return float(self.values[-1])


def _number(value: Any) -> float:
    """``value`` as a double, NaN if it is no number."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
