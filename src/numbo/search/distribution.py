"""The normal distribution of CMA-ES, and its update by a ranked population (Hansen 2016, "The CMA Evolution Strategy: A
Tutorial", arXiv:1604.00772, with the default parameters of its table 1, negative weights included).

A distribution is a value: `updated` returns another one. Points lie in the unit cube.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from numbo import _elementary
from numbo._types import Array
from numbo.kernels.eigen import eigen

#: Standard deviations along the axes may differ by this factor.
CONDITION = 1e7
#: In more dimensions eigenvectors come from LAPACK, which takes 4 ms in 160 dimensions, and Jacobi's method 67.
JACOBI = 64


class Constants(NamedTuple):
    """Constants of an update by a population of some size.

    ``weights`` (size,) are by rank; the first ``parents`` are positive and add up to 1.
    """

    weights: Array
    parents: int
    mu_eff: float
    c_sigma: float
    d_sigma: float
    c_c: float
    c_1: float
    c_mu: float

    @classmethod
    def of(cls, d: int, size: int) -> Constants:
        """Those of ``size`` points in ``d`` dimensions."""
        parents = size // 2
        raw = math.log((size + 1) / 2) - _elementary.log(np.arange(1, size + 1))
        positive = raw[:parents] / raw[:parents].sum()
        mu_eff = 1.0 / float(np.sum(positive**2))
        c_sigma = (mu_eff + 2) / (d + mu_eff + 5)
        c_1 = 2 / ((d + 1.3) ** 2 + mu_eff)
        c_mu = min(1 - c_1, 2 * (mu_eff - 2 + 1 / mu_eff) / ((d + 2) ** 2 + mu_eff))
        negative = raw[parents:]
        mu_eff_negative = float(negative.sum() ** 2 / np.sum(negative**2))
        largest = min(1 + c_1 / c_mu, 1 + 2 * mu_eff_negative / (mu_eff + 2), (1 - c_1 - c_mu) / (d * c_mu))
        return cls(
            weights=np.concatenate([positive, negative * largest / np.abs(negative).sum()]),
            parents=parents,
            mu_eff=mu_eff,
            c_sigma=c_sigma,
            d_sigma=1 + 2 * max(0.0, math.sqrt((mu_eff - 1) / (d + 1)) - 1) + c_sigma,
            c_c=(4 + mu_eff / d) / (d + 4 + 2 * mu_eff / d),
            c_1=c_1,
            c_mu=c_mu,
        )


@dataclass(frozen=True)
class Distribution:
    """N(mean, sigma^2 C) with its evolution paths.

    Attributes:
        mean: (d,).
        sigma: the step size.
        C: (d, d) the covariance matrix.
        path_c, path_sigma: (d,) evolution paths of C and of sigma.
        generation: number of updates.
    """

    mean: Array
    sigma: float
    C: Array
    path_c: Array
    path_sigma: Array
    generation: int = 0

    @classmethod
    def around(cls, mean: Array, sigma: float) -> Distribution:
        """A round distribution."""
        d = len(mean)
        return cls(mean, sigma, np.eye(d), np.zeros(d), np.zeros(d))

    @cached_property
    def _eigen(self) -> tuple[Array, Array]:
        """Axes (d, d) by column, and the standard deviations (d,) along them, without sigma."""
        values, axes = eigen(self.C) if len(self.C) <= JACOBI else np.linalg.eigh(self.C)
        return axes, np.sqrt(np.maximum(values, values[-1] / CONDITION**2))

    @property
    def deviations(self) -> Array:
        """Standard deviations (d,) of the coordinates."""
        out: Array = self.sigma * np.sqrt(np.diag(self.C))
        return out

    @property
    def longest(self) -> float:
        """The largest standard deviation along an axis."""
        return self.sigma * float(self._eigen[1][-1])

    @property
    def degenerate(self) -> bool:
        """Whether standard deviations along the axes differ too much."""
        deviations = self._eigen[1]
        return bool(deviations[-1] >= CONDITION * deviations[0])

    @property
    def whitening(self) -> Array:
        """W (d, d), with which ``(x - mean) @ W`` is standard normal."""
        axes, deviations = self._eigen
        out: Array = axes / (self.sigma * deviations)
        return out

    def points(self, Z: Array) -> Array:
        """Points (n, d) of standard normal numbers ``Z (n, d)``."""
        axes, deviations = self._eigen
        out: Array = self.mean + self.sigma * np.einsum("ni,ji->nj", Z * deviations, axes)
        return out

    def within_reach(self, x: Array) -> Array:
        """``x (d,)``, or a point towards it at the distance of a usual sample.

        A point from elsewhere would have too much weight (Hansen 2011, "Injecting External Solutions Into CMA-ES",
        section 2).
        """
        d = len(x)
        distance = _length(np.einsum("j,ji->i", x - self.mean, self.whitening))
        limit = math.sqrt(d) + 2 * d / (d + 2)
        return x if distance <= limit else self.mean + (x - self.mean) * (limit / distance)

    def wider(self, constants: Constants) -> Distribution:
        """A wider one, where values are equal (Hansen 2016, appendix B.2)."""
        return replace(self, sigma=self.sigma * math.exp(0.2 + constants.c_sigma / constants.d_sigma))

    def at_most(self, longest: float) -> Distribution:
        """The same, or a narrower one whose standard deviations along the axes are at most ``longest``."""
        return self if self.longest <= longest else replace(self, sigma=self.sigma * (longest / self.longest))

    def updated(self, ranked: Array, constants: Constants) -> Distribution:
        """The next distribution, by a population ``ranked (size, d)``, best first."""
        d = len(self.mean)
        k = constants
        steps = (ranked - self.mean) / self.sigma
        step = np.einsum("n,nj->j", k.weights[: k.parents], steps[: k.parents])
        axes, deviations = self._eigen
        white = np.einsum("ji,i->j", axes, np.einsum("j,ji->i", step, axes) / deviations)
        path_sigma = (1 - k.c_sigma) * self.path_sigma + math.sqrt(k.c_sigma * (2 - k.c_sigma) * k.mu_eff) * white
        length = _length(path_sigma)
        usual = math.sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d))
        settled = length / math.sqrt(1 - (1 - k.c_sigma) ** (2 * (self.generation + 1)))
        moderate = float(settled < (1.4 + 2 / (d + 1)) * usual)
        path_c = (1 - k.c_c) * self.path_c + moderate * math.sqrt(k.c_c * (2 - k.c_c) * k.mu_eff) * step
        squares = np.sum((np.einsum("nj,ji->ni", steps, axes) / deviations) ** 2, axis=1)
        weights = np.where(k.weights >= 0.0, k.weights, k.weights * d / (squares + 1e-8))
        lost = k.c_1 * (1 - moderate) * k.c_c * (2 - k.c_c)
        C = (1 + lost - k.c_1 - k.c_mu * k.weights.sum()) * self.C
        C = C + k.c_1 * np.outer(path_c, path_c) + k.c_mu * np.einsum("ni,nj->ij", steps * weights[:, None], steps)
        growth = math.exp(min(1.0, (k.c_sigma / k.d_sigma) * (length / usual - 1)))
        return replace(
            self,
            mean=self.mean + self.sigma * step,
            sigma=self.sigma * growth,
            C=(C + C.T) / 2.0,
            path_c=path_c,
            path_sigma=path_sigma,
            generation=self.generation + 1,
        )


def _length(x: Array) -> float:
    return math.sqrt(float(np.sum(x**2)))
