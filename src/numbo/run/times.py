"""Where the time of suggestions goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class AskTimes:
    """Seconds that each ask took, and those of the phases of the last one."""

    def __init__(self) -> None:
        self.asks: list[tuple[int, float]] = []
        self.phases: dict[str, float] = {}

    @contextmanager
    def ask(self, n: int) -> Iterator[None]:
        """Time an ask at which ``n`` observations are known."""
        self.phases = {}
        started = time.perf_counter()
        try:
            yield
        finally:
            self.asks.append((n, time.perf_counter() - started))

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time a part of the present ask; parts of one name add up."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.phases[name] = self.phases.get(name, 0.0) + time.perf_counter() - started
