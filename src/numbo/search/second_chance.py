"""Another chance for a category that has only failed, and a first one for a branch that was never tried.

Its few trials may have failed by accident, or before the program was mended. Improvement alone would not bring it back:
nothing is known of its values, and a failure makes a success improbable. So it is tried again after a number of trials
that doubles with each of its failures. A category that always fails costs five or six trials of the first hundred.

A category that other parameters depend on is a branch of the program, of which a model of the others says little. One
that has no trial yet is tried, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from numbo._types import Array, Indices, Mask
from numbo.run.situation import Situation
from numbo.search.categories import with_categories
from numbo.spaces import INACTIVE, Space
from numbo.trials import History
from numbo.trials.points import point_keys

#: Number of trials after its first failure until a category is tried again. Of eight runs in which the best of three
#: categories failed once, four never came back to it in 100 trials without this rule.
FIRST = 4
#: From this number of trials on, a branch without a trial is tried, by one suggestion in `EVERY`, if its parameter
#: has at most `FEW` categories. Of 344 random programs, searches of five ended without having seen a branch. Not tuned.
BRANCHES_FROM = 20
EVERY = 4
FEW = 16


class Record(NamedTuple):
    """What ``n`` trials say of each category (c, m): its failures, its last trial, and whether one succeeded."""

    n: int
    failures: Indices
    last: Indices
    fine: Mask


class SecondChance:
    """When each category of a space is due that is always active, or may be without a condition."""

    def __init__(self, space: Space) -> None:
        self._space = space
        free = space.optional | ~space.conditional
        self._at: Indices = np.flatnonzero(space.categorical & free & (space.sizes > 1))
        branches = [space.names[j] in space.parents and space.sizes[j] <= FEW for j in self._at]
        self._branches = np.array(branches, dtype=bool)[:, None]
        most = int(space.sizes[self._at].max(initial=0))
        self._there = np.arange(most) < space.sizes[self._at][:, None]

    def candidates(self, run: Situation) -> Callable[[], Array] | None:
        """Makes points (c, d) with the category that is due; None if there is none."""
        run.forgiven.clear()
        again = self.due(run)
        return None if again is None else partial(self._points, run, *again)

    def _points(self, run: Situation, at: int, category: int) -> Array:
        """Points (c, d) with a ``category`` of the coordinate ``at``.

        They may have failed: the category may have one point only.
        """
        points = with_categories(self._space, run, np.array([at]), np.array([[category]]))
        run.forgiven.update(point_keys(points))
        return points

    def due(self, run: Situation) -> tuple[int, int] | None:
        """The coordinate and the number of the category that has waited longest, of those that are due.

        None if there is none: all have succeeded, or it is too early, or one is being tried. None in a finite space,
        too: every point is tried there anyway, and again once no other is left.
        """
        history = run.history
        if run.available.fixed is not None or run.grid is not None or not len(self._at):
            return None
        failures = history.told > history.n and run.feasibility.learn == "auto"
        first = history.told >= BRANCHES_FROM and run.turn % EVERY == 0 and bool(self._branches.any())
        if not (failures or first):
            return None
        known = history.fact(self._seen)
        waited = history.told - known.last
        due = (known.failures > 0) & ~known.fine & (waited > FIRST * 2.0 ** (known.failures - 1)) & failures
        if first:
            due |= (known.failures == 0) & ~known.fine & self._branches & self._there
        if history.pending:
            pending = history.pending.X
            rows, columns = np.nonzero(self._active(pending))
            due[columns, self._cells(pending)[rows, columns]] = False
        if not due.any():
            return None
        row, category = np.unravel_index(int(np.argmax(np.where(due, waited, -1))), due.shape)
        return int(self._at[row]), int(category)

    def _seen(self, known: Record | None, history: History) -> Record:
        """The fold of the `Record`."""
        if known is None:
            none = np.zeros(self._there.shape, dtype=np.int64)
            known = Record(0, none, none, none.astype(bool))
        failures, last, fine = known.failures.copy(), known.last.copy(), known.fine.copy()
        trials = history.trials
        X = trials.X[known.n :]
        failed = trials.failed[known.n :]
        times = np.arange(known.n, trials.n)
        for j, (numbers, active) in enumerate(zip(self._cells(X).T, self._active(X).T, strict=True)):
            fine[j, numbers[active & ~failed]] = True
            np.add.at(failures[j], numbers[active & failed], 1)
            np.maximum.at(last[j], numbers[active], times[active])
        return Record(trials.n, failures, last, fine)

    def _active(self, X: Array) -> Mask:
        return X[:, self._at] != INACTIVE

    def _cells(self, X: Array) -> Indices:
        """The numbers (n, c) of the categories of points ``X (n, d)``."""
        return self._space.cells(X)[:, self._at]
