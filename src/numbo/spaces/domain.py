"""The interface of a domain to the search: of any domain, and of a space of named parameters.

`numbo.Space` is a `SearchSpace`. `numbo.Arms` and `numbo.Table` are a `Domain` only: their points are rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from numbo._types import Array, Indices, Mask
from numbo.spaces.conditions import INACTIVE, Condition
from numbo.spaces.dimensions import Dimension

if TYPE_CHECKING:
    from numbo.spaces.allowed import Allowed
    from numbo.spaces.beliefs import Beliefs


class Corners(NamedTuple):
    """The ``lower`` and the ``upper`` corner of a box in the unit cube: (d,), or (n, d), one box for each point."""

    lower: Array
    upper: Array

    @classmethod
    def of_cube(cls, d: int) -> Corners:
        """The whole unit cube."""
        return cls(np.zeros(d), np.ones(d))

    def hold(self, X: Array) -> Mask:
        """Which of the points ``X (n, d)`` lie in the box in all their active coordinates."""
        inside: Mask = np.all((self.lower <= X) & (self.upper >= X) | (X == INACTIVE), axis=1)
        return inside


class Derived(NamedTuple):
    """Points ``X (k, d)`` derived from other points, and the ``rows (k,)`` of the originals."""

    X: Array
    rows: Indices


class Domain(Protocol):
    """User points <-> points of the unit cube.

    Attributes:
        explicit: whether the domain is an explicit set of arms, whose points are row indices.
    """

    explicit: ClassVar[bool]

    @property
    def d(self) -> int:
        """Number of coordinates."""

    @property
    def categorical(self) -> Mask:
        """(d,) which coordinates are compared by equality."""

    @property
    def conditional(self) -> Mask:
        """(d,) which coordinates may be `numbo.spaces.conditions.INACTIVE`."""

    @property
    def optional(self) -> Mask:
        """(d,) which of these depend on no known condition."""

    @property
    def continuous(self) -> Mask:
        """(d,) which coordinates may have any value."""

    @property
    def relaxed(self) -> Mask:
        """(d,) which coordinates the search moves by gradients."""

    @property
    def discrete(self) -> Mask:
        """(d,) in which coordinates the search steps to neighbouring values."""

    @property
    def usual_lengthscales(self) -> Array:
        """(d,) the lengthscales that models expect, in units of the unit cube (`numbo.models.priors`)."""

    @property
    def cardinality(self) -> float:
        """Number of points, possibly ``inf``."""

    @property
    def allowed(self) -> Allowed | None:
        """What is known of the parameters together; None if nothing is, and for arms."""

    @property
    def beliefs(self) -> Beliefs | None:
        """What is believed of good values; None if nothing is, and for arms."""

    @property
    def default(self) -> Array | None:
        """(d,) the coordinates of default values, NaN for those without; None if there are none, and for arms."""

    @property
    def permitted(self) -> Mask | None:
        """(A,) which points of `grid` are allowed; None if all are, or it is not known of all."""

    @property
    def names(self) -> list[str]:
        """Names of the coordinates."""

    @property
    def conditions(self) -> Mapping[str, Condition]:
        """Conditions of the coordinates that have one, by name."""

    def encode(self, params: Any) -> Array:
        """The unit-cube point (d,) of a user point; raises `ValueError` if the point is not in the domain."""

    def partial(self, params: Any) -> Array:
        """The coordinates (d,) of some of the parameters, NaN for the others."""

    def decode(self, x: Array) -> Any:
        """The user point of the unit-cube point ``x (d,)``."""

    def representable(self, x: Array) -> Array:
        """The coordinates (d,) of the user point at ``x (d,)``."""

    def snap(self, X: Array, dormant: Array | None = None) -> Array:
        """The points of the domain nearest to ``X (n, d)``.

        Newly active coordinates have the values of the first row of ``dormant (m, d)``: values for coordinates that are
        inactive at present.
        """

    def wake(self, X: Array, dormant: Array | None) -> Derived:
        """Points (k, d) of the domain from ``X (n, d)``, with the coordinates that the conditions make active.

        Newly active coordinates have the values of each row of ``dormant (m, d)`` in turn.
        """

    def limits(self, X: Array, corners: Corners) -> Corners:
        """The corners (d,) or (n, d) of the box in which points ``X (n, d)`` may move, within ``corners (d,)``."""

    def neighbours(self, X: Array, dormant: Array | None = None) -> Derived:
        """Points (k, d) near the rows of ``X (n, d)``."""

    def grid(self) -> Array:
        """All points (cardinality, d) of a finite domain."""

    def grid_index(self, X: Array) -> Indices:
        """Row numbers in `grid` of the points ``X (n, d)`` of a finite domain."""


class SearchSpace(Domain, Protocol):
    """A domain whose coordinates are parameters, each with a dimension of its own."""

    @property
    def sizes(self) -> Array:
        """(d,) number of values of each dimension, ``inf`` for continuous ones."""

    @property
    def middle(self) -> Array:
        """The middle (d,) of each range, on its scale, and the first category."""

    @property
    def usual(self) -> Array:
        """The default (d,), what is believed best, or the `middle`."""

    @property
    def parents(self) -> set[str]:
        """Names of the dimensions that conditions look at."""

    def __getitem__(self, name: str) -> Dimension:
        """The dimension of a parameter."""

    def cells(self, X: Array) -> Indices:
        """Numbers (n, d), from 0, of the discrete values at ``X (n, d)``."""

    def rounded(self, X: Array) -> Array:
        """``X (n, d)`` with discrete coordinates at their values, active or not."""


def known_of(domain: Domain) -> list[str]:
    """The arguments of a space by which something is known of its points."""
    known = {
        "allowed": domain.allowed is not None or domain.permitted is not None,
        "prior": domain.beliefs is not None,
        "default": domain.default is not None,
    }
    return [name for name, given in known.items() if given]
