"""Earlier studies: what they bring, what bad ones cost, beside recorded methods that have learned from other tasks.

The tasks are those of `benchmarks.problems.transfer`. A recorded method of HPO-B has learned from the tasks of its
training split, hundreds for a space, which are not in the tables here.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import processes
from benchmarks.arguments import add_name, add_names, add_runs, results
from benchmarks.markdown import lines as table_lines
from benchmarks.problems.problem import Array
from benchmarks.problems.transfer import KINDS, KNOWN, SQUARE, download, recorded, task, tasks
from benchmarks.storage import load

TRIALS = 100
MARKS = (1, 2, 5, 10, 20, 50, 100)
METHODS = ("RGPE", "TST", "TAF", "FSBO", "FSBO2")
#: Recorded on 20 of the tasks.
FEWER = ("NAP", "OptFormer")
#: What people do instead, on the svm tasks: the best point of each study first; TPE, without studies; and with their
#: trials added as if they were its own.
OTHERS = {"best-first": "GSSBO, the best of each first", "tpe": "TPE, none", "tpe-added": "TPE, all added"}


def run_one(kind: str, name: str, seed: int, known: str) -> dict[str, Any]:
    """One run: the best value after 0 to `TRIALS` suggestions, and how long these took."""
    import numbo

    if known in OTHERS:
        return _run_other(kind, name, seed, known)
    found = task(kind, name, seed, known)
    begun = time.perf_counter()
    n_initial = len(found.start) or None
    opt = numbo.GSSBO(**found.domain, direction="maximize", seed=seed, n_initial=n_initial, earlier=found.studies)
    built = time.perf_counter() - begun
    best = [0.0]
    for point in found.start:
        opt.tell(point, found.value(point))
        best = [max(best[0], found.value(point))]
    asks = []
    for _ in range(TRIALS):
        begun = time.perf_counter()
        point = opt.ask()
        asks.append(1e3 * (time.perf_counter() - begun))
        opt.tell(point, found.value(point))
        best.append(max(best[-1], found.value(point)))
    return _row(kind, name, seed, known, best, built, asks)


def _run_other(kind: str, name: str, seed: int, known: str) -> dict[str, Any]:
    """A run of one of `OTHERS`."""
    import optuna
    from optuna.distributions import BaseDistribution, FloatDistribution
    from optuna.samplers import BaseSampler, TPESampler

    from numbo.optuna import GSSBOSampler

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    found = task(kind, name, seed, "all")
    space: dict[str, BaseDistribution] = {key: FloatDistribution(d.low, d.high, log=d.log) for key, d in SQUARE.items()}
    sampler: BaseSampler = (
        GSSBOSampler(seed=seed) if known == "best-first" else TPESampler(seed=seed, multivariate=True)
    )
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for one in found.studies:
        if known == "best-first":
            study.enqueue_trial(one.points[int(np.argmax(one.values))])
        elif known == "tpe-added":
            for point, value in zip(one.points, one.values, strict=True):
                study.add_trial(optuna.create_trial(params=point, distributions=space, value=value))
    best = [0.0]
    asks = []
    for _ in range(TRIALS):
        begun = time.perf_counter()
        trial = study.ask(space)
        asks.append(1e3 * (time.perf_counter() - begun))
        study.tell(trial, found.value(trial.params))
        best.append(max(best[-1], found.value(trial.params)))
    return _row(kind, name, seed, known, best, 0.0, asks)


def _row(
    kind: str, name: str, seed: int, known: str, best: list[float], built: float, asks: list[float]
) -> dict[str, Any]:
    return {
        "kind": kind,
        "task": name,
        "seed": seed,
        "known": known,
        "best": [round(value, 6) for value in best],
        "built_s": round(built, 3),
        "mean_ask_ms": round(float(np.mean(asks)), 2),
    }


def run(
    path: Path, kinds: list[str], known: list[str], seeds: int, jobs: int, names: Collection[str] | None = None
) -> None:
    """Run what is missing in ``path``, on all tasks by default."""
    if "lcbench" in kinds:
        download()
    done = {(row["kind"], row["task"], row["seed"], row["known"]) for row in load(path)}
    wanted = [
        (k, t, s, w)
        for k in kinds
        for w in known
        if w in KNOWN or k == "svm"
        for s in range(seeds)
        for t in tasks(k)
        if names is None or t in names
    ]
    todo = [one for one in wanted if one not in done]
    if todo:
        download()
    processes.record(path, run_one, todo, jobs)


# -- the report ----------------------------------------------------------------------------------------------------


def regrets(path: Path, kind: str) -> dict[str, dict[str, Array]]:
    """The regrets ``(seeds, 101)`` by what was known and by task, of a kind."""
    found: dict[str, dict[str, list[list[float]]]] = {}
    for row in load(path):
        if row["kind"] == kind:
            found.setdefault(row["known"], {}).setdefault(row["task"], []).append(row["best"])
    return {
        known: {name: 1.0 - np.array(runs) for name, runs in found[known].items()}
        for known in (*KNOWN, *OTHERS)
        if known in found
    }


def of_records(names: list[str], seeds: int = 5) -> dict[str, dict[str, Array]]:
    """The regrets of recorded methods on tasks of HPO-B, of the first ``seeds``, whose starts ours share."""
    methods = (*METHODS, *(FEWER if all(f"NAP/{name}" in recorded() for name in names) else ()))
    return {method: {name: 1.0 - recorded()[f"{method}/{name}"][:seeds] for name in names} for method in methods}


def mean(found: dict[str, Array], mark: int) -> float:
    """The mean over tasks of the mean over seeds."""
    return float(np.mean([runs[:, mark].mean() for runs in found.values()]))


def table(path: Path, kind: str, names: list[str] | None = None) -> list[list[str]]:
    """The mean regrets of a kind, by default on all tasks that all rows have: rows of texts, the first the head."""
    found = regrets(path, kind)
    names = common(found) if names is None else names
    rows = {OTHERS.get(known, f"GSSBO, {known}"): {name: runs[name] for name in names} for known, runs in found.items()}
    if kind == "hpob":
        rows |= of_records(names, min(len(runs[name]) for runs in found.values() for name in names))
    out = [["earlier studies", "seeds", *map(str, MARKS)]]
    for label, runs in rows.items():
        seeds = min(len(one) for one in runs.values())
        out.append([label, str(seeds), *(f"{mean(runs, mark):.4f}" for mark in MARKS)])
    return out


def common(found: dict[str, dict[str, Array]]) -> list[str]:
    """The names of the tasks that were run whatever was known."""
    return sorted(set.intersection(*(set(runs) for runs in found.values())))


def write_report(path: Path) -> None:
    """Write the tables beside the results."""
    lines = ["# Results: earlier studies", "", "Written by `python -m benchmarks transfer`.", ""]
    lines += [
        "Mean regret after 1 to 100 suggestions: 0 is the best candidate or setting, 1 the worst. In tables they come",
        "after five candidates that are the same in each row; on the svm tasks a search starts from nothing. GSSBO",
        "with what is known of earlier studies, and recorded methods.",
        "",
    ]
    for kind in KINDS:
        found = regrets(path, kind)
        if not found:
            continue
        names = common(found)
        lines += [f"## {kind}, {len(names)} tasks", "", *table_lines(table(path, kind)), ""]
        fewer = [name for name in names if f"NAP/{name}" in recorded()]
        if kind == "hpob" and fewer:
            lines += [
                f"## The {len(fewer)} of them with NAP and OptFormer",
                "",
                *table_lines(table(path, kind, fewer)),
                "",
            ]
    times: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in load(path):
        times.setdefault((row["kind"], row["known"]), []).append((row["built_s"], row["mean_ask_ms"]))
    lines += ["## Times", "", "| | known | seconds to begin | ms a suggestion, mean |", "|---|---|---|---|"]
    for (kind, known), one in times.items():
        built, asks = np.mean(one, axis=0)
        lines.append(f"| {kind} | {known} | {built:.2f} | {asks:.1f} |")
    path.with_suffix(".md").write_text("\n".join(lines) + "\n")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_name(parser, "transfer")
    add_names(parser, "--kinds", "kind", KINDS)
    add_names(parser, "--known", "known", (*KNOWN, *OTHERS))
    add_runs(parser, seeds=2, jobs=2)


def main(arguments: argparse.Namespace) -> None:
    path = results(arguments)
    run(path, arguments.kinds, arguments.known, arguments.seeds, arguments.jobs)
    write_report(path)
