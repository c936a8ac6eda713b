"""The observations nearest a point, and models of them in the units of the box around them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from numbo._types import Array, Indices, Mask, ObservationIndices
from numbo.kernels.covariance import Covariance, squared_distances
from numbo.models.gp import Frame
from numbo.models.noise import Noise
from numbo.models.outputs import Outputs
from numbo.spaces import INACTIVE
from numbo.trials import History

#: If there are more observations than this many times the members, checking the last members first makes the search for
#: the nearest faster. With 128 members in 20 dimensions it takes as long at 1,000 observations, half as long at 10,000.
MANY = 10
#: Under noise, the posterior uses up to this many times as many observations as the model is fitted to.
NEAR = 4
#: Models of constraints are conditioned on this share of the members, the nearest ones. With two constraints in 20
#: dimensions a suggestion takes 2.3 times as long as without constraints, and 2.8 times with all members. The effect on
#: regrets, also of 3/4 of the members: ``benchmarks/results/compare-constraint-members.md``.
OF_CONSTRAINTS = 7 / 8


def condition_near(outputs: Outputs, history: History, noises: Sequence[Noise], center: int, size: int) -> None:
    """Condition the models on the ``size`` observations nearest observation ``center``.

    Args:
        outputs: the models.
        history: the observations.
        noises: of each objective; under noise, `NEAR` times as many observations are used.
        center, size: index of the observation, and number of nearest ones.
    """
    x = history.X[center]
    covariance = outputs.metric
    first = outputs.first
    known = noises[0]

    def rows() -> ObservationIndices:
        return known.distinct(_smallest(squared_distances(covariance, history.X, x, np.inf), NEAR * size))

    def units() -> Frame:
        return frame(history.X[members], first.gp.categorical)

    members = nearest(covariance, history.X, x, size, last=first.members, out=known.copies)
    for j, (surrogate, noise) in enumerate(zip(outputs.objectives, noises, strict=True)):
        due = surrogate.fits.due(history.n)
        surrogate.update_all(history.data(output=j), members, rows, noise, units() if due else None, center)
    members = first.members[: int(OF_CONSTRAINTS * size)] if len(first.members) == size else first.members
    outputs.constraints.update(history, members, units)


def nearest(
    covariance: Covariance, X: Array, center: Array, size: int, last: ObservationIndices, out: ObservationIndices
) -> ObservationIndices:
    """The ``size`` rows of ``X (n, d)`` nearest the ``center (d,)``, nearest first; all rows, in order, if few.

    The rows ``last`` found before limit the search: no result is farther away than the farthest of them. Ties are
    broken without them, so that the result does not depend on them. Rows in ``out`` are left out.
    """
    if len(X) - len(out) <= size:
        return np.delete(np.arange(len(X)), out)
    if len(X) > MANY * size and len(last) >= size:
        limit = squared_distances(covariance, X[last], center, np.inf).max()
        distances = squared_distances(covariance, X, center, limit)
        distances[out] = np.inf
        within = np.flatnonzero(distances <= limit)
        near = within[_smallest(distances[within], size)]
        if len(near) == size == np.count_nonzero(distances[within] <= distances[near].max()):
            return near[np.lexsort((near, distances[near]))]
    distances = squared_distances(covariance, X, center, np.inf)
    distances[out] = np.inf
    near = _smallest(distances, size)
    return near[np.lexsort((near, distances[near]))]


def _smallest(distances: Array, count: int) -> Indices:
    """Rows of the ``count`` smallest of the ``distances (n,)``, unordered; all rows if there are no more."""
    rows: Indices = np.arange(len(distances))
    return rows if len(rows) <= count else np.argpartition(distances, count)[:count]


def frame(X: Array, categorical: Mask) -> Frame:
    """The box around the points ``X (n, d)``."""
    active = X != INACTIVE
    lowest = X.min(axis=0, where=active, initial=1.0)
    highest = X.max(axis=0, where=active, initial=0.0)
    low = np.minimum(lowest, highest)  # a coordinate that is inactive everywhere has its whole range
    high = np.maximum(lowest, highest)
    longest = float(np.max((high - low)[~categorical], initial=0.0))
    return Frame((low + high) / 2.0, longest / 2.0 if longest > 0.0 else 0.5)
