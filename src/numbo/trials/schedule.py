"""A schedule for costly updates: due once the number of observations has grown by a share since the last one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from numbo._plain import Kept, copied


@dataclass
class Schedule(Kept):
    """Due again after `wait` more observations.

    Attributes:
        growth: share by which the number of observations has to grow.
        shortest, longest: bounds of the wait; no upper one if ``longest`` is None.
        at: number of observations at the last update, 0 before.
    """

    _kept = ("at",)

    growth: float
    shortest: int = 1
    longest: int | None = None
    at: int = 0
    __copy__ = copied

    @property
    def wait(self) -> int:
        wait = max(self.shortest, int(self.growth * self.at))
        return wait if self.longest is None else min(wait, self.longest)

    def passed(self, n: int) -> Iterator[int]:
        """Set `at` to each number up to ``n`` at which it is due, if updated every time, and yield it."""
        while self.due(n):
            self.at += self.wait
            yield self.at

    def advance(self, n: int) -> bool:
        """Set `at` to the last number up to ``n`` at which it is due, if updated every time; whether `at` changed."""
        return len(list(self.passed(n))) > 0

    def done(self, n: int) -> None:
        """Record an update at ``n`` observations."""
        self.at = n

    def due(self, n: int) -> bool:
        """Whether it is due at ``n`` observations."""
        return n - self.at >= self.wait
