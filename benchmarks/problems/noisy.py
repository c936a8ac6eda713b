"""Noisy problems: functions at three levels of noise, and searches whose repeats differ.

A sampler is judged by the noise-free value of what it recommends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import RandomSampler

from benchmarks.problems import classic, few, functions, long, tables
from benchmarks.problems.examples import example
from benchmarks.problems.mixed import categories, training_mixed
from benchmarks.problems.problem import Params, Problem, box, moved

#: Standard deviation of the noise, in percent of that of the function over its space.
LEVELS = (1, 10, 30)
#: Random points from which the latter is estimated.
SPREAD = 1000
#: Trainings over which the value of a recommendation is averaged.
AVERAGED = 40
CHECKPOINTS = (50, 100, 300, 1000)


# -- functions at levels of noise ----------------------------------------------------------------------------------


FUNCTIONS: dict[str, Callable[[], Problem]] = {
    "branin-2": classic.PROBLEMS["branin-2"],
    "rosenbrock-4": lambda: box(functions.rosenbrock, 4, -2.0, 2.0),
    "griewank-4": lambda: moved(functions.griewank, 4, -50.0, 50.0, 31),
    "styblinski-tang-5": lambda: box(functions.styblinski_tang, 5, -5.0, 5.0, -39.16616570377142 * 5),
    "michalewicz-5": lambda: box(functions.michalewicz, 5, 0.0, np.pi, -4.687658179),
    "hartmann-6": classic.PROBLEMS["hartmann-6"],
    "levy-6": lambda: moved(lambda x: functions.levy(x + 1), 6, -10.0, 10.0, 32),
    "ackley-6": lambda: moved(functions.ackley, 6, -10.0, 10.0, 33),
    "ellipsoid-8-rotated": lambda: moved(functions.ellipsoid, 8, -5.0, 5.0, 34, rotate=True),
    "powell-8": lambda: box(functions.powell, 8, -4.0, 5.0),
    "categories-8": lambda: categories(35, 8, 4),
    "training-12": training_mixed,
}
#: The center of a bowl, outside of the unit cube in two of four dimensions, so that the optimum lies on two bounds.
EDGE = np.array([1.2, 0.3, -0.2, 0.6])
#: Functions that were no help in choosing settings, each at one level of noise.
PUT_ASIDE: dict[str, tuple[Callable[[], Problem], int]] = {
    "goldstein-price-2": (few.PROBLEMS["goldstein-price-2"], 10),
    "rastrigin-2": (lambda: moved(functions.rastrigin, 2, -5.12, 5.12, 39), 30),
    "zakharov-3": (lambda: moved(functions.zakharov, 3, -5.0, 10.0, 36), 30),
    "edge-4": (lambda: box(lambda x: float(np.sum((x - EDGE) ** 2)), 4, 0.0, 1.0, 0.08), 30),
    "dixon-price-5": (lambda: moved(functions.dixon_price, 5, -10.0, 10.0, 37), 10),
    "categories-6": (lambda: categories(40, 6, 3), 30),
    "different-powers-10-rotated": (lambda: moved(long.different_powers, 10, -5.0, 5.0, 38, rotate=True), 10),
}


def _at(make: Callable[[], Problem], level: int) -> Problem:
    """A function with noise of ``level`` percent of its spread."""
    problem = make()
    return replace(problem, noise=level / 100.0 * spread(problem), recommended=True, checkpoints=CHECKPOINTS)


def spread(problem: Problem) -> float:
    """Standard deviation of a problem's function over its space."""
    return float(np.std([problem.function(params) for params in random_points(problem, SPREAD)]))


def random_points(problem: Problem, count: int) -> list[Params]:
    """Random points of a problem's space, always the same."""
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    return [study.ask(fixed_distributions=dict(problem.space)).params for _ in range(count)]


# -- searches whose repeats differ ---------------------------------------------------------------------------------


def _diabetes() -> Problem:
    """The network search of the GSSBO paper with one training in place of five."""
    diabetes = example("diabetes")
    data = diabetes.load()
    space: dict[str, BaseDistribution] = {
        "batch": IntDistribution(32, 128),
        "rate": FloatDistribution(1e-4, 10.0, log=True),
        "decay": FloatDistribution(1e-6, 1.0, log=True),
        "hidden": IntDistribution(1, 8),
    }

    def once(params: Params, seed: int) -> float:
        *_, network = diabetes.train(data, **params, seed=seed)
        return diabetes.test_error(data, network)

    return _trained(space, once)


def _sgd() -> Problem:
    """A linear classifier of digits, trained by stochastic gradient descent on a random half."""
    from sklearn.datasets import load_digits
    from sklearn.linear_model import SGDClassifier
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    space: dict[str, BaseDistribution] = {
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

    return _trained(space, once)


def _trained(space: Mapping[str, BaseDistribution], once: Callable[[Params, int], float]) -> Problem:
    """A problem whose value is the average over `AVERAGED` trainings, of which a trial makes one with a random seed."""

    def told(params: Params, rng: np.random.Generator) -> float:
        return once(params, int(rng.integers(1_000, 2**31)))

    def value(params: Params) -> float:
        return float(np.mean([once(params, seed) for seed in range(AVERAGED)]))

    return Problem(space, value, told=told, recommended=True, checkpoints=CHECKPOINTS)


def _tabulated(benchmark: str, dataset: str) -> Problem:
    return replace(tables.once(benchmark, dataset), recommended=True, checkpoints=CHECKPOINTS)


REAL: dict[str, Callable[[], Problem]] = {
    "diabetes-4-once": _diabetes,
    "sgd-digits": _sgd,
    "hpobench-vehicle-once": partial(_tabulated, "HPOBench", "vehicle"),
    "hpolib-protein_structure-once": partial(_tabulated, "HPOLib", "protein_structure"),
}
_ASIDE = {f"{name}-noise-{level}%": partial(_at, make, level) for name, (make, level) in PUT_ASIDE.items()}
PROBLEMS: dict[str, Callable[[], Problem]] = {
    **{f"{name}-noise-{level}%": partial(_at, make, level) for name, make in FUNCTIONS.items() for level in LEVELS},
    **REAL,
    **_ASIDE,
}
ASIDE = tuple(_ASIDE)
