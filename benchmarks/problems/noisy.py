"""Noisy problems: functions at three levels of noise, and searches whose repeats differ.

A sampler is judged by the noise-free value of what it recommends: `best_predicted` for numbo's, the best trial for
others. What an exact GP on the sampler's own trials recommends is recorded as well, so that searches can be compared,
and not only recommendations; and, for numbo's, how many values at random points lie in their predicted 90 % intervals.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import RandomSampler
from optuna.study import Study

import optuna
from benchmarks.problems import functions, tables
from benchmarks.problems.examples import example

Params = Mapping[str, Any]

#: Standard deviation of the noise, in percent of that of the function over its space.
LEVELS = (1, 10, 30)
#: Random points from which the latter is estimated.
SPREAD = 1000
#: Random points whose values are predicted.
HELD_OUT = 200
#: Trainings over which the value of a recommendation is averaged.
AVERAGED = 40
CHECKPOINTS = (50, 100, 300, 1000)
FUNCTIONS = (
    "branin-2",
    "rosenbrock-4",
    "griewank-4",
    "styblinski-tang-5",
    "michalewicz-5",
    "hartmann-6",
    "levy-6",
    "ackley-6",
    "ellipsoid-8-rotated",
    "powell-8",
    "categories-8",
    "training-12",
)
REAL = ("diabetes-4-once", "sgd-digits", "hpobench-vehicle-once", "hpolib-protein_structure-once")
NAMES = [f"{name}-noise-{level}%" for name in FUNCTIONS for level in LEVELS] + list(REAL)


def make(name: str) -> Any:
    """The problem of that name (`suites.Problem`)."""
    if name in REAL:
        return _MAKERS[name]()
    function, _, level = name.partition("-noise-")
    problem = _function(function)
    noise = float(level.rstrip("%")) / 100.0 * spread(problem)
    return replace(problem, noise=noise, recommended=True, checkpoints=CHECKPOINTS)


def _function(name: str) -> Any:
    from benchmarks.problems import suites as p

    makers: dict[str, Callable[[], Any]] = {
        "rosenbrock-4": lambda: p.box(functions.rosenbrock, 4, -2.0, 2.0),
        "griewank-4": lambda: p.moved(functions.griewank, 4, -50.0, 50.0, 31),
        "styblinski-tang-5": lambda: p.box(functions.styblinski_tang, 5, -5.0, 5.0, -39.16616570377142 * 5),
        "michalewicz-5": lambda: p.box(functions.michalewicz, 5, 0.0, np.pi, -4.687658179),
        "levy-6": lambda: p.moved(lambda x: functions.levy(x + 1), 6, -10.0, 10.0, 32),
        "ackley-6": lambda: p.moved(functions.ackley, 6, -10.0, 10.0, 33),
        "ellipsoid-8-rotated": lambda: p.moved(functions.ellipsoid, 8, -5.0, 5.0, 34, rotate=True),
        "powell-8": lambda: p.box(functions.powell, 8, -4.0, 5.0),
        "categories-8": lambda: p.categories(35, 8, 4),
    }
    return makers[name]() if name in makers else p.make(name)


def spread(problem: Any) -> float:
    """Standard deviation of a problem's function over its space."""
    return float(np.std([problem.function(params) for params in random_points(problem, SPREAD)]))


def random_points(problem: Any, count: int) -> list[Params]:
    """Random points of a problem's space, always the same."""
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    return [study.ask(fixed_distributions=dict(problem.space)).params for _ in range(count)]


# -- searches whose repeats differ ---------------------------------------------------------------------------------


def _diabetes() -> Any:
    """The network search of the GSSBO paper with one training in place of five."""
    from benchmarks.problems.suites import Problem

    diabetes = example("diabetes")
    data = diabetes.load()
    space = {
        "batch": IntDistribution(32, 128),
        "rate": FloatDistribution(1e-4, 10.0, log=True),
        "decay": FloatDistribution(1e-6, 1.0, log=True),
        "hidden": IntDistribution(1, 8),
    }

    def once(params: Params, seed: int) -> float:
        *_, network = diabetes.train(data, **params, seed=seed)
        return diabetes.test_error(data, network)

    return _trained(Problem, space, once)


def _sgd() -> Any:
    """A linear classifier of digits, trained by stochastic gradient descent on a random half."""
    from sklearn.datasets import load_digits
    from sklearn.linear_model import SGDClassifier
    from sklearn.model_selection import train_test_split

    from benchmarks.problems.suites import Problem

    X, y = load_digits(return_X_y=True)
    space = {
        "alpha": FloatDistribution(1e-6, 1e1, log=True),
        "eta": FloatDistribution(1e-5, 1e1, log=True),
        "power": FloatDistribution(0.05, 1.0),
        "loss": CategoricalDistribution(["hinge", "log_loss", "modified_huber"]),
    }

    def once(p: Params, seed: int) -> float:
        train, test, of_train, of_test = train_test_split(X / 16.0, y, train_size=0.5, random_state=seed)
        settings: dict[str, Any] = {"learning_rate": "invscaling", "max_iter": 5, "tol": None, "random_state": seed}
        model = SGDClassifier(loss=p["loss"], alpha=p["alpha"], eta0=p["eta"], power_t=p["power"], **settings)
        return float(1.0 - model.fit(train, of_train).score(test, of_test))

    return _trained(Problem, space, once)


def _trained(problem: Any, space: Mapping[str, Any], once: Callable[[Params, int], float]) -> Any:
    """A problem whose value is the average over `AVERAGED` trainings, of which a trial makes one with a random seed."""

    def told(params: Params, rng: np.random.Generator) -> float:
        return once(params, int(rng.integers(1_000, 2**31)))

    def value(params: Params) -> float:
        return float(np.mean([once(params, seed) for seed in range(AVERAGED)]))

    return problem(space, value, told=told, recommended=True, checkpoints=CHECKPOINTS)


def _tabulated(found: tables.Repeats) -> Any:
    from benchmarks.problems.suites import Problem

    space, value, minimum, told = found
    return Problem(space, value, minimum, told=told, recommended=True, checkpoints=CHECKPOINTS)


_MAKERS: dict[str, Callable[[], Any]] = {
    "diabetes-4-once": _diabetes,
    "sgd-digits": _sgd,
    "hpobench-vehicle-once": lambda: _tabulated(tables.repeats("HPOBench", "vehicle")),
    "hpolib-protein_structure-once": lambda: _tabulated(tables.repeats("HPOLib", "protein_structure")),
}


# -- runs ----------------------------------------------------------------------------------------------------------


def recommended(study: Study) -> Params:
    """What the sampler of a study recommends."""
    find = getattr(study.sampler, "best_predicted", None)
    found = None if find is None else find(study)
    return study.best_params if found is None else found[0]


def by_gp(study: Study) -> Params:
    """What an exact GP on all trials of a study recommends."""
    from numbo.optuna import GPUCBSampler

    found = GPUCBSampler(seed=0).best_predicted(study)
    assert found is not None
    return found[0]


def covered(study: Study, points: list[Params], values: list[float]) -> float:
    """Share of the values at points that lie in the 90 % intervals that a study's sampler predicts."""
    from numbo.optuna import explain, predict

    from benchmarks.checks.calibration import WIDTH  # which imports numbo, as problems do not

    mean, std = predict(study, points)
    return float(np.mean(np.abs(values - mean) <= WIDTH * np.hypot(std, explain(study).noise_std)))


def run_one(problem: Any, sampler: Any, seed: int, trials: int) -> dict[str, Any]:
    """One study: regrets of what is recommended, and the median of the last ask times, at the checkpoints."""
    rng = np.random.default_rng((seed, 1))
    study = optuna.create_study(sampler=sampler)

    @cache
    def regret(params: tuple[tuple[str, Any], ...]) -> float:
        return float(problem.function(dict(params)) - problem.minimum)

    figures: dict[str, dict[str, float]] = {"best": {}, "by_gp": {}, "ask_ms": {}}
    predicts = hasattr(sampler, "predict")
    asks: list[float] = []
    told = problem.told or (lambda p, rng: problem.function(p) + problem.noise * rng.normal())
    held_out = random_points(problem, HELD_OUT) if predicts else []
    values = [told(params, np.random.default_rng((seed, 2, i))) for i, params in enumerate(held_out)]
    for t in range(1, trials + 1):
        before = time.perf_counter()
        trial = problem.ask(study)
        asks.append(time.perf_counter() - before)
        study.tell(trial.number, told(trial.params, rng))
        if t in problem.checkpoints:
            for name, find in (("best", recommended), ("by_gp", by_gp)):
                figures[name][str(t)] = regret(tuple(find(study).items()))
            if predicts:
                figures.setdefault("covered", {})[str(t)] = covered(study, held_out, values)
            figures["ask_ms"][str(t)] = 1e3 * float(np.median(asks[-20:]))
    curve = [[int(t), regret] for t, regret in figures["best"].items()]
    return figures | {"ask_seconds": float(np.sum(asks)), "curve": curve}
