"""A decision tree that separates trials with a parameter from those without, as a disjunction of conjunctions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from numbo._types import Array, Mask
from numbo.spaces.conditions import COMPARISONS, Compared, OneOf
from numbo.spaces.dimensions import Categorical, Dimension, Int

Group: TypeAlias = tuple[tuple[str, OneOf | Compared], ...]

#: Maximum number of tests on the way to a leaf.
DEPTH = 4
#: Maximum number of digits of a threshold.
DIGITS = 16


def grown(
    names: Sequence[str], kinds: Sequence[Dimension], values: Array, used: Mask, depth: int = DEPTH
) -> tuple[Group, ...] | None:
    """Alternatives, each a conjunction of tests, such that one holds exactly in the trials that are ``used (n,)``.

    Args:
        names, kinds: (d,) the parameters that may be tested, and their dimensions.
        values: (n, d) their values, NaN if they are not used.
        used: (n,) the trials to separate from the others.
        depth: maximum number of tests in a row.

    Returns:
        None if there is no such tree.
    """
    if used.all():
        return ((),)
    if not used.any():
        return ()
    if depth == 0:
        return None
    best: tuple[float, int, Mask] | None = None
    for q in np.flatnonzero(~np.isnan(values).any(axis=0)).tolist():
        found = _split(kinds[q], values[:, q], used)
        if found is not None and (best is None or found[0] < best[0] - 1e-9):
            best = found[0], q, found[1]
    if best is None:
        return None
    _, q, left = best
    out: tuple[Group, ...] = ()
    for side in (left, ~left):
        test = _test(kinds[q], values[side, q], values[~side, q])
        below = grown(names, kinds, values[side], used[side], depth - 1)
        if below is None:
            return None
        out += tuple(((names[q], test), *group) for group in below)
    return out


def holds(alternatives: Sequence[Group], names: Sequence[str], values: Array) -> Mask:
    """In which trials (n,) one of the alternatives holds."""
    out = np.zeros(len(values), dtype=bool)
    for group in alternatives:
        all_of = np.ones(len(values), dtype=bool)
        for name, test in group:
            column = values[:, names.index(name)]
            if isinstance(test, OneOf):
                all_of &= np.isin(column, test.values)
            else:
                all_of &= COMPARISONS[test.sign](column, test.bound)
        out |= all_of
    return out


def _split(kind: Dimension, values: Array, used: Mask) -> tuple[float, Mask] | None:
    """The impurity and the left side (n,) of the best division of the trials by a parameter's ``values (n,)``."""
    found, index = np.unique(values, return_inverse=True)
    if len(found) < 2:
        return None
    total = np.bincount(index).astype(float)
    ones = np.bincount(index, used)
    order = np.arange(len(found))
    if isinstance(kind, Categorical):
        order = np.argsort(ones / total, kind="stable")
    n = np.cumsum(total[order])[:-1]
    k = np.cumsum(ones[order])[:-1].astype(float)
    impurity = _gini(n, k) + _gini(total.sum() - n, ones.sum() - k)
    cut = int(np.argmin(impurity))
    return float(impurity[cut]), np.isin(index, order[: cut + 1])


def _gini(n: Array, k: Array) -> Array:
    """``2 n p (1 - p)`` with the share ``p = k / n``."""
    out: Array = 2.0 * k * (n - k) / n
    return out


def _test(kind: Dimension, inside: Array, outside: Array) -> OneOf | Compared:
    """A test that values ``inside`` pass and values ``outside`` fail."""
    if isinstance(kind, Categorical):
        return OneOf(tuple(int(v) for v in np.unique(inside)))
    above = inside.min() > outside.max()
    near, far = (inside.min(), outside.max()) if above else (inside.max(), outside.min())
    return Compared(">=" if above else "<=", between(isinstance(kind, Int), float(far), float(near)))


def between(integer: bool, without: float, nearest: float) -> float:
    """A threshold between a value without the parameter and the nearest one with it: a number with few digits.

    Further trials seldom change it.
    """
    middle = 0.5 * without + 0.5 * nearest
    if integer:
        return float(math.ceil(middle) if nearest > without else math.floor(middle))
    low = min(without, nearest)
    high = max(without, nearest)
    places = -math.floor(math.log10(max(abs(low), abs(high))))
    for digits in range(places, places + DIGITS):
        rounded = round(middle, digits)
        if low < rounded < high:
            return rounded
    return nearest
