"""Fronts of told or expected values, and the hypervolume that they dominate, trial by trial."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from numbo import _checks
from numbo._types import Array, Mask
from numbo.kernels.front import hypervolume
from numbo.trials import Goal, finite_range
from numbo.trials.front import NonDominated, front_rows


def front_of(values: Sequence[Sequence[float]], goal: Goal) -> list[int]:
    """Which of the user's ``values`` are not dominated by others; the best of the first objective comes first."""
    if not values:
        return []
    rows: list[int] = front_rows(np.array([goal.outputs_of(own) for own in values])).tolist()
    return rows


def volumes_of(values: Sequence[Sequence[float] | None], goal: Goal, reference: Array) -> Array:
    """`hypervolumes` of the user's ``values`` (n,), None for a trial that does not count."""
    counted = np.array([own is not None for own in values], dtype=bool)
    nothing = np.full(len(goal.directions), np.nan)
    Y = np.array([nothing if own is None else goal.outputs_of(own) for own in values])
    return hypervolumes(Y.reshape(len(values), len(goal.directions)), counted, reference)


def reference_of(given: Any, goal: Goal) -> Array:
    """A reference point of the user in outputs (k,); larger outputs are better.

    Raises:
        ValueError: if it is not as many finite numbers as there are objectives.
    """
    k = len(goal.directions)
    numbers = _checks.finite_numbers(given)
    if numbers is None or len(numbers) != k:
        wanted = f"{k} finite numbers, one an objective" if k > 1 else "a sequence of one finite number"
        raise ValueError(f"reference must be {wanted}; got {given!r}.")
    return goal.outputs_of(list(numbers))


def told(goal: Goal, outputs: Array) -> list[tuple[float, ...]]:
    """The outputs (c, k) as tuples of the user's values."""
    return [tuple(map(float, values)) for values in goal.values_of(outputs).reshape(outputs.shape)]


def hypervolumes(outputs: Array, counted: Mask, reference: Array) -> Array:
    """The volume (n,) above a ``reference (k,)`` that the front dominates after each trial.

    Args:
        outputs: (n, k) of the trials, larger ones being better; infinite ones count as the best or worst finite one.
        counted: (n,) which of them count.
        reference: a value of each output.
    """
    n, k = outputs.shape
    out = np.zeros(n)
    front = NonDominated.of_none(k)
    Y = np.stack([finite_range(column) for column in outputs.T], axis=1)
    for t in range(n):
        before = front
        if counted[t]:
            front = front.seeing(t, Y[t])
        out[t] = out[t - 1] if t else 0.0
        if front is not before:
            with np.errstate(over="ignore", invalid="ignore"):
                volume = float(hypervolume(front.outputs, reference))  # infinite if it exceeds all doubles
            # another front is added up in another order
            out[t] = max(math.inf if math.isnan(volume) else volume, out[t])
    return out
