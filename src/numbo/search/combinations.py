"""Which combinations of categories were tried: where they are few, each is, as no other one says what it holds."""

from __future__ import annotations

import itertools

import numpy as np

from numbo._types import Array, Indices
from numbo.run.run import Run
from numbo.spaces import INACTIVE, SearchSpace
from numbo.spaces.dimensions import middles
from numbo.trials import best_first

#: No more combinations than this are tried one by one: with `EVERY` they take up to the first 80 or 90 trials.
LISTED = 40
#: One suggestion in so many tries another one. Of 27 combinations whose best one has the worst single effects (as in
#: ``tests/search/test_combinations.py``), with two all are tried by the 47th trial in 20 seeds, with three by the
#: 67th; without, 11 of 40 seeds have the best by the 60th. What others pay: ``benchmarks/results/compare-cover.md``.
EVERY = 2
#: Candidates for each combination: the best points with other categories, and any points. Not tuned.
NEAR_BEST = 4
ANYWHERE = 12


class Combinations:
    """The combinations of those categorical dimensions of a space that are always active.

    Args:
        space: what is searched.
    """

    def __init__(self, space: SearchSpace) -> None:
        self._space = space
        self._at: Indices = np.flatnonzero(space.categorical & ~space.conditional)
        sizes = space.sizes[self._at].astype(int).tolist()
        # one category alone is left to the model, whose additive part knows single effects
        few = len(sizes) > 1 and float(np.prod(space.sizes[self._at])) <= LISTED
        self._left = set(itertools.product(*map(range, sizes))) if few else set()
        self._known = 0

    def untried(self, run: Run) -> Array:
        """Numbers (k, c) of the categories of each combination that no trial had, none of which is pending."""
        if not self._left:
            return np.empty((0, len(self._at)), dtype=np.int64)
        trials = run.history.trials
        self._left -= self._of(trials.X[self._known :])
        self._known = trials.n
        return np.array(sorted(self._left - self._of(run.history.pending_points())), dtype=np.int64)

    def _of(self, X: Array) -> set[tuple[int, ...]]:
        return set(map(tuple, self._space.cells(X)[:, self._at].tolist()))

    def due(self, run: Run) -> bool:
        """Whether the next suggestion is one for a combination that was not tried."""
        return run.available.fixed is None and run.step % EVERY == 0 and len(self.untried(run)) > 0

    def candidates(self, run: Run) -> Array:
        """Points (c, d) with combinations that were not tried: some like the best ones otherwise, others anywhere."""
        history = run.history
        space = self._space
        best = history.X[best_first(history.scores())[:NEAR_BEST]]
        anywhere = run.design.candidates.spread(ANYWHERE, run.rng)
        dormant = run.dormant(run.rng)
        filled = best if dormant is None else np.where(best == INACTIVE, dormant[:1], best)
        base = np.concatenate([filled, anywhere])
        points = []
        for numbers in self.untried(run):
            some = base.copy()
            for j, number in zip(self._at, numbers, strict=True):
                some[:, j] = middles(space[space.names[j]], np.array([number]))[0]
            points.append(some)
        return space.snap(np.concatenate(points))
