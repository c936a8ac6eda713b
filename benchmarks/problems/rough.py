"""Rough functions of a point ``x (d,)``, all with minimum 0 at the origin, beside those of `long`.

The formulas are those of the BBOB testbed (Hansen et al. 2009, "Real-Parameter Black-Box Optimization Benchmarking"),
whose functions have numbers from f1 to f24, and of the collection of Jamil & Yang (2013).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.problems import functions, long
from benchmarks.problems.long import powers_of_ten
from benchmarks.problems.problem import Array


def oscillated(x: Array) -> Array:
    """BBOB's T_osz: ``sign(x) exp(h + 0.049 (sin(a h) + sin(b h)))`` of ``h = log |x|``, smooth but irregular.

    ``a`` and ``b`` are 10 and 7.9 where x is positive, and 5.5 and 3.1 elsewhere.
    """
    h = np.log(np.where(x == 0.0, 1.0, np.abs(x)))
    a = np.where(x > 0.0, 10.0, 5.5)
    b = np.where(x > 0.0, 7.9, 3.1)
    return np.asarray(np.sign(x) * np.exp(h + 0.049 * (np.sin(a * h) + np.sin(b * h))))


def skewed(x: Array, beta: float) -> Array:
    """BBOB's T_asy: ``x_i ** (1 + beta i / (d - 1) sqrt(x_i))``, with i from 0, where x_i is positive."""
    positive = np.maximum(x, 0.0)
    exponent = 1.0 + beta * np.linspace(0.0, 1.0, len(x)) * np.sqrt(positive)
    return np.where(x > 0.0, positive**exponent, x)


def skewed_rastrigin(d: int, seed: int) -> Callable[[Array], float]:
    """BBOB's f15: Rastrigin's function of ``R L Q T_asy(T_osz(x))``, with rotations R and Q, L of condition 10."""
    into = functions.rotation(d, seed)
    out = functions.rotation(d, seed + 1)
    weights = powers_of_ten(np.zeros(d), 0.5)
    return lambda x: functions.rastrigin(out @ (weights * (into @ skewed(oscillated(x), 0.2))))


def skewed_schaffer(d: int, seed: int, exponent: float) -> Callable[[Array], float]:
    """BBOB's f17 and, with ``exponent`` 1.5, f18: Schaffer's F7 of ``L Q T_asy(x)``, L up to ``10 ** exponent``."""
    into = functions.rotation(d, seed)
    weights = powers_of_ten(np.zeros(d), exponent)
    return lambda x: long.schaffer_f7(weights * (into @ skewed(x, 0.5)))


def step_ellipsoid(d: int, seed: int) -> Callable[[Array], float]:
    """BBOB's f7: `long.steps`, turned once more after rounding, and with axes of condition 10 before."""
    into = functions.rotation(d, seed)
    weights = powers_of_ten(np.zeros(d), 0.5)

    def value(x: Array) -> float:
        z = weights * x
        flat = np.where(np.abs(z) > 0.5, np.floor(0.5 + z), np.floor(0.5 + 10.0 * z) / 10.0)
        return float(0.1 * max(abs(z[0]) / 1e4, powers_of_ten(x, 2.0) @ (into @ flat) ** 2))

    return value


def schwefel(x: Array) -> float:
    """Schwefel's 2.26 around its optimum at 420.97; a unit is 100 of its own, and outside of its box it rises."""
    z = 100.0 * x + 420.9687463599821
    inside = np.clip(z, -500.0, 500.0)
    return max(functions.schwefel(inside), 0.0) + float(np.sum((z - inside) ** 2)) / 100.0


def ripples(x: Array) -> float:
    """Bohachevsky's: ``sum x_i^2 + 2 x_{i+1}^2 - 0.3 cos(3 pi x_i) - 0.4 cos(4 pi x_{i+1}) + 0.7``, over neighbours."""
    a = x[:-1]
    b = x[1:]
    return float(np.sum(a**2 + 2.0 * b**2 - 0.3 * np.cos(3.0 * np.pi * a) - 0.4 * np.cos(4.0 * np.pi * b) + 0.7))


def stairs(x: Array) -> float:
    """De Jong's third, ``sum floor(|x_i|)``, and a slight slope towards the origin."""
    return float(np.sum(np.floor(np.abs(x)) + 0.01 * np.abs(x)))


def katsuura(x: Array) -> float:
    """BBOB's f23: ``10 / d^2 (prod_i (1 + i sum_k |2^k x_i - round(2^k x_i)| / 2^k)^(10 / d^1.2) - 1)``, k to 32."""
    d = len(x)
    powers = 2.0 ** np.arange(1, 33)
    off = np.abs(powers * x[:, None] - np.round(powers * x[:, None])) @ (1.0 / powers)
    return float(10.0 / d**2 * (np.prod((1.0 + np.arange(1, d + 1) * off) ** (10.0 / d**1.2)) - 1.0))
