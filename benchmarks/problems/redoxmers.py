"""Redoxmers: molecules for batteries, as a table of four categories and three values (Olympus, Hickman et al. 2023).

All 1,408 combinations of four substituents are known, each with the distance of its absorption from the wanted one, its
reduction potential and its free energy of solvation, to be minimised. What a search has found is measured by the volume
that its points dominate, in the unit cube of the table, as a share of what all points dominate.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution

from benchmarks.problems.problem import Array

DATA = Path(__file__).parents[1] / "data" / "redoxmers" / "redoxmers.npz"
NAMES = ("r1", "r3", "r4", "r5")
#: Numbers of trials after which shares are recorded, of these methods.
MARKS = (10, 20, 50, 100, 200)
METHODS = ("BoTorch", "GPyOpt", "Gryffin", "Random")


@cache
def table() -> dict[tuple[int, ...], Array]:
    """The values (3,) of each molecule, each from 0 to 1 over all of them."""
    with np.load(DATA) as file:
        X, Y = file["X"].tolist(), file["Y"].astype(np.float64)
    unit = (Y - Y.min(axis=0)) / np.ptp(Y, axis=0)
    return {tuple(x): y for x, y in zip(X, unit, strict=True)}


def space() -> dict[str, BaseDistribution]:
    """The four substituents, each by its number."""
    choices = np.max(list(table()), axis=0) + 1
    return {name: CategoricalDistribution(range(int(n))) for name, n in zip(NAMES, choices, strict=True)}


def evaluate(params: dict[str, Any]) -> list[float]:
    """The three values of a molecule."""
    values: list[float] = table()[tuple(params[name] for name in NAMES)].tolist()
    return values


def share(Y: Any) -> float:
    """What values (n, 3) dominate, as a share of what the whole table does."""
    return _volume(np.asarray(Y, dtype=float)) / _volume(np.array(list(table().values())))


def _volume(Y: Array) -> float:
    import moocore

    return float(moocore.hypervolume(Y, ref=np.ones(3)))


@cache
def recorded() -> dict[str, Array]:
    """Recorded shares (runs, 5) at the `MARKS`, by method."""
    with np.load(DATA) as file:
        return {name: file[name].astype(np.float64) for name in METHODS}
