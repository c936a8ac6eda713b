"""Candidate values of one dimension, for a point whose other coordinates are fixed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from numbo._types import Array
from numbo.spaces import INACTIVE, Categorical, Dimension, Space
from numbo.spaces.dimensions import middles

#: Maximum number of values.
COMPLETIONS = 64


def completions(
    space: Space, x: Array, name: str, among: Dimension, rng: np.random.Generator
) -> tuple[list[Any], Array]:
    """Values of the dimension ``name``, and points (c, d) with these values and the other coordinates of ``x (d,)``.

    Args:
        space: the searched space.
        x: coordinates (d,), NaN if unknown: unknown ones are inactive if possible, and otherwise in the middle.
        name: a dimension of the space.
        among: the dimension that the values are taken from: all of its values, or a random one from each part of its
            range.
        rng: source of the random values.
    """
    cells = (np.arange(COMPLETIONS) + rng.random(COMPLETIONS)) / COMPLETIONS
    if among.size <= COMPLETIONS:
        cells = middles(among, np.arange(int(among.size)))
    values = list(dict.fromkeys(among.from_unit(float(u)) for u in cells))
    X = np.tile(np.where(np.isnan(x), np.where(space.conditional, INACTIVE, 0.5), x), (len(values), 1))
    dimension = space[name]
    X[:, space.names.index(name)] = [dimension.to_unit(_within(dimension, value)) for value in values]
    return values, X


def within_allowed(space: Space, given: Mapping[str, Any], seed: int | None) -> dict[str, Any] | None:
    """Allowed values of all parameters of a ``space``, with those that are ``given``.

    They are near the usual values, or random ones with a ``seed``, as dense as good values are believed to be. None if
    no such values are found.
    """
    start = space.usual if seed is None else np.random.default_rng(seed).random(space.d)
    if seed is not None and space.beliefs is not None:
        (start,) = space.beliefs.drawn(start[None])
    x = space.partial(given)
    (first,) = space.snap(np.where(np.isnan(x), start, x)[None])
    found = first if space.allowed is None else space.allowed.near(first, x)
    return None if found is None else space.decode(found)


def _within(dimension: Dimension, value: Any) -> Any:
    return value if isinstance(dimension, Categorical) else min(max(value, dimension.low), dimension.high)
