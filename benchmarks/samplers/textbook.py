"""A textbook search by a Gaussian process, with NumPy, SciPy and scikit-learn: what little suffices for few trials.

The middle of all ranges comes first, and then two points of Sobol's sequence. Values are made more normal by a power
transform. The kernel is Matern 3/2 with a lengthscale for each parameter, at the maximum of the posterior density under
log-normal priors. The next point has the least lower confidence bound of random candidates and of some near the best.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import CategoricalDistribution
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.stats import qmc
from sklearn.preprocessing import power_transform

from benchmarks.samplers.declared import Declared, OneHot, Params

Array = NDArray[np.float64]

#: Points before the model.
FIRST = 3
#: Standard deviations below the mean that make the bound.
DEVIATIONS = 2.0
#: Logarithms of the medians of the signal and noise variances, and the deviations of all logarithms.
SIGNAL, NOISE = 0.0, np.log(0.01)
LENGTH_DEVIATION, SIGNAL_DEVIATION, NOISE_DEVIATION = 0.5, 1.0, 0.5
#: Random candidates; those that are refined in each round, and new ones near each of these; how far these are.
RANDOM, KEPT, NEAR = 2000, 5, 100
DISTANCES = (0.2, 0.08, 0.03)


def normalised(y: Array) -> Array:
    """Values (n,) after a transform of Box and Cox, or else of Yeo and Johnson, with mean 0 and deviation 1."""
    spread = y.std()
    if spread == 0.0:
        return np.zeros_like(y)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for method in ("box-cox", "yeo-johnson"):
            try:
                z = power_transform((y / spread)[:, None], method=method)[:, 0]
            except ValueError:  # Box and Cox need positive values, and the optimisation may fail
                continue
            if np.isfinite(z).all() and z.std() > 0.5:
                return np.asarray((z - z.mean()) / z.std())
    return np.asarray((y - y.mean()) / spread)


class GP:
    """A Gaussian process with mean 0 on vectors X (n, D) with values y (n,), and ``groups`` of columns of a kind."""

    def __init__(self, X: Array, y: Array, groups: list[slice]) -> None:
        self.X = X
        self.groups = groups
        # Two categories are at distance 1.
        squares = [cdist(X[:, g], X[:, g], "sqeuclidean") / (1.0 if g.stop - g.start == 1 else 2.0) for g in groups]
        d = len(groups)
        median = np.r_[np.full(d, np.log(0.4 * np.sqrt(max(1.0, d / 4.0)))), SIGNAL, NOISE]
        deviation = np.r_[np.full(d, LENGTH_DEVIATION), SIGNAL_DEVIATION, NOISE_DEVIATION]
        eye = np.eye(len(y))

        def loss(theta: Array) -> tuple[float, Array]:
            """Minus the log posterior density of the logarithms of all parameters, and its gradient."""
            signal, noise = np.exp(theta[d:])
            parts = [3.0 * s * np.exp(-2.0 * t) for s, t in zip(squares, theta, strict=False)]
            r = np.sqrt(sum(parts))
            decay = signal * np.exp(-r)
            covariance = (1.0 + r) * decay
            factor = cho_factor(covariance + noise * eye, lower=True)
            alpha = cho_solve(factor, y)
            outer = cho_solve(factor, eye) - np.outer(alpha, alpha)
            slopes = [*(part * decay for part in parts), covariance, noise * eye]
            off = (theta - median) / deviation
            value = 0.5 * y @ alpha + np.log(np.diag(factor[0])).sum() + 0.5 * off @ off
            return float(value), np.array([0.5 * np.sum(outer * s) for s in slopes]) + off / deviation

        bounds = [(m - 4.0 * s, m + 4.0 * s) for m, s in zip(median, deviation, strict=True)]
        theta = minimize(loss, median, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 50}).x
        self.signal, noise = np.exp(theta[d:])
        self.scale = np.empty(X.shape[1])
        for g, length in zip(groups, np.exp(theta[:d]), strict=True):
            self.scale[g] = length * (1.0 if g.stop - g.start == 1 else np.sqrt(2.0))
        self.root = np.linalg.cholesky(self.covariance(X) + noise * eye)
        self.alpha = cho_solve((self.root, True), y)

    def covariance(self, Z: Array) -> Array:
        """Of the points Z (m, D) with those of the data, (m, n)."""
        r = np.sqrt(3.0) * cdist(Z / self.scale, self.X / self.scale)
        return np.asarray(self.signal * (1.0 + r) * np.exp(-r))

    def bound(self, Z: Array) -> Array:
        """The lower confidence bound (m,) at points Z (m, D)."""
        K = self.covariance(Z)
        explained = np.sum(solve_triangular(self.root, K.T, lower=True) ** 2, axis=0)
        return np.asarray(K @ self.alpha - DEVIATIONS * np.sqrt(np.maximum(self.signal - explained, 1e-12)))


class TextbookSampler(Declared):
    """The search, as an Optuna sampler."""

    def begin(self) -> None:
        self._rng = np.random.default_rng(self.seed)
        self._code = OneHot(self.space)
        spread = qmc.Sobol(self._code.width, rng=self._rng).random(FIRST - 1)
        self._first = self._code.snap(np.concatenate([np.full((1, self._code.width), 0.5), spread]))

    def suggest(self, params: list[Params], values: Array) -> dict[str, Any]:
        if len(values) < FIRST:
            return self._code.decode(self._first[len(values)])
        X = np.array([self._code.encode(p) for p in params])
        gp = GP(X, normalised(values), list(self._code.columns.values()))
        Z = self._new(self._code.snap(self._rng.random((RANDOM, self._code.width))), X)
        near = X[np.argsort(values, kind="stable")[:KEPT]]
        for distance in DISTANCES:
            around = self._around(near, distance)
            Z = self._new(np.concatenate([Z, around]), X)
            bounds = gp.bound(Z)
            Z = Z[np.argsort(bounds, kind="stable")[: RANDOM // 2]]
            near = Z[:KEPT]
        return self._code.decode(near[0] if len(near) else X[np.argmin(values)])

    def _around(self, X: Array, distance: float) -> Array:
        """Points near some X (k, D): numbers move, and a few categories are drawn again."""
        Z = np.repeat(X, NEAR, axis=0)
        chance = max(0.3, 1.5 / len(self.space))
        for name, d in self.space.items():
            of = self._code.columns[name]
            drawn = self._rng.random((len(Z), of.stop - of.start))
            if isinstance(d, CategoricalDistribution):
                moved = self._rng.random(len(Z)) < 0.5 * chance
                Z[moved, of] = drawn[moved]
            else:
                moved = self._rng.random(len(Z)) < chance
                Z[moved, of] += distance * self._rng.normal(size=(int(moved.sum()), 1))
        return self._code.snap(Z)

    def _new(self, Z: Array, X: Array) -> Array:
        """Those of the points Z (m, D) that are not among X (n, D)."""
        return Z[cdist(Z, X).min(axis=1) > 1e-9]
