"""The reports of a trial while it ran, and its expected end, in the user's units."""

from __future__ import annotations

from typing import NamedTuple

from numbo._types import Array


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
