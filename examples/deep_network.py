"""Tune a network of one to six hidden layers on the Pima diabetes data.

Each layer has a width of its own, and the objective asks for as many widths as there
are layers:

    python examples/deep_network.py [--trials 100] [--seed 0]
"""

from __future__ import annotations

import argparse

import optuna
from numbo.optuna import GSSBOSampler

from deep_diabetes import loss_of


def objective(trial: optuna.Trial) -> float:
    """Test loss after training."""
    layers = trial.suggest_int("layers", 1, 6)
    widths = [
        trial.suggest_int(f"width_{i}", 2, 32, log=True) for i in range(1, layers + 1)
    ]
    activation = trial.suggest_categorical("activation", ["tanh", "relu"])
    optimizer = trial.suggest_categorical("optimizer", ["sgd", "adam"])
    rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
    momentum = trial.suggest_float("momentum", 0.0, 0.99) if optimizer == "sgd" else 0.0
    return loss_of(widths, activation, optimizer, rate, momentum)


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Tune a network of any depth with numbo and Optuna."
    )
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = GSSBOSampler(seed=arguments.seed, warn_independent_sampling=False)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=arguments.trials, show_progress_bar=True)

    place = f"in trial {study.best_trial.number} of {len(study.trials)}"
    print(f"\nBest test loss {study.best_value:.4f} {place}:")
    for name, value in study.best_params.items():
        print(
            f"  {name:12s} {value:.4g}"
            if isinstance(value, float)
            else f"  {name:12s} {value}"
        )
    print(f"\n{sampler.explain()}")


if __name__ == "__main__":
    main()
