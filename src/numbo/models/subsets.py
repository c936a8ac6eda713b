"""Subset selection: to which ``size`` of ``n`` observations a model is fitted.

Every criterion has the signature ``criterion(pool, size, forced, rng) -> indices``. It returns ``size`` distinct
indices into the pool, the ``forced`` ones first. To add one, write such a function and add it to `CRITERIA`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from numbo import _checks
from numbo._types import Array, Indices, Mask
from numbo.kernels.acquisition import mean_variance
from numbo.kernels.covariance import Covariance
from numbo.kernels.selection import kmeans_plus_plus, pivoted_cholesky
from numbo.models.gp import ExactGP
from numbo.models.transforms import OutputTransform
from numbo.trials import finite_range


@dataclass(frozen=True)
class Pool:
    """The data available to a criterion.

    Attributes:
        X: inputs (n, d) in the unit cube.
        y: standardised values (n,), larger is better.
        model: a GP conditioned on some of the points (the present subset, or all of them).
        members: (n,) whether the model is conditioned on the point.
        perturbation: standard deviation of the noise on the gradients (GSSBO, section 4.3 (3)).
    """

    X: Array
    y: Array
    model: ExactGP
    members: Mask
    perturbation: float = 0.0

    @property
    def covariance(self) -> Covariance:
        return self.model.covariance

    @cached_property
    def gradient(self) -> Array:
        """g = d log p(y | X) / dy = -(K + noise I)^-1 y, GSSBO eq. (3), (n,), without an n x n system.

        A point outside the model's subset U gets the last component of the gradient of the system U + {i},
        ``-(y_i - mu_U(x_i)) / (var_U(x_i) + noise)``. The same formula holds for a member, with U excluding it, and
        gives its component of ``-(K_U + noise I)^-1 y``. Both follow from the block inverse and are exact.
        """
        mean, variance = mean_variance(self.model.posterior, self.X)
        noise = self.covariance.noise_variance
        residual = self.y - mean
        # A member's residual is noise * alpha, since (K + noise I) alpha = y.
        return np.where(self.members, -residual / noise, -residual / (variance + noise))


Criterion = Callable[[Pool, int, Indices, np.random.Generator], Indices]


def _rest(n: int, forced: Indices) -> Indices:
    free = np.ones(n, dtype=bool)
    free[forced] = False
    return np.flatnonzero(free)


def select_sign(pool: Pool, size: int, forced: Indices, rng: np.random.Generator) -> Indices:
    """GSSBO's rule taken literally: minimise the sum of pairwise cosine similarities of the gradients.

    The gradient of eq. (3) is one number per sample, so a cosine is a product of signs and the sum is
    ``(sum_i sign g_i)^2``: the subset has to balance signs, and ties are broken at random. Minimised exactly.
    """
    g = pool.gradient
    if pool.perturbation > 0.0:
        g = g + rng.normal(0.0, pool.perturbation, size=len(g))
    positive = g >= 0.0
    rest = rng.permutation(_rest(len(g), forced))
    plus, minus = rest[positive[rest]], rest[~positive[rest]]
    wanted = size - len(forced)
    balance = int(np.sum(np.where(positive[forced], 1, -1)))
    take = int(np.clip((wanted - balance) // 2, max(0, wanted - len(minus)), min(wanted, len(plus))))
    return np.concatenate([forced, plus[:take], minus[: wanted - take]])


def select_nystrom(pool: Pool, size: int, forced: Indices, rng: np.random.Generator) -> Indices:
    """GSSBO's rule on gradient columns (appendix A): always add the largest residual kernel column.

    The perturbation scales each residual by ``exp(e)``, ``e`` normal: it changes only the order of near-ties.
    """
    noise = rng.normal(0.0, pool.perturbation, size=len(pool.X)) if pool.perturbation > 0.0 else np.zeros(len(pool.X))
    return pivoted_cholesky(pool.covariance, np.ascontiguousarray(pool.X.T), size, forced, np.exp(noise))


def select_kmeans_plus_plus(pool: Pool, size: int, forced: Indices, rng: np.random.Generator) -> Indices:
    """k-means++ seeding in the feature space of the covariance (Arthur & Vassilvitskii 2007)."""
    return kmeans_plus_plus(pool.covariance, np.ascontiguousarray(pool.X.T), size, forced, rng.random(size))


def select_random(pool: Pool, size: int, forced: Indices, rng: np.random.Generator) -> Indices:
    """A uniformly random subset (the paper's RSSBO)."""
    rest = _rest(len(pool.X), forced)
    return np.concatenate([forced, rng.choice(rest, size - len(forced), replace=False)])


def select_first(pool: Pool, size: int, forced: Indices, rng: np.random.Generator) -> Indices:
    """The oldest points (the paper's LR-First-m)."""
    return np.concatenate([forced, _rest(len(pool.X), forced)[: size - len(forced)]])


CRITERIA: dict[str, Criterion] = {
    "sign": select_sign,
    "nystrom": select_nystrom,
    "random": select_random,
    "first": select_first,
    "kmeans++": select_kmeans_plus_plus,
}
"""The criteria by their names. A function that is added here can be chosen by ``criterion=``."""


def select_subset(
    X: ArrayLike,
    y: ArrayLike,
    size: int,
    *,
    criterion: str = "nystrom",
    forced: ArrayLike = (),
    kernel: str = "matern52",
    lengthscale: ArrayLike | None = None,
    noise_variance: float = 1e-3,
    perturbation: float = 0.0,
    seed: Any = None,
) -> Indices:
    """Choose the observations to fit a model to, which may be any model.

    Args:
        X: inputs (n, d), in any units; each column is scaled to the unit interval by its range.
        y: values (n,); if ``lengthscale`` is given, only ``criterion="sign"`` uses them.
        size: number of observations to choose, ``len(forced) <= size <= n``.
        criterion: one of `CRITERIA`: ``"sign"`` and ``"nystrom"`` (Wei et al., GSSBO, section 4.2 and appendix A),
            ``"kmeans++"``, ``"random"``, ``"first"``.
        forced: indices that must be chosen.
        kernel: ``"matern52"``, ``"matern32"`` or ``"rbf"``.
        lengthscale: one number or (d,), in units of the range of each column; ``None`` learns it by MAP from at
            most 256 of the points.
        noise_variance: in units of the variance of ``y``; learned as well if ``lengthscale`` is ``None``.
        perturbation: standard deviation of the noise on the gradients (the paper's ``sigma_d`` is 0.1).
        seed: anything `numpy.random.default_rng` takes.

    Returns:
        ``size`` distinct indices into ``X``, the forced ones first.

    Raises:
        ValueError: if an argument is not as described above.
    """
    points, values = np.array(X, dtype=np.float64), np.array(y, dtype=np.float64)
    if points.ndim != 2 or values.shape != points.shape[:1] or len(points) == 0:
        raise ValueError(f"X must be (n, d) and y (n,) with n >= 1, got shapes {points.shape} and {values.shape}.")
    if not np.isfinite(points).all():
        raise ValueError("X must be finite, got NaN or infinite entries.")
    chosen = np.unique(np.asarray(forced, dtype=np.int64))
    if len(chosen) and not (chosen[0] >= 0 and chosen[-1] < len(points)):
        raise ValueError(f"forced must index X (0 to {len(points) - 1}), got {chosen.tolist()}.")
    if not (isinstance(size, Integral) and max(1, len(chosen)) <= size <= len(points)):
        raise ValueError(f"size must be an integer between {max(1, len(chosen))} and {len(points)}, got {size!r}.")
    if not 0.0 < noise_variance < np.inf:
        raise ValueError(f"noise_variance must be a positive finite number, got {noise_variance!r}.")
    rule = CRITERIA[_checks.one_of("criterion", criterion, CRITERIA)]
    rng = np.random.default_rng(seed)

    low, span = points.min(axis=0), np.ptp(points, axis=0)
    points = (points - low) / np.where(span > 0.0, span, 1.0)
    values = finite_range(values)
    values = OutputTransform.fit(values).forward(values)
    model = ExactGP(np.zeros(points.shape[1], dtype=bool), kernel=kernel, trend=False)
    some = rng.permutation(len(points))[: min(len(points), max(256, size))]
    if lengthscale is None:
        model.fit(points[some[:256]], values[some[:256]])
    else:
        scales = np.broadcast_to(np.asarray(lengthscale, dtype=np.float64), points.shape[1:])
        if not (np.isfinite(scales).all() and (scales > 0.0).all()):
            raise ValueError(f"lengthscale must be positive and finite, got {lengthscale!r}.")
        model.theta[: points.shape[1]] = -2.0 * np.log(scales)
        model.theta[points.shape[1] + 1] = np.log(noise_variance)
    model.condition(points[some], values[some])
    members = np.zeros(len(points), dtype=bool)
    members[some] = True
    return rule(Pool(points, values, model, members, perturbation), size, chosen, rng)
