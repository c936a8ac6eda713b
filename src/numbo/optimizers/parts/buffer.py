"""GSSBO's dynamic buffer: when to stop fitting to all data, and how many samples to use from then on."""

from __future__ import annotations

from dataclasses import dataclass, field

from numbo._plain import Kept

RULES = ("work", "time")

#: Cost of one of the n (n + d) entries relative to the fixed part of an iteration. With this value, Z = 4 gives a
#: buffer of about 120 samples in any dimension, close to the paper's (about 100). Under the time rule it depends on the
#: machine.
WORK_PER_ENTRY = 3e-4


def iteration_work(n: int, d: int) -> float:
    """Modelled work of an iteration: a fixed part, and one proportional to the n (n + d) entries it touches."""
    return 1.0 + WORK_PER_ENTRY * n * (n + d)


@dataclass
class DynamicBuffer(Kept):
    """Algorithm 1, lines 5-10: once an iteration costs more than ``factor`` times the average initial one, M = |D|.

    The initial iterations are those of the model on ``n_initial < n <= 2 n_initial`` observations.

    Attributes:
        rule: ``"time"`` uses the wall clock, as the paper does; ``"work"`` a model of it, so that seeded runs are
            reproducible. If the history outgrows the initial iterations before any of them was timed, the work model
            decides in either case.
        size: M, ``None`` before the switch.
    """

    _kept = ("size", "times")

    n_initial: int
    d: int
    factor: float
    rule: str
    size: int | None = None
    times: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        initial = range(self.n_initial + 1, 2 * self.n_initial + 1)
        limit = self.factor * sum(iteration_work(n, self.d) for n in initial) / self.n_initial
        self._work_size = next(n for n in range(self.n_initial + 2, 10**9) if iteration_work(n, self.d) > limit)

    def limit(self, n: int) -> int:
        """Number of samples the model uses when ``n`` are known."""
        timed = self.rule == "time" and (self.times or n <= 2 * self.n_initial)
        if self.size is None and not timed and n >= self._work_size:
            self.size = self._work_size
        return n if self.size is None else self.size

    def record(self, n: int, seconds: float) -> None:
        """Record the time of an iteration on ``n`` observations."""
        if self.rule != "time" or self.size is not None:
            return
        if n <= 2 * self.n_initial:
            self.times.append(seconds)
        elif self.times and seconds > self.factor * sum(self.times) / len(self.times):
            self.size = n
