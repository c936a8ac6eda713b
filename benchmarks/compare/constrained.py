"""Searches under constraints: when a feasible point is found, and the best one after some trials.

The problems are those of `benchmarks.problems.constrained`.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial

from benchmarks.arguments import results
from benchmarks.compare import searches
from benchmarks.problems.constrained import APART, PROBLEMS, Problem, problem
from benchmarks.samplers.scbo import SCBO
from benchmarks.samplers.search import InCube, Study

MARKS = (50, 100, 300, 1000)
#: Samplers whose suggestions take long make fewer trials.
SHORT = {"GPSampler": 100}


# -- samplers --------------------------------------------------------------------------------------------------------


def _constraints(trial: FrozenTrial) -> Sequence[float]:
    return tuple(trial.user_attrs["c"])


def _gssbo(seed: int) -> BaseSampler:
    from numbo.optuna import GSSBOSampler

    return GSSBOSampler(seed=seed, constraints_func=_constraints)


SAMPLERS: dict[str, Callable[[int], BaseSampler]] = {
    "GSSBO": _gssbo,
    "TPE": lambda seed: optuna.samplers.TPESampler(seed=seed, constraints_func=_constraints),
    "NSGA-II": lambda seed: optuna.samplers.NSGAIISampler(seed=seed, constraints_func=_constraints),
    "GPSampler": lambda seed: optuna.samplers.GPSampler(seed=seed, constraints_func=_constraints),
    "Random": lambda seed: optuna.samplers.RandomSampler(seed=seed),
}
#: All of these, and a peer that needs BoTorch.
NAMES = (*SAMPLERS, "SCBO")


def search(sampler: str, of: Problem, seed: int) -> InCube | Study:
    """A search by one of the `NAMES`."""
    return (
        InCube(of.space, SCBO(len(of.space), seed)) if sampler == "SCBO" else Study(of.space, SAMPLERS[sampler](seed))
    )


def run_one(sampler: str, name: str, seed: int, trials: int) -> dict[str, Any]:
    """One run: the best feasible values at the marks, None before the first, and when that was found."""
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    of = problem(name)
    number = zlib.crc32(f"{name} {seed}".encode())
    one = search(sampler, of, number)
    best = math.inf
    first = None
    marks = list[float | None]()
    asks = list[float]()
    for n in range(1, min(trials, SHORT.get(sampler, trials)) + 1):
        started = time.perf_counter()
        params = one.ask()
        asks.append(1e3 * (time.perf_counter() - started))
        value, limits = of.evaluate(params)
        one.tell(value, limits)
        if max(limits) <= 0.0:
            first = n if first is None else first
            best = min(best, value)
        if n in MARKS:
            marks.append(best if first is not None else None)
    return {
        "sampler": sampler,
        "problem": name,
        "seed": seed,
        "trials": trials,
        "best": marks,
        "first": first,
        "ask_ms": round(float(np.median(asks)), 3),
    }


def run(path: Path, jobs: Sequence[searches.Job], jobs_at_once: int) -> None:
    """Run what is missing in ``path``."""
    searches.run(path, run_one, jobs, jobs_at_once)


# -- the report ----------------------------------------------------------------------------------------------------


def ranks(rows: list[dict[str, Any]], names: Sequence[str], mark: int) -> dict[str, float]:
    """Mean ranks of the samplers that have run to a mark, over problems and seeds that all of them have."""

    def best(row: dict[str, Any]) -> float | None:
        """Infinite where nothing was found."""
        if mark >= len(row["best"]):
            return None
        return math.inf if row["best"][mark] is None else float(row["best"][mark])

    samplers = [name for name in SAMPLERS if any(row["sampler"] == name and mark < len(row["best"]) for row in rows)]
    return searches.mean_ranks(searches.outcomes(rows, names, samplers, best), samplers)


def write_report(path: Path) -> None:
    """Tables of all runs in ``path``, beside it."""
    intro = (
        "Best feasible value less the best known one, medians over seeds, after the number of trials; `-` where half "
        "of the seeds have found none. `found` is the trial of the first feasible point, median and worst."
    )
    searches.write_report(path, ["# Searches under constraints", "", intro], PROBLEMS, APART, _tables)


def _tables(rows: list[dict[str, Any]], names: Sequence[str]) -> list[str]:
    found = [ranks(rows, names, mark) for mark in range(len(MARKS))]
    lines = searches.rank_table(found, list(SAMPLERS), MARKS)
    lines += ["", "| problem | sampler | found | " + " | ".join(map(str, MARKS)) + " | seeds | ms |", "|---" * 9 + "|"]
    for problem_ in names:
        for name in NAMES:
            mine = [row for row in rows if row["problem"] == problem_ and row["sampler"] == name]
            if mine:
                lines.append(_line(problem_, name, mine))
    return lines


def _line(name: str, sampler: str, rows: list[dict[str, Any]]) -> str:
    first = sorted(math.inf if row["first"] is None else row["first"] for row in rows)
    cells = []
    for mark in range(len(MARKS)):
        best = [row["best"][mark] for row in rows if mark < len(row["best"])]
        gap = float(np.median([math.inf if value is None else value for value in best])) if best else math.nan
        shown = gap - problem(name).optimum
        cells.append("" if not best else "-" if math.isinf(gap) else f"{shown:.3g}")
    when = f"{np.median(first):.0f} / {first[-1]:.0f}"
    asks = float(np.median([row["ask_ms"] for row in rows]))
    return f"| {name} | {sampler} | {when} | {' | '.join(cells)} | {len(rows)} | {asks:.1f} |"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    searches.add_arguments(parser, "constrained", NAMES, SAMPLERS, PROBLEMS | APART)
    parser.add_argument("--trials", type=int, default=300)


def main(arguments: argparse.Namespace) -> None:
    path = results(arguments)
    if not arguments.report:
        run(path, searches.jobs_of(arguments, PROBLEMS, APART), arguments.jobs)
    write_report(path)
