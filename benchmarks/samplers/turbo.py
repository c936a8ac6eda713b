"""TuRBO-1 in batches (Eriksson et al. 2019, "Scalable Global Optimization via Local Bayesian Optimization").

A competitor for `compare.batches`, written from sections 2 and 3 of the paper: one trust region around the best
point, with sides proportional to the lengthscales of a Matern 5/2 GP on all data of the region, and a batch of Thompson
samples at perturbed candidates. A batch counts once, as a success or a failure; a region that is too small restarts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from numbo import Space
from numbo.kernels.covariance import cross_covariance
from numbo.models import ExactGP

Array = NDArray[np.float64]

LONGEST = 1.6
SHORTEST = 2.0**-7
START = 0.8
SUCCESSES = 3
#: Minimum improvement that counts, relative to the best value.
LEAST = 1e-3
PERTURBED = 20


class BatchTuRBO:
    """Minimise over ``space``, ``batch`` points at a time; ``ask`` returns points and ``tell`` takes their values."""

    def __init__(self, space: Space, batch: int, seed: int) -> None:
        self.space = space
        self.batch = batch
        self.rng = np.random.default_rng(seed)
        self.patience = math.ceil(max(4.0 / batch, space.d / batch))
        self._restart()

    def _restart(self) -> None:
        self.X = np.empty((0, self.space.d))
        self.y = np.empty(0)
        self.length = START
        self.successes = 0
        self.failures = 0
        self.design = qmc.Sobol(self.space.d, rng=self.rng).random(max(2 * self.space.d, self.batch))
        self.gp = ExactGP(self.space.categorical, trend=False)

    def ask(self) -> list[Any]:
        """The next batch."""
        if len(self.y) < len(self.design):
            self.asked = self.space.snap(self.design[len(self.y) : len(self.y) + self.batch])
        else:
            self.asked = self._thompson()
        return [self.space.decode(x) for x in self.asked]

    def tell(self, values: Array) -> None:
        """Report values (b,) of the points that `ask` returned."""
        if len(self.y) >= len(self.design):
            best = self.y.min()
            if values.min() < best - LEAST * abs(best):
                self.successes = self.successes + 1
                self.failures = 0
            else:
                self.successes = 0
                self.failures = self.failures + 1
            if self.successes == SUCCESSES:
                self.length = min(2.0 * self.length, LONGEST)
                self.successes = 0
            elif self.failures >= self.patience:
                self.length = self.length / 2.0
                self.failures = 0
        self.X = np.concatenate([self.X, self.asked])
        self.y = np.concatenate([self.y, values])
        if self.length < SHORTEST:
            self._restart()

    def _thompson(self) -> Array:
        """For each point of the batch, the best candidate under one joint sample of the posterior."""
        d = self.space.d
        values = (np.median(self.y) - self.y) / max(float(self.y.std()), 1e-12)
        self.gp.fit(self.X, values)
        self.gp.condition(self.X, values)
        scales = self.gp.lengthscales
        sides = self.length * scales / np.exp(np.mean(np.log(scales)))
        center = self.X[np.argmin(self.y)]
        lower = np.clip(center - sides / 2, 0.0, 1.0)
        upper = np.clip(center + sides / 2, 0.0, 1.0)
        count = min(100 * d, 5000)
        spread = lower + (upper - lower) * qmc.Sobol(d, rng=self.rng).random(1 << (count - 1).bit_length())[:count]
        changed = self.rng.random((count, d)) < min(1.0, PERTURBED / d)
        changed[np.arange(count), self.rng.integers(d, size=count)] = True
        candidates = np.unique(self.space.snap(np.where(changed, spread, center)), axis=0)
        draws = self._draws(candidates)
        chosen: list[int] = []
        for draw in draws:
            draw[chosen] = -np.inf
            chosen.append(int(np.argmax(draw)))
        return candidates[chosen]

    def _draws(self, Z: Array) -> Array:
        """Joint samples (b, c) of the posterior at ``Z (c, d)``."""
        covariance = self.gp.covariance
        posterior = self.gp.posterior
        ZT = np.ascontiguousarray(Z.T)
        n = posterior.n
        V = posterior.W[:n, :n] @ cross_covariance(covariance, np.ascontiguousarray(posterior.XT[:, :n]), ZT).T
        K = cross_covariance(covariance, ZT, ZT) - V.T @ V
        mean = self.gp.mean_sd(Z)[0]
        root = _root(K)
        draws: Array = mean + self.rng.normal(size=(self.batch, len(Z))) @ root.T
        return draws


def _root(K: NDArray[np.float64]) -> Array:
    """A lower triangular root of ``K (c, c)``, with as little jitter as it needs."""
    jitter = 1e-10
    while True:
        try:
            return np.asarray(np.linalg.cholesky(K + jitter * np.eye(len(K))))
        except np.linalg.LinAlgError:
            jitter *= 10.0
