"""Searches whose trials cost differently.

* ``lcbench-TASK``, ``xgboost-TASK``: training of networks and of boosted trees by surrogate models of their losses and
  seconds (YAHPO Gym, Pfisterer et al. 2022), where ``LCBENCH`` and ``RBV2_XGBOOST`` name folders with a ``model.onnx``
  and an ``encoding.json``, and onnxruntime is installed.
* ``corner-SEED``: a rippled bowl in six dimensions, of which two make trials up to a hundred times as dear. Its
  optimum is where they are dear, and the cheap corner is bad.
* ``branch-SEED``: three branches that cost 1, 8 and 50; the dearer, the better.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from optuna.trial import Trial

from benchmarks.problems.yahpo import surrogate

#: Number of problems of each family; those at odd places of a family are put aside.
LISTED = 12


class Outcome(NamedTuple):
    """The value of a trial, smaller being better, and its cost."""

    value: float
    cost: float


Objective: TypeAlias = Callable[[Trial], Outcome]


def lcbench(task: str) -> Objective:
    """Cross entropy after 52 epochs, and seconds."""
    model = surrogate("LCBENCH")
    number = model.encoding["OpenML_task_id"][task]

    def objective(trial: Trial) -> Outcome:
        numbers = [
            trial.suggest_int("batch_size", 16, 512, log=True),
            trial.suggest_float("learning_rate", 1e-4, 0.1, log=True),
            trial.suggest_float("momentum", 0.1, 0.99),
            trial.suggest_float("weight_decay", 1e-5, 0.1),
            trial.suggest_int("num_layers", 1, 5),
            trial.suggest_int("max_units", 64, 1024, log=True),
            trial.suggest_float("max_dropout", 0.0, 1.0),
        ]
        seconds, _, loss, *_ = model.outputs([number], [[52, *numbers]])[0].tolist()
        return Outcome(loss, seconds)

    return objective


def xgboost(task: str) -> Objective:
    """Log loss on all of the data, mean of ten folds, and seconds of training."""
    model = surrogate("RBV2_XGBOOST")
    number = model.encoding["task_id"][task]

    def objective(trial: Trial) -> Outcome:
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
        categories = [number, model.encoding["booster"][booster]]
        categories.append(model.encoding["num.impute.selected.cpo"][f"impute.{impute}"])
        numbers = [nrounds, eta, gamma, *penalties, subsample, *others, *dropped, 1.0, 10.0]
        found = model.outputs(categories, [numbers])[0].tolist()
        return Outcome(found[5], max(found[6], 1e-3))

    return objective


def corner(seed: int) -> Objective:
    """A rippled bowl; trials are dear where the first two coordinates are large, and its optimum is there."""
    rng = np.random.default_rng(seed + 300)
    best = np.concatenate([rng.uniform(0.7, 0.9, 2), rng.uniform(0.2, 0.8, 4)])
    weights = rng.uniform(0.5, 2.0, 6)

    def objective(trial: Trial) -> Outcome:
        u = np.array([trial.suggest_float(f"x{j}", 0.0, 1.0) for j in range(6)])
        bowl = float(np.average((u - best) ** 2, weights=weights))
        ripples = 0.1 * float(np.mean(1.0 - np.cos(9.0 * (u - best))))
        return Outcome(bowl + ripples, 100.0 ** float(u[:2].mean()))

    return objective


def branch(seed: int) -> Objective:
    """Three branches with their own bowls; within each, costs differ by a factor of three."""
    rng = np.random.default_rng(seed + 400)
    bests = {kind: rng.uniform(0.2, 0.8, 5) for kind in ("small", "middle", "large")}
    prices = {"small": 1.0, "middle": 8.0, "large": 50.0}
    floors = {"small": 0.3, "middle": 0.05, "large": 0.0}

    def objective(trial: Trial) -> Outcome:
        kind = trial.suggest_categorical("kind", list(prices))
        u = np.array([trial.suggest_float(f"{kind}{j}", 0.0, 1.0) for j in range(5)])
        bowl = float(np.mean((u - bests[kind]) ** 2))
        ripples = 0.05 * float(np.mean(1.0 - np.cos(9.0 * (u - bests[kind]))))
        return Outcome(floors[kind] + bowl + ripples, prices[kind] * 3.0 ** float(u[0]))

    return objective


def _tasks(variable: str, key: str) -> list[str]:
    """Evenly spaced tasks of a surrogate, in the order of their names; none where its folder is not known."""
    if variable not in os.environ:
        return []
    found = json.loads((Path(os.environ[variable]) / "encoding.json").read_text())[key]
    names = sorted(name for name in found if name != "#na#")
    return [names[math.floor(k * len(names) / LISTED)] for k in range(LISTED)]


def problems() -> dict[str, list[str]]:
    """The names of the problems by their families."""
    seeds = [str(seed) for seed in range(LISTED)]
    found = {
        "lcbench": _tasks("LCBENCH", "OpenML_task_id"),
        "xgboost": _tasks("RBV2_XGBOOST", "task_id"),
        "corner": seeds,
        "branch": seeds,
    }
    return {family: [f"{family}-{name}" for name in names] for family, names in found.items() if names}


def objective_of(name: str) -> Objective:
    """The objective of the problem with this name."""
    family, _, which = name.partition("-")
    makers: dict[str, Callable[[Any], Objective]] = {"lcbench": lcbench, "xgboost": xgboost}
    if family in makers:
        return makers[family](which)
    return corner(int(which)) if family == "corner" else branch(int(which))
