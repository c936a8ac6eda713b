"""Cost of a searcher to Ray Tune's control loop: simulated workers, and a real local Ray with quick trials.

A third part (``--cluster``) runs a real cluster of several nodes on one machine. Its trials sleep, and nodes are killed
and added at random. A thousand real workers do not fit on one machine: each is a process of about 100 MB (4.2 GB
measured for 44), and takes some seconds of a core to start. So they are simulated.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import ray
from ray import tune
from ray.cluster_utils import Cluster
from ray.tune.search import Searcher
from tqdm import tqdm

from benchmarks.arguments import add_names
from benchmarks.problems.functions import levy
from benchmarks.storage import RESULTS

DIMENSIONS = 20
WORKERS = 64
SPACE = {f"x{i}": tune.uniform(-10.0, 10.0) for i in range(DIMENSIONS)}
#: Number of suggestions whose median is reported at each size.
WINDOW = 100
SIZES = (100, 300, 1000, 3000, 10_000)
#: Set unless they are already: Tune itself writes little.
ENVIRONMENT = {
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "RAY_AIR_NEW_OUTPUT": "0",
    "TUNE_PRINT_ALL_TRIAL_ERRORS": "0",
    "RAY_worker_niceness": "0",  # with Ray's own 15, workers hardly start on a busy machine
}


def _numbo(name: str) -> Callable[[], Searcher]:
    def make() -> Searcher:
        import numbo.ray

        return getattr(numbo.ray, name)(seed=0)

    return make


def _optuna(name: str) -> Callable[[], Searcher]:
    def make() -> Searcher:
        import optuna
        from ray.tune.search.optuna import OptunaSearch

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        return OptunaSearch(sampler=getattr(optuna.samplers, name)(seed=0))

    return make


#: Searchers, and the maximum number of simulated trials for each.
SEARCHERS: dict[str, tuple[Callable[[], Searcher], int]] = {
    "GSSBOSearch": (_numbo("GSSBOSearch"), 10_000),
    "BKBSearch": (_numbo("BKBSearch"), 10_000),
    "BBKBSearch": (_numbo("BBKBSearch"), 10_000),
    "SBPESearch": (_numbo("SBPESearch"), 10_000),
    "OptunaSearch(TPE)": (_optuna("TPESampler"), 1000),
    "OptunaSearch(GPSampler)": (_optuna("GPSampler"), 100),
}


def objective(config: dict[str, float]) -> float:
    """Levy's function in 20 dimensions."""
    return levy(np.array([config[name] for name in SPACE]))


def simulate(name: str, trials: int, workers: int) -> list[dict[str, Any]]:
    """Drive a searcher with ``workers`` workers that finish out of order; a row for each of `SIZES`.

    The processor time of a trial (``cpu_ms``), in both methods of the searcher, is the mean since the row before: it
    depends little on what else the machine does, and counts the rare suggestions for which hyperparameters are fitted.
    """
    make, most = SEARCHERS[name]
    searcher = make()
    searcher.set_search_properties("loss", "min", SPACE, num_samples=trials)
    rng = np.random.default_rng(0)
    live: dict[str, dict[str, float]] = {}
    suggested: list[float] = []
    completed: list[float] = []
    alike = 0
    best = np.inf
    rows = []
    worked = 0.0
    since = 0
    for i in tqdm(range(min(trials, most)), desc=name, unit="trial"):
        while len(live) >= workers:
            trial = list(live)[min(int(rng.geometric(0.05)) - 1, len(live) - 1)]
            config = live.pop(trial)
            value = objective(config)
            best = min(best, value)
            processor = time.thread_time()
            started = time.perf_counter()
            searcher.on_trial_complete(trial, {"loss": value, "config": config})
            completed.append(time.perf_counter() - started)
            worked += time.thread_time() - processor
        processor = time.thread_time()
        started = time.perf_counter()
        suggestion = searcher.suggest(f"t{i}")
        suggested.append(time.perf_counter() - started)
        worked += time.thread_time() - processor
        assert isinstance(suggestion, dict)
        alike += suggestion in live.values()
        live[f"t{i}"] = suggestion
        if i + 1 in SIZES:
            row: dict[str, Any] = {"searcher": name, "workers": workers, "trials": i + 1}
            row |= _recent(suggested, completed)
            row |= {"cpu_ms": 1e3 * worked / (i + 1 - since), "alike": alike, "best": best}
            rows.append(row)
            worked = 0.0
            since = i + 1
    return rows


def _recent(suggested: list[float], completed: list[float]) -> dict[str, float]:
    times = 1e3 * np.array(suggested[-WINDOW:])
    done = 1e3 * np.array(completed[-WINDOW:] or [np.nan])
    return {
        "median_ms": float(np.median(times)),
        "q90_ms": float(np.quantile(times, 0.9)),
        "complete_ms": float(np.median(done)),
    }


class Clocked(Searcher):
    """Passes all calls on to a searcher, and keeps the times in seconds of those that returned, by method.

    Calls of ``suggest`` without a suggestion, at the limit of trials at once, are under ``refused``.
    """

    def __init__(self, searcher: Searcher) -> None:
        super().__init__()
        self.seconds: dict[str, list[float]] = {"refused": []}
        self.set_search_properties = searcher.set_search_properties
        self.set_max_concurrency = searcher.set_max_concurrency
        for name in ("suggest", "on_trial_result", "on_trial_complete", "save"):
            setattr(self, name, self._clocked(name, getattr(searcher, name)))

    def _clocked(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        self.seconds[name] = []

        def call(*args: Any, **kwargs: Any) -> Any:
            started = time.perf_counter()
            answer = method(*args, **kwargs)
            refused = name == "suggest" and answer is None
            self.seconds["refused" if refused else name].append(time.perf_counter() - started)
            return answer

        return call

    @property
    def spent(self) -> float:
        """Seconds in all calls."""
        return sum(map(sum, self.seconds.values()))

    def __getstate__(self) -> dict[str, Any]:
        return {}


def run_for_real(name: str, trials: int) -> dict[str, Any]:
    """Quick trials on a local Ray; the driver's time in the searcher, and in total."""
    make, _ = SEARCHERS[name]
    searcher = Clocked(make())

    def trainable(config: dict[str, float]) -> None:
        tune.report({"loss": sum((v - 1.0) ** 2 for v in config.values())})

    started = time.perf_counter()
    tuner = tune.Tuner(
        trainable,
        param_space=SPACE,
        tune_config=tune.TuneConfig(
            metric="loss", mode="min", search_alg=searcher, num_samples=trials, reuse_actors=True
        ),
        run_config=tune.RunConfig(name=f"numbo-scale-{os.getpid()}", verbose=0),
    )
    results = tuner.fit()
    best = results.get_best_result().metrics
    assert best is not None
    return {
        "searcher": name,
        "trials": len(results),
        "searcher_seconds": searcher.spent,
        "run_seconds": time.perf_counter() - started,
        "best": best["loss"],
    }


# -- a cluster -----------------------------------------------------------------------------------------------------


class Churn:
    """Kills random nodes of a cluster, and adds others, in a thread of its own."""

    def __init__(self, cluster: Cluster, cpus: int, pause: float) -> None:
        self.removed = 0
        self.error: Exception | None = None
        self._cluster = cluster
        self._cpus = cpus
        self._pause = pause
        self._over = Event()
        self._thread = Thread(target=self._run)

    def __enter__(self) -> Churn:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        rng = random.Random(0)
        try:
            while not self._over.wait(rng.uniform(0.5, 1.5) * self._pause):
                node = rng.choice(sorted(self._cluster.worker_nodes, key=lambda node: node.unique_id))
                self._cluster.remove_node(node, allow_graceful=False)
                self.removed += 1
                self._over.wait(rng.uniform(0.0, 0.5) * self._pause)
                self._cluster.add_node(num_cpus=self._cpus)
        except Exception as error:  # seen at the end of the run
            self.error = error


@contextmanager
def cluster_of(nodes: int, cpus: int, folder: str) -> Iterator[Cluster]:
    """A cluster on this machine, to which the driver is connected; its processes end with the block.

    Args:
        nodes: number of nodes beside the head, which runs no trials.
        cpus: trials at once on each node.
        folder: for the files of Ray; short, since names of sockets have at most 107 bytes.
    """
    cluster = Cluster(shutdown_at_exit=False)  # nodes are added in a thread, where no signal handler can be set
    try:
        cluster.add_node(num_cpus=0, include_dashboard=False, temp_dir=folder)
        for _ in range(nodes):
            cluster.add_node(num_cpus=cpus)
        ray.init(cluster.address, log_to_driver=False, logging_level="ERROR")
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


class Ends(tune.Callback):
    """The trials of a run, as they are at its end, and how often one had to run again."""

    def __init__(self) -> None:
        self.trials: list[Any] = []
        self.restarts = 0

    def on_trial_recover(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self.restarts += 1

    def on_experiment_end(self, trials: list[Any], **info: Any) -> None:
        self.trials = trials


def run_on_cluster(
    name: str, trials: int, at_once: int, *, nodes: int = 4, seconds: float = 10.0, pause: float = 60.0
) -> dict[str, Any]:
    """Trials that sleep on a cluster whose nodes come and go.

    Args:
        name: of the searcher.
        trials: number of trials.
        at_once: trials that run at once while no node is missing, in a process each.
        nodes: number of nodes.
        seconds: mean duration of a trial, which varies by half of it.
        pause: mean number of seconds from one new node to the next loss of one.

    Returns:
        What became of the trials, and the share of the control loop's time that the searcher took.
    """
    searcher = Clocked(SEARCHERS[name][0]())
    ends = Ends()

    def trainable(config: dict[str, float]) -> None:
        time.sleep(seconds * random.uniform(0.5, 1.5))
        tune.report({"loss": sum((v - 1.0) ** 2 for v in config.values())})

    with tempfile.TemporaryDirectory(prefix="ray") as folder, cluster_of(nodes, at_once // nodes, folder) as cluster:
        tuner = tune.Tuner(
            trainable,
            param_space=SPACE,
            tune_config=tune.TuneConfig(
                metric="loss",
                mode="min",
                search_alg=searcher,
                num_samples=trials,
                max_concurrent_trials=at_once,  # without it, Tune starts one process after the other
                reuse_actors=True,
            ),
            run_config=tune.RunConfig(
                storage_path=folder,
                name="run",
                verbose=0,
                failure_config=tune.FailureConfig(max_failures=-1),
                callbacks=[ends],
            ),
        )
        started = time.perf_counter()
        worked = time.thread_time()
        with Churn(cluster, at_once // nodes, pause) as churn:
            tuner.fit()
        loop = time.thread_time() - worked
        whole = time.perf_counter() - started
    if churn.error is not None:  # as on a busy machine, where a node took too long to start
        print(f"No more nodes were lost or added: {churn.error}")
    return {
        "searcher": name,
        "at_once": at_once,
        "trials": len(ends.trials),
        "lost": trials - sum(trial.status == "TERMINATED" for trial in ends.trials),
        "alike": len(ends.trials) - len({tuple(trial.config.values()) for trial in ends.trials}),
        "nodes_removed": churn.removed,
        "restarts": ends.restarts,
        "run_seconds": whole,
        "searcher_share": searcher.spent / whole,
        "loop_cpu_share": loop / whole,
        "loop_cpu_ms": 1e3 * loop / trials,
        **_times("suggest", searcher.seconds["suggest"]),
        **_times("complete", searcher.seconds["on_trial_complete"]),
    }


def _times(name: str, seconds: list[float]) -> dict[str, float]:
    return {f"{name}_ms": 1e3 * float(np.median(seconds)), f"{name}_longest_ms": 1e3 * max(seconds)}


def measure(
    results: Path, names: list[str], trials: int, real: int, cluster: int, *, workers: list[int], at_once: int
) -> None:
    """Print all tables and write them to files: ``ray-scale.csv``, ``ray-real.csv`` and ``ray-cluster.csv``.

    Simulations of other numbers of workers than 64 are in ``ray-workers.csv``.
    """
    results.mkdir(parents=True, exist_ok=True)
    if trials:
        rows = [row for number in workers for name in names for row in simulate(name, trials, number)]
        _write(results / ("ray-scale.csv" if workers == [WORKERS] else "ray-workers.csv"), rows)
    for variable, value in ENVIRONMENT.items():
        os.environ.setdefault(variable, value)
    if real:
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        rows = []
        for name in names:
            rows.append(run_for_real(name, min(real, SEARCHERS[name][1])))
            _write(results / "ray-real.csv", rows)
        ray.shutdown()
    if cluster:
        _write(results / "ray-cluster.csv", [run_on_cluster(name, cluster, at_once) for name in names])


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        print("  ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{v}" for k, v in row.items()))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_names(parser, "--searchers", "searcher", SEARCHERS)
    parser.add_argument("--trials", type=int, default=10_000, help="trials of simulated workers; 0 for none")
    parser.add_argument("--workers", type=int, nargs="+", default=[WORKERS], help="numbers of simulated workers")
    parser.add_argument("--real", type=int, default=1000, help="quick trials on a local Ray; 0 for none")
    parser.add_argument("--cluster", type=int, default=0, metavar="TRIALS", help="trials on a cluster; 0 for none")
    parser.add_argument("--at-once", type=int, default=16, help="trials at once on the cluster, in a process each")


def main(arguments: argparse.Namespace) -> None:
    measure(
        RESULTS,
        arguments.searchers,
        arguments.trials,
        arguments.real,
        arguments.cluster,
        workers=arguments.workers,
        at_once=arguments.at_once,
    )
