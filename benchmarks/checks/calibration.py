"""Whether `predict` is right: how often its 90 % intervals contain the objective, and how far off its mean is.

The functions are made for this purpose and known in closed form. Each is searched with and without noise, and the
model is asked about unseen points: some spread evenly over the space, some around the best predicted one. It predicts
the objective without its noise. The regrets of `best_predicted` and of the best observation are recorded as well.

Everything is in units of the standard deviation of the function over the space.
"""

from __future__ import annotations

from benchmarks import processes
from benchmarks.compare.runner import WIDTH  # first: it sets the number of threads

# isort: split
import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.arguments import add_names, add_runs
from benchmarks.problems.functions import rotation
from benchmarks.storage import RESULTS, load
from numbo import BBKB, BKB, GPUCB, GSSBO, SBPE, Float, Space

Array = NDArray[np.float64]
Function = Callable[[Array], Array]

NOISES = (0.0, 0.1, 0.5)
#: Points of each kind that the model is asked about.
POINTS = 400
#: Standard deviation of the points around the best predicted one, in the unit cube.
AROUND = 0.05


def bumps(d: int, seed: int) -> Function:
    """Twelve broad hills and hollows at random places."""
    rng = np.random.default_rng(seed)
    centers = rng.random((12, d))
    heights = rng.normal(size=12)
    widths = rng.uniform(0.25, 0.6, 12) * np.sqrt(d)

    def value(X: Array) -> Array:
        squares = np.sum((X[:, None] - centers) ** 2, axis=2)
        out: Array = np.exp(-0.5 * squares / widths**2) @ heights
        return out

    return value


def ripples(d: int, seed: int) -> Function:
    """A rotated bowl with small ripples."""
    turn = rotation(d, seed)
    center = np.random.default_rng(seed).uniform(0.25, 0.75, d)

    def value(X: Array) -> Array:
        Z = (X - center) @ turn.T
        out: Array = Z**2 @ np.linspace(1.0, 4.0, d) + 0.06 * np.sum(1.0 - np.cos(18.0 * Z), axis=1)
        return out

    return value


def canyon(d: int, seed: int) -> Function:
    """A curved valley whose walls rise to hundreds of times its depth: to a search most values are outliers."""
    center = np.random.default_rng(seed).uniform(0.3, 0.7, d)

    def value(X: Array) -> Array:
        Z = 4.0 * (X - center)
        out: Array = 5.0 * np.sum((Z[:, 1:] - Z[:, :-1] ** 2) ** 2, axis=1) + np.sum(Z**2, axis=1)
        return out

    return value


def plateau(X: Array) -> Array:
    """A low and a high plateau with a narrow step between them, and a slight slope."""
    out: Array = np.tanh(4.0 * (X.sum(axis=1) - 3.0)) + 0.1 * X[:, 0]
    return out


def steep(X: Array) -> Array:
    """Values of two orders of magnitude, as of a learning rate that is searched on the wrong scale."""
    out: Array = 10.0 ** (2.0 * X.mean(axis=1))
    return out


FUNCTIONS: dict[str, tuple[int, Function]] = {
    "bumps-2": (2, bumps(2, 1)),
    "canyon-3": (3, canyon(3, 2)),
    "ripples-4": (4, ripples(4, 3)),
    "bumps-6": (6, bumps(6, 4)),
    "canyon-8": (8, canyon(8, 5)),
    "plateau-6": (6, plateau),
    "steep-5": (5, steep),
}
ALGORITHMS: dict[str, Any] = {one.__name__: one for one in (GSSBO, GPUCB, BKB, BBKB, SBPE)}


def asked(optimizer: Any, X: Array, truth: Array, spread: float) -> dict[str, float]:
    """Coverage of the 90 % intervals, mean absolute error and mean standard deviation at points ``X (n, d)``."""
    mean, std = optimizer.predict([optimizer.space.decode(x) for x in X])
    error = np.abs(mean - truth)
    return {
        "coverage": float(np.mean(error <= WIDTH * std)),
        "error": float(np.mean(error)) / spread,
        "std": float(np.mean(std)) / spread,
    }


def run_one(name: str, algorithm: str, noise: float, seed: int, trials: Sequence[int]) -> dict[str, Any]:
    """One run, with the model's figures after each of the increasing numbers of ``trials``."""
    d, function = FUNCTIONS[name]
    even = np.random.default_rng(0).random((POINTS, d))
    at_even = function(even)
    spread = float(np.std(at_even))
    rng = np.random.default_rng((seed, 1))
    space = Space({f"x{i}": Float(0.0, 1.0) for i in range(d)})
    settings = {"horizon": trials[-1]} if algorithm == "SBPE" else {}
    optimizer = ALGORITHMS[algorithm](space, seed=seed, **settings)
    values = []
    figures = {}
    for n in range(1, trials[-1] + 1):
        params = optimizer.ask()
        values.append(float(function(optimizer.space.encode(params)[None])[0]))
        optimizer.tell(params, values[-1] + noise * spread * rng.normal())
        if n in trials:
            model = optimizer.snapshot()
            chosen = model.space.encode(model.best_predicted()[0])
            near = np.clip(chosen + AROUND * np.random.default_rng(1).normal(size=(POINTS, d)), 0.0, 1.0)
            recommended = float(function(chosen[None])[0])
            observed = float(function(space.encode(model.best[0])[None])[0])
            figures[str(n)] = {
                "even": asked(model, even, at_even, spread),
                "near": asked(model, near, function(near), spread),
                "observed": (observed - min(values)) / spread,
                "recommended": (recommended - min(values)) / spread,
            }
    return {"function": name, "algorithm": algorithm, "noise": noise, "seed": seed, "figures": figures}


def measure(
    results: Path, functions: Sequence[str], algorithms: Sequence[str], seeds: int, trials: Sequence[int], jobs: int
) -> None:
    """Run what is missing in ``calibration.jsonl``, and write ``calibration.md``."""
    path = results / "calibration.jsonl"
    trials = sorted(trials)
    done = {(r["function"], r["algorithm"], r["noise"], r["seed"], *r["figures"]) for r in load(path)}
    todo = [(f, a, noise, seed) for seed in range(seeds) for a in algorithms for noise in NOISES for f in functions]
    missing = [(*job, trials) for job in todo if (*job, *map(str, trials)) not in done]
    processes.record(path, run_one, missing, jobs)
    write_report(results)


def write_report(results: Path) -> None:
    """Write ``calibration.md`` from the measurements."""
    rows = load(results / "calibration.jsonl")
    lines = [
        "# Results: calibration",
        "",
        "Written by `python -m benchmarks calibration`.",
        "",
        f"Functions {', '.join(sorted({r['function'] for r in rows}))}; seeds: {len({r['seed'] for r in rows})}.",
        "",
        "Noise is normal, with the given share of the standard deviation of the function over the",
        "space, which is the unit of all errors and regrets. Means over functions and seeds, and for coverage the",
        "smallest mean of a function in brackets.",
        "",
        "## Coverage of 90 % intervals, and mean error",
        "",
        "At points spread evenly over the space, and at points around the best predicted one, with a standard",
        f"deviation of {AROUND} of the range in each coordinate. Both refer to the objective without its noise.",
        "",
        "| algorithm | noise | trials | coverage, even | error, even | coverage, near | error, near |",
        "|---" * 7 + "|",
    ]
    groups = _grouped(rows)
    for key, runs in groups.items():
        cells = [*map(str, key)]
        for where in ("even", "near"):
            cells += [_coverage(runs, where), f"{np.mean([r[where]['error'] for _, r in runs]):.3f}"]
        lines.append("| " + " | ".join(cells) + " |")
    lines += [
        "",
        "## Which observation to believe",
        "",
        "Regret relative to the best point observed: of the best observation, and of `best_predicted()`, with the",
        "standard error of the difference.",
        "",
        "| algorithm | noise | trials | best observation | best predicted | difference |",
        "|---" * 6 + "|",
    ]
    for key, runs in groups.items():
        observed, recommended = (np.array([r[what] for _, r in runs]) for what in ("observed", "recommended"))
        gain = recommended - observed
        error = float(np.std(gain)) / np.sqrt(len(gain))
        cells = [*map(str, key), f"{observed.mean():.4f}", f"{recommended.mean():.4f}"]
        lines.append("| " + " | ".join([*cells, f"{gain.mean():+.4f} ± {error:.4f}"]) + " |")
    (results / "calibration.md").write_text("\n".join([*lines, ""]))


Runs = list[tuple[str, dict[str, Any]]]


def _grouped(rows: list[dict[str, Any]]) -> dict[tuple[str, float, str], Runs]:
    """Functions and figures, grouped by algorithm, noise and number of trials."""
    out: dict[tuple[str, float, str], Runs] = {}
    for row in rows:
        for trials, figures in row["figures"].items():
            out.setdefault((row["algorithm"], row["noise"], trials), []).append((row["function"], figures))
    return dict(sorted(out.items(), key=lambda one: (list(ALGORITHMS).index(one[0][0]), one[0][1], int(one[0][2]))))


def _coverage(runs: Runs, where: str) -> str:
    """The mean over functions and, in brackets, the smallest mean of a function."""
    by_function: dict[str, list[float]] = {}
    for name, figures in runs:
        by_function.setdefault(name, []).append(figures[where]["coverage"])
    means = [float(np.mean(values)) for values in by_function.values()]
    return f"{np.mean(means):.2f} ({min(means):.2f})"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_names(parser, "--algorithms", "algorithm", ALGORITHMS)
    add_names(parser, "--functions", "function", FUNCTIONS)
    parser.add_argument("--trials", nargs="+", type=int, default=[60, 240], help="after which the model is asked")
    add_runs(parser, seeds=5, jobs=2)


def main(arguments: argparse.Namespace) -> None:
    a = arguments
    measure(RESULTS, a.functions, a.algorithms, a.seeds, a.trials, a.jobs)
