"""Priors on the GP hyperparameters, and the bounds of their search.

Values are standardised and inputs are in the unit cube, so one set of priors serves every problem:

* inverse squared lengthscales ``w``: the penalty ``0.1 / w + 0.1 w`` of Optuna's GP sampler, which keeps lengthscales
  of irrelevant dimensions finite and relevant ones from overfitting; in a space with logarithms, integers or categories
  ``0.3 / (s^2 w) + 0.3 s^2 w`` with usual lengthscales ``s`` (`numbo.spaces.dimensions`);
* signal variance: Gamma(2, 1); noise variance: Gamma(1.1, 30), which allows for almost no noise;
* trend variances and additive variance: exponential with rate 5, which favours zero;
* lengthscale of the additive part: log-normal around a tenth of the cube.

`LABELS` is for values of 0 or 1: the location explains only part of them, so noise is expected, Gamma(2, 3), and short
lengthscales are penalised more.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from numbo import _elementary
from numbo._types import Array
from numbo.kernels.likelihood import parts


class Prior(NamedTuple):
    """The parameters of a prior.

    Attributes:
        lengthscale_penalty: the weight of the penalty on lengthscales.
        noise_shape, noise_rate: of the Gamma density of the noise.
        usual: (d,) usual lengthscales, or one for all dimensions.
    """

    lengthscale_penalty: float
    noise_shape: float
    noise_rate: float
    usual: Array | float = 1.0

    def around(self, usual: Array) -> Prior:
        """The prior with ``usual (d,)`` lengthscales; if all are 1, nothing is known of them."""
        if (usual == 1.0).all():
            return self
        return self._replace(usual=usual, lengthscale_penalty=FIRM * self.lengthscale_penalty)


#: How many times as heavy the penalty on lengthscales is where usual ones are known.
FIRM = 3.0
VALUES = Prior(0.1, 1.1, 30.0)
LABELS = Prior(0.5, 2.0, 3.0)
SIGNAL_SHAPE = 2.0
SIGNAL_RATE = 1.0
TREND_RATE = 5.0
#: Mean and standard deviation of the log inverse squared lengthscale of the additive part.
ADDITIVE_MEAN = -2.0 * math.log(0.1)
ADDITIVE_SD = 1.4

WEIGHT_BOUNDS = (1e-4, 1e4)
SIGNAL_BOUNDS = (1e-3, 1e3)
NOISE_BOUNDS = (1e-8, 10.0)
TREND_BOUNDS = (1e-8, 1e2)
ADDITIVE_BOUNDS = (1.0, 1e4)


def default_theta(d: int, trend: bool, additive: bool, prior: Prior = VALUES) -> Array:
    """The start of a fit: usual lengthscales, signal 1, noise 1e-3; with ``trend``, trend variances 0.1 and, for
    interactions, 0.01; with ``additive``, variance 0.1 and lengthscale 0.1."""
    usual = np.array(np.broadcast_to(prior.usual, d))
    theta = [*(-2.0 * _elementary.log(usual)).tolist(), 0.0, math.log(1e-3)]
    theta += _elementary.log([0.1, 0.1, 0.01]).tolist() if trend else []
    return np.array(theta + ([math.log(0.1), ADDITIVE_MEAN] if additive else []))


def log_bounds(d: int, trend: bool, additive: bool) -> Array:
    """Bounds (len(theta), 2) of the log-parameters."""
    rows = [WEIGHT_BOUNDS] * d + [SIGNAL_BOUNDS, NOISE_BOUNDS] + [TREND_BOUNDS] * (3 if trend else 0)
    return _elementary.log(np.array(rows + ([TREND_BOUNDS, ADDITIVE_BOUNDS] if additive else [])))


class LogDensity(NamedTuple):
    """A log density at some log-parameters, and its gradient in them."""

    value: float
    gradient: Array


def log_prior(theta: Array, d: int, prior: Prior = VALUES) -> LogDensity:
    """Log prior density of the parameters (up to a constant) at the log-parameters."""
    values = _elementary.exp(theta)
    _, additive = parts(theta, d)
    last = len(theta) - 1 if additive else len(theta)
    w = values[:d] * np.square(prior.usual)  # as if all usual lengthscales were 1
    signal = values[d]
    noise = values[d + 1]
    variances = values[d + 2 : last]
    total = -prior.lengthscale_penalty * float(np.sum(1.0 / w + w))
    total += (SIGNAL_SHAPE - 1.0) * theta[d] - SIGNAL_RATE * signal
    total += (prior.noise_shape - 1.0) * theta[d + 1] - prior.noise_rate * noise
    total -= TREND_RATE * float(np.sum(variances))
    gradient = np.empty_like(theta)
    gradient[:d] = prior.lengthscale_penalty * (1.0 / w - w)
    gradient[d] = (SIGNAL_SHAPE - 1.0) - SIGNAL_RATE * signal
    gradient[d + 1] = (prior.noise_shape - 1.0) - prior.noise_rate * noise
    gradient[d + 2 : last] = -TREND_RATE * variances
    if additive:
        t = (theta[last] - ADDITIVE_MEAN) / ADDITIVE_SD
        total -= 0.5 * t * t
        gradient[last] = -t / ADDITIVE_SD
    return LogDensity(total, gradient)
