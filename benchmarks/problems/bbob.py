"""COCO's noiseless functions (suite ``bbob``), and what others have recorded on them.

The functions need ``pip install coco-experiment`` (COCO, BSD 3-clause license; Hansen et al. 2021, "COCO: a platform
for comparing continuous optimizers in a black-box setting"). An instance moves and rotates a function. The recorded
figures are in ``benchmarks/data/bbob``.
"""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.problems.problem import Array

DIMENSIONS = (2, 3, 5, 10, 20, 40)
FUNCTIONS = range(1, 25)
#: COCO's groups of functions.
GROUPS = {
    "separable": range(1, 6),
    "moderate conditioning": range(6, 10),
    "ill-conditioned": range(10, 15),
    "multimodal": range(15, 20),
    "weakly structured": range(20, 25),
}
#: The optima lie in [-5, 5] in each dimension, most of them in [-4, 4].
BOX = 5.0
#: Targets are values above the optimum's. Expected running times to the last seven are recorded.
TARGETS = (1000.0, 100.0, 10.0, 1.0, 0.1, 0.01, 1e-3, 1e-5, 1e-7)
TIMED = TARGETS[2:]
#: Numbers of evaluations, as multiples of the dimension, after which the best value is looked at.
CHECKPOINTS = (10, 25, 50, 100, 250, 500)

DATA = Path(__file__).parents[1] / "data" / "bbob"


def problem(function: int, dimension: int, instance: int) -> tuple[Callable[[Array], float], float]:
    """A function of points (dimension,), and its smallest value."""
    import cocoex

    cocoex.log_level("error")
    which = f"dimensions: {dimension} function_indices: {function}"
    of = cocoex.Suite("bbob", f"instances: {instance}", which)[0]
    return of, float(of(_optimum(of)))


def _optimum(of: object) -> Array:
    """The optimum of a function (dimension,). COCO writes it to a file in the working directory, and nowhere else."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            of._best_parameter("print")  # type: ignore[attr-defined]
            return np.loadtxt("._bbob_problem_best_parameter.txt")
        finally:
            os.chdir(before)


@cache
def recorded_times() -> dict[tuple[str, int, int], dict[float, float]]:
    """Expected running times by target, infinite where no run reached it; by algorithm, dimension and function."""
    return {
        (row["algorithm"], int(row["dimension"]), int(row["function"])): {t: float(row[f"{t:g}"]) for t in TIMED}
        for row in _rows("times.csv")
    }


@cache
def recorded_medians() -> dict[tuple[str, int, int, int], float]:
    """Medians of the best value above the optimum's; by algorithm, dimension, function and number of evaluations."""
    return {
        (row["algorithm"], int(row["dimension"]), int(row["function"]), int(row["evaluations"])): float(row["median"])
        for row in _rows("medians.csv")
    }


def _rows(name: str) -> list[dict[str, str]]:
    with (DATA / name).open() as file:
        return list(csv.DictReader(file))
