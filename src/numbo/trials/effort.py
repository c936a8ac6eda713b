"""What trials have cost, in reports: which part of it filled the space."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Effort:
    """Sums over trials; one that reports nothing costs 1.

    Attributes:
        spent: by all trials.
        scouts: number of those whose points filled the space, beside the initial design.
        scouted: spent by these.
        stopped: number of trials that were stopped after a report.
        trials: number of all.
        longest: spent by the longest one.
    """

    spent: int = 0
    scouts: int = 0
    scouted: int = 0
    stopped: int = 0
    trials: int = 0
    longest: int = 0

    def add(self, cost: int, *, scout: bool, stopped: bool) -> None:
        """Take in a trial."""
        self.trials += 1
        self.longest = max(self.longest, cost)
        self.spent += cost
        self.scouts += scout
        self.scouted += cost * scout
        self.stopped += stopped

    def scout_is_due(self, share: float, pending: int) -> bool:
        """Whether less than a ``share`` of what is spent fills the space, times the share that stopping has saved.

        Where hardly any trial is stopped, or late, scouts are as dear as others. Each of the ``pending`` ones counts as
        much as one has cost so far.
        """
        each = self.scouted / self.scouts if self.scouts else 1.0
        saved = 1.0 - self.spent / (self.trials * self.longest)
        return self.scouted + pending * each < share * saved * self.spent
