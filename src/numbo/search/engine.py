"""Engines: searches that take turns with the global model of an algorithm, such as a local search."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from numbo.models.outputs import Outputs
from numbo.run.situation import Situation, Suggestion
from numbo.search.trust_region import Region
from numbo.trials import History

#: Maximum number of boxes of an engine that an origin can distinguish.
BOXES = 2**48


class Engine(Protocol):
    """An independent search. It gets every observation, and identifies its own proposals by their origins.

    Attributes:
        models: its surrogates, which take part in judging noise (`Situation.claims`).
    """

    @property
    def models(self) -> tuple[Outputs, ...]: ...

    def eager(self, run: Situation) -> bool:
        """Whether it makes the next suggestion even if it is not its turn."""

    def propose(self, run: Situation) -> Suggestion | None:
        """The next point, or None if it has none."""

    def tell(self, run: Situation, i: int, y: float, origin: int) -> None:
        """Learn observation ``i`` of the history with value ``y``, which may be infinite."""

    def region(self, history: History) -> Region | None:
        """The box in which it searches, if there is one."""
        return None


class Origin(NamedTuple):
    """The engine that proposed a point, and the number of its box.

    Both are packed in one integer (`numbo.run.situation.Suggestion`), which is negative for points of the global model.
    """

    engine: int
    box: int

    @classmethod
    def of(cls, packed: int) -> Origin:
        return cls(*divmod(packed, BOXES))

    @property
    def packed(self) -> int:
        return self.engine * BOXES + self.box
