"""What a trial reported while it ran, and where it is expected to end, as the user sees it."""

from __future__ import annotations

from typing import NamedTuple

from numbo._types import Array


class LearningCurve(NamedTuple):
    """What a trial reported, in the units of the objective.

    Attributes:
        kind: ``"complete"``; ``"best"``, for the one of these that is best; ``"pruned"``, for a trial that was stopped
            after it had reported something; or ``"running"``.
        steps: (r,) ascending.
        values: (r,) at these steps; infinite ones are allowed.
        end, std: the value that is expected at its end, and its standard deviation; NaN where the trial is complete, or
            nothing is known.
    """

    kind: str
    steps: Array
    values: Array
    end: float
    std: float
