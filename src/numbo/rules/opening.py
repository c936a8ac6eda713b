"""The first points, and repeats that find out about noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from numbo.models.earlier import Sources
from numbo.models.sources import opening
from numbo.rules.rule import Circumstance, values_fixed
from numbo.run.candidates import CANDIDATES
from numbo.run.situation import Situation, Suggestion, suggested
from numbo.trials import History


@dataclass(frozen=True)
class Opening:
    """The initial design, which goes on while nothing has succeeded.

    Args:
        n: number of its points.
        replaces_failures: whether failures are replaced, by up to as many points more. Of 30 runs with four failures
            among their first five trials, 22 were worse after fifteen trials than with five successes.
    """

    n: int
    replaces_failures: bool = False

    def lasts(self, run: Situation) -> bool:
        history = run.history
        few = run.step < self.n
        if self.replaces_failures:
            few = history.n + len(history.pending) < self.n and run.step < 2 * self.n
        return few or blind(history)

    def point(self, run: Situation, position: int | None) -> Suggestion:
        """The point at a ``position`` of the design, by default at the number of points so far."""
        return Suggestion(run.first_point(self.n, position))


def blind(history: History) -> bool:
    """Whether there is nothing to learn from: no success, or all violate their constraints by the same amount."""
    if not history.n:
        return True
    if not history.constrained or history.any_feasible:
        return False
    C = history.C
    return all(len(np.unique(c[~np.isnan(c)])) <= 1 for c in C[:, (C > 0.0).any(axis=0)].T)


@dataclass(frozen=True)
class Recalled(Opening):
    """The best point by what earlier studies predict, and then the usual start; if it has to go on, more of the former.

    Values near one point alone would not show how much is at stake, so that small differences seemed large, and studies
    that mislead were believed for twenty trials.
    """

    sources: tuple[Sources, ...] = ()

    def point(self, run: Situation, position: int | None) -> Suggestion:
        number = run.step if position is None else position
        if 0 < number < self.n:
            return super().point(run, number - 1)
        first = 0 if number == 0 else number - self.n + 1
        candidates = run.space.snap(run.candidates.even(CANDIDATES)) if run.grid is None else run.grid
        points = run.available.fix_points(opening(run.space, self.sources, candidates, first + 1), None)
        free = [x for x in points[first:] if not run.available.taken(x)]
        return Suggestion(free[0]) if free else super().point(run, number)


@dataclass(frozen=True)
class Probe:
    """One of the best points again, where only that can show noise (`numbo.run.availability.Availability.probe`)."""

    silent_with: tuple[Circumstance, ...] = (values_fixed,)

    def propose(self, run: Situation) -> Suggestion | None:
        return suggested(run.available.probe())
