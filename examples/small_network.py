"""Tune a network for handwritten digits that may not have more than so many weights.

python examples/small_network.py [--trials 60] [--weights 2000] [--seed 0]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence

import optuna
from numbo.optuna import GSSBOSampler, predict_feasible
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier


def train(units: Sequence[int], alpha: float, rate: float) -> tuple[float, int]:
    """The validation loss of a network with these layers, and its number of weights."""
    network = MLPClassifier(
        hidden_layer_sizes=units,
        alpha=alpha,
        learning_rate_init=rate,
        max_iter=15,
        random_state=0,
    )
    X, X_valid, y, y_valid = train_test_split(
        *load_digits(return_X_y=True), test_size=0.3, random_state=0
    )
    network.fit(X / 16.0, y)
    loss = float(log_loss(y_valid, network.predict_proba(X_valid / 16.0)))
    return loss, sum(W.size for W in network.coefs_)


def objective(trial: optuna.Trial) -> float:
    layers = trial.suggest_int("layers", 1, 2)
    units = [trial.suggest_int(f"units_{i}", 4, 128, log=True) for i in range(layers)]
    alpha = trial.suggest_float("alpha", 1e-6, 1.0, log=True)
    rate = trial.suggest_float("rate", 1e-4, 1e-1, log=True)
    loss, weights = train(units, alpha, rate)
    trial.set_user_attr("weights", weights)
    return loss


def main() -> None:
    parser = argparse.ArgumentParser(description="Tune a network of limited size.")
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--weights", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    def too_many(trial: optuna.trial.FrozenTrial) -> Sequence[float]:
        return [trial.user_attrs["weights"] - arguments.weights]

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.filterwarnings("ignore", category=ConvergenceWarning)
    sampler = GSSBOSampler(seed=arguments.seed, constraints_func=too_many)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=arguments.trials)
    small = [t for t in study.trials if t.user_attrs["weights"] <= arguments.weights]
    limit = f"at most {arguments.weights} weights"
    print(f"{len(small)} of {arguments.trials} networks have {limit}")
    best = sampler.best_predicted_trial()
    if best is None:
        return
    weights, chance = best.user_attrs["weights"], predict_feasible(study, best.params)
    print(f"Best validation loss {best.value:.4f} with {weights} weights")
    print(f"The model gave it a chance of {chance:.0%} to be small enough")
    for name, value in best.params.items():
        print(f"  {name} = {value:.4g}")


if __name__ == "__main__":
    main()
