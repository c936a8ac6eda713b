"""``python -m benchmarks batches``: many points at once compared with one at a time, as ``results/batches.md``.

Rounds of several calls of ``study.ask``, followed by as many of ``study.tell``, on ten functions that are in none of
the suites. Each finished run is written as a line of JSON; runs already there are not repeated.
"""

from __future__ import annotations

from benchmarks.compare.runner import CURVE  # first: it sets the number of threads

# isort: split
import json
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from tqdm import tqdm

import optuna
from benchmarks.problems import functions
from benchmarks.problems.functions import dixon_price, zakharov
from benchmarks.problems.suites import Params, Problem, box, moved
from benchmarks.samplers.registry import SAMPLERS
from benchmarks.samplers.turbo import BatchTuRBO
from benchmarks.storage import load

Array = NDArray[np.float64]

EVALUATIONS = 300
WIDTHS = (1, 8, 20, 50)
#: Smaller regrets count as this one.
SMALLEST = 1e-9


# -- problems --------------------------------------------------------------------------------------------------


def camel(x: Array) -> float:
    a, b = x
    return float((4.0 - 2.1 * a**2 + a**4 / 3.0) * a**2 + a * b + 4.0 * (b**2 - 1.0) * b**2)


_HARTMANN_A = np.array([[3.0, 10.0, 30.0], [0.1, 10.0, 35.0], [3.0, 10.0, 30.0], [0.1, 10.0, 35.0]])
_HARTMANN_P = 1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]])


def hartmann3(x: Array) -> float:
    return float(-np.array([1.0, 1.2, 3.0, 3.2]) @ np.exp(-np.sum(_HARTMANN_A * (x - _HARTMANN_P) ** 2, axis=1)))


def bowl(x: Array) -> float:
    """Smooth and convex, flatter at its bottom than a quadratic."""
    return float(np.sum(x**2) + np.sum(x**4) + 0.1 * np.sum(x) ** 2)


def mixed() -> Problem:
    """A rippled bowl in three reals and three integers, whose centre and height depend on two choices."""
    space: dict[str, BaseDistribution] = {f"x{i}": FloatDistribution(-3.0, 3.0) for i in range(3)}
    space |= {f"k{i}": IntDistribution(0, 20) for i in range(3)}
    space |= {"kind": CategoricalDistribution(["a", "b", "c"]), "extra": CategoricalDistribution(["no", "yes"])}
    centers = {"a": (1.1, -0.7, 0.4), "b": (-1.3, 0.2, 1.5), "c": (0.0, 0.0, 0.0)}
    height = {"a": 0.0, "b": 0.4, "c": 0.8, "no": 0.0, "yes": 0.3}

    def value(p: Params) -> float:
        x = np.array([p[f"x{i}"] for i in range(3)]) - centers[p["kind"]]
        k = (np.array([p[f"k{i}"] for i in range(3)]) - np.array([6, 11, 15])) / 5.0
        ripple = np.sum(1.0 - np.cos(4.0 * x)) * 0.2
        return float(x @ x + ripple + k @ k + 0.2 * abs(x[0] * k[0]) + height[p["kind"]] + height[p["extra"]])

    return Problem(space, value)


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "camel-2": lambda: box(camel, 2, -3.0, 3.0, -1.031628453489877),
    "hartmann-3": lambda: box(hartmann3, 3, 0.0, 1.0, -3.862779787332660),
    "rosenbrock-4": lambda: moved(lambda x: functions.rosenbrock(x + 1.0), 4, -3.0, 3.0, 11),
    "ackley-5": lambda: moved(functions.ackley, 5, -15.0, 15.0, 12),
    "levy-7": lambda: moved(lambda x: functions.levy(x + 1.0), 7, -10.0, 10.0, 13),
    "zakharov-8": lambda: moved(zakharov, 8, -5.0, 5.0, 14),
    "mixed-8": mixed,
    "dixon-price-10": lambda: moved(dixon_price, 10, -4.0, 4.0, 15),
    "ellipsoid-14": lambda: moved(functions.ellipsoid, 14, -5.0, 5.0, 16),
    "bowl-20": lambda: moved(bowl, 20, -2.0, 2.0, 17),
}


# -- runs ------------------------------------------------------------------------------------------------------

Ask = Callable[[int], list[Params]]
Tell = Callable[[list[float]], None]


def _study(sampler: Callable[[int], optuna.samplers.BaseSampler]) -> Callable[[Problem, int, int], tuple[Ask, Tell]]:
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
    from numbo.optuna._distributions import Searched, to_external, to_space

    from numbo import Space

    space = to_space(Searched(dict(problem.space)))
    assert isinstance(space, Space)
    turbo = BatchTuRBO(space, width, seed)
    return lambda count: [to_external(p, problem.space) for p in turbo.ask()[:count]], lambda v: turbo.tell(np.array(v))


def _liar(seed: int) -> optuna.samplers.BaseSampler:
    return optuna.samplers.TPESampler(seed=seed, constant_liar=True)


SEARCHES: dict[str, Callable[[Problem, int, int], tuple[Ask, Tell]]] = {
    "GSSBO": _study(SAMPLERS["GSSBO"]),
    "TuRBO-1": _turbo,
    "TPE": _study(_liar),
    "Random": _study(SAMPLERS["Random"]),
}


def run_one(problem_name: str, search: str, width: int, seed: int, evaluations: int = EVALUATIONS) -> dict[str, Any]:
    """One run in rounds of ``width``: the best regret, its curve, and the time spent asking."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    problem = PROBLEMS[problem_name]()
    ask, tell = SEARCHES[search](problem, width, seed)
    regrets: list[float] = []
    seconds = 0.0
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
        "best": float(best[-1]),
        "ask_ms": 1e3 * seconds / evaluations,
        "curve": [[int(t), float(best[t - 1])] for t in CURVE if t <= evaluations],
    }


def run(path: Path, searches: list[str], widths: list[int], seeds: int, jobs: int) -> None:
    """Run what is missing in ``path``; seeds vary slowest."""
    done = {(r["problem"], r["search"], r["width"], r["seed"]) for r in load(path)}
    todo = [(p, s, w, seed) for seed in range(seeds) for s in searches for w in widths for p in PROBLEMS]
    todo = [job for job in todo if job not in done]
    path.parent.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(jobs) as pool, path.open("a") as file:
        futures = {pool.submit(run_one, *job): job for job in todo}
        for future in tqdm(as_completed(futures), total=len(todo), desc=path.stem, unit="run"):
            error = future.exception()
            if error is not None:
                tqdm.write(f"{futures[future]} failed: {error!r}")
                continue
            file.write(json.dumps(future.result()) + "\n")
            file.flush()


# -- report ----------------------------------------------------------------------------------------------------


def decades(regret: float) -> float:
    """log10 of a regret, which counts as at least `SMALLEST`."""
    return float(np.log10(max(regret, SMALLEST)))


def write_report(path: Path) -> None:
    """Write ``NAME.md`` from ``NAME.jsonl``: medians over seeds, and how far each search is behind one at a time."""
    cells: dict[tuple[str, int], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in load(path):
        cells[row["search"], row["width"]][row["problem"]].append(decades(row["best"]))
    columns = sorted(cells, key=lambda c: (list(SEARCHES).index(c[0]), c[1]))
    lines = [
        f"# Results: {path.stem}",
        "",
        "Written by `python -m benchmarks batches`.",
        "",
        f"Decades (log10) of the best regret after {EVALUATIONS} evaluations, median over seeds; regrets below",
        f"{SMALLEST:g} count as that. Columns are searches with the number of points asked for at once. TuRBO-1 is",
        "`benchmarks/samplers/turbo.py`, and TPE has `constant_liar=True`.",
        "",
        "| problem | " + " | ".join(f"{search}, {width}" for search, width in columns) + " |",
        "|---" * (len(columns) + 1) + "|",
    ]

    def median(column: tuple[str, int], problem: str) -> float:
        values = cells[column].get(problem, [])
        return float(np.median(values)) if values else float("nan")

    def line(name: str, values: list[str]) -> None:
        lines.append(f"| {name} | " + " | ".join(values) + " |")

    for problem in PROBLEMS:
        line(problem, [f"{median(c, problem):.2f}" for c in columns])
    line("seeds", [str(min(len(cells[c].get(p, [])) for p in PROBLEMS)) for c in columns])
    if ("GSSBO", 1) in columns:
        behind = [[median(c, p) - median(("GSSBO", 1), p) for p in PROBLEMS] for c in columns]
        line("behind GSSBO one at a time, median", [f"{np.median(b):.2f}" for b in behind])
        line("mean", [f"{np.mean(b):.2f}" for b in behind])
    path.with_suffix(".md").write_text("\n".join(lines) + "\n")
    print(f"wrote {path.with_suffix('.md')}")
