"""Runs of GSSBO for forecasts of what more trials bring: values by trial, larger ones being better.

``made-up``: functions such as those on which the constants of forecasts were chosen (`numbo.models.improvements`); the
others are put aside. Runs are kept in ``build/stopping``.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import optuna

from benchmarks.compare.runner import follow
from benchmarks.problems import transfer
from benchmarks.problems.problem import Array, Params
from benchmarks.problems.suites import SUITES, make
from numbo import GSSBO, Categorical, Float, Int
from numbo.optuna import GSSBOSampler
from numbo.run.availability import ENUMERABLE
from numbo.spaces import Domain

KEPT = Path(__file__).parents[2] / "build" / "stopping"
#: Numbers of trials after which forecasts are looked at.
MARKS = (20, 50, 100, 200)
ROUGH = ("rastrigin-20-rotated", "weierstrass-20-rotated", "peaks-10", "schaffer-f7-20-rotated", "two-funnels-20")
NOISY = [f"{name}-noise-{level}%" for name in ("branin-2", "rosenbrock-4", "griewank-4") for level in (1, 10, 30)]
#: By kind, the names of its problems.
KINDS: dict[str, list[str]] = {
    "made-up": [
        *("waves-2", "waves-4", "waves-8", "rough-2", "rough-5", "bowl-3", "bowl-10", "log-4", "steps-3", "steps-6"),
        *("mixed", "random", "ripple", "valley"),
    ],
    "functions": [
        n for suite in ("continuous", "unseen") for n in SUITES[suite] if "noisy" not in n and "hpo" not in n
    ],
    "rough": [*SUITES["ripples"], *ROUGH],
    "branching": ["jenatton", "deep-tree", "layers", "training", "machine-learning", "stages"],
    "tables": [*SUITES["tabular"][:4], "hpobench-segment"],
    "real": [*SUITES["early"], *SUITES["early-aside"]],
    "hpob": [],
    "lcbench": [],
    "noisy": NOISY,
}
TRIALS = {"real": 100, "noisy": 200, "hpob": 200, "lcbench": 200}
LONGEST = 400


class Run(NamedTuple):
    """What forecasts are made from, and what came true.

    Attributes:
        values: (n,) by trial, larger ones being better; NaN for a failure.
        expected: of a noisy run, the expected values (m,) of the first ``m`` trials, by ``m``; otherwise empty.
        true: (n,) the values without noise.
        points: number of points of a space that can be enumerated, otherwise infinite.
    """

    values: Array
    expected: dict[int, Array]
    true: Array
    points: float = math.inf


def names_of(kind: str) -> list[str]:
    """The problems of a kind."""
    return transfer.tasks(kind) if kind in transfer.KINDS else KINDS[kind]


def run(kind: str, name: str, seed: int) -> Run:
    """A run, made on first use."""
    path = KEPT / kind / f"{name}-{seed}.npz"
    if not path.exists():
        found = _made(kind, name, seed)
        path.parent.mkdir(parents=True, exist_ok=True)
        expected: Any = {str(m): y for m, y in found.expected.items()}
        np.savez_compressed(path, values=found.values, true=found.true, points=found.points, **expected)
    with np.load(path) as file:
        expected = {int(key): file[key] for key in file if key.isdigit()}
        return Run(file["values"], expected, file["true"], float(file["points"]))


def _made(kind: str, name: str, seed: int) -> Run:
    trials = TRIALS.get(kind, LONGEST)
    if kind == "made-up":
        space, function = made_up(name, seed)
        return _plain({"space": space}, lambda p: -function(p), trials, seed)
    if kind in transfer.KINDS:
        found = transfer.task(kind, name, seed, "none")
        return _plain(found.domain, found.value, min(trials, len(found.domain["arms"])), seed)
    return _of_problem(name, trials, seed, noisy=kind == "noisy")


def _plain(domain: dict[str, Any], value: Callable[[Any], float], trials: int, seed: int) -> Run:
    opt = GSSBO(**domain, direction="maximize", seed=seed)
    values = np.empty(trials)
    for t in range(trials):
        point = opt.ask()
        values[t] = value(point)
        opt.tell(point, values[t])
    return Run(values, {}, values, _points(opt.space))


def _of_problem(name: str, trials: int, seed: int, *, noisy: bool) -> Run:
    expected: dict[int, Array] = {}

    def mark(t: int, study: optuna.Study) -> None:
        if noisy and t in {*MARKS, *(m + h for m in MARKS for h in horizons(m))}:
            sampler = study.sampler
            assert isinstance(sampler, GSSBOSampler)
            expected[t] = sampler.inspected(study)[0].prospects().progress

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = GSSBOSampler(seed=seed)
    course = follow(make(name), sampler, seed, trials, name, mark=mark)
    points = _points(sampler.inspected(course.study)[0].space)
    return Run(-course.told, expected, -course.regrets, points)


def _points(space: Domain) -> float:
    return float(space.cardinality) if space.explicit or space.cardinality <= ENUMERABLE else math.inf


def horizons(mark: int) -> tuple[int, int]:
    """After so many trials, for how many more forecasts are made."""
    return mark // 2, mark


# -- functions to choose constants on ---------------------------------------------------------------------------------


def made_up(name: str, seed: int) -> tuple[dict[str, Any], Callable[[Params], float]]:
    """A space, and a random function to minimise."""
    kind, _, size = name.partition("-")
    rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
    d = int(size) if size else {"random": 3, "ripple": 4, "valley": 5}.get(kind, 2)
    space: dict[str, Any] = {f"x{i}": Float(0, 1) for i in range(d)}
    if kind == "mixed":
        space |= {"n": Int(1, 9), "c": Categorical(["a", "b", "c", "d"]), "k": Categorical([0, 1, 2])}
        return space, partial(_mixed, [_waves(rng, 3, 0.4) for _ in range(4)], rng.normal(size=(4, 3)))
    makers: dict[str, Callable[[], Callable[[Array], float]]] = {
        "waves": lambda: _waves(rng, d, 0.1 * d),
        "rough": lambda: _waves(rng, d, 0.35 + 0.05 * d, freedom=1),
        "bowl": lambda: _bowl(rng, d),
        "log": lambda: _logarithm(_bowl(rng, d)),
        "steps": lambda: _steps(_waves(rng, d, 0.3)),
        "random": lambda: lambda x: float(np.random.default_rng([seed, *np.round(1e9 * x).astype(int)]).random()),
        "ripple": lambda: _rippled(_waves(rng, d, 0.6), 25.0 * rng.normal(size=(6, d))),
        "valley": lambda: _valley(0.2 + 0.6 * rng.random(d)),
    }
    of_vector = makers[kind]()
    return space, lambda p: of_vector(np.array([p[key] for key in space]))


def _waves(rng: np.random.Generator, d: int, scale: float, freedom: int = 5) -> Callable[[Array], float]:
    """A draw of a Gaussian process with a Matern covariance of smoothness ``freedom / 2``, by random features."""
    count = 400
    W = rng.normal(size=(count, d)) / np.sqrt(rng.chisquare(freedom, size=(count, 1)) / freedom) / scale
    b = 2.0 * math.pi * rng.random(count)
    a = math.sqrt(2.0 / count) * rng.normal(size=count)
    return lambda x: float(np.cos(W @ x + b) @ a)


def _bowl(rng: np.random.Generator, d: int) -> Callable[[Array], float]:
    Q, _ = np.linalg.qr(rng.normal(size=(d, d)))
    center = rng.random(d)
    scales = 10.0 ** (2.0 * rng.random(d))
    return lambda x: float(scales @ (Q @ (x - center)) ** 2)


def _logarithm(function: Callable[[Array], float]) -> Callable[[Array], float]:
    return lambda x: math.log(function(x) + 1e-3)


def _steps(function: Callable[[Array], float]) -> Callable[[Array], float]:
    return lambda x: math.floor(12.0 * function(x)) / 12.0


def _rippled(function: Callable[[Array], float], W: Array) -> Callable[[Array], float]:
    return lambda x: function(x) + 0.15 * float(np.cos(W @ x).sum())


def _valley(center: Array) -> Callable[[Array], float]:
    def function(x: Array) -> float:
        z = 4.0 * (x - center) + 1.0
        return float(np.sum(100.0 * (z[1:] - z[:-1] ** 2) ** 2 + (1.0 - z[:-1]) ** 2))

    return function


def _mixed(functions: list[Callable[[Array], float]], offsets: Array, p: Params) -> float:
    c = "abcd".index(p["c"])
    return functions[c](np.array([p["x0"], p["x1"], p["n"] / 9])) + float(offsets[c, p["k"]])
