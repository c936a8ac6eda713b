"""Another chance for a category that has only failed.

Its few trials may have failed by accident, or before the program was mended. Improvement alone would not bring it back:
nothing is known of its values, and a failure makes a success improbable. So it is tried again after a number of trials
that doubles with each of its failures. A category that always fails costs five or six trials of the first hundred.
"""

from __future__ import annotations

import numpy as np

from numbo._types import Array, Indices
from numbo.run.run import Run
from numbo.spaces import SearchSpace

#: Number of trials after its first failure until a category is tried again. Of eight runs in which the best of three
#: categories failed once, four never came back to it in 100 trials without this rule.
FIRST = 4


class SecondChance:
    """The record of each category that is always active.

    Args:
        space: the searched space.
    """

    def __init__(self, space: SearchSpace) -> None:
        self._space = space
        self._at: Indices = np.flatnonzero(space.categorical & ~space.conditional & (space.sizes > 1))
        most = int(space.sizes[self._at].max(initial=0))
        self._failures = np.zeros((len(self._at), most), dtype=np.int64)
        self._last = np.zeros((len(self._at), most), dtype=np.int64)
        self._fine = np.zeros((len(self._at), most), dtype=bool)
        self._known = 0

    def due(self, run: Run) -> tuple[int, int] | None:
        """The coordinate and the number of the category that has waited longest, of those that are due.

        None if there is none: all have succeeded, or it is too early, or one is being tried.
        """
        history = run.history
        nothing = history.told == history.n or run.feasibility.learn != "auto"
        if nothing or run.available.fixed is not None or not len(self._at):
            return None
        self._see(run)
        waited = history.told - self._last
        due = (self._failures > 0) & ~self._fine & (waited > FIRST * 2.0 ** (self._failures - 1))
        if history.pending:
            due[np.arange(len(self._at)), self._cells(history.pending_points())] = False
        if not due.any():
            return None
        row, category = np.unravel_index(int(np.argmax(np.where(due, waited, -1))), due.shape)
        return int(self._at[row]), int(category)

    def _see(self, run: Run) -> None:
        """Take in the trials that were told since the last call."""
        trials = run.history.trials
        cells = self._cells(trials.X[self._known :])
        failed = trials.failed[self._known :]
        for j, numbers in enumerate(cells.T):
            self._fine[j, numbers[~failed]] = True
            np.add.at(self._failures[j], numbers[failed], 1)
            np.maximum.at(self._last[j], numbers, np.arange(self._known, trials.n))
        self._known = trials.n

    def _cells(self, X: Array) -> Indices:
        """The numbers (n, c) of the categories of points ``X (n, d)``."""
        return self._space.cells(X)[:, self._at]
