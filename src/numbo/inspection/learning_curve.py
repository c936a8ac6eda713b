"""The reports of a trial while it ran, and its expected end, in the user's units."""

from __future__ import annotations

import math
from typing import NamedTuple

from numbo._types import Array
from numbo.trials import Curve, Goal, History
from numbo.trials.ends import expected_pending


class LearningCurve(NamedTuple):
    """The reports of a trial, in the units of the objective.

    Attributes:
        kind: ``"complete"``; ``"best"``, for the best complete trial; ``"pruned"``, for a trial that was stopped after
            it had reported something; or ``"running"``.
        steps: (r,) ascending.
        values: (r,) at these steps; infinite ones are allowed.
        end, std: the expected final value, and its standard deviation; NaN if the trial is complete, or nothing is
            known.
    """

    kind: str
    steps: Array
    values: Array
    end: float
    std: float


def curves_of(history: History, goal: Goal) -> list[LearningCurve]:
    """The curves of all trials that did not fail (`numbo.inspection.Snapshot.curves`)."""
    history = history.copy()  # a copy, as this may fit the model of curves again

    def shown(kind: str, curve: Curve, end: float, variance: float) -> LearningCurve:
        return LearningCurve(kind, curve.steps.copy(), goal.value(curve.values), goal.value(end), math.sqrt(variance))

    out = []
    for i, t in enumerate(history.positions.tolist()):
        if (curve := history.trials.curves[t]) is None:
            continue
        if history.stopped[i]:
            out.append(shown("pruned", curve, float(history.y[i]), float(history.variance[i])))
        else:
            out.append(shown("best" if i == history.best else "complete", curve, math.nan, math.nan))
    expected = expected_pending(history)
    for pending, end, variance in zip(history.pending.values(), expected.y, expected.variance, strict=True):
        if pending.curve is not None:
            out.append(shown("running", pending.curve, float(end), float(variance)))
    return out
