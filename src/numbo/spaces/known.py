"""What a user says of parameters before any trial."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from numbo.spaces.allowed import Constraint, constraints_of
from numbo.spaces.beliefs import Belief, beliefs_of, defaults_of


class Known(NamedTuple):
    """What a user says of parameters, by the names of the arguments of `numbo.Space`; false if that is nothing.

    Args:
        allowed: constraints of the parameters together.
        prior: what is believed of good values, by the names of parameters, as `numbo.Space` takes it: `numbo.Guess`,
            weights of all categories, or a function of the value. The first trials are there, and it is believed less
            with each.
        default: usual values of parameters by name. The first trial has them, and others differ only where it pays.
    """

    allowed: tuple[Constraint, ...] = ()
    prior: Mapping[str, Belief] = {}
    default: Mapping[str, Any] = {}

    @classmethod
    def of(cls, allowed: Any, prior: Any, default: Any) -> Known:
        """What these arguments say.

        Raises:
            ValueError: if one is no constraint, belief or value by a name.
        """
        return cls(constraints_of(allowed), beliefs_of(prior), defaults_of(default))

    def __bool__(self) -> bool:
        return any(self)

    @property
    def names(self) -> set[str]:
        """The parameters of which good or usual values are said."""
        return self.prior.keys() | self.default.keys()

    def only(self, names: Collection[str]) -> Known:
        """What is said of the values of the parameters with these ``names``, each by itself."""
        prior, default = ({n: said[n] for n in said if n in names} for said in (self.prior, self.default))
        return Known((), prior, default)


NOTHING = Known()
