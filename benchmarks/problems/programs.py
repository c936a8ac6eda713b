"""Programs that people tune: models of scikit-learn on its own data, with branches, a limit, failures, and noise.

Each run of a program draws the rows that it learns from and is validated on, and what is random in the training, so its
value is noisy. The rows that `truth` tests on are put aside. A program reports a value after each of its steps.

* ``digits``: the network of `benchmarks.problems.study_network`, with a limit on its weights.
* ``diabetes``: a network for regression.
* ``cancer``, ``wine``: boosted trees, a forest that grows, or a network.
"""

from __future__ import annotations

import itertools
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from optuna.trial import BaseTrial

from benchmarks.problems import study_network
from benchmarks.problems.problem import Array

#: Trainings for a true value.
TRAININGS = 10
#: Weights that fit on the device.
LIMIT = 15_000
#: Problems on which no setting is chosen.
APART = ("diabetes", "wine")


class TooLargeError(Exception):
    """The model does not fit on the device."""


class Data(NamedTuple):
    """Rows that a training may draw from, and those put aside, with their targets."""

    X: Array
    y: Array
    tested: Array
    answers: Array


@cache
def data(name: str, tested: float = 0.35) -> Data:
    """A data set of scikit-learn, in an order that is always the same, with standardised features."""
    import sklearn.datasets

    kinds = {"cancer": "load_breast_cancer", "wine": "load_wine", "diabetes": "load_diabetes"}
    X, y = getattr(sklearn.datasets, kinds[name])(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X = (X[order] - X.mean(axis=0)) / X.std(axis=0)
    y = y[order]
    if name == "diabetes":
        y = (y - y.mean()) / y.std()
    count = round((1.0 - tested) * len(X))
    return Data(X[:count], y[:count], X[count:], y[count:])


def drawn(name: str, rng: np.random.Generator, *, tested: bool) -> Data:
    """Two thirds of the rows that a training may draw from, and the others, or if ``tested`` those put aside."""
    X, y, held, answers = data(name)
    order = rng.permutation(len(X))
    learned = order[: 2 * len(X) // 3]
    if not tested:
        held, answers = X[order[len(learned) :]], y[order[len(learned) :]]
    return Data(X[learned], y[learned], held, answers)


class Program(ABC):
    """What is tuned; smaller values are better.

    Attributes:
        steps: the number of steps of a full run.
        worst: what counts as the true value of a run that fails.
    """

    steps: int
    worst: float

    @abstractmethod
    def suggest(self, trial: BaseTrial) -> dict[str, Any]:
        """A configuration."""

    @abstractmethod
    def values(self, config: Mapping[str, Any], rng: np.random.Generator, *, tested: bool = False) -> Iterator[float]:
        """The value after each step, on rows that were drawn or on those put aside.

        Raises:
            Exception: if the program fails.
        """

    def ends(self, config: Mapping[str, Any], rng: np.random.Generator, *, tested: bool) -> Array:
        """The last values (`TRAININGS`,) of full runs; a run that fails has the worst."""
        found = []
        for _ in range(TRAININGS):
            try:
                last = list(self.values(config, rng, tested=tested))[-1]
            except (TooLargeError, ValueError):
                last = math.nan
            found.append(min(last, self.worst) if math.isfinite(last) else self.worst)
        return np.array(found)


class Digits(Program):
    """The network of `study_network`; its errors are those of handwritten digits."""

    steps = study_network.EPOCHS
    worst = 0.9

    def suggest(self, trial: BaseTrial) -> dict[str, Any]:
        return study_network.suggest(trial)

    def values(self, config: Mapping[str, Any], rng: np.random.Generator, *, tested: bool = False) -> Iterator[float]:
        if study_network.weights(config) > LIMIT:
            raise TooLargeError(f"{study_network.weights(config)} weights do not fit.")
        yield from study_network.errors(config, tested=tested)


class Diabetes(Program):
    """A network for regression, trained epoch by epoch; the value is the mean squared error, as a share of variance."""

    steps = 25
    worst = 3.0

    def suggest(self, trial: BaseTrial) -> dict[str, Any]:
        trial.suggest_float("rate", 1e-5, 0.5, log=True)
        trial.suggest_float("alpha", 1e-6, 10.0, log=True)
        trial.suggest_int("batch", 4, 64, log=True)
        trial.suggest_categorical("activation", ["relu", "tanh", "logistic"])
        for layer in range(trial.suggest_int("layers", 1, 3)):
            trial.suggest_int(f"units_{layer}", 2, 128, log=True)
        if trial.suggest_categorical("solver", ["adam", "sgd"]) == "sgd":
            trial.suggest_float("momentum", 0.0, 0.99)
        return dict(trial.params)

    def values(self, config: Mapping[str, Any], rng: np.random.Generator, *, tested: bool = False) -> Iterator[float]:
        from sklearn.neural_network import MLPRegressor

        units = [config[f"units_{layer}"] for layer in range(config["layers"])]
        count = sum(a * b for a, b in itertools.pairwise([10, *units, 1]))
        if count > LIMIT:
            raise TooLargeError(f"{count} weights do not fit.")
        X, y, held, answers = drawn("diabetes", rng, tested=tested)
        network = MLPRegressor(
            hidden_layer_sizes=units,
            activation=config["activation"],
            solver=config["solver"],
            alpha=config["alpha"],
            learning_rate_init=config["rate"],
            batch_size=config["batch"],
            momentum=config.get("momentum", 0.9),
            random_state=int(rng.integers(2**31)),
        )
        for _ in range(self.steps):
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                network.partial_fit(X, y)
                value = float(np.mean((network.predict(held) - answers) ** 2))
            yield value if value < 1e6 else math.nan


class Classes(Program):
    """Boosted trees, a forest that grows, or a network; the value is the log loss."""

    steps = 20
    worst = 1.5

    def __init__(self, name: str) -> None:
        self._name = name

    def suggest(self, trial: BaseTrial) -> dict[str, Any]:
        kind = trial.suggest_categorical("model", ["forest", "boosting", "network"])
        if kind == "network":
            trial.suggest_int("units", 2, 256, log=True)
            trial.suggest_float("rate", 1e-5, 0.3, log=True)
            trial.suggest_float("alpha", 1e-6, 10.0, log=True)
            trial.suggest_categorical("activation", ["relu", "tanh", "logistic"])
            return dict(trial.params)
        trial.suggest_int("depth", 1, 10)
        trial.suggest_int("least", 1, 60, log=True)
        trial.suggest_float("features", 0.05, 1.0)
        if kind == "boosting":
            trial.suggest_float("shrinkage", 1e-3, 1.0, log=True)
            trial.suggest_float("subsample", 0.1, 1.0)
        else:
            trial.suggest_categorical("criterion", ["gini", "entropy"])
        return dict(trial.params)

    def values(self, config: Mapping[str, Any], rng: np.random.Generator, *, tested: bool = False) -> Iterator[float]:
        from sklearn.metrics import log_loss

        X, y, held, answers = drawn(self._name, rng, tested=tested)
        if config["model"] == "boosting" and config["subsample"] * len(X) < 2 * config["least"]:
            raise ValueError("There are fewer rows than two leaves need.")
        model = self._model(config, int(rng.integers(2**31)))
        classes = np.unique(data(self._name).y)
        for step in range(1, self.steps + 1):
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                if config["model"] == "network":
                    for _ in range(2):
                        model.partial_fit(X, y, classes=classes)
                else:
                    model.set_params(n_estimators=3 * step).fit(X, y)
                chances = model.predict_proba(held)
            if not np.isfinite(chances).all():
                yield math.nan
                return
            yield min(float(log_loss(answers, chances, labels=classes)), 10.0)

    @staticmethod
    def _model(config: Mapping[str, Any], seed: int) -> Any:
        from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
        from sklearn.neural_network import MLPClassifier

        if config["model"] == "network":
            return MLPClassifier(
                hidden_layer_sizes=[config["units"]],
                activation=config["activation"],
                alpha=config["alpha"],
                learning_rate_init=config["rate"],
                random_state=seed,
            )
        shape = {
            "max_depth": config["depth"],
            "min_samples_leaf": config["least"],
            "max_features": config["features"],
            "warm_start": True,
            "random_state": seed,
        }
        if config["model"] == "forest":
            return RandomForestClassifier(criterion=config["criterion"], **shape)
        return GradientBoostingClassifier(learning_rate=config["shrinkage"], subsample=config["subsample"], **shape)


PROGRAMS: dict[str, Program] = {
    "digits": Digits(),
    "cancer": Classes("cancer"),
    "diabetes": Diabetes(),
    "wine": Classes("wine"),
}


def names(*, apart: bool = False) -> list[str]:
    """The programs that settings may be chosen on, or those put ``apart``."""
    return [name for name in PROGRAMS if (name in APART) == apart]
