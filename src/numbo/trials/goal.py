"""What is better: the one place that knows in which direction an objective is optimised.

Everything else works with scores, of which larger ones are better.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from numbo import _checks
from numbo._types import Array, Indices


@dataclass(frozen=True)
class Goal:
    """Values of the user's objective <-> scores.

    Attributes:
        direction: ``"minimize"`` or ``"maximize"``.
    """

    direction: str

    @property
    def _sign(self) -> float:
        return 1.0 if self.direction == "maximize" else -1.0

    def score(self, value: Any) -> float:
        """The score of a reported value, NaN for a failure."""
        return math.nan if value is None else self._sign * _checks.objective(value)

    def value(self, score: float) -> float:
        """The value that has a score; a zero has no sign."""
        return self._sign * score + 0.0

    def values(self, scores: Array) -> Array:
        """Likewise of scores (n,)."""
        return self._sign * scores + 0.0


def best_first(scores: Array) -> Indices:
    """The order of the ``scores (n,)`` from the best to the worst; equal ones stay as they are."""
    return np.argsort(-scores, kind="stable")
