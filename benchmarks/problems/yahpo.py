"""Surrogate models of YAHPO Gym (Pfisterer et al. 2022), in folders that environment variables name.

A folder has a ``model.onnx`` and an ``encoding.json``; onnxruntime has to be installed.
"""

from __future__ import annotations

import json
import math
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from optuna.trial import BaseTrial

from benchmarks.problems.problem import Array

#: By the variables, the category that is the task.
TASKS = {"LCBENCH": "OpenML_task_id", "RBV2_XGBOOST": "task_id"}


class Surrogate:
    """The model in a ``folder``, on one thread, and the numbers of its categories (``encoding``)."""

    def __init__(self, folder: Path) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self.encoding = json.loads((folder / "encoding.json").read_text())
        self._model = onnxruntime.InferenceSession(folder / "model.onnx", options)

    def outputs(self, categories: list[int], rows: Any) -> Array:
        """All outputs (n, outputs) for the numbers in ``rows (n, numbers)``, with the same ``categories``."""
        numbers = np.asarray(rows, dtype=np.float32)
        given = {"cat": np.tile(np.array(categories, dtype=np.int32), (len(numbers), 1)), "cont": numbers}
        feed = {i.name: given["cat" if "cat" in i.name else "cont"] for i in self._model.get_inputs()}
        return np.asarray(self._model.run(None, feed)[0], dtype=float)


@cache
def surrogate(variable: str) -> Surrogate:
    """The model whose folder an environment variable names."""
    return Surrogate(Path(os.environ[variable]))


def task_of(variable: str, task: str) -> tuple[Surrogate, int]:
    """The model whose folder an environment variable names, and the number of a task."""
    model = surrogate(variable)
    return model, model.encoding[TASKS[variable]][task]


def evenly(variable: str, count: int) -> list[str]:
    """Evenly spaced tasks of a surrogate, in the order of their names; none where its folder is not known."""
    if variable not in os.environ:
        return []
    found = json.loads((Path(os.environ[variable]) / "encoding.json").read_text())[TASKS[variable]]
    names = sorted(name for name in found if name != "#na#")
    return [names[math.floor(k * len(names) / count)] for k in range(count)]


def network(trial: BaseTrial) -> list[float]:
    """What LCBench's model takes after the number of epochs."""
    return [
        trial.suggest_int("batch_size", 16, 512, log=True),
        trial.suggest_float("learning_rate", 1e-4, 0.1, log=True),
        trial.suggest_float("momentum", 0.1, 0.99),
        trial.suggest_float("weight_decay", 1e-5, 0.1),
        trial.suggest_int("num_layers", 1, 5),
        trial.suggest_int("max_units", 64, 1024, log=True),
        trial.suggest_float("max_dropout", 0.0, 1.0),
    ]


def boosted_trees(trial: BaseTrial, encoding: dict[str, dict[str, int]]) -> tuple[list[int], list[float]]:
    """What ``rbv2_xgboost`` takes: the categories after the task, and the numbers before the share of the data."""
    booster = trial.suggest_categorical("booster", ["gblinear", "gbtree", "dart"])
    impute = trial.suggest_categorical("impute", ["mean", "median", "hist"])
    nrounds = trial.suggest_int("nrounds", 7, 2981, log=True)
    penalties = [trial.suggest_float(name, 9.1188e-4, 1096.6, log=True) for name in ("lambda", "alpha")]
    subsample = trial.suggest_float("subsample", 0.1, 1.0)
    trees = [0.0] * 6
    dropped = [0.0] * 2
    if booster != "gblinear":
        trees = [
            trial.suggest_float("eta", 9.1188e-4, 1.0, log=True),
            trial.suggest_float("gamma", 4.54e-5, 7.389, log=True),
            trial.suggest_int("max_depth", 1, 15),
            trial.suggest_float("min_child_weight", 2.7183, 148.41, log=True),
            trial.suggest_float("colsample_bytree", 0.01, 1.0),
            trial.suggest_float("colsample_bylevel", 0.01, 1.0),
        ]
    if booster == "dart":
        dropped = [trial.suggest_float(name, 0.0, 1.0) for name in ("rate_drop", "skip_drop")]
    eta, gamma, *others = trees
    categories = [encoding["booster"][booster], encoding["num.impute.selected.cpo"][f"impute.{impute}"]]
    return categories, [nrounds, eta, gamma, *penalties, subsample, *others, *dropped]
