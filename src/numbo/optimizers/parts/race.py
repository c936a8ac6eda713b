"""The race of S-BPE: which points may still be the optimum, and what one batch says about them.

Points that can be enumerated are all in the race at first, and drop out for good (`ArmRace`). In a larger space a point
is judged when it is looked at, by what each batch has said (`BoxRace`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from numbo._plain import Kept, Saved
from numbo._types import Array, Mask
from numbo.kernels.acquisition import Posterior, mean_variance
from numbo.kernels.covariance import cross_covariance, prior_variances
from numbo.models.feedback import FeedbackModel
from numbo.models.sparse_gp import SparseGP
from numbo.run.candidates import CANDIDATES
from numbo.run.situation import Situation
from numbo.search.arm_search import ArmSearch
from numbo.search.box_search import BoxSearch
from numbo.spaces import Domain

#: Up to this number of distinct points lambda_max is computed from a full matrix; above, from products with its blocks.
FULL_MATRIX = 1000
#: Relative tolerance of lambda_max above that size; the result is enlarged by it.
EIGENVALUE_TOLERANCE = 1e-3
JUDGED_AT_ONCE = 1024
#: Multiplier of the standard deviation where the mean is not used: any gives the same choice.
WIDTH = 1.0
#: Maximum number of draws of candidates in search of points of a large space that are in the race.
ROUNDS = 20


@dataclass
class Filter:
    """The result of one batch: a point stays in the race while its upper bound reaches ``best_lower``.

    Attributes:
        posterior: mean and variance at the end of the batch.
        beta: multiplier of the standard deviation.
        offset, sd_offset: added to the width of the bounds and to the standard deviation in eq. (15); 0 in eq. (13).
        best_lower: the largest lower bound among points in the race; minus infinity lets all pass.
    """

    posterior: Posterior
    beta: float
    offset: float
    sd_offset: float
    best_lower: float = -math.inf

    def bounds(self, X: Array) -> tuple[Array, Array]:
        """Lower and upper confidence bounds (n,) at ``X (n, d)``: eq. (13), or eq. (15) with its offsets."""
        mean, variance = mean_variance(self.posterior, np.ascontiguousarray(X))
        width = self.offset + self.beta * (np.sqrt(variance) + self.sd_offset)
        return mean - width, mean + width

    def passes(self, X: Array) -> Mask:
        """Which of ``X (n, d)`` stay in the race."""
        return self.bounds(X)[1] >= self.best_lower


class Race(Protocol):
    """The points that may still be the optimum: X_i of the paper.

    Attributes:
        left: which of all points (A,) are in the race; None if they cannot be enumerated.
    """

    left: Mask | None

    def contains(self, X: Array) -> Mask:
        """Which of the points ``X (n, d)`` are in the race."""

    def first_point(self, run: Situation, model: FeedbackModel) -> Array | None:
        """Any point (d,): before the first pull all are equally uncertain. None if none may be suggested."""

    def next_point(self, run: Situation, model: FeedbackModel) -> Array | None:
        """Line 8: the point (d,) with the largest variance, one that is taken if all are; None if there is none."""

    def eliminate(self, run: Situation, verdict: Filter, model: FeedbackModel, X: Array) -> None:
        """Line 17: keep the points whose upper bound is at least the best lower bound, of ``X (n, d)`` among others."""

    def start_again(self) -> None:
        """All points are in the race again."""


def race_of(space: Domain, chooser: ArmSearch | BoxSearch) -> Race:
    """The race over a domain, all of whose points are in it."""
    return BoxRace(chooser) if isinstance(chooser, BoxSearch) else ArmRace(space, chooser)


class ArmRace(Kept, Race):
    """The race of points that can be enumerated; the ``chooser`` finds the most uncertain one."""

    _kept = ("left",)
    left: Mask

    def __init__(self, space: Domain, chooser: ArmSearch) -> None:
        self._space = space
        self._chooser = chooser
        self.start_again()

    def contains(self, X: Array) -> Mask:
        return self.left[self._space.grid_index(X)]

    def first_point(self, run: Situation, model: FeedbackModel) -> Array | None:
        out = run.available.excluded()
        free = np.flatnonzero(np.ones_like(self.left) if out is None else ~out)
        return self._chooser.grid[run.rng.choice(free)] if len(free) else None

    def next_point(self, run: Situation, model: FeedbackModel) -> Array | None:
        return self._chooser.next_point(run, model, WIDTH)

    def eliminate(self, run: Situation, verdict: Filter, model: FeedbackModel, X: Array) -> None:
        racing = np.flatnonzero(self.left)
        lower, upper = verdict.bounds(self._chooser.grid[racing])
        self.left = self.left.copy()
        self.left[racing[upper < lower.max()]] = False

    def start_again(self) -> None:
        self.left = np.ones(len(self._chooser.grid), dtype=bool)


class BoxRace(Kept, Race):
    """The race of the points of a large space: those that pass the ``filters`` of all batches."""

    filters: Saved[list[Filter]]
    _pool: Saved[Array | None] = None
    _pool_of: Saved[int] = 0  # number of dictionaries drawn

    def __init__(self, chooser: BoxSearch) -> None:
        self._chooser = chooser
        self.left: Mask | None = None
        self.filters = []

    def contains(self, X: Array) -> Mask:
        rows = np.arange(len(X))
        for one in self.filters:
            rows = rows[one.passes(X[rows])]
        inside = np.zeros(len(X), dtype=bool)
        inside[rows] = True
        return inside

    def first_point(self, run: Situation, model: FeedbackModel) -> Array | None:
        taken = run.available.taken
        return next((x for x in self._candidates(run, model) if not taken(x)), None)

    def next_point(self, run: Situation, model: FeedbackModel) -> Array | None:
        posterior, _ = model.given_batch()
        without_mean = posterior._replace(alpha=np.zeros(posterior.n))
        candidates = self._candidates(run, model)

        def eliminated(x: Array) -> bool:
            return not bool(self.contains(x[None])[0])

        def out(x: Array) -> bool:
            return run.available.taken(x) or eliminated(x)

        x = self._chooser.maximize(run, model, without_mean, WIDTH, [candidates], out)
        return self._chooser.maximize(run, model, without_mean, WIDTH, [candidates], eliminated) if x is None else x

    def eliminate(self, run: Situation, verdict: Filter, model: FeedbackModel, X: Array) -> None:
        self._pool = None
        points = np.concatenate([self._draw(run, model), X])
        verdict.best_lower = float(verdict.bounds(points[self.contains(points)])[0].max(initial=-math.inf))
        self.filters.append(verdict)

    def start_again(self) -> None:
        self.filters.clear()

    def _candidates(self, run: Situation, model: FeedbackModel) -> Array:
        """Points (c, d) that are in the race, drawn again with each dictionary and each batch."""
        if self._pool is None or self._pool_of != model.draws:
            self._pool = self._draw(run, model)
            self._pool_of = model.draws
        return self._pool

    def _draw(self, run: Situation, model: FeedbackModel) -> Array:
        """Candidates (c, d) from the whole space, or, if few of these are in the race, from around those that are."""
        found = list[Array]()
        elites = self._chooser.elites(run)
        for _ in range(ROUNDS):
            points = np.concatenate(run.candidates.groups(elites, model.kernel.lengthscales, run.rng))
            points = run.rng.permutation(points[self.contains(points)])
            found.append(points)
            if sum(map(len, found)) >= CANDIDATES or not self.filters:
                break
            if len(points):  # look for more points of a small region around those found
                elites = points[run.rng.integers(len(points), size=len(elites))]
        if not any(map(len, found)):  # no draw hit the race: use its observed points
            found.append(run.history.X[self.contains(run.history.X)])
        return np.concatenate([*found, elites[:1]])[:CANDIDATES]


def lambda_max(gp: SparseGP) -> float:
    """Top eigenvalue of ``K_XX - K_XZ K_ZZ^-1 K_ZX`` over the observations, repeats included."""
    XT = np.ascontiguousarray(gp.X.T)
    root = np.sqrt(gp.counts)

    def times(v: Array) -> Array:
        """The matrix times ``v (u,)``, block by block, with repeats as weights."""
        weighted = root * np.ravel(v)
        out = -(gp.Z @ (gp.Z.T @ weighted))
        for start in range(0, gp.u, JUDGED_AT_ONCE):
            block = slice(start, start + JUDGED_AT_ONCE)
            out[block] += cross_covariance(gp.covariance, XT, np.ascontiguousarray(XT[:, block])) @ weighted
        return root * out

    if gp.u > FULL_MATRIX:
        residual = np.maximum(prior_variances(gp.covariance, gp.X) - np.einsum("ij,ij->i", gp.Z, gp.Z), 0.0)
        trace = float(gp.counts @ residual)
        if trace <= 1e-9 * gp.regularization:  # a perfect dictionary: only rounding errors are left
            return trace
        from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

        operator = LinearOperator((gp.u, gp.u), matvec=times, dtype=np.float64)
        try:
            start = np.sqrt(gp.counts * residual)  # a fixed start makes seeded runs reproducible
            top = eigsh(operator, k=1, which="LA", v0=start, tol=EIGENVALUE_TOLERANCE, return_eigenvectors=False)
        except ArpackNoConvergence:
            return trace
        return min((1.0 + EIGENVALUE_TOLERANCE) * max(float(top[0]), 0.0), trace)
    from scipy.linalg import eigvalsh

    matrix = (cross_covariance(gp.covariance, XT, XT) - gp.Z @ gp.Z.T) * np.outer(root, root)
    top = eigvalsh(matrix, subset_by_index=[gp.u - 1, gp.u - 1], check_finite=False)
    return max(float(top[0]), 0.0)
