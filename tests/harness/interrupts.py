"""Studies that are interrupted repeatedly, at random times.

Ctrl-C strikes in the objective, in a kernel, in the storage, or while trials are learned. Each time it has to propagate
out of `study.optimize`, and the sampler must then know exactly what a fresh sampler learns from the study.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import optuna
from tqdm import tqdm

from benchmarks.storage import RESULTS
from numbo.optuna import GSSBOSampler

#: Number of interrupts for each kind of run.
COUNTS = {"main thread": 400, "two threads": 50, "processes": 50}
#: Seconds after which a run ends by itself, which means that it has swallowed its interrupt.
PATIENCE = 60.0
LONGEST = 0.06
FUTURES = str(Path(concurrent.futures.__file__).parent)


@dataclass
class Outcome:
    """What the interrupts did.

    Attributes:
        sent: number of interrupts.
        got_out: number of interrupts that ended `study.optimize`.
        lost: finished trials that a sampler did not know afterwards, summed over the interrupts.
        differing: number of times that the sampler and a fresh one did not know the same.
    """

    sent: int = 0
    got_out: int = 0
    lost: int = 0
    differing: int = 0

    def compare(self, sampler: GSSBOSampler, study: optuna.Study) -> None:
        """Count the trials that ``sampler`` does not know, and whether a fresh one knows something else."""
        (X, y) = known(sampler, study)
        (other_X, other_y) = known(GSSBOSampler(seed=0), study)
        finished = sum(t.state.is_finished() and len(t.params) == 3 for t in study.get_trials(deepcopy=False))
        self.lost += max(0, finished - len(y))
        self.differing += not (np.array_equal(X, other_X) and np.array_equal(y, other_y, equal_nan=True))


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", -2.0, 2.0)
    y = trial.suggest_float("y", -2.0, 2.0)
    return (x - 0.3) ** 2 + (y + x) ** 2 + 0.1 * trial.suggest_int("k", 0, 9)


def known(sampler: GSSBOSampler, study: optuna.Study) -> tuple[np.ndarray, np.ndarray]:
    """Points and values that a sampler has learned from the study, in an order common to all samplers."""
    optimizer, _ = sampler.inspected(study)
    X, y = optimizer.observations
    order = np.lexsort((y, *X.T))
    return X[order], y[order]


def interrupted(error: BaseException) -> bool:
    """Whether ``error`` is an interrupt, or what a library makes of one, such as Optuna while it stores a result."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__ or cause.__context__
    return cause is not None


def strike(number: int, frame: FrameType | None) -> None:
    """An interrupt. It waits while Python starts a thread, which could otherwise run without anyone knowing of it, and
    while `concurrent.futures` works on its locks, of which an interrupt leaves some locked for ever."""
    codes = []
    while frame is not None:
        codes.append(frame.f_code)
        frame = frame.f_back
    waiting = threading.Event.wait.__code__ in codes
    futures = any(code.co_filename.startswith(FUTURES) for code in codes)
    if threading.Thread.start.__code__ in codes or (futures and not waiting):
        signal.setitimer(signal.ITIMER_REAL, 1e-3)
        return
    raise KeyboardInterrupt


def interrupt_study(count: int, jobs: int, progress: Any = None) -> Outcome:
    """A study with one sampler, interrupted ``count`` times in this process."""
    outcome = Outcome()
    rng = random.Random(jobs)
    sampler = GSSBOSampler(seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=30)
    before = signal.signal(signal.SIGALRM, strike)
    try:
        for _ in range(count):
            outcome.sent += 1
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-4, LONGEST))
                study.optimize(objective, timeout=PATIENCE, n_jobs=jobs)
            except BaseException as error:
                if not interrupted(error):
                    raise
                outcome.got_out += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0.0)
            for thread in threading.enumerate():  # a worker may still be finishing the trial it was in
                if thread.name.startswith("ThreadPoolExecutor"):
                    thread.join()
            outcome.compare(sampler, study)
            if progress is not None:
                progress.update()
    finally:
        signal.signal(signal.SIGALRM, before)
    return outcome


WORKER = """
import signal
import sys
import optuna
from tests.harness.interrupts import PATIENCE, interrupted, objective
from numbo.optuna import GSSBOSampler
optuna.logging.set_verbosity(optuna.logging.ERROR)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
study = optuna.load_study(study_name="s", storage=sys.argv[1], sampler=GSSBOSampler(seed=0))
try:
    print("ready", flush=True)
    study.optimize(objective, timeout=PATIENCE)
except BaseException as error:
    if interrupted(error):
        sys.exit(7)
    raise
"""


def interrupt_processes(count: int, progress: Any = None) -> Outcome:
    """``count`` processes on one database, one after the other, each interrupted by SIGINT."""
    outcome = Outcome()
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/study.db"
        study = optuna.create_study(study_name="s", storage=url, sampler=GSSBOSampler(seed=0))
        for _ in range(count):
            outcome.sent += 1
            with subprocess.Popen([sys.executable, "-c", WORKER, url], stdout=subprocess.PIPE) as worker:
                assert worker.stdout is not None
                worker.stdout.readline()
                time.sleep(rng.uniform(0.0, 1.0))
                worker.send_signal(signal.SIGINT)
                outcome.got_out += worker.wait() == 7
            if progress is not None:
                progress.update()
        study.optimize(objective, n_trials=1)
        outcome.compare(study.sampler, study)  # type: ignore[arg-type]
    return outcome


def measure(results: Path, counts: dict[str, int] | None = None) -> dict[str, Outcome]:
    """Run all kinds, and write ``interrupts.md``."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    counts = COUNTS if counts is None else counts
    outcomes = {}
    for kind, count in counts.items():
        with tqdm(total=count, desc=kind, unit="interrupt") as progress:
            if kind == "processes":
                outcomes[kind] = interrupt_processes(count, progress)
            else:
                outcomes[kind] = interrupt_study(count, 1 if kind == "main thread" else 2, progress)
        print(json.dumps({kind: asdict(outcomes[kind])}), flush=True)
    rows = [f"| {kind} | {o.sent} | {o.got_out} | {o.lost} | {o.differing} |" for kind, o in outcomes.items()]
    text = (
        "# Interrupts at random times\n\nA study with `GSSBOSampler` that is interrupted repeatedly, as by Ctrl-C, and "
        "continues each time.\nFinished trials that the sampler did not know afterwards are lost. The last column "
        "counts how often it did not\nknow the same as a fresh sampler. Written by "
        "`python -m benchmarks interrupts`.\n\n"
        "| where | interrupts | got out | trials lost | different from a fresh sampler |\n|---|---|---|---|---|\n"
    )
    (results / "interrupts.md").write_text(text + "\n".join(rows) + "\n")
    return outcomes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There are none."""


def main(arguments: argparse.Namespace) -> None:
    measure(RESULTS)
