"""Whether the confidence intervals of BKB and BBKB hold where the kernel is learned.

An objective is a draw of a Gaussian process over all arms of a square or of a cube of four dimensions, with noise. The
interval is the one that the algorithms choose by: the mean and the multiplier beta times the standard deviation, to
both sides, with ``beta`` a fixed number or by the schedule of the papers. At some points of a run the share of arms is
counted whose objective lies within its interval. Under a given kernel, the one that the objective was drawn from, the
intervals are those that the theorems are about.
"""

from __future__ import annotations

from benchmarks import processes
from benchmarks.compare.runner import WIDTH  # first: it sets the number of threads

# isort: split
import argparse
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.arguments import add_names, add_runs
from benchmarks.storage import RESULTS, load
from numbo import BBKB, BKB, BBKBSettings, BKBSettings

Array = NDArray[np.float64]

ARMS = 1000
#: Of a standard deviation of one of the objective.
NOISE = 0.1
#: By the number of dimensions: so long that a hundred trials show the function, and not in full.
LENGTHSCALES = {2: 0.25, 4: 0.6}
KERNELS = ("matern32", "matern52", "rbf")
ALGORITHMS: dict[str, Any] = {"BKB": (BKB, BKBSettings), "BBKB": (BBKB, BBKBSettings)}
BETAS: dict[str, str | float] = {"2": 2.0, "paper": "paper"}
LEARNING = ("learned", "given")
MARKS = (50, 100, 200)


def covariance(kernel: str, X: Array, lengthscale: float) -> Array:
    """The covariance matrix (n, n) of a function of unit variance at ``X (n, d)``."""
    r = np.sqrt(np.maximum(np.sum((X[:, None] - X[None]) ** 2, axis=2), 0.0)) / lengthscale
    if kernel == "rbf":
        out: Array = np.exp(-0.5 * r**2)
    elif kernel == "matern32":
        out = (1.0 + np.sqrt(3.0) * r) * np.exp(-np.sqrt(3.0) * r)
    else:
        out = (1.0 + np.sqrt(5.0) * r + 5.0 / 3.0 * r**2) * np.exp(-np.sqrt(5.0) * r)
    return out


@cache
def domain(kernel: str, d: int) -> tuple[Array, Array]:
    """The arms (a, d), and a factor (a, a) of their covariance."""
    X = np.random.default_rng(d).random((ARMS, d))
    values, vectors = np.linalg.eigh(covariance(kernel, X, LENGTHSCALES[d]))
    return X, vectors * np.sqrt(np.maximum(values, 0.0))


def drawn(kernel: str, d: int, seed: int) -> tuple[Array, Array]:
    """The arms (a, d), and a function's values (a,) there."""
    X, factor = domain(kernel, d)
    return X, factor @ np.random.default_rng((seed, d)).normal(size=ARMS)


def held(optimizer: Any, truth: Array) -> dict[str, float]:
    """The shares of the arms within their interval and within that of 90 %, and the interval's mean half width."""
    model = optimizer.snapshot()
    mean, std = model.predict(list(range(len(truth))))
    beta = float(model.explain().beta)
    error = np.abs(mean - truth)
    return {
        "within": float(np.mean(error <= beta * std)),
        "ninety": float(np.mean(error <= WIDTH * std)),
        "beta": beta,
        "half": beta * float(np.mean(std)),
    }


def run_one(
    kernel: str, d: int, algorithm: str, learning: str, beta: str, seed: int, marks: Sequence[int]
) -> dict[str, Any]:
    """One run, with the figures after each of the increasing numbers of trials."""
    X, truth = drawn(kernel, d, seed)
    make, settings = ALGORITHMS[algorithm]
    given = {"kernel": kernel, "lengthscale": LENGTHSCALES[d], "noise_std": NOISE} if learning == "given" else {}
    optimizer = make(arms=X, seed=seed, settings=settings(beta=BETAS[beta], **given))
    rng = np.random.default_rng((seed, 1))
    figures = {}
    for n in range(1, marks[-1] + 1):
        arm = optimizer.ask()
        optimizer.tell(arm, float(truth[arm]) + NOISE * rng.normal())
        if n in marks:
            figures[str(n)] = held(optimizer, truth)
    run = {"kernel": kernel, "d": d, "algorithm": algorithm, "learning": learning, "beta": beta, "seed": seed}
    return run | {"figures": figures}


def measure(results: Path, algorithms: Sequence[str], learning: Sequence[str], seeds: int, jobs: int) -> None:
    """Run what is missing in ``intervals.jsonl``, and write ``intervals.md``."""
    path = results / "intervals.jsonl"
    done = {tuple(row[name] for name in ("kernel", "d", "algorithm", "learning", "beta", "seed")) for row in load(path)}
    todo = [
        (kernel, d, algorithm, how, beta, seed)
        for seed in range(seeds)
        for d in LENGTHSCALES
        for kernel in KERNELS
        for algorithm in algorithms
        for how in learning
        for beta in BETAS
    ]
    processes.record(path, run_one, [(*job, MARKS) for job in todo if job not in done], jobs)
    write_report(results)


def write_report(results: Path) -> None:
    """Write ``intervals.md`` from the measurements."""
    rows = load(results / "intervals.jsonl")
    lines = [
        "# Results: intervals",
        "",
        "Written by `python -m benchmarks intervals`.",
        "",
        f"Draws of Gaussian processes of unit variance at {ARMS:,} arms in two and four dimensions, with lengthscales",
        f"of {' and '.join(map(str, LENGTHSCALES.values()))}, and noise with a standard deviation of {NOISE}.",
        "",
        "Within: the mean share of arms whose objective lies within the mean ± beta standard deviations, and in",
        "brackets the smallest of a draw. All: the share of draws where it does so at every arm. 90 %: the mean share",
        f"within ± {WIDTH} standard deviations. Half: the mean half width of the interval.",
        "",
    ]
    columns = [f"{what}, {n}" for what in ("within", "all", "90 %", "half") for n in MARKS]
    for d in LENGTHSCALES:
        head = ["algorithm", "kernel", "beta", "drawn from", "draws", *columns]
        lines += [f"## In {d} dimensions", "", "| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
        for key, runs in _grouped(row for row in rows if row["d"] == d).items():
            lines.append("| " + " | ".join([*key, str(len(runs)), *_cells(runs)]) + " |")
        lines.append("")
    (results / "intervals.md").write_text("\n".join(lines))


def _grouped(rows: Any) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """Figures by algorithm, whether the kernel is learned, beta, and the kernel of the draws."""
    out: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        out.setdefault((row["algorithm"], row["learning"], row["beta"], row["kernel"]), []).append(row["figures"])

    def place(key: tuple[str, ...]) -> tuple[int, ...]:
        known = (ALGORITHMS, LEARNING, BETAS, KERNELS)
        return tuple(list(names).index(name) for names, name in zip(known, key, strict=True))

    return dict(sorted(out.items(), key=lambda one: place(one[0])))


def _cells(runs: list[dict[str, Any]]) -> list[str]:
    def of(what: str, n: int) -> Array:
        return np.array([figures[str(n)][what] for figures in runs])

    within = [f"{of('within', n).mean():.3f} ({of('within', n).min():.2f})" for n in MARKS]
    everywhere = [f"{np.mean(of('within', n) == 1.0):.2f}" for n in MARKS]
    ninety = [f"{of('ninety', n).mean():.2f}" for n in MARKS]
    return [*within, *everywhere, *ninety, *(f"{of('half', n).mean():.2f}" for n in MARKS)]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_names(parser, "--algorithms", "algorithm", ALGORITHMS)
    add_names(
        parser, "--learning", "way", LEARNING, ["learned"], help="whether the kernel is learned (default) or given"
    )
    add_runs(parser, seeds=50, jobs=2)


def main(arguments: argparse.Namespace) -> None:
    a = arguments
    measure(RESULTS, a.algorithms, a.learning, a.seeds, a.jobs)
