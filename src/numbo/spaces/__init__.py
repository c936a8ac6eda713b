"""Search domains: spaces of named parameters and explicit arms; user values <-> the unit cube."""

from __future__ import annotations

from typing import Any, TypeAlias

from numbo.spaces.allowed import Linear, Mixture, Nonzero, Order
from numbo.spaces.arms import Arms
from numbo.spaces.beliefs import Guess
from numbo.spaces.conditions import INACTIVE, Condition
from numbo.spaces.dimensions import Categorical, Dimension, Float, Int
from numbo.spaces.domain import Corners
from numbo.spaces.inference import Record, Usage
from numbo.spaces.space import Space, misfit
from numbo.spaces.table import Table

__all__ = [
    "INACTIVE",
    "Arms",
    "Categorical",
    "Condition",
    "Corners",
    "Dimension",
    "Domain",
    "Float",
    "Guess",
    "Int",
    "Linear",
    "Mixture",
    "Nonzero",
    "Order",
    "Record",
    "Space",
    "Table",
    "Usage",
    "domain_of",
    "known_of",
    "misfit",
    "named_space",
]

#: What is searched. To the search, arms are a space whose points are rows of features: whatever it asks of a domain
#: without a look at its parameters (`named_space`), both have. A `Table` is a set of arms with names.
Domain: TypeAlias = Space | Arms


def domain_of(owner: str, space: Any, arms: Any = None) -> Domain:
    """The domain given by a space, a mapping of names to dimensions, `Arms`, or the features of ``arms``.

    Args:
        owner: name of the caller, for messages.
        space: a `Space`, a mapping or `Arms`.
        arms: `Arms` or an array (A, d).

    Raises:
        ValueError: unless exactly one of the two is given.
    """
    if (space is None) == (arms is None):
        raise ValueError(f"{owner} takes exactly one of space and arms, got {'neither' if arms is None else 'both'}.")
    if arms is not None:
        return arms if isinstance(arms, Arms) else Arms(arms)
    return space if isinstance(space, Space | Arms) else Space(space)


def named_space(domain: Domain) -> Space | None:
    """The domain, if it is a space of named parameters; None for arms."""
    return domain if isinstance(domain, Space) else None


def known_of(domain: Domain) -> list[str]:
    """The arguments of a space by which something is known of its points."""
    known = {
        "allowed": domain.allowed is not None or domain.permitted is not None,
        "prior": domain.beliefs is not None,
        "default": domain.default is not None,
    }
    return [name for name, given in known.items() if given]
