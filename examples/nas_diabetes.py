"""The network search of the GSSBO paper, on the Pima diabetes data, through Optuna.

Batch size, learning rate, its decay and the width of the hidden layer are searched. The
objective is the classification error on the test set, averaged over five trainings. It
takes about a minute the first time, most of which is compiling:

    python examples/nas_diabetes.py [--trials 120] [--seed 0]
"""

from __future__ import annotations

import argparse
import time
from statistics import median

import optuna
from numbo.optuna import GSSBOSampler
from numbo.warming.first_use import announce_compilation, compilation_time
from tqdm import tqdm

from diabetes import final_error, load


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Tune a network on the Pima diabetes data with numbo and Optuna."
    )
    parser.add_argument("--trials", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    data = load()
    training, waits, since = 0.0, [], time.perf_counter()

    def objective(trial: optuna.Trial) -> float:
        nonlocal training
        batch = trial.suggest_int("batch_size", 32, 128)
        rate = trial.suggest_float("learning_rate", 1e-6, 1.0, log=True)
        decay = trial.suggest_float("learning_rate_decay", 1e-6, 1.0, log=True)
        hidden = trial.suggest_int("hidden_units", 1, 8)
        before = time.perf_counter()
        waits.append(before - since)
        error = final_error(data, batch, rate, decay, hidden)
        training += time.perf_counter() - before
        return error

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=GSSBOSampler(seed=arguments.seed))
    with tqdm(total=arguments.trials, desc="tuning", unit="trial") as bar:

        def report(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
            nonlocal since
            bar.update()
            bar.set_postfix_str(f"best error {study.best_value:.2%}")
            since = time.perf_counter()

        announce_compilation(bar.write)
        study.optimize(objective, n_trials=arguments.trials, callbacks=[report])

    place = f"in trial {study.best_trial.number} of {len(study.trials)}"
    print(f"\nBest test error {study.best_value:.2%} {place}:")
    for name, value in study.best_params.items():
        print(f"  {name:20s} {value:.4g}")
    print(f"Training took {training:.1f} s.")
    print(f"A suggestion took {1e3 * median(waits):.1f} ms, in the median.")
    print(f"Compiling or loading kernels took {compilation_time():.1f} s.")


if __name__ == "__main__":
    main()
