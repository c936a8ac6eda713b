"""The result of a batch of S-BPE: confidence bounds, and the eigenvalue that determines their width."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from numbo._types import Array, Mask
from numbo.kernels.acquisition import Posterior, mean_variance
from numbo.kernels.covariance import cross_covariance, prior_variances
from numbo.models.sparse_gp import SparseGP

#: Up to this number of distinct points lambda_max is computed from a full matrix; above, from products with its blocks.
FULL_MATRIX = 1000
#: Relative tolerance of lambda_max above that size; the result is enlarged by it.
EIGENVALUE_TOLERANCE = 1e-3
JUDGED_AT_ONCE = 1024


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

    def state_dict(self) -> dict[str, Any]:
        return dict(vars(self))

    def passes(self, X: Array) -> Mask:
        """Which of ``X (n, d)`` stay in the race."""
        return self.bounds(X)[1] >= self.best_lower


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
