"""Choice of the output transform with the best leave-one-out predictions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from numbo import _elementary
from numbo._types import Array, Mask
from numbo.models.gp import ExactGP, LeftOut
from numbo.models.transforms import OutputTransform
from numbo.trials import Data

#: A function of a transform, the transformed values (n,) and their leave-one-out predictions; smaller is better.
Loss = Callable[[OutputTransform, Array, LeftOut], float]

#: Maximum number of L-BFGS-B iterations of a fit; every candidate starts from the same ``theta``.
ITERATIONS = 20
#: The noise variance of a model of the whole space is at least this share of what repeats show:
#: ``benchmarks/results/compare-least-noise.md`` and ``single-runs.md``. Other shares were not tried.
SHOWN = 0.25


def transformed(data: Data, transform: OutputTransform) -> Data:
    """The ``data`` for a model: with transformed values, and their variances in the units of these."""
    return Data(data.X, transform.forward(data.y), transform.variances(data.y, data.variance))


class _Fit(NamedTuple):
    """The loss under one transform, its name, and the hyperparameters."""

    loss: float
    name: str
    theta: Array


def fit_under(
    transform: OutputTransform, gp: ExactGP, data: Data, iterations: int = ITERATIONS, deviation: float = 0.0
) -> None:
    """Fit ``gp`` to the ``data`` under a transform; ``deviation`` is what repeats show of the noise, 0 for nothing."""
    least = 0.0
    if deviation > 0.0:
        shown = math.log(deviation) - float(np.median(transform.log_slopes(data.y)))  # values may be of any size
        least = SHOWN * math.exp(2.0 * min(shown, 0.0))
    gp.fit(*transformed(data, transform), iterations=iterations, least_noise=least)


def choose(
    gp: ExactGP, data: Data, transforms: Mapping[str, OutputTransform], loss: Loss, deviation: float = 0.0
) -> str:
    """`fit_under` each of the transforms; keep the fit with the smallest loss.

    Returns the name of its transform.
    """
    start = gp.theta
    fitted = []
    for name, transform in transforms.items():
        gp.theta = start
        fit_under(transform, gp, data, deviation=deviation)
        fitted.append(_Fit(loss_under(transform, gp, data, loss), name, gp.theta))
    best = min(fitted, key=lambda one: one.loss)
    gp.theta = best.theta
    return best.name


def loss_under(transform: OutputTransform, gp: ExactGP, data: Data, loss: Loss) -> float:
    """The loss of ``gp``, with the hyperparameters that it has, under a transform of the ``data``."""
    targets = transformed(data, transform)
    gp.condition(*targets)
    return loss(transform, targets.y, gp.leave_one_out())


def surprise(y: Array, inner: Mask) -> Loss:
    """Minus the leave-one-out log density of the ``inner`` ones of ``y (n,)`` (R&W 2006, section 5.4.2)."""

    def loss(transform: OutputTransform, values: Array, alone: LeftOut) -> float:
        terms = 0.5 * (alone.residual**2 / alone.variance + _elementary.log(alone.variance)) + transform.log_slopes(y)
        return float(np.sum(terms[inner]))

    return loss


def mean_error(y: Array, weights: Array | None = None) -> Loss:
    """Mean absolute error of the leave-one-out predictions of all ``y (n,)``, in their own units.

    ``weights (n,)`` are equal by default.
    """

    def loss(transform: OutputTransform, values: Array, alone: LeftOut) -> float:
        predicted = transform.backward(values - alone.residual, np.sqrt(alone.variance)).mean
        with np.errstate(over="ignore"):  # values may be of any size
            return float(np.average(np.abs(predicted - y), weights=weights))

    return loss
