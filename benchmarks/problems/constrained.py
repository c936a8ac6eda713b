"""Searches under constraints, all minimised. A point is feasible where all of its constraints are 0 or less.

Engineering designs from their published formulas, tables of networks under a limit of latency or size, and synthetic
problems of which a hundredth or a thousandth is feasible.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from optuna.distributions import BaseDistribution, IntDistribution

from benchmarks.problems import network
from benchmarks.problems.problem import Array
from benchmarks.problems.spaces import floats
from benchmarks.problems.tables import columns


class Problem(NamedTuple):
    """What is searched.

    Attributes:
        space: what is searched.
        evaluate: takes a configuration; returns the objective and the constraints.
        optimum: the best known feasible value.
    """

    space: dict[str, BaseDistribution]
    evaluate: Callable[[dict[str, Any]], tuple[float, tuple[float, ...]]]
    optimum: float


# -- engineering designs -------------------------------------------------------------------------------------------


def pressure_vessel() -> Problem:
    """Kannan & Kramer 1994: thicknesses of shell and head in sixteenths of an inch, radius, length."""
    space: dict[str, BaseDistribution] = {"shell": IntDistribution(1, 99), "head": IntDistribution(1, 99)}

    def evaluate(p: dict[str, Any]) -> tuple[float, tuple[float, ...]]:
        s = p["shell"] / 16.0
        h = p["head"] / 16.0
        r = p["radius"]
        length = p["length"]
        cost = 0.6224 * s * r * length + 1.7781 * h * r**2 + 3.1661 * s**2 * length + 19.84 * s**2 * r
        volume = math.pi * r**2 * length + 4.0 / 3.0 * math.pi * r**3
        return cost, (0.0193 * r - s, 0.00954 * r - h, 1296000.0 - volume, length - 240.0)

    return Problem(space | floats(radius=(10.0, 200.0), length=(10.0, 200.0)), evaluate, 6059.7143)


def welded_beam() -> Problem:
    """Rao 1996: thickness and length of the weld, height and thickness of the beam."""
    load_ = 6000.0
    reach = 14.0
    young = 30e6
    shear = 12e6

    def evaluate(p: dict[str, Any]) -> tuple[float, tuple[float, ...]]:
        h = p["h"]
        length = p["l"]
        t = p["t"]
        b = p["b"]
        radius = math.sqrt(length**2 / 4.0 + ((h + t) / 2.0) ** 2)
        inertia = 2.0 * math.sqrt(2.0) * h * length * (length**2 / 12.0 + ((h + t) / 2.0) ** 2)
        first = load_ / (math.sqrt(2.0) * h * length)
        second = load_ * (reach + length / 2.0) * radius / inertia
        tau = math.sqrt(first**2 + first * second * length / radius + second**2)
        sigma = 6.0 * load_ * reach / (b * t**2)
        deflection = 4.0 * load_ * reach**3 / (young * t**3 * b)
        slender = 1.0 - t / (2.0 * reach) * math.sqrt(young / (4.0 * shear))
        buckling = 4.013 * young * math.sqrt(t**2 * b**6 / 36.0) / reach**2 * slender
        cost = 1.10471 * h**2 * length + 0.04811 * t * b * (14.0 + length)
        limits = (tau - 13600.0, sigma - 30000.0, h - b, cost - 5.0, 0.125 - h, deflection - 0.25, load_ - buckling)
        return cost, limits

    return Problem(floats(h=(0.1, 2.0), l=(0.1, 10.0), t=(0.1, 10.0), b=(0.1, 2.0)), evaluate, 1.724852)


def spring() -> Problem:
    """Arora 1989: a spring under tension or compression."""

    def evaluate(p: dict[str, Any]) -> tuple[float, tuple[float, ...]]:
        d = p["wire"]
        D = p["coil"]
        n = p["turns"]
        stress = (4.0 * D**2 - d * D) / (12566.0 * (D * d**3 - d**4)) + 1.0 / (5108.0 * d**2) - 1.0
        limits = (1.0 - D**3 * n / (71785.0 * d**4), stress, 1.0 - 140.45 * d / (D**2 * n), (d + D) / 1.5 - 1.0)
        return (n + 2.0) * D * d**2, limits

    return Problem(floats(wire=(0.05, 2.0), coil=(0.25, 1.3), turns=(2.0, 15.0)), evaluate, 0.0126652)


def speed_reducer() -> Problem:
    """Golinski 1970, with eleven constraints."""
    space = floats(x1=(2.6, 3.6), x2=(0.7, 0.8)) | {"x3": IntDistribution(17, 28)}
    space |= floats(x4=(7.3, 8.3), x5=(7.3, 8.3), x6=(2.9, 3.9), x7=(5.0, 5.5))

    def evaluate(p: dict[str, Any]) -> tuple[float, tuple[float, ...]]:
        x1, x2, x3, x4, x5, x6, x7 = (p[f"x{j}"] for j in range(1, 8))
        weight = 0.7854 * x1 * x2**2 * (3.3333 * x3**2 + 14.9334 * x3 - 43.0934) - 1.508 * x1 * (x6**2 + x7**2)
        weight += 7.4777 * (x6**3 + x7**3) + 0.7854 * (x4 * x6**2 + x5 * x7**2)
        limits = (
            27.0 / (x1 * x2**2 * x3) - 1.0,
            397.5 / (x1 * x2**2 * x3**2) - 1.0,
            1.93 * x4**3 / (x2 * x3 * x6**4) - 1.0,
            1.93 * x5**3 / (x2 * x3 * x7**4) - 1.0,
            math.sqrt((745.0 * x4 / (x2 * x3)) ** 2 + 16.9e6) / (110.0 * x6**3) - 1.0,
            math.sqrt((745.0 * x5 / (x2 * x3)) ** 2 + 157.5e6) / (85.0 * x7**3) - 1.0,
            x2 * x3 / 40.0 - 1.0,
            5.0 * x2 / x1 - 1.0,
            x1 / (12.0 * x2) - 1.0,
            (1.5 * x6 + 1.9) / x4 - 1.0,
            (1.1 * x7 + 1.9) / x5 - 1.0,
        )
        return weight, limits

    return Problem(space, evaluate, 2994.3409)


def truss() -> Problem:
    """Nowacki 1973: the cross sections of a truss of three bars."""

    def evaluate(p: dict[str, Any]) -> tuple[float, tuple[float, ...]]:
        a = p["outer"]
        b = p["middle"]
        root = math.sqrt(2.0)
        below = root * a**2 + 2.0 * a * b
        limits = ((root * a + b) / below * 2.0 - 2.0, b / below * 2.0 - 2.0, 2.0 / (a + root * b) - 2.0)
        return (2.0 * root * a + b) * 100.0, limits

    return Problem(floats(outer=(1e-3, 1.0), middle=(1e-3, 1.0)), evaluate, 263.895843)


def keane(d: int) -> Problem:
    """Keane's bump (1994): many local optima, the best of them on the edge of a product."""
    best = {10: -0.7473104, 20: -0.8036191}

    def evaluate(p: dict[str, Any]) -> tuple[float, tuple[float, ...]]:
        x = np.array(list(p.values()))
        c2 = np.cos(x) ** 2
        bump = abs(np.sum(c2**2) - 2.0 * np.prod(c2)) / math.sqrt(np.sum(np.arange(1, d + 1) * x**2))
        return -float(bump), (0.75 - float(np.prod(x)), float(np.sum(x)) - 7.5 * d)

    return Problem(floats(**{f"x{j}": (1e-6, 10.0) for j in range(d)}), evaluate, best[d])


def gramacy() -> Problem:
    """Gramacy et al. 2016: a plane over a wavy feasible region of two parts."""

    def evaluate(p: dict[str, Any]) -> tuple[float, tuple[float, ...]]:
        x = p["x"]
        y = p["y"]
        wave = 1.5 - x - 2.0 * y - 0.5 * math.sin(2.0 * math.pi * (x**2 - 2.0 * y))
        return x + y, (wave, x**2 + y**2 - 1.5)

    return Problem(floats(x=(0.0, 1.0), y=(0.0, 1.0)), evaluate, 0.5997880)


# -- tables ----------------------------------------------------------------------------------------------------------


def _table(benchmark: str, dataset: str, metric: str, sign: float, limited: str, share: float) -> Problem:
    """The best ``metric`` of a table of networks where ``limited`` is among the smallest ``share`` of all."""
    space, key_of, table = columns(benchmark, dataset, [metric, limited])
    rows = {key: (sign * value, size) for key, (value, size) in table.items()}
    values, sizes = np.array(list(rows.values())).T
    limit = float(np.quantile(sizes, share))

    def evaluate(p: dict[str, Any]) -> tuple[float, tuple[float, ...]]:
        value, size = rows[key_of(p)]
        return value, (size / limit - 1.0,)

    return Problem(space, evaluate, float(values[sizes <= limit].min()))


def small_network(limit: int = 700) -> Problem:
    """The least error of a network that is trained, with a limit of its weights and biases.

    The optimum is the best seen, in 300 trials each of random search, TPE, NSGA-II and GSSBO.
    """

    def evaluate(p: dict[str, Any]) -> tuple[float, tuple[float, ...]]:
        error, size = network.train(p)
        return error, (size / limit - 1.0,)

    return Problem(network.SPACE, evaluate, 1.0 - 526.0 / 540.0)


# -- synthetic ones --------------------------------------------------------------------------------------------------


def ball(d: int, share: float, seed: int = 0) -> Problem:
    """A ball that fills a ``share`` of the cube; the objective falls, with ripples, to a point outside of it."""
    rng = np.random.default_rng(seed)
    center = rng.uniform(0.25, 0.75, d)
    away = rng.normal(size=d)
    away /= np.linalg.norm(away)
    squares = np.sum((rng.random((200_000, d)) - center) ** 2, axis=1)
    radius = math.sqrt(np.quantile(squares, share))
    best = center + radius * away
    target = center + 2.0 * radius * away

    def evaluate(p: dict[str, Any]) -> tuple[float, tuple[float, ...]]:
        x = np.array(list(p.values()))
        ripples = float(np.mean(1.0 - np.cos(8.0 * math.pi * (x - best))))
        value = (float(np.sum((x - target) ** 2)) / radius**2 - 1.0) + 0.3 * ripples
        return value, (float(np.sum((x - center) ** 2)) - radius**2,)

    return Problem(floats(**{f"x{j}": (0.0, 1.0) for j in range(d)}), evaluate, 0.0)


def slabs(d: int, share: float, seed: int = 0) -> Problem:
    """The part of the cube where two smooth functions are small; a bowl around a point where they are not."""
    rng = np.random.default_rng(seed + 50)
    A = rng.normal(size=(2, d)) / math.sqrt(d)
    shift = rng.uniform(0.3, 0.7, d)
    goal = rng.uniform(0.2, 0.8, d)

    def functions(X: Array) -> Array:
        Z = X - shift
        return np.abs(np.sin(2.0 * Z @ A.T) + 0.3 * np.sum(Z**2, axis=-1, keepdims=True))

    limit = float(np.quantile(functions(rng.random((200_000, d))).max(axis=1), share))

    def evaluate(p: dict[str, Any]) -> tuple[float, tuple[float, ...]]:
        x = np.array(list(p.values()))
        first, second = (functions(x[None])[0] - limit).tolist()
        return float(np.sum((x - goal) ** 2)), (first, second)

    return Problem(floats(**{f"x{j}": (0.0, 1.0) for j in range(d)}), evaluate, 0.0)


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "pressure-vessel": pressure_vessel,
    "welded-beam": welded_beam,
    "speed-reducer": speed_reducer,
    "gramacy": gramacy,
    "keane-10": partial(keane, 10),
    "nas-latency": partial(_table, "NASBench201", "cifar100", "val_acc", -1.0, "latency", 0.1),
    "net-size": partial(_table, "HPOLib", "naval_propulsion", "val_loss", 1.0, "model_size", 0.1),
    "network": small_network,
    "ball-5-1": partial(ball, 5, 0.01),
    "ball-10-1": partial(ball, 10, 0.01),
    "ball-20-1": partial(ball, 20, 0.01),
    "ball-10-01": partial(ball, 10, 0.001),
    "slabs-6-1": partial(slabs, 6, 0.01),
}
#: Problems on which no setting was chosen.
APART: dict[str, Callable[[], Problem]] = {
    "spring": spring,
    "truss": truss,
    "keane-20": partial(keane, 20),
    "nas-latency-apart": partial(_table, "NASBench201", "cifar10", "val_acc", -1.0, "latency", 0.2),
    "ball-40-1": partial(ball, 40, 0.01, 1),
    "slabs-12-1": partial(slabs, 12, 0.01, 1),
}


@cache
def problem(name: str) -> Problem:
    """The problem of this name."""
    return (PROBLEMS | APART)[name]()
