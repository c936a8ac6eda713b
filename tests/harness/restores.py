"""Ray Tune runs that go on from damaged files: what is learned, repeated or lost, and how a run ends that cannot go on.

A run is recorded once: its folder as a driver that dies in mid-run leaves it. Each fault is put into a copy, from which
a `Tuner.restore` without further arguments goes on, as in a new process of a new Ray.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from ray import tune
from ray.tune.logger import JsonLoggerCallback
from tqdm import tqdm

from numbo.ray import GSSBOSearch
from numbo.ray._snapshot import TrialSnapshot, read_trials
from tests.harness.local_ray import LOCAL_RAY

SPACE = {"a": tune.randint(0, 6), "b": tune.choice([(0, 1), (2, 3), (4, 5)]), "fixed": 5}
#: Number of trials of a run; how many have ended when its early and its late snapshot are taken, with two running.
TRIALS = 9
ENDED = {"early": 3, "late": 5}
STATES = "searcher's state and search_gen_state"
#: Files by name, as patterns in the experiment's folder.
FILES = {
    "searcher's state": "searcher-state-*.pkl",
    "its predecessor": "previous-searcher-state-*.pkl",
    "searcher's state and its predecessor": "*searcher-state-*.pkl",
    "search_gen_state": "search_gen_state-*.json",
    "experiment_state": "experiment_state-*.json",
    "tuner.pkl": "tuner.pkl",
    "trials' result.json": "*/result.json",
    "trials' params.json": "*/params.json",
    STATES: "search*",
    "searcher's states and all of the trials' files": "*searcher-state-*.pkl */*.json",
}


def _torn(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def _of_another_version(path: Path) -> None:
    """As another version might have written it: another format, or classes that have moved."""
    content = path.read_bytes()
    if "searcher-state" in path.name:
        path.write_bytes(pickle.dumps({"format": 1}) + pickle.dumps({}))
    elif path.name == "tuner.pkl":
        path.write_bytes(content.replace(b"numbo.ray", b"numbo_ray"))
    elif path.name.startswith("search_gen_state"):
        path.write_bytes(content.replace(b"ray.tune.experiment", b"ray_tune_experiment"))
    else:
        path.write_text(json.dumps({"checkpoints": []}))


#: What is done to a file.
FAULTS: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "torn": _torn,
    "other version": _of_another_version,
}


def damage(folder: Path, file: str, fault: str) -> None:
    """Put a fault into all files of a kind."""
    paths = [path for pattern in FILES[file].split() for path in folder.glob(pattern)]
    if not paths:
        raise FileNotFoundError(f"{folder} has no {file}")
    for path in paths:
        FAULTS[fault](path)


# -- a recorded run ----------------------------------------------------------------------------------------------------


def make_trainable(folder: Path) -> Callable[[dict[str, Any]], None]:
    """A trainable that notes its configs in ``folder/log``; the third trial fails, some wait for the snapshots."""

    def trainable(config: dict[str, Any]) -> None:
        own = tune.get_context().get_trial_id()
        log = folder / "log"
        with log.open("a") as file:
            file.write(f"{own} {config['a']} {config['b'][0]}\n")
        place = [line.split()[0] for line in log.read_text().splitlines()].index(own)
        for name, ended in ENDED.items():
            while ended <= place < ended + 2 and not (folder / name).exists():
                time.sleep(0.01)
        if place == 2:
            raise RuntimeError("the third trial fails")
        tune.report({"loss": np.float32(config["a"] + config["b"][0])})

    return trainable


class Recorder(tune.Callback):  # type: ignore[misc]
    """Copies the files of an experiment, as Tune uploads them, once as many trials as wanted have ended."""

    def __init__(self, run: Path, folder: Path) -> None:
        self._run = run
        self._folder = folder

    def __reduce__(self) -> Any:
        return tune.Callback, ()  # a restored run is not recorded

    def on_step_end(self, iteration: int, trials: list[Any], **info: Any) -> None:
        running = sum(t.status == "RUNNING" for t in trials)
        ended = sum(t.status in ("TERMINATED", "ERROR") for t in trials)
        for name, wanted in ENDED.items():
            if (ended, running) == (wanted, 2) and not (self._folder / name).exists():
                copy = self._folder / f"{name}.copy"
                shutil.copytree(trials[0].storage.experiment_driver_staging_path, copy)
                shutil.copy(self._run / "tuner.pkl", copy)
                copy.rename(self._folder / name)


@contextmanager
def _saved_at_each_step() -> Iterator[None]:
    before = os.environ.get("TUNE_GLOBAL_CHECKPOINT_S")
    os.environ["TUNE_GLOBAL_CHECKPOINT_S"] = "0"
    try:
        yield
    finally:
        del os.environ["TUNE_GLOBAL_CHECKPOINT_S"]
        if before is not None:
            os.environ["TUNE_GLOBAL_CHECKPOINT_S"] = before


def record(folder: Path, own: bool = False) -> None:
    """Run all trials; ``folder/early`` and ``folder/late`` are then the experiment in mid-run, with two running trials.

    Args:
        folder: an existing, empty folder.
        own: whether the searcher is made with space, metric and mode, and the tuner without.
    """
    run = folder / "run"
    given = (SPACE, "loss", "min") if own else (None, None, None)
    tuner = tune.Tuner(
        make_trainable(folder),
        param_space=None if own else SPACE,
        tune_config=tune.TuneConfig(
            metric=None if own else "loss",
            mode=None if own else "min",
            num_samples=TRIALS,
            max_concurrent_trials=2,
            search_alg=GSSBOSearch(*given, seed=0, n_initial=4),
            reuse_actors=True,
        ),
        run_config=tune.RunConfig(
            storage_path=str(folder),
            name=run.name,
            verbose=0,
            callbacks=[JsonLoggerCallback(), Recorder(run, folder)],
        ),
    )
    with _saved_at_each_step():
        tuner.fit()


# -- a restored one ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What became of a restored run.

    Attributes:
        finished: trials that had ended before the restore, by Tune's records of the run.
        learned: those that the searcher knows at the end: exactly once, or at least once if they failed.
        repeated: those that were evaluated again although they had not failed.
        lost: those that the results of the restored run lack.
        trials: trials of the restored run, those before included.
        seconds: duration of the restore and the rest of the run.
        ended: the error that ended the run; empty if there was none.
    """

    finished: int
    learned: int
    repeated: int
    lost: int
    trials: int
    seconds: float
    ended: str = ""


def forget_session() -> None:
    """Remove what Ray keeps of experiments outside of their folders: a restored driver mostly has a new Ray."""
    import ray

    session = ray._private.worker._global_node.get_session_dir_path()
    shutil.rmtree(Path(session, "artifacts"), ignore_errors=True)


def restore(folder: Path, finished: list[TrialSnapshot], patience: float = 120.0, **arguments: Any) -> Outcome:
    """Go on from ``folder``; what still runs after ``patience`` seconds is interrupted."""
    forget_session()
    for name in ENDED:
        (folder.parent / name).touch()
    log = folder.parent / "log"
    trials = 0
    ended = ""
    searcher = None
    log.write_text("before 0 0\n" * 9)  # no trial waits or fails
    started = time.monotonic()
    try:
        with _limited(patience):
            tuner = tune.Tuner.restore(str(folder), make_trainable(folder.parent), **arguments)
            searcher = tuner._local_tuner._tune_config.search_alg
            trials = len(tuner.fit())
    except Exception as error:
        ended = f"{type(error).__name__}: {error}".splitlines()[0]
    seconds = time.monotonic() - started
    known = Counter(_point(c) for c in _known(searcher))
    again = {tuple(map(int, line.split()[1:])) for line in log.read_text().splitlines()[9:]}
    there = set() if ended else {_point(trial.config) for trial in ended_in(folder)}
    good, failed = ([_point(t.config) for t in finished if (t.status == "ERROR") == bad] for bad in (False, True))
    return Outcome(
        finished=len(finished),
        learned=sum(known[point] == 1 for point in good) + sum(known[point] > 0 for point in failed),
        repeated=sum(point in again for point in good),
        lost=sum(point not in there for point in good + failed),
        trials=trials,
        seconds=seconds,
        ended=ended,
    )


def _point(config: Mapping[str, Any]) -> tuple[int, int]:
    return int(config["a"]), int(config["b"][0])


def _known(searcher: Any) -> list[dict[str, Any]]:
    """The parameters of all trials that a searcher has learned from."""
    opt = None if searcher is None else searcher.optimizer
    return [] if opt is None else [opt.space.decode(x) for x in opt.observations[0]]


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` in the main thread after that time, and each second from then on."""

    def stop(number: int, frame: Any) -> None:
        raise TimeoutError(f"still running after {seconds:.0f} s")

    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("only the main thread can be interrupted")
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def ended_in(folder: Path) -> list[TrialSnapshot]:
    """The trials in the records of ``folder`` that had ended."""
    return [trial for trial in read_trials(folder) if trial.status in ("TERMINATED", "ERROR")]


def run(file: str, fault: str, recorded: Path, folder: Path) -> Outcome:
    """One fault in a copy of the late snapshot, in ``folder``; none if both are empty."""
    damaged = folder / "run"
    shutil.copytree(recorded / "late", damaged)
    if fault:
        damage(damaged, file, fault)
    return restore(damaged, ended_in(recorded / "late"))


def mix(records: str, others: str, file: str, recorded: Path, folder: Path) -> Outcome:
    """All files from one snapshot but those of a kind, which are from the other."""
    damaged = folder / "run"
    shutil.copytree(recorded / records, damaged)
    for pattern in FILES[file].split():
        for path in (recorded / others).glob(pattern):
            shutil.copy(path, damaged)
    return restore(damaged, ended_in(recorded / records))


#: What is measured: the file, the fault, whether the searcher was made with its own space, and how to run it.
CASES: list[tuple[str, str, bool, Callable[[Path, Path], Outcome]]] = [
    ("", "", False, partial(run, "", "")),
    *((file, fault, False, partial(run, file, fault)) for file in FILES if file != STATES for fault in FAULTS),
    *(
        (file, f"{age} than the trials", False, partial(mix, records, others, file))
        for file in (STATES, "searcher's state", "search_gen_state")
        for age, records, others in (("older", "late", "early"), ("newer", "early", "late"))
    ),
    *(
        (f"{file}, where the searcher has its own space", "torn", True, partial(run, file, "torn"))
        for file in ("searcher's states and all of the trials' files", "experiment_state")
    ),
]


def measure(done: Container[tuple[str, str]], note: Callable[[dict[str, Any]], None]) -> None:
    """Run all cases that are not ``done``, on a local Ray, and ``note`` a row for each."""
    due = [case for case in CASES if case[:2] not in done]
    if not due:
        return
    os.environ.update(LOCAL_RAY)
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        with tempfile.TemporaryDirectory() as folder:
            for own in {case[2] for case in due}:
                Path(folder, f"recorded-{own}").mkdir()
                record(Path(folder, f"recorded-{own}"), own)
            for i, (file, fault, own, case) in enumerate(tqdm(due, desc="restores", unit="run")):
                Path(folder, f"{i}").mkdir()
                outcome = case(Path(folder, f"recorded-{own}"), Path(folder, f"{i}"))
                outcome = replace(outcome, ended=outcome.ended.replace(f"{folder}/{i}/", ""))
                note({"file": file, "fault": fault} | asdict(outcome))
    finally:
        ray.shutdown()


def table(rows: list[dict[str, Any]]) -> list[str]:
    """The measured cases as lines of Markdown; faults of a file with the same outcome share a line."""
    lines = ["| file | fault | the restored run | learned | repeated | lost | s, at most |", "|---" * 7 + "|"]
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    place = {case[:2]: i for i, case in enumerate(CASES)}
    for r in sorted(rows, key=lambda r: place[r["file"], r["fault"]]):
        if r["ended"]:
            key = r["file"], f"ends with {r['ended']}", "-", "-", "-"
        else:
            what = "goes on to its end" if r["trials"] == TRIALS else f"ends with {r['trials']} trials in all"
            key = r["file"], what, f"{r['learned']} of {r['finished']}", r["repeated"], r["lost"]
        groups[key].append(r)
    for (file, *cells), group in groups.items():
        seconds = f"{max(r['seconds'] for r in group):.1f}"
        faults = ", ".join(r["fault"] or "none" for r in group)
        lines.append("| " + " | ".join(map(str, [file or "none", faults, *cells, seconds])) + " |")
    return lines
