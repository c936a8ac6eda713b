"""Engines: searches beside the global model of an algorithm, which propose points in turns."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from numbo.models.outputs import Outputs
from numbo.run.run import Run, Suggestion
from numbo.search.trust_region import Region
from numbo.trials import History

#: Origins of up to so many boxes are told apart in each engine.
BOXES = 2**48


class Engine(Protocol):
    """A search of its own. It sees every observation, and knows by their origins those that it proposed.

    Attributes:
        outputs: its models, whose claims of noise count (`Run.listen`).
    """

    outputs: Outputs

    def eager(self, run: Run) -> bool:
        """Whether it takes the next suggestion whosever turn it is."""

    def propose(self, run: Run) -> Suggestion | None:
        """The next point, or None if it has none."""

    def tell(self, run: Run, i: int, y: float, origin: int) -> None:
        """Take in observation ``i`` of the history with value ``y``, which may be infinite."""

    def region(self, history: History) -> Region | None:
        """Where it searches, if that is a box."""

    def state_dict(self) -> dict[str, Any]:
        """What cannot be recomputed from the observations, as plain data."""

    def restore(self, state: dict[str, Any], history: History) -> None:
        """Take in a `state_dict`."""


class Origin(NamedTuple):
    """Which engine proposed a point, and from which of its boxes.

    It is kept as one integer (`numbo.run.run.Suggestion`); points of the global model have a negative one.
    """

    engine: int
    box: int

    @classmethod
    def of(cls, packed: int) -> Origin:
        return cls(*divmod(packed, BOXES))

    @property
    def packed(self) -> int:
        return self.engine * BOXES + self.box
