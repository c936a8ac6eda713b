"""Many points at once compared with one at a time.

Rounds of several calls of ``study.ask``, followed by as many of ``study.tell``, on ten functions that are in none of
the suites. If trials are asynchronous, one of the older ones ends at a time, and the next one begins. Each finished run
is written as a line of JSON; runs already there are not repeated.
"""

from __future__ import annotations

from benchmarks.compare.runner import CURVE  # first: it sets the number of threads

# isort: split
import argparse
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import optuna
from optuna.samplers import BaseSampler, TPESampler

from benchmarks import processes
from benchmarks.arguments import add_name, add_names, add_runs, results
from benchmarks.problems.batches import PROBLEMS
from benchmarks.problems.problem import Params, Problem
from benchmarks.samplers.registry import SAMPLERS
from benchmarks.samplers.search import numbo_space
from benchmarks.samplers.turbo import BatchTuRBO
from benchmarks.storage import load

EVALUATIONS = 300
WIDTHS = (1, 8, 20, 50)
#: Of asynchronous trials, one of this share of the oldest ones ends next.
OLDEST = 4
#: Smaller regrets count as this one.
SMALLEST = 1e-9
KEYS = ("problem", "search", "width", "seed", "asynchronous")
#: A search, the number of points at once, and whether trials are asynchronous.
Column: TypeAlias = tuple[str, int, bool]


# -- runs ------------------------------------------------------------------------------------------------------

Ask = Callable[[int], list[Params]]
Tell = Callable[[list[float]], None]


def _study(sampler: Callable[[int], BaseSampler]) -> Callable[[Problem, int, int], tuple[Ask, Tell]]:
    def start(problem: Problem, width: int, seed: int) -> tuple[Ask, Tell]:
        study = optuna.create_study(sampler=sampler(seed))
        trials: list[optuna.Trial] = []

        def ask(count: int) -> list[Params]:
            trials[:] = [study.ask(fixed_distributions=dict(problem.space)) for _ in range(count)]
            return [trial.params for trial in trials]

        def tell(values: list[float]) -> None:
            for trial, value in zip(trials, values, strict=True):
                study.tell(trial, value)

        return ask, tell

    return start


def _turbo(problem: Problem, width: int, seed: int) -> tuple[Ask, Tell]:
    turbo = BatchTuRBO(numbo_space(problem.space), width, seed)
    return lambda count: turbo.ask()[:count], lambda values: turbo.tell(np.array(values))


def _liar(seed: int) -> BaseSampler:
    return TPESampler(seed=seed, constant_liar=True)


SEARCHES: dict[str, Callable[[Problem, int, int], tuple[Ask, Tell]]] = {
    "GSSBO": _study(SAMPLERS["GSSBO"]),
    "TuRBO-1": _turbo,
    "TPE": _study(_liar),
    "Random": _study(SAMPLERS["Random"]),
}


def run_one(
    problem_name: str,
    search: str,
    width: int,
    seed: int,
    evaluations: int = EVALUATIONS,
    *,
    asynchronous: bool = False,
) -> dict[str, Any]:
    """One run with ``width`` trials at once: the best regret, its curve, and the time spent asking."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    problem = PROBLEMS[problem_name]()
    regrets: list[float] = []
    seconds = 0.0
    if asynchronous:
        for value, spent in _one_by_one(problem, search, width, seed, evaluations):
            regrets.append(value - problem.minimum)
            seconds += spent
    else:
        ask, tell = SEARCHES[search](problem, width, seed)
        while len(regrets) < evaluations:
            before = time.perf_counter()
            points = ask(min(width, evaluations - len(regrets)))
            seconds += time.perf_counter() - before
            values = [problem.function(p) for p in points]
            tell(values)
            regrets += [value - problem.minimum for value in values]
    best = np.minimum.accumulate(regrets)
    return {
        "problem": problem_name,
        "search": search,
        "width": width,
        "seed": seed,
        "evaluations": evaluations,
        "asynchronous": asynchronous,
        "best": float(best[-1]),
        "ask_ms": 1e3 * seconds / evaluations,
        "curve": [[int(t), float(best[t - 1])] for t in CURVE if t <= evaluations],
    }


def _one_by_one(
    problem: Problem, search: str, width: int, seed: int, evaluations: int
) -> Iterator[tuple[float, float]]:
    """The values of trials in the order in which they end, each with the time spent asking since the one before."""
    study = optuna.create_study(sampler=SAMPLERS[search](seed))
    rng = np.random.default_rng(seed)
    running: list[optuna.Trial] = []
    for _ in range(evaluations):
        before = time.perf_counter()
        while len(running) < width:
            running.append(study.ask(fixed_distributions=dict(problem.space)))
        spent = time.perf_counter() - before
        trial = running.pop(int(rng.integers(max(1, width // OLDEST))))
        value = problem.function(trial.params)
        study.tell(trial, value)
        yield value, spent


def run(
    path: Path, searches: list[str], widths: Sequence[int], seeds: int, jobs: int, evaluations: int, modes: list[bool]
) -> None:
    """Run what is missing in ``path``; seeds vary slowest."""
    done = {tuple(row[key] for key in KEYS) for row in _rows(path) if row["evaluations"] == evaluations}
    todo = [
        (problem, search, width, seed, asynchronous)
        for seed in range(seeds)
        for search in searches
        for width in widths
        for asynchronous in modes
        for problem in PROBLEMS
        if not asynchronous or (search in SAMPLERS and width > 1)
    ]
    one = partial(_run_job, evaluations=evaluations)
    processes.record(path, one, [job for job in todo if job not in done], jobs, lenient=True)


def _run_job(
    problem: str, search: str, width: int, seed: int, asynchronous: bool, *, evaluations: int
) -> dict[str, Any]:
    return run_one(problem, search, width, seed, evaluations, asynchronous=asynchronous)


def _rows(path: Path) -> list[dict[str, Any]]:
    """The runs in ``path``; the older ones were all in rounds."""
    return [{"asynchronous": False, "evaluations": EVALUATIONS} | row for row in load(path)]


# -- report ----------------------------------------------------------------------------------------------------


def decades(regret: float) -> float:
    """log10 of a regret, which counts as at least `SMALLEST`."""
    return float(np.log10(max(regret, SMALLEST)))


def write_report(path: Path) -> None:
    """Write ``NAME.md`` from ``NAME.jsonl``: medians over seeds, and how far each search is behind one at a time."""
    cells: dict[Column, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    rows = _rows(path)
    evaluations = max(row["evaluations"] for row in rows)
    for row in rows:
        if row["evaluations"] == evaluations:
            cells[row["search"], row["width"], row["asynchronous"]][row["problem"]].append(decades(row["best"]))
    columns = sorted(cells, key=lambda c: (list(SEARCHES).index(c[0]), *c[1:]))
    lines = [
        f"# Results: {path.stem}",
        "",
        "Written by `python -m benchmarks batches`.",
        "",
        f"Decades (log10) of the best regret after {evaluations} evaluations, median over seeds; regrets below",
        f"{SMALLEST:g} count as that. Columns are searches with the number of points asked for at once. TuRBO-1 is",
        "`benchmarks/samplers/turbo.py`, and TPE has `constant_liar=True`.",
        "",
        "| problem | " + " | ".join(f"{s}, {w}{' asynchronous' * a}" for s, w, a in columns) + " |",
        "|---" * (len(columns) + 1) + "|",
    ]

    def median(column: Column, problem: str) -> float:
        values = cells[column].get(problem, [])
        return float(np.median(values)) if values else float("nan")

    def line(name: str, values: list[str]) -> None:
        lines.append(f"| {name} | " + " | ".join(values) + " |")

    for problem in PROBLEMS:
        line(problem, [f"{median(c, problem):.2f}" for c in columns])
    line("seeds", [str(min(len(cells[c].get(p, [])) for p in PROBLEMS)) for c in columns])
    if (alone := ("GSSBO", 1, False)) in columns:
        behind = [[median(c, p) - median(alone, p) for p in PROBLEMS] for c in columns]
        line("behind GSSBO one at a time, median", [f"{np.median(b):.2f}" for b in behind])
        line("mean", [f"{np.mean(b):.2f}" for b in behind])
    path.with_suffix(".md").write_text("\n".join(lines) + "\n")
    print(f"wrote {path.with_suffix('.md')}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_name(parser, "batches")
    add_names(parser, "--searches", "search", SEARCHES)
    parser.add_argument(
        "--widths", nargs="+", type=int, metavar="WIDTH", default=WIDTHS, help="1, 8, 20, 50 by default"
    )
    parser.add_argument("--evaluations", type=int, default=EVALUATIONS, help="of a run")
    parser.add_argument("--asynchronous", action="store_true", help="also asynchronous trials, of Optuna's samplers")
    add_runs(parser, seeds=5, jobs=2)


def main(arguments: argparse.Namespace) -> None:
    path = results(arguments)
    modes = [False, True] if arguments.asynchronous else [False]
    run(path, arguments.searches, arguments.widths, arguments.seeds, arguments.jobs, arguments.evaluations, modes)
    write_report(path)
