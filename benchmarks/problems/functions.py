"""Test functions of a point ``x (d,)`` in their usual coordinates, all to be minimised.

Formulas as in the collections of Surjanovic & Bingham (2013) and of Jamil & Yang (2013).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def eggholder(x: Array) -> float:
    a, b = x
    return float(-(b + 47) * np.sin(np.sqrt(abs(b + a / 2 + 47))) - a * np.sin(np.sqrt(abs(a - b - 47))))


_HARTMANN_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
_HARTMANN_A = np.array(
    [
        [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ]
)
_HARTMANN_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann(x: Array) -> float:
    return float(-_HARTMANN_ALPHA @ np.exp(-np.sum(_HARTMANN_A * (x - _HARTMANN_P) ** 2, axis=1)))


def levy(x: Array) -> float:
    w = 1 + (x - 1) / 4
    head = np.sin(np.pi * w[0]) ** 2
    body = np.sum((w[:-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[:-1] + 1) ** 2))
    return float(head + body + (w[-1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[-1]) ** 2))


def powell(x: Array) -> float:
    a, b, c, d = x.reshape(-1, 4).T
    return float(np.sum((a + 10 * b) ** 2 + 5 * (c - d) ** 2 + (b - 2 * c) ** 4 + 10 * (a - d) ** 4))


def rastrigin(x: Array) -> float:
    return float(10 * len(x) + np.sum(x**2 - 10 * np.cos(2 * np.pi * x)))


def ackley(x: Array) -> float:
    spread = -20.0 * np.exp(-0.2 * np.sqrt(np.mean(x**2)))
    return float(spread - np.exp(np.mean(np.cos(2 * np.pi * x))) + 20.0 + np.e)


def rosenbrock(x: Array) -> float:
    return float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2))


def griewank(x: Array) -> float:
    return float(1.0 + np.sum(x**2) / 4000.0 - np.prod(np.cos(x / np.sqrt(np.arange(1, len(x) + 1)))))


def styblinski_tang(x: Array) -> float:
    return float(0.5 * np.sum(x**4 - 16.0 * x**2 + 5.0 * x))


def michalewicz(x: Array) -> float:
    return float(-np.sum(np.sin(x) * np.sin(np.arange(1, len(x) + 1) * x**2 / np.pi) ** 20))


def schwefel(x: Array) -> float:
    return float(418.9828872724338 * len(x) - np.sum(x * np.sin(np.sqrt(np.abs(x)))))


def ellipsoid(x: Array) -> float:
    return float(np.sum(10.0 ** (4.0 * np.arange(len(x)) / max(len(x) - 1, 1)) * x**2))


def salomon(x: Array) -> float:
    r = np.sqrt(np.sum(x**2))
    return float(1.0 - np.cos(2.0 * np.pi * r) + 0.1 * r)


def alpine(x: Array) -> float:
    return float(np.sum(np.abs(x * np.sin(x) + 0.1 * x)))


def schaffer(x: Array) -> float:
    """Schaffer's second function, over neighbouring pairs of coordinates."""
    squares = x[:-1] ** 2 + x[1:] ** 2
    return float(np.sum(squares**0.25 * (1.0 + np.sin(50.0 * squares**0.1) ** 2)))


def branin(x: Array) -> float:
    a, b = x
    bowl = (b - 5.1 / (4 * np.pi**2) * a**2 + 5.0 / np.pi * a - 6.0) ** 2
    return float(bowl + 10.0 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10.0)


def zakharov(x: Array) -> float:
    slope = 0.5 * np.arange(1, len(x) + 1) @ x
    return float(x @ x + slope**2 + slope**4)


def dixon_price(x: Array) -> float:
    """With its minimum at the origin."""
    i = np.arange(1, len(x) + 1)
    x = x + 2.0 ** (2.0 ** -(i - 1.0) - 1.0)
    return float((x[0] - 1.0) ** 2 + np.sum(i[1:] * (2.0 * x[1:] ** 2 - x[:-1]) ** 2))


def rotation(d: int, seed: int) -> Array:
    """A random orthogonal matrix (d, d)."""
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))
    return np.asarray(q * np.sign(np.diag(r)))
