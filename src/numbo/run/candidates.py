"""Starting points for maximising an acquisition function over a large space."""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from numbo._rows import distinct_rows
from numbo._types import Array, Indices
from numbo.spaces import INACTIVE, Domain
from numbo.trials import History, best_first, scores_of

CANDIDATES = 512
ELITES = 4
#: Perturbations of each elite.
PERTURBATIONS = 16
#: Maximum number of other branches (sets of active coordinates) whose best point is also an elite.
BRANCHES = 8
#: How many of the best observations are searched for distinct branches.
RANKED = 1024
#: Number of points on the lines through a point.
ON_LINES = 1024
#: Number of values to choose from when a coordinate becomes active.
DORMANT = 3


def elite_rows(X: Array, y: Array) -> Indices:
    """Rows of the best of the points ``X (n, d)`` by their values ``y (n,)``, and of the best in other branches."""
    order = best_first(y)
    asleep = X[order[:RANKED]] == INACTIVE
    if not asleep.any():
        return order[:ELITES]
    branches, _ = distinct_rows(asleep)
    return order[np.union1d(np.arange(min(ELITES, len(order))), np.sort(branches)[:BRANCHES])]


class BestWhereActive(NamedTuple):
    """For each coordinate, its values in the best observations in which it was active, best first.

    Attributes:
        n: number of observations seen.
        y: (k, d) values of these observations, -inf if there is none.
        u: (k, d) the coordinates.
    """

    n: int
    y: Array
    u: Array

    @classmethod
    def of_none(cls, d: int) -> BestWhereActive:
        return cls(0, np.full((DORMANT - 1, d), -np.inf), np.empty((DORMANT - 1, d)))

    def seeing(self, X: Array, y: Array) -> BestWhereActive:
        """An update by all observations ``X (n, d)``, ``y (n,)``; only those not seen before are used."""
        new = X[self.n :]
        finite = np.finfo(float).max
        values = np.clip(np.nan_to_num(y[self.n :], nan=-np.inf), -finite, finite)
        y_all = np.concatenate([self.y, np.where(new == INACTIVE, -np.inf, values[:, None])])
        best = np.argsort(-y_all, axis=0, kind="stable")[: len(self.y)]
        u = np.take_along_axis(np.concatenate([self.u, new]), best, axis=0)
        return BestWhereActive(len(X), np.take_along_axis(y_all, best, axis=0), u)

    def filled(self, others: Array) -> Array:
        """The coordinates (m, d), completed by those of ``others (m, d)``."""
        out = others.copy()
        out[: len(self.u)] = np.where(self.y > -np.inf, self.u, out[: len(self.u)])
        return out


def best_where_active(known: BestWhereActive | None, history: History) -> BestWhereActive:
    """The fold of `BestWhereActive` (`numbo.trials.History.fact`)."""
    # scores of earlier observations change with each new one, if they are no values
    changing = history.constrained or history.several or not history.final.all()
    if known is None or (changing and known.n < history.n):
        known = BestWhereActive.of_none(history.X.shape[1])
    return known.seeing(history.X, scores_of(history) if changing else history.y)


class Candidates:
    """Space-filling points, and perturbations of good points; all draws come from the generator that is passed in.

    ``seed`` is that of the Sobol set that is shifted at random for each draw.
    """

    def __init__(self, space: Domain, seed: int) -> None:
        self.space = space
        self.seed = seed
        self._sequence: Array | None = None

    def spread(self, count: int, rng: np.random.Generator) -> Array:
        """``count`` space-filling points (count, d): one Sobol set, shifted at random each time."""
        return (self.even(count) + rng.random(self.space.d)) % 1.0

    def even(self, count: int) -> Array:
        """The first ``count`` points (count, d) of the set, without a shift."""
        if self._sequence is None or count > len(self._sequence):
            from scipy.stats import qmc

            size = 2 ** math.ceil(math.log2(max(count, CANDIDATES)))
            self._sequence = qmc.Sobol(self.space.d, scramble=True, rng=self.seed).random(size)
        return self._sequence[:count]

    @cached_property
    def known(self) -> Array:
        """The known allowed points (k, d), in the order in which each is farthest from those before it."""
        assert self.space.allowed is not None
        anchors = self.space.allowed.anchors
        some = anchors[np.random.default_rng(self.seed).permutation(len(anchors))]
        distance = np.full(len(some), np.inf)
        order = [0]
        for _ in range(1, len(some)):
            distance = np.minimum(distance, np.sum((some - some[order[-1]]) ** 2, axis=1))
            order.append(int(np.argmax(distance)))
        ordered: Array = some[order]
        return ordered

    def groups(
        self, elites: Array, lengthscales: Array, rng: np.random.Generator, count: int = CANDIDATES
    ) -> list[Array]:
        """Snapped points around the ``elites (e, d)``, and ``count`` space-filling ones: groups for `maximize`."""
        scales = np.minimum(lengthscales, 1.0)
        asleep = elites == INACTIVE
        steps = rng.normal(size=(PERTURBATIONS, *elites.shape)) * (0.1 * scales)
        near = np.clip(elites + steps, 0.0, 1.0)
        active = np.sum(~asleep, axis=1, keepdims=True)
        drawn = rng.random(near.shape)
        flip = rng.random(near.shape) < 1.0 / active
        near = np.where(self.space.categorical, np.where(flip, drawn, elites), near)
        near = np.where(asleep, drawn, near)  # values for coordinates that become active
        near = np.concatenate([np.where(asleep, drawn[0], elites), near.reshape(-1, self.space.d)])
        allowed = self.space.allowed
        anywhere = self.space.snap(self.spread(count, rng)) if allowed is None else allowed.spread(count, rng)
        return [self.space.snap(near), anywhere]

    def lines(self, x: Array, rng: np.random.Generator, count: int = ON_LINES, along: Indices | None = None) -> Array:
        """Snapped points (c, d) that differ from ``x (d,)`` in one coordinate, equally many in each active one.

        Or in each of the coordinates ``along`` which the lines are.
        """
        awake = np.flatnonzero(x != INACTIVE) if along is None else along
        each = math.ceil(count / len(awake))
        points = np.tile(np.where(x == INACTIVE, rng.random(len(x)), x), (each * len(awake), 1))
        at = (np.arange(each)[:, None] + rng.random((each, len(awake)))) / each  # stratified: one in each interval
        points[np.arange(len(points)), np.tile(awake, each)] = at.ravel()
        return self.space.snap(points)
