"""The cost of trials, in reports, and the part of it spent on *scouts*: points that fill the space."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numbo.trials.history import History

#: Origin of scouts (`numbo.run.situation.Suggestion`).
SCOUT = -3


class Effort(NamedTuple):
    """Sums over trials; a trial without reports costs 1.

    Attributes:
        spent: cost of all trials.
        scouts: number of scouts, without the initial design.
        scouted: cost of scouts.
        stopped: number of trials that were stopped after a report.
        trials: number of all trials.
        longest: cost of the longest trial.
    """

    spent: int = 0
    scouts: int = 0
    scouted: int = 0
    stopped: int = 0
    trials: int = 0
    longest: int = 0

    def scout_is_due(self, share: float, pending: int) -> bool:
        """Whether the scouts' part of the cost is less than ``share`` times the share that stopping has saved.

        Never without stopped trials. If trials are hardly ever stopped, or late, scouts cost as much as other trials,
        and are not due. Each of the ``pending`` scouts counts with the mean cost of scouts so far.
        """
        if not self.stopped:
            return False
        each = self.scouted / self.scouts if self.scouts else 1.0
        saved = 1.0 - self.spent / (self.trials * self.longest)
        return self.scouted + pending * each < share * saved * self.spent


def effort(known: Effort | None, history: History) -> Effort:
    """The fold of the effort (`numbo.trials.History.fact`)."""
    trials = history.trials
    before = Effort() if known is None else known
    new = range(before.trials, trials.n)
    costs = np.array([trials.reported(t) for t in new], dtype=np.int64)
    scouts = trials.origins[before.trials :] == SCOUT
    return Effort(
        spent=before.spent + int(costs.sum()),
        scouts=before.scouts + int(scouts.sum()),
        scouted=before.scouted + int(costs[scouts].sum()),
        stopped=before.stopped + int(trials.stopped[before.trials :].sum()),
        trials=trials.n,
        longest=int(costs.max(initial=before.longest)),
    )


def pending_scouts(history: History) -> int:
    """Number of pending scouts."""
    return int(np.count_nonzero(history.pending.origins == SCOUT))
