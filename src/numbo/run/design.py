"""Space-filling points: the initial design, and suggestions if no model can be fitted."""

from __future__ import annotations

import math

import numpy as np

from numbo._types import Array
from numbo.run.availability import Availability
from numbo.run.candidates import Candidates

#: Length of the space-filling sequence from which random points are drawn.
ANYWHERE = 4096
#: Number of points of the sequence that are searched for a free one.
WINDOW = 64


class Design:
    """A scrambled Sobol sequence.

    Args:
        available: which points may be suggested.
        seed: seed of all space-filling points.

    Attributes:
        candidates: starting points for searches of large spaces.
    """

    def __init__(self, available: Availability, seed: int) -> None:
        self._available = available
        self.seed = seed
        self.candidates = Candidates(available.space, seed)
        self._points: Array | None = None

    def over(self, available: Availability) -> Design:
        """The same design with another `Availability`."""
        twin = Design(available, self.seed)
        twin.candidates = self.candidates
        twin._points = self._points
        return twin

    def point(self, start: int) -> Array:
        """The first point (d,) of the sequence from position ``start`` on that is not taken."""
        available = self._available
        if self._points is None or start + WINDOW > len(self._points):
            from scipy.stats import qmc

            size = 2 ** math.ceil(math.log2(start + 2 * WINDOW))
            self._points = qmc.Sobol(available.space.d, scramble=True, rng=self.seed).random(size)
        points = available.space.snap(available.fix(self._points[start : start + WINDOW]))
        free = next((x for x in points if not available.taken(x)), None)
        if free is None and available.grid is not None and len(rows := available.rows()):
            return available.grid[rows[start % len(rows)]]
        return points[0] if free is None else free

    def anywhere(self, seed: object) -> Array:
        """A random point (d,) of the sequence."""
        return self.point(int(np.random.default_rng(seed).integers(ANYWHERE)))  # type: ignore[arg-type]
