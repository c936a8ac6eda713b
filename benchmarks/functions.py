"""Test functions, each with its bounds and its minimum; all are minimised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """``function`` maps a point (d,) within ``[low, high]^d`` to a value of at least ``minimum``."""

    name: str
    function: Callable[[Array], float]
    d: int
    low: float
    high: float
    minimum: float


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


#: The functions of the GSSBO paper. Powell's function comes in blocks of four: the paper's 50 becomes 48.
PAPER = [
    Problem("eggholder-2", eggholder, 2, -512.0, 512.0, -959.6406627208506),
    Problem("hartmann-6", hartmann, 6, 0.0, 1.0, -3.322368011391339),
    Problem("levy-20", levy, 20, -10.0, 10.0, 0.0),
    Problem("powell-48", powell, 48, -4.0, 5.0, 0.0),
    Problem("rastrigin-100", rastrigin, 100, -5.12, 5.12, 0.0),
]

PROBLEMS = {p.name: p for p in PAPER}
