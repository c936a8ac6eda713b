"""A Gaussian process on all observations through some of them: the fully independent training conditional (FITC).

Snelson & Ghahramani (2006), "Sparse Gaussian Processes using Pseudo-inputs"; Quinonero-Candela & Rasmussen (2005),
section 6. Given the function at the atoms, the residual variance at another point, ``r = k(x, x) - z(x)^T z(x)``
(`numbo.models.sparse_gp`), is treated as independent noise of that point. So the mean of ``c`` values there, with noise
``lambda / c``, counts ``w = c lambda / (lambda + c r)`` times as much as one value at an atom. The posterior is that of
BKB with ``sqrt(w) z`` and ``sqrt(w) y`` in place of ``z`` and ``y``. A value with a variance v in addition to the noise
counts ``lambda / (lambda + v)`` times, in ``c`` and in the mean. At the atoms the posterior is exact. Without noise the
other points add little information. Under noise they are averaged where the atoms represent them.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from numbo._rows import distinct_rows
from numbo._types import Array, Indices
from numbo.kernels.acquisition import Posterior
from numbo.kernels.basis import Basis, prior_means, with_features
from numbo.kernels.covariance import Covariance
from numbo.models.dictionaries import unrepresented
from numbo.models.pending import extended
from numbo.models.sparse_gp import SparseGP
from numbo.trials import Data


class FITC:
    """The posterior of observations under a covariance.

    Args:
        covariance: the covariance function; its noise variance lambda must be positive.
        data: the observations.
        atoms: (m, d) some of their points.
        basis: the predictions of earlier studies, if the covariance has their term.

    Attributes:
        gp: the underlying sparse model of weighted points.
        lacking: whether a point that should be an atom (`unrepresented`) was measured again since the model was built.
    """

    def __init__(self, covariance: Covariance, data: Data, atoms: Array, basis: Basis | None = None) -> None:
        self._basis = basis
        data = data._replace(X=with_features(basis, data.X))
        self.gp = SparseGP(covariance, with_features(basis, atoms))
        first, self._point = distinct_rows(data.X)
        X = data.X[first]
        self._number = {x.tobytes(): i for i, x in enumerate(X)}
        Z = self.gp.embed(X)
        self._open = unrepresented(covariance, X, Z)
        weights = self._weight(data.variance)
        self._counts: Array = np.bincount(self._point, weights).astype(np.float64)
        self._prior = prior_means(basis, X)
        self._averages = np.bincount(self._point, weights * (data.y - self._prior[self._point])) / self._counts
        self._roots = self._root(self._counts, self._open)
        self.gp.condition(X, Z=Z * self._roots[:, None])
        self.gp.set_values(self._roots * self._averages)
        self._expecting: FITC | None = None
        self.lacking = False

    def _weight(self, variance: Any) -> Any:
        """The weight of a value with this variance in addition to the noise."""
        return self.gp.regularization / (self.gp.regularization + variance)

    def _root(self, counts: Array, open_: Array) -> Array:
        noise = self.gp.regularization
        return np.sqrt(counts * noise / (noise + counts * open_))

    def add(self, x: Array, y: float, variance: float = 0.0) -> None:
        """Add an observation. O(m^2)."""
        x = with_features(self._basis, np.ascontiguousarray(x)[None])[0]
        weight = self._weight(variance)
        i = self._number.setdefault(x.tobytes(), len(self._counts))
        self._point = np.append(self._point, i)
        new = i == len(self._counts)
        if new:
            self._prior = np.append(self._prior, prior_means(self._basis, x[None]))
        y -= float(self._prior[i])
        if new:
            Z = self.gp.embed(x[None])
            self._counts = np.append(self._counts, weight)
            self._averages = np.append(self._averages, y)
            self._open = np.append(self._open, unrepresented(self.gp.covariance, x[None], Z))
            self._roots = np.append(self._roots, self._root(self._counts[-1:], self._open[-1:]))
            self.gp.add(x, self._roots[-1] * y, self._roots[-1] * Z[0])
            return
        self._counts[i] += weight
        self._averages[i] += (y - self._averages[i]) * weight / self._counts[i]
        self.lacking |= bool(self._open[i] * self._counts[i] > self.gp.regularization)
        before = self._roots[i]
        self._roots[i] = self._root(self._counts[i : i + 1], self._open[i : i + 1])[0]
        self.gp.scale_up(i, self._roots[i] / before, self._roots[i] * self._averages[i])

    def unrepresented(self) -> Indices:
        """Observations at repeated points whose residual variance exceeds the noise of their mean, most repeats first.

        However often such a point is measured, it barely changes the posterior until it becomes an atom.
        """
        again = np.flatnonzero((self._counts > 1.0) & (self._open * self._counts > self.gp.regularization))
        again = again[np.argsort(-self._counts[again], kind="stable")]
        first = np.full(len(self._counts), len(self._point))
        np.minimum.at(first, self._point, np.arange(len(self._point)))
        return first[again]

    def expect(self, values: Data) -> None:
        """Add ``values`` that are expected, until the next `release`."""
        self.release()
        if values.n:
            twin = copy.deepcopy(self)
            for x, y, variance in zip(*values, strict=True):
                twin.add(x, float(y), float(variance))
            self._expecting = twin

    def release(self) -> None:
        """Forget what is expected."""
        self._expecting = None

    @property
    def posterior(self) -> Posterior:
        """The posterior in the form of an exact GP on the atoms."""
        gp = self.gp if self._expecting is None else self._expecting.gp
        return gp.posterior._replace(basis=self._basis)

    def extended(self, points: Array, most: int | None = None) -> Posterior:
        """The posterior given observations at ``points (p, d)`` too (`numbo.models.pending.extended`)."""
        return extended(self.posterior, points, self.gp.regularization, most)

    @property
    def fitted_means(self) -> Array:
        """Posterior mean (n,) at each observation, in their order, and then at the expected ones."""
        if self._expecting is not None:
            return self._expecting.fitted_means
        out: Array = (self.gp.means() / self._roots + self._prior)[self._point]
        return out
