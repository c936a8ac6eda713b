"""The time of suggestions, and of their phases.

Blocks are classes: as generators, those of a pull of a bandit took a part of its time that shows
(``benchmarks/results/compare-arms.md``).
"""

from __future__ import annotations

import time


class AskTimes:
    """Seconds of each ask, and of the phases of the last one."""

    def __init__(self) -> None:
        self.asks: list[tuple[int, float]] = []
        self.phases: dict[str, float] = {}

    def ask(self, n: int) -> _Ask:
        """Time an ask with ``n`` observations."""
        return _Ask(self, n)

    def phase(self, name: str) -> _Phase:
        """Time a part of the present ask; parts with the same name add up."""
        return _Phase(self, name)


class _Ask:
    """The block of an ask."""

    def __init__(self, times: AskTimes, n: int) -> None:
        self._times = times
        self._n = n

    def __enter__(self) -> None:
        self._times.phases = {}
        self._started = time.perf_counter()

    def __exit__(self, *error: object) -> None:
        self._times.asks.append((self._n, time.perf_counter() - self._started))


class _Phase:
    """The block of a phase."""

    def __init__(self, times: AskTimes, name: str) -> None:
        self._phases = times.phases
        self._name = name

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(self, *error: object) -> None:
        self._phases[self._name] = self._phases.get(self._name, 0.0) + time.perf_counter() - self._started
