"""The covariance function of the sparse optimizers: given, or learned on a schedule."""

from __future__ import annotations

import copy

import numpy as np

from numbo._plain import Kept
from numbo._types import Array, Indices, Mask
from numbo.kernels.covariance import Covariance, prior_variances, stationary
from numbo.models.gp import FAMILIES, ExactGP
from numbo.models.transform_choice import choose, mean_error
from numbo.models.transforms import LARGE, OutputTransform
from numbo.trials import Data, best_first
from numbo.trials.schedule import Schedule

#: Maximum number of observations used to fit hyperparameters: a quarter are the best ones, the others random
#: (`benchmarks/results/single-runs.md`).
FIT_SIZE = 128
#: Hyperparameters are learned again when the number of observations has grown by this share.
GROWTH = 0.1
#: Lower bound of lambda, as a share of the variance of the values. With a smaller lambda every observation appears
#: independent of all others, so that dictionaries stay large.
NOISE_FLOOR = 1e-4


class LearnedKernel(Kept):
    """Covariance and output transform.

    Args:
        categorical: (d,) which dimensions are compared by equality.
        optional: (d,) which dimensions may be inactive; None for none.
        kernel: family of the covariance function.
        lengthscale, noise_std: parameters of a fixed kernel with unit variance, in units of the unit cube and of the
            values; both None to learn them.
        trend, winsorize: settings of a learned kernel (`numbo.models.ExactGP`, `numbo.models.OutputTransform`).
    """

    _kept = ("_gp", "fits")

    def __init__(
        self,
        categorical: Mask,
        kernel: str,
        lengthscale: Array | None,
        noise_std: float | None,
        *,
        trend: bool,
        winsorize: bool,
        optional: Mask | None = None,
    ) -> None:
        self._gp = ExactGP(categorical, optional, kernel=kernel, trend=trend)
        self.winsorize = winsorize
        self.transform = OutputTransform(0.0, 1.0)
        self.fits = Schedule(GROWTH)
        self._fixed: Covariance | None = None
        if lengthscale is not None and noise_std is not None:
            inverse = np.ascontiguousarray(1.0 / np.broadcast_to(lengthscale, categorical.shape) ** 2)
            self._fixed = stationary(
                FAMILIES[kernel], inverse, 1.0, float(noise_std) ** 2, self._gp.categorical, self._gp.optional
            )

    @property
    def fixed(self) -> bool:
        return self._fixed is not None

    @property
    def covariance(self) -> Covariance:
        """The covariance function; its noise variance is lambda."""
        if self._fixed is not None:
            return self._fixed
        covariance = self._gp.covariance
        return covariance._replace(noise_variance=max(covariance.noise_variance, NOISE_FLOOR))

    @property
    def claimed_noise(self) -> float | None:
        """Variance of the noise, in units of the variance of the values; None before the first fit."""
        if self._fixed is not None:
            return float(self._fixed.noise_variance)
        return float(self._gp.covariance.noise_variance) if self.fits.at else None

    @property
    def lengthscales(self) -> Array:
        """(d,) in the unit cube."""
        return 1.0 / np.sqrt(self.covariance.inverse_squared_lengthscales)

    def largest_prior(self, grid: Array | None) -> float:
        """``max k(x, x)``, kappa^2: over the ``grid (A, d)``, or over the cube, whose maximum is in a corner."""
        if self.fixed:
            return float(self.covariance.signal_variance)
        farthest = np.where(self.covariance.center < 0.5, 1.0, 0.0)[None]
        return float(prior_variances(self.covariance, farthest if grid is None else grid).max())

    def due(self, n: int) -> bool:
        """Whether hyperparameters are due to be learned from ``n`` observations."""
        return not self.fixed and self.fits.due(n)

    def fit_transform(self, y: Array) -> Array:
        """The targets of finite values ``y (n,)``; a learned transform is refitted to them."""
        if self.fixed:
            return np.minimum(np.maximum(y, -LARGE), LARGE)
        self.transform = OutputTransform.fit(y, "winsorize" if self.winsorize else "plain")
        return self.transform.forward(y)

    def learn(self, X: Array, y: Array, rng: np.random.Generator, means: Array | None = None) -> None:
        """Learn from the best of the observations ``X (n, d)``, ``y (n,)`` and a random sample of the others.

        The best are those with the highest ``means (n,)`` by the model before, if there is one: the best values are the
        luckiest ones. In pairs with the values themselves: ``benchmarks/results/compare-luck-bkb.md`` and
        ``compare-luck-bbkb.md``, level.
        """
        members = self._sample(y if means is None else means, rng)
        self._gp.fit(X[members], self.fit_transform(y)[members])
        self.fits.done(len(y))

    def _sample(self, scores: Array, rng: np.random.Generator) -> Indices:
        """Indices of the observations, with ``scores (n,)``, from which hyperparameters are learned."""
        n = len(scores)
        if n <= FIT_SIZE:
            return np.arange(n)
        order = best_first(scores)
        others = rng.choice(order[FIT_SIZE // 4 :], FIT_SIZE - FIT_SIZE // 4, replace=False)
        return np.sort(np.concatenate([order[: FIT_SIZE // 4], others]))

    def shown(self, X: Array, y: Array, rng: np.random.Generator) -> LearnedKernel:
        """The kernel for inspection: of the unclipped values, or of clipped ones if that predicts all values better.

        A search needs the best values and may clip the worst; an inspection may ask for any value (compare
        `numbo.models.surrogate.Surrogate.shown`).
        """
        transforms = {kind: OutputTransform.fit(y, kind) for kind in ("plain", "winsorize")}
        if self.fixed or not self.winsorize or not (y <= transforms["winsorize"].floor).any():
            return self
        twin = copy.deepcopy(self)
        members = self._sample(y, rng)
        kind = choose(twin._gp, Data.of(X, y).at(members), transforms, mean_error(y[members]))
        twin.winsorize = kind == "winsorize"
        twin.transform = transforms[kind]
        return twin
