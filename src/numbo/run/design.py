"""Space-filling points: the initial design, and suggestions if no model can be fitted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from numbo._types import Array
from numbo.run.availability import Availability
from numbo.run.candidates import Candidates
from numbo.spaces import named_space
from numbo.spaces.allowed import Allowed
from numbo.spaces.beliefs import Beliefs

#: Length of the space-filling sequence from which random points are drawn.
ANYWHERE = 4096
#: Number of points of the sequence that are searched for a free one.
WINDOW = 64
#: Length of a block of the sequence that is as even as the whole. Not tuned.
BLOCK = 16


@dataclass(frozen=True)
class Design:
    """Those of the space-filling points that may be suggested, and the usual point of a space."""

    available: Availability
    candidates: Candidates

    def point(self, start: int, *, believed: bool = False) -> Array:
        """The first point (d,) of the sequence from position ``start`` on that is not taken.

        If ``believed``, points are as dense as good values are believed to be.
        """
        available = self.available
        beliefs = available.space.beliefs if believed else None
        if available.space.allowed is not None and available.grid is None:
            return self._allowed_point(available.space.allowed, start, beliefs)
        some = self.candidates.even(start + WINDOW)[start:]
        some = some if beliefs is None else beliefs.drawn(some)
        points = available.space.snap(available.fix(some))
        free = next((x for x in points if not available.taken(x)), None)
        if free is None and available.grid is not None:
            rows = available.rows()
            if not len(rows):  # every point was tried: a success is measured again sooner than a failure
                rows = available.rows(anyhow=True)
            if len(rows):
                return available.grid[rows[start % len(rows)]]
        return points[0] if free is None else free

    def _allowed_point(self, allowed: Allowed, start: int, beliefs: Beliefs | None) -> Array:
        """`point` where not all points are allowed: of those known, farthest from one another, then random ones.

        With ``beliefs``, known ones in a random order, by their densities.
        """
        available = self.available
        rng = np.random.default_rng((self.candidates.seed, start))
        known = self.candidates.known
        if beliefs is not None:  # the larger of Gumbel variables come first
            scatter = np.random.default_rng(self.candidates.seed).gumbel(size=len(known))
            known = known[np.argsort(-(beliefs.values(known) + scatter), kind="stable")]
        known = known[start : start + WINDOW]
        near = known if available.fixed is None else available.space.snap(available.fix(known))
        points = [allowed.mended(near, available.held)[0], allowed.spread(WINDOW, rng, available.fixed)]
        found = np.concatenate(points)
        free = next((x for x in found if not available.taken(x)), None)
        return available.settled(available.fix(allowed.nearest(found[0]))) if free is None else free

    def usual(self, *, known: bool = True) -> Array | None:
        """The usual point (d,) of a space, with the values that are fixed; None for arms, or if it is taken.

        For each sampler: ``benchmarks/results/compare-start*.md``. Unless ``known``, it is that of a space of whose
        parameters nothing is said.
        """
        available = self.available
        space = named_space(available.space)
        if space is None:
            return None
        points = space.snap(available.fix((space.usual if known else space.middle)[None]))
        if space.allowed is not None and available.grid is None:
            points = space.allowed.mended(points, available.held)[0]
        (x,) = points
        return None if available.taken(x) else x

    def shuffled(self, start: int) -> int:
        """A position in the same block of `BLOCK` as ``start``, in a random order within each block.

        Some coordinates of every second or fourth point of the sequence are all in the same half. If the other trials
        are given, or are retries, the positions themselves would stay in that half for ever.
        """
        block, place = divmod(start, BLOCK)
        return block * BLOCK + int(np.random.default_rng((self.candidates.seed, block)).permutation(BLOCK)[place])

    def anywhere(self, seed: object) -> Array:
        """A random point (d,) of the sequence, where good values are believed to be."""
        start = int(np.random.default_rng(seed).integers(ANYWHERE))  # type: ignore[arg-type]
        return self.point(start, believed=True)
