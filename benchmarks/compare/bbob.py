"""COCO's noiseless functions (suite ``bbob``): when targets are reached, beside lq-CMA-ES and others as recorded.

It needs ``pip install coco-experiment`` (BSD 3-clause license). A run is one instance of one of 24 functions in the box
[-5, 5]^d. It is recorded at which evaluation each target, a value above the optimum's, was reached first; a run ends
when it has reached the last one. GSSBO is asked without Optuna; the others are the samplers of `run`.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution

from benchmarks import processes
from benchmarks.arguments import add_name, add_names, one_of, results
from benchmarks.problems.bbob import BOX, CHECKPOINTS, DIMENSIONS, FUNCTIONS, TARGETS, problem
from benchmarks.problems.spaces import floats
from benchmarks.samplers.registry import SAMPLERS
from benchmarks.samplers.search import Core, Study
from benchmarks.storage import load

#: A run: sampler, dimension, function, instance, and largest number of evaluations.
Job = tuple[str, int, int, int, int]


def search(sampler: str, space: dict[str, BaseDistribution], seed: int) -> Core | Study:
    """A search that asks for a configuration and is told a list of its value."""
    return Core(space, 1, seed) if sampler == "GSSBO" else Study(space, SAMPLERS[sampler](seed))


def run_one(sampler: str, dimension: int, function: int, instance: int, evaluations: int) -> dict[str, Any]:
    """One run of at most ``evaluations``: what `summary` says of it, and the mean time of a suggestion."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    value_at, smallest = problem(function, dimension, instance)
    space = floats(**{f"x{j}": (-BOX, BOX) for j in range(dimension)})
    one = search(sampler, space, 1000 * function + instance)
    best = list[float]()
    lowest = math.inf
    asking = 0.0
    while len(best) < evaluations and lowest > TARGETS[-1]:
        started = time.perf_counter()
        params = one.ask()
        asking += time.perf_counter() - started
        value = float(value_at(np.array([params[name] for name in space])))
        one.tell([value])
        lowest = min(lowest, value - smallest)
        best.append(lowest)
    row = {"sampler": sampler, "dimension": dimension, "function": function, "instance": instance}
    return row | summary(best, dimension, evaluations) | {"ask_ms": round(1e3 * asking / len(best), 3)}


def summary(best: Sequence[float], dimension: int, budget: int) -> dict[str, Any]:
    """What is recorded of the best values so far, above the optimum's, of a run that may have ended before its budget.

    ``hits`` has the evaluation that first reached each of the `TARGETS`, or None; ``best`` the best value by number of
    evaluations.
    """
    reached = [next((n for n, value in enumerate(best, 1) if value <= target), None) for target in TARGETS]
    last = budget if reached[-1] is None else math.inf
    points = [dimension * k for k in CHECKPOINTS if dimension * k <= last]
    return {
        "budget": budget,
        "evaluations": len(best),
        "hits": reached,
        "best": {str(n): float(f"{best[min(n, len(best)) - 1]:.6g}") for n in points},
        "end": float(f"{best[-1]:.6g}"),
    }


def jobs(
    samplers: Sequence[str], dimensions: Sequence[int], functions: Sequence[int], instances: int, evaluations: int
) -> list[Job]:
    """The runs that are asked for; instances vary slowest, so that an interrupted benchmark is still balanced."""
    found = itertools.product(range(1, instances + 1), dimensions, functions, samplers)
    return [(sampler, d, f, i, evaluations) for i, d, f, sampler in found]


def run(path: Path, wanted: Sequence[Job], jobs_at_once: int) -> None:
    """Run what is missing in ``path``, and report runs that fail.

    A run that reached the last target is not made again with a larger budget.
    """
    done = dict[tuple[Any, ...], float]()
    for row in load(path):
        key = (row["sampler"], row["dimension"], row["function"], row["instance"])
        done[key] = max(done.get(key, 0.0), row["budget"] if row["hits"][-1] is None else math.inf)
    todo = [job for job in wanted if done.get(job[:-1], 0.0) < job[-1]]
    processes.record(path, run_one, todo, jobs_at_once, lenient=True)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_name(parser, "bbob")
    add_names(parser, "--samplers", "sampler", SAMPLERS, ["GSSBO"], help="GSSBO by default")
    for kind, known, default, which in (
        ("dimension", DIMENSIONS, (10, 20, 40), "2, 3, 5, 10, 20, 40; the last three by default"),
        ("function", FUNCTIONS, FUNCTIONS, "1 to 24, all by default"),
    ):
        numbers: dict[str, Any] = {"type": one_of(kind, known, int), "default": list(default)}
        parser.add_argument(f"--{kind}s", nargs="+", metavar="NUMBER", help=which, **numbers)
    parser.add_argument("--instances", type=int, default=15, help="number of instances of each function")
    parser.add_argument("--evaluations", type=int, default=1000, help="largest number of evaluations of a run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="number of runs at the same time")
    parser.add_argument("--report", action="store_true", help="only the tables and plots of the runs that there are")


def main(arguments: argparse.Namespace) -> None:
    a = arguments
    path = results(a)
    if not a.report:
        run(path, jobs(a.samplers, a.dimensions, a.functions, a.instances, a.evaluations), a.jobs)
    from benchmarks.compare.bbob_report import write_report  # needs Matplotlib, which runs do not

    write_report(path)
