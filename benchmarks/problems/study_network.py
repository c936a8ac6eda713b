"""The network of `benchmarks.study`: handwritten digits, learned from some hundred images, epoch by epoch.

Its space branches, its errors are noisy, some trainings diverge, and it has to answer in time. Nothing is seeded by the
configuration: each training draws its images, its initial weights and the images that it is validated on.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from optuna.trial import BaseTrial

from benchmarks.problems.problem import Array

EPOCHS = 27
#: Numbers of images that a training learns from and is validated on, and of those that are put aside for `truth`.
TRAINED = 300
VALIDATED = 300
TESTED = 597
#: A call of ``predict`` answers for so many images; the fastest of so many calls counts, which others disturb least.
IMAGES = 128
CALLS = 20
#: Seconds for a call of ``predict``: about half of random configurations are as fast on the machine of the results.
LIMIT = 1.7e-4
#: Trainings for a true error.
TRAININGS = 10
#: Numbers of weights and biases of the smallest and the largest network.
SMALLEST = 64 * 4 + 4 + 4 * 10 + 10
LARGEST = 64 * 256 + 256 + 2 * (256 * 256 + 256) + 256 * 10 + 10


class Work:
    """What this process has spent on networks.

    Attributes:
        seconds: processor time.
    """

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def counted(self) -> Iterator[None]:
        """The block counts."""
        started = time.process_time()
        try:
            yield
        finally:
            self.seconds += time.process_time() - started


WORK = Work()


class Truth(NamedTuple):
    """The mean error on the test images, over trainings to the end, and the median seconds of an answer.

    A training that diverges counts with an error of 0.9, as guessing does.
    """

    error: float
    latency: float


def suggest(trial: BaseTrial) -> dict[str, Any]:
    """A configuration: which parameters there are depends on the optimizer, the layers and the augmentation."""
    if trial.suggest_categorical("optimizer", ["sgd", "adam"]) == "sgd":
        trial.suggest_float("momentum", 0.0, 0.99)
        trial.suggest_categorical("nesterov", [False, True])
    else:
        trial.suggest_float("beta_1", 0.5, 0.99)
        trial.suggest_float("beta_2", 0.9, 0.9999)
    for layer in range(trial.suggest_int("layers", 1, 3)):
        trial.suggest_int(f"units_{layer}", 4, 256, log=True)
    trial.suggest_categorical("activation", ["relu", "tanh", "logistic"])
    trial.suggest_float("alpha", 1e-6, 1.0, log=True)
    trial.suggest_float("rate", 1e-4, 0.3, log=True)
    trial.suggest_int("batch", 16, 256, log=True)
    augmentation = trial.suggest_categorical("augmentation", ["none", "shift", "noise"])
    if augmentation == "shift":
        trial.suggest_float("probability", 0.0, 1.0)
    elif augmentation == "noise":
        trial.suggest_float("std", 0.0, 0.5)
    return dict(trial.params)


def errors(config: Mapping[str, Any], *, tested: bool = False) -> Iterator[float]:
    """The validation error after each epoch, or the error on the test images; NaN is the last one if it diverges."""
    rng = np.random.default_rng()
    X, y = _digits()
    order = rng.permutation(len(X) - TESTED)
    learned, held = order[:TRAINED], order[TRAINED : TRAINED + VALIDATED]
    if tested:
        held = np.arange(len(X) - TESTED, len(X))
    network = _network(config)
    error = 1.0
    for _ in range(EPOCHS):
        with WORK.counted(), np.errstate(all="ignore"):
            try:
                network.partial_fit(_augmented(X[learned], config, rng), y[learned], classes=np.arange(10))
                error = 1.0 - float(network.score(X[held], y[held]))
            except ValueError:  # weights are infinite
                error = math.nan
        yield error
        if math.isnan(error):
            return


def latency(config: Mapping[str, Any]) -> float:
    """Seconds of a call of ``predict``, which the layers determine."""
    X, y = _digits()
    network = _network({**config, "rate": 1e-4, "batch": 16})
    network.partial_fit(X[:16], y[:16], classes=np.arange(10))
    seconds = []
    with WORK.counted():
        for _ in range(CALLS):
            started = time.perf_counter()
            network.predict(X[:IMAGES])
            seconds.append(time.perf_counter() - started)
    return min(seconds)


def weights(config: Mapping[str, Any]) -> int:
    """The number of weights and biases."""
    sizes = [64, *_units(config), 10]
    return sum(a * b + b for a, b in itertools.pairwise(sizes))


def truth(config: Mapping[str, Any], trainings: int = TRAININGS) -> Truth:
    """What a configuration is worth."""
    ends = [list(errors(config, tested=True))[-1] for _ in range(trainings)]
    seconds = [latency(config) for _ in range(trainings)]
    return Truth(float(np.mean(np.nan_to_num(ends, nan=0.9))), float(np.median(seconds)))


@cache
def _digits() -> tuple[Array, Array]:
    """Images (1797, 64) and digits, in an order that is always the same; the last ones are put aside."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    return X[order] / 16.0, y[order]


def _units(config: Mapping[str, Any]) -> list[int]:
    return [config[f"units_{layer}"] for layer in range(config["layers"])]


def _network(config: Mapping[str, Any]) -> Any:
    from sklearn.neural_network import MLPClassifier

    if config["optimizer"] == "sgd":
        own = {"momentum": config["momentum"], "nesterovs_momentum": config["nesterov"]}
    else:
        own = {"beta_1": config["beta_1"], "beta_2": config["beta_2"]}
    return MLPClassifier(
        hidden_layer_sizes=_units(config),
        activation=config["activation"],
        solver=config["optimizer"],
        alpha=config["alpha"],
        learning_rate_init=config["rate"],
        batch_size=config["batch"],
        **own,
    )


def _augmented(X: Array, config: Mapping[str, Any], rng: np.random.Generator) -> Array:
    """The images of an epoch: some shifted by a pixel, or all of them noisy."""
    if config["augmentation"] == "noise":
        return X + config["std"] * rng.standard_normal(X.shape)
    if config["augmentation"] == "none":
        return X
    images = X.reshape(-1, 8, 8).copy()
    for i in np.flatnonzero(rng.random(len(images)) < config["probability"]):
        images[i] = np.roll(images[i], rng.choice([-1, 1]), axis=rng.integers(2))
    return images.reshape(X.shape)
