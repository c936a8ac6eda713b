"""Searches with guesses of where good values are, good and bad ones.

``lcbench``: networks by the surrogate model of YAHPO Gym, cross entropy after 52 epochs, where ``LCBENCH`` names its
folder (`benchmarks.problems.yahpo`). ``hpob``: tables of HPO-B (`benchmarks.problems.hpob`), whose columns are searched
as ranges: the value of a point is that of the nearest row. ``early``: real searches (`benchmarks.problems.early`).

Some points of each are known: random ones, or rows of the table. A guess is ``"good"``, the best of them with an error;
``"weak"``, a mediocre one with low confidence; or ``"wrong"``, one of the worst. Of each kind, tasks are put aside:
settings are chosen on the others only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from optuna import create_study
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.trial import FixedTrial

from benchmarks.problems import early, hpob, yahpo
from benchmarks.problems.problem import Array, Params
from numbo import Categorical, Float, Guess, Int

KINDS = ("lcbench", "hpob", "early")
#: The confidence of each guess.
GUESSES = {"good": "medium", "weak": "low", "wrong": "medium"}
#: Standard deviation of the error of a good guess, as a share of each range.
ERROR = 0.05
#: Number of points that are known; of a real search, whose trials take a while, fewer.
POINTS, FEWER = 2000, 200
#: Number of tasks of LCBench; those at odd places are put aside.
NETWORKS = 20

Dimension = Float | Int | Categorical


class Task(NamedTuple):
    """What is searched, smaller values being better.

    Attributes:
        space: the parameters.
        value: the value of a point.
        points, values: those that are known, from the best to the worst.
    """

    space: dict[str, Dimension]
    value: Callable[[Params], float]
    points: list[dict[str, Any]]
    values: Array

    @property
    def median(self) -> float:
        """The median of the known values."""
        return float(np.median(self.values))

    def prior(self, guess: str, seed: int) -> dict[str, Guess]:
        """What is believed by a guess of `GUESSES`; nothing by any other.

        The error of a good one depends on the seed, and so does which of the mediocre and of the worst points another
        one is.
        """
        if guess not in GUESSES:
            return {}
        places = {"good": 0, "weak": len(self.points) // 2 + seed, "wrong": len(self.points) - 1 - seed}
        point = self.points[places[guess]]
        if guess == "good":
            errors = np.random.default_rng([seed, 3]).normal(0.0, ERROR, len(point))
            point = {
                name: part.from_unit(float(np.clip(part.to_unit(point[name]) + error, 0.0, 1.0)))
                for (name, part), error in zip(self.space.items(), errors, strict=True)
            }
        return {name: Guess(value, GUESSES[guess]) for name, value in point.items()}


def tasks(kind: str, *, aside: bool) -> list[str]:
    """The names of the tasks of a kind that are put aside, or of the others."""
    if kind == "early":
        return early.APART if aside else early.OPEN
    if kind == "lcbench":
        return yahpo.evenly("LCBENCH", NETWORKS)[int(aside) :: 2]
    return [name for name in hpob.tasks() if (hpob.space_of(name) in hpob.ASIDE) == aside]


@cache
def task(kind: str, name: str) -> Task:
    """A task of a kind."""
    return {"lcbench": _network, "hpob": _table, "early": _real}[kind](name)


def _network(name: str) -> Task:
    model, number = yahpo.task_of("LCBENCH", name)
    trial = create_study().ask()
    yahpo.network(trial)

    def value(params: Params) -> float:
        return float(model.outputs([number], [[52, *yahpo.network(FixedTrial(dict(params)))]])[0][2])

    return _known({key: dimension(one) for key, one in trial.distributions.items()}, value, POINTS)


def _real(name: str) -> Task:
    problem = early.of(name, 0)
    return _known({key: dimension(one) for key, one in problem.space.items()}, problem.function, FEWER)


def _known(space: dict[str, Dimension], value: Callable[[Params], float], count: int) -> Task:
    """A task of which random points are known."""
    rows = np.random.default_rng(0).random((count, len(space)))
    points = [{name: part.from_unit(u) for (name, part), u in zip(space.items(), row, strict=True)} for row in rows]
    return _sorted(space, value, points)


def _table(name: str) -> Task:
    from scipy.spatial import cKDTree

    X, y = hpob.table(name)
    space: dict[str, Dimension] = {
        f"x{j}": Float(float(column.min()), float(column.max())) for j, column in enumerate(X.T) if np.ptp(column) > 0.0
    }
    X = X[:, [int(key[1:]) for key in space]]
    rows = np.random.default_rng(0).permutation(len(X))[:POINTS]
    points = [dict(zip(space, x, strict=True)) for x in X[rows].tolist()]
    return _sorted(space, partial(_nearest, cKDTree(X / np.ptp(X, axis=0)), np.ptp(X, axis=0), 1.0 - y), points)


def _nearest(tree: Any, ranges: Array, values: Array, params: Params) -> float:
    """The value of the row nearest to a point."""
    return float(values[tree.query(np.array(list(params.values())) / ranges)[1]])


def _sorted(space: dict[str, Dimension], value: Callable[[Params], float], points: list[dict[str, Any]]) -> Task:
    values = np.array([value(point) for point in points])
    order = np.argsort(values, kind="stable")
    return Task(space, value, [points[i] for i in order], values[order])


def dimension(distribution: BaseDistribution) -> Dimension:
    """A distribution of Optuna as a dimension of numbo."""
    if isinstance(distribution, CategoricalDistribution):
        return Categorical(distribution.choices)
    given: Mapping[str, Any] = vars(distribution)
    kind = Int if isinstance(distribution, IntDistribution) else Float
    return kind(given["low"], given["high"], log=given["log"])
