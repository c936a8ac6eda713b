"""Where trials fail, in words that a user can check: by a test of one parameter.

A region is given by a category, by a threshold of an ordered parameter, or by the condition of a conditional parameter.
The model of failures (`numbo.models.Feasibility`) knows more, but not in words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from numbo._types import Array, Mask
from numbo.run.situation import Situation
from numbo.spaces import INACTIVE, Condition, Space
from numbo.spaces.conditions import Compared, OneOf
from numbo.trials.points import identities

#: A place is told if it has at least this share of the failures, and if the probability that so many lie there by
#: chance, times the number of places that were compared, is at most `CHANCE`.
MOSTLY = 0.75
CHANCE = 0.01
#: Number of failures in a row that mean trouble, and number of the last trials that are looked at.
IN_A_ROW = 5
RECENT = 500


class _Region(NamedTuple):
    """A region, which of the trials lie in it, and the number of regions that it was chosen from."""

    condition: Condition
    inside: Mask
    compared: int = 1


@dataclass(frozen=True)
class Trouble:
    """The last trials in a region failed, one and all.

    Attributes:
        failures: number of trials in a row that failed, at least `IN_A_ROW`, among the last `RECENT` trials.
        where: the region; None if nothing distinguishes it from the rest of the space.
    """

    failures: int
    where: Condition | None

    def translated(self, translate: Callable[[str, Any], Any]) -> Trouble:
        """The same with ``translate(name, value)`` in place of each value."""
        return self if self.where is None else Trouble(self.failures, self.where.translated(translate))

    @property
    def kind(self) -> str:
        """What a warning is for, which is given once: the region without the number of a threshold."""
        if self.where is None:
            return ""
        tests = (test for group in self.where.alternatives for test in group)
        return " ".join(f"{name} {test.sign if isinstance(test, Compared) else test.values}" for name, test in tests)

    def __str__(self) -> str:
        if self.where is None:
            return f"The last {self.failures} trials all failed: look for an error in the objective."
        return f"The last {self.failures} trials where {self.where} all failed: look for an error in the objective."


def failing_place(run: Situation) -> Condition | None:
    """Where most of the failures are: the test that separates them best from the successes, if it is clear.

    It is the one with the largest share of the failures less that of the successes. Failures at points that have also
    succeeded do not count.
    """
    space = run.named_space
    trials = run.history.trials
    counted = ~run.history.visits.superseded(trials.n)
    X = trials.X[counted]
    failed = trials.failed[counted]
    if space is None or not failed.any() or failed.all():
        return None
    from scipy.stats import hypergeom

    best: _Region | None = None
    lead = 0.0
    compared = 0
    for region in _regions(space, X, failed):
        compared += region.compared
        ahead = float(np.mean(region.inside[failed]) - np.mean(region.inside[~failed]))
        if ahead > lead:
            best = region
            lead = ahead
    if best is None or np.mean(best.inside[failed]) < MOSTLY:
        return None
    count = int(np.sum(best.inside & failed))
    chance = hypergeom.sf(count - 1, len(X), int(failed.sum()), int(best.inside.sum()))
    return best.condition if chance * compared <= CHANCE else None


def trouble_of(run: Situation) -> Trouble | None:
    """The trouble that the last trial is part of, if there is any.

    A region with `IN_A_ROW` failures in a row is told if as many would be improbable at the rate of failures elsewhere.
    Otherwise it is told that all of the last trials failed, if that is improbable at the rate before, or there was no
    trial before. It is asked after each failure, so probabilities count times their number.
    """
    trials = run.history.trials
    if not trials.n or not np.isnan(trials.Y[-1, 0]):
        return None
    failed = trials.failed[-RECENT:]
    if int(failed.sum()) < IN_A_ROW:
        return None
    X = trials.X[-RECENT:]
    anywhere = _in_a_row(failed)
    looks = int(failed.sum())
    before = failed[: len(failed) - anywhere]
    usual = (float(before.sum()) + 1.0) / (len(before) + 2.0)
    sudden = not len(before) or usual**anywhere * looks <= CHANCE
    best = Trouble(anywhere, None) if anywhere >= IN_A_ROW and sudden else None
    least = CHANCE
    for region in [] if run.named_space is None else _around_last(run.named_space, X, failed):
        count = _in_a_row(failed[region.inside])
        outside = failed[~region.inside]
        rate = (float(outside.sum()) + 1.0) / (len(outside) + 2.0)
        chance = rate**IN_A_ROW * X.shape[1] * looks
        if count >= IN_A_ROW and chance < least:
            best = Trouble(count, region.condition)
            least = chance
    return best


def _in_a_row(failed: Mask) -> int:
    """Number of failures after the last success."""
    return len(failed) if failed.all() else int(np.argmin(failed[::-1]))


def _regions(space: Space, X: Array, failed: Mask) -> Iterator[_Region]:
    """The regions that the points ``X (n, d)`` distinguish; of thresholds, the one that separates best."""
    for name, condition in space.conditions.items():
        yield _Region(condition, X[:, space.names.index(name)] != INACTIVE)
    for j, name in enumerate(space.names):
        column = X[:, j]
        values = np.unique(column[column != INACTIVE])
        if space.categorical[j]:
            yield from (_category(space, name, column, float(u)) for u in values)
        elif len(values):
            step = np.searchsorted(values, column)  # of inactive ones 0, without weight
            weights = np.where(failed, 1.0 / failed.sum(), -1.0 / (~failed).sum()) * (column != INACTIVE)
            ahead = np.bincount(step, weights, len(values))
            upto = int(np.argmax(np.cumsum(ahead)))
            onwards = len(values) - 1 - int(np.argmax(np.cumsum(ahead[::-1])))
            for sign, at in (("<=", upto), (">=", onwards)):
                yield _threshold(space, name, column, sign, float(values[at]))._replace(compared=len(values))


def _around_last(space: Space, X: Array, failed: Mask) -> Iterator[_Region]:
    """The regions in which the last of the points ``X (n, d)`` lies: beyond all successes, if they are thresholds."""
    for name, condition in space.conditions.items():
        inside = X[:, space.names.index(name)] != INACTIVE
        if inside[-1]:
            yield _Region(condition, inside)
    for j, name in enumerate(space.names):
        column = X[:, j]
        u = float(column[-1])
        if u == INACTIVE:
            continue
        if space.categorical[j]:
            yield _category(space, name, column, u)
            continue
        active = column != INACTIVE
        fine = column[active & ~failed]
        lost = column[active & failed]
        if not len(fine) or u > fine.max():
            yield _threshold(space, name, column, ">=", float(lost[lost > fine.max(initial=-1.0)].min()))
        if not len(fine) or u < fine.min():
            yield _threshold(space, name, column, "<=", float(lost[lost < fine.min(initial=2.0)].max()))


def _category(space: Space, name: str, column: Array, u: float) -> _Region:
    """The region of one category, at the coordinate ``u``, of points with coordinates ``column (n,)``."""
    test = OneOf((space[name].from_unit(u),))
    return _Region(Condition((((name, test),),)), identities(column) == identities(np.array([u])))


def _threshold(space: Space, name: str, column: Array, sign: str, u: float) -> _Region:
    """The region up to, or from, the coordinate ``u`` of an ordered parameter."""
    inside = (column <= u) if sign == "<=" else (column >= u)
    test = Compared(sign, float(space[name].from_unit(u)))
    return _Region(Condition((((name, test),),)), inside & (column != INACTIVE))
