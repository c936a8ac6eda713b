"""The distance within which a point most likely has exactly the value of a known point.

Accuracies on few samples, step functions, and tables that return the value of the nearest row are flat around a known
point. A search that stays there learns nothing, however good the point is. If values of a continuous objective tie, the
distances between tied neighbours show the size of such flat regions.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from numbo._types import Array, Indices, Mask, ObservationIndices
from numbo.kernels.covariance import Covariance, nearest_before
from numbo.models.noise import LEVELS, Noise
from numbo.trials import History

#: Number of the newest observations that are searched for tied neighbours. This takes 0.1 ms.
LATEST = 128
#: Number of the newest observations from which suggestions keep away, so that long studies with many ties stay fast.
NEWEST = 1024
#: Minimum number of tied neighbours, and their minimum share of all neighbours within the distance:
#: ``benchmarks/results/compare-ties.md`` and ``single-runs.md``.
TIES = 3
SHARE = 0.75


class Tied(NamedTuple):
    """How many of the first ``n`` observations have the value of another point: ``pairs``.

    Attributes:
        first: the first observation with each value. It is shared by all values of the fold, so some may be newer.
        distinct: the number of those that are not.
    """

    n: int
    pairs: int
    first: dict[float, int]
    distinct: int


def tied(known: Tied | None, history: History) -> Tied:
    """The fold of `Tied`."""
    known = Tied(0, 0, {}, 0) if known is None else known
    first = known.first
    if len(first) > known.distinct:  # another history has gone on from here
        first = {value: i for value, i in first.items() if i < known.n}
    new = np.arange(known.n, history.n)
    pairs = known.pairs
    for i, value in zip(new.tolist(), history.trials.Y[history.positions[new], 0].tolist(), strict=True):
        one = first.setdefault(value, i)
        pairs += one != i and not np.array_equal(history.X[one], history.X[i])
    return Tied(history.n, pairs, first, len(first))


def resolution(history: History, noise: Noise, covariance: Covariance) -> float:
    """The squared distance, in a covariance's metric, within which points most likely have their neighbour's value.

    It is 0 without ties, if values are noisy, and if there are so few levels that noisy values would tie, like outcomes
    of 0 or 1.
    """
    if history.fact(tied).pairs < TIES or noise.found:
        return 0.0
    latest = np.arange(max(0, history.n - LATEST), history.n)
    levels = Counter(history.trials.Y[history.positions[latest], 0].tolist())
    if 1 < len(levels) <= LEVELS:
        return 0.0
    nearest, distances = nearest_before(covariance, history.X[latest])
    same = np.isfinite(distances) & agree(history, latest, latest[nearest])
    return reach(distances, same, tied_by_chance(np.array(list(levels.values()))))


def agree(history: History, rows: ObservationIndices, others: ObservationIndices) -> Mask:
    """Whether the observations ``rows (m,)`` equal ``others (m,)``, at the last common step if one was stopped."""
    pairs = history.positions[np.stack([rows, others], axis=1)].tolist()
    return np.array([history.trials.agree(*pair) for pair in pairs], dtype=bool)


def tied_by_chance(counts: Indices) -> float:
    """The share of tied pairs of values, given the ``counts (l,)`` of each value."""
    n = int(np.sum(counts))
    return float(np.sum(counts * (counts - 1)) / max(n * (n - 1), 1))


def reach(distances: Array, tied: Mask, chance: float) -> float:
    """The largest of the ``distances (m,)`` between neighbours up to which most of them are ``tied (m,)``.

    The larger the ``chance`` of ties among points that are not neighbours, the less a tie counts.
    """
    order = np.argsort(distances, kind="stable")
    ties = np.cumsum(tied[order])
    number = np.arange(1, len(order) + 1)
    enough = (ties >= TIES) & (ties >= (1.0 - (1.0 - SHARE) * (1.0 - chance)) * number) & tied[order]
    within = np.flatnonzero(enough)
    return float(distances[order[within[-1]]]) if len(within) else 0.0
