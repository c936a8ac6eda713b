"""Search domains: spaces of named parameters and explicit arms; user values <-> the unit cube."""

from __future__ import annotations

from typing import Any

from numbo.spaces.arms import Arms
from numbo.spaces.dimensions import Categorical, Dimension, Float, Int
from numbo.spaces.domain import Domain
from numbo.spaces.space import Array, Space

__all__ = ["Arms", "Array", "Categorical", "Dimension", "Domain", "Float", "Int", "Space", "domain_of"]


def domain_of(space: Any, arms: Any = None) -> Domain:
    """The domain of a ``space`` (a `Space`, a mapping of names to dimensions, or `Arms`) or of the features ``arms``.

    Raises:
        ValueError: unless exactly one of the two is given.
    """
    if (space is None) == (arms is None):
        raise ValueError(f"Pass exactly one of space and arms, got {'neither' if arms is None else 'both'}.")
    if arms is not None:
        return arms if isinstance(arms, Arms) else Arms(arms)
    return space if isinstance(space, Space | Arms) else Space(space)
