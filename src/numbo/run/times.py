"""The time of suggestions, and of their phases."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class AskTimes:
    """Seconds of each ask, and of the phases of the last one."""

    def __init__(self) -> None:
        self.asks: list[tuple[int, float]] = []
        self.phases: dict[str, float] = {}

    def copy(self) -> AskTimes:
        """An independent copy."""
        twin = AskTimes()
        twin.asks = list(self.asks)
        twin.phases = dict(self.phases)
        return twin

    @contextmanager
    def ask(self, n: int) -> Iterator[None]:
        """Time an ask with ``n`` observations."""
        self.phases = {}
        started = time.perf_counter()
        try:
            yield
        finally:
            self.asks.append((n, time.perf_counter() - started))

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time a part of the present ask; parts with the same name add up."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.phases[name] = self.phases.get(name, 0.0) + time.perf_counter() - started
