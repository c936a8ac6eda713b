"""Figures, theorems and lemmas of the papers, checked in numbers.

Each experiment has cases, and figures of each case and seed. A finished case is written at once to the results file, as
a line of JSON; those already there are not repeated.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from benchmarks import processes
from benchmarks.arguments import add_name, add_names, results
from benchmarks.papers import bkb, gssbo, gssbo_runs, sbpe
from benchmarks.papers.plots import draw
from benchmarks.papers.tables import write_report
from benchmarks.storage import load

#: By name, in the order of their tables.
EXPERIMENTS = bkb.EXPERIMENTS | sbpe.EXPERIMENTS | gssbo.EXPERIMENTS | gssbo_runs.EXPERIMENTS


def run_one(experiment: str, case: str, seed: int, data: Path | None) -> dict[str, Any]:
    """The figures of a case with a seed, as a line of the results file."""
    started = time.perf_counter()
    figures = EXPERIMENTS[experiment].run(case, seed, data)
    figures = {name: float(f"{v:.6g}") if isinstance(v, float) else v for name, v in figures.items()}
    seconds = round(time.perf_counter() - started, 3)
    return {"experiment": experiment, "case": case, "seed": seed, "seconds": seconds, "figures": figures}


def run(path: Path, names: list[str], seeds: int | None, jobs: int, data: Path | None) -> None:
    """Run what is missing in ``path``; ``seeds`` of None is each experiment's own number."""
    done = {(r["experiment"], r["case"], r["seed"]) for r in load(path)}
    todo = [
        (name, case, seed, data)
        for name in names
        for seed in range(EXPERIMENTS[name].seeds if seeds is None else seeds)
        for case in EXPERIMENTS[name].cases
        if (name, case, seed) not in done
    ]
    processes.record(path, run_one, todo, jobs)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_name(parser, "papers")
    add_names(parser, "--experiments", "experiment", EXPERIMENTS)
    parser.add_argument("--seeds", type=int, help="of each case; by default as many as the experiment says")
    parser.add_argument("--jobs", type=int, default=1, help="number of runs at the same time")
    parser.add_argument("--data", type=Path, help="folder with abalone.csv; else from OpenML")
    parser.add_argument("--report", action="store_true", help="run nothing: only tables and plots of what is there")


def main(arguments: argparse.Namespace) -> None:
    a = arguments
    path = results(a)
    if not a.report:
        run(path, a.experiments, a.seeds, a.jobs, a.data)
    write_report(path, EXPERIMENTS)
    draw(load(path))
