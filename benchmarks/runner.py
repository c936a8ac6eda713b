"""Run samplers on problems through ``study.ask`` and ``study.tell``, in parallel, resumably.

One line of JSON a finished run goes to the results file at once; a run that is already there is not run again.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")  # one core a run, for everybody; before NumPy is loaded

import json
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

import optuna
from benchmarks.problems import PROBLEMS, Problem
from benchmarks.samplers import SAMPLERS
from benchmarks.storage import load

CHECKPOINTS = (100, 300, 500, 1000)
ASK_WINDOW = 20


def suggest(trial: optuna.Trial, problem: Problem) -> NDArray[np.float64]:
    """The point (d,) of a trial of ``problem``."""
    return np.array([trial.suggest_float(f"x{i}", problem.low, problem.high) for i in range(problem.d)])


def run_one(problem_name: str, sampler_name: str, seed: int, trials: int) -> dict[str, Any]:
    """One study; regrets at the checkpoints, the best-so-far curve, and the median ask time before each checkpoint."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    problem = PROBLEMS[problem_name]
    study = optuna.create_study(sampler=SAMPLERS[sampler_name](seed))
    regrets, asks = np.empty(trials), np.empty(trials)
    started = time.perf_counter()
    for t in range(trials):
        before = time.perf_counter()
        trial = study.ask()
        x = suggest(trial, problem)
        asks[t] = time.perf_counter() - before
        value = problem.function(x)
        study.tell(trial, value)
        regrets[t] = value - problem.minimum
    best = np.minimum.accumulate(regrets)
    points = [c for c in CHECKPOINTS if c <= trials]
    curve = np.unique(np.geomspace(1, trials, 60).astype(int))
    return {
        "problem": problem_name,
        "sampler": sampler_name,
        "seed": seed,
        "trials": trials,
        "seconds": time.perf_counter() - started,
        "best": {str(c): float(best[c - 1]) for c in points},
        "mean_regret": {str(c): float(regrets[:c].mean()) for c in points},
        "ask_ms": {str(c): 1e3 * float(np.median(asks[c - ASK_WINDOW : c])) for c in points},
        "ask_seconds": float(asks.sum()),
        "curve": [[int(t), float(best[t - 1])] for t in curve],
    }


def run(path: Path, problems: list[str], samplers: list[str], seeds: int, trials: int, jobs: int) -> None:
    """Run what is missing in ``path``; seeds vary slowest, so that an interrupted benchmark is still balanced."""
    done = {(r["problem"], r["sampler"], r["seed"], r["trials"]) for r in load(path)}
    todo = [(p, s, seed, trials) for seed in range(seeds) for s in samplers for p in problems]
    todo = [job for job in todo if job not in done]
    path.parent.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(jobs, max_tasks_per_child=1) as pool, path.open("a") as file:
        futures = {pool.submit(run_one, *job): job for job in todo}
        for future in tqdm(as_completed(futures), total=len(todo), desc=path.stem, unit="run"):
            file.write(json.dumps(future.result()) + "\n")
            file.flush()
