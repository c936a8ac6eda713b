"""Networks of any depth on the Pima diabetes data, in NumPy. Shared by the examples."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from diabetes import load

Array = NDArray[np.float64]

EPOCHS, BATCH, REPEATS = 30, 40, 2


_data = cache(load)


def loss_of(
    widths: Sequence[int],
    activation: str,
    optimizer: str,
    rate: float,
    momentum: float,
    decay: float = 0.0,
) -> float:
    """The cross-entropy on the test set after training, at most 10.

    It is averaged over a few initial weights.

    Args:
        widths: units of each hidden layer.
        activation: ``"tanh"`` or ``"relu"``.
        optimizer: ``"sgd"`` or ``"adam"``.
        rate: learning rate.
        momentum: of stochastic gradient descent.
        decay: weight of the squared norm of the weights.
    """
    with np.errstate(all="ignore"):
        losses = [
            _trained(widths, activation, optimizer, rate, momentum, decay, seed)
            for seed in range(REPEATS)
        ]
    return float(np.mean(np.nan_to_num(np.minimum(losses, 10.0), nan=10.0)))


def _trained(
    widths: Sequence[int],
    activation: str,
    optimizer: str,
    rate: float,
    momentum: float,
    decay: float,
    seed: int,
) -> float:
    rng, (X, y) = np.random.default_rng(seed), _data().train
    sizes = [X.shape[1], *widths, 1]
    weights = [rng.normal(0.0, 1.0 / np.sqrt(a), (a, b)) for a, b in pairwise(sizes)]
    weights += [np.zeros(b) for b in sizes[1:]]
    first, second, step = (
        [np.zeros_like(w) for w in weights],
        [np.zeros_like(w) for w in weights],
        0,
    )
    for _ in range(EPOCHS):
        order = rng.permutation(len(X))
        for start in range(0, len(X), BATCH):
            rows, step = order[start : start + BATCH], step + 1
            for i, gradient in enumerate(
                _gradients(weights, activation, X[rows], y[rows])
            ):
                gradient = gradient + decay * weights[i]
                if optimizer == "sgd":
                    first[i] = momentum * first[i] + gradient
                    weights[i] = weights[i] - rate * first[i]
                    continue
                first[i] = 0.9 * first[i] + 0.1 * gradient
                second[i] = 0.999 * second[i] + 0.001 * gradient**2
                scale = np.sqrt(second[i] / (1.0 - 0.999**step)) + 1e-8
                weights[i] = weights[i] - rate * first[i] / (1.0 - 0.9**step) / scale
    X, y = _data().test
    output = _forward(weights, activation, X)[-1][:, 0]
    return float(np.mean(np.logaddexp(0.0, output) - y * output))


def _forward(weights: list[Array], activation: str, X: Array) -> list[Array]:
    """The inputs of each layer, and the output before the logistic function."""
    depth, out = len(weights) // 2, [X]
    for i in range(depth):
        value = out[-1] @ weights[i] + weights[depth + i]
        if i < depth - 1:
            value = np.tanh(value) if activation == "tanh" else np.maximum(value, 0.0)
        out.append(value)
    return out


def _gradients(
    weights: list[Array], activation: str, X: Array, y: Array
) -> list[Array]:
    depth, values = len(weights) // 2, _forward(weights, activation, X)
    out: list[Array] = [np.empty(0)] * len(weights)
    back = (1.0 / (1.0 + np.exp(-values[-1])) - y[:, None]) / len(X)
    for i in reversed(range(depth)):
        out[i], out[depth + i] = values[i].T @ back, back.sum(axis=0)
        if i > 0:
            slope = (
                1.0 - values[i] ** 2
                if activation == "tanh"
                else (values[i] > 0.0).astype(float)
            )
            back = (back @ weights[i].T) * slope
    return out
