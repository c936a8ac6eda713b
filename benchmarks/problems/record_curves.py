"""Learning curves of scikit-learn's networks, as tables for the runs that prune.

Each configuration of a Sobol sequence is trained epoch by epoch; its loss on a third of the data is recorded after each
one. The losses of a configuration are known from then on: a recording that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import FloatDistribution, IntDistribution
from scipy.stats import qmc

from benchmarks import processes
from benchmarks.arguments import add_names
from benchmarks.storage import load

Array = NDArray[np.float64]

ROOT = Path(__file__).parents[2]
RECORDED = Path(__file__).parents[1] / "data" / "recorded"
CONFIGURATIONS = 400


class Plan(NamedTuple):
    """What is trained: on which of scikit-learn's data, how many epochs, and what is varied."""

    data: str
    steps: int
    space: dict[str, FloatDistribution | IntDistribution]


def _log(low: float, high: float) -> FloatDistribution:
    return FloatDistribution(low, high, log=True)


def _log_int(low: int, high: int) -> IntDistribution:
    return IntDistribution(low, high, log=True)


PLANS = {
    "digits": Plan(
        "load_digits",
        30,
        {
            "learning_rate": _log(1e-4, 1.0),
            "momentum": FloatDistribution(0.0, 0.99),
            "alpha": _log(1e-6, 10.0),
            "width": _log_int(4, 128),
            "depth": IntDistribution(1, 3),
            "batch_size": _log_int(8, 256),
        },
    ),
    "cancer": Plan(
        "load_breast_cancer",
        40,
        {
            "learning_rate": _log(1e-5, 0.3),
            "beta1": FloatDistribution(0.0, 0.99),
            "alpha": _log(1e-6, 10.0),
            "width": _log_int(2, 64),
            "depth": IntDistribution(1, 3),
            "batch_size": _log_int(8, 128),
        },
    ),
    "diabetes": Plan(
        "load_diabetes",
        40,
        {
            "learning_rate": _log(1e-5, 0.3),
            "momentum": FloatDistribution(0.0, 0.99),
            "alpha": _log(1e-6, 10.0),
            "width": _log_int(2, 128),
            "batch_size": _log_int(8, 128),
        },
    ),
}


def configurations(name: str) -> Array:
    """The configurations (configurations, parameters) of a recording."""
    space = PLANS[name].space
    sequence = qmc.Sobol(len(space), scramble=False)
    sequence.fast_forward(1)
    columns = []
    for share, distribution in zip(sequence.random(CONFIGURATIONS).T, space.values(), strict=True):
        low = distribution.low
        high = distribution.high
        values = low * (high / low) ** share if distribution.log else low + (high - low) * share
        columns.append(np.round(values) if isinstance(distribution, IntDistribution) else values)
    return np.column_stack(columns)


@cache
def _split(name: str) -> tuple[Array, Any, Array, Any]:
    """Features and targets for training and for validation, standardised."""
    from sklearn import datasets

    X, y = getattr(datasets, PLANS[name].data)(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    valid, train = np.split(order, [len(X) // 3])
    spread = X[train].std(axis=0)
    X = (X - X[train].mean(axis=0)) / np.maximum(spread, 0.1 * spread.mean())
    if name == "diabetes":
        y = (y - y[train].mean()) / y[train].std()
    return X[train], y[train], X[valid], y[valid]


def _network(name: str, params: dict[str, Any]) -> Any:
    """The network, with ``momentum`` for gradient descent, and with ``beta1`` for Adam."""
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    solver = {"solver": "sgd", "momentum": params["momentum"]} if "momentum" in params else {"solver": "adam"}
    if "beta1" in params:
        solver["beta_1"] = params["beta1"]
    kind = MLPRegressor if name == "diabetes" else MLPClassifier
    return kind(
        hidden_layer_sizes=(int(params["width"]),) * int(params.get("depth", 1)),
        alpha=params["alpha"],
        batch_size=int(params["batch_size"]),
        learning_rate_init=params["learning_rate"],
        random_state=0,
        **solver,
    )


def train(name: str, number: int) -> dict[str, Any]:
    """The losses of a configuration after each epoch: cross entropy, or the squared error; NaN once it has diverged."""
    X, y, X_valid, y_valid = _split(name)
    network = _network(name, dict(zip(PLANS[name].space, configurations(name)[number].tolist(), strict=True)))
    classes = {} if name == "diabetes" else {"classes": np.unique(y)}
    losses = np.full(PLANS[name].steps, np.nan, dtype=np.float32)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for step in range(len(losses)):
            try:
                network.partial_fit(X, y, **classes)
                loss = np.float32(_loss(network, X_valid, y_valid))
            except ValueError:  # the weights are no longer finite
                break
            if not np.isfinite(loss):
                break
            losses[step] = loss
    return {"task": name, "number": number, "losses": losses.tolist()}


def _loss(network: Any, X: Array, y: Any) -> float:
    if not hasattr(network, "predict_proba"):
        return float(np.mean((network.predict(X) - y) ** 2))
    of_truth = network.predict_proba(X)[np.arange(len(y)), y]
    return float(-np.mean(np.log(np.maximum(of_truth, 1e-12))))


def record(names: Collection[str], jobs: int) -> None:
    """Train what is missing, and write the tables."""
    path = ROOT / "build" / "recorded.jsonl"
    done = {(row["task"], row["number"]) for row in load(path)}
    todo = [(name, number) for name in names for number in range(CONFIGURATIONS)]
    processes.record(path, train, [job for job in todo if job not in done], jobs)
    rows = load(path)
    for name in names:
        losses = {row["number"]: row["losses"] for row in rows if row["task"] == name}
        space = PLANS[name].space.values()
        RECORDED.mkdir(exist_ok=True)
        np.savez_compressed(
            RECORDED / f"{name}.npz",
            X=configurations(name).astype(np.float32),
            valid=np.array([losses[number] for number in range(CONFIGURATIONS)], dtype=np.float32),
            names=np.array(list(PLANS[name].space)),
            logarithmic=np.array([distribution.log for distribution in space]),
            whole=np.array([isinstance(distribution, IntDistribution) for distribution in space]),
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_names(parser, "--tasks", "task", PLANS, help=f"{', '.join(PLANS)}; all by default")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())


def main(arguments: argparse.Namespace) -> None:
    record(arguments.tasks, arguments.jobs)
