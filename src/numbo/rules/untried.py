"""Trying each combination of categories and small integers, if there are few: no other trial shows how they interact.

Those of categories are tried early. Those of small integers are left to the model, which knows their order, until no
trial has been a record for a while: a search that has converged would spend the rest of its trials on last digits.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from numbo._types import Array, Indices
from numbo.rules.everywhere import GlobalModel
from numbo.rules.rule import Circumstance, is_turn, several_objectives, space_enumerated, values_fixed
from numbo.run.situation import Situation, Suggestion, suggested
from numbo.search.categories import with_categories
from numbo.spaces import Space
from numbo.trials import History, scores_of

#: Maximum number of combinations that are tried one by one; with `EVERY`, this takes up to the first 80 or 90 trials.
LISTED = 40
#: One suggestion in this many tries an untried combination: ``benchmarks/results/single-runs.md``. Cost on other
#: problems: ``benchmarks/results/compare-cover.md``.
EVERY = 2
#: A single category is left to the model, whose additive part learns single effects, for so many suggestions
#: (`benchmarks/results/single-runs.md`). Other numbers were not tried.
LEFT = 16
#: Categories, and integers with at most `SMALL` values, are covered once records stand still for `STILL` observations:
#: all suggestions but one in `KEPT` then try what is untried: ``benchmarks/results/compare-covered.md``; without the
#: rule: ``compare-elsewhere.md``.
SMALL = 16
LISTED_LATE = 256
STILL = 12
KEPT = 4
#: Improvements by less than this share of the distance of the best from the median of the first ones are last digits.
DIGITS = 0.01
USUAL = 20

#: A number of trials, and the combinations that they leave.
Left = tuple[int, frozenset[tuple[int, ...]]]


class Combinations:
    """The combinations of some dimensions of a space that have neither been told nor are pending.

    Args:
        model: chooses among all untried combinations.
        at: the dimensions, which are always active.
        most: maximum number of combinations; if there are more, none is tried.
    """

    def __init__(self, model: GlobalModel, space: Space, at: Indices, most: int) -> None:
        self._model = model
        self._space = space
        self._at = at
        sizes = space.sizes[at].astype(int).tolist()
        listed = itertools.product(*map(range, sizes)) if math.prod(sizes) <= most else ()
        self._every: frozenset[tuple[int, ...]] = frozenset(listed)

    def untried(self, run: Situation) -> Indices:
        """Numbers (k, c) of the categories of each combination that has no trial and is not pending."""
        if not self._every:
            return np.empty((0, len(self._at)), dtype=np.int64)
        _, left = run.history.fact(self._left)
        return np.array(sorted(left - self._of(run.history.pending.X)), dtype=np.int64)

    def _left(self, known: Left | None, history: History) -> Left:
        """The fold of the combinations that have no trial."""
        n, left = (0, self._every) if known is None else known
        return history.told, left - self._of(history.trials.X[n:])

    def _of(self, X: Array) -> set[tuple[int, ...]]:
        return set(map(tuple, self._space.cells(X)[:, self._at].tolist()))

    def best(self, run: Situation) -> Suggestion | None:
        """The best point with an untried combination; None if there is none left."""
        if not len(untried := self.untried(run)):
            return None
        return suggested(self._model.best(run, lambda: with_categories(self._space, run, self._at, untried)))


class Untried(Combinations):
    """The combinations of the categorical dimensions of a space that are always active, if none of these is fixed."""

    silent_with: tuple[Circumstance, ...] = (space_enumerated,)

    def __init__(self, model: GlobalModel, space: Space) -> None:
        at = np.flatnonzero(space.categorical & ~space.conditional)
        super().__init__(model, space, at, LISTED if len(at) else 0)
        several = np.count_nonzero(space.sizes[at] > 1.0) > 1
        self._begins = 0 if several else LEFT

    def propose(self, run: Situation) -> Suggestion | None:
        fixed = run.available.fixed
        if fixed is not None and not np.isnan(fixed[self._at]).all():
            return None
        return self.best(run) if is_turn(run.turn, EVERY) and run.turn >= self._begins else None


class Elsewhere:
    """Of all categories and small integers, once records stand still: one combination or value may be like no other.

    If there are too many combinations, each value of each of these dimensions is tried.
    """

    silent_with: tuple[Circumstance, ...] = (values_fixed, space_enumerated, several_objectives)

    def __init__(self, model: GlobalModel, space: Space) -> None:
        small = space.categorical | (space.sizes <= SMALL)
        at = np.flatnonzero(small & (space.sizes > 1.0) & ~space.conditional)
        few = math.prod(space.sizes[at].tolist()) <= LISTED_LATE
        groups = [at] if few and len(at) else list(at[:, None])
        self._groups = [Combinations(model, space, group, LISTED_LATE) for group in groups]

    def propose(self, run: Situation) -> Suggestion | None:
        if not self._groups or is_turn(run.turn, KEPT) or not stands_still(run):
            return None
        found = (group.best(run) for group in self._groups)
        return next((suggestion for suggestion in found if suggestion is not None), None)


def stands_still(run: Situation) -> bool:
    """Whether the newest `STILL` observations have improved the best one by last digits at most."""
    scores = scores_of(run.history)
    if len(scores) <= STILL:
        return False
    before = float(scores[:-STILL].max())
    gain = float(scores[-STILL:].max()) - before
    return gain <= DIGITS * (before - float(np.median(scores[:USUAL])))
