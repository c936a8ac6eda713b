"""Start from existing results: a study of another sampler, and a table of results.

    python examples/warm_start.py [--trials 60]

All of them are learned: numbo's samplers build their model from whatever finished
trials a study holds.
"""

from __future__ import annotations

import argparse

import optuna
from numbo.optuna import GSSBOSampler
from optuna.distributions import FloatDistribution, IntDistribution


def objective(trial: optuna.Trial) -> float:
    rate = trial.suggest_float("rate", 1e-5, 1.0, log=True)
    depth = trial.suggest_int("depth", 1, 12)
    return abs(rate - 0.003) ** 0.5 + 0.05 * abs(depth - 7)


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Continue a study, and learn from results of elsewhere."
    )
    parser.add_argument("--trials", type=int, default=60)
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)

    # 1. A study begun by another sampler. If it is in a storage, use
    # optuna.load_study(..., sampler=GSSBOSampler()).
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(objective, n_trials=30)
    print(f"TPE after 30 trials: {study.best_value:.4f}")
    study.sampler = GSSBOSampler(seed=0)

    # 2. Results from elsewhere, such as a table from an earlier project.
    distributions = {
        "rate": FloatDistribution(1e-5, 1.0, log=True),
        "depth": IntDistribution(1, 12),
    }
    for rate, depth, value in [
        (0.01, 6, 0.1337),
        (0.001, 8, 0.0947),
        (0.005, 7, 0.0447),
    ]:
        params = {"rate": rate, "depth": depth}
        study.add_trial(
            optuna.create_trial(params=params, distributions=distributions, value=value)
        )

    # 3. A promising point, to be tried first.
    study.enqueue_trial({"rate": 0.003, "depth": 6})

    study.optimize(objective, n_trials=arguments.trials)
    found = f"{study.best_value:.4f} with {study.best_params}"
    print(f"GSSBO after {len(study.trials)} trials in all: {found}")


if __name__ == "__main__":
    main()
