"""Tune a support vector machine on scikit-learn's breast cancer data, in one screen.

python examples/quickstart.py [--trials 60] [--seed 0]
"""

from __future__ import annotations

import argparse

import optuna
from numbo.optuna import GSSBOSampler
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC


def objective(trial: optuna.Trial) -> float:
    """Accuracy in five-fold cross-validation."""
    kernel = trial.suggest_categorical("kernel", ["rbf", "linear", "sigmoid"])
    c = trial.suggest_float("C", 1e-3, 1e3, log=True)
    rest = {}
    if kernel != "linear":
        rest["gamma"] = trial.suggest_float("gamma", 1e-5, 1e1, log=True)
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), SVC(kernel=kernel, C=c, **rest))
    return float(cross_val_score(model, X, y, cv=5).mean())


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Tune a support vector machine with numbo and Optuna."
    )
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = GSSBOSampler(seed=arguments.seed)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective, n_trials=arguments.trials, show_progress_bar=True)

    print(f"\nBest accuracy {study.best_value:.2%} with {study.best_params}")
    print(f"\nWhat the model found out:\n{sampler.explain()}")


if __name__ == "__main__":
    main()
