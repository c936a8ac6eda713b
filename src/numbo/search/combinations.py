"""Trying each combination of categories, if there are few: no other trial shows how categories interact."""

from __future__ import annotations

import itertools

import numpy as np

from numbo._types import Array, Indices
from numbo.run.run import Run
from numbo.spaces import INACTIVE, SearchSpace
from numbo.spaces.dimensions import middles
from numbo.trials import best_first

#: Maximum number of combinations that are tried one by one; with `EVERY`, this takes up to the first 80 or 90 trials.
LISTED = 40
#: One suggestion in this many tries an untried combination. In a test with 27 combinations whose best one has the worst
#: single effects (as in ``tests/search/test_combinations.py``), all are tried by the 47th trial with 2, in 20 seeds,
#: and by the 67th with 3. Without the rule, 11 of 40 seeds have the best by the 60th. Cost on other problems:
#: ``benchmarks/results/compare-cover.md``.
EVERY = 2
#: Number of candidates for each combination: the best points with changed categories, and points anywhere. Not tuned.
NEAR_BEST = 4
RANDOM = 12


class Combinations:
    """The combinations of the categorical dimensions of a space that are always active.

    Args:
        space: the searched space.
    """

    def __init__(self, space: SearchSpace) -> None:
        self._space = space
        self._at: Indices = np.flatnonzero(space.categorical & ~space.conditional)
        sizes = space.sizes[self._at].astype(int).tolist()
        # a single category is left to the model, whose additive part learns single effects
        few = len(sizes) > 1 and float(np.prod(space.sizes[self._at])) <= LISTED
        self._left = set(itertools.product(*map(range, sizes))) if few else set()
        self._known = 0

    def untried(self, run: Run) -> Indices:
        """Numbers (k, c) of the categories of each combination that has no trial and is not pending."""
        if not self._left:
            return np.empty((0, len(self._at)), dtype=np.int64)
        trials = run.history.trials
        self._left -= self._of(trials.X[self._known :])
        self._known = trials.n
        return np.array(sorted(self._left - self._of(run.history.pending_points())), dtype=np.int64)

    def _of(self, X: Array) -> set[tuple[int, ...]]:
        return set(map(tuple, self._space.cells(X)[:, self._at].tolist()))

    def due(self, run: Run) -> bool:
        """Whether the next suggestion is to try an untried combination."""
        return run.available.fixed is None and run.step % EVERY == 0 and len(self.untried(run)) > 0

    def candidates(self, run: Run) -> Array:
        """Points (c, d) with untried combinations: other coordinates from the best points, or anywhere."""
        return with_categories(self._space, run, self._at, self.untried(run))


def with_categories(space: SearchSpace, run: Run, at: Indices, numbers: Indices) -> Array:
    """Points (c, d) with each row of ``numbers (k, m)``, the categories of the coordinates ``at (m,)``.

    Other coordinates are from the best points, or anywhere.
    """
    history = run.history
    best = history.X[best_first(history.scores())[:NEAR_BEST]]
    anywhere = run.design.candidates.spread(RANDOM, run.rng)
    dormant = run.dormant(run.rng)
    filled = best if dormant is None else np.where(best == INACTIVE, dormant[:1], best)
    base = np.concatenate([filled, anywhere])
    points = []
    for row in numbers:
        some = base.copy()
        for j, number in zip(at, row, strict=True):
            some[:, j] = middles(space[space.names[j]], np.array([number]))[0]
        points.append(some)
    return space.snap(np.concatenate(points))
