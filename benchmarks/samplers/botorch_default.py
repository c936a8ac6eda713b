"""BoTorch (``pip install botorch``) as an Optuna sampler, with the defaults of its model.

A `SingleTaskGP` on standardised values, and noisy log expected improvement. Categories are one-hot; the optimum of the
acquisition function is rounded to a configuration that was not yet tried. As in Ax, the middle of all ranges comes
first, and then four points of Sobol's sequence.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from botorch import fit_gpytorch_mll
from botorch.acquisition import qLogNoisyExpectedImprovement
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood
from numpy.typing import NDArray
from scipy.stats import qmc

from benchmarks.samplers.declared import Declared, OneHot, Params

Array = NDArray[np.float64]

#: Points before the model.
FIRST = 5
RESTARTS = 10
RAW_SAMPLES = 512


class BoTorchSampler(Declared):
    """One suggestion at a time, in double precision on one thread."""

    def begin(self) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(self.seed)
        warnings.simplefilter("ignore")
        self._code = OneHot(self.space)
        self._sobol = qmc.Sobol(self._code.width, rng=self.seed)

    def suggest(self, params: list[Params], values: Array) -> dict[str, Any]:
        if not params:
            return self._code.decode(np.full(self._code.width, 0.5))
        if len(params) < FIRST:
            return self._code.decode(self._sobol.random(1)[0])
        X = np.array([self._code.encode(p) for p in params])
        return self._code.decode(self._best(X, values))

    def _best(self, X: Array, y: Array) -> Array:
        """The vector (D,) of the best rounded optimum that is not among X (n, D) with values y (n,)."""
        at = torch.from_numpy(X)
        model = SingleTaskGP(at, torch.from_numpy(-y[:, None]))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        improvement = qLogNoisyExpectedImprovement(model, at)
        bounds = torch.tensor([[0.0], [1.0]], dtype=torch.double).expand(2, X.shape[1])
        found, _ = optimize_acqf(
            improvement, bounds, q=1, num_restarts=RESTARTS, raw_samples=RAW_SAMPLES, return_best_only=False
        )
        Z = self._code.snap(np.concatenate([found[:, 0].numpy(), self._sobol.random(RESTARTS)]))
        Z = Z[[not np.any(np.all(np.isclose(x, X), axis=1)) for x in Z]]
        if not len(Z):
            return np.asarray(X[np.argmin(y)])
        with torch.no_grad():
            gains = improvement(torch.from_numpy(Z[:, None]))
        return np.asarray(Z[int(gains.argmax())])
