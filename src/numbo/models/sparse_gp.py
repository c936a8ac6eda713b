"""Sparse Gaussian process regression on a dictionary: the DTC posterior of BKB, BBKB and S-BPE.

Calandriello et al. (2019), "Gaussian Process Optimization with Adaptive Sketching: Scalable and No Regret", eqs. 3
and 4; Calandriello et al. (2020), "Near-linear Time Gaussian Process Optimization with Adaptive Batching and
Resparsification", section 2.

    z(x)      = (K_S^{1/2})^+ k_S(x)                                  Nystrom embedding on the dictionary S
    V         = Z^T Z + lambda I
    mu~(x)    = z(x)^T V^-1 Z^T y
    k~(x, x') = (k(x, x') - z(x)^T z(x')) / lambda + z(x)^T V^-1 z(x')
    var~(x)   = k~(x, x)

``lambda var~`` is the variance of the deterministic training conditional (Quinonero-Candela & Rasmussen 2005). What
the dictionary cannot represent, ``k - z^T z``, is never dropped: without it the variance collapses far from the
dictionary. With a dictionary that spans all points, ``lambda var~`` and ``mu~`` are the exact GP's.

Any square root of ``K_S^+`` gives the same ``k~``. Here it is the inverse of the Cholesky factor L of a maximal set of
numerically independent dictionary points, found by pivoting, so that repeats and near-repeats do no harm. Because
``I - lambda V^-1`` is positive semidefinite, it has a factor ``U^T U`` with ``U`` lower triangular, and

    lambda k~(x, x') = k(x, x') - (W k_S(x))^T (W k_S(x'))            W = U L^-1, lower triangular
    mu~(x)           = alpha^T k_S(x)                                 alpha = L^-T V^-1 Z^T y

which is the form of an exact GP's posterior: the same kernels predict, climb and search for both.

Glossary: ``S (m, d)`` dictionary of atoms, ``Z (u, m)`` embedded points, ``counts (u,)`` how often each was observed
(or is pending), ``LV`` the Cholesky factor of V, ``R`` the inverse of L.
"""

from __future__ import annotations

import math

import numpy as np

from numbo import _elementary
from numbo._rows import extended
from numbo._types import Array, Indices
from numbo.kernels.acquisition import Posterior, mean_variance
from numbo.kernels.cholesky import unwhiten_into, whiten_into
from numbo.kernels.covariance import Covariance, cross_covariance, prior_variance, prior_variances
from numbo.kernels.selection import independent_columns
from numbo.kernels.sparse import (
    dtc_embedding,
    dtc_mean_weights,
    dtc_posterior,
    dtc_variance,
    dtc_variances,
    dtc_weights,
    embed,
    embed_one,
    inverse_factor,
    observe,
    precision_factor,
)

#: A dictionary point is left out if its variance given the others is below this share of the largest variance.
DEPENDENT = 1e-10
SPARE = 32


class _Rows:
    """Points ``X`` and their embeddings ``Z`` in own arrays, with room for more, of a model and of its copies.

    Each of them sees the first rows and columns, as many as it has points and atoms. Whoever sees all may write the
    next ones, which the others do not see.

    Attributes:
        filled: number of rows and of columns that somebody sees.
        shared: whether there is a copy.
    """

    def __init__(self, X: Array, Z: Array) -> None:
        n, m = Z.shape
        room = n + max(SPARE, n // 4)
        self.X = np.empty((room, X.shape[1]))
        self.Z = np.empty((room, m + max(SPARE, m // 4)))
        self.X[:n] = X
        self.Z[:n, :m] = Z
        self.filled = n, m
        self.shared = False


class SparseGP:
    """The DTC posterior of observations under a covariance, on a dictionary.

    It holds the points it is conditioned on, each with its number of observations and the sum of their values.

    Args:
        covariance: the covariance function; its noise variance is lambda.
        dictionary: points (m, d), repeats allowed. Of none, the posterior is the prior whatever was observed.

    Attributes:
        kept: rows of ``dictionary`` that became atoms, in the order of the atoms.
        m, u: number of atoms and of points.
        LV: the Cholesky factor (m, m) of V.

    Raises:
        ValueError: if lambda is not positive.
    """

    def __init__(self, covariance: Covariance, dictionary: Array) -> None:
        self._take(covariance)
        points = np.ascontiguousarray(dictionary, dtype=np.float64)
        self.kept = np.empty(0, dtype=np.int64)
        self._L = np.empty((0, 0))
        if len(points):  # where there is nothing to compute, nothing is compiled
            everything = np.arange(len(points))
            self.kept, Z = independent_columns(covariance, np.ascontiguousarray(points.T), everything, DEPENDENT)
            self._L = Z[self.kept]
        self._set_atoms(points[self.kept], *(inverse_factor(self._L) if len(self.kept) else (self._L, self._L)))
        self._rows = _Rows(np.empty((0, points.shape[1])), np.empty((0, self.m)))
        self.u = 0
        self._hold(math.sqrt(self.regularization) * np.eye(self.m), np.empty(0), positive=True)

    def _take(self, covariance: Covariance) -> None:
        if not covariance.noise_variance > 0.0:
            raise ValueError(f"lambda (the noise variance) must be positive, got {covariance.noise_variance!r}.")
        self.covariance = covariance
        self.regularization = float(covariance.noise_variance)

    def _set_atoms(self, S: Array, R: Array, RT: Array) -> None:
        self.dictionary = S
        self.m = len(S)
        self._ST = np.ascontiguousarray(S.T)
        self._R = R
        self._RT = RT
        self._changed()

    def _changed(self) -> None:
        """Invalidate what is derived from the atoms and the points."""
        self._weights: tuple[Array, ...] | None = None
        self._variances: Array | None = None
        self._alpha: Array | None = None

    @classmethod
    def over(cls, covariance: Covariance, X: Array, counts: Array, dictionary: Indices) -> SparseGP:
        """Conditioned on the points ``X (n, d)``, each observed ``counts (n,)`` times; ``dictionary`` indexes them.

        Equivalent to the constructor followed by `condition`, but cheaper: one factorisation embeds all points.
        """
        gp = cls.__new__(cls)
        gp._take(covariance)
        X = np.ascontiguousarray(X, dtype=np.float64)
        counts = np.asarray(counts, dtype=np.float64)
        gp.kept, Z, gp._L, R, RT = dtc_embedding(covariance, X, dictionary, DEPENDENT)
        gp._set_atoms(X[dictionary[gp.kept]], R, RT)
        gp._rows = _Rows(X, Z)
        gp.u = len(X)
        gp._count(X, Z, counts)
        return gp

    def recounted(self, counts: Array) -> SparseGP:
        """A model on the same dictionary, of the same points, each observed ``counts (u,)`` times; without values."""
        twin = self._twin()
        twin._count(self.X, np.ascontiguousarray(self.Z), counts)
        return twin

    def _twin(self) -> SparseGP:
        """A model that shares all arrays."""
        self._rows.shared = True
        twin = SparseGP.__new__(SparseGP)
        vars(twin).update(vars(self))  # several times as fast as `copy.copy`
        return twin

    def _count(self, X: Array, Z: Array, counts: Array) -> None:
        """Condition on its own points, embedded as ``Z (u, m)``."""
        LV, positive, weights, ok, variances = dtc_posterior(
            self.covariance, X, Z, self._R, counts, self.regularization
        )
        self._hold(LV, counts, positive=positive)
        self._weights = weights if ok else None
        self._variances = variances / self.regularization if ok else None

    def copy(self) -> SparseGP:
        """A model that goes its own way. O(m^2 + u): points and embeddings are shared as long as that can be."""
        twin = self._twin()
        twin.LV = self.LV.copy()
        twin._counts = self._counts.copy()
        twin._sums = self._sums.copy()
        return twin

    @property
    def X(self) -> Array:
        """The points (u, d) it is conditioned on."""
        return self._rows.X[: self.u]

    @property
    def counts(self) -> Array:
        """How often each point was observed or is pending, (u,)."""
        return self._counts[: self.u]

    @property
    def Z(self) -> Array:
        """The embedded points (u, m)."""
        return self._rows.Z[: self.u, : self.m]

    def embed(self, X: Array) -> Array:
        """Nystrom embedding Z (n, m) of the points ``X (n, d)``."""
        return embed(self.covariance, self.dictionary, self._R, np.ascontiguousarray(X, dtype=np.float64))

    def embed_one(self, x: Array) -> Array:
        """Nystrom embedding z (m,) of the point ``x (d,)``."""
        return embed_one(self.covariance, self._ST, self._RT, np.ascontiguousarray(x, dtype=np.float64))

    # -- conditioning ------------------------------------------------------------------------------------------

    def condition(self, X: Array, counts: Array | None = None, Z: Array | None = None) -> None:
        """Condition on the points ``X (n, d)``, each observed ``counts (n,)`` times; `set_values` sets their values.

        ``Z (n, m)`` are other embeddings than those by `embed`.
        """
        counts = np.ones(len(X)) if counts is None else np.asarray(counts, dtype=np.float64)
        Z = self.embed(X) if Z is None else Z
        LV, positive = precision_factor(Z, counts, self.regularization)
        self._rows = _Rows(X, Z)
        self.u = len(X)
        self._hold(LV, counts, positive=positive)

    def _hold(self, LV: Array, counts: Array, *, positive: bool) -> None:
        """Keep what follows from the numbers of observations."""
        if not positive:
            raise np.linalg.LinAlgError("Z^T Z + lambda I is not positive definite: points or counts are not finite.")
        self.LV = LV
        self._counts = extended(np.zeros(SPARE), 0, counts)
        self._sums = np.zeros(len(self._counts))
        self._changed()

    def add(self, x: Array, value: float = 0.0, z: Array | None = None) -> Array:
        """Add a new point ``x (d,)`` with one observation. O(m^2).

        A pending point whose ``value`` is the posterior mean there shrinks variances and leaves the mean alone. ``z
        (m,)`` is another embedding than that by `embed_one`.

        Returns:
            h (m,): the observation reduces ``lambda var~(x')`` by ``(h^T k_S(x'))^2`` at every ``x'``.
        """
        z = self.embed_one(x) if z is None else z
        u = self.u
        if u == len(self._rows.X) or self._rows.filled != (u, self.m):
            self._rows = _Rows(self.X, self.Z)
        self._rows.X[u] = x
        self._rows.Z[u, : self.m] = z
        self._rows.filled = u + 1, self.m
        self._counts = extended(self._counts, u, [1.0])
        self._sums = extended(self._sums, u, [value])
        self.u = u + 1
        self._changed()
        return observe(self._R, self.LV, z, self.regularization)

    def scale_up(self, i: int, factor: float, value: float) -> None:
        """Multiply the embedding of point ``i`` by a ``factor`` of at least 1, and replace its value. O(m^2)."""
        if self._rows.shared:
            self._rows = _Rows(self.X, self.Z)
        z = self.Z[i].copy()
        self._rows.Z[i, : self.m] = factor * z
        self._sums[i] = value
        self._changed()
        observe(self._R, self.LV, math.sqrt(max(factor * factor - 1.0, 0.0)) * z, self.regularization)

    def repeat(self, i: int, value: float = 0.0) -> Array:
        """Add one more observation of point ``i``, otherwise as `add`. O(m^2)."""
        self._counts[i] += 1.0
        self._sums[i] += value
        self._changed()
        return observe(self._R, self.LV, self.Z[i].copy(), self.regularization)

    def hallucinate(self, LV: Array, z: Array) -> Array:
        """Add one observation at the embedded point ``z (m,)`` to ``LV``, a copy of this model's, in place. O(m^2).

        Returns:
            h (m,): the observation reduces ``lambda var~(x')`` by ``(h^T k_S(x'))^2`` at every ``x'``.
        """
        return observe(self._R, LV, z, self.regularization)

    def grow(self, x: Array) -> bool:
        """Make ``x (d,)`` an atom too. O(u m). Returns False, changing nothing, if the atoms already represent it."""
        x = np.ascontiguousarray(x, dtype=np.float64)
        z = self.embed_one(x)
        prior = float(prior_variance(self.covariance, x))
        pivot = prior - float(np.sum(z**2))
        if not pivot > DEPENDENT * prior:
            return False
        m = self.m
        root = math.sqrt(pivot)
        if m == self._rows.Z.shape[1] or self._rows.filled != (self.u, m):
            self._rows = _Rows(self.X, self.Z)
        k = cross_covariance(self.covariance, np.ascontiguousarray(self.X.T), x[:, None])[0]
        column = (k - np.einsum("ij,j->i", self.Z, z)) / root
        weighted = self.counts * column
        off = np.einsum("ij,i->j", self.Z, weighted)
        self._rows.Z[: self.u, m] = column
        self._rows.filled = self.u, m + 1
        v = np.empty(m)
        whiten_into(inverse_factor(self.LV)[1], m, off, v)
        corner = float(np.sum(weighted * column)) + self.regularization - float(np.sum(v**2))
        self._L = _bordered(self._L, z, root)
        self.LV = _bordered(self.LV, v, math.sqrt(max(corner, self.regularization)))
        self._set_atoms(np.concatenate([self.dictionary, x[None]]), *inverse_factor(self._L))
        return True

    def set_values(self, sums: Array) -> None:
        """Set the values of the points: ``sums (u,)`` over the observations of each."""
        self._sums[: self.u] = sums
        self._alpha = None

    # -- prediction --------------------------------------------------------------------------------------------

    def _solve(self) -> tuple[Array, ...]:
        if self._weights is None:
            *weights, ok = dtc_weights(self._R, self.LV, self.regularization)
            if not ok:
                raise np.linalg.LinAlgError("I - lambda V^-1 is not positive semidefinite: points are not finite.")
            self._weights = (*weights, np.ascontiguousarray(weights[0].T))
        return self._weights

    def means(self) -> Array:
        """mu~ (u,) at its own points."""
        _, _, half, halfT, _ = self._solve()
        v = np.empty(self.m)
        w = np.empty(self.m)
        whiten_into(halfT, self.m, np.einsum("ij,i->j", self.Z, self._sums[: self.u]), v)
        unwhiten_into(half, self.m, v, w)
        return np.einsum("ij,j->i", self.Z, w)

    @property
    def posterior(self) -> Posterior:
        """The posterior in the form of an exact GP on the atoms; its variance is ``lambda var~``."""
        W, _, half, halfT, WT = self._solve()
        if self._alpha is None:
            Zty = np.einsum("ij,i->j", self.Z, self._sums[: self.u])
            self._alpha = dtc_mean_weights(self._R, half, halfT, Zty)
        return Posterior(self.covariance, self.m, self.dictionary, self._ST, self._alpha, W, WT)

    def mean_variance(self, X: Array) -> tuple[Array, Array]:
        """mu~ (n,) and var~ (n,) at ``X (n, d)``; the variance is never negative."""
        mean, variance = mean_variance(self.posterior, np.ascontiguousarray(X, dtype=np.float64))
        return mean, variance / self.regularization

    def variance(self, x: Array) -> float:
        """var~ at the point ``x (d,)``, with its terms in the order in which `numbo.kernels.lazy` sums them up."""
        variance = dtc_variance(self.covariance, self._ST, self._solve()[-1], np.ascontiguousarray(x, dtype=np.float64))
        return float(variance) / self.regularization

    def variances(self) -> Array:
        """var~ (u,) at its own points."""
        if self._variances is None:
            prior = prior_variances(self.covariance, self.X)
            self._variances = dtc_variances(self.Z, self._solve()[1], prior) / self.regularization
        return self._variances

    def log_determinant(self) -> float:
        """log det(V / lambda): twice the information that the observations carry about the objective."""
        return float(2.0 * _elementary.log(np.diag(self.LV)).sum() - self.m * math.log(self.regularization))

    def cross(self, X: Array, Y: Array) -> Array:
        """k~ (n, p) between the points ``X (n, d)`` and ``Y (p, d)``."""
        W = self.posterior.W
        WX, WY = (embed(self.covariance, self.dictionary, W, np.ascontiguousarray(points)) for points in (X, Y))
        prior = cross_covariance(self.covariance, np.ascontiguousarray(Y.T), np.ascontiguousarray(X.T))
        return (prior - np.einsum("ij,kj->ik", WX, WY)) / self.regularization


def _bordered(L: Array, row: Array, corner: float) -> Array:
    """The lower triangular ``L`` with one row added."""
    m = len(L)
    out = np.zeros((m + 1, m + 1))
    out[:m, :m] = L
    out[m, :m] = row
    out[m, m] = corner
    return out
