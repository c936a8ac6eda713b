"""Tune a whole scikit-learn pipeline: which scaler, features and model, and how.

The objective asks only for the settings of what was chosen. The sampler finds out by
itself when that is:

    python examples/pipeline.py [--trials 100] [--seed 0]
"""

from __future__ import annotations

import argparse
from typing import Any

import optuna
from numbo.optuna import GSSBOSampler

from regression import SCALERS, error


def features(trial: optuna.Trial) -> dict[str, Any]:
    by = trial.suggest_categorical("features", ["all", "pca", "test"])
    if by == "pca":
        return {"by": by, "components": trial.suggest_int("components", 1, 10)}
    if by == "test":
        return {"by": by, "k": trial.suggest_int("k", 1, 10)}
    return {"by": by}


def model(trial: optuna.Trial) -> dict[str, Any]:
    kind = trial.suggest_categorical(
        "model", ["svm", "linear", "neighbours", "boosting"]
    )
    if kind == "svm":
        kernel: dict[str, Any] = {
            "name": trial.suggest_categorical("kernel", ["linear", "rbf"])
        }
        if kernel["name"] == "rbf":
            kernel["gamma"] = trial.suggest_float("gamma", 1e-4, 1e1, log=True)
        c, epsilon = (
            trial.suggest_float("C", 1e-2, 1e4, log=True),
            trial.suggest_float("epsilon", 0.1, 100.0, log=True),
        )
        return {"kind": kind, "C": c, "epsilon": epsilon, "kernel": kernel}
    if kind == "linear":
        alpha, ratio = (
            trial.suggest_float("alpha", 1e-4, 1e2, log=True),
            trial.suggest_float("l1_ratio", 0.0, 1.0),
        )
        return {"kind": kind, "alpha": alpha, "l1_ratio": ratio}
    if kind == "neighbours":
        return {
            "kind": kind,
            "n_neighbors": trial.suggest_int("neighbours", 1, 60),
            "p": trial.suggest_float("p", 1.0, 4.0),
        }
    return {
        "kind": kind,
        "n_estimators": trial.suggest_int("trees", 5, 100),
        "max_depth": trial.suggest_int("depth", 1, 5),
        "learning_rate": trial.suggest_float("learning_rate", 0.01, 1.0, log=True),
        "subsample": trial.suggest_float("subsample", 0.3, 1.0),
    }


def objective(trial: optuna.Trial) -> float:
    """Mean absolute error of the pipeline that the trial describes."""
    scaler = trial.suggest_categorical("scaler", list(SCALERS))
    return error({"scaler": scaler, "features": features(trial), "model": model(trial)})


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Tune a scikit-learn pipeline with numbo and Optuna."
    )
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = GSSBOSampler(seed=arguments.seed, warn_independent_sampling=False)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=arguments.trials, show_progress_bar=True)

    place = f"in trial {study.best_trial.number} of {len(study.trials)}"
    print(f"\nBest error {study.best_value:.3f} {place}:")
    for name, value in study.best_params.items():
        print(
            f"  {name:15s} {value:.4g}"
            if isinstance(value, float)
            else f"  {name:15s} {value}"
        )
    print("\nWhat the sampler has found out about the program:")
    for name, condition in sampler.explain().conditions.items():
        print(f"  {name:15s} is asked for where {condition}")


if __name__ == "__main__":
    main()
