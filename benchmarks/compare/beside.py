"""A recorded method beside numbo: the difference, its 90 % intervals by tasks and by groups of them, and a word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from benchmarks.problems.problem import Array

RESAMPLED = 2000
ENDS = (0.05, 0.95)
Interval: TypeAlias = tuple[float, float]
Statistic: TypeAlias = Callable[[Array], float]
AHEAD, LEVEL, BEHIND = "ahead", "level", "behind"


def mean(values: Array) -> float:
    """The mean."""
    return float(np.mean(values))


def lower_median(values: Array) -> float:
    """The median, of two in the middle the smaller one; values may be infinite."""
    return float(np.sort(values)[(len(values) - 1) // 2])


def by_tasks(gaps: Array, statistic: Statistic) -> Interval:
    """The interval of a statistic of ``gaps (tasks,)`` by resampling tasks."""
    rng = np.random.default_rng(0)
    return _interval([statistic(rng.choice(gaps, len(gaps))) for _ in range(RESAMPLED)])


def by_groups(gaps: Array, groups: Sequence[str], statistic: Statistic) -> Interval:
    """The same by resampling groups of tasks, each with all of its tasks."""
    labels = np.asarray(groups)
    members = [gaps[labels == label] for label in np.unique(labels)]
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(members), size=(RESAMPLED, len(members)))
    return _interval([statistic(np.concatenate([members[k] for k in row])) for row in drawn])


def by_runs(ours: Array, theirs: Array) -> Interval:
    """The interval of the difference of two means by resampling the runs ``(n,)`` and ``(m,)`` of each."""
    rng = np.random.default_rng(0)
    return _interval(
        [mean(rng.choice(ours, len(ours))) - mean(rng.choice(theirs, len(theirs))) for _ in range(RESAMPLED)]
    )


def _interval(values: list[float]) -> Interval:
    low, high = np.quantile(values, ENDS, method="closest_observation")
    return float(low), float(high)


class Beside(NamedTuple):
    """A recorded method beside numbo at a mark.

    Attributes:
        method: its name.
        mark: a number of trials or a target.
        theirs, ours: the figures of both.
        gap: the difference, positive where numbo is better.
        tasks: its interval by tasks, or by runs of the only one.
        groups: its interval by groups of tasks, None where there are none.
        size: number of tasks, or of runs of numbo.
        grouped: number of groups.
    """

    method: str
    mark: str
    theirs: float
    ours: float
    gap: float
    tasks: Interval
    groups: Interval | None
    size: int
    grouped: int = 0

    @property
    def word(self) -> str:
        """Ahead or behind where all intervals are on one side of 0, and level otherwise."""
        known = [self.tasks] if self.groups is None else [self.tasks, self.groups]
        if all(low > 0.0 for low, _ in known):
            return AHEAD
        return BEHIND if all(high < 0.0 for _, high in known) else LEVEL


def on_tasks(method: str, mark: str, theirs: Any, ours: Any, *, larger: bool, groups: Sequence[str] = ()) -> Beside:
    """Figures ``(tasks,)`` of both, compared by their means; one number of a record that has no tasks.

    Args:
        method: as in `Beside`.
        mark: as in `Beside`.
        theirs: the figures.
        ours: the figures.
        larger: whether larger ones are better.
        groups: the group of each task.
    """
    ours = np.asarray(ours, dtype=float)
    gaps = (ours - theirs) if larger else (theirs - ours)
    return _beside(method, mark, mean(theirs), mean(ours), gaps, groups, mean)


def by_ratio(method: str, mark: str, theirs: Any, ours: Any, *, groups: Sequence[str]) -> Beside:
    """Figures ``(tasks,)`` of both, of which smaller ones are better, compared by the median of their ratios.

    The gap is the logarithm to base 10. Infinite figures of numbo are infinitely far behind.
    """
    theirs, ours = np.asarray(theirs, dtype=float), np.asarray(ours, dtype=float)
    gaps = np.log10(theirs) - np.log10(ours)
    return _beside(method, mark, lower_median(theirs), lower_median(ours), gaps, groups, lower_median)


def on_runs(method: str, mark: str, theirs: Any, ours: Any, *, larger: bool) -> Beside:
    """Runs ``(m,)`` and ``(n,)`` of both on the only task, compared by their means."""
    theirs, ours = np.asarray(theirs, dtype=float), np.asarray(ours, dtype=float)
    sign = 1.0 if larger else -1.0
    interval = by_runs(sign * ours, sign * theirs)
    gap = sign * (mean(ours) - mean(theirs))
    return Beside(method, mark, mean(theirs), mean(ours), gap, interval, None, len(ours))


def _beside(
    method: str, mark: str, theirs: float, ours: float, gaps: Array, groups: Sequence[str], statistic: Statistic
) -> Beside:
    count = len(set(groups))
    grouped = by_groups(gaps, groups, statistic) if count > 1 else None
    return Beside(method, mark, theirs, ours, statistic(gaps), by_tasks(gaps, statistic), grouped, len(gaps), count)
