"""Time of one suggestion through ``study.ask`` against the number of trials that are running.

Levy-20 with 1,000 finished trials, suggested by GSSBO one after another, and running ones that it has suggested as
well. Then trials are asked for and told, and timed, apart from those that keep running. The time spent in the storage
is measured by itself. Each study over PostgreSQL has a server of its own; without its programs, only studies in memory
are measured. "GSSBO-rarely" is GSSBO where Python's garbage collector runs more rarely.
"""

from __future__ import annotations

import argparse
import csv
import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, NamedTuple

import numpy as np
import optuna
from optuna.storages import BaseStorage, get_storage
from tests.harness.faults import postgres, postgres_programs

from benchmarks.problems.suites import make
from benchmarks.samplers.registry import SAMPLERS
from benchmarks.storage import RESULTS

PROBLEM = make("levy-20")
SPACE = dict(PROBLEM.space)
FINISHED = 1000
RUNNING = (0, 64, 1000)
REPEATS = 10
IN_MEMORY = ("GSSBO", "TPE")
OVER_POSTGRESQL = ("GSSBO", "GSSBO-rarely", "TPE")
#: The thresholds of the garbage collector for samplers named so. With 1,000 running trials over PostgreSQL, an ask took
#: 2.9 s with the usual ones, 1.5 s with these or with (50_000, 20, 100), 2.0 s after `gc.freeze`, 1.3 s without it.
RARELY = (50_000, 20, 20)
COLUMNS = ("running", "seed", "storage", "sampler", "ask_ms", "storage_ms", "reads")


class Case(NamedTuple):
    """Medians of single suggestions.

    Attributes:
        storage, sampler: of the study.
        ask_ms: milliseconds in all.
        storage_ms: those in the storage.
        reads: how often all trials were read.
    """

    storage: str
    sampler: str
    ask_ms: float
    storage_ms: float
    reads: float


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


def measured(study: optuna.Study, storage: str, sampler: str, seed: int, url: str | None = None) -> Case:
    """Suggestions of another sampler for the ``study``, at the ``url`` of a storage, or in memory."""
    kept = get_storage(url)
    clock = Clock(kept)
    copied = optuna.create_study(storage=kept, sampler=SAMPLERS[sampler.removesuffix("-rarely")](seed))
    copied.add_trials(study.trials)
    ask_and_tell(copied)  # the first one learns the history
    found = []
    for _ in range(REPEATS):
        seconds, reads = clock.seconds, clock.reads
        before = time.perf_counter()
        trial = copied.ask(SPACE)
        ended = time.perf_counter()
        found.append((1e3 * (ended - before), 1e3 * (clock.seconds - seconds), clock.reads - reads))
        copied.tell(trial, PROBLEM.function(trial.params))
    return Case(storage, sampler, *map(float, np.median(found, axis=0)))


@contextmanager
def collections(sampler: str) -> Iterator[None]:
    """Python's garbage collector as the name of a ``sampler`` has it."""
    usual = gc.get_threshold()
    if sampler.endswith("-rarely"):
        gc.set_threshold(*RARELY)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def cases(study: optuna.Study, seed: int) -> Iterator[Case]:
    """What is measured on a ``study``."""
    for sampler in IN_MEMORY:
        yield measured(study, "memory", sampler, seed)
    programs = postgres_programs()
    if programs is None:
        return
    for sampler in OVER_POSTGRESQL:
        with collections(sampler), postgres(programs) as url:
            case = measured(study, "PostgreSQL", sampler, seed, url)
        yield case


def measure(seeds: int) -> None:
    """Print the table and write it to ``running.csv``."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rows = []
    for seed in range(seeds):
        for running in RUNNING:
            for case in cases(with_running(running, seed), seed):
                rows.append((running, seed, *case))
                print("{:5d} running, seed {}, {:10s} {:12s} {:.1f} ms, {:.1f} in {} reads".format(*rows[-1]))
    with (RESULTS / "running.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(rows)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds")


def main(arguments: argparse.Namespace) -> None:
    measure(arguments.seeds)
