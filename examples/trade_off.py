"""Trade accuracy against latency in the table of NAS-Bench-201.

python examples/trade_off.py [--trials 100] [--seed 0]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

import optuna
from numbo.optuna import GSSBOSampler, front

from constraints import NETWORKS, OPERATIONS, Network, measured


def objectives(trial: optuna.Trial) -> Network:
    for name, choices in OPERATIONS.items():
        trial.suggest_categorical(name, choices)
    return measured(trial.params)


def show(found: Iterable[Network], trials: int) -> None:
    """Print the front that so many trials have found, beside what there is."""
    networks = list(found)
    print(f"No network is better in both than these {len(networks)} of {trials}:")
    for accuracy, latency in networks:
        as_fast = [n.accuracy for n in NETWORKS.values() if n.latency <= latency]
        there = f"the most accurate as fast has {max(as_fast):.2f}%"
        print(f"  {accuracy:.2f}% in {latency:.2f} ms; {there}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Tune accuracy and latency.")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = GSSBOSampler(seed=arguments.seed)
    study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler)
    study.optimize(objectives, n_trials=arguments.trials)
    show((Network(*values) for _, values in front(study)), arguments.trials)


if __name__ == "__main__":
    main()
