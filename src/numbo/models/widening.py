"""The factor by which predicted standard deviations are too small, estimated by leaving observations out."""

from __future__ import annotations

import copy

import numpy as np

from numbo._types import Array, Indices
from numbo.models.gp import ExactGP, LeftOut
from numbo.models.transform_choice import ITERATIONS

#: Share of a normal distribution, and half the width of the interval that contains it, in standard deviations.
HELD = 0.9
HALF_WIDTH = 1.645
#: Number of points that are predicted by models fitted without them, and number of these models.
DOUBTED = 16
FOLDS = 4


def left_out(gp: ExactGP) -> LeftOut:
    """`ExactGP.leave_one_out` with the variances of the latent function.

    They serve as weights. Searches cluster around good values; unexplored points resemble those observations that the
    others predict with a large variance.
    """
    alone = gp.leave_one_out()
    open_ = np.maximum(alone.variance - gp.covariance.noise_variance - gp.extra, np.finfo(float).tiny)
    return alone._replace(variance=open_)


def widening(gp: ExactGP) -> float:
    """The factor of at least 1 by which predicted standard deviations are too small.

    With it, intervals that should contain a share `HELD` of the values, including noise, do so. Points are weighted by
    their leave-one-out variance (`left_out`). The larger of two estimates is returned. The first leaves out each point
    alone. The second takes the `DOUBTED` points with the largest leave-one-out variance, and predicts them in `FOLDS`
    parts by models that are fitted without them. It detects hyperparameters that are too certain because they were
    fitted to few values. Measured coverages are in ``benchmarks/results/calibration.md``.
    """
    others = left_out(gp)
    open_ = others.variance
    alone = _needed(gp, others.residual, open_, gp.extra)
    most = np.argsort(-open_, kind="stable")[: min(DOUBTED, len(open_) // 2)]
    if not len(most):
        return max(1.0, _quantile(alone, open_))
    together = np.empty(len(most))
    for part in range(FOLDS):
        rows = most[part::FOLDS]
        if len(rows):
            together[part::FOLDS] = _needed_without(gp, rows)
    return max(1.0, _quantile(alone, open_), _quantile(together, open_[most]))


def _needed(gp: ExactGP, residual: Array, open_: Array, extra: Array) -> Array:
    """Factors (n,) that make an interval end at a value, given residuals, latent and extra variances (n,)."""
    noise = gp.covariance.noise_variance + extra
    out: Array = np.sqrt(np.maximum((residual / HALF_WIDTH) ** 2 - noise, 0.0) / open_)
    return out


def _needed_without(gp: ExactGP, rows: Indices) -> Array:
    """The same factors (m,) for the points ``rows (m,)``, by a model that is fitted without them."""
    twin = copy.deepcopy(gp)
    X = gp.points
    y = gp.values
    extra = gp.extra
    others = np.delete(np.arange(len(y)), rows)
    twin.theta = twin.default_theta()
    twin.fit(X[others], y[others], extra[others], iterations=ITERATIONS)
    twin.condition(X[others], y[others], extra[others])
    found = twin.mean_sd(X[rows])
    return _needed(twin, y[rows] - found.mean, np.maximum(found.std**2, np.finfo(float).tiny), extra[rows])


def _quantile(values: Array, weights: Array) -> float:
    """The weighted quantile of ``values (n,)``: the smallest one that reaches the share `HELD` of ``weights (n,)``."""
    order = np.argsort(values, kind="stable")
    held = np.cumsum(weights[order]) / np.sum(weights)
    return float(values[order][np.searchsorted(held, HELD)])
