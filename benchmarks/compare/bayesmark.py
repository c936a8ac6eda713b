"""Bayesmark: hyperparameters of scikit-learn's models, in 16 rounds of 8 trials (Turner et al. 2021).

A run on one of `benchmarks.problems.bayesmark` is scored by its smallest loss, from 0 for the best that the authors of
Bayesmark ever found to 1 for the median of random search; 1 is the most and -1 the least. The score is
``100 (1 - mean)``, as in the black-box optimization challenge at NeurIPS 2020. The two ends and the losses of random
search are those recorded for the challenge. Random search draws points as Bayesmark does, so that its losses must agree
with those recorded (`agreement`).
"""

from __future__ import annotations

import argparse
import logging
import time
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import gammaln, logit

from benchmarks import processes
from benchmarks.arguments import add_name, add_names, add_runs, results
from benchmarks.problems.bayesmark import (
    MODELS,
    SWITCH,
    Parameter,
    Params,
    drawn,
    loss,
    noisy,
    problems,
    recorded,
    space_of,
)
from benchmarks.problems.problem import Array
from benchmarks.storage import load

ROUNDS = 16
WIDTH = 8
#: Of Bayesmark: nine models, six data sets, two losses each.
PROBLEMS = 108

# -- runs ----------------------------------------------------------------------------------------------------------

Ask = Callable[[], Params]
Tell = Callable[[list[float]], None]


def _unscaled(space: dict[str, Parameter], point: Params) -> Params:
    """A point of an optimizer, to which a parameter on the logit scale is its place on this scale."""
    return {name: p.off_scale(point[name]) if p.scale == "logit" else point[name] for name, p in space.items()}


def _bounds(parameter: Parameter) -> tuple[float, float]:
    if parameter.scale == "logit":
        return float(logit(parameter.low)), float(logit(parameter.high))
    return parameter.low, parameter.high


def _gssbo(space: dict[str, Parameter], seed: int) -> tuple[Ask, Tell]:
    from numbo import GSSBO, Categorical, Float, Int, Space

    def dimension(p: Parameter) -> Categorical | Float | Int:
        if p == SWITCH:
            return Categorical([0, 1])
        low, high = _bounds(p)
        return Int(int(low), int(high), p.scale == "log") if p.whole else Float(low, high, p.scale == "log")

    logging.getLogger("numbo").setLevel(logging.ERROR)
    opt = GSSBO(Space({name: dimension(p) for name, p in space.items()}), seed=seed)
    points: list[Params] = []

    def ask() -> Params:
        points.append(opt.ask())
        return _unscaled(space, points[-1])

    def tell(losses: list[float]) -> None:
        for point, value in zip(points, losses, strict=True):
            opt.tell(point, value if np.isfinite(value) else None)
        points.clear()

    return ask, tell


def _tpe(space: dict[str, Parameter], seed: int) -> tuple[Ask, Tell]:
    import optuna
    from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

    def distribution(p: Parameter) -> BaseDistribution:
        if p == SWITCH:
            return CategoricalDistribution([0, 1])
        low, high = _bounds(p)
        if p.whole:
            return IntDistribution(int(low), int(high), p.scale == "log")
        return FloatDistribution(low, high, p.scale == "log")

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed, constant_liar=True))
    distributions = {name: distribution(p) for name, p in space.items()}
    trials: list[optuna.Trial] = []

    def ask() -> Params:
        trials.append(study.ask(fixed_distributions=distributions))
        return _unscaled(space, trials[-1].params)

    def tell(losses: list[float]) -> None:
        for trial, value in zip(trials, losses, strict=True):
            if np.isfinite(value):
                study.tell(trial, value)
            else:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
        trials.clear()

    return ask, tell


def _random(space: dict[str, Parameter], seed: int) -> tuple[Ask, Tell]:
    rng = np.random.default_rng(seed)
    return lambda: drawn(space, rng, 1)[0], lambda losses: None


OPTIMIZERS: dict[str, Callable[[dict[str, Parameter], int], tuple[Ask, Tell]]] = {
    "GSSBO": _gssbo,
    "TPE": _tpe,
    "Random": _random,
}


def run_one(optimizer: str, problem: str, seed: int) -> dict[str, Any]:
    """One run: the smallest loss after each round, and all losses if they are those of random search."""
    warnings.simplefilter("ignore")
    space = space_of(problem)
    begun = time.perf_counter()
    number = zlib.crc32(f"{problem} {seed}".encode())
    ask, tell = OPTIMIZERS[optimizer](space, number)
    rng = np.random.default_rng([number, 1])
    losses: list[float] = []
    asks: list[float] = []
    for _ in range(ROUNDS):
        points = []
        for _ in range(WIDTH):
            before = time.perf_counter()
            points.append(ask())
            asks.append(1e3 * (time.perf_counter() - before))
        found = [loss(problem, point, rng) for point in points]
        tell(found)
        losses += found
    rounds = np.minimum.accumulate(losses)[WIDTH - 1 :: WIDTH]
    row = {
        "optimizer": optimizer,
        "problem": problem,
        "seed": seed,
        "best": [_written(value) for value in rounds],
        "failed": int(np.sum(np.isinf(losses))),
        "ask_ms": float(np.median(asks)),
        "mean_ask_ms": float(np.mean(asks)),
        "seconds": round(time.perf_counter() - begun, 3),
    }
    return row | ({"losses": [_written(value) for value in losses]} if optimizer == "Random" else {})


def _written(value: float) -> float | None:
    return float(f"{value:.9g}") if np.isfinite(value) else None


def read(values: list[float | None]) -> Array:
    """Losses as written in a results file: infinite where there are none."""
    return np.array([np.inf if value is None else value for value in values])


def run(path: Path, optimizers: list[str], names: list[str], seeds: int, jobs: int) -> None:
    """Run what is missing in ``path``; seeds vary slowest, optimizers fastest."""
    done = {(row["optimizer"], row["problem"], row["seed"]) for row in load(path)}
    todo = [(o, p, seed) for seed in range(seeds) for p in names for o in optimizers if (o, p, seed) not in done]
    processes.record(path, run_one, todo, jobs)


# -- the report ----------------------------------------------------------------------------------------------------


def scaled(problem: str, losses: Any) -> Array:
    """Losses with 0 for the best that is recorded and 1 for the median of random search, kept from -1 to 1."""
    best = recorded()[problem]["best"]
    clip = recorded()[problem]["clip"]
    return np.clip((np.asarray(losses, dtype=float) - best) / (clip - best), -1.0, 1.0)


def expected_smallest(values: Array, count: int) -> float:
    """The mean over all choices of ``count`` from ``values (n,)`` of the smallest of them."""
    left = np.arange(len(values))[::-1]  # values that are larger, in the order of their size
    at_least = left >= count - 1
    logs = gammaln(left[at_least] + 1) - gammaln(left[at_least] - count + 2)
    weights = np.exp(logs - logs.max())
    return float(np.sort(values)[at_least] @ weights / weights.sum())


@dataclass(frozen=True)
class Agreement:
    """Random search here and as recorded, on one problem."""

    median: float
    #: Share of the losses below the recorded median, and of those at most as large.
    below: float
    at_most: float
    #: The expected best scaled loss of a round: here, its standard error, and as recorded.
    here: float
    error: float
    there: float
    trials: int

    @property
    def holds(self) -> bool:
        """Whether both differ by at most 3.5 standard errors, and 0.02 for the best of a round."""
        leeway = 3.5 * 0.5 / np.sqrt(self.trials)
        at_median = self.below <= 0.5 + leeway and self.at_most >= 0.5 - leeway
        return bool(at_median and abs(self.here - self.there) <= 3.5 * self.error + 0.02)


def agreement(problem: str, losses: Array) -> Agreement:
    """Compare ``losses (n,)`` of random search with those recorded."""
    record = recorded()[problem]
    near = 1e-6 * abs(record["clip"])
    values = scaled(problem, losses)
    rng = np.random.default_rng(0)
    again = [expected_smallest(rng.choice(values, len(values)), WIDTH) for _ in range(200)]
    return Agreement(
        median=float(np.median(losses)),
        below=float(np.mean(losses < record["clip"] - near)),
        at_most=float(np.mean(losses <= record["clip"] + near)),
        here=expected_smallest(values, WIDTH),
        error=float(np.std(again)),
        there=float(scaled(problem, record["mean"][0])),
        trials=len(losses),
    )


def agreements(path: Path) -> dict[str, Agreement]:
    """Random search here and as recorded, by problem."""
    losses: dict[str, list[Array]] = {}
    for row in load(path):
        if "losses" in row:
            losses.setdefault(row["problem"], []).append(read(row["losses"]))
    return {problem: agreement(problem, np.concatenate(losses[problem])) for problem in sorted(losses)}


def curves(path: Path) -> dict[str, dict[str, dict[int, Array]]]:
    """The smallest scaled losses ``(16,)`` by optimizer, problem and seed: those seeds that all optimizers have."""
    found: dict[tuple[str, int], dict[str, Array]] = {}
    for row in load(path):
        found.setdefault((row["problem"], row["seed"]), {})[row["optimizer"]] = scaled(
            row["problem"], read(row["best"])
        )
    names = sorted({name for one in found.values() for name in one}, key=list(OPTIMIZERS).index)
    out: dict[str, dict[str, dict[int, Array]]] = {name: {} for name in names}
    for (problem, seed), one in sorted(found.items()):
        if len(one) == len(names):
            for name in names:
                out[name].setdefault(problem, {})[seed] = one[name]
    return out


def score(losses: Any) -> float:
    """``100 (1 - mean)`` of scaled losses."""
    return float(100.0 * (1.0 - np.mean(losses)))


def interval(losses: Array) -> tuple[float, float]:
    """The 90 % interval of the score of ``losses (problems,)`` by resampling problems."""
    rng = np.random.default_rng(0)
    drawn_again = losses[rng.integers(len(losses), size=(2000, len(losses)))].mean(axis=1)
    low, high = np.quantile(100.0 * (1.0 - drawn_again), (0.05, 0.95))
    return float(low), float(high)


def _table(rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(rows[0]) + " |", "|---" * len(rows[0]) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows[1:]] + [""]


def _score_table(found: dict[str, dict[str, dict[int, Array]]], names: list[str]) -> list[list[str]]:
    """Scores on some problems by optimizer, and those recorded of random search."""
    marks = [2, 4, 8, ROUNDS]
    rows = [["optimizer", *(f"{mark} rounds" for mark in marks), "median", "worst seed", "seeds"]]
    for name, runs in found.items():
        means = np.array([np.mean(list(runs[problem].values()), axis=0) for problem in names])
        low, high = interval(means[:, -1])
        texts = [f"{score(means[:, mark - 1]):.2f}" for mark in marks]
        seeds = set.intersection(*(set(runs[problem]) for problem in names))
        worst = min(score([runs[problem][seed][-1] for problem in names]) for seed in seeds)
        texts[-1] += f" ({low:.2f} to {high:.2f})"
        rows.append([name, *texts, f"{score(np.median(means[:, -1])):.2f}", f"{worst:.2f}", str(len(seeds))])
    means = np.array([scaled(problem, recorded()[problem]["mean"]) for problem in names])
    low, high = interval(means[:, -1])
    texts = [f"{score(means[:, mark - 1]):.2f}" for mark in marks]
    texts[-1] += f" ({low:.2f} to {high:.2f})"
    return [*rows, ["Random, recorded", *texts, f"{score(np.median(means[:, -1])):.2f}", "", ""]]


def _against_first(found: dict[str, dict[str, dict[int, Array]]], names: list[str]) -> list[list[str]]:
    """How much better the first optimizer is than each other one, on the same problems."""
    rows = [["GSSBO less", "difference of scores", "better on", "equal on", "worse on"]]
    means = {
        name: np.array([np.mean([curve[-1] for curve in runs[problem].values()]) for problem in names])
        for name, runs in found.items()
    }
    first = means.pop("GSSBO", None)
    for name, other in means.items() if first is not None else ():
        off = first - other
        low, high = interval(1.0 + off)
        signs = [str(int(np.sum(chosen))) for chosen in (off < -1e-9, np.abs(off) <= 1e-9, off > 1e-9)]
        rows.append([name, f"{-100.0 * off.mean():.2f} ({low:.2f} to {high:.2f})", *signs])
    return rows


def _scores(found: dict[str, dict[str, dict[int, Array]]], names: list[str]) -> list[str]:
    """The scores on some problems, of all of them, of pairs of optimizers, and by model."""
    lines = [f"## Scores, {len(names)} of {PROBLEMS} problems", "", *_table(_score_table(found, names))]
    if {"GSSBO"} < found.keys():
        lines += ["## GSSBO on the same problems", "", *_table(_against_first(found, names))]
    lines += ["## Scores after the last round by model and noise", ""]
    rows = [["model", "problems", *found, "Random, recorded"]]
    groups = {model: [p for p in names if p.startswith(f"{model}_")] for model in MODELS}
    groups |= {"noisy": [p for p in names if noisy(p)], "not noisy": [p for p in names if not noisy(p)]}
    for title, some in groups.items():
        if some:
            texts = [row[4].split(" ")[0] for row in _score_table(found, some)[1:]]
            rows.append([title, str(len(some)), *texts])
    return lines + _table(rows)


def _problems(found: dict[str, dict[str, dict[int, Array]]], agreed: dict[str, Agreement]) -> list[str]:
    """Whether random search agrees, and what the optimizers reach, by problem."""
    lines = []
    if agreed:
        off = float(np.mean([one.here - one.there for one in agreed.values()]))
        error = float(np.sqrt(np.sum([one.error**2 for one in agreed.values()]))) / len(agreed)
        holding = sum(one.holds for one in agreed.values())
        lines += [
            f"{holding} of {len(agreed)} agree. The best of a round is off by {off:.4f} ± {error:.4f} on average.",
            "",
        ]
    rows = [["problem", "median", "recorded", "below", "at most", "best of a round", "recorded", "agrees", *found]]
    for problem, one in agreed.items():
        row = [problem, f"{one.median:.4g}", f"{recorded()[problem]['clip']:.4g}"]
        row += [f"{one.below:.2f}", f"{one.at_most:.2f}", f"{one.here:.3f} ± {one.error:.3f}", f"{one.there:.3f}"]
        ends = [[curve[-1] for curve in runs.get(problem, {}).values()] for runs in found.values()]
        rows.append([*row, "yes" if one.holds else "**no**", *(f"{np.mean(end):.3f}" if end else "" for end in ends)])
    return lines + _table(rows)


def _times(path: Path) -> list[str]:
    """Times and failures, by optimizer."""
    times: dict[str, list[tuple[float, ...]]] = {}
    keys = ("ask_ms", "mean_ask_ms", "seconds", "failed")
    for measured in load(path):
        times.setdefault(measured["optimizer"], []).append(tuple(measured[key] for key in keys))
    rows = [["optimizer", "median ms", "mean ms", "mean seconds of a run", "failed, mean"]]
    for name, runs_of in times.items():
        medians, means, seconds, failed = np.array(runs_of).T
        texts = [f"{np.median(medians):.1f}", f"{means.mean():.1f}", f"{seconds.mean():.1f}", f"{failed.mean():.2f}"]
        rows.append([name, *texts])
    return _table(rows)


#: What the scores are.
SCORES = f"""\
Scores after rounds of {WIDTH} trials: 100 for the best loss that the authors of Bayesmark found with any
method, 0 for the median loss of random search. The mean over problems of the mean over seeds; after the last
round its 90 % interval by resampling problems, the median over problems and the worst seed. TPE has
`constant_liar=True`. The last line is the random search of the authors, the only method that they recorded
by problem. As in Bayesmark, the smallest loss counts also where a model is noisy: scores there may exceed
100, and they gain from many trials close to the best."""
#: What the figures of a problem are.
FIGURES = """\
The median of all losses of random search, here and as recorded; the shares of those here that are below the
recorded one, and at most as large; the expected best of a round, from 0 for the best loss to 1 for the
recorded median, with its standard error. Problems agree if the shares and the best of a round do, within 3.5
standard errors and, for the best of a round, 0.02; the others are not in the scores. Losses after the last
round are on the same scale, from -1 to 1."""


def write_report(path: Path) -> None:
    """Write the tables beside the results; scores are on problems that all optimizers did, if random search agrees."""
    found = curves(path)
    agreed = agreements(path)
    done = sorted(set.intersection(*(set(runs) for runs in found.values())))
    names = [problem for problem in done if problem in agreed and agreed[problem].holds]
    lines = ["# Results: Bayesmark", "", "Written by `python -m benchmarks bayesmark`.", "", *SCORES.splitlines(), ""]
    absent = [problem for problem in problems() if problem not in done]
    if absent:
        lines += [f"Not run by all optimizers: {', '.join(absent)}.", ""]
    if names:
        lines += _scores(found, names)
    lines += ["## Problems: whether random search agrees, and losses after the last round", ""]
    lines += [*FIGURES.splitlines(), "", *_problems(found, agreed)]
    lines += ["## Time of a suggestion, and trials that failed", "", *_times(path)]
    path.with_suffix(".md").write_text("\n".join(lines))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_name(parser, "bayesmark")
    add_names(parser, "--optimizers", "optimizer", OPTIMIZERS)
    add_names(parser, "--problems", "problem", problems(), help="MODEL_DATA_METRIC, all by default")
    data = sorted({problem.split("_")[1] for problem in problems()})
    add_names(parser, "--data", "data", data, help="problems on these data only; digits take longest")
    add_runs(parser, seeds=2, jobs=1)


def main(arguments: argparse.Namespace) -> None:
    path = results(arguments)
    names = [problem for problem in arguments.problems if problem.split("_")[1] in arguments.data]
    run(path, arguments.optimizers, names, arguments.seeds, arguments.jobs)
    write_report(path)
