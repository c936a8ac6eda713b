"""Cost of a searcher to Ray Tune's control loop: 64 simulated workers, and a real local Ray with quick trials."""

from __future__ import annotations

import argparse
import csv
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from ray.tune.search import Searcher
from tqdm import tqdm

from benchmarks.arguments import add_names
from benchmarks.problems.functions import levy
from benchmarks.storage import RESULTS
from ray import tune

DIMENSIONS = 20
WORKERS = 64
SPACE = {f"x{i}": tune.uniform(-10.0, 10.0) for i in range(DIMENSIONS)}
#: Number of suggestions whose median is reported at each size.
WINDOW = 100
SIZES = (100, 300, 1000, 3000, 10_000)


def _numbo(name: str) -> Callable[[], Searcher]:
    def make() -> Searcher:
        import numbo.ray

        return getattr(numbo.ray, name)(seed=0)

    return make


def _optuna(name: str) -> Callable[[], Searcher]:
    def make() -> Searcher:
        from ray.tune.search.optuna import OptunaSearch

        import optuna

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


def simulate(name: str, trials: int) -> list[dict[str, Any]]:
    """Drive a searcher with 64 workers that finish out of order; a row for each of `SIZES`."""
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
    for i in tqdm(range(min(trials, most)), desc=name, unit="trial"):
        while len(live) >= WORKERS:
            trial = list(live)[min(int(rng.geometric(0.05)) - 1, len(live) - 1)]
            config = live.pop(trial)
            value = objective(config)
            best = min(best, value)
            started = time.perf_counter()
            searcher.on_trial_complete(trial, {"loss": value, "config": config})
            completed.append(time.perf_counter() - started)
        started = time.perf_counter()
        suggestion = searcher.suggest(f"t{i}")
        suggested.append(time.perf_counter() - started)
        assert isinstance(suggestion, dict)
        alike += suggestion in live.values()
        live[f"t{i}"] = suggestion
        if i + 1 in SIZES:
            times = 1e3 * np.array(suggested[-WINDOW:])
            done = 1e3 * np.array(completed[-WINDOW:] or [0.0])
            rows.append(
                {
                    "searcher": name,
                    "trials": i + 1,
                    "median_ms": float(np.median(times)),
                    "q90_ms": float(np.quantile(times, 0.9)),
                    "complete_ms": float(np.median(done)),
                    "alike": alike,
                    "best": best,
                }
            )
    return rows


def run_for_real(name: str, trials: int) -> dict[str, Any]:
    """Quick trials on a local Ray; the driver's time in the searcher, and in total."""
    make, _ = SEARCHERS[name]
    searcher = make()
    spent = 0.0

    def clocked(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal spent
            started = time.perf_counter()
            try:
                return method(*args, **kwargs)
            finally:
                spent += time.perf_counter() - started

        return call

    class Clocked(Searcher):
        """Passes all calls on to the searcher and times them."""

        def __init__(self) -> None:
            super().__init__()
            self.suggest = clocked(searcher.suggest)
            self.on_trial_complete = clocked(searcher.on_trial_complete)
            self.set_search_properties = searcher.set_search_properties

        def __getstate__(self) -> dict[str, Any]:
            return {}

        def save(self, checkpoint_path: str) -> None:
            clocked(searcher.save)(checkpoint_path)

    def trainable(config: dict[str, float]) -> None:
        tune.report({"loss": sum((v - 1.0) ** 2 for v in config.values())})

    started = time.perf_counter()
    tuner = tune.Tuner(
        trainable,
        param_space=SPACE,
        tune_config=tune.TuneConfig(
            metric="loss", mode="min", search_alg=Clocked(), num_samples=trials, reuse_actors=True
        ),
        run_config=tune.RunConfig(name=f"numbo-scale-{os.getpid()}", verbose=0),
    )
    results = tuner.fit()
    best = results.get_best_result().metrics
    assert best is not None
    return {
        "searcher": name,
        "trials": len(results),
        "searcher_seconds": spent,
        "run_seconds": time.perf_counter() - started,
        "best": best["loss"],
    }


def measure(results: Path, names: list[str], trials: int, real: int) -> None:
    """Print both tables and write them to ``ray-scale.csv`` and ``ray-real.csv``."""
    results.mkdir(parents=True, exist_ok=True)
    if trials:
        _write(results / "ray-scale.csv", [row for name in names for row in simulate(name, trials)])
    if real:
        import ray

        os.environ.setdefault("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
        os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        rows = []
        for name in names:
            rows.append(run_for_real(name, min(real, SEARCHERS[name][1])))
            _write(results / "ray-real.csv", rows)


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        print("  ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{v}" for k, v in row.items()))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_names(parser, "--searchers", "searcher", SEARCHERS)
    parser.add_argument("--trials", type=int, default=10_000, help="trials of 64 simulated workers; 0 for none")
    parser.add_argument("--real", type=int, default=1000, help="quick trials on a local Ray; 0 for none")


def main(arguments: argparse.Namespace) -> None:
    measure(RESULTS, arguments.searchers, arguments.trials, arguments.real)
