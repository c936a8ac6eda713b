"""Problems on which the samplers are compared. All are minimised, through Optuna's distributions.

Four suites make up the comparison, with a fifth one, `UNSEEN`, which is never looked at while settings are chosen.
`RIPPLES` is separate and counts in no rank: a smooth model has little to say about ripples around the optimum. So are
`BRANCHING`, whose spaces branch, and the suites of `noisy`, `few` and `long`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.study import Study
from optuna.trial import BaseTrial, Trial

from benchmarks.problems import branching, few, functions, long, noisy, tables
from benchmarks.problems.examples import example

Array = NDArray[np.float64]
Params = Mapping[str, Any]


@dataclass(frozen=True)
class Problem:
    """``function`` maps parameters in ``space`` to a value of at least ``minimum``.

    ``noise`` is the standard deviation of the noise added to the value that a sampler is told; regrets exclude it.
    A trial fails where ``fails`` returns True, and anywhere with probability ``failure_rate``.
    """

    space: Mapping[str, BaseDistribution]
    function: Callable[[Params], float]
    minimum: float = 0.0
    noise: float = 0.0
    fails: Callable[[Params], bool] = lambda params: False
    failure_rate: float = 0.0
    #: Numbers of trials at which a run is looked at.
    checkpoints: tuple[int, ...] = (100, 300, 500, 1000)
    #: What a sampler is told, where it is not the value with normal noise.
    told: Callable[[Params, np.random.Generator], float] | None = None
    #: Whether a sampler is judged by what it recommends, and not by its best trial.
    recommended: bool = False

    def ask(self, study: Study) -> Trial:
        """The next trial of a study."""
        return study.ask(fixed_distributions=dict(self.space))

    def value(self, trial: Trial) -> float:
        """The value of a trial, without noise."""
        return self.function(trial.params)


class Timed:
    """A trial that adds up the ``seconds`` that its suggestions take."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._trial, name)
        if not name.startswith("suggest_"):
            return attribute

        def timed(*args: Any, **kwargs: Any) -> Any:
            started = time.perf_counter()
            value = attribute(*args, **kwargs)
            self.seconds += time.perf_counter() - started
            return value

        return timed


class Program(Problem):
    """A problem whose function takes a trial, and asks it for what it needs."""

    def ask(self, study: Study) -> Trial:
        return Timed(study.ask())  # type: ignore[return-value]

    def value(self, trial: Trial) -> float:
        return self.function(trial)  # type: ignore[arg-type]


def program(function: Callable[[BaseTrial], float], minimum: float) -> Problem:
    """A define-by-run problem."""
    return Program({}, function, minimum, checkpoints=(30, 50, 100, 200, 500))  # type: ignore[arg-type]


def box(
    function: Callable[[Array], float], d: int, low: float, high: float, minimum: float = 0.0, noise: float = 0.0
) -> Problem:
    """A function of a point in ``[low, high]^d``."""
    names = [f"x{i}" for i in range(d)]
    space = {n: FloatDistribution(low, high) for n in names}
    return Problem(space, lambda params: function(np.array([params[n] for n in names])), minimum, noise)


def moved(
    function: Callable[[Array], float],
    d: int,
    low: float,
    high: float,
    seed: int,
    *,
    rotate: bool = False,
    noise: float = 0.0,
) -> Problem:
    """A function with minimum 0 at the origin, with the origin moved to a random point of the inner box."""
    rng = np.random.default_rng(seed)
    center = rng.uniform(low + 0.2 * (high - low), high - 0.2 * (high - low), d)
    turn = functions.rotation(d, seed) if rotate else np.eye(d)
    return box(lambda x: function(turn @ (x - center)), d, low, high, noise=noise)


def failing(problem: Problem, fails: Callable[[Array], bool] | None = None, rate: float = 0.0) -> Problem:
    """A problem that fails at random, and where ``fails`` is true of the point, in the order of the space."""
    if fails is None:
        return replace(problem, failure_rate=rate)
    where = fails
    names = list(problem.space)
    return replace(problem, fails=lambda params: where(np.array([params[n] for n in names])), failure_rate=rate)


# -- mixed spaces ----------------------------------------------------------------------------------------------


def ackley_mixed() -> Problem:
    """Ackley's function of ten switches (fifty in Bliek et al. 2021) and three reals, with a shifted optimum."""
    space: dict[str, BaseDistribution] = {f"s{i}": CategoricalDistribution(["off", "on"]) for i in range(10)}
    space |= {f"x{i}": FloatDistribution(-1.0, 1.0) for i in range(3)}
    target = np.array([1, 0, 0, 1, 1, 0, 1, 0, 1, 1], dtype=float)
    center = np.array([0.31, -0.42, 0.13])

    def value(params: Params) -> float:
        switches = np.array([params[f"s{i}"] == "on" for i in range(10)], dtype=float)
        reals = np.array([params[f"x{i}"] for i in range(3)])
        return functions.ackley(np.concatenate([switches - target, reals - center]))

    return Problem(space, value)


def training_mixed() -> Problem:
    """A smooth stand-in for a training run: 12 parameters, such as logarithmic rates, widths and an optimiser."""
    space: dict[str, BaseDistribution] = {
        "rate": FloatDistribution(1e-5, 1.0, log=True),
        "decay": FloatDistribution(1e-7, 1e-1, log=True),
        "dropout": FloatDistribution(0.0, 0.9),
        "momentum": FloatDistribution(0.0, 0.999),
        "smoothing": FloatDistribution(0.0, 0.5, step=0.05),
        "layers": IntDistribution(1, 8),
        "width": IntDistribution(16, 2048, log=True),
        "batch": IntDistribution(8, 512, log=True),
        "warmup": IntDistribution(0, 20),
        "optimizer": CategoricalDistribution(["sgd", "adam", "lamb"]),
        "activation": CategoricalDistribution(["relu", "gelu", "tanh", "silu"]),
        "schedule": CategoricalDistribution(["constant", "cosine", "step"]),
    }
    best_rate = {"sgd": -1.2, "adam": -3.1, "lamb": -2.3}
    penalty = {"sgd": 0.06, "adam": 0.0, "lamb": 0.03, "relu": 0.03, "gelu": 0.0, "tanh": 0.12, "silu": 0.01}
    penalty |= {"constant": 0.08, "cosine": 0.0, "step": 0.03}

    def value(p: Params) -> float:
        rate = np.log10(p["rate"]) - best_rate[p["optimizer"]] - 0.5 * (np.log2(p["batch"]) - 6.0) * np.log10(2.0)
        size = p["layers"] * np.log2(p["width"]) - 36.0
        loss = 0.25 * rate**2 / (1.0 + 0.2 * rate**2) + 4e-4 * size**2
        loss += 0.5 * (p["dropout"] - 0.2 - 0.004 * max(size, 0.0)) ** 2 + 0.02 * (np.log10(p["decay"]) + 4.0) ** 2
        loss += (0.3 if p["optimizer"] == "sgd" else 0.05) * (p["momentum"] - 0.9) ** 2
        loss += (
            0.4 * (p["smoothing"] - 0.1) ** 2 + (4e-4 if p["schedule"] != "constant" else 1e-4) * (p["warmup"] - 5) ** 2
        )
        return float(loss + penalty[p["optimizer"]] + penalty[p["activation"]] + penalty[p["schedule"]])

    return Problem(space, value)


def network() -> Problem:
    """The network search of the GSSBO paper; the value is the test error, whose minimum is unknown."""
    diabetes = example("diabetes")
    data = diabetes.load()
    space: dict[str, BaseDistribution] = {
        "batch": IntDistribution(32, 128),
        "rate": FloatDistribution(1e-6, 1.0, log=True),
        "decay": FloatDistribution(1e-6, 1.0, log=True),
        "hidden": IntDistribution(1, 8),
    }
    return Problem(space, lambda p: diabetes.final_error(data, **p))


def categories(seed: int, d: int, k: int) -> Problem:
    """``d`` unordered choices of ``k`` each, with effects of single choices and of pairs of neighbours."""
    rng = np.random.default_rng(seed)
    alone = rng.gamma(1.0, 1.0, (d, k))
    pairs = rng.gamma(0.5, 1.0, (d, k, k))
    space = {f"c{i}": CategoricalDistribution([f"v{j}" for j in range(k)]) for i in range(d)}
    # minimum around the ring by dynamic programming: fix the first choice, then optimise the others
    cost = alone[:, None, :] + pairs  # cost[i, a, b]: choice b of i after choice a of its neighbour i - 1
    best = np.inf
    for first in range(k):
        reach = np.full(k, np.inf)
        reach[first] = 0.0
        for i in range(1, d):
            reach = (reach[:, None] + cost[i]).min(axis=0)
        best = min(best, float((reach + cost[0][:, first]).min()))

    def value(params: Params) -> float:
        c = [int(params[f"c{i}"][1:]) for i in range(d)]
        return float(sum(cost[i, c[i - 1], c[i]] for i in range(d)))

    return Problem(space, value, best)


# -- suites ----------------------------------------------------------------------------------------------------

#: The functions of the GSSBO paper. Powell's function needs blocks of four: the paper's 50 dimensions become 48.
PAPER = [
    "eggholder-2",
    "hartmann-6",
    "levy-20",
    "powell-48",
    "rastrigin-100",
]
CONTINUOUS = ["powell-20", "rastrigin-20", "ackley-10", "rosenbrock-8", "hartmann-6-noisy"]
MIXED = ["ackley-mixed-13", "training-12", "diabetes-4"]
TABULAR = ["hpobench-vehicle", "hpobench-kc1", "hpolib-protein_structure", "hpolib-slice_localization", "nas-imagenet"]
UNSEEN = [
    "branin-2",
    "schwefel-5",
    "griewank-8",
    "michalewicz-10",
    "styblinski-tang-12",
    "ackley-15-rotated",
    "rastrigin-10-rotated",
    "ellipsoid-20-rotated",
    "rosenbrock-16-rotated",
    "levy-8-noisy",
    "categories-12",
    "hpobench-segment",
]
RIPPLES = ["salomon-6", "alpine-8", "schaffer-10"]
#: Objectives that fail: at random, in half of their space, or both. The optimum lies inside the region that works or,
#: where the name says so, on its edge.
FAILURES = [
    "rosenbrock-4-fails-0%",
    "rosenbrock-4-fails-5%",
    "rosenbrock-4-fails-15%",
    "ackley-5-half-fails",
    "ackley-5-half-fails-and-10%",
    "levy-6-edge-fails",
    "levy-6-edge-fails-and-10%",
]
#: The suites that are ranked.
COMPARED = {"paper": PAPER, "continuous": CONTINUOUS, "mixed": MIXED, "tabular": TABULAR, "unseen": UNSEEN}
BRANCHING = list(branching.PROGRAMS)
SUITES = COMPARED | {"ripples": RIPPLES, "failures": FAILURES, "branching": BRANCHING, "noisy": noisy.NAMES}
for _suite in (few, long):
    _name = _suite.__name__.rpartition(".")[2]
    SUITES[_name] = [name for name in _suite.problems() if name not in _suite.ASIDE]
    SUITES[f"{_name}-aside"] = list(_suite.ASIDE)


def _rosenbrock_4() -> Problem:
    return box(functions.rosenbrock, 4, -2.0, 2.0)


def _ackley_5() -> Problem:
    return box(lambda x: functions.ackley(x + 3.0), 5, -10.0, 10.0)


def _levy_6() -> Problem:
    return box(functions.levy, 6, -10.0, 10.0)


def _marked(checkpoints: tuple[int, ...], make: Callable[[], Problem]) -> Problem:
    return replace(make(), checkpoints=checkpoints)


def _above_the_middle(x: Array) -> bool:
    return bool(x[0] + x[1] > 0.0)


def _beyond_the_optimum(x: Array) -> bool:
    return bool(np.sum(x - 1.0) > 0.0)


_MAKERS: dict[str, Callable[[], Problem]] = {
    "eggholder-2": lambda: box(functions.eggholder, 2, -512.0, 512.0, -959.6406627208506),
    "hartmann-6": lambda: box(functions.hartmann, 6, 0.0, 1.0, -3.322368011391339),
    "levy-20": lambda: box(functions.levy, 20, -10.0, 10.0),
    "powell-48": lambda: box(functions.powell, 48, -4.0, 5.0),
    "rastrigin-100": lambda: box(functions.rastrigin, 100, -5.12, 5.12),
    "powell-20": lambda: box(functions.powell, 20, -4.0, 5.0),
    "rastrigin-20": lambda: box(functions.rastrigin, 20, -5.12, 5.12),
    "ackley-10": lambda: moved(functions.ackley, 10, -32.0, 32.0, 1),
    "rosenbrock-8": lambda: box(functions.rosenbrock, 8, -5.0, 10.0),
    "hartmann-6-noisy": lambda: box(functions.hartmann, 6, 0.0, 1.0, -3.322368011391339, noise=0.1),
    "ackley-mixed-13": ackley_mixed,
    "training-12": training_mixed,
    "diabetes-4": network,
    "hpobench-vehicle": lambda: Problem(*tables.hpobench("vehicle")),
    "hpobench-kc1": lambda: Problem(*tables.hpobench("kc1")),
    "hpobench-segment": lambda: Problem(*tables.hpobench("segment")),
    "hpolib-protein_structure": lambda: Problem(*tables.hpolib("protein_structure")),
    "hpolib-slice_localization": lambda: Problem(*tables.hpolib("slice_localization")),
    "nas-imagenet": lambda: Problem(*tables.nas_bench_201("imagenet")),
    "branin-2": lambda: box(functions.branin, 2, -5.0, 15.0, 0.39788735772973816),
    "schwefel-5": lambda: box(functions.schwefel, 5, -500.0, 500.0),
    "griewank-8": lambda: moved(functions.griewank, 8, -100.0, 100.0, 2),
    "michalewicz-10": lambda: box(functions.michalewicz, 10, 0.0, np.pi, -9.66015171564),
    "styblinski-tang-12": lambda: box(functions.styblinski_tang, 12, -5.0, 5.0, -39.16616570377142 * 12),
    "ackley-15-rotated": lambda: moved(functions.ackley, 15, -20.0, 20.0, 3, rotate=True),
    "rastrigin-10-rotated": lambda: moved(functions.rastrigin, 10, -5.12, 5.12, 4, rotate=True),
    "ellipsoid-20-rotated": lambda: moved(functions.ellipsoid, 20, -5.0, 5.0, 5, rotate=True),
    "rosenbrock-16-rotated": lambda: moved(lambda x: functions.rosenbrock(x + 1), 16, -5.0, 5.0, 6, rotate=True),
    "levy-8-noisy": lambda: moved(lambda x: functions.levy(x + 1), 8, -10.0, 10.0, 7, noise=1.0),
    "categories-12": lambda: categories(8, 12, 5),
    "salomon-6": lambda: moved(functions.salomon, 6, -10.0, 10.0, 9),
    "alpine-8": lambda: moved(functions.alpine, 8, -10.0, 10.0, 10),
    "schaffer-10": lambda: moved(functions.schaffer, 10, -10.0, 10.0, 11),
    "rosenbrock-4-fails-0%": _rosenbrock_4,
    "rosenbrock-4-fails-5%": lambda: failing(_rosenbrock_4(), rate=0.05),
    "rosenbrock-4-fails-15%": lambda: failing(_rosenbrock_4(), rate=0.15),
    "ackley-5-half-fails": lambda: failing(_ackley_5(), _above_the_middle),
    "ackley-5-half-fails-and-10%": lambda: failing(_ackley_5(), _above_the_middle, 0.1),
    "levy-6-edge-fails": lambda: failing(_levy_6(), _beyond_the_optimum),
    "levy-6-edge-fails-and-10%": lambda: failing(_levy_6(), _beyond_the_optimum, 0.1),
    **{name: partial(program, *found) for name, found in branching.PROGRAMS.items()},
    **{name: partial(noisy.make, name) for name in noisy.NAMES},
    **{name: partial(_marked, few.CHECKPOINTS, make) for name, make in few.problems().items()},
    **{name: partial(_marked, long.CHECKPOINTS, make) for name, make in long.problems().items()},
}
PROBLEMS = tuple(_MAKERS)


@cache
def make(name: str) -> Problem:
    """The problem of that name; tables and data sets are read on first use."""
    return _MAKERS[name]()
