"""Parallel studies whose workers are killed: what is lost, repeated or slowed down.

A study runs over a real storage in worker processes (`worker`). From time to time one of them is killed with
SIGKILL, whatever it is doing, and another one takes its place.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import traceback
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from numbo.optuna._view import MAX_OVERTAKEN
from tests.harness import worker
from tests.harness.worker import PROGRAMS, storage

#: Workers are forked from one process that has loaded everything, and so begin to work at once.
WORKERS = multiprocessing.get_context("forkserver")
WORKERS.set_forkserver_preload(["tests.harness.loaded"])


@dataclass(frozen=True)
class Outcome:
    """What became of a study.

    Attributes:
        killed: processes that were killed.
        complete, stale: trials that are complete, and trials that a killed process left running.
        lost: trials that a worker had told but that have not ended with that value.
        duplicates: pairs of trials with equal parameters that ran at the same time. A stale trial counts as running
            until enough others have overtaken it for samplers to consider its worker dead.
        retried: pairs of a stale trial and one that took up its parameters after that.
        repeats: complete trials with the same parameters as an earlier one.
        best: the best value.
        seconds: duration, including the start of the processes.
        errors: error output of workers that failed without being killed.
    """

    killed: int
    complete: int
    stale: int
    lost: int
    duplicates: int
    retried: int
    repeats: int
    best: float
    seconds: float
    errors: tuple[str, ...]


def run(
    url: str,
    workers: int,
    trials: int,
    kills: int,
    *,
    program: str = "plain",
    seed: int = 0,
    timeout: float = 3600.0,
    avoid_repeats: bool | str = "auto",
) -> Outcome:
    """A study of ``trials`` complete trials in ``workers`` processes, with ``kills`` processes killed on the way."""
    rng = random.Random(seed)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(storage=storage(url))
    started = time.monotonic()
    errors: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "told")
        all_killed = Path(folder, "all killed")
        log.touch()
        numbers = itertools.count()

        def start() -> BaseProcess:
            error = Path(folder, f"error {next(numbers)}")
            arguments = (error, url, study.study_name, program, trials, log, all_killed, seed, avoid_repeats)
            process = WORKERS.Process(target=_work, args=arguments, name=str(error))
            process.start()
            return process

        running = [start() for _ in range(workers)]
        # numbers of told trials at which to kill, in the first half; the workers go on until all kills are done
        due = sorted(rng.randrange(1, max(2, trials // 2)) for _ in range(kills))
        killed = 0
        try:
            while running:
                if time.monotonic() - started > timeout:
                    raise TimeoutError(f"the study did not end within {timeout} s")
                if due and len(log.read_text().splitlines()) >= due[0]:
                    due.pop(0)
                    time.sleep(rng.uniform(0.0, 0.05))
                    victim = rng.choice(running)
                    victim.kill()
                    victim.join()
                    killed += victim.exitcode == -signal.SIGKILL
                    running.remove(victim)
                    running.append(start())
                if not due:
                    all_killed.touch()
                for process in [p for p in running if p.exitcode is not None]:
                    if process.exitcode:
                        errors.append(Path(process.name).read_text())
                    running.remove(process)
                time.sleep(0.02)
        finally:
            for process in running:
                process.kill()
                process.join()
        seconds = time.monotonic() - started
        told = [line.split() for line in log.read_text().splitlines()]
    results = [(int(n), float(v)) for n, v in told]
    return judge(study.get_trials(), results, killed, seconds, tuple(errors), program)


def _work(error: Path, *arguments: Any) -> None:
    """What a worker process does; what went wrong is written to ``error``."""
    try:
        worker.main(*arguments)
    except Exception:
        error.write_text(traceback.format_exc())
        raise


def judge(
    trials: list[FrozenTrial],
    told: list[tuple[int, float]],
    killed: int,
    seconds: float,
    errors: tuple[str, ...],
    program: str = "plain",
) -> Outcome:
    complete = [t for t in trials if t.state == TrialState.COMPLETE]
    values = {t.number: t.value for t in trials if t.state in (TrialState.COMPLETE, TrialState.PRUNED)}
    groups = defaultdict(list)
    for trial in trials:
        if _asked(trial, program):
            groups[tuple(sorted(trial.params.items()))].append(trial)
    duplicates = 0
    retried = 0
    for group in groups.values():
        for a, b in itertools.permutations(group, 2):
            assert a.datetime_start is not None
            assert b.datetime_start is not None
            if a.datetime_start >= b.datetime_start:
                continue
            if a.datetime_complete is not None:
                duplicates += b.datetime_start < a.datetime_complete
            elif b.number - a.number <= MAX_OVERTAKEN:
                duplicates += 1
            else:
                retried += 1
    return Outcome(
        killed=killed,
        complete=len(complete),
        stale=sum(t.state == TrialState.RUNNING for t in trials),
        lost=sum(values.get(number) != value for number, value in told),
        duplicates=duplicates,
        retried=retried,
        repeats=sum(max(0, sum(t.state == TrialState.COMPLETE for t in g) - 1) for g in groups.values()),
        best=min(t.value for t in complete if t.value is not None),
        seconds=seconds,
        errors=errors,
    )


def _asked(trial: FrozenTrial, program: str) -> bool:
    """Whether the trial has all the parameters that the program asks for."""
    try:
        PROGRAMS[program](optuna.trial.FixedTrial(trial.params))
    except ValueError:  # it was killed while it asked
        return False
    return True


def sequential(trials: int, seed: int = 0) -> float:
    """The best value of the same study in one process."""
    from numbo.optuna import GSSBOSampler

    study = optuna.create_study(sampler=GSSBOSampler(seed=seed))
    for _ in range(trials):
        trial = study.ask()
        study.tell(trial, PROGRAMS["plain"](trial))
    return study.best_value


def postgres_programs() -> Path | None:
    """The folder with PostgreSQL's programs, or ``None`` if it is not installed."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))  # Debian's
    found = shutil.which("pg_ctl")
    return folders[-1] if folders else Path(found).parent if found else None


@contextmanager
def postgres(programs: Path) -> Iterator[str]:
    """A separate PostgreSQL server, on a local socket only; yields the URL of an empty database."""
    with tempfile.TemporaryDirectory() as folder:
        data = f"{folder}/data"
        user = []
        if os.geteuid() == 0:  # the server refuses to run as root
            shutil.chown(folder, "postgres")
            user = ["runuser", "-u", "postgres", "--"]

        def call(program: str, *arguments: str) -> None:
            command = [*user, str(programs / program), *arguments]
            subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL)

        call("initdb", "-D", data, "-U", "numbo", "--auth=trust", "--no-sync")
        options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=on -c max_connections=300"
        call("pg_ctl", "-D", data, "-w", "-t", "3600", "-l", f"{folder}/log", "-o", options, "start")
        try:
            yield f"postgresql+psycopg://numbo@/postgres?host={folder}"
        finally:
            call("pg_ctl", "-D", data, "-m", "immediate", "stop")
