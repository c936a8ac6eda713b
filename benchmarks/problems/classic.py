"""The suites of the comparison, and two beside it.

Four suites make up the comparison, with a fifth one, `UNSEEN`, which is never looked at while settings are chosen.
`RIPPLES` is separate and counts in no rank: a smooth model has little to say about ripples around the optimum. So is
`FAILURES`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.problems import functions, tables
from benchmarks.problems.mixed import ackley_mixed, categories, network, training_mixed
from benchmarks.problems.problem import Array, Problem, box, failing, moved

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


def _rosenbrock_4() -> Problem:
    return box(functions.rosenbrock, 4, -2.0, 2.0)


def _ackley_5() -> Problem:
    return box(lambda x: functions.ackley(x + 3.0), 5, -10.0, 10.0)


def _levy_6() -> Problem:
    return box(functions.levy, 6, -10.0, 10.0)


def _above_the_middle(x: Array) -> bool:
    return bool(x[0] + x[1] > 0.0)


def _beyond_the_optimum(x: Array) -> bool:
    return bool(np.sum(x - 1.0) > 0.0)


#: The makers of all of them; tables and data sets are read on first use.
PROBLEMS: dict[str, Callable[[], Problem]] = {
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
}
