"""Run samplers on problems through ``study.ask`` and ``study.tell``, in parallel, resumably.

Each finished run is written at once to the results file, as a line of JSON; runs already there are not repeated.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")  # one core per run, for all samplers; before NumPy is loaded

import json
import time
import warnings
from collections.abc import Callable
from concurrent.futures import as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

import optuna
from benchmarks import processes
from benchmarks.problems import noisy
from benchmarks.problems.suites import Problem, make
from benchmarks.samplers.registry import SAMPLERS
from benchmarks.storage import load

Array = NDArray[np.float64]

ASK_WINDOW = 20
#: Numbers of trials at which the best-so-far curve is recorded.
CURVE = np.unique(np.geomspace(1, 10_000, 90).astype(int))


@dataclass
class Course:
    """What happened in a study, by trial: arrays (trials,); regrets and values are NaN where a trial failed."""

    study: optuna.Study
    #: Without noise, as is `best`, the regret of the trial with the best value told so far.
    regrets: Array
    best: Array
    told: Array
    #: Seconds.
    asks: Array
    failed: NDArray[np.bool_]
    seconds: float = 0.0


def follow(
    problem: Problem,
    sampler: optuna.samplers.BaseSampler,
    seed: int,
    trials: int,
    name: str = "",
    *,
    width: int = 1,
    mark: Callable[[int, optuna.Study], None] | None = None,
) -> Course:
    """One study, in rounds of ``width`` trials that are all asked for before the first one is told.

    ``mark`` is called after each trial with their number so far. Problems that are judged by what is recommended get no
    regrets, since a value without noise can take many trainings.
    """
    noise = np.random.default_rng((seed, 1))
    chance = np.random.default_rng((seed, 2))
    study = optuna.create_study(sampler=sampler)
    study.set_user_attr("problem", name)
    regrets, best, told, asks = (np.full(trials, np.nan) for _ in range(4))
    course = Course(study, regrets, best, told, asks, np.zeros(trials, dtype=bool))
    lowest = np.inf
    started = time.perf_counter()
    for first in range(0, trials, width):
        asked = []
        for t in range(first, min(first + width, trials)):
            before = time.perf_counter()
            asked.append(problem.ask(study))
            asks[t] = time.perf_counter() - before
        for t, trial in enumerate(asked, first):
            if problem.fails(trial.params) or (problem.failure_rate > 0.0 and chance.random() < problem.failure_rate):
                study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
                course.failed[t] = True
                best[t] = best[t - 1] if t else np.inf
            else:
                value = np.nan if problem.recommended and problem.told else problem.value(trial)
                asks[t] += getattr(trial, "seconds", 0.0)  # what a program asks for as it goes
                told[t] = problem.told(trial.params, noise) if problem.told else value + problem.noise * noise.normal()
                study.tell(trial.number, told[t])
                regrets[t] = value - problem.minimum
                best[t] = regrets[t] if told[t] < lowest else best[t - 1]
                lowest = min(lowest, told[t])
            if mark is not None:
                mark(t + 1, study)
    course.seconds = time.perf_counter() - started
    return course


def run_one(problem_name: str, sampler_name: str, seed: int, trials: int) -> dict[str, Any]:
    """One study: regrets and the median ask time at the checkpoints, and the curve of the best regret.

    The best regret is that of the trial with the best value told, including noise, as a user sees it.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    problem = make(problem_name)
    if problem.recommended:
        started = time.perf_counter()
        figures = noisy.run_one(problem, SAMPLERS[sampler_name](seed), seed, trials)
        key = {"problem": problem_name, "sampler": sampler_name, "seed": seed, "trials": trials}
        return key | {"seconds": time.perf_counter() - started} | figures
    course = follow(problem, SAMPLERS[sampler_name](seed), seed, trials, problem_name)
    regrets = course.regrets
    best = course.best
    asks = course.asks
    failed = course.failed
    points = [c for c in problem.checkpoints if c <= trials]
    return {
        "problem": problem_name,
        "sampler": sampler_name,
        "seed": seed,
        "trials": trials,
        "seconds": course.seconds,
        "best": {str(c): float(best[c - 1]) for c in points},
        "mean_regret": {str(c): float(np.nanmean(regrets[:c])) for c in points},
        **({"failed": {str(c): int(failed[:c].sum()) for c in points}} if failed.any() else {}),
        "ask_ms": {str(c): 1e3 * float(np.median(asks[c - ASK_WINDOW : c])) for c in points},
        "ask_seconds": float(asks.sum()),
        "curve": [[int(t), float(best[t - 1])] for t in CURVE if t <= trials],
    }


def run(path: Path, problems: list[str], samplers: list[str], seeds: int, trials: int, jobs: int) -> None:
    """Run what is missing in ``path``; seeds vary slowest, so that an interrupted benchmark is still balanced.

    Failed runs, such as those of a sampler that cannot search a space, are reported and left out.
    """
    done = {(r["problem"], r["sampler"], r["seed"], r["trials"]) for r in load(path)}
    todo = [(p, s, seed, trials) for seed in range(seeds) for s in samplers for p in problems]
    todo = [job for job in todo if job not in done]
    path.parent.mkdir(parents=True, exist_ok=True)
    with processes.one_each(jobs) as submit, path.open("a") as file:
        futures = {submit(run_one, *job): job for job in todo}
        for future in tqdm(as_completed(futures), total=len(todo), desc=path.stem, unit="run"):
            error = future.exception()
            if error is not None:
                tqdm.write(f"{futures[future]} failed: {error!r}")
                continue
            file.write(json.dumps(future.result()) + "\n")
            file.flush()
