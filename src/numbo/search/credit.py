"""Which of two searches gets the next suggestion: the one that has lately brought more.

The gain of an observation is by how much it improves on the best one before it. The share of a search is its gain for
each of its observations, among the newest `WINDOW`, relative to that of both; it is never below `LEAST` or above
`MOST`. It depends on the observations only, in their order.
"""

from __future__ import annotations

import math
from collections import deque

from numbo._plain import Kept

#: Gains are compared over so many of the newest observations.
WINDOW = 100
#: The least and the largest share of the second search (`benchmarks/results/single-runs.md`).
LEAST = 0.05
MOST = 0.85
#: The share of the second search while nobody gains anything (`benchmarks/results/single-runs.md`).
IDLE = 1 / 3
#: Values are clipped at this.
LARGEST = 1e150
#: Multiples of this number are spread evenly over the unit interval.
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


class Credit(Kept):
    """The gains of the newest observations.

    Attributes:
        record: the best value so far.
        gains: of the newest observations, whether they are of the second search, and their gains.
    """

    _kept = ("record", "gains")

    def __init__(self, record: float = -math.inf) -> None:
        self.record = record
        self.gains = deque[tuple[bool, float]](maxlen=WINDOW)

    def see(self, y: float, *, second: bool) -> None:
        """Take in an observation with value ``y``, larger is better."""
        if not math.isfinite(y):
            return
        y = min(max(y, -LARGEST), LARGEST)
        gain = max(0.0, y - self.record) if math.isfinite(self.record) else 0.0
        self.gains.append((second, gain))
        self.record = max(self.record, y)

    @property
    def share(self) -> float:
        """The share of the second search."""
        rates = [self._rate(second) for second in (False, True)]
        if sum(rates) == 0.0:
            return IDLE
        return min(max(rates[1] / sum(rates), LEAST), MOST)

    def _rate(self, second: bool) -> float:
        gains = [gain for of_second, gain in self.gains if of_second == second]
        return sum(gains) / len(gains) if gains else 0.0


def is_turn(step: int, share: float) -> bool:
    """Whether the suggestion at a ``step`` is among a ``share`` of all, spread evenly."""
    return step * GOLDEN % 1.0 < share
