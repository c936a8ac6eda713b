"""A network for handwritten digits that is trained for each configuration: its error, and how large it is."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Mapping
from functools import cache
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

#: The second layer is there where ``layers`` is 2.
SPACE: dict[str, BaseDistribution] = {
    "layers": IntDistribution(1, 2),
    "units_0": IntDistribution(4, 128, log=True),
    "units_1": IntDistribution(4, 128, log=True),
    "activation": CategoricalDistribution(["relu", "tanh", "logistic"]),
    "alpha": FloatDistribution(1e-6, 1.0, log=True),
    "rate": FloatDistribution(1e-4, 1e-1, log=True),
    "batch": IntDistribution(32, 256, log=True),
}
#: Numbers of weights and biases of the smallest and the largest network.
SMALLEST = 64 * 4 + 4 + 4 * 10 + 10
LARGEST = 64 * 128 + 128 + 128 * 128 + 128 + 128 * 10 + 10


@cache
def _data() -> Any:
    """Training and validation inputs, training and validation digits."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    return train_test_split(X / 16.0, y, test_size=0.3, random_state=0)


def train(params: Mapping[str, Any]) -> tuple[float, float]:
    """The share of digits that a network takes for others after 15 passes, and its number of weights and biases.

    What is random is drawn from the configuration: the same one has the same error.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    network = MLPClassifier(
        hidden_layer_sizes=[params["units_0"], params["units_1"]][: params["layers"]],
        activation=params["activation"],
        alpha=params["alpha"],
        learning_rate_init=params["rate"],
        batch_size=params["batch"],
        max_iter=15,
        random_state=zlib.crc32(repr(sorted(params.items())).encode()),
    )
    X, X_valid, y, y_valid = _data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        network.fit(X, y)
    size = sum(W.size for W in network.coefs_) + sum(b.size for b in network.intercepts_)
    return 1.0 - float(network.score(X_valid, y_valid)), float(size)
