"""What the search needs to know about a domain, whether a space of named parameters or a set of arms."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from numbo._types import Array, Indices, Mask


class Domain(Protocol):
    """User points <-> points of the unit cube; implemented by `numbo.Space` and `numbo.Arms`.

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
    def continuous(self) -> Mask:
        """(d,) which coordinates may have any value."""

    @property
    def relaxed(self) -> Mask:
        """(d,) along which coordinates the search follows gradients."""

    @property
    def discrete(self) -> Mask:
        """(d,) along which coordinates it steps to neighbours."""

    @property
    def cardinality(self) -> float:
        """Number of points, possibly ``inf``."""

    @property
    def names(self) -> list[str]:
        """Names of the coordinates."""

    def encode(self, params: Any) -> Array:
        """The unit-cube point (d,) of a user point; raises `ValueError` if the point is not in the domain."""

    def partial(self, params: Any) -> Array:
        """The coordinates (d,) of some of the parameters, NaN for the others."""

    def decode(self, x: Array) -> Any:
        """The user point of the unit-cube point ``x (d,)``."""

    def representable(self, x: Array) -> Array:
        """The coordinates (d,) of the user point at ``x (d,)``."""

    def snap(self, X: Array, dormant: Array | None = None) -> Array:
        """The points of the domain nearest to ``X (n, d)``."""

    def limits(self, X: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        """The corners (d,) or (n, d) of the box that points ``X (n, d)`` may move in."""

    def neighbours(self, X: Array, dormant: Array | None = None) -> tuple[Array, Indices]:
        """Points (k, d) near the rows of ``X (n, d)``, and the numbers (k,) of these rows."""

    def grid(self) -> Array:
        """All points (cardinality, d) of a finite domain."""

    def grid_index(self, X: Array) -> Indices:
        """Row numbers in `grid` of the points ``X (n, d)`` of a finite domain."""
