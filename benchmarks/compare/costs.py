"""What trials cost: the cost at which GSSBO reaches what it reaches in 60 trials if it ignores costs.

Of each problem (`benchmarks.problems.priced`), the value to be reached is the median over the seeds of the best one
after 60 trials without costs, exactly, or within `CLOSE` of the range of values: last digits, or an optimum that is met
exactly or not at all, are matters of luck. What each run spends until it has reached it is compared between runs with
costs and without: by the geometric mean over the seeds. A run that has not reached it when it has spent four times the
mean cost of 60 trials without costs, or after 300 trials, counts as having spent so much. Errors are those of the runs:
what other seeds would have given on the same problems. Problems at odd places of their family are put aside: there only
the weight of the costs that numbo has is run.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import optuna

from benchmarks import processes
from benchmarks.arguments import add_name, add_names, add_runs, results
from benchmarks.markdown import lines as table_lines
from benchmarks.problems.priced import Objective, aside, objective_of, problems
from benchmarks.storage import load
from numbo.models import costs
from numbo.optuna import GSSBOSampler

TRIALS = 60
#: A run ends when it has spent so many times the mean cost of `TRIALS` trials without costs, or after so many trials.
LIMIT = 4.0
LONGEST = 300
#: Values within this share of the range are as good: of the difference between the median of the first `FIRST` values
#: of runs without costs, and the best.
CLOSE = 1e-3
FIRST = 10
BLIND = "without"


class Progress(NamedTuple):
    """What a run has spent, the best value so far, and the newest."""

    spent: float
    best: float
    value: float


def progress(objective: Objective, seed: int, weight: float | None) -> Iterator[Progress]:
    """A run, trial after trial; without costs if the ``weight`` is None."""
    cost = None if weight is None else "cost"
    study = optuna.create_study(sampler=GSSBOSampler(seed=seed, cost=cost, warn_independent_sampling=False))
    spent = 0.0
    best = np.inf
    for _ in range(LONGEST):
        with patch.object(costs, "WEIGHT", costs.WEIGHT if weight is None else weight):
            trial = study.ask()
            found = objective(trial)
        trial.set_user_attr("cost", found.cost)
        study.tell(trial, found.value)
        spent += found.cost
        best = min(best, found.value)
        yield Progress(spent, best, found.value)


def until(run: Iterator[Progress], known: list[Progress], targets: list[float], limit: float) -> list[float]:
    """What a run of which some trials are ``known`` has spent when it reaches each target, ``limit`` at most."""
    found: list[float] = []
    for spent, best, _ in chain(known, run):
        while len(found) < len(targets) and best <= targets[len(found)]:
            found.append(min(spent, limit))
        if len(found) == len(targets) or spent >= limit:
            break
    return found + [limit] * (len(targets) - len(found))


def targets_of(firsts: list[list[Progress]], values: list[float]) -> list[float]:
    """The values to be reached, the easier one first.

    Args:
        firsts: the first trials of the runs without costs.
        values: the first values of these runs.
    """
    exact = float(np.median([first[-1].best for first in firsts]))
    span = float(np.median(values)) - min(first[-1].best for first in firsts)
    return [exact + CLOSE * span, exact]


def run_one(name: str, seeds: int, weights: list[float]) -> dict[str, Any]:
    """What all runs of a problem spend, by the weights of log costs."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    objective = objective_of(name)
    runs = [progress(objective, seed, None) for seed in range(seeds)]
    firsts = [[next(run) for _ in range(TRIALS)] for run in runs]
    targets = targets_of(firsts, [one.value for first in firsts for one in first[:FIRST]])
    limit = LIMIT * float(np.mean([first[-1].spent for first in firsts]))
    spent = {BLIND: [until(run, first, targets, limit) for run, first in zip(runs, firsts, strict=True)]}
    for weight in weights:
        spent[str(weight)] = [until(progress(objective, seed, weight), [], targets, limit) for seed in range(seeds)]
    own = {"family": name.partition("-")[0], "problem": name, "aside": aside(name)}
    return own | {"targets": targets, "limit": limit, "spent": spent}


# -- the report ------------------------------------------------------------------------------------------------------


class Ratio(NamedTuple):
    """What is spent with costs, as a share of what is spent without: geometric means over the seeds.

    Attributes:
        close, exact: until the value is reached within `CLOSE` of the range, and exactly.
        variance: of the logarithm of the first.
    """

    close: float
    exact: float
    variance: float


def ratio(row: dict[str, Any], weight: str) -> Ratio:
    """What is spent on a problem."""
    own, blind = (np.log(row["spent"][kind]) for kind in (weight, BLIND))
    close, exact = np.exp(own.mean(axis=0) - blind.mean(axis=0)).tolist()
    variances = [float(np.var(logs[:, 0], ddof=1)) / len(logs) if len(logs) > 1 else math.nan for logs in (own, blind)]
    return Ratio(close, exact, sum(variances))


HEAD = ["problems", "number", "weight", "cost, geometric mean", "error", "worst problem", "to the last digit"]


def table(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Ratios by family: texts, the first the head."""
    out = [[*HEAD, "not reached: with", "without"]]
    for apart in (False, True):
        half = [row for row in rows if row["aside"] == apart]
        for weight in dict.fromkeys(kind for row in half for kind in row["spent"] if kind != BLIND):
            for family in [*dict.fromkeys(row["family"] for row in half), None]:
                own = [row for row in half if family in (None, row["family"]) and weight in row["spent"]]
                if own:
                    named = f"{family or 'all'}, put aside" if apart else family or "all"
                    missed = [_missed(own, kind) for kind in (weight, BLIND)]
                    out.append([named, str(len(own)), weight, *_summary([ratio(row, weight) for row in own]), *missed])
    return out


def _summary(ratios: list[Ratio]) -> list[str]:
    """Geometric mean with its error as a share, the largest one, and the geometric mean to the last digit."""
    mean, exact = (float(np.exp(np.mean(np.log([one[k] for one in ratios])))) for k in (0, 1))
    error = math.sqrt(sum(one.variance for one in ratios)) / len(ratios)
    return [f"{mean:.2f}", f"{100.0 * error:.0f} %", f"{max(one.close for one in ratios):.2f}", f"{exact:.2f}"]


def _missed(rows: list[dict[str, Any]], kind: str) -> str:
    """How many runs have not come close to their target."""
    missed = [close >= row["limit"] for row in rows for close, _ in row["spent"][kind]]
    return f"{100.0 * np.mean(missed):.0f} %"


def write_report(path: Path) -> None:
    """Write the table beside the results."""
    rows = sorted(load(path), key=lambda row: json.dumps([row["aside"], row["family"], row["problem"]]))
    lines = ["# Results: what trials cost", "", "Written by `python -m benchmarks costs`.", ""]
    lines += [
        "What is spent until a run reaches what GSSBO without costs has reached after 60 trials, as a share of what it",
        "spends without costs: within .1 % of the range of values, and to the last digit. Errors are those of the",
        "means, as shares, by other seeds on the same problems.",
        "",
        *table_lines(table(rows)),
    ]
    path.with_suffix(".md").write_text("\n".join(lines) + "\n")


# -- the command -----------------------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_name(parser, "costs")
    add_names(parser, "--families", "family", problems())
    add_runs(parser, seeds=6)
    parser.add_argument("--aside", action="store_true", help="only the problems that are put aside")
    parser.add_argument(
        "--weights", nargs="*", type=float, default=[], help="other weights of log costs, on problems not put aside"
    )


def main(arguments: argparse.Namespace) -> None:
    path = results(arguments)
    done = {row["problem"] for row in load(path)}
    wanted = [
        (name, arguments.seeds, [costs.WEIGHT, *([] if aside(name) else arguments.weights)])
        for family in arguments.families
        for name in problems()[family]
        if name not in done and (aside(name) or not arguments.aside)
    ]
    processes.record(path, run_one, wanted, arguments.jobs)
    write_report(path)
