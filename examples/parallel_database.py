"""Several processes work on one study in a database.

They may run on different machines, start and stop, or be killed:

    python examples/parallel_database.py [--workers 4] [--trials 120]
    python examples/parallel_database.py --storage sqlite:///study.db

You would start one such worker on each of your machines; this script starts them all on
this one. For PostgreSQL or MySQL pass its URL, such as
postgresql+psycopg://user:password@host/database.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time

import optuna
from numbo.optuna import GSSBOSampler

NAME = "parallel"


def objective(trial: optuna.Trial) -> float:
    """A stand-in for a training that takes a few hundredths of a second."""
    rate = trial.suggest_float("rate", 1e-5, 1.0, log=True)
    width = trial.suggest_int("width", 8, 512, log=True)
    dropout = trial.suggest_float("dropout", 0.0, 0.6)
    time.sleep(0.02)
    return abs(rate - 0.01) ** 0.5 + abs(width - 128) / 512 + (dropout - 0.2) ** 2


def work(storage: str, trials: int) -> None:
    """One worker: runs trials until it and the others have run this number of them."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.load_study(study_name=NAME, storage=storage, sampler=GSSBOSampler())
    study.optimize(objective, callbacks=[optuna.study.MaxTrialsCallback(trials)])


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Tune with several processes over a database."
    )
    parser.add_argument(
        "--storage",
        default="sqlite:///study.db",
        help="URL of any storage that Optuna takes",
    )
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--trials", type=int, default=120)
    arguments = parser.parse_args()

    study = optuna.create_study(
        study_name=NAME, storage=arguments.storage, load_if_exists=True
    )
    started = time.perf_counter()
    context = multiprocessing.get_context("spawn")
    workers = [
        context.Process(target=work, args=(arguments.storage, arguments.trials))
        for _ in range(arguments.workers)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        if worker.exitcode:
            raise SystemExit(f"a worker ended with code {worker.exitcode}")
    seconds = time.perf_counter() - started

    trials = study.get_trials(states=[optuna.trial.TrialState.COMPLETE])
    points = {tuple(sorted(t.params.items())) for t in trials}
    work_done = (
        f"{len(trials)} trials by {arguments.workers} workers in {seconds:.1f} s"
    )
    print(f"{work_done}, {len(points)} of them different")
    print(f"Best value {study.best_value:.4f} with {study.best_params}")


if __name__ == "__main__":
    main()
