"""Regret, time and batch sizes on explicit arms: the experiments of Calandriello et al. (2020), section 5.

Each finished run is written at once to the results file, as a line of JSON; runs already there are not repeated.
"""

from __future__ import annotations

import argparse
import functools
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import processes
from benchmarks.arguments import add_name, add_names, results
from benchmarks.problems.arms import PROBLEMS, BanditProblem
from benchmarks.storage import load

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
#: A player yields batches of arms and is sent their rewards; its return value goes into the results.
Player = Iterator[Any]

#: Number of points kept of each run's curves.
CURVE = 60
ASYNC_BATCH = 30
POPULATION = 100
TOURNAMENT = 10


def _numbo(name: str, **changes: Any) -> Callable[..., Any]:
    def play(problem: BanditProblem, T: int, rng: np.random.Generator, history: Indices, values: Array) -> Any:
        import numbo

        settings: dict[str, Any] = {"delta": 1.0 / T, "beta": "reference", "qbar": 2.0}
        if not problem.settings:
            settings = {"beta": 2.0}
        seed = int(rng.integers(2**31))
        given = getattr(numbo, f"{name}Settings")(**(settings | problem.settings | changes))
        opt = getattr(numbo, name)(arms=problem.X, seed=seed, settings=given)
        if len(history):
            opt.tell(history, values)
        played = 0
        while played < T:
            batch = np.array(opt.next_batch(T - played))
            rewards = yield batch
            opt.tell(batch, rewards)
            played += len(batch)
        status = opt.status
        return {"dictionary": status.dictionary_size, "effective_dimension": status.effective_dimension}

    return play


def eps_greedy(problem: BanditProblem, T: int, rng: np.random.Generator, history: Indices, values: Array) -> Any:
    """The arm with the largest posterior mean, or with probability t^(-1/3) a random arm."""
    import numbo

    settings = numbo.BKBSettings(**({"delta": 1.0 / T, "beta": 0.0} | problem.settings))
    opt = numbo.BKB(arms=problem.X, seed=int(rng.integers(2**31)), settings=settings)
    for t in range(1, T + 1):
        arm = int(rng.integers(len(problem.X))) if rng.random() < t ** (-1.0 / 3.0) else opt.ask()
        rewards = yield np.array([arm])
        opt.tell(arm, rewards[0])
    return {"dictionary": opt.status.dictionary_size}


def async_ts(problem: BanditProblem, T: int, rng: np.random.Generator, history: Indices, values: Array) -> Any:
    """Thompson sampling in batches of 30 (Kandasamy et al. 2018), from a sparse posterior.

    Weights on the dictionary are sampled jointly; the part that it cannot represent is sampled independently for each
    arm. As in section D.1 of the BBKB paper, the width is a tenth of that of the confidence bounds.
    """
    import numbo

    settings = numbo.BBKBSettings(delta=1.0 / T, beta="reference", **problem.settings)
    opt = numbo.BBKB(arms=problem.X, seed=0, settings=settings)
    played = 0
    arms = rng.integers(len(problem.X), size=1)
    while played < T:
        rewards = yield arms[: T - played]
        opt.tell(arms[: T - played], rewards)
        played += len(rewards)
        opt.ask()  # brings the model up to date
        opt.hold_only({})
        gp = opt._model.base.gp
        scale = 0.1 * opt._width
        Z = gp.embed(opt.space.grid())
        mean = np.linalg.solve(gp.LV @ gp.LV.T, gp.Z.T @ gp._sums[: gp.u])
        half = np.linalg.inv(opt._model.batch.LV)
        draws = math.sqrt(gp.regularization) * scale * half.T @ rng.normal(size=(gp.m, ASYNC_BATCH))
        weights = mean[:, None] + draws
        outside = np.sqrt(np.maximum(gp.covariance.signal_variance - np.einsum("ij,ij->i", Z, Z), 0.0))
        arms = np.argmax(Z @ weights + scale * outside[:, None] * rng.normal(size=(len(Z), ASYNC_BATCH)), axis=0)
    return {"dictionary": gp.m}


def evolution(problem: BanditProblem, T: int, rng: np.random.Generator, history: Indices, values: Array) -> Any:
    """Regularized evolution (Real et al. 2019): tournaments in an ageing population, mutating one operation."""
    assert problem.choices is not None, "regularized evolution mutates choices"
    k = int(problem.choices.max()) + 1
    strides = k ** np.arange(problem.choices.shape[1] - 1, -1, -1)
    population = [(int(a), float(v)) for a, v in zip(history[-POPULATION:], values[-POPULATION:], strict=True)]
    for _ in range(T):
        if len(population) < POPULATION:
            arm = int(rng.integers(len(problem.X)))
        else:
            contest = rng.choice(POPULATION, TOURNAMENT, replace=False)
            parent = population[max(contest, key=lambda i: population[i][1])][0]
            position = int(rng.integers(len(strides)))
            step = int(rng.integers(1, k))
            old = int(problem.choices[parent, position])
            arm = int(parent + ((old + step) % k - old) * strides[position])
        rewards = yield np.array([arm])
        population.append((arm, float(rewards[0])))
        population = population[-POPULATION:]
    return {}


def reference(kind: str) -> Callable[..., Any]:
    """The authors' code, from the checkout that BATCH_BKB points to (github.com/luigicarratino/batch-bkb)."""

    def play(problem: BanditProblem, T: int, rng: np.random.Generator, history: Indices, values: Array) -> Any:
        sys.path.insert(0, os.environ["BATCH_BKB"])
        from bkb_lib import BKB, Batch_BKB, Local_Batch_BKB
        from sklearn.gaussian_process.kernels import RBF, PairwiseKernel
        from utils import FastMixinKernel

        scale = problem.settings["lengthscale"]
        noise = problem.settings["noise_std"]
        dot = FastMixinKernel(RBF(scale), PairwiseKernel(metric="rbf", gamma=0.5 / scale**2))
        settings = {"lam": noise**2, "dot": dot, "noise_variance": noise**2, "fnorm": 1.0, "delta": 1.0 / T, "qbar": 2}
        algorithm = {"bkb": BKB, "bbkb": Batch_BKB, "local": Local_Batch_BKB}[kind]
        if kind != "bkb":
            settings["ratio_threshold"] = 2.0
        state = np.random.RandomState(int(rng.integers(2**31)))
        opt = algorithm(**settings)
        first = rng.choice(len(problem.X), 2, replace=False)
        rewards = yield first
        opt.initialize(problem.X, list(first), rewards)
        played = 2
        while played < T:
            batch = np.array(opt.predict()[0])[: T - played]
            rewards = yield batch
            opt.update(list(batch), rewards, state)
            played += len(batch)
        return {"dictionary": int(opt.embedding_size)}

    return play


ALGORITHMS: dict[str, Callable[..., Any]] = {
    "BBKB": _numbo("BBKB"),
    "GlobalLocal-BBKB": _numbo("BBKB", stopping="global-local"),
    "BKB": _numbo("BKB"),
    "GP-UCB": _numbo("BKB", qbar=math.inf),
    "GP-BUCB": _numbo("BBKB", qbar=math.inf),
    "EpsGreedy": eps_greedy,
    "async-TS": async_ts,
    "Evolution": evolution,
    "reference-BBKB": reference("bbkb"),
    "reference-GlobalLocal-BBKB": reference("local"),
    "reference-BKB": reference("bkb"),
}


@functools.cache
def warm_up() -> None:
    """Compile, or load from the cache, what a run needs: once per process, before any clock is started."""
    import numbo

    X = np.random.default_rng(0).random((300, 2))
    fixed: dict[str, Any] = {"kernel": "rbf", "lengthscale": 0.5, "noise_std": 0.1}
    for settings in (fixed, fixed | {"stopping": "global-local"}, {}):
        opt = numbo.BBKB(arms=X, seed=0, settings=numbo.BBKBSettings(**settings))
        while opt.n_told < 60:
            batch = np.array(opt.next_batch(60 - opt.n_told))
            opt.tell(batch, X[batch, 0])


def run_one(problem_name: str, algorithm: str, seed: int, T: int, initial: int, data: Path | None) -> dict[str, Any]:
    """One run: cumulative regret relative to uniform sampling, best arm so far, seconds, and batch sizes."""
    warm_up()
    problem = PROBLEMS[problem_name](data)
    rng = np.random.default_rng(seed)
    history = rng.integers(len(problem.X), size=initial)
    values = problem.observe(history, rng)
    gap = problem.mean.max() - problem.mean
    uniform = float(gap.mean())
    regret = np.empty(T)
    simple = np.empty(T)
    seconds = np.empty(T)
    best = float(gap[history].min()) if initial else math.inf
    batches: list[int] = []
    spent = 0.0
    t = 0
    total = 0.0
    player = ALGORITHMS[algorithm](problem, T, np.random.default_rng([seed, 1]), history, values)
    extra: dict[str, Any] = {}
    rewards = None
    while True:
        started = time.perf_counter()
        try:
            batch = next(player) if rewards is None else player.send(rewards)
        except StopIteration as end:
            extra = end.value
            spent += time.perf_counter() - started
            break
        spent += time.perf_counter() - started
        rewards = problem.observe(batch, rng)
        batches.append(len(batch))
        for arm in batch:
            total += float(gap[arm])
            best = min(best, float(gap[arm]))
            regret[t] = total / ((t + 1) * uniform)
            simple[t] = best
            seconds[t] = spent
            t += 1
    points = np.unique(np.geomspace(1, T, CURVE).astype(int)) - 1
    return {
        "problem": problem_name,
        "algorithm": algorithm,
        "seed": seed,
        "T": T,
        "initial": initial,
        "seconds": spent,
        "ratio": float(regret[-1]),
        "simple": float(simple[-1]),
        "batches": len(batches),
        "batch_sizes": batches if len(batches) <= 500 else batches[:: len(batches) // 500],
        "curve": [[int(i) + 1, float(regret[i]), float(simple[i]), float(seconds[i])] for i in points],
        **extra,
    }


def run(path: Path, jobs: list[tuple[Any, ...]], workers: int) -> None:
    """Run what is missing in ``path``. One worker runs in this process, with all BLAS threads."""
    done = {(r["problem"], r["algorithm"], r["seed"], r["T"], r["initial"]) for r in load(path)}
    todo = [job for job in jobs if job[:5] not in done]
    if workers == 1:
        processes.record_here(path, run_one, todo)
    else:
        processes.record(path, run_one, todo, workers, fresh=True)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_name(parser, "bandits")
    usual = {"problem": ["abalone", "cadata"], "algorithm": ["BBKB", "GlobalLocal-BBKB"]}
    for kind, known in (("problem", list(PROBLEMS)), ("algorithm", list(ALGORITHMS))):
        some = ", ".join(usual[kind])
        add_names(parser, f"--{kind}s", kind, known, usual[kind], help=f"{', '.join(known)}; {some} by default")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--horizon", type=int, default=10_000, help="T, evaluations of a run")
    parser.add_argument("--initial", type=int, default=0, help="random evaluations that are given at the start")
    parser.add_argument("--jobs", type=int, default=2, help="runs at once; 1 leaves all threads of the BLAS to one run")
    parser.add_argument(
        "--data", type=Path, help="folder with abalone.csv and california_housing.csv; else from OpenML"
    )
    parser.add_argument("--reference", type=Path, help="checkout of luigicarratino/batch-bkb, for the reference-* runs")


def main(arguments: argparse.Namespace) -> None:
    a = arguments
    if a.reference is not None:
        os.environ["BATCH_BKB"] = str(a.reference.resolve())
    jobs = [
        (problem, algorithm, seed, a.horizon, a.initial, a.data)
        for seed in range(a.seeds)
        for algorithm in a.algorithms
        for problem in a.problems
    ]
    run(results(a), jobs, a.jobs)
