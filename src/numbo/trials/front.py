"""The front of several objectives: the observations that no other observation dominates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from numbo._types import Array, Indices, Mask, ObservationIndices

#: Number of directions of scalarisation (`closeness`), for each objective.
DIRECTIONS = 16
#: Up to this number of points, all pairs are compared at once.
AT_ONCE = 400
#: Distance of a front's reference point below its worst values, as a share of its range. Not tuned.
BEYOND = 0.1


class NonDominated(NamedTuple):
    """Observations that no other observation dominates, in their order; of equal ones the first.

    Attributes:
        rows: (f,) their indices.
        outputs: (f, k) their outputs, larger ones being better.
    """

    rows: ObservationIndices
    outputs: Array

    @classmethod
    def of_none(cls, k: int) -> NonDominated:
        return cls(np.empty(0, dtype=np.int64), np.empty((0, k)))

    def seeing(self, i: int, y: Array) -> NonDominated:
        """The front after observation ``i``, with outputs ``y (k,)``."""
        if (self.outputs >= y).all(axis=1).any():
            return self
        kept = ~(self.outputs <= y).all(axis=1)
        return NonDominated(np.append(self.rows[kept], i), np.concatenate([self.outputs[kept], y[None]]))


def non_dominated(Y: Array) -> Mask:
    """Which of the outputs ``Y (n, k)`` are not dominated; of equal ones the first."""
    n = len(Y)
    if n <= AT_ONCE:
        as_good = (Y[:, None] >= Y[None]).all(axis=2)
        beaten = as_good & (~as_good.T | (np.arange(n)[:, None] < np.arange(n)[None]))
        return np.asarray(~beaten.any(axis=0))
    front = NonDominated.of_none(Y.shape[1])
    for i in best_of_first(Y):
        front = front.seeing(int(i), Y[i])
    out = np.zeros(len(Y), dtype=bool)
    out[front.rows] = True
    return out


def front_rows(Y: Array) -> Indices:
    """Rows (f,) of the outputs ``Y (n, k)`` that are not dominated; the best of the first output comes first."""
    rows = np.flatnonzero(non_dominated(Y))
    return rows[best_of_first(Y[rows])]


def best_of_first(Y: Array) -> Indices:
    """The order of the outputs ``Y (n, k)`` by the first output, the best first; the others break ties."""
    return np.lexsort(-Y.T[::-1])


def beaten(Y: Array, by: Array) -> Mask:
    """Which of the outputs ``Y (n, k)`` are in no objective better than some row of ``by (m, k)``."""
    return np.asarray(np.any((by[None] >= Y[:, None]).all(axis=2), axis=1))


def is_below_median(y: Array, others: Sequence[Array]) -> bool:
    """Whether the median of each output, over the outputs (k,) of ``others``, dominates the outputs ``y (k,)``."""
    ordered = np.sort(np.array(others), axis=0)
    middle = len(ordered) // 2
    with np.errstate(invalid="ignore"):  # the middle of an infinite gap is NaN, and nothing is below it
        median = 0.5 * ordered[(len(ordered) - 1) // 2] + 0.5 * ordered[middle]
    return bool((y <= median).all() and (y < median).any())


def extent(points: Array, spread: Array) -> tuple[Array, Array]:
    """The worst values (k,) of the ``points (f, k)``, and their range (k,), or ``spread (k,)`` if they have none."""
    low = points.min(axis=0)
    span = points.max(axis=0) - low
    return low, np.where(span > 0.0, span, spread)


@cache
def _directions(k: int) -> Array:
    """Directions (w, k) into the positive orthant, the same each time."""
    drawn = np.abs(np.random.default_rng(0).normal(size=(DIRECTIONS * k, k)))
    out: Array = np.maximum(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), 1e-3)
    return out


def closeness(Y: Array, front: Array) -> Array:
    """The closeness of each of the outputs ``Y (n, k)`` to the ``front (f, k)``, at most 1.

    In each of many directions ``w``, the hypervolume scalarisation ``min_j z_j / w_j`` (Zhang & Golovin 2020) is
    divided by its largest value on the front; the closeness is the largest ratio. ``z`` is in units of the front's
    range, above a point `BEYOND` its worst values.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # values may be of any size
        low, span = extent(front, np.maximum(np.ptp(Y, axis=0), np.finfo(float).tiny))
        weights = _directions(Y.shape[1])
        of_front = _scalarised((front - low) / span + BEYOND, weights)
        shares = _scalarised((Y - low) / span + BEYOND, weights) / of_front.max(axis=0)
    out: Array = np.max(np.nan_to_num(shares, nan=-np.inf), axis=1)
    return out


def _scalarised(Z: Array, weights: Array) -> Array:
    """``min_j Z_j / w_j`` (n, w) for ``Z (n, k)`` and ``weights (w, k)``."""
    out = Z[:, None, 0] / weights[None, :, 0]
    for j in range(1, Z.shape[1]):
        out = np.minimum(out, Z[:, None, j] / weights[None, :, j])
    return out


def thinned(points: Array, size: int, around: Array | None = None) -> Indices:
    """Positions (m,) of at most ``size`` of the ``points (f, k)``, in units of their range.

    If ``around (k,)`` is given, half of them are the nearest to it. The others are far apart.
    """
    if len(points) <= size:
        return np.arange(len(points))
    low, span = extent(points, np.ones(points.shape[1]))
    Z = (points - low) / span
    chosen: list[int] = []
    if around is not None:
        order = np.argsort(((Z - (around - low) / span) ** 2).sum(axis=1), kind="stable")
        chosen = order[: size // 2].tolist()
    else:
        chosen = np.unique(Z.argmax(axis=0)).tolist()
    gaps = np.min([((Z - Z[i]) ** 2).sum(axis=1) for i in chosen], axis=0)
    while len(chosen) < size:
        farthest = int(np.argmax(gaps))
        chosen.append(farthest)
        gaps = np.minimum(gaps, ((Z - Z[farthest]) ** 2).sum(axis=1))
    return np.array(chosen)


def joined(points: Array, size: int, around: Array | None = None) -> Array:
    """At most ``size`` points (m, k) that represent the ``points (f, k)``, chosen as by `thinned`.

    Each chosen point gets, in every objective, the best value of the points nearest to it, so that the region that the
    left-out points dominate does not count as a gain. Otherwise searches go back to these points.
    """
    kept = thinned(points, size, around)
    if len(kept) == len(points):
        return points
    _, span = extent(points, np.ones(points.shape[1]))
    Z = points / span
    out: Array = points[kept]
    np.maximum.at(out, ((Z[:, None] - Z[kept][None]) ** 2).sum(axis=2).argmin(axis=1), points)
    return out


def isolation(points: Array) -> Array:
    """The distance (f,) of each of the ``points (f, k)`` from the nearest other one, in units of their range."""
    low, span = extent(points, np.ones(points.shape[1]))
    Z = (points - low) / span
    distances = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    return np.sqrt(distances.min(axis=1))
