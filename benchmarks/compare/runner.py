"""Run samplers on problems through ``study.ask`` and ``study.tell``, in parallel, resumably.

Each finished run is written at once to the results file, as a line of JSON; runs already there are not repeated.
"""

from __future__ import annotations

from benchmarks import processes

processes.one_thread()  # one core per run, for all samplers; before NumPy is loaded

# isort: split
import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from numpy.typing import NDArray
from optuna.samplers import BaseSampler
from optuna.study import Study

from benchmarks.arguments import add_name, add_names, add_runs, one_of, results
from benchmarks.problems import noisy
from benchmarks.problems.problem import Params, Problem
from benchmarks.problems.suites import COMPARED, PROBLEMS, SUITES, make
from benchmarks.samplers.registry import SAMPLERS
from benchmarks.storage import load

Array = NDArray[np.float64]

ASK_WINDOW = 20
#: Numbers of trials at which the best-so-far curve is recorded.
CURVE = np.unique(np.geomspace(1, 10_000, 90).astype(int))
#: Random points whose values are predicted.
HELD_OUT = 200
#: Number of standard deviations around the mean within which 90 % of a normal distribution lie.
WIDTH = 1.645


@dataclass
class Course:
    """What happened in a study, by trial: arrays (trials,); regrets and values are NaN where a trial failed."""

    study: Study
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
    sampler: BaseSampler,
    seed: int,
    trials: int,
    name: str = "",
    *,
    width: int = 1,
    mark: Callable[[int, Study], None] | None = None,
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
    """One study: figures at the checkpoints, and the curve of the best regret."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    problem = make(problem_name)
    figures = _recommendations if problem.recommended else _best_trials
    row = {"problem": problem_name, "sampler": sampler_name, "seed": seed, "trials": trials}
    return row | figures(problem, SAMPLERS[sampler_name](seed), seed, trials, problem_name)


def _best_trials(problem: Problem, sampler: BaseSampler, seed: int, trials: int, name: str) -> dict[str, Any]:
    """Regrets and the median ask time at the checkpoints, and the curve.

    The best regret is that of the trial with the best value told, including noise, as a user sees it.
    """
    course = follow(problem, sampler, seed, trials, name)
    regrets = course.regrets
    best = course.best
    asks = course.asks
    failed = course.failed
    points = [c for c in problem.checkpoints if c <= trials]
    return {
        "seconds": course.seconds,
        "best": {str(c): float(best[c - 1]) for c in points},
        "mean_regret": {str(c): float(np.nanmean(regrets[:c])) for c in points},
        **({"failed": {str(c): int(failed[:c].sum()) for c in points}} if failed.any() else {}),
        "ask_ms": {str(c): _last(asks, c) for c in points},
        "ask_seconds": float(asks.sum()),
        "curve": [[int(t), float(best[t - 1])] for t in CURVE if t <= trials],
    }


def _recommendations(problem: Problem, sampler: BaseSampler, seed: int, trials: int, name: str) -> dict[str, Any]:
    """Regrets of what is recommended, and the median of the last ask times, at the checkpoints.

    What an exact GP on the sampler's own trials recommends is recorded as well, so that searches can be compared, and
    not only recommendations; and, for numbo's, how many values at random points lie in their predicted 90 % intervals.
    """

    @cache
    def regret(params: tuple[tuple[str, Any], ...]) -> float:
        return float(problem.function(dict(params)) - problem.minimum)

    figures: dict[str, dict[str, float]] = {"best": {}, "by_gp": {}}
    held_out = noisy.random_points(problem, HELD_OUT) if hasattr(sampler, "predict") else []
    told = problem.told or (lambda params, rng: problem.function(params) + problem.noise * rng.normal())
    values = [told(params, np.random.default_rng((seed, 2, i))) for i, params in enumerate(held_out)]

    def mark(t: int, study: Study) -> None:
        if t not in problem.checkpoints:
            return
        for kind, find in (("best", recommended), ("by_gp", by_gp)):
            figures[kind][str(t)] = regret(tuple(find(study).items()))
        if held_out:
            figures.setdefault("covered", {})[str(t)] = covered(study, held_out, values)

    course = follow(problem, sampler, seed, trials, name, mark=mark)
    figures["ask_ms"] = {t: _last(course.asks, int(t)) for t in figures["best"]}
    return {
        "seconds": course.seconds,
        **figures,
        "ask_seconds": float(course.asks.sum()),
        "curve": [[int(t), found] for t, found in figures["best"].items()],
    }


def _last(asks: Array, t: int) -> float:
    """The median in milliseconds of the last ask times (trials,) until trial ``t``."""
    return 1e3 * float(np.median(asks[max(0, t - ASK_WINDOW) : t]))


def recommended(study: Study) -> Params:
    """What the sampler of a study recommends: `best_predicted` for numbo's, the best trial for others."""
    find = getattr(study.sampler, "best_predicted", None)
    found = None if find is None else find(study)
    return study.best_params if found is None else found[0]


def by_gp(study: Study) -> Params:
    """What an exact GP on all trials of a study recommends."""
    from numbo.optuna import GPUCBSampler

    found = GPUCBSampler(seed=0).best_predicted(study)
    assert found is not None
    return found[0]


def covered(study: Study, points: list[Params], values: list[float]) -> float:
    """Share of the values at points that lie in the 90 % intervals that a study's sampler predicts."""
    from numbo.optuna import explain, predict

    mean, std = predict(study, points)
    return float(np.mean(np.abs(values - mean) <= WIDTH * np.hypot(std, explain(study).noise_std)))


def run(path: Path, problems: list[str], samplers: list[str], seeds: int, trials: int, jobs: int) -> None:
    """Run what is missing in ``path``; seeds vary slowest, so that an interrupted benchmark is still balanced.

    Failed runs, such as those of a sampler that cannot search a space, are reported and left out.
    """
    done = {(r["problem"], r["sampler"], r["seed"], r["trials"]) for r in load(path)}
    todo = [(p, s, seed, trials) for seed in range(seeds) for s in samplers for p in problems]
    processes.record(path, run_one, [job for job in todo if job not in done], jobs, fresh=True, lenient=True)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_name(parser, "suite")
    add_names(
        parser, "--suites", "suite", SUITES, list(COMPARED), help=f"{', '.join(SUITES)}; the first five by default"
    )
    single = one_of("problem", PROBLEMS, str)
    parser.add_argument(
        "--problems", nargs="+", metavar="PROBLEM", type=single, help="single problems, in place of suites"
    )
    add_names(parser, "--samplers", "sampler", SAMPLERS, ["GSSBO"], help="GSSBO by default")
    add_runs(parser, seeds=5, jobs=2)
    parser.add_argument("--trials", type=int, default=1000)


def main(arguments: argparse.Namespace) -> None:
    a = arguments
    problems = a.problems or [problem for suite in a.suites for problem in SUITES[suite]]
    run(results(a), problems, a.samplers, a.seeds, a.trials, a.jobs)
