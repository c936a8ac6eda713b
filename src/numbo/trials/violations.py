"""Scores by which observations under constraints compare: by their values, or by their violations.

A violation is measured in units of the typical size of its constraint's values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from numbo._types import Array
from numbo.trials.schedule import Schedule

if TYPE_CHECKING:
    from numbo.trials.history import History

#: The scales of constraints are updated when the number of observations has grown by this share. Not tuned.
RESCALED = 0.1
#: Scores of observations that violate a constraint lie between twice this number and this number, all others above.
INFEASIBLE = -1e290


class Scales(NamedTuple):
    """The typical size of each of ``q`` constraints.

    It is updated when the number of observations has grown by a tenth: the geometric mean of the present median of
    non-zero values and the largest median so far. Late in a run most values are close to 0, and with the present median
    as scale the bilog of a constraint would be nearly a step; with the largest one, an exponential constraint is
    learned worse (`benchmarks/results/single-runs.md`).

    Attributes:
        sizes: (q,) the typical sizes.
        largest: (q,) the largest medians.
        updated_at: number of observations at the last update.
    """

    sizes: Array
    largest: Array
    updated_at: int = 0


def _medians(C: Array) -> Array:
    """The median size (q,) of each constraint's values ``C (n, q)`` that are finite and not 0; 1 if there are none."""
    out = np.ones(C.shape[1])
    for j, values in enumerate(np.abs(C.T)):
        counted = values[np.isfinite(values) & (values > 0.0)]
        if len(counted):
            out[j] = max(float(np.median(counted)), np.finfo(float).tiny)
    return out


def scales(known: Scales | None, history: History, n: int | None = None) -> Scales:
    """The fold of `Scales` (`numbo.trials.History.fact`), or of those of the first ``n`` observations."""
    q = history.C.shape[1]
    found = Scales(np.ones(q), np.full(q, np.nan)) if known is None else known
    positions = history.positions[:n]
    for at in Schedule(RESCALED, at=found.updated_at).passed(len(positions)):
        medians = _medians(history.trials.C[positions[:at]])
        largest = np.fmax(found.largest, medians)
        found = Scales(np.sqrt(medians) * np.sqrt(largest), largest, at)
    return found


def scales_of(history: History, n: int) -> Array:
    """The typical size (q,) of each constraint's values, in the first ``n`` observations."""
    found = history.fact(scales)
    return found.sizes if n >= found.updated_at else scales(None, history, n).sizes


def scored(y: Array, C: Array, sizes: Array, *, wary: bool) -> Array:
    """Scores (m,): ``y (m,)`` where all constraints are met, and lower ones by the sum of the violations elsewhere.

    ``C (m, q)`` are the constraints, NaN where unknown, with the typical ``sizes (q,)``. If ``wary``, observations with
    unknown ones come in between.
    """
    with np.errstate(over="ignore"):
        violation = np.nansum(np.maximum(C, 0.0) / sizes, axis=1)
    share = np.where(np.isinf(violation), 1.0, violation / (1.0 + np.where(np.isinf(violation), 0.0, violation)))
    violated = (C > 0.0).any(axis=1)  # also by so little that its share is rounded to 0
    out: Array = np.where(violated, INFEASIBLE * (1.0 + share), np.maximum(y, INFEASIBLE))
    if wary:
        out[~violated & np.isnan(C).any(axis=1)] = INFEASIBLE
    return out
