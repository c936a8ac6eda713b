"""The data told of one trial, in the form in which they are kept."""

from __future__ import annotations

from typing import Any, NamedTuple

from numbo._types import Array
from numbo.trials.curve import Curve


class Record(NamedTuple):
    """The checked data of one trial.

    Attributes:
        params: the point in the user's form.
        x: (d,) the point in the unit cube.
        outputs: (k,) larger ones are better; NaN for a failure.
        variance: of the first output.
        constraints: (q,) NaN if unknown.
        curve: the reports, if they count.
        cost: of the trial; NaN if unknown.
    """

    params: Any
    x: Array
    outputs: Array
    variance: float
    constraints: Array
    curve: Curve | None
    cost: float
