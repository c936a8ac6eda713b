"""HPO-B: searches on tables of candidates, beside those that its authors have recorded.

The tables are those of `benchmarks.problems.hpob`. A run starts from five candidates at random; the recorded ones start
from five others.
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import processes
from benchmarks.arguments import add_name, add_names, add_runs, results
from benchmarks.problems.hpob import ASIDE, METHODS, download, recorded, space_of, table, tasks
from benchmarks.problems.problem import Array
from benchmarks.storage import load

TRIALS = 100
INITIAL = 5
CHECKPOINTS = (10, 20, 50, 100)
#: Optimizers of numbo that take arms.
OPTIMIZERS = ("GSSBO", "GPUCB", "BKB", "BBKB", "SBPE")


def run_one(optimizer: str, settings: dict[str, Any], task: str, seed: int) -> dict[str, Any]:
    """One run: the best value after 0 to `TRIALS` suggestions, and how long these took."""
    import numbo

    logging.getLogger("numbo").setLevel(logging.ERROR)
    X, y = table(task)
    started = np.random.default_rng([seed, 7]).choice(len(X), INITIAL, replace=False)
    given = getattr(numbo, f"{optimizer}Settings")(n_initial=INITIAL, **settings)
    opt = getattr(numbo, optimizer)(arms=X, seed=seed, settings=given)
    for row in started.tolist():
        opt.tell(row, y[row])
    best = [float(y[started].max())]
    asks = []
    told = set(started.tolist())
    for _ in range(TRIALS):
        begun = time.perf_counter()
        row = opt.ask()
        asks.append(1e3 * (time.perf_counter() - begun))
        opt.tell(row, y[row])
        told.add(row)
        best.append(max(best[-1], float(y[row])))
    return {
        "task": task,
        "seed": seed,
        "best": [round(value, 6) for value in best],
        "again": INITIAL + TRIALS - len(told),
        "ask_ms": float(np.median(asks)),
        "mean_ask_ms": float(np.mean(asks)),
    }


def run(path: Path, optimizer: str, settings: dict[str, Any], names: list[str], seeds: int, jobs: int) -> None:
    """Run what is missing in ``path``."""
    this = f"{optimizer} {json.dumps(settings, sort_keys=True)}" if settings else optimizer
    done = {(row["optimizer"], row["task"], row["seed"]) for row in load(path)}
    wanted = [(task, seed) for seed in range(seeds) for task in names if (this, task, seed) not in done]
    todo = [(optimizer, settings, task, seed) for task, seed in wanted]
    if todo:
        download()
    processes.record(path, run_one, todo, jobs, optimizer=this)


# -- the report ----------------------------------------------------------------------------------------------------


def regrets(path: Path) -> dict[str, dict[str, Array]]:
    """The regrets ``(seeds, 101)`` by method and task: those recorded, and those of optimizers that did all tasks."""
    out: dict[str, dict[str, Array]] = {}
    ours: dict[str, dict[str, list[list[float]]]] = {}
    for row in load(path):
        ours.setdefault(row["optimizer"], {}).setdefault(row["task"], []).append(row["best"])
    for name, found in ours.items():
        if found.keys() >= set(tasks()):
            out[name] = {task: 1.0 - np.array(found[task]) for task in tasks()}
    return out | {name: {task: 1.0 - recorded()[f"{name}/{task}"] for task in tasks()} for name in METHODS}


def mean_regret(found: dict[str, Array], names: list[str], trials: int) -> tuple[float, float, float]:
    """The mean over tasks of the mean over seeds, and its 90 % interval by resampling tasks and seeds."""
    seeds = min(len(found[task]) for task in names)
    values = np.array([found[task][:seeds, trials] for task in names])
    rng = np.random.default_rng(0)
    resampled = (1000, len(names))
    drawn = values[rng.integers(len(names), size=resampled)[..., None], rng.integers(seeds, size=(*resampled, seeds))]
    low, high = np.quantile(drawn.mean(axis=(1, 2)), (0.05, 0.95))
    return float(values.mean()), float(low), float(high)


def mean_rank(found: dict[str, dict[str, Array]], names: list[str], trials: int) -> dict[str, float]:
    """The mean over tasks of each method's rank by its mean regret; equal ones share the mean of their ranks."""
    from scipy.stats import rankdata

    means = np.array([[found[name][task][:, trials].mean() for name in found] for task in names])
    return dict(zip(found, rankdata(np.round(means, 9), axis=1).mean(axis=0).tolist(), strict=True))


def tables(path: Path) -> list[tuple[str, list[list[str]]]]:
    """The tables of the report, with their titles."""
    found = regrets(path)
    groups = {
        "all tasks": tasks(),
        "spaces on which settings may be chosen": [task for task in tasks() if space_of(task) not in ASIDE],
        "spaces put aside": [task for task in tasks() if space_of(task) in ASIDE],
    }
    out = []
    for title, names in groups.items():
        rows = [["method", *(f"{t} trials" for t in CHECKPOINTS), *(f"mean rank, {t}" for t in CHECKPOINTS)]]
        ranks = [mean_rank(found, names, t) for t in CHECKPOINTS]
        for method in found:
            spans = [mean_regret(found[method], names, t) for t in CHECKPOINTS]
            texts = [f"{mean:.4f} ({low:.4f} to {high:.4f})" for mean, low, high in spans]
            rows.append([method, *texts, *(f"{rank[method]:.2f}" for rank in ranks)])
        out.append((f"{title}, {len(names)}", rows))
    rows = [["space", "tasks", "trials", *found, "worst run of " + next(iter(found))]]
    for space in sorted({space_of(task) for task in tasks()}):
        names = [task for task in tasks() if space_of(task) == space]
        for trials in CHECKPOINTS[1:]:
            means = [f"{np.mean([found[m][t][:, trials].mean() for t in names]):.4f}" for m in found]
            worst = max(float(next(iter(found.values()))[t][:, trials].max()) for t in names)
            rows.append([space, str(len(names)), str(trials), *means, f"{worst:.4f}"])
    out.append(("by space: mean regret", rows))
    return out


def write_report(path: Path) -> None:
    """Write the tables beside the results."""
    lines = ["# Results: HPO-B", "", "Written by `python -m benchmarks hpob`.", ""]
    lines += [
        "Regrets are 0 for the best candidate of a table and 1 for the worst: the mean over tasks of the mean over",
        f"seeds, and its 90 % interval. {', '.join(METHODS)} were run by the authors of HPO-B. The ranks are those",
        "of the methods in the table.",
        "",
    ]
    for title, rows in tables(path):
        lines += [f"## {title[0].upper()}{title[1:]}", ""]
        lines += ["| " + " | ".join(rows[0]) + " |", "|---" * len(rows[0]) + "|"]
        lines += ["| " + " | ".join(row) + " |" for row in rows[1:]] + [""]
    times: dict[str, list[tuple[float, float, int]]] = {}
    for row in load(path):
        times.setdefault(row["optimizer"], []).append((row["ask_ms"], row["mean_ask_ms"], row["again"]))
    lines += ["## Time of a suggestion, and candidates that were measured again", ""]
    lines += ["| optimizer | median ms | mean ms | again, mean | again, most |", "|---|---|---|---|---|"]
    for name, one in times.items():
        medians, means, again = np.array(one).T
        lines.append(
            f"| {name} | {np.median(medians):.1f} | {means.mean():.1f} | {again.mean():.1f} | {again.max():.0f} |"
        )
    path.with_suffix(".md").write_text("\n".join(lines) + "\n")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_name(parser, "hpob")
    add_names(parser, "--optimizers", "optimizer", OPTIMIZERS, ["GSSBO"], help="GSSBO, BKB, ...")
    parser.add_argument("--settings", type=json.loads, default={}, metavar="JSON", help="of the optimizers")
    spaces = sorted({space_of(task) for task in tasks()})
    add_names(parser, "--spaces", "space", spaces, help="numbers of search spaces, all by default")
    add_runs(parser, seeds=5, jobs=2)


def main(arguments: argparse.Namespace) -> None:
    a = arguments
    path = results(a)
    names = [task for task in tasks() if space_of(task) in a.spaces]
    for optimizer in a.optimizers:
        run(path, optimizer, a.settings, names, a.seeds, a.jobs)
    write_report(path)
