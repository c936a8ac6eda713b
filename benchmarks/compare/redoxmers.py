"""Redoxmers: a search among molecules for three objectives, beside BoTorch, GPyOpt and Gryffin as recorded.

The table is that of `benchmarks.problems.redoxmers`. A run makes 200 trials, of molecules known by four categories.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import processes
from benchmarks.arguments import add_name, add_names, add_runs, results
from benchmarks.compare.fronts import SAMPLERS, search
from benchmarks.markdown import lines
from benchmarks.problems.redoxmers import MARKS, evaluate, recorded, share, space
from benchmarks.storage import load


def run_one(sampler: str, seed: int) -> dict[str, Any]:
    """One run: the shares at the marks, and how long suggestions took."""
    warnings.simplefilter("ignore")
    one = search(sampler, space(), 3, seed)
    found: list[list[float]] = []
    asks: list[float] = []
    for _ in range(MARKS[-1]):
        begun = time.perf_counter()
        params = one.ask()
        asks.append(1e3 * (time.perf_counter() - begun))
        found.append(evaluate(params))
        one.tell(found[-1])
    shares = [round(share(found[:mark]), 6) for mark in MARKS]
    return {"sampler": sampler, "seed": seed, "share": shares, "ask_ms": round(float(np.median(asks)), 3)}


def run(path: Path, samplers: list[str], seeds: int, jobs: int) -> None:
    """Run what is missing in ``path``."""
    done = {(row["sampler"], row["seed"]) for row in load(path)}
    todo = [(sampler, seed) for seed in range(seeds) for sampler in samplers if (sampler, seed) not in done]
    processes.record(path, run_one, todo, jobs)


def shares(path: Path, sampler: str) -> Any:
    """The shares (runs, 5) of a sampler."""
    return np.array([row["share"] for row in load(path) if row["sampler"] == sampler])


def write_report(path: Path) -> None:
    """Write the table beside the results."""
    names = dict.fromkeys(row["sampler"] for row in load(path))
    known = {name: shares(path, name) for name in names} | {f"{n}, recorded": v for n, v in recorded().items()}
    table = [["method", *map(str, MARKS), "runs"]]
    for name, values in known.items():
        table.append([name, *(f"{value:.3f}" for value in values.mean(axis=0)), str(len(values))])
    text = ["# Results: redoxmers", "", "Written by `python -m benchmarks redoxmers`.", ""]
    text += ["The share of the volume that the whole table dominates, after a number of trials: means over runs.", ""]
    path.with_suffix(".md").write_text("\n".join([*text, *lines(table)]) + "\n")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_name(parser, "redoxmers")
    add_names(parser, "--samplers", "sampler", SAMPLERS, ["GSSBO"], help="GSSBO by default")
    add_runs(parser, seeds=40)


def main(arguments: argparse.Namespace) -> None:
    path = results(arguments)
    run(path, arguments.samplers, arguments.seeds, arguments.jobs)
    write_report(path)
