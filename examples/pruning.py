"""Tune a network for handwritten digits, and stop bad trials early.

python examples/pruning.py [--trials 60] [--seed 0]
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import optuna
from numbo.optuna import CurvePruner, GSSBOSampler
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

EPOCHS = 30


def objective(trial: optuna.Trial) -> float:
    network = MLPClassifier(
        hidden_layer_sizes=(trial.suggest_int("units", 8, 128, log=True),),
        alpha=trial.suggest_float("alpha", 1e-6, 1.0, log=True),
        learning_rate_init=trial.suggest_float("rate", 1e-5, 1e-1, log=True),
        batch_size=trial.suggest_int("batch_size", 16, 256, log=True),
        random_state=0,
    )
    X, X_valid, y, y_valid = train_test_split(
        *load_digits(return_X_y=True), test_size=0.3, random_state=0
    )
    loss = np.inf
    for epoch in range(EPOCHS):
        network.partial_fit(X / 16.0, y, classes=np.unique(y))
        loss = float(log_loss(y_valid, network.predict_proba(X_valid / 16.0)))
        trial.report(loss, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned
    return loss


def main() -> None:
    parser = argparse.ArgumentParser(description="Tune a network, with pruning.")
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.filterwarnings("ignore", message="Got `batch_size`")  # of scikit-learn
    study = optuna.create_study(
        sampler=GSSBOSampler(seed=arguments.seed), pruner=CurvePruner()
    )
    study.optimize(objective, n_trials=arguments.trials)
    epochs = sum(len(trial.intermediate_values) for trial in study.trials)
    pruned = len(study.get_trials(states=(optuna.trial.TrialState.PRUNED,)))
    print(f"Best validation loss {study.best_value:.4f} of {arguments.trials} trials")
    print(f"{pruned} were pruned: {epochs} of {arguments.trials * EPOCHS} epochs")
    for name, value in study.best_params.items():
        print(f"  {name} = {value:.4g}")


if __name__ == "__main__":
    main()
