"""Tasks of which there are several of a kind: one is searched, and others are earlier studies.

``hpob``: the tasks of HPO-B (`benchmarks.problems.hpob`); the studies are those of the same space, 3 to 6 of them. The
five candidates that a search starts from have the same best value as in the recorded runs. ``lcbench``: 35 data sets
on which the same 2,000 networks were trained (Zimmer, Lindauer & Hutter 2021); twelve of the others are studies.
``svm``: support vector machines on eight data sets, by C and gamma; the studies are searches of three of the others, of
40 trials by GSSBO itself, and a search starts from nothing. Settings were chosen on the last.

What is known of the studies differs: ``"none"``; ``"all"``; only the first, ``"one"``; all with values that were
``"shuffled"`` or turned ``"upside-down"``; or ``"one-good"``: the first as it is, and nine or fewer that are shuffled.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.problems import hpob
from benchmarks.problems.problem import Array
from numbo import GSSBO, EarlierStudy, Float

MEMBER = "bocode/opt_problems/hpo/data/lcbench_data.npz"
LCBENCH = Path(__file__).parents[2] / "build" / "lcbench_data.npz"
RECORDED = Path(__file__).parents[1] / "data" / "hpob" / "transfer.npz"
KNOWN = ("none", "all", "one", "one-good", "shuffled", "upside-down")
KINDS = ("hpob", "lcbench", "svm")
#: Mean accuracies of three folds by data set (29, 29), at values of C and of gamma; `make_grids` has measured them.
GRIDS = Path(__file__).parents[1] / "data" / "svm" / "grids.npz"
SIDE = 29
SQUARE = {"C": Float(1e-3, 1e5, log=True), "gamma": Float(1e-6, 1e2, log=True)}
SEARCHES, LENGTH = 3, 40
#: Trials of an earlier study: random ones, and for HPO-B the best of its table, as after a long search.
TRIALS, BEST = 1000, 64
START = 5
STUDIES, BAD = 12, 9
#: A column of LCBench whose largest value is so many times its least is searched on a log scale.
LOGARITHMIC = 30.0


class Task(NamedTuple):
    """What is searched, as an argument of an optimizer, and the value of a point, from 0 to 1, the best.

    Attributes:
        domain, value: these two.
        start: the first points.
        studies: earlier studies.
    """

    domain: dict[str, Any]
    value: Callable[[Any], float]
    start: list[Any]
    studies: list[EarlierStudy]


def download() -> None:
    """Fetch the tables, unless they are there."""
    hpob.download()
    hpob.download(LCBENCH, MEMBER)


def recorded() -> dict[str, Array]:
    """The best normalised values ``(5, 101)`` of methods that have learned from other tasks, by ``"METHOD/TASK"``."""
    return hpob.recorded(RECORDED)


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


@cache
def _svm() -> dict[str, Array]:
    with np.load(GRIDS) as file:
        return {name: _unit(file[name]) for name in file}


def tasks(kind: str) -> list[str]:
    """The names of the tasks of a kind."""
    return hpob.tasks() if kind == "hpob" else sorted(_lcbench() if kind == "lcbench" else _svm())


def task(kind: str, name: str, seed: int, known: str) -> Task:
    """A task of a kind, with what is ``known`` of others."""
    if kind == "svm":
        names = _some([other for other in _svm() if other != name], SEARCHES, seed)
        found = {other: _search(other, seed) for other in names}
        return Task({"space": SQUARE}, partial(_accuracy, name), [], _studies(found, names, known, best=0))
    tables = _hpob() if kind == "hpob" else _lcbench()
    X, y = tables[name]
    if kind == "hpob":
        names = [other for other in tables if hpob.space_of(other) == hpob.space_of(name) and other != name]
        start, best = _paired_start(name, y, seed), BEST
    else:
        names = _some([other for other in tables if other != name], STUDIES, seed)
        start, best = np.random.default_rng([seed, 7]).choice(len(y), START, replace=False).tolist(), 0
    return Task({"arms": X}, lambda row: float(y[row]), start, _studies(tables, names, known, best=best))


def _some(names: list[str], count: int, seed: int) -> list[str]:
    """A random ``count`` of the ``names``."""
    return [names[i] for i in np.random.default_rng(seed).permutation(len(names))[:count]]


def _accuracy(name: str, params: dict[str, float]) -> float:
    """The accuracy on a data set, from 0 to 1, interpolated in both directions between those of the grid."""
    found = _svm()[name]
    at = [(SIDE - 1) * SQUARE[key].to_unit(params[key]) for key in SQUARE]
    i, j = np.clip(np.floor(at), 0, SIDE - 2).astype(int)
    s, t = at[0] - i, at[1] - j
    low = (1.0 - t) * found[i, j] + t * found[i, j + 1]
    high = (1.0 - t) * found[i + 1, j] + t * found[i + 1, j + 1]
    return float((1.0 - s) * low + s * high)


@cache
def _search(name: str, seed: int) -> tuple[list[dict[str, float]], Array]:
    """The trials of a search by GSSBO."""
    opt = GSSBO(SQUARE, direction="maximize", seed=seed)
    points, values = [], []
    for _ in range(LENGTH):
        points.append(opt.ask())
        values.append(_accuracy(name, points[-1]))
        opt.tell(points[-1], values[-1])
    return points, np.array(values)


def make_grids() -> None:
    """Measure the accuracies of `GRIDS`: some minutes."""
    from sklearn import datasets
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    rng = np.random.default_rng(0)

    def some(X: Array, y: Array) -> tuple[Array, Array]:
        rows = rng.permutation(len(y))[:300]
        return X[rows], y[rows]

    found = {
        "wine": datasets.load_wine(return_X_y=True),
        "cancer": some(*datasets.load_breast_cancer(return_X_y=True)),
        "iris": datasets.load_iris(return_X_y=True),
        "digits": some(*datasets.load_digits(return_X_y=True)),
        "moons": datasets.make_moons(300, noise=0.25, random_state=0),
    }
    for k, (features, informative, flipped) in enumerate([(10, 4, 0.05), (20, 10, 0.1), (5, 3, 0.02)]):
        found[f"made{k}"] = datasets.make_classification(
            300, n_features=features, n_informative=informative, n_redundant=0, flip_y=flipped, random_state=k
        )
    units = np.linspace(0.0, 1.0, SIDE).tolist()
    grids: dict[str, Any] = {}
    for name, (X, y) in found.items():
        grids[name] = np.empty((SIDE, SIDE))
        for i, j in np.ndindex(SIDE, SIDE):
            model = SVC(C=SQUARE["C"].from_unit(units[i]), gamma=SQUARE["gamma"].from_unit(units[j]))
            grids[name][i, j] = cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=3).mean()
    np.savez_compressed(GRIDS, **grids)


def _paired_start(name: str, y: Array, seed: int) -> list[int]:
    """Five candidates the best of which has the value that recorded runs have started with."""
    value = recorded()[f"RGPE/{name}"][seed][0]
    top = int(np.argmin(np.abs(y - value)))
    below = np.flatnonzero(y <= y[top])
    below = below[below != top]
    rng = np.random.default_rng([seed, 7])
    return [top, *rng.choice(below, START - 1, replace=False).tolist()]


def _studies(
    tables: dict[str, tuple[Any, Array]], names: Sequence[str], known: str, *, best: int
) -> list[EarlierStudy]:
    if known == "none":
        return []
    if known == "one-good":
        names = names[: 1 + BAD]
    names = names[:1] if known == "one" else names
    return [_study(name, *tables[name], known, good=i == 0, best=best) for i, name in enumerate(names)]


def _study(name: str, X: Sequence[Any], y: Array, known: str, *, good: bool, best: int) -> EarlierStudy:
    rng = np.random.default_rng(sum(map(ord, name)))
    rows = rng.choice(len(y), min(len(y), TRIALS), replace=False)
    rows = np.union1d(rows, np.argsort(-y, kind="stable")[:best])
    values = -y[rows] if known == "upside-down" else y[rows]
    if known == "shuffled" or (known == "one-good" and not good):
        values = rng.permutation(values)
    return EarlierStudy([X[row] for row in rows.tolist()], values.tolist(), name=name)
