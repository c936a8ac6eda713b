"""What trials cost: the cost at which GSSBO reaches what it reaches in 60 trials if it ignores costs.

Of each problem (`benchmarks.problems.priced`), the value to be reached is the median over the seeds of the best one
after 60 trials without costs. What each run spends until it has reached it is compared between runs with costs and
without: by the geometric mean over the seeds. A run that has not reached it when it has spent four times the mean cost
of 60 trials without costs, or after 300 trials, counts as having spent so much. Problems at odd places of their family
are put aside: there only the weight of the costs that numbo has is run, and on the others half of it and twice as much,
too.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import optuna

from benchmarks import processes
from benchmarks.arguments import add_name, add_names, add_runs, results
from benchmarks.markdown import lines as table_lines
from benchmarks.problems.priced import Objective, objective_of, problems
from benchmarks.storage import load
from numbo.models import costs
from numbo.optuna import GSSBOSampler

TRIALS = 60
#: A run ends when it has spent so many times the mean cost of `TRIALS` trials without costs, or after so many trials.
LIMIT = 4.0
LONGEST = 300
#: Weights of log costs; the one that numbo has comes first.
WEIGHTS = (costs.WEIGHT, 0.25, 1.0)
BLIND = "without"


class Progress(NamedTuple):
    """What a run has spent, and the best value so far."""

    spent: float
    best: float


def progress(objective: Objective, seed: int, weight: float | None) -> Iterator[Progress]:
    """A run, trial after trial; without costs if the ``weight`` is None."""
    cost = None if weight is None else "cost"
    study = optuna.create_study(sampler=GSSBOSampler(seed=seed, cost=cost, warn_independent_sampling=False))
    spent = 0.0
    best = np.inf
    for _ in range(LONGEST):
        with patch.object(costs, "WEIGHT", WEIGHTS[0] if weight is None else weight):
            trial = study.ask()
            found = objective(trial)
        trial.set_user_attr("cost", found.cost)
        study.tell(trial, found.value)
        spent += found.cost
        best = min(best, found.value)
        yield Progress(spent, best)


def until(run: Iterator[Progress], known: list[Progress], target: float, limit: float) -> float:
    """What a run of which some trials are ``known`` has spent when it reaches the ``target``, ``limit`` at most."""
    for spent, best in known:
        if best <= target:
            return min(spent, limit)
    for spent, best in run:
        if best <= target or spent >= limit:
            return min(spent, limit)
    return limit


def run_one(name: str, seeds: int, aside: bool) -> dict[str, Any]:
    """What all runs of a problem spend."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    objective = objective_of(name)
    runs = [progress(objective, seed, None) for seed in range(seeds)]
    firsts = [[next(run) for _ in range(TRIALS)] for run in runs]
    target = float(np.median([first[-1].best for first in firsts]))
    limit = LIMIT * float(np.mean([first[-1].spent for first in firsts]))
    spent = {BLIND: [until(run, first, target, limit) for run, first in zip(runs, firsts, strict=True)]}
    for weight in WEIGHTS[:1] if aside else WEIGHTS:
        spent[str(weight)] = [until(progress(objective, seed, weight), [], target, limit) for seed in range(seeds)]
    family = name.partition("-")[0]
    return {"family": family, "problem": name, "aside": aside, "target": target, "limit": limit, "spent": spent}


# -- the report ------------------------------------------------------------------------------------------------------


def ratio(row: dict[str, Any], weight: str) -> float:
    """What is spent with costs, as a share of what is spent without: geometric mean over the seeds."""
    logs = np.log(row["spent"][weight]) - np.log(row["spent"][BLIND])
    return float(np.exp(logs.mean()))


def table(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Ratios by family: texts, the first the head."""
    out = [["problems", "number", "weight", "cost, geometric mean", "worst problem", "not reached: with", "without"]]
    for aside in (False, True):
        half = [row for row in rows if row["aside"] == aside]
        for weight in map(str, WEIGHTS):
            for family in [*dict.fromkeys(row["family"] for row in half), None]:
                own = [row for row in half if family in (None, row["family"]) and weight in row["spent"]]
                if own:
                    ratios = [ratio(row, weight) for row in own]
                    mean = float(np.exp(np.mean(np.log(ratios))))
                    named = f"{family or 'all'}, put aside" if aside else family or "all"
                    missed = [_missed(own, kind) for kind in (weight, BLIND)]
                    out.append([named, str(len(own)), weight, f"{mean:.2f}", f"{max(ratios):.2f}", *missed])
    return out


def _missed(rows: list[dict[str, Any]], kind: str) -> str:
    """How many runs have not reached their target."""
    missed = [spent >= row["limit"] for row in rows for spent in row["spent"][kind]]
    return f"{100.0 * np.mean(missed):.0f} %"


def write_report(path: Path) -> None:
    """Write the table beside the results."""
    rows = sorted(load(path), key=lambda row: json.dumps([row["aside"], row["family"], row["problem"]]))
    lines = ["# Results: what trials cost", "", "Written by `python -m benchmarks costs`.", ""]
    lines += [
        "What is spent until a run reaches what GSSBO without costs has reached after 60 trials, as a share of what it",
        "spends without costs.",
        "",
        *table_lines(table(rows)),
    ]
    path.with_suffix(".md").write_text("\n".join(lines) + "\n")


# -- the command -----------------------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_name(parser, "costs")
    add_names(parser, "--families", "family", problems())
    add_runs(parser, seeds=3)


def main(arguments: argparse.Namespace) -> None:
    path = results(arguments)
    done = {row["problem"] for row in load(path)}
    places = [(name, k % 2 == 1) for family in arguments.families for k, name in enumerate(problems()[family])]
    wanted = [(name, arguments.seeds, aside) for name, aside in places if name not in done]
    processes.record(path, run_one, wanted, arguments.jobs)
    write_report(path)
