"""Runs that prune: the best full run after the cost of some, on recorded and on synthetic learning curves.

A trial reports a value at each of its steps, and costs one for each. What counts is the regret of the best trial that
ran to its end, as a share of that of the median configuration, after the cost of `COSTS` full runs.

The problems are those of `benchmarks.problems.curves`. Beside samplers under pruners, there are peers that choose the
number of steps themselves (`benchmarks.samplers.budgets`).
"""

from __future__ import annotations

import argparse
import time
import warnings
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.pruners import BasePruner
from optuna.samplers import BaseSampler
from optuna.trial import TrialState

from benchmarks import processes
from benchmarks.arguments import add_name, add_names, add_runs, one_of, results
from benchmarks.compare import searches
from benchmarks.problems.curves import APART, KINDS, LCBENCH, Task, problems, task
from benchmarks.problems.problem import Array
from benchmarks.samplers import budgets
from benchmarks.samplers.registry import gp_sampler
from benchmarks.storage import load

COSTS = (10, 20, 60)
#: In place of the pruner's name, of peers that have none.
OWN = "own"


def _gssbo(space: dict[str, BaseDistribution], seed: int, **settings: Any) -> BaseSampler:
    from numbo import GSSBOSettings
    from numbo.optuna import GSSBOSampler

    return GSSBOSampler(seed=seed, search_space=space, settings=GSSBOSettings(**settings))


SAMPLERS: dict[str, Callable[[dict[str, BaseDistribution], int], BaseSampler]] = {
    "GSSBO": _gssbo,
    "GSSBO-no-curves": lambda space, seed: _gssbo(space, seed, use_curves=False),
    "GSSBO-no-scouts": lambda space, seed: _gssbo(space, seed, scouting=0.0),
    "TPE": lambda space, seed: optuna.samplers.TPESampler(seed=seed),
    "GPSampler": lambda space, seed: gp_sampler(seed),
    "Random": lambda space, seed: optuna.samplers.RandomSampler(seed=seed),
}


def _curve_pruner(steps: int) -> BasePruner:
    from numbo.optuna import CurvePruner

    return CurvePruner()


PRUNERS: dict[str, Callable[[int], BasePruner]] = {
    "none": lambda steps: optuna.pruners.NopPruner(),
    "median": lambda steps: optuna.pruners.MedianPruner(),
    "halving": lambda steps: optuna.pruners.SuccessiveHalvingPruner(),
    "hyperband": lambda steps: optuna.pruners.HyperbandPruner(min_resource=1, max_resource=steps),
    "curve": _curve_pruner,
}


class Outcome(NamedTuple):
    """Regrets after each cost, and the numbers of configurations, and of those that ran to their end."""

    regrets: list[float]
    trials: int
    ended: int
    asks: list[float]


class _Worker:
    """One that trains a configuration, step by step."""

    def __init__(self, study: optuna.Study, of: Task) -> None:
        started = time.perf_counter()
        self._study = study
        self._task = of
        self._trial = study.ask(of.space)
        self.asked = 1e3 * (time.perf_counter() - started)
        self._values = of.curve(self._trial.params)
        self._step = 0

    def train(self) -> tuple[bool, float | None]:
        """Make one step: whether the trial has ended, and its value if it ran to its end."""
        value = float(self._values[self._step])
        self._step += 1
        if not np.isfinite(value):
            self._study.tell(self._trial, state=TrialState.FAIL)
            return True, None
        self._trial.report(value, self._step)
        if self._step == self._task.steps:
            self._study.tell(self._trial, value)
            return True, value
        if self._trial.should_prune():
            self._study.tell(self._trial, state=TrialState.PRUNED)
            return True, None
        return False, None


def run_one(sampler: str, pruner: str, problem: str, seed: int, workers: int) -> dict[str, Any]:
    """One run: regrets after the cost of `COSTS` full runs."""
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    of = task(problem)
    number = zlib.crc32(f"{problem} {seed}".encode())
    started = time.perf_counter()
    if sampler in budgets.PEERS:
        found = run_peer(budgets.PEERS[sampler](of.space, of.steps, number % 2**31), of, COSTS)
    else:
        study = optuna.create_study(
            study_name=f"{problem} {seed}",  # from which the brackets of Hyperband follow
            sampler=SAMPLERS[sampler](of.space, number),
            pruner=PRUNERS[pruner](of.steps),
        )
        found = _run_study(study, of, workers)
    return {
        "sampler": sampler,
        "pruner": pruner,
        "problem": problem,
        "seed": seed,
        "workers": workers,
        "regrets": [round(regret, 6) for regret in found.regrets],
        "trials": found.trials,
        "ended": found.ended,
        "ask_ms": round(float(np.median(found.asks)), 3),
        "seconds": round(time.perf_counter() - started, 3),
    }


def _run_study(study: optuna.Study, of: Task, workers: int) -> Outcome:
    busy = [_Worker(study, of) for _ in range(workers)]
    asks = list[float]()
    spent = 0
    best = np.inf
    regrets = list[float]()
    ended = 0
    while len(regrets) < len(COSTS):
        for k, worker in enumerate(busy):
            done, value = worker.train()
            spent += 1
            if value is not None:
                best = min(best, value)
                ended = ended + 1
            if spent == COSTS[len(regrets)] * of.steps:
                regrets.append(of.regret(best) if np.isfinite(best) else 1.0)
                if len(regrets) == len(COSTS):
                    break
            if done:
                asks.append(worker.asked)
                busy[k] = _Worker(study, of)
    return Outcome(regrets, len(study.trials), ended, asks)


def run_peer(peer: budgets.Peer, of: Task, costs: Sequence[int]) -> Outcome:
    """Regrets after ``costs`` full runs.

    A configuration that is asked for again with more steps goes on from where it was: it costs only those that are new.
    What diverges costs the steps until it did; its value is the worst so far, and not better than the median's.
    """
    trained = dict[tuple[float, ...], int]()
    ended = set[tuple[float, ...]]()
    asks = list[float]()
    regrets = list[float]()
    spent = 0
    best = np.inf
    worst = of.median
    while True:
        started = time.perf_counter()
        params, budget = peer.ask()
        asks.append(1e3 * (time.perf_counter() - started))
        steps = max(1, round(budget))
        config = tuple(params.values())
        values = of.curve(params)[:steps]
        diverged = np.flatnonzero(~np.isfinite(values))
        made = int(diverged[0]) + 1 if len(diverged) else steps
        spent += max(0, made - trained.get(config, 0))
        trained[config] = max(made, trained.get(config, 0))
        while spent > costs[len(regrets)] * of.steps:
            regrets.append(of.regret(best) if np.isfinite(best) else 1.0)
            if len(regrets) == len(costs):
                return Outcome(regrets, len(trained), len(ended), asks)
        value = worst if len(diverged) else float(values[-1])
        worst = max(worst, value)
        if steps == of.steps and not len(diverged):
            best = min(best, value)
            ended.add(config)
        peer.tell(value)


def jobs(
    samplers: Sequence[str], pruners: Sequence[str], names: Sequence[str], seeds: int, workers: int
) -> list[tuple[str, str, str, int, int]]:
    """All runs of these; a peer without a pruner has one of each problem and seed, with a single worker only."""
    return [
        (sampler, pruner, problem, seed, workers)
        for seed in range(seeds)
        for problem in names
        for pruner in [*pruners, OWN]
        for sampler in samplers
        if (sampler in budgets.PEERS) == (pruner == OWN) and (workers == 1 or pruner != OWN)
    ]


def run(path: Path, wanted: Sequence[tuple[str, str, str, int, int]], processes_: int) -> None:
    """Run what is missing in ``path``."""
    key = ("sampler", "pruner", "problem", "seed", "workers")
    done = {tuple(row[name] for name in key) for row in load(path)}
    todo = [job for job in wanted if job not in done]
    processes.record(path, run_one, todo, processes_)


# -- the report ----------------------------------------------------------------------------------------------------


def _family(problem: str) -> str:
    kind = problem.partition("-")[0]
    return "synthetic" if kind in KINDS else kind


def table(rows: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Array]]:
    """Regrets (seeds, costs) by sampler and pruner, and by problem."""
    found: dict[tuple[str, str], dict[str, list[list[float]]]] = {}
    for row in sorted(rows, key=lambda row: int(row["seed"])):
        cell = found.setdefault((row["sampler"], row["pruner"]), {})
        cell.setdefault(row["problem"], []).append(row["regrets"])
    return {pair: {name: np.array(runs) for name, runs in cell.items()} for pair, cell in found.items()}


def ranks(cells: dict[tuple[str, str], dict[str, Array]]) -> dict[str, Array]:
    """Mean ranks (costs,) of the samplers, by their mean regret, over the problems and pruners that all have.

    Peers without a pruner are left out.
    """
    samplers = sorted({sampler for sampler, pruner in cells if pruner != OWN})
    places = list[Array]()
    for pruner in sorted({pruner for _, pruner in cells} - {OWN}):
        places += _places([cells.get((sampler, pruner), {}) for sampler in samplers])
    return dict(zip(samplers, np.mean(places, axis=0), strict=True)) if places else {}


def _places(columns: list[dict[str, Array]]) -> list[Array]:
    """Ranks (columns, costs) on each problem that all have."""
    places = []
    for name in sorted(set.intersection(*(set(column) for column in columns))):
        means = np.array([column[name].mean(axis=0) for column in columns])
        below = (means[:, None] > means[None]).sum(axis=1)
        ties = (means[:, None] == means[None]).sum(axis=1)
        places.append(below + 0.5 * (ties + 1))
    return places


def best_ranks(cells: dict[tuple[str, str], dict[str, Array]]) -> dict[tuple[str, str], Array]:
    """Mean ranks (costs,) of samplers, each under the pruner whose mean regret at the last cost is the least.

    They are compared on the problems that all samplers have, under the pruners that have all of these.
    """
    samplers = sorted({sampler for sampler, _ in cells})
    of_sampler = [{name for (s, _), cell in cells.items() if s == sampler for name in cell} for sampler in samplers]
    common = set.intersection(*of_sampler)
    chosen = dict[str, tuple[float, str]]()
    for (sampler, pruner), cell in cells.items():
        if common <= set(cell):
            mean = float(np.mean([cell[name].mean(axis=0)[-1] for name in sorted(common)]))
            chosen[sampler] = min(chosen.get(sampler, (np.inf, "")), (mean, pruner))
    pairs = [(sampler, pruner) for sampler, (_, pruner) in chosen.items()]
    places = _places([{name: cells[pair][name] for name in common} for pair in pairs]) if pairs and common else []
    return dict(zip(pairs, np.mean(places, axis=0), strict=True)) if places else {}


def write_report(path: Path) -> None:
    """Tables of all runs in ``path``, beside it."""
    rows = load(path)
    text = [
        "# Runs that prune",
        "",
        "Regret of the best full run, as a share of the median configuration's, after the cost of "
        f"{', '.join(map(str, COSTS[:-1]))} and {COSTS[-1]} full runs: means of problems and seeds.",
    ]
    for workers in sorted({row["workers"] for row in rows}):
        for apart in (False, True):
            names = set(problems(apart=apart)) | {row["problem"] for row in rows if row["problem"] in _all(apart)}
            some = [row for row in rows if row["workers"] == workers and row["problem"] in names]
            if some:
                title = f"{workers} worker{'s' * (workers > 1)}" + ", problems put aside" * apart
                text += ["", f"## {title[0].upper()}{title[1:]}", "", *_tables(some)]
    path.with_suffix(".md").write_text("\n".join(text) + "\n")


def _all(apart: bool) -> set[str]:
    return {f"lcbench-{name}" for name in (APART if apart else LCBENCH)}


def _tables(rows: list[dict[str, Any]]) -> list[str]:
    cells = table(rows)
    lines = list[str]()
    families = sorted({_family(row["problem"]) for row in rows})
    lines += ["| sampler | pruner | " + " | ".join(families) + " | trials | ms |", "|---" * (len(families) + 4) + "|"]
    order = [*SAMPLERS, *budgets.PEERS]
    pruners = [*PRUNERS, OWN]
    for sampler, pruner in sorted(cells, key=lambda pair: (order.index(pair[0]), pruners.index(pair[1]))):
        mine = [row for row in rows if (row["sampler"], row["pruner"]) == (sampler, pruner)]
        shown = []
        for family in families:
            of = [regrets.mean(axis=0) for name, regrets in cells[sampler, pruner].items() if _family(name) == family]
            shown.append(" / ".join(f"{value:.3f}" for value in np.mean(of, axis=0)) if of else "")
        trials, asks = (float(np.mean([row[name] for row in mine])) for name in ("trials", "ask_ms"))
        lines.append(f"| {sampler} | {pruner} | {' | '.join(shown)} | {trials:.0f} | {asks:.1f} |")
    seeds = {len(regrets) for cell in cells.values() for regrets in cell.values()}
    lines += ["", f"Seeds: {min(seeds)} to {max(seeds)}." if len(seeds) > 1 else f"Seeds: {max(seeds)}."]
    if found := ranks(cells):
        lines += ["", "Mean rank among the samplers, over the problems and pruners that all have:", ""]
        for name, places in sorted(found.items(), key=lambda one: float(one[1][-1])):
            lines.append(f"- {name}: {_shown(places)}")
    if len(found_best := best_ranks(cells)) > 1:
        lines += ["", f"Mean rank of the samplers, each under the pruner that turned out best at {COSTS[-1]}:", ""]
        for (name, pruner), places in sorted(found_best.items(), key=lambda one: float(one[1][-1])):
            lines.append(f"- {name} ({pruner}): {_shown(places)}")
    return lines


def _shown(places: Array) -> str:
    return " / ".join(f"{place:.2f}" for place in places)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_name(parser, "curves")
    usual = [*SAMPLERS, *budgets.installed()]
    add_names(
        parser, "--samplers", "sampler", [*SAMPLERS, *budgets.PEERS], usual, help="all that are installed by default"
    )
    add_names(parser, "--pruners", "pruner", PRUNERS)
    every = one_of("problem", [*problems(), *problems(apart=True)], str)
    parser.add_argument("--problems", nargs="+", metavar="PROBLEM", type=every, help=searches.PROBLEMS)
    parser.add_argument("--apart", action="store_true", help=searches.APART)
    parser.add_argument("--workers", type=int, default=1, help="number of trials that run at the same time")
    add_runs(parser, seeds=2)


def main(arguments: argparse.Namespace) -> None:
    a = arguments
    path = results(a)
    names = a.problems or problems(apart=a.apart)
    run(path, jobs(a.samplers, a.pruners, names, a.seeds, a.workers), a.jobs)
    write_report(path)
