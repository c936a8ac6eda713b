"""Posteriors given pending points: these count as observed with the posterior mean as their values."""

from __future__ import annotations

import numpy as np

from numbo._types import Array, Indices
from numbo.kernels.acquisition import Posterior
from numbo.kernels.pending import Extension, bordered, embedded_given, extend, extend_by
from numbo.kernels.sparse import dtc_weights, inverse_factor, precision_factor

#: Room for more points in a `Growing` posterior: at least this number, or a quarter of the points that it has.
SPARE = 16
#: A point is represented by others if they leave no more variance than this share of the largest prior variance, or
#: this share of the noise.
DEPENDENT = 1e-10
NEGLIGIBLE = 1e-4


def extended(posterior: Posterior, points: Array, noise: float, most: int | None = None) -> Posterior:
    """The ``posterior`` given one more observation at each of ``points (p, d)``, which leaves its mean unchanged.

    ``noise`` is their variance. Of more than ``most``, those are taken in that determine the others best.
    """
    if len(points) == 0:
        return posterior
    points = posterior.lifted(points)
    W, chosen = extend(posterior, np.ascontiguousarray(points.T), noise, len(points) if most is None else most)
    return _with_points(posterior, points[chosen], W, np.ascontiguousarray(W.T))


def _with_points(posterior: Posterior, points: Array, W: Array, WT: Array) -> Posterior:
    """The ``posterior`` with ``points (q, d)`` added to it; ``W (m + q, m + q)`` has them."""
    m = posterior.n
    X = np.concatenate([posterior.X[:m], points])
    alpha = np.append(posterior.alpha[:m], np.zeros(len(points)))
    return Posterior(posterior.covariance, len(X), X, np.ascontiguousarray(X.T), alpha, W, WT, posterior.basis)


def represented(posterior: Posterior, points: Array, noise: float, most: int) -> tuple[Posterior, Indices]:
    """As `extended`, at a cost that is linear in the number of points: all are taken in, by means of ``most`` of them
    or fewer, whose numbers (q,) are returned, too.

    It is the posterior of FITC (`numbo.models.fitc`) under the covariance C that the ``posterior`` leaves, with these
    as the atoms S: the next one is the one with the largest variance given those before, as long as that is
    not `NEGLIGIBLE`. If they represent all points exactly, so is the posterior.

        z(x) = L^-1 C(S, x)      L L^T = C(S, S)      V = Z^T N Z + noise I      N_ii = noise / (noise + C_ii - |z_i|^2)

    reduce the variance by ``|U z(x)|^2`` with ``U^T U = I - noise V^-1``: M of `numbo.kernels.pending.extend` is
    ``U L^-1``.

    Raises:
        numpy.linalg.LinAlgError: if the points are not finite.
    """
    PT = np.ascontiguousarray(points.T)
    V, chosen, Z, left = embedded_given(posterior, PT, most, DEPENDENT, NEGLIGIBLE * noise)
    R, _ = inverse_factor(np.ascontiguousarray(Z[chosen]))
    LV, positive = precision_factor(Z, noise / (noise + left), noise)
    if not positive:
        raise np.linalg.LinAlgError("Z^T N Z + noise I is not positive definite: pending points are not finite.")
    M, _, _, _, ok = dtc_weights(R, LV, noise)
    if not ok:
        raise np.linalg.LinAlgError("I - noise V^-1 is not positive semidefinite: pending points are not finite.")
    W = bordered(posterior, V, M, chosen)
    return _with_points(posterior, points[chosen], W, np.ascontiguousarray(W.T)), chosen


class Growing:
    """A posterior given points that come one after another: `extended` by all of them, bit for bit.

    Args:
        posterior: without the points; nobody changes it.
        noise: variance of the observations.

    Attributes:
        count: number of points.
    """

    def __init__(self, posterior: Posterior, noise: float) -> None:
        self.count = 0
        self._alone = posterior
        self._noise = noise
        self._extension: Extension | None = None

    def add(self, points: Array) -> None:
        """Add ``points (p, d)``. O(p (m + q)^2) for q points in all, and sometimes O(q (m + q)^2)."""
        if len(points) == 0:
            return
        known = self.count
        count = known + len(points)
        ext = self._extension
        if ext is None or count > len(ext.roots):
            points = points if ext is None else np.concatenate([ext.PT[:, :known].T, points])
            known = 0
            ext = self._room(count + max(SPARE, count // 4))
        extend_by(self._alone, ext, known, np.ascontiguousarray(points.T), self._noise)
        self._extension = ext
        self.count = count

    def _room(self, room: int) -> Extension:
        """Arrays for at most ``room`` points."""
        m = self._alone.n
        d = self._alone.X.shape[1]
        square = (room, room)
        W = np.zeros((m + room, m + room))
        WT = np.zeros((m + room, m + room))
        W[:m, :m] = self._alone.W[:m, :m]
        WT[:m, :m] = self._alone.WT[:m, :m]
        factors = (np.zeros(square), np.zeros(room), np.zeros(square), np.zeros(square), np.zeros(square))
        return Extension(np.zeros((d, room)), np.zeros((m, room)), *factors, np.zeros((room, m)), W, WT)

    @property
    def posterior(self) -> Posterior:
        """The posterior given the points."""
        if self._extension is None:
            return self._alone
        n = self._alone.n + self.count
        ext = self._extension
        return _with_points(self._alone, ext.PT[:, : self.count].T, ext.W[:n, :n].copy(), ext.WT[:n, :n].copy())
