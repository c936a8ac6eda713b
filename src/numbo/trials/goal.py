"""Directions of objectives: the only place that knows whether they are minimised or maximised.

All other modules work with outputs, for which larger is better.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from numbo import _checks
from numbo._types import Array, Indices
from numbo.trials.curve import Curve

T = TypeVar("T", float, Array)


@dataclass(frozen=True)
class Goal:
    """Conversion between values of the user's objectives and outputs, and the names of the constraints.

    Attributes:
        directions: (k,) ``"minimize"`` or ``"maximize"`` for each objective.
        constraints: (q,) names of values that have to be 0 or less.
    """

    directions: tuple[str, ...]
    constraints: tuple[str, ...] = ()

    def _sign(self, objective: int) -> float:
        return 1.0 if self.directions[objective] == "maximize" else -1.0

    def outputs(self, values: Any) -> Array:
        """The outputs (k,) of reported values, a number if there is one objective; all are NaN for a failure.

        Raises:
            ValueError: if there are not as many numbers as objectives.
        """
        k = len(self.directions)
        if values is None:
            return np.full(k, np.nan)
        if k == 1:
            return np.array([self._sign(0) * _checks.objective(values)])
        given = list(values) if isinstance(values, Iterable) else []
        if len(given) != k or isinstance(values, Mapping | str) or None in given:
            raise ValueError(f"value must be a sequence of {k} numbers, one for each objective; got {values!r}.")
        out = np.array([self._sign(j) * _checks.objective(value) for j, value in enumerate(given)])
        return np.full(k, np.nan) if np.isnan(out).any() else out

    def outputs_of(self, values: Sequence[float]) -> Array:
        """The outputs (k,) of a sequence of values, also for one objective."""
        return self.outputs(values if len(self.directions) > 1 else values[0])

    def constrained(self, given: Mapping[str, Any] | None) -> Array:
        """The values (q,) of the constraints; NaN for missing values, and infinite for a given NaN.

        Raises:
            ValueError: for unknown names, and values that are no numbers.
        """
        out = np.full(len(self.constraints), np.nan)
        if given is None:
            return out
        known = list(self.constraints)
        if not isinstance(given, Mapping):
            raise ValueError(f"constraints must be a mapping of names, of {known}, to numbers; got {given!r}.")
        if unknown := [name for name in given if name not in self.constraints]:
            raise ValueError(f"constraints must be among those of the optimizer, {known}; got {unknown}.")
        for name, value in given.items():
            number = _checks.constraint(name, value)
            out[self.constraints.index(name)] = np.inf if np.isnan(number) else number
        return out

    def curve(self, reports: Mapping[Any, Any] | None) -> Curve | None:
        """The reports of a trial for the first objective, by step; None if no report is usable.

        Raises:
            ValueError: if ``reports`` are no mapping, or a step is no finite number.
        """
        return Curve.of(reports, self._sign(0))

    def value(self, output: T, objective: int = 0) -> T:
        """The value of an objective with this output, or the values (n,) of outputs (n,); -0.0 becomes 0.0."""
        return self._sign(objective) * output + 0.0

    def values_of(self, outputs: Array) -> Array:
        """The values of all objectives with the outputs (n, k): (n, k), or (n,) for one objective."""
        columns = [self.value(outputs[:, j], j) for j in range(len(self.directions))]
        return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)


def best_first(scores: Array) -> Indices:
    """The order of the ``scores (n,)`` from the best to the worst; equal ones stay as they are."""
    return np.argsort(-scores, kind="stable")
