"""Ten problems for many points at once, which are in none of the suites."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from benchmarks.problems import functions
from benchmarks.problems.problem import Array, Params, Problem, box, moved


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
    "zakharov-8": lambda: moved(functions.zakharov, 8, -5.0, 5.0, 14),
    "mixed-8": mixed,
    "dixon-price-10": lambda: moved(functions.dixon_price, 10, -4.0, 4.0, 15),
    "ellipsoid-14": lambda: moved(functions.ellipsoid, 14, -5.0, 5.0, 16),
    "bowl-20": lambda: moved(bowl, 20, -2.0, 2.0, 17),
}
