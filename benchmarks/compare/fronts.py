"""Searches of several objectives: how much of the best known front is found after some trials.

The problems are those of `benchmarks.problems.fronts`. What is measured is the hypervolume that is missing: 1 less the
part of the best known front's volume that the points found so far dominate.
"""

from __future__ import annotations

import argparse
import time
import warnings
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler

from benchmarks.arguments import results
from benchmarks.compare import searches
from benchmarks.problems.fronts import APART, GAPS, KNOWN, PROBLEMS, Problem, nondominated, problem
from benchmarks.samplers.morbo import MORBO
from benchmarks.samplers.search import Core, InCube, Study

Space: TypeAlias = dict[str, BaseDistribution]
MARKS = (100, 300, 1000)
#: Of the problems with gaps, which only GSSBO runs on.
EARLY = (50, 100, 200)
#: Samplers whose suggestions take long make fewer trials.
SHORT = {"GPSampler": 100, "MORBO": 300}

OPTUNA: dict[str, Callable[[int], BaseSampler]] = {
    "TPE": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "NSGA-II": lambda seed: optuna.samplers.NSGAIISampler(seed=seed),
    "GPSampler": lambda seed: optuna.samplers.GPSampler(seed=seed),
    "Random": lambda seed: optuna.samplers.RandomSampler(seed=seed),
}
SAMPLERS = ("GSSBO", *OPTUNA)
#: All of these, and a peer that needs BoTorch.
NAMES = (*SAMPLERS, "MORBO")


def search(sampler: str, space: Space, k: int, seed: int) -> Core | Study:
    """A search by one of the `SAMPLERS` that asks for a configuration and is told its k objectives."""
    return Core(space, k, seed) if sampler == "GSSBO" else Study(space, OPTUNA[sampler](seed), k)


def _search(sampler: str, of: Problem, seed: int) -> Core | Study | InCube:
    """A search by one of the `NAMES`."""
    if sampler == "MORBO":
        return InCube(of.space, MORBO(len(of.space), of.far, seed))
    if sampler == "GSSBO":
        return Core(of.space, len(of.far), seed, limited=of.limits is not None)
    return search(sampler, of.space, len(of.far), seed)


def run_one(sampler: str, name: str, seed: int, trials: int) -> dict[str, Any]:
    """One run: the volumes at the marks, and the last front where the best one is not known."""
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    of = problem(name)
    number = zlib.crc32(f"{name} {seed}".encode())
    one = _search(sampler, of, number)
    rng = np.random.default_rng(number)
    marks = EARLY if name in GAPS else MARKS
    Y = list[Sequence[float]]()
    volumes = list[float]()
    asks = list[float]()
    for n in range(1, min(trials, SHORT.get(sampler, trials)) + 1):
        started = time.perf_counter()
        params = one.ask()
        asks.append(1e3 * (time.perf_counter() - started))
        Y.append(of.evaluate(params))
        one.tell(*_told(of, Y[-1], rng))
        if n in marks:
            volumes.append(of.volume(Y))
    row = {"sampler": sampler, "problem": name, "seed": seed, "trials": trials, "volume": volumes}
    if of.front is None:
        row["front"] = nondominated(np.array(Y)).tolist()
    return row | {"ask_ms": round(float(np.mean(asks)), 3)}


def _told(of: Problem, values: Sequence[float], rng: np.random.Generator) -> tuple[Any, ...]:
    """What a search is told of a point: its objectives, with noise if there is some, and its constraint."""
    noise = of.noise * rng.normal(size=len(values)) if of.noise else np.zeros(len(values))
    limits = () if of.limits is None else (float(of.limits(np.array([values]))[0]),)
    return tuple((np.array(values) + noise).tolist()), *limits


def run(path: Path, jobs: Sequence[searches.Job], jobs_at_once: int) -> None:
    """Run what is missing in ``path``."""
    searches.run(path, run_one, jobs, jobs_at_once)


# -- the report ----------------------------------------------------------------------------------------------------


def best_volume(rows: Sequence[dict[str, Any]], name: str) -> float:
    """The volume of a problem's best known front: where that is not known, of what all runs have found."""
    of = problem(name)
    if of.front is not None:
        return of.volume(of.front)
    return of.volume(np.concatenate([np.array(row["front"]) for row in rows if row["problem"] == name]))


def missing(rows: Sequence[dict[str, Any]], mark: int, best: float) -> list[float]:
    """The part of the best volume that runs lack at a mark."""
    return [1.0 - row["volume"][mark] / best for row in rows if mark < len(row["volume"])]


def ranks(rows: list[dict[str, Any]], names: Sequence[str], mark: int) -> dict[str, float]:
    """Mean ranks of the samplers that have run to a mark, over problems and seeds that all of them have."""

    def lost(row: dict[str, Any]) -> float | None:
        return -float(row["volume"][mark]) if mark < len(row["volume"]) else None

    samplers = [name for name in SAMPLERS if any(row["sampler"] == name and mark < len(row["volume"]) for row in rows)]
    return searches.mean_ranks(searches.outcomes(rows, names, samplers, lost), samplers)


def write_report(path: Path) -> None:
    """Tables of all runs in ``path``, beside it."""
    intro = (
        "The part of the best known front's hypervolume that is missing, medians over seeds, after the number of "
        "trials. `ms` is the mean time of a suggestion."
    )
    searches.write_report(path, ["# Several objectives", "", intro], PROBLEMS, APART, _tables)
    rows = [row for row in searches.longest(path) if row["problem"] in GAPS]
    if rows:
        with path.with_suffix(".md").open("a") as file:
            file.write("\n".join(["", "## Fronts with gaps", "", *_gaps(rows)]) + "\n")


def _gaps(rows: list[dict[str, Any]]) -> list[str]:
    """A table of what GSSBO lacks on the problems with gaps."""
    lines = ["| problem | " + " | ".join(map(str, EARLY)) + " | seeds |", "|---" * (len(EARLY) + 2) + "|"]
    for name in dict.fromkeys(row["problem"] for row in rows):
        mine = [row for row in rows if row["problem"] == name]
        lost = [np.median(missing(mine, mark, best_volume(rows, name))) for mark in range(len(EARLY))]
        lines.append(f"| {name} | " + " | ".join(f"{one:.3g}" for one in lost) + f" | {len(mine)} |")
    return lines


def _tables(rows: list[dict[str, Any]], names: Sequence[str]) -> list[str]:
    found = [ranks(rows, names, mark) for mark in range(len(MARKS))]
    lines = searches.rank_table(found, SAMPLERS, MARKS)
    lines += ["", "| problem | sampler | " + " | ".join(map(str, MARKS)) + " | seeds | ms |", "|---" * 7 + "|"]
    for name in names:
        best = best_volume(rows, name)
        for sampler in NAMES:
            mine = [row for row in rows if row["problem"] == name and row["sampler"] == sampler]
            if mine:
                lines.append(_line(name, sampler, mine, best))
    return lines


def _line(name: str, sampler: str, rows: list[dict[str, Any]], best: float) -> str:
    cells = []
    for mark in range(len(MARKS)):
        lost = missing(rows, mark, best)
        cells.append(f"{np.median(lost):.3g}" if lost else "")
    asks = float(np.median([row["ask_ms"] for row in rows]))
    return f"| {name} | {sampler} | {' | '.join(cells)} | {len(rows)} | {asks:.1f} |"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    searches.add_arguments(parser, "fronts", NAMES, SAMPLERS, KNOWN)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--gaps", action="store_true", help="200 trials of GSSBO on fronts with gaps, in place of all")


def main(arguments: argparse.Namespace) -> None:
    path = results(arguments)
    if arguments.gaps:
        names = arguments.problems or list(GAPS)
        vars(arguments).update(samplers=["GSSBO"], problems=names, trials=EARLY[-1])
    if not arguments.report:
        run(path, searches.jobs_of(arguments, PROBLEMS, APART), arguments.jobs)
    write_report(path)
