"""The time of suggestions, and of their phases.

Blocks are classes: as generators, those of a pull of a bandit took a part of its time that shows
(``benchmarks/results/compare-arms.md``).
"""

from __future__ import annotations

import time
from collections.abc import Callable


class AskTimes:
    """Seconds of each ask, and of the phases of the last one."""

    def __init__(self) -> None:
        self.asks: list[tuple[int, float]] = []
        self.phases: dict[str, float] = {}

    def ask(self, n: int) -> _Block:
        """Time an ask with ``n`` observations."""
        self.phases = {}
        return _Block(lambda seconds: self.asks.append((n, seconds)))

    def phase(self, name: str) -> _Block:
        """Time a part of the present ask; parts with the same name add up."""
        phases = self.phases

        def note(seconds: float) -> None:
            phases[name] = phases.get(name, 0.0) + seconds

        return _Block(note)


class _Block:
    """A block whose time is ``noted``."""

    def __init__(self, noted: Callable[[float], None]) -> None:
        self._noted = noted

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(self, *error: object) -> None:
        self._noted(time.perf_counter() - self._started)
