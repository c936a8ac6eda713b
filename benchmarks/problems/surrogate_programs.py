"""Programs of surrogate models and of recorded curves, beside those of `benchmarks.problems.programs`, which train.

* ``folds-TASK``: boosted trees by ``rbv2_xgboost`` of YAHPO Gym (Pfisterer et al. 2022), three boosters with parameters
  of their own. The value is one minus the accuracy. A trial validates on five folds and reports the mean of those so
  far; each fold errs like `ROWS` rows that are drawn anew. True is the model's value, which has no such error.
* ``lcbench-TASK``: networks by LCBench's surrogate. A trial reports the validation loss after each of 52 epochs; true
  is the loss on the test data at the end.
* ``taskset-K``: recorded networks (Metz et al. 2020), of which the nearest answers; true is the value at the end.

The first two need folders that ``RBV2_XGBOOST`` and ``LCBENCH`` name, and onnxruntime.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from optuna.distributions import FloatDistribution
from optuna.trial import BaseTrial, FixedTrial

from benchmarks.problems import curves, yahpo
from benchmarks.problems.problem import Array
from benchmarks.problems.programs import Program

#: Tasks of a kind; those at odd places are put aside.
LISTED = 12
TASKSETS = 8
#: Of a fold.
ROWS = 300


class Folds(Program):
    """Boosted trees, cross-validated."""

    steps = 5
    worst = 1.0

    def __init__(self, task: str) -> None:
        self._model, self._task = yahpo.task_of("RBV2_XGBOOST", task)

    def suggest(self, trial: BaseTrial) -> dict[str, Any]:
        yahpo.boosted_trees(trial, self._model.encoding)
        return dict(trial.params)

    def values(self, config: Mapping[str, Any], rng: np.random.Generator, *, tested: bool = False) -> Iterator[float]:
        error = self._error(config)
        folds = error + np.sqrt(error * (1.0 - error) / ROWS) * rng.standard_normal(self.steps)
        yield from (np.cumsum(folds) / np.arange(1, self.steps + 1)).tolist()

    def ends(self, config: Mapping[str, Any], rng: np.random.Generator, *, tested: bool) -> Array:
        return np.array([self._error(config)]) if tested else super().ends(config, rng, tested=False)

    def _error(self, config: Mapping[str, Any]) -> float:
        """On all of the data, tenth repetition; at least a row in a thousand."""
        categories, numbers = yahpo.boosted_trees(FixedTrial(dict(config)), self._model.encoding)
        accuracy = self._model.outputs([self._task, *categories], [[*numbers, 1.0, 10.0]])[0, 0]
        return float(np.clip(1.0 - accuracy, 1e-3, 1.0))


class Networks(Program):
    """Networks whose losses a surrogate knows; what the same configuration reports is always the same."""

    steps = 52
    worst = 100.0

    def __init__(self, task: str) -> None:
        self._model, self._task = yahpo.task_of("LCBENCH", task)

    def suggest(self, trial: BaseTrial) -> dict[str, Any]:
        yahpo.network(trial)
        return dict(trial.params)

    def values(self, config: Mapping[str, Any], rng: np.random.Generator, *, tested: bool = False) -> Iterator[float]:
        numbers = yahpo.network(FixedTrial(dict(config)))
        rows = [[epoch, *numbers] for epoch in range(1, self.steps + 1)]
        yield from self._model.outputs([self._task], rows)[:, 4 if tested else 2].tolist()

    def ends(self, config: Mapping[str, Any], rng: np.random.Generator, *, tested: bool) -> Array:
        return np.array(list(self.values(config, rng, tested=tested))[-1:])


class Recorded(Program):
    """Curves of a table."""

    worst = 5.0

    def __init__(self, which: str) -> None:
        self._task = curves.task(f"taskset-{which}")
        self.steps = self._task.steps

    def suggest(self, trial: BaseTrial) -> dict[str, Any]:
        for name, distribution in self._task.space.items():
            assert isinstance(distribution, FloatDistribution)
            trial.suggest_float(name, distribution.low, distribution.high, log=distribution.log)
        return dict(trial.params)

    def values(self, config: Mapping[str, Any], rng: np.random.Generator, *, tested: bool = False) -> Iterator[float]:
        yield from self._task.curve(dict(config)).tolist()

    def ends(self, config: Mapping[str, Any], rng: np.random.Generator, *, tested: bool) -> Array:
        last = self._task.curve(dict(config))[-1:]
        return np.where(np.isfinite(last), last, self.worst)


KINDS: dict[str, Callable[[str], Program]] = {"folds": Folds, "lcbench": Networks, "taskset": Recorded}


def names(*, apart: bool = False) -> list[str]:
    """Those that settings may be chosen on, or those put ``apart``."""
    tasks = {
        "folds": yahpo.evenly("RBV2_XGBOOST", LISTED),
        "lcbench": yahpo.evenly("LCBENCH", LISTED),
        "taskset": [str(k) for k in range(TASKSETS)],
    }
    return [f"{kind}-{task}" for kind, found in tasks.items() for task in found[int(apart) :: 2]]
