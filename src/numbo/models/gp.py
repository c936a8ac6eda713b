"""Exact Gaussian process regression with MAP hyperparameters (Rasmussen & Williams 2006, chapters 2 and 5).

    mu(x)  = k(x)^T (K + noise I)^-1 y
    var(x) = k(x, x) - k(x)^T (K + noise I)^-1 k(x)

Glossary: ``X (n, d)`` inputs in the unit cube, ``y (n,)`` standardised values, ``extra (n,)`` known variances of the
    values in addition to the common noise, ``theta`` log-hyperparameters in the order of `numbo.kernels.likelihood`.
"""

from __future__ import annotations

import logging
import math
from typing import Any, NamedTuple

import numpy as np

from numbo._plain import Kept
from numbo._types import Array, Mask
from numbo.kernels.acquisition import Posterior
from numbo.kernels.basis import Basis, prior_means
from numbo.kernels.cholesky import cholesky_append, cholesky_into, invert_lower_into, unwhiten_into, whiten_into
from numbo.kernels.covariance import MATERN32, MATERN52, RBF, Covariance, covariance_into, gram_into, prior_variance
from numbo.kernels.likelihood import PARAMETERS, WORKSPACE, log_marginal_likelihood, parameters
from numbo.models.descent import minimize
from numbo.models.earlier import SILENT, Sources, Weights
from numbo.models.moments import Prediction, moments
from numbo.models.pending import extended
from numbo.models.priors import VALUES, LogDensity, Prior, default_theta, log_bounds, log_prior

logger = logging.getLogger("numbo")

NOTHING = np.empty((0, 0))
FAMILIES = {"matern52": MATERN52, "matern32": MATERN32, "rbf": RBF}
#: Maximum jitter, as a share of the mean of the diagonal; if it is not enough, correlations are ignored.
MAX_JITTER = 1e-2
#: Minimum log variance of trend and additive part at the start of a fit.
LOG_TREND_START = math.log(0.05)


class Frame(NamedTuple):
    """The box whose units a model is fitted in: its ``center (d,)``, and its ``radius``, half its longest side."""

    center: Array
    radius: float


class LeftOut(NamedTuple):
    """The residual (n,) of each value under a model of the others, and its variance (n,) under that model."""

    residual: Array
    variance: Array


class ExactGP(Kept):
    """A GP over the unit cube that is fitted, conditioned, and then grows by single points.

    Args:
        categorical: (d,) which dimensions are compared by equality.
        optional: (d,) which dimensions may be inactive, with the coordinate `numbo.spaces.INACTIVE`; None for none.
        kernel: ``"matern52"``, ``"matern32"`` or ``"rbf"``.
        trend, additive: whether the covariance has the linear and quadratic trend, and the additive part, of
            `numbo.kernels.covariance`.
        prior: prior on the hyperparameters (`numbo.models.priors`).

    Attributes:
        theta: the hyperparameters, from which the next fit starts.
        center, radius: of the `Frame` in whose units they are.
        sources: earlier studies, whose ``weights`` `weigh` learns; they have no influence before.
    """

    _kept = ("theta", "weights", "center", "radius")

    def __init__(
        self,
        categorical: Mask,
        optional: Mask | None = None,
        *,
        kernel: str = "matern52",
        trend: bool = True,
        additive: bool = False,
        prior: Prior = VALUES,
    ) -> None:
        if kernel not in FAMILIES:
            raise ValueError(f"kernel must be one of {sorted(FAMILIES)}, got {kernel!r}.")
        self.kernel = kernel
        self.categorical = np.ascontiguousarray(categorical, dtype=np.bool_)
        self.optional = np.zeros_like(self.categorical) if optional is None else np.ascontiguousarray(optional)
        self.trend = trend and not self.categorical.all()
        self.additive = additive
        self.prior = prior
        self.theta = self.default_theta()
        self.center = np.full(len(self.categorical), 0.5)
        self.radius = 0.5
        self.sources: Sources | None = None
        self.weights = SILENT
        self._covariance: tuple[Any, Covariance] | None = None
        self.n = 0
        self._allocate(0)

    @property
    def covariance(self) -> Covariance:
        """The current covariance function, in the form that kernels take; made once for each ``theta`` and frame."""
        key = self.theta.tobytes(), self.radius, self.weights.variance
        known = self._covariance
        if known is None or known[0] != key or known[1].center is not self.center:
            numbers = parameters(self.theta, self.categorical, self.radius)
            made = Covariance(
                family=FAMILIES[self.kernel],
                categorical=self.categorical,
                center=self.center,
                radius=self.radius,
                optional=self.optional,
                basis_variance=self.weights.variance,
                **dict(zip(PARAMETERS, numbers, strict=True)),
            )
            known = key, made
            self._covariance = known
        return known[1]

    @property
    def lengthscales(self) -> Array:
        """(d,) in the unit cube."""
        return 1.0 / np.sqrt(self.covariance.inverse_squared_lengthscales)

    def default_theta(self) -> Array:
        """The hyperparameters before any fit."""
        return default_theta(len(self.categorical), self.trend, self.additive, self.prior)

    def log_posterior(
        self,
        theta: Array,
        XT: Array,
        y: Array,
        extra: Array | None = None,
        known: Array = NOTHING,
        workspace: Array | None = None,
    ) -> LogDensity:
        """Log marginal likelihood plus log prior of the hyperparameters, up to a constant.

        ``known (n, n)`` is a known part of the covariance matrix; without rows, there is none.
        """
        extra = np.zeros(len(y)) if extra is None else extra
        if workspace is None:
            workspace = np.empty((WORKSPACE, len(y), len(y)))
        likelihood = LogDensity(
            *log_marginal_likelihood(
                theta,
                XT,
                y,
                extra,
                FAMILIES[self.kernel],
                self.categorical,
                self.center,
                self.radius,
                self.optional,
                known,
                workspace,
            )
        )
        prior = log_prior(theta, len(self.categorical), self.prior)
        return LogDensity(likelihood.value + prior.value, likelihood.gradient + prior.gradient)

    def fit(
        self,
        X: Array,
        y: Array,
        extra: Array | None = None,
        *,
        iterations: int = 50,
        noise: float | None = None,
        least_noise: float = 0.0,
    ) -> float:
        """Set ``theta`` to the MAP estimate for ``X (n, d)``, ``y (n,)``.

        The noise variance is ``noise`` if given, and else at least ``least_noise``.

        Starts from the present ``theta`` or from the defaults, whichever is more probable, with variances of trend and
        additive part raised to at least 0.05. A failed fit keeps the better of the two; a fit that cannot start logs a
        warning.

        Returns:
            the `log_posterior` of ``theta``; minus infinity for a fit that cannot start.
        """
        XT = np.ascontiguousarray(X.T)
        d = len(self.categorical)
        extra = np.zeros(len(y)) if extra is None else extra
        y, known_part = self._told_by_sources(X, y, self.weights)
        workspace = np.empty((WORKSPACE, len(y), len(y)))
        starts = [self.theta.copy(), self.default_theta()]
        bounds = log_bounds(d, self.trend, self.additive)
        if noise is not None:
            bounds[d + 1] = math.log(noise)
        elif least_noise > 0.0:
            bounds[d + 1, 0] = max(bounds[d + 1, 0], math.log(least_noise))
        for theta in starts:
            theta[d + 1] = np.clip(theta[d + 1], *bounds[d + 1])
        values = [self.log_posterior(theta, XT, y, extra, known_part, workspace).value for theta in starts]
        self.theta = starts[int(np.argmax(values))]
        known = max(values)
        if not math.isfinite(known):
            self.theta = self.default_theta()
            logger.warning("The GP's hyperparameters could not be fitted; defaults are used.")
            return -math.inf
        start = self.theta.copy()  # the posterior is flat in the logarithm of a very small variance
        variances = slice(d + 2, len(start) - self.additive)
        start[variances] = np.maximum(start[variances], LOG_TREND_START)

        def negative(theta: Array) -> tuple[float, Array]:
            found = self.log_posterior(theta, XT, y, extra, known_part, workspace)
            if not (math.isfinite(found.value) and np.isfinite(found.gradient).all()):
                return 1e25, np.zeros_like(theta)
            return -found.value, -found.gradient

        found = minimize(negative, start, bounds, iterations=iterations, tolerance=1e-5, flat=1e-3)
        if -found.value >= known:
            self.theta = found.x
            known = -found.value
        return known

    # -- earlier studies -----------------------------------------------------------------------------------------

    def weigh(self, X: Array, y: Array, extra: Array | None = None) -> None:
        """Choose the weights of the earlier studies, given the hyperparameters, for ``X (n, d)``, ``y (n,)``.

        The log prior of the weights and the marginal likelihood decide (`Sources.proposals`).
        """
        assert self.sources is not None
        XT = np.ascontiguousarray(X.T)
        workspace = np.empty((WORKSPACE, len(y), len(y)))

        def evidence(weights: Weights) -> float:
            rest, known = self._told_by_sources(X, y, weights)
            return self.log_posterior(self.theta, XT, rest, extra, known, workspace).value + weights.log_prior

        self.weights = max(self.sources.proposals(X), key=evidence)

    @property
    def basis(self) -> Basis | None:
        """The earlier studies in the form that kernels take; None if they have no influence."""
        if self.sources is None or self.weights.silent:
            return None
        return self.sources.basis(self.weights)

    def lifted(self, X: Array) -> Array:
        """``X (n, d)``, with the features of earlier studies if they have an influence."""
        if self.sources is None or self.weights.silent:
            return X
        return np.ascontiguousarray(np.concatenate([X, self.sources.shifted(X, self.weights)], axis=1))

    def _told_by_sources(self, X: Array, y: Array, weights: Weights) -> tuple[Array, Array]:
        """What the earlier studies leave of ``y (n,)``, and their part (n, n) of the covariance matrix."""
        if self.sources is None or weights.silent:
            return y, NOTHING
        F = self.sources.shifted(X, weights)
        return y - weights.mean * F.sum(axis=1), weights.variance * np.einsum("ij,kj->ik", F, F)

    def condition(self, X: Array, y: Array, extra: Array | None = None, *, spare: int = 8) -> None:
        """Condition on ``X (n, d)``, ``y (n,)`` under the present hyperparameters, with room for ``spare`` more points.

        A covariance matrix that is not positive definite in floating point gets increasing jitter on its diagonal,
        from 1e-10 of its mean; the result is always a usable posterior.
        """
        n = len(X)
        X = self.lifted(X)
        if not n + spare <= len(self._y) <= 2 * (n + spare) or X.shape[1] != self._X.shape[1]:
            self._allocate(n + spare, X.shape[1])
        self.n = n
        self._X[:n] = X
        self._XT[:, :n] = X.T
        self._prior[:n] = prior_means(self.basis, X)
        self._y[:n] = y - self._prior[:n]
        self._extra[:n] = 0.0 if extra is None else extra
        cov = self.covariance
        jitter = 0.0
        while True:
            self._noise = cov.noise_variance + jitter
            gram_into(cov, self._XT, n, self._noise + self._extra, self._K)
            level = float(np.mean(np.diag(self._K)[:n]))
            if cholesky_into(self._K, n, self._L):
                break
            jitter = max(10.0 * jitter, 1e-10 * level)
            if not (jitter <= MAX_JITTER * level and math.isfinite(jitter)):
                logger.warning("A covariance matrix stayed singular; its correlations are ignored.")
                self._L[:n, :n] = math.sqrt(max(level, np.finfo(float).tiny)) * np.eye(n)
                break
        invert_lower_into(self._L, n, 0, self._W, self._WT)
        self._solve()

    def append(self, X: Array, y: Array, extra: Array) -> bool:
        """Add the points ``X (p, d)`` with their values ``y (p,)`` and known variances ``extra (p,)``. O(p n^2).

        A point so close to others that the factor would be singular is left out; returns whether there was none.
        """
        cov = self.covariance
        first = self.n
        X = self.lifted(X)
        for x, prior, value, known in zip(X, prior_means(self.basis, X), y, extra, strict=True):
            n = self.n
            if n == len(self._y):
                self._grow()
            k = np.empty(n)
            covariance_into(cov, self._XT, n, x, k)
            if not cholesky_append(self._L, self._W, self._WT, n, k, prior_variance(cov, x) + self._noise + known):
                continue
            self._X[n] = x
            self._XT[:, n] = x
            self._prior[n] = prior
            self._y[n] = value - prior
            self._extra[n] = known
            self.n = n + 1
        self._solve()
        return self.n == first + len(X)

    def truncate(self, n: int) -> None:
        """Keep only the first ``n`` points. O(n^2), nothing if there are no more."""
        if n < self.n:
            self.n = n
            self._solve()

    def set_values(self, y: Array) -> None:
        """Replace the values by ``y (n,)``; variances do not depend on them. O(n^2)."""
        self._y[: self.n] = y - self._prior[: self.n]
        self._solve()

    def extended(self, points: Array, most: int | None = None) -> Posterior:
        """The posterior given observations at ``points (p, d)`` too (`numbo.models.pending.extended`)."""
        return extended(self.posterior, points, self._noise, most)

    def mean_sd(self, Z: Array) -> Prediction:
        """Posterior mean (c,) and standard deviation (c,) of the latent function at ``Z (c, d)``."""
        latent = moments(self.posterior, Z)
        return Prediction(latent.mean, latent.std)

    @property
    def points(self) -> Array:
        """The points (n, d) that the model is conditioned on."""
        return self._X[: self.n, : len(self.categorical)]

    @property
    def values(self) -> Array:
        """The values (n,) that the model is conditioned on."""
        out: Array = self._y[: self.n] + self._prior[: self.n]
        return out

    @property
    def extra(self) -> Array:
        """The known variances (n,) of the values, in addition to the noise."""
        return self._extra[: self.n]

    @property
    def fitted_means(self) -> Array:
        """Posterior mean (n,) at the points themselves: ``K alpha = y - (noise + extra) alpha``."""
        out: Array = self.values - (self._noise + self.extra) * self._alpha[: self.n]
        return out

    def leave_one_out(self) -> LeftOut:
        """The leave-one-out prediction of each value (R&W, eqs. 5.10 to 5.12)."""
        variance = 1.0 / np.sum(self._W[: self.n, : self.n] ** 2, axis=0)
        return LeftOut(self._alpha[: self.n] * variance, variance)

    @property
    def posterior(self) -> Posterior:
        """The posterior in the form that kernels take: a live view, which later changes of this GP alter."""
        return Posterior(self.covariance, self.n, self._X, self._XT, self._alpha, self._W, self._WT, self.basis)

    def _solve(self) -> None:
        """alpha = K^-1 y."""
        v = np.empty(self.n)
        out = np.empty(self.n)
        whiten_into(self._WT, self.n, self._y, v)
        unwhiten_into(self._W, self.n, v, out)
        self._alpha[: self.n] = out

    def _allocate(self, capacity: int, width: int | None = None) -> None:
        width = len(self.categorical) if width is None else width
        self._X = np.zeros((capacity, width))
        self._XT = np.zeros((width, capacity))
        self._y = np.zeros(capacity)
        self._prior = np.zeros(capacity)
        self._alpha = np.zeros(capacity)
        self._extra = np.zeros(capacity)
        self._K = np.zeros((capacity, capacity))
        self._L = np.zeros((capacity, capacity))
        self._W = np.zeros((capacity, capacity))
        self._WT = np.zeros((capacity, capacity))

    def _grow(self) -> None:
        names = ("_X", "_XT", "_y", "_prior", "_alpha", "_extra", "_L", "_W", "_WT")
        old = [getattr(self, name) for name in names]
        n = self.n
        self._allocate(max(2 * n, n + 8), self._X.shape[1])
        new = [getattr(self, name) for name in names]
        for source, target in zip(old, new, strict=True):
            target[tuple(slice(0, s) for s in source.shape)] = source
