"""How often S-BPE keeps the optimum in the race, and how much else it keeps.

Objectives are drawn at random: half of them from a Gaussian process, the others from `FUNCTIONS`, which are no such
samples. They are scaled to a standard deviation of 1 over the domain, so ``noise`` is a share of their spread. A run
lasts until all batches of the horizon have ended. Each finished run is written at once to ``results/NAME.jsonl``, as a
line of JSON; runs already there are not repeated.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import processes
from benchmarks.arguments import add_name, add_names
from benchmarks.storage import RESULTS, load
from numbo import SBPE, Float, Int

Array = NDArray[np.float64]
Objective = Callable[[Array], Array]

HORIZON = 200
ARMS = 250
SIDE = 30
#: Number of points of a continuous domain among which its optimum is sought, before it is refined.
PROBES = 2**12
DOMAINS = ("arms", "grid", "continuous")
KERNELS = ("learned", "fixed")
FIXED_LENGTHSCALE = 0.25


def gp_sample(d: int, rng: np.random.Generator, lengthscale: Any = None) -> Objective:
    """A draw from a GP with a Matern-5/2 kernel of unit variance, by 1,000 random features (Rahimi & Recht 2007)."""
    scales = np.exp(rng.uniform(np.log(0.15), np.log(0.8), d)) if lengthscale is None else np.full(d, lengthscale)
    frequencies = rng.normal(size=(1000, d)) / np.sqrt(rng.chisquare(5.0, (1000, 1)) / 5.0) / scales
    phases = rng.uniform(0.0, 2.0 * np.pi, 1000)
    weights = rng.normal(size=1000) * np.sqrt(2.0 / 1000)
    return lambda X: np.asarray(np.cos(X @ frequencies.T + phases) @ weights)


def bumps(d: int, rng: np.random.Generator) -> Objective:
    """Hills of different heights and widths, with a single highest one."""
    centers = rng.random((6, d))
    widths = rng.uniform(0.12, 0.4, (6, d))
    heights = np.append(rng.uniform(0.3, 0.85, 5), 1.0)
    return lambda X: np.max(heights * np.exp(-0.5 * (((X[:, None] - centers) / widths) ** 2).sum(axis=2)), axis=1)


def valley(d: int, rng: np.random.Generator) -> Objective:
    """The logarithm of a curved ravine, with an optimum on its floor."""
    center = rng.uniform(0.2, 0.8, d)
    bend = rng.uniform(-1.0, 1.0, d)

    def f(X: Array) -> Array:
        t = X[:, 0] - center[0]
        across = X[:, 1:] - center[1:] - bend[1:] * (t[:, None] ** 2 - 0.1)
        out: Array = -np.log(0.02 + 4.0 * (across**2).sum(axis=1) + 0.3 * t**2)
        return out

    return f


def plateau(d: int, rng: np.random.Generator) -> Objective:
    """Flat except for a saturating slope, with a smooth peak on it."""
    center = rng.uniform(0.2, 0.8, d)
    normal = rng.normal(size=d)
    return lambda X: (
        np.tanh(3.0 * (X - 0.5) @ (normal / np.linalg.norm(normal)))
        + 1.5 * np.exp(-0.5 * (((X - center) / 0.15) ** 2).sum(axis=1))
    )


def waves(d: int, rng: np.random.Generator) -> Objective:
    """A bowl with ripples, and one corner that is far worse."""
    center = rng.uniform(0.2, 0.8, d)
    turns = rng.uniform(1.0, 3.0, d)

    def f(X: Array) -> Array:
        ripples = np.cos(2.0 * np.pi * turns * (X - center)).sum(axis=1)
        out: Array = -3.0 * ((X - center) ** 2).sum(axis=1) + 0.3 * ripples - 8.0 * np.prod(X**4, axis=1)
        return out

    return f


FUNCTIONS = (bumps, valley, plateau, waves)


class Problem:
    """A domain with an objective on it: ``X`` (points, d) of the unit cube, ``f`` there, and ``optimum`` (d,)."""

    def __init__(self, domain: str, kernel: str, seed: int) -> None:
        rng = np.random.default_rng([seed, DOMAINS.index(domain)])
        d = 3 if domain == "continuous" else 2
        if kernel == "fixed":
            objective = gp_sample(d, rng, FIXED_LENGTHSCALE)
        else:
            objective = gp_sample(d, rng) if seed % 2 == 0 else FUNCTIONS[seed // 2 % len(FUNCTIONS)](d, rng)
        if domain == "arms":
            self.X = rng.random((ARMS, d))
            self.X = (self.X - self.X.min(axis=0)) / np.ptp(self.X, axis=0)
        elif domain == "grid":
            self.X = np.stack(np.meshgrid(*[np.arange(SIDE) / (SIDE - 1.0)] * d, indexing="ij"), axis=-1).reshape(-1, d)
        else:
            self.X = rng.random((PROBES, d))
        values = objective(self.X)
        self._objective = objective
        self._location = float(values.mean())
        self._scale = 1.0 if kernel == "fixed" else float(values.std())
        self.optimum = self.X[np.argmax(values)]
        if domain == "continuous":
            self.optimum = self._refined(rng)
        self.best = float(self.value(self.optimum[None])[0])

    def value(self, X: Array) -> Array:
        """The objective at ``X (n, d)``."""
        return (self._objective(X) - self._location) / self._scale

    def _refined(self, rng: np.random.Generator) -> Array:
        x = self.optimum
        width = 0.05
        for _ in range(40):
            near = np.clip(x + width * rng.normal(size=(200, len(x))), 0.0, 1.0)
            best = int(np.argmax(self._objective(near)))
            if self._objective(near[best : best + 1])[0] > self._objective(x[None])[0]:
                x = near[best]
            else:
                width *= 0.7
        return x


def _optimizer(domain: str, kernel: str, noise: float, problem: Problem, **settings: Any) -> SBPE:
    if kernel == "fixed":
        settings = {"lengthscale": FIXED_LENGTHSCALE, "noise_std": noise} | settings
    if domain == "arms":
        return SBPE(arms=problem.X, horizon=HORIZON, **settings)
    d = problem.X.shape[1]
    dimension: Any = Int(0, SIDE - 1) if domain == "grid" else Float(0.0, 1.0)
    return SBPE({f"x{j}": dimension for j in range(d)}, direction="maximize", horizon=HORIZON, **settings)


def run_one(domain: str, kernel: str, noise: float, seed: int, **settings: Any) -> dict[str, Any]:
    """One run: after each batch, whether the optimum is in the race, and the share of the domain that is."""
    problem = Problem(domain, kernel, seed)
    rng = np.random.default_rng([seed, 1])
    started = time.perf_counter()
    opt = _optimizer(domain, kernel, noise, problem, seed=seed, **settings)

    kept: list[bool] = []
    share: list[float] = []
    while len(kept) < opt.n_batches:
        batch = opt.next_batch(limit=1)
        if len(opt.status.batch_sizes) > len(kept):  # the last batch has just been judged
            kept.append(bool(opt._race.contains(problem.optimum[None])[0]))
            share.append(float(opt._race.contains(problem.X).mean()))
            if len(kept) == opt.n_batches:
                break
        batch += opt.next_batch()
        X = np.array([opt.space.encode(p) for p in batch])
        opt.tell(batch, problem.value(X) + noise * rng.normal(size=len(X)))
    opt.hold_only({})
    found = opt.best_predicted()
    assert found is not None
    regret = problem.best - float(problem.value(opt.space.encode(found[0])[None])[0])
    return {
        "domain": domain,
        "kernel": kernel,
        "noise": noise,
        "seed": seed,
        "kept": kept,
        "share": share,
        "regret": regret,
        "seconds": time.perf_counter() - started,
    }


def table(rows: list[dict[str, Any]]) -> str:
    """One row per domain, kernel and noise."""
    groups: dict[tuple[str, str, float], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["domain"], row["kernel"], row["noise"]].append(row)
    lines = [
        "| domain | kernel | noise | runs | optimum in the race at the end | after every batch "
        "| share left, by batch | simple regret: median | 90 % | seconds |",
        "|---" * 10 + "|",
    ]
    for (domain, kernel, noise), group in sorted(groups.items()):
        shares = np.median([r["share"] for r in group], axis=0)
        regret = [r["regret"] for r in group]
        cells = [
            f"{np.mean([r['kept'][-1] for r in group]):.0%}",
            f"{np.mean([all(r['kept']) for r in group]):.0%}",
            ", ".join(f"{s:.2g}" for s in shares),
            f"{np.median(regret):.2g}",
            f"{np.quantile(regret, 0.9):.2g}",
            f"{np.median([r['seconds'] for r in group]):.2g}",
        ]
        lines.append(f"| {domain} | {kernel} | {noise:.0%} | {len(group)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def measure(
    results: Path, name: str, domains: list[str], kernels: list[str], noises: list[float], seeds: int, **settings: Any
) -> None:
    """Run what is missing in ``NAME.jsonl``, and write ``NAME.md``."""
    path = results / f"{name}.jsonl"
    done = {(r["domain"], r["kernel"], r["noise"], r["seed"]) for r in load(path)}
    jobs = [(d, k, noise, seed) for seed in range(seeds) for k in kernels for d in domains for noise in noises]
    processes.record_here(path, partial(run_one, **settings), [job for job in jobs if job not in done])
    parts = [
        "# The optimum in the race of S-BPE",
        f"Horizon {HORIZON}; the share left after each batch is the median over runs, and the simple regret is that of "
        "`best_predicted`, in standard deviations of the objective. Written by `python -m benchmarks survival"
        + (f" --name {name}`." if name != "survival" else "`."),
        table(load(path)),
    ]
    (results / f"{name}.md").write_text("\n\n".join(parts) + "\n")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_name(parser, "survival")
    add_names(parser, "--domains", "domain", DOMAINS)
    add_names(parser, "--kernels", "kernel", KERNELS, ["learned"], help="learned, fixed (the true one)")
    parser.add_argument("--noises", nargs="+", type=float, default=[0.1, 0.5, 1.0], help="shares of the spread")
    parser.add_argument("--seeds", type=int, default=100)


def main(arguments: argparse.Namespace) -> None:
    a = arguments
    measure(RESULTS, a.name, a.domains, a.kernels, a.noises, a.seeds)
