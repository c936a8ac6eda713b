"""What a user believes of good values: for each parameter a density over its range, on its scale.

Densities are relative to the range: their mean over it is 1, in every branch, so that a branch with more parameters is
no more believed in than another. Each is mixed with a uniform one, so that nothing is ruled out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from numbo import _checks, _elementary
from numbo._types import Array
from numbo.kernels.tables import table_sums
from numbo.spaces.conditions import INACTIVE
from numbo.spaces.dimensions import Categorical, Dimension

#: Standard deviation of a guess, as a share of the range, by its confidence (those of NePS).
CONFIDENCE = {"low": 0.5, "medium": 0.25, "high": 0.1}
#: The share of a uniform density in each.
UNIFORM = 0.05
#: Number of places at which a density is known, at least; between them its logarithm is linear.
PLACES = 257


@dataclass(frozen=True)
class Guess:
    """The ``best`` value as far as one can guess, and with which ``confidence``.

        Guess(1e-3, "medium")

    Good values are normally distributed around it, on the scale of the parameter, with a standard deviation of .5
    (``"low"``), .25 (``"medium"``) or .1 (``"high"``) of its range, or of another share. A category has the
    probability 1 less this share, which all categories have together in equal parts.

    Raises:
        ValueError: if ``confidence`` is none of these, and no number above 0.
    """

    best: Any
    confidence: str | float = "medium"

    def __post_init__(self) -> None:
        given: Any = self.confidence
        named = isinstance(given, str) and given in CONFIDENCE
        if not named and not (_checks.is_finite(given) and given > 0.0):
            raise ValueError(
                f"confidence of Guess must be one of {list(CONFIDENCE)} or the standard deviation as a share of the "
                f"range, above 0, got {self.confidence!r}."
            )

    @property
    def share(self) -> float:
        """The standard deviation, as a share of the range."""
        return CONFIDENCE[self.confidence] if isinstance(self.confidence, str) else float(self.confidence)


#: A guess, a function of the value that returns how likely it is to be good, or such weights of all categories.
Belief: TypeAlias = Guess | Mapping[Any, float] | Callable[[Any], float]


def beliefs_of(given: Any) -> dict[str, Belief]:
    """The beliefs of an argument ``prior``.

    Raises:
        ValueError: if it is no mapping of names to beliefs.
    """
    if not isinstance(given, Mapping):
        raise ValueError(f'prior must be a mapping such as {{"lr": Guess(1e-3, "medium")}}, got {given!r}.')
    for name, one in given.items():
        if (
            not isinstance(name, str)
            or isinstance(one, type)
            or not (isinstance(one, Guess | Mapping) or callable(one))
        ):
            raise ValueError(
                f"prior[{name!r}] must be a Guess, weights of categories, or a function of the value that returns how "
                f"likely it is to be good, got {one!r}."
            )
    return dict(given)


def defaults_of(given: Any) -> dict[str, Any]:
    """The values of an argument ``default``.

    Raises:
        ValueError: if it is no mapping.
    """
    if not isinstance(given, Mapping):
        raise ValueError(f'default must be a mapping such as {{"lr": 1e-3}}, got {given!r}.')
    return dict(given)


def translated(belief: Belief, inner: Callable[[Any], Any], outer: Callable[[Any], Any]) -> Belief:
    """A belief of the values that a framework shows, as one of the values of a space, from ``inner`` to ``outer``."""
    if isinstance(belief, Guess):
        return Guess(inner(belief.best), belief.confidence)
    if isinstance(belief, Mapping):
        return {inner(value): weight for value, weight in belief.items()}
    return lambda value: belief(outer(value))


class Beliefs:
    """The beliefs of a space, in its coordinates.

    Args:
        dimensions: of the space, by name.
        given: beliefs by name.

    Raises:
        ValueError: if a belief is of no parameter, does not fit to it, or is of nothing.

    Attributes:
        columns: names of all parameters, in the order of the coordinates.
        names: of those that something is believed of.
        logs: (d, g) logarithms of the densities at even places of the coordinates; 0 where nothing is believed.
        mode: (d,) the coordinates believed to be best, NaN where nothing is believed.
    """

    def __init__(self, dimensions: Mapping[str, Dimension], given: Mapping[str, Belief]) -> None:
        for name in given:
            if name not in dimensions:
                raise ValueError(f"prior must name parameters of the space, {list(dimensions)}, got {name!r}.")
        self.columns = list(dimensions)
        self.names = [name for name in dimensions if name in given]
        categories = [int(part.size) for part in dimensions.values() if isinstance(part, Categorical)]
        places = np.linspace(0.0, 1.0, max(PLACES, 2 * max(categories, default=0) + 1))
        self.logs: Array = np.zeros((len(dimensions), len(places)))
        self.mode: Array = np.full(len(dimensions), np.nan)
        for j, (name, part) in enumerate(dimensions.items()):
            if name in given and part.size > 1:
                self._believe(j, name, part, given[name], places)

    def _believe(self, j: int, name: str, part: Dimension, belief: Belief, places: Array) -> None:
        """Set the density of coordinate ``j`` at the ``places``."""
        values: list[Any] = [part.from_unit(u) for u in places]
        own = places if part.size > len(places) else np.array([part.to_unit(value) for value in values])
        found, inverse = np.unique(own, return_inverse=True)
        density, mode = _density(name, part, belief, found)
        density = density[inverse]
        density = UNIFORM + (1.0 - UNIFORM) * density / np.mean(density)
        self.logs[j] = _elementary.log(density)
        self.mode[j] = float(own[np.argmax(density)]) if mode is None else mode

    def values(self, X: Array) -> Array:
        """The log density (n,) at ``X (n, d)``: the sum over the active coordinates."""
        out: Array = table_sums(self.logs, np.ascontiguousarray(X))
        return out

    def single(self, X: Array) -> Array:
        """The log densities (n, d) of the coordinates of ``X (n, d)``, NaN for inactive ones."""
        out = np.full(X.shape, np.nan)
        places = np.linspace(0.0, 1.0, self.logs.shape[1])
        for j, logs in enumerate(self.logs):
            active = X[:, j] != INACTIVE
            out[active, j] = np.interp(X[active, j], places, logs)
        return out

    def drawn(self, U: Array) -> Array:
        """Points (n, d) from uniform ones ``U (n, d)``: the quantiles of the densities."""
        out = U.copy()
        places = np.linspace(0.0, 1.0, self.logs.shape[1])
        for j in np.flatnonzero(self.logs.any(axis=1)):
            density = _elementary.exp(self.logs[j])
            below = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
            out[:, j] = np.interp(U[:, j], below / below[-1], places)
        return out


def _density(name: str, part: Dimension, belief: Belief, places: Array) -> tuple[Array, float | None]:
    """A density (g,), up to a factor, at ``places (g,)`` of a dimension, and the coordinate of a best guess."""
    if isinstance(belief, Guess):
        if not part.contains(belief.best):
            raise ValueError(f"prior[{name!r}] must guess a value of {part}, got {belief.best!r}.")
        mode = float(part.to_unit(belief.best))
        if isinstance(part, Categorical):
            share = min(belief.share, 1.0)
            return np.where(places == mode, 1.0 - share, 0.0) + share / len(places), mode
        return _elementary.exp(-0.5 * ((places - mode) / belief.share) ** 2), mode
    values = [part.from_unit(u) for u in places.tolist()]
    if isinstance(belief, Mapping):
        weights = _weights(name, part, belief)
        density = [weights[part.index(value)] for value in values]  # type: ignore[union-attr]
    else:
        density = [_asked(name, belief, value) for value in values]
    for value, one in zip(values, density, strict=True):
        if not _checks.is_finite(one) or one < 0.0:
            raise ValueError(f"prior[{name!r}] must be finite numbers of at least 0, got {one!r} for {value!r}.")
    if not any(density):
        raise ValueError(f"prior[{name!r}] must be above 0 for some values of {part}.")
    found = np.array(density, dtype=np.float64)
    return found / found.max(), None


def _asked(name: str, belief: Callable[[Any], float], value: Any) -> float:
    """What a user's function says of a value."""
    try:
        return belief(value)
    except Exception as error:
        raised = f"{type(error).__name__}: {error}"
        raise ValueError(
            f"prior[{name!r}] must be finite numbers of at least 0; for {value!r} it raised {raised}"
        ) from error


def check_weights(name: str, part: Categorical, belief: Mapping[Any, float]) -> None:
    """Raise a `ValueError` if a belief is no mapping of all categories to weights."""
    _density(name, part, belief, np.array([part.to_unit(choice) for choice in part.choices]))


def _weights(name: str, part: Dimension, belief: Mapping[Any, float]) -> dict[int, float]:
    """The weights of all categories, by their positions."""
    if not isinstance(part, Categorical):
        raise ValueError(f"prior[{name!r}] must be a Guess or a function, as {part} has no categories: got {belief!r}.")
    found = {part.index(value): weight for value, weight in belief.items()}
    if found.keys() != set(range(len(part.choices))):
        raise ValueError(f"prior[{name!r}] must have weights of all of {list(part.choices)}, got {dict(belief)!r}.")
    return found
