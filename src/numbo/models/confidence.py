"""Width of confidence bounds: the multiplier beta of ``sqrt(var~)`` in BKB and BBKB, of sigma_bar in S-BPE.

F bounds the RKHS norm of the objective, xi is the standard deviation of the noise, lambda = xi^2, delta the probability
with which bounds may fail, and epsilon = 1/2 the accuracy of the dictionary. The *information* of a schedule is a sum
over points x of ``log(1 + w var~_fb(x))``, with the variance at the start of the batch.

The schedules of the papers are safe and wide. The schedules named ``"reference"`` have the smaller constants of the
code published by the authors of BBKB. A number given as beta multiplies the posterior standard deviation
``sqrt(lambda var~)``, as does the union bound of S-BPE, which treats the objective as a draw from the model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from numbo import _elementary
from numbo._types import Array, SparseRows
from numbo.kernels.cholesky import cholesky_into, lower_product_into
from numbo.kernels.sparse import inverse_factor, precision_factor
from numbo.models.dictionaries import unrepresented
from numbo.models.sparse_gp import SparseGP

SCHEDULES = ("paper", "reference")
#: Number of observations whose information is computed in one block.
COUNTED_AT_ONCE = 256


@dataclass(frozen=True)
class Confidence:
    """The confidence schedules, and the constants they depend on."""

    norm_bound: float
    delta: float

    def bkb(self, kind: str, effective_dimension: float, n: int, kappa2: float, lam: float) -> float:
        """beta_t: Calandriello et al. (2019), theorem 4.1; ``effective_dimension`` is the sum of var~ over pulls."""
        if kind == "reference":
            return self._beta(kind, effective_dimension * math.log(max(n, 1)), lam)
        return self._beta(kind, 3.0 * math.log(max(kappa2 * n, 1.0)) * effective_dimension, lam)

    def bbkb(self, kind: str, information: float, ratio_threshold: float, lam: float) -> float:
        """alpha_fb = C~ beta_fb: Calandriello et al. (2020), theorem 2, or the reference code's multiplier."""
        if kind == "reference":
            return self._beta(kind, ratio_threshold * information, lam)
        return ratio_threshold * self._beta(kind, information, lam)

    def _beta(self, kind: str, information: float, lam: float) -> float:
        """The form that both have, with xi^2 = lambda."""
        noise = math.sqrt(lam * (information + math.log(1.0 / self.delta)))
        if kind == "reference":
            return math.sqrt(lam) * self.norm_bound + noise
        return 2.0 * noise + (1.0 + math.sqrt(2.0)) * math.sqrt(lam) * self.norm_bound


@dataclass(frozen=True)
class Information:
    """How the information of a schedule is computed.

    Args:
        weight: w in ``sum log(1 + w var~_fb(x_s))``, the sum over the pulls of a batch.
        by_arrival: whether observations before the first batch count one by one in the order of their arrival, as in
            theorem 2 of BBKB; otherwise by ``log det V``, as in the authors' code.
    """

    weight: float = 3.0
    by_arrival: bool = False

    def carried(self, gp: SparseGP, arrivals: SparseRows) -> float:
        """Information of the observations ``gp`` starts with; ``arrivals (n,)`` are rows of its points, in order."""
        if not self.by_arrival:
            return gp.log_determinant()
        residual = unrepresented(gp.covariance, gp.X, gp.Z)
        return information_of_arrivals(gp.Z[arrivals], residual[arrivals], gp.regularization, self.weight)


def information_of_arrivals(Z: Array, residual: Array, lam: float, weight: float) -> float:
    """``sum_s log(1 + weight var~_{s-1}(x_s))`` over observations in order, each a batch of its own.

    ``var~_{s-1}(x) = residual(x) / lambda + z(x)^T V_{s-1}^-1 z(x)``. One plus the second term is the conditional
    variance of an observation given those before it, in units of lambda: for a block of rows ``Z_b``, the squared
    diagonal of the Cholesky factor of ``I + Z_b V^-1 Z_b^T``. ``Z (n, m)`` are embedded, and ``residual (n,)`` is
    ``k(x, x) - z(x)^T z(x)``.
    """
    m = Z.shape[1]
    V = lam * np.eye(m)
    L = np.empty((m, m))
    half = np.empty((m, COUNTED_AT_ONCE))
    total = 0.0
    for start in range(0, len(Z), COUNTED_AT_ONCE):
        block = Z[start : start + COUNTED_AT_ONCE]
        positive = cholesky_into(V.copy(), m, L)
        lower_product_into(inverse_factor(L)[0], m, np.ascontiguousarray(block.T), len(block), half)
        given, known = precision_factor(np.ascontiguousarray(half[:, : len(block)]), np.ones(m), 1.0)
        if not (positive and known):
            raise np.linalg.LinAlgError("V is not positive definite: points are not finite.")
        represented = np.diag(given) ** 2 - 1.0
        variance = residual[start : start + COUNTED_AT_ONCE] / lam + represented
        total += float(_elementary.log1p(weight * variance).sum())
        V += np.einsum("ni,nj->ij", block, block)
    return total


def union_bound(delta: float, batches: int, points: int) -> float:
    """``sqrt(2 log(4 B |X| / delta))``: a GP is within that many deviations at all points, after each of B batches.

    Srinivas et al. (2010), lemma 5.1, with ``delta`` split over points, batches and sides as in eq. (13) of S-BPE.
    """
    return math.sqrt(2.0 * math.log(4.0 * batches * points / delta))


def sparse_confidence(delta: float, lambda_max: float, tau: float, norm_bound: float, noise_std: float) -> float:
    """beta(delta) of Vakili et al. (2022), theorem 3.5: ``|f - mu_bar| <= beta sigma_bar`` at a point, on each side.

    Args:
        delta: the probability with which the bound may fail.
        lambda_max: top eigenvalue of ``K_XX - K_XZ K_ZZ^-1 K_ZX``.
        tau: square root of the regularisation lambda.
        norm_bound: C_k, a bound on the RKHS norm.
        noise_std: R, the sub-Gaussian scale of the noise.
    """
    bias = (2.0 + math.sqrt(lambda_max) / tau) * norm_bound
    return bias + noise_std / tau * math.sqrt(2.0 * math.log(1.0 / delta))


def uniform_confidence(
    delta: float, lambda_max: float, tau: float, norm_bound: float, noise_std: float, n: int, d: int, k_max: float
) -> float:
    """beta~_n(delta) of corollary 3.7, uniform over a domain of dimension ``d``, with c = 1 in assumption 3.6."""
    noise = math.sqrt(n) * noise_std / tau * math.sqrt(2.0 * math.log(4.0 * n / delta))
    mean_norm = norm_bound * (1.0 + math.sqrt(n) * k_max / tau) + noise
    log_cover = d * (math.log(mean_norm) + math.log(n))
    bias = (2.0 + math.sqrt(lambda_max) / tau) * norm_bound
    return bias + noise_std / tau * math.sqrt(2.0 * (max(log_cover, 0.0) + math.log(2.0 / delta)))
