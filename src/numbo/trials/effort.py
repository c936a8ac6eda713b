"""The cost of trials, in reports, and the part of it spent on *scouts*: points that fill the space."""

from __future__ import annotations

from dataclasses import dataclass

from numbo._types import Indices, Mask


@dataclass
class Effort:
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

    @classmethod
    def of(cls, costs: Indices, *, scouts: Mask, stopped: Mask) -> Effort:
        """The sums over trials with ``costs (n,)``, given which of them are ``scouts (n,)``, and which ``stopped``."""
        return cls(
            spent=int(costs.sum()),
            scouts=int(scouts.sum()),
            scouted=int(costs[scouts].sum()),
            stopped=int(stopped.sum()),
            trials=len(costs),
            longest=int(costs.max(initial=0)),
        )

    def add(self, cost: int, *, scout: bool, stopped: bool) -> None:
        """Add a trial."""
        self.trials += 1
        self.longest = max(self.longest, cost)
        self.spent += cost
        self.scouts += scout
        self.scouted += cost * scout
        self.stopped += stopped

    def scout_is_due(self, share: float, pending: int) -> bool:
        """Whether the scouts' part of the cost is less than ``share`` times the share that stopping has saved.

        If trials are hardly ever stopped, or late, scouts cost as much as other trials, and are not due. Each of the
        ``pending`` scouts counts with the mean cost of scouts so far.
        """
        each = self.scouted / self.scouts if self.scouts else 1.0
        saved = 1.0 - self.spent / (self.trials * self.longest)
        return self.scouted + pending * each < share * saved * self.spent
