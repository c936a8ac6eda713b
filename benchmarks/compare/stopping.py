"""What more trials bring: whether forecasts come true, and what rules for stopping save and lose.

Runs are those of `benchmarks.compare.stopping_runs`. Forecasts after 20 to 200 trials are for half as many trials more,
and for as many. A rule stops a run of 200 trials, 100 of real searches. A trial costs .1 % of the range: the difference
between the median of the first ten values and the best of the run, or of a table between its worst and best value. What
a rule costs is what it has lost, of what 200 trials would have found, and its trials.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import processes
from benchmarks.arguments import add_name, add_names, add_runs, results
from benchmarks.compare.stopping_runs import KINDS, MARKS, Run, horizons, names_of, run
from benchmarks.markdown import lines as table_lines
from benchmarks.problems.problem import Array
from benchmarks.storage import load
from numbo.inspection.remaining import HORIZONS
from numbo.models.improvements import Improvements, differ

#: Kinds whose values are from 0, the worst of a table, to 1, the best.
NORMALISED = ("hpob", "lcbench")
#: Kinds whose spaces are finite.
FINITE = ("tables", *NORMALISED)
QUANTILES = (0.1, 0.5, 0.9)
#: Limits of stated probabilities.
STATED = (0.0, 0.02, 0.1, 0.3, 0.6, 0.9, 1.01)
#: Improvements that count, and what a trial costs, as shares of the range.
COUNTS, COST = 0.001, 0.001
STOPPED = 200
#: Of numbo's rule: trials before it, and how many in a row have to say so.
STARTUP, PATIENCE = 20, 5


def run_one(kind: str, name: str, seed: int) -> dict[str, Any]:
    """The forecasts of a run with what came true, and where rules stop it."""
    found = run(kind, name, seed)
    row = {"kind": kind, "problem": name, "seed": seed}
    span = 1.0 if kind in NORMALISED else _range(found.values)
    stated = [_stated(found, n, k, span) for n in MARKS for k in horizons(n) if n + k <= len(found.values)]
    return row | {"stated": stated, "stops": {} if kind == "noisy" else _stops(found, span)}


def _range(values: Array) -> float:
    finite = values[np.isfinite(values)]
    return max(float(finite.max() - np.median(finite[:10])), np.finfo(float).tiny)


def _best(found: Run, n: int) -> float:
    """The true value of what is best after ``n`` trials, by expected values if they are known."""
    values = found.expected.get(n, found.values[:n])
    return float(found.true[int(np.nanargmax(values))])


def _stated(found: Run, n: int, k: int, span: float) -> dict[str, float]:
    """The forecast after ``n`` trials for ``k`` more, and the gain that came.

    ``below`` and ``at_most`` are the shares of the forecast that the gain exceeds, and that it reaches.
    """
    samples = Improvements(found.expected.get(n, found.values[:n]), max(found.points - n, 1.0)).gains(k)
    gain = max(_best(found, n + k) - _best(found, n), 0.0)
    gain = 0.0 if gain < 1e-8 * span else gain
    return {
        "n": n,
        "k": k,
        "below": float(np.mean(samples < gain)),
        "at_most": float(np.mean(samples <= gain)),
        "probability": float(np.mean(samples > COUNTS * span)),
        "came": float(gain > COUNTS * span),
    }


# -- rules -----------------------------------------------------------------------------------------------------------


def _stops(found: Run, span: float) -> dict[str, list[float]]:
    """By rule, the trials that it makes, and what it has lost, as a share of the range ``span``."""
    values = found.values[:STOPPED]
    best = np.fmax.accumulate(values)
    rules = RULES | {"numbo": partial(_numbo, points=found.points)}
    stops = {name: rule(values, COST * span) for name, rule in rules.items()}
    return {name: [t, float((best[-1] - best[t - 1]) / span)] for name, t in stops.items()}


def _numbo(values: Array, worth: float, points: float = math.inf) -> int:
    in_vain = 0
    for t in range(STARTUP, len(values) + 1):
        if not differ(values[:t]):
            continue
        found = Improvements(values[:t], max(points - t, 1.0))
        pays = any(found.gains(k).mean() > worth * k for k in HORIZONS)
        in_vain = 0 if pays else in_vain + 1
        if in_vain == PATIENCE:
            return t
    return len(values)


def _patience(values: Array, worth: float, patience: int = 30) -> int:
    """As soon as so many trials in a row have not improved the best value."""
    best = np.fmax.accumulate(values)
    for t in range(patience + 1, len(values) + 1):
        if best[t - 1] == best[t - 1 - patience]:
            return t
    return len(values)


def _window(values: Array, worth: float, window: int = 5, share: float = 0.1) -> int:
    """As soon as the last trials have improved the best value by less than a share of the interquartile range.

    The rule of Ax's global stopping strategy, after `STARTUP` trials.
    """
    best = np.fmax.accumulate(values)
    for t in range(STARTUP, len(values) + 1):
        low, high = np.nanquantile(values[:t], (0.25, 0.75))
        if best[t - 1] - best[t - 1 - window] < share * (high - low):
            return t
    return len(values)


def _hindsight(values: Array, worth: float) -> int:
    """What would have cost least."""
    best = np.fmax.accumulate(values)
    return int(np.argmax(best - worth * np.arange(len(best)))) + 1


RULES: dict[str, Callable[[Array, float], int]] = {
    "numbo": _numbo,
    "30 without improvement": _patience,
    "window of 5": _window,
    "all": lambda values, worth: len(values),
    "hindsight": _hindsight,
}


# -- the report ------------------------------------------------------------------------------------------------------


def calibration(rows: list[dict[str, Any]]) -> list[list[str]]:
    """How often gains were at most the stated quantiles, by kind and number of trials: texts, the first the head."""
    head = ["runs of", "after", "forecasts", *(f"at most the {share:.0%} quantile" for share in QUANTILES)]
    out = [[*head, "better by .1 %: stated", "came true"]]
    for kind in dict.fromkeys(row["kind"] for row in rows):
        for n in (*MARKS, None):
            own = [one for row in rows if row["kind"] == kind for one in row["stated"] if n in (None, one["n"])]
            if own:
                shares = [f"{100 * np.mean([_within(one, share) for one in own]):.0f} %" for share in QUANTILES]
                means = [f"{100 * np.mean([one[key] for one in own]):.0f} %" for key in ("probability", "came")]
                out.append([kind, "all" if n is None else str(n), str(len(own)), *shares, *means])
    return out


def _within(one: dict[str, float], share: float) -> float:
    """How far a gain lies within a quantile, from 0 to 1: in between where the forecast has an atom there."""
    width = one["at_most"] - one["below"]
    return float(np.clip((share - one["below"]) / width, 0.0, 1.0)) if width > 0.0 else float(one["below"] < share)


def reliability(rows: list[dict[str, Any]]) -> list[list[str]]:
    """How often the value improved by .1 %, by what was stated: texts, the first the head."""
    out = [["runs of", "stated", "forecasts", "stated, mean", "came true", "runs", "in which some came true"]]
    known = dict.fromkeys(row["kind"] for row in rows)
    for kinds in ([kind for kind in known if kind not in FINITE], [kind for kind in known if kind in FINITE]):
        found = [(one, i) for i, row in enumerate(rows) if row["kind"] in kinds for one in row["stated"]]
        for low, high in pairwise(STATED):
            some = [(one, i) for one, i in found if low <= one["probability"] < high]
            if not some:
                continue
            means = [f"{100 * np.mean([one[key] for one, _ in some]):.1f} %" for key in ("probability", "came")]
            runs = [len({i for _, i in some}), len({i for one, i in some if one["came"]})]
            span = f"{100 * low:g} to {100 * min(high, 1.0):g} %"
            out.append([", ".join(kinds), span, str(len(some)), *means, *map(str, runs)])
    return out


def savings(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Trials, losses and costs of rules, by kind: texts, the first the head."""
    out = [["runs of", "rule", "runs", "trials", "lost, mean", "lost, worst", "cost", "numbo costs at most as much in"]]
    for kind in dict.fromkeys(row["kind"] for row in rows if row["stops"]):
        own = [row["stops"] for row in rows if row["kind"] == kind]
        ours = _costs(own, "numbo")
        for rule in RULES:
            trials, lost = np.array([stops[rule] for stops in own]).T
            cost = _costs(own, rule)
            figures = [f"{trials.mean():.0f}", *(f"{100 * x:.2f} %" for x in (lost.mean(), lost.max(), cost.mean()))]
            share = "" if rule == "numbo" else f"{100 * np.mean(ours <= cost + 1e-12):.0f} %"
            out.append([kind, rule, str(len(own)), *figures, share])
    return out


def _costs(stops: list[dict[str, list[float]]], rule: str) -> Array:
    trials, lost = np.array([own[rule] for own in stops]).T
    return np.asarray(lost + COST * trials)


def write_report(path: Path) -> None:
    """Write the tables beside the results."""
    rows = load(path)
    lines = ["# Results: what more trials bring", "", "Written by `python -m benchmarks stopping`.", ""]
    lines += ["Shares of gains that were at most a stated quantile: with right forecasts 10, 50 and 90 %.", ""]
    lines += [*table_lines(calibration(rows)), ""]
    lines += ["How often the value improved by .1 % of the range, by the probability that was stated:", ""]
    lines += [*table_lines(reliability(rows)), "", "## Stopping", ""]
    lines += [
        "Losses and costs are shares of the range of values. A trial costs .1 %.",
        "",
        *table_lines(savings(rows)),
    ]
    path.with_suffix(".md").write_text("\n".join(lines) + "\n")


# -- the command -----------------------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_name(parser, "stopping")
    add_names(parser, "--kinds", "kind", KINDS)
    add_runs(parser, seeds=1)


def main(arguments: argparse.Namespace) -> None:
    path = results(arguments)
    done = {(row["kind"], row["problem"], row["seed"]) for row in load(path)}
    wanted = [(k, name, s) for k in arguments.kinds for s in range(arguments.seeds) for name in names_of(k)]
    processes.record(path, run_one, [one for one in wanted if one not in done], arguments.jobs)
    write_report(path)
