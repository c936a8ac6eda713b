"""Standalone subset selection: `select_subset`, its criteria, and the data available to a criterion."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from numbo import _checks, _elementary
from numbo._types import Indices, Kernel
from numbo.models.gp import ExactGP
from numbo.models.subsets import (
    CRITERIA,
    Criterion,
    Pool,
    select_first,
    select_kmeans_plus_plus,
    select_nystrom,
    select_random,
    select_sign,
)
from numbo.models.transforms import OutputTransform
from numbo.trials import finite_range

__all__ = [
    "CRITERIA",
    "Criterion",
    "Pool",
    "select_first",
    "select_kmeans_plus_plus",
    "select_nystrom",
    "select_random",
    "select_sign",
    "select_subset",
]


def select_subset(
    X: ArrayLike,
    y: ArrayLike,
    size: int,
    *,
    criterion: str = "nystrom",
    forced: ArrayLike = (),
    kernel: Kernel = "matern52",
    lengthscale: ArrayLike | None = None,
    noise_variance: float = 1e-3,
    perturbation: float = 0.0,
    seed: Any = None,
) -> Indices:
    """Choose the observations that a model, of any kind, is to be fitted to.

    Args:
        X: inputs (n, d), in any units; each column is scaled to the unit interval by its range.
        y: values (n,); if ``lengthscale`` is given, only ``criterion="sign"`` uses them.
        size: number of observations to choose, ``len(forced) <= size <= n``.
        criterion: one of `CRITERIA`: ``"sign"`` and ``"nystrom"`` (Wei et al., GSSBO, section 4.2 and appendix A),
            ``"kmeans++"``, ``"random"``, ``"first"``.
        forced: indices that must be chosen.
        kernel: ``"matern52"``, ``"matern32"`` or ``"rbf"``.
        lengthscale: one number or (d,), in units of the range of each column; ``None`` learns it by MAP from at most
            256 of the points.
        noise_variance: in units of the variance of ``y``; learned as well if ``lengthscale`` is ``None``.
        perturbation: standard deviation of the noise on the gradients (the paper's ``sigma_d`` is 0.1).
        seed: anything `numpy.random.default_rng` takes.

    Returns:
        ``size`` distinct indices into ``X``, the forced ones first.

    Raises:
        ValueError: if an argument is not as described above.
    """
    try:
        points = np.array(X, dtype=np.float64)
        values = np.array(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("X must be an array (n, d) of numbers, and y one (n,).") from None
    if points.ndim != 2 or values.shape != points.shape[:1] or len(points) == 0:
        raise ValueError(f"X must be (n, d) and y (n,) with n >= 1, got shapes {points.shape} and {values.shape}.")
    if not np.isfinite(points).all():
        raise ValueError("X must be finite, got NaN or infinite entries.")
    given = np.asarray(forced)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise ValueError(f"forced must be a sequence of indices into X, got {forced!r}.")
    chosen = np.unique(given.astype(np.int64))
    if len(chosen) and not (chosen[0] >= 0 and chosen[-1] < len(points)):
        raise ValueError(f"forced must index X (0 to {len(points) - 1}), got {chosen.tolist()}.")
    if not (_checks.is_integer(size) and max(1, len(chosen)) <= size <= len(points)):
        raise ValueError(f"size must be an integer between {max(1, len(chosen))} and {len(points)}, got {size!r}.")
    noise_variance = _checks.number("noise_variance", noise_variance, 0.0, above=True)
    perturbation = _checks.number("perturbation", perturbation, 0.0)
    scales = None if lengthscale is None else _checks.positive("lengthscale", lengthscale, points.shape[1])
    rule = CRITERIA[_checks.one_of("criterion", criterion, CRITERIA)]
    rng = _checks.random_stream(seed)

    low, span = points.min(axis=0), np.ptp(points, axis=0)
    points = (points - low) / np.where(span > 0.0, span, 1.0)
    values = finite_range(values)
    values = OutputTransform.fit(values).forward(values)
    model = ExactGP(np.zeros(points.shape[1], dtype=bool), kernel=kernel, trend=False)
    some = rng.permutation(len(points))[: min(len(points), max(256, size))]
    if scales is None:
        model.fit(points[some[:256]], values[some[:256]])
    else:
        model.theta[: points.shape[1]] = -2.0 * _elementary.log(scales)
        model.theta[points.shape[1] + 1] = _elementary.log(noise_variance)
    model.condition(points[some], values[some])
    members = np.zeros(len(points), dtype=bool)
    members[some] = True
    return rule(Pool(points, values, model, members, perturbation), size, chosen, rng)
