"""Under a pruner, the best points once more: what was measured once and is the best of many is lucky."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from numbo.models.moments import moments
from numbo.models.surrogate import Surrogate
from numbo.rules.rule import Circumstance, is_turn, several_objectives, values_fixed
from numbo.run.situation import Situation, Suggestion
from numbo.trials import best_first
from numbo.trials.effort import effort

#: One suggestion in this many, among so many of the best points by the model, each of which is measured so often, with
#: at most so many repeats, as those that are stopped do not count: ``benchmarks/results/compare-confirm.md``.
TURN = 8
AMONG = 3
MOST = 3
REPEATS = 6


@dataclass(frozen=True)
class Confirm:
    """Under a pruner and noise, in turns: one of the best finished points again, the one measured least.

    Few trials run to their end there, and each is the best of its neighbours, so no others average out its luck.
    """

    surrogate: Surrogate
    silent_with: tuple[Circumstance, ...] = (values_fixed, several_objectives)

    def propose(self, run: Situation) -> Suggestion | None:
        history = run.history
        wanted = history.fact(effort).stopped > 0 and run.available.avoid_repeats == "auto"
        if not (wanted and is_turn(run.turn, TURN) and run.noise.shown) or not len(self.surrogate.members):
            return None
        rows = np.flatnonzero(history.final & history.met)
        self.surrogate.release()
        rows = rows[best_first(moments(self.surrogate.posterior, history.X[rows]).mean)]
        first_at = np.arange(history.n)
        for first, i in history.visits.again:
            first_at[i] = first
        firsts = first_at[rows].tolist()
        points = list(dict.fromkeys(firsts))[:AMONG]
        counts = Counter(firsts)
        repeats = Counter(first for first, _ in history.visits.again)
        left = [p for p in points if counts[p] < MOST and repeats[p] < REPEATS]
        found = min(left, key=lambda p: counts[p], default=None)
        if found is None or history.key_of(history.X[found]) is not None:
            return None
        return Suggestion(history.X[found])
