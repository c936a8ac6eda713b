"""Time of one suggestion through ``study.ask`` against the number of trials that are running.

Levy-20 with 1,000 finished trials, suggested by GSSBO one after another, and running ones that it has suggested as
well. Then trials are asked for and told, and timed, apart from those that keep running. The time spent in the storage
is measured by itself. PostgreSQL is a server of its own; without its programs, only studies in memory are measured.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from typing import Any

import numpy as np
from optuna.storages import BaseStorage
from tests.harness.faults import postgres, postgres_programs

import optuna
from benchmarks.problems.suites import make
from benchmarks.samplers.registry import SAMPLERS
from benchmarks.storage import RESULTS

PROBLEM = make("levy-20")
SPACE = dict(PROBLEM.space)
FINISHED = 1000
RUNNING = (0, 64, 256, 1000)
REPEATS = 20
COLUMNS = ("storage", "sampler", "running", "seed", "ask_ms", "storage_ms", "reads")


class Clock:
    """The time spent in a storage.

    Attributes:
        seconds: in all calls from outside.
        reads: how many of them read all trials.
    """

    def __init__(self, storage: BaseStorage) -> None:
        self.seconds = 0.0
        self.reads = 0
        self._inside = False
        for name in dir(BaseStorage):
            if not name.startswith("_") and callable(getattr(storage, name)):
                setattr(storage, name, self._timed(getattr(storage, name)))

    def _timed(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def call(*args: Any, **kw: Any) -> Any:
            if self._inside:
                return method(*args, **kw)
            self._inside = True
            self.reads += method.__name__ == "get_all_trials"
            before = time.perf_counter()
            try:
                return method(*args, **kw)
            finally:
                self.seconds += time.perf_counter() - before
                self._inside = False

        return call


def ask_and_tell(study: optuna.Study) -> None:
    trial = study.ask(SPACE)
    study.tell(trial, PROBLEM.function(trial.params))


def with_running(running: int, seed: int) -> optuna.Study:
    """A study in memory with this number of running trials."""
    study = optuna.create_study(sampler=SAMPLERS["GSSBO"](seed))
    for _ in range(FINISHED):
        ask_and_tell(study)
    for _ in range(running):
        study.ask(SPACE)
    return study


def measured(study: optuna.Study, repeats: int) -> tuple[float, float, float]:
    """Medians of single suggestions: milliseconds in all, and those in the storage; the reads of all trials."""
    ask_and_tell(study)  # the first one learns the history
    clock = Clock(study._storage)
    found = []
    for _ in range(repeats):
        before = time.perf_counter()
        seconds, reads = clock.seconds, clock.reads
        trial = study.ask(SPACE)
        ended = time.perf_counter()
        found.append((1e3 * (ended - before), 1e3 * (clock.seconds - seconds), clock.reads - reads))
        study.tell(trial, PROBLEM.function(trial.params))
    ask, stored, reads = np.median(found, axis=0)
    return float(ask), float(stored), float(reads)


@contextmanager
def storages() -> Iterator[dict[str, str | None]]:
    """The storages by their names, None for the memory."""
    programs = postgres_programs()
    with nullcontext() if programs is None else postgres(programs) as url:
        yield {"memory": None} | ({} if url is None else {"PostgreSQL": url})


def measure(seeds: int) -> None:
    """Print the table and write it to ``running.csv``."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rows = []
    with storages() as found:
        for seed in range(seeds):
            for running in RUNNING:
                study = with_running(running, seed)
                for storage, url in found.items():
                    for sampler in ("GSSBO", "TPE"):
                        copied = optuna.create_study(storage=url, sampler=SAMPLERS[sampler](seed))
                        copied.add_trials(study.trials)
                        rows.append((storage, sampler, running, seed, *measured(copied, REPEATS)))
                        print("{:10s} {:5s} {:5d} running, seed {}: {:.1f} ms, {:.1f} in {} reads".format(*rows[-1]))
    with (RESULTS / "running.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(rows)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds")


def main(arguments: argparse.Namespace) -> None:
    measure(arguments.seeds)
