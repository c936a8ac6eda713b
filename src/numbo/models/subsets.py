"""Subset selection: to which ``size`` of ``n`` observations a model is fitted.

Every criterion has the signature ``criterion(pool, size, forced, rng) -> indices``. It returns ``size`` distinct
indices into the pool, the ``forced`` ones first. To add one, write such a function and add it to `CRITERIA`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from numbo import _elementary
from numbo._types import Array, Indices, Mask
from numbo.kernels.covariance import Covariance
from numbo.kernels.selection import kmeans_plus_plus, pivoted_cholesky
from numbo.models.gp import ExactGP
from numbo.models.moments import moments

#: Number of samples whose signs are computed at once.
SIGNS_AT_ONCE = 256


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
        return self.gradient_at(np.arange(len(self.X)))

    def gradient_at(self, rows: Indices) -> Array:
        """The components of the `gradient` of some ``rows (k,)``, (k,): the others are not computed."""
        latent = moments(self.model.posterior, self.X[rows])
        noise = self.covariance.noise_variance
        residual = self.y[rows] - latent.mean
        # A member's residual is noise * alpha, since (K + noise I) alpha = y.
        return np.where(self.members[rows], -residual / noise, -residual / (latent.variance + noise))


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
    n = len(pool.X)
    noise = rng.normal(0.0, pool.perturbation, size=n) if pool.perturbation > 0.0 else np.zeros(n)
    rest = rng.permutation(_rest(n, forced))
    wanted = size - len(forced)
    balance = int(np.sum(np.where(_ascends(pool, forced, noise), 1, -1)))
    aim = int(np.clip((wanted - balance) // 2, 0, wanted))
    plus: list[int] = []
    minus: list[int] = []
    # Only as many signs are computed as are needed: the samples come in a random order anyway.
    for start in range(0, len(rest), SIGNS_AT_ONCE):
        if len(plus) >= aim and len(minus) >= wanted - aim:
            break
        some = rest[start : start + SIGNS_AT_ONCE]
        positive = _ascends(pool, some, noise)
        plus.extend(some[positive].tolist())
        minus.extend(some[~positive].tolist())
    take = int(np.clip(aim, max(0, wanted - len(minus)), min(wanted, len(plus))))
    chosen = np.array(plus[:take] + minus[: wanted - take], dtype=np.int64)
    return np.concatenate([forced, chosen])


def _ascends(pool: Pool, rows: Indices, noise: Array) -> Mask:
    """Whether the gradient, with ``noise (n,)``, is not negative at some ``rows (k,)``."""
    found: Mask = pool.gradient_at(rows) + noise[rows] >= 0.0
    return found


def select_nystrom(pool: Pool, size: int, forced: Indices, rng: np.random.Generator) -> Indices:
    """GSSBO's greedy rule on kernel columns (appendix A.1): always add the one with the largest residual.

    The perturbation scales each residual by ``exp(e)``, ``e`` normal: it changes only the order of near-ties.
    """
    noise = rng.normal(0.0, pool.perturbation, size=len(pool.X)) if pool.perturbation > 0.0 else np.zeros(len(pool.X))
    return pivoted_cholesky(pool.covariance, np.ascontiguousarray(pool.X.T), size, forced, _elementary.exp(noise))


def select_kmeans_plus_plus(pool: Pool, size: int, forced: Indices, rng: np.random.Generator) -> Indices:
    """k-means++ seeding in the feature space of the covariance (Arthur & Vassilvitskii 2007)."""
    return kmeans_plus_plus(pool.covariance, np.ascontiguousarray(pool.X.T), size, forced, rng.random(size))


def select_random(pool: Pool, size: int, forced: Indices, rng: np.random.Generator) -> Indices:
    """A uniformly random subset (the paper's RSSBO)."""
    rest = _rest(len(pool.X), forced)
    return np.concatenate([forced, rng.choice(rest, size - len(forced), replace=False)])


def select_first(pool: Pool, size: int, forced: Indices, rng: np.random.Generator) -> Indices:
    """The oldest points. (The paper's LR-First-m is a low-rank model of all points on these.)"""
    return np.concatenate([forced, _rest(len(pool.X), forced)[: size - len(forced)]])


CRITERIA: dict[str, Criterion] = {
    "sign": select_sign,
    "nystrom": select_nystrom,
    "random": select_random,
    "first": select_first,
    "kmeans++": select_kmeans_plus_plus,
}
"""The criteria by their names. A function that is added here can be chosen by ``criterion=``."""
