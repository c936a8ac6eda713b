"""What is told of one trial, in the form in which it is kept."""

from __future__ import annotations

from typing import Any, NamedTuple

from numbo._types import Array
from numbo.trials.curve import Curve


class Record(NamedTuple):
    """What was told of one trial, checked.

    Attributes:
        params: its point as the user has it.
        x: (d,) the point in the unit cube.
        outputs: (k,) larger ones are better; NaN for a failure.
        variance: that of the first of them.
        constraints: (q,) NaN where nothing was told.
        curve: what was reported, where that counts.
    """

    params: Any
    x: Array
    outputs: Array
    variance: float
    constraints: Array
    curve: Curve | None
