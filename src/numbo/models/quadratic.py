"""Quadratic regression that ranks points: the global surrogate of lq-CMA-ES (Hansen 2019).

    q(x) = c + g^T z + sum_i a_i z_i^2 + sum_{i<j} b_ij z_i z_j,        z = T (x - m)

It is fitted to the better three quarters of the newest points by least squares, weighted by rank. With few points it is
linear, with more it has squares, and with enough of them it is full. ``m`` is the best of these points, and ``T`` makes
their spread the same along all principal axes, or along all coordinates if there are no mixed terms. So the regression
is well conditioned when points lie close together or along a valley (`benchmarks/results/single-runs.md`).

Between two fits the inverse of the normal matrix takes points in by rank-one updates, O(df^2), where a fit is O(n df^2)
for ``df`` coefficients: 231 in 20 dimensions, 861 in 40.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from numbo._plain import Kept, Saved
from numbo._types import Array, Indices
from numbo.kernels.cholesky import inverse_into, unwhiten_into, whiten_into
from numbo.kernels.eigen import eigen
from numbo.kernels.sparse import inverse_factor, precision_factor
from numbo.spaces import Corners

#: Kinds of terms, by the number of coefficients.
LINEAR = 0
SQUARES = 1
FULL = 2
#: A kind needs this many points per coefficient, of those that the fit uses; the newest points, at most `NEWEST` per
#: coefficient of the full quadratic, are kept. The better `BETTER` of them are used, the best with `HEAVIEST` times the
#: weight of the worst. All as by Hansen.
ENOUGH = 1.1
NEWEST = 2
BETTER = 0.75
HEAVIEST = 20.0
#: Least number of points of a linear model.
FEWEST = 3
#: A quadratic with more coefficients than this has no mixed terms: a fit would take seconds.
MOST = 1_100
#: By default the model is fitted anew when this share of its points is new (`benchmarks/results/single-runs.md`).
GROWTH = 0.05
#: Ridge, relative to the mean of the diagonal of the normal matrix.
RIDGE = 1e-9
#: Least spread along an axis or a coordinate, relative to the largest.
THINNEST = 1e-7
#: An axis has a curvature if it is larger than this share of the largest curvature or slope; smaller ones may come from
#: the ridge. Without one, nothing is known of an axis whose slope is below the second share, too, as where points lie
#: almost in a plane (`benchmarks/results/single-runs.md`).
STRAIGHT = 1e-7
FLAT = 1e-4
#: Values are clipped at this.
LARGEST = 1e150
#: Predictions rank observations as their values do if Kendall's tau is at least this
#: (`benchmarks/results/single-runs.md`).
GATE = 0.85
#: Steps of the descent to the largest value in a box.
SWEEPS = 60


class Quadratic(Kept):
    """Weighted regression of values, larger is better.

    Args:
        d: number of coordinates.
        growth: the share of points that are new when the model is fitted anew.
    """

    _kept = ("_X", "_y")
    #: Whether there is a model, and the number of points since its last fit.
    fitted: Saved[bool] = False
    _new: Saved[int] = 0

    def __init__(self, d: int, growth: float = GROWTH) -> None:
        self.d = d
        self._growth = growth
        self._sizes = (d + 1, 2 * d + 1, coefficients_of(d))
        self._pairs = np.triu_indices(d, 1)
        self._X: list[Array] = []
        self._y: list[float] = []

    @property
    def kept(self) -> int:
        """How many of the newest points the model keeps."""
        return NEWEST * self._sizes[self._largest]

    @property
    def _largest(self) -> int:
        return FULL if self._sizes[FULL] <= MOST else SQUARES

    @property
    def determined(self) -> bool:
        """Whether there is a model of more points than coefficients."""
        return self.fitted and BETTER * len(self._y) >= ENOUGH * self._sizes[LINEAR]

    @property
    def full(self) -> bool:
        """Whether there are enough points for mixed terms."""
        return self._kind(len(self._y)) == FULL

    @property
    def complete(self) -> bool:
        """Whether there are enough points for all terms that it will ever have."""
        return self._kind(len(self._y)) == self._largest

    def _kind(self, n: int) -> int:
        kinds = (kind for kind in (FULL, SQUARES) if kind <= self._largest and BETTER * n >= ENOUGH * self._sizes[kind])
        return next(kinds, LINEAR)

    def add(self, x: Array, y: float) -> None:
        """Take in a point ``x (d,)`` with value ``y``."""
        y = min(max(y, -LARGEST), LARGEST)
        self._X.append(x)
        self._y.append(y)
        self._new += 1
        if not self.fitted:
            del self._X[: -self.kept]
            del self._y[: -self.kept]
        elif self._new > 2 * self.kept:
            self._fit()  # so that old points are forgotten
        else:
            self._take_in(x, y)

    def newest(self, count: int) -> tuple[Array, Array]:
        """The newest points (k, d) and their values (k,), at most ``count``."""
        return np.array(self._X[-count:]), np.array(self._y[-count:])

    # -- fitting -------------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Fit the model, if there are enough points, and enough has changed since the last fit."""
        n = len(self._y)
        if n < FEWEST:
            return
        stale = self._new > self._growth * min(n, self.kept)
        if not self.fitted or stale or self._kind(n) != self._kind_fitted:
            self._fit()

    def _fit(self) -> None:
        self._X = self._X[-self.kept :]
        self._y = self._y[-self.kept :]
        n = len(self._y)
        kind = self._kind(n)
        X = np.array(self._X)
        y = np.array(self._y)
        used = max(int(BETTER * n), min(n, self._sizes[kind] + 2))
        rows = np.argsort(-y, kind="stable")[:used]
        self._kind_fitted = kind
        self._origin = X[rows[0]]
        self._T = _whitening(X[rows] - self._origin, kind)
        self._losses = -y[rows]
        self._best = float(y[rows[0]])
        self._spread = float(y[rows[0]] - y[rows[-1]]) or 1.0
        weights = np.linspace(HEAVIEST, 1.0, used)
        A = self._features(self._coordinates(X[rows]))
        b = np.einsum("ni,n->i", A, (y[rows] - self._best) / self._spread * weights)
        L, positive = precision_factor(A, weights, RIDGE * float(np.sum(A**2 * weights[:, None])) / len(b))
        if not positive:
            raise np.linalg.LinAlgError("A normal matrix is not positive definite: points or values are not finite.")
        R, RT = inverse_factor(L)
        half = np.empty_like(b)
        self._coefficients = np.empty_like(b)
        whiten_into(RT, len(b), b, half)
        unwhiten_into(R, len(b), half, self._coefficients)
        self._P = np.zeros_like(L)
        inverse_into(R, len(b), self._P)
        self._P += np.tril(self._P, -1).T
        self.fitted = True
        self._new = 0

    def _take_in(self, x: Array, y: float) -> None:
        """Update the fit by a point, with the weight of its rank; not if it is worse than all points of the fit.

        A point so far from the others, or so much better, that an update would lose all digits calls for a new fit.
        """
        used = len(self._losses)
        rank = int(np.searchsorted(self._losses, -y))
        if rank == used:
            return
        weight = HEAVIEST + (1.0 - HEAVIEST) * rank / max(used - 1, 1)
        phi = self._features(self._coordinates(x[None]))[0]
        v = np.einsum("ij,j->i", self._P, phi)
        variance = float(np.sum(phi * v))
        residual = (y - self._best) / self._spread - float(np.sum(phi * self._coefficients))
        if not (variance >= 0.0 and math.isfinite(residual)):
            self._fit()
            return
        gain = weight / (1.0 + weight * variance)
        self._coefficients = self._coefficients + gain * residual * v
        self._P -= np.outer(gain * v, v)

    def _coordinates(self, X: Array) -> Array:
        """Points ``X (n, d)`` in the coordinates of the fit."""
        return np.einsum("nj,ji->ni", X - self._origin, self._T)

    def _features(self, Z: Array) -> Array:
        """Terms (n, df) of points in the coordinates of the fit."""
        columns = [np.ones((len(Z), 1)), Z]
        if self._kind_fitted >= SQUARES:
            columns.append(Z**2)
        if self._kind_fitted == FULL:
            columns.append(Z[:, self._pairs[0]] * Z[:, self._pairs[1]])
        return np.ascontiguousarray(np.hstack(columns))

    # -- predictions -----------------------------------------------------------------------------------------------

    def values(self, X: Array) -> Array:
        """Predicted values (n,) at ``X (n, d)``."""
        features = self._features(self._coordinates(X))
        return self._best + self._spread * np.einsum("ni,i->n", features, self._coefficients)

    def tau(self, count: int) -> float:
        """The rank correlation of predictions and values of the newest ``count`` points: Kendall's tau without pairs of
        equal values."""
        X, y = self.newest(count)
        return rank_correlation(self.values(X), y)

    def largest(self, start: Array, corners: Corners) -> Array:
        """A point (d,) of a box with a large predicted value: the maximum, or what an ascent from ``start`` finds.

        The ascent goes along one coordinate at a time, to the best point in the box each time. Nothing moves along an
        axis of which nothing is known.
        """
        curvatures, axes = eigen(self._hessian())
        slopes = np.einsum("ij,i->j", axes, self._coefficients[1 : self.d + 1])
        scale = max(float(np.max(np.abs(curvatures))), float(np.max(np.abs(slopes))))
        straight = np.abs(curvatures) <= STRAIGHT * scale
        kept = ~straight | (np.abs(slopes) > FLAT * scale)
        curvatures = curvatures[kept]
        slopes = slopes[kept]
        axes = axes[:, kept]
        if np.all(curvatures < -STRAIGHT * scale):
            step = np.einsum("ij,j->i", axes, -slopes / curvatures)
            x = self._origin + np.einsum("ji,i->j", self._T, step / np.sum(self._T**2, axis=0))
            if np.all((x >= corners.lower) & (x <= corners.upper)):
                return x
        axes = np.einsum("ji,ik->jk", self._T, axes)
        slope = np.einsum("ji,i->j", axes, slopes)
        curvature = np.einsum("ji,ki->jk", axes * curvatures, axes)
        return _climb(slope, curvature, self._origin, start, corners)

    def _hessian(self) -> Array:
        """Second derivatives (d, d) in the coordinates of the fit."""
        H = np.zeros((self.d, self.d))
        if self._kind_fitted >= SQUARES:
            H[np.diag_indices(self.d)] = self._coefficients[self.d + 1 : 2 * self.d + 1]
        if self._kind_fitted == FULL:
            H[self._pairs] = self._coefficients[2 * self.d + 1 :]
        return H + np.triu(H, 0).T

    # -- state -------------------------------------------------------------------------------------------------

    def _rebuild(self, state: Mapping[str, Any], data: Any) -> None:
        if not self.fitted:
            return
        later = [self._X.pop() for _ in range(self._new)]
        values = [self._y.pop() for _ in range(self._new)]
        self._fit()
        while later:
            self.add(later.pop(), values.pop())


def coefficients_of(d: int) -> int:
    """Number of coefficients of a full quadratic in ``d`` dimensions."""
    return (d + 1) * (d + 2) // 2


def _whitening(offsets: Array, kind: int) -> Array:
    """A map (d, d) with orthogonal columns after which the ``offsets (n, d)`` have the same size along each axis."""
    if kind != FULL:
        spread = np.sqrt(np.mean(offsets**2, axis=0))
        return np.diag(1.0 / _not_thin(spread))
    values, axes = eigen(np.einsum("ni,nj->ij", offsets, offsets) / len(offsets))
    out: Array = axes / _not_thin(np.sqrt(np.maximum(values, 0.0)))
    return out


def _not_thin(spread: Array) -> Array:
    """The ``spread (d,)``, each at least `THINNEST` of the largest; ones if there is none."""
    largest = float(spread.max())
    return np.maximum(spread, THINNEST * largest) if largest > 0.0 else np.ones_like(spread)


def _climb(gradient: Array, H: Array, origin: Array, start: Array, corners: Corners) -> Array:
    """Ascend ``gradient @ t + t @ H @ t / 2`` with ``t = x - origin`` in a box, by one coordinate at a time."""
    x = np.clip(start, *corners)
    slope = gradient + np.einsum("ij,j->i", H, x - origin)
    for _ in range(SWEEPS):
        moved = 0.0
        for j in range(len(x)):
            low = corners.lower[j] - x[j]
            high = corners.upper[j] - x[j]
            if H[j, j] < 0.0:
                step = min(max(-slope[j] / H[j, j], low), high)
            else:
                ends = [slope[j] * t + 0.5 * H[j, j] * t * t for t in (0.0, low, high)]  # no step where all are equal
                step = (0.0, low, high)[int(np.argmax(ends))]
            if step != 0.0:
                x[j] += step
                slope = slope + step * H[:, j]
                moved = max(moved, abs(step))
        if moved <= 1e-9:
            break
    return x


def rank_correlation(predicted: Array, values: Array) -> float:
    """The share of concordant less that of discordant pairs, among pairs of different values (Somers' D)."""
    i, j = _pairs(len(values))
    signs = np.sign(values[i] - values[j])
    pairs = np.count_nonzero(signs)
    return float(np.sum(signs * np.sign(predicted[i] - predicted[j]))) / pairs if pairs else 0.0


@lru_cache(maxsize=1)
def _pairs(n: int) -> tuple[Indices, Indices]:
    """The pairs ``i < j`` below ``n``; finding them takes as long as comparing their values."""
    return np.triu_indices(n, 1)
