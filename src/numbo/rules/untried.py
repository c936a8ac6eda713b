"""Trying each combination of categories, if there are few: no other trial shows how categories interact."""

from __future__ import annotations

import itertools

import numpy as np

from numbo._types import Array, Indices
from numbo.rules.everywhere import GlobalModel
from numbo.rules.rule import Circumstance, is_turn, space_enumerated, values_fixed
from numbo.run.run import Run, Suggestion
from numbo.search.categories import with_categories
from numbo.spaces import SearchSpace

#: Maximum number of combinations that are tried one by one; with `EVERY`, this takes up to the first 80 or 90 trials.
LISTED = 40
#: One suggestion in this many tries an untried combination. In a test with 27 combinations whose best one has the worst
#: single effects (as in ``tests/rules/test_untried.py``), all are tried by the 47th trial with 2, in 20 seeds,
#: and by the 67th with 3. Without the rule, 11 of 40 seeds have the best by the 60th. Cost on other problems:
#: ``benchmarks/results/compare-cover.md``.
EVERY = 2


class Untried:
    """The combinations of the categorical dimensions of a space that are always active.

    Args:
        model: the global model, which chooses among all untried combinations.
        space: the searched space.
    """

    silent_with: tuple[Circumstance, ...] = (values_fixed, space_enumerated)

    def __init__(self, model: GlobalModel, space: SearchSpace) -> None:
        self._model = model
        self._space = space
        self._at: Indices = np.flatnonzero(space.categorical & ~space.conditional)
        sizes = space.sizes[self._at].astype(int).tolist()
        # a single category is left to the model, whose additive part learns single effects
        few = sum(size > 1 for size in sizes) > 1 and float(np.prod(space.sizes[self._at])) <= LISTED
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

    def propose(self, run: Run) -> Suggestion | None:
        if not is_turn(run.turn, EVERY) or not len(untried := self.untried(run)):
            return None
        x = self._model.best(run, lambda: with_categories(self._space, run, self._at, untried))
        return None if x is None else Suggestion(x)
