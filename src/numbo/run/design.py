"""Space-filling points: the initial design, and suggestions if no model can be fitted."""

from __future__ import annotations

import math

import numpy as np

from numbo._types import Array
from numbo.run.availability import Availability
from numbo.run.candidates import Candidates
from numbo.spaces import named_space

#: Length of the space-filling sequence from which random points are drawn.
ANYWHERE = 4096
#: Number of points of the sequence that are searched for a free one.
WINDOW = 64
#: Length of a block of the sequence that is as even as the whole. Not tuned.
BLOCK = 16


class Design:
    """A scrambled Sobol sequence, and the usual point of a space.

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
        if free is None and available.grid is not None:
            rows = available.rows()
            if not len(rows):  # every point was tried: a success is measured again sooner than a failure
                rows = available.rows(anyhow=True)
            if len(rows):
                return available.grid[rows[start % len(rows)]]
        return points[0] if free is None else free

    def usual(self) -> Array | None:
        """The usual point (d,) of a space, with the values that are fixed; None for arms, or if it is taken.

        For each sampler: ``benchmarks/results/compare-start*.md``.
        """
        available = self._available
        space = named_space(available.space)
        if space is None:
            return None
        (x,) = space.snap(available.fix(space.usual[None]))
        return None if available.taken(x) else x

    def shuffled(self, start: int) -> int:
        """A position in the same block of `BLOCK` as ``start``, in a random order within each block.

        Some coordinates of every second or fourth point of the sequence are all in the same half. If the other trials
        are given, or are retries, the positions themselves would stay in that half for ever.
        """
        block, place = divmod(start, BLOCK)
        return block * BLOCK + int(np.random.default_rng((self.seed, block)).permutation(BLOCK)[place])

    def anywhere(self, seed: object) -> Array:
        """A random point (d,) of the sequence."""
        return self.point(int(np.random.default_rng(seed).integers(ANYWHERE)))  # type: ignore[arg-type]
