"""Beliefs: what good, weak and wrong guesses of good values bring and cost.

The tasks, and what guesses are of them: `benchmarks.problems.guesses`. Each run with a guess is compared with the run
without that has the same seed.
"""

from __future__ import annotations

import argparse
import logging
import time
import warnings
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import optuna

from benchmarks import processes
from benchmarks.arguments import add_name, add_names, add_runs, results
from benchmarks.markdown import lines as table_lines
from benchmarks.problems import hpob
from benchmarks.problems.guesses import GUESSES, KINDS, task, tasks
from benchmarks.problems.problem import Array
from benchmarks.storage import load

TRIALS = 50
MARKS = (10, 20, 30, 50)
NONE = "none"
#: Smaller regrets count as so much in ratios.
FLOOR = 1e-3
#: Marks of a good guess, and of a search without, that are compared beside those that are equal.
AHEAD = ((10, 20), (10, 30), (20, 30))


def run_one(kind: str, name: str, seed: int, guess: str) -> dict[str, Any]:
    """One run: the best value after 1 to `TRIALS` trials, beside the best and the median value of the known points."""
    from numbo import GSSBO, Space

    logging.getLogger("numbo").setLevel(logging.ERROR)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    found = task(kind, name)
    own = zlib.crc32(f"{name}/{seed}".encode())  # so that the starts on different tasks are independent
    opt = GSSBO(Space(found.space, prior=found.prior(guess, seed)), seed=own)
    best: list[float] = []
    asks = []
    told = None
    for trial in range(TRIALS):
        begun = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            point = opt.ask()
        asks.append(1e3 * (time.perf_counter() - begun))
        value = found.value(point)
        best.append(min(value, best[-1]) if best else value)
        opt.tell(point, value)
        if told is None and any("prior=" in str(one.message) for one in caught):
            told = trial
    return {
        "kind": kind,
        "task": name,
        "seed": seed,
        "guess": guess,
        "best": best,
        "known": [float(found.values[0]), found.median],
        "told": told,
        "mean_ask_ms": round(float(np.mean(asks)), 2),
    }


def run(path: Path, names: dict[str, list[str]], guesses: list[str], seeds: int, jobs: int) -> None:
    """Run what is missing in ``path``, of tasks by their kinds."""
    if "hpob" in names:
        hpob.download()
    done = {(row["kind"], row["task"], row["seed"], row["guess"]) for row in load(path)}
    wanted = [(k, t, s, g) for s in range(seeds) for k, found in names.items() for t in found for g in guesses]
    processes.record(path, run_one, [one for one in wanted if one not in done], jobs)


# -- the report ----------------------------------------------------------------------------------------------------


def regrets(rows: list[dict[str, Any]], kind: str) -> dict[str, dict[str, dict[int, Array]]]:
    """The regrets ``(TRIALS,)`` by guess, task and seed, of a kind: shares of the regret of the median known point.

    The best value is that of the known points and of all runs.
    """
    own = [row for row in rows if row["kind"] == kind]
    best: dict[str, float] = {}
    for row in own:
        best[row["task"]] = min(best.get(row["task"], np.inf), row["known"][0], row["best"][-1])
    out: dict[str, dict[str, dict[int, Array]]] = {}
    for row in own:
        least = best[row["task"]]
        found = (np.array(row["best"]) - least) / (row["known"][1] - least)
        out.setdefault(row["guess"], {}).setdefault(row["task"], {})[row["seed"]] = found
    return out


class Ratio(NamedTuple):
    """A geometric mean of ratios.

    Attributes:
        mean: this mean; tasks have equal weights.
        over_pairs, over_tasks: standard errors of its logarithm: with the tasks as they are, and with others like them.
    """

    mean: float
    over_pairs: float
    over_tasks: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} ({self.over_pairs:.2f}, {self.over_tasks:.2f})"


def ratio(mine: dict[str, dict[int, Array]], its: dict[str, dict[int, Array]], mark: int, at: int) -> Ratio:
    """The regrets ``mine`` after ``mark`` trials, relative to ``its`` after ``at``, with the same tasks and seeds."""
    means, spreads = [], []
    for name in sorted(mine.keys() & its.keys()):
        seeds = sorted(mine[name].keys() & its[name].keys())
        pairs = [(max(mine[name][s][mark - 1], FLOOR), max(its[name][s][at - 1], FLOOR)) for s in seeds]
        logs = np.diff(np.log(pairs), axis=1)[:, 0]
        means.append(-float(logs.mean()))
        spreads.append(float(logs.var(ddof=1)) / len(logs) if len(logs) > 1 else np.nan)
    over_tasks = np.std(means, ddof=1) / np.sqrt(len(means)) if len(means) > 1 else np.nan
    return Ratio(float(np.exp(np.mean(means))), float(np.sqrt(np.sum(spreads)) / len(means)), float(over_tasks))


def table(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Ratios of each guess by kind: texts, the first row the head."""
    out = [["tasks", "guess", "seeds", *map(str, MARKS), "told that data disagree"]]
    for kind in KINDS:
        found = regrets(rows, kind)
        for guess in [one for one in GUESSES if one in found and NONE in found]:
            ratios = [str(ratio(found[guess], found[NONE], mark, mark)) for mark in MARKS]
            told = [row["told"] is not None for row in rows if (row["kind"], row["guess"]) == (kind, guess)]
            seeds = min(len(some) for some in found[guess].values())
            out.append([f"{kind}, {len(found[guess])}", guess, str(seeds), *ratios, f"{100.0 * np.mean(told):.0f} %"])
    return out


def ahead_table(rows: list[dict[str, Any]]) -> list[list[str]]:
    """What a good guess brings after fewer trials than without: texts, the first row the head."""
    out = [["tasks", *(f"after {mark} / none after {at}" for mark, at in AHEAD)]]
    for kind in KINDS:
        found = regrets(rows, kind)
        if {"good", NONE} <= found.keys():
            out.append([kind, *(str(ratio(found["good"], found[NONE], mark, at)) for mark, at in AHEAD)])
    return out


def mean_table(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Mean regrets: texts, the first row the head."""
    out = [["tasks", "guess", *map(str, MARKS)]]
    for kind in KINDS:
        found = regrets(rows, kind)
        for guess in [one for one in (NONE, *GUESSES) if one in found]:
            runs = [np.mean(list(seeds.values()), axis=0) for seeds in found[guess].values()]
            out.append([kind, guess, *(f"{np.mean(runs, axis=0)[mark - 1]:.3f}" for mark in MARKS)])
    return out


def write_report(path: Path) -> None:
    """Write the tables beside the results."""
    rows = load(path)
    lines = ["# Results: beliefs", "", "Written by `python -m benchmarks beliefs`.", ""]
    lines += [
        "GSSBO with guesses, and without, after numbers of trials. A regret of 0 is that of the best point that is",
        "known, 1 that of the median one (`benchmarks.problems.guesses`).",
        "",
        "## Ratios",
        "",
        "Regrets with a guess, relative to those without with the same seed: geometric means, smaller regrets than",
        f"{FLOOR:g} counting as that. In brackets the standard errors of their logarithms, over the pairs and over the",
        "tasks.",
        "",
        *table_lines(table(rows)),
        "",
        "A good guess, and the search without after more trials:",
        "",
        *table_lines(ahead_table(rows)),
        "",
        "## Mean regrets",
        "",
        *table_lines(mean_table(rows)),
    ]
    path.with_suffix(".md").write_text("\n".join(lines) + "\n")


# -- the command -----------------------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_name(parser, "beliefs")
    add_names(parser, "--kinds", "kind", KINDS)
    add_names(parser, "--guesses", "guess", (NONE, *GUESSES))
    parser.add_argument("--open", action="store_true", help="on the tasks on which settings are chosen")
    add_runs(parser, seeds=10)


def main(arguments: argparse.Namespace) -> None:
    path = results(arguments)
    names = {kind: tasks(kind, aside=not arguments.open) for kind in arguments.kinds}
    run(path, names, arguments.guesses, arguments.seeds, arguments.jobs)
    write_report(path)
