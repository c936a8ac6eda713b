"""Learning curves of the configurations of a search space, recorded and synthetic ones.

* ``taskset-K``: recorded curves of networks (Metz et al. 2020); the configuration nearest to what is asked for answers.
* ``recorded-DATA``: those of networks of scikit-learn, recorded by ``python -m benchmarks record-curves``; likewise.
* ``lcbench-TASK``: curves of networks by a surrogate model (YAHPO Gym, Pfisterer et al. 2022), where ``LCBENCH`` names
  a folder with its ``model.onnx`` and ``encoding.json``, and onnxruntime is installed.
* ``KIND-SEED``: synthetic curves with known optima, in five dimensions: ``crossing`` (fast ones end worse), ``smooth``,
  ``late`` (some begin to fall late), ``noisy``.
"""

from __future__ import annotations

import os
import zlib
from abc import ABC, abstractmethod
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution

from benchmarks.problems.problem import Array
from benchmarks.problems.yahpo import task_of

TASKSET = Path(__file__).parents[1] / "data" / "taskset"
RECORDED = Path(__file__).parents[1] / "data" / "recorded"
KINDS = ("crossing", "smooth", "late", "noisy")
LCBENCH = ("3945", "7593", "34539", "126025", "146212", "167168", "168868", "189906")
#: Problems on which no setting was chosen.
APART = ("167104", "168335", "189862", "189909")
APART_SEEDS = (2, 3)
APART_RECORDED = ("cancer",)


class Task(ABC):
    """Learning curves of the configurations of a search space; smaller values are better.

    Attributes:
        space: what is searched.
        steps: the number of steps of a full run.
        optimum, median: the best value, and that of the median configuration.
    """

    space: dict[str, BaseDistribution]
    steps: int
    optimum: float
    median: float

    @abstractmethod
    def curve(self, params: dict[str, Any]) -> Array:
        """The values (steps,) of a configuration; not finite from where the training has diverged."""

    def regret(self, value: float) -> float:
        """As a share of that of the median configuration."""
        return float(min((value - self.optimum) / (self.median - self.optimum), 2.0))


class Table(Task):
    """Recorded curves, of which the nearest in the unit cube answers.

    A file has ``X`` and ``valid``, and the ``names`` of the columns of ``X``, which of them are ``logarithmic``, and
    which are ``whole`` numbers; those of TaskSet, which have no names, have the ones below.
    """

    NAMES = ("learning_rate", "beta1", "beta2", "epsilon", "l1", "l2", "linear_decay", "exponential_decay")
    LINEAR = ("beta1", "beta2")

    def __init__(self, path: Path) -> None:
        with np.load(path) as data:
            X = data["X"].astype(float)
            self._values = data["valid"].astype(float)
            names = [str(name) for name in data.get("names", self.NAMES)]
            logarithmic = data.get("logarithmic", [name not in self.LINEAR for name in names])
            whole = data.get("whole", [False] * len(names))
        columns = zip(names, X.T, logarithmic, whole, strict=True)
        self.space = {name: self._distribution(x, bool(log), integer) for name, x, log, integer in columns}
        self.steps = self._values.shape[1]
        self._points = self._unit(X)
        ends = np.where(np.isfinite(self._values[:, -1]), self._values[:, -1], np.inf)
        self.optimum = float(ends.min())
        self.median = float(np.median(ends))

    @staticmethod
    def _distribution(x: Array, log: bool, whole: bool) -> FloatDistribution | IntDistribution:
        low = float(x.min())
        high = float(x.max())
        return IntDistribution(int(low), int(high), log=log) if whole else FloatDistribution(low, high, log=log)

    def _unit(self, X: Array) -> Array:
        columns = []
        for x, distribution in zip(np.atleast_2d(X).T, self.space.values(), strict=True):
            assert isinstance(distribution, FloatDistribution | IntDistribution)
            low = distribution.low
            high = distribution.high
            share = np.log(x / low) / np.log(high / low) if distribution.log else (x - low) / (high - low)
            columns.append(share)
        return np.column_stack(columns)

    def curve(self, params: dict[str, Any]) -> Array:
        x = self._unit(np.array([params[name] for name in self.space]))
        nearest: Array = self._values[np.argmin(((x - self._points) ** 2).sum(axis=1))]
        return nearest


class Synthetic(Task):
    """Curves that fall exponentially from 1.2 to a bowl with ripples, at rates that depend on the configuration."""

    D = 5

    def __init__(self, kind: str, seed: int) -> None:
        rng = np.random.default_rng(seed + 77)
        self._kind = kind
        self._best = rng.uniform(0.2, 0.8, self.D)
        self._weights = rng.uniform(0.5, 3.0, self.D)
        self.space = {f"x{j}": FloatDistribution(0.0, 1.0) for j in range(self.D)}
        self.steps = 50
        self.optimum = 0.1
        self.median = float(np.median([self._end(u) for u in rng.random((2000, self.D))]))

    def _end(self, u: Array) -> float:
        bowl = 6.0 * np.average((u - self._best) ** 2, weights=self._weights)
        ripples = 0.15 * np.mean(1.0 - np.cos(9.0 * (u - self._best)))
        return float(0.1 + min(0.9, bowl + ripples))

    def curve(self, params: dict[str, Any]) -> Array:
        u = np.array(list(params.values()))
        t = np.arange(1.0, self.steps + 1.0)
        end = self._end(u)
        if self._kind == "late":
            fallen = 1.0 / (1.0 + np.exp(-(t - 30.0 * u[2] ** 2) / 2.0))
            return np.asarray(1.2 + (end - 1.2) * fallen / fallen[-1])
        rate = {"crossing": 0.02 * np.exp(3.5 * u[0]), "smooth": 0.12, "noisy": 0.03 * np.exp(2.0 * u[1])}[self._kind]
        left = (np.exp(-rate * t) - np.exp(-rate * t[-1])) / (1.0 - np.exp(-rate * t[-1]))
        values = end + (1.2 - end) * left
        if self._kind == "crossing":
            values += 0.25 * max(0.0, u[0] - 0.6) * t / t[-1]
        if self._kind == "noisy":
            rng = np.random.default_rng(zlib.crc32(u.round(9).tobytes()))
            values += 0.02 * rng.normal(size=len(t)) * np.linspace(2.0, 0.2, len(t))
        return np.asarray(values)


class LCBench(Task):
    """Validation losses (cross entropy) of networks by a surrogate model."""

    def __init__(self, task: str) -> None:
        self._model, self._task = task_of("LCBENCH", task)
        self.steps = 52
        self.space = {
            "batch_size": IntDistribution(16, 512, log=True),
            "learning_rate": FloatDistribution(1e-4, 0.1, log=True),
            "momentum": FloatDistribution(0.1, 0.99),
            "weight_decay": FloatDistribution(1e-5, 0.1),
            "num_layers": IntDistribution(1, 5),
            "max_units": IntDistribution(64, 1024, log=True),
            "max_dropout": FloatDistribution(0.0, 1.0),
        }
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        points = [study.ask(self.space).params for _ in range(1500)]
        ends = np.array([self._values(self.steps, list(p.values()))[0] for p in points])
        self.median = float(np.median(ends))
        self.optimum = self._refined(list(points[int(np.argmin(ends))].values()), float(ends.min()))

    def _values(self, step: Any, x: list[Any]) -> Array:
        rows = np.column_stack([np.atleast_1d(step), np.tile(x, (np.size(step), 1))])
        return self._model.outputs([self._task], rows)[:, 2]

    def _refined(self, x: list[Any], best: float) -> float:
        """The best value of a random local search."""
        rng = np.random.default_rng(0)
        for k in range(2500):
            width = 0.3 * 0.9985**k
            near = []
            for value, distribution in zip(x, self.space.values(), strict=True):
                assert isinstance(distribution, FloatDistribution | IntDistribution)
                low = distribution.low
                high = distribution.high
                step = width * rng.normal()
                moved = value * (high / low) ** step if distribution.log else value + (high - low) * step
                moved = float(np.clip(moved, low, high))
                near.append(round(moved) if isinstance(distribution, IntDistribution) else moved)
            if (found := float(self._values(self.steps, near)[0])) < best:
                x = near
                best = found
        return best

    def curve(self, params: dict[str, Any]) -> Array:
        return self._values(np.arange(1, self.steps + 1), list(params.values()))


@cache
def task(name: str) -> Task:
    """The task of this name."""
    kind, _, which = name.partition("-")
    if kind == "taskset":
        return Table(sorted(TASKSET.glob("*.npz"))[int(which)])
    if kind == "recorded":
        return Table(RECORDED / f"{which}.npz")
    return LCBench(which) if kind == "lcbench" else Synthetic(kind, int(which))


def problems(*, apart: bool = False) -> list[str]:
    """Their names: those that settings were chosen on, or those put ``apart``."""
    seeds = APART_SEEDS if apart else (0, 1)
    taskset = [] if apart else [f"taskset-{k}" for k in range(len(list(TASKSET.glob("*.npz"))))]
    recorded = [path.stem for path in sorted(RECORDED.glob("*.npz")) if (path.stem in APART_RECORDED) == apart]
    lcbench = [f"lcbench-{t}" for t in (APART if apart else LCBENCH)] if "LCBENCH" in os.environ else []
    synthetic = [f"{kind}-{seed}" for kind in KINDS for seed in seeds]
    return [*taskset, *lcbench, *(f"recorded-{name}" for name in recorded), *synthetic]
