"""Searches whose trials cost differently.

* ``lcbench-TASK``, ``xgboost-TASK``: training of networks and of boosted trees by surrogate models of their losses and
  seconds (YAHPO Gym, Pfisterer et al. 2022), where ``LCBENCH`` and ``RBV2_XGBOOST`` name folders with a ``model.onnx``
  and an ``encoding.json``, and onnxruntime is installed. Of trees, the surrogate of some tasks says a log loss of 0
  where its Brier score is the worst possible, at the least of all seconds: a search would be one for such points. So
  the sum of both is minimised, and tasks are left out where they do not rank random points alike.
* ``corner-SEED``: a rippled bowl in six dimensions, of which two make trials up to a hundred times as dear. Its
  optimum is where they are dear, and the cheap corner is bad.
* ``branch-SEED``: three branches that cost 1, 8 and 50; the dearer, the better.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from optuna.trial import Trial

from benchmarks.problems import yahpo

#: Number of problems of each family; those at odd places of a family are put aside.
LISTED = 12
#: Over 1,500 random points, the rank correlation of log loss and Brier score is -.07 and .38 there, and at least .59 on
#: the other tasks.
CONTRADICTING = ("40923", "41216")


class Outcome(NamedTuple):
    """The value of a trial, smaller being better, and its cost."""

    value: float
    cost: float


Objective: TypeAlias = Callable[[Trial], Outcome]


def lcbench(task: str) -> Objective:
    """Cross entropy after 52 epochs, and seconds."""
    model, number = yahpo.task_of("LCBENCH", task)

    def objective(trial: Trial) -> Outcome:
        seconds, _, loss, *_ = model.outputs([number], [[52, *yahpo.network(trial)]])[0].tolist()
        return Outcome(loss, seconds)

    return objective


def xgboost(task: str) -> Objective:
    """Log loss plus Brier score on all of the data, tenth repetition, and seconds of training."""
    model, number = yahpo.task_of("RBV2_XGBOOST", task)

    def objective(trial: Trial) -> Outcome:
        categories, numbers = yahpo.boosted_trees(trial, model.encoding)
        found = model.outputs([number, *categories], [[*numbers, 1.0, 10.0]])[0].tolist()
        return Outcome(found[3] + found[5], max(found[6], 1e-3))

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


def _listed() -> dict[str, list[str]]:
    """The names of all problems by their families, those that are left out among them."""
    seeds = [str(seed) for seed in range(LISTED)]
    found = {
        "lcbench": yahpo.evenly("LCBENCH", LISTED),
        "xgboost": yahpo.evenly("RBV2_XGBOOST", LISTED),
        "corner": seeds,
        "branch": seeds,
    }
    return {family: [f"{family}-{name}" for name in names] for family, names in found.items() if names}


def problems() -> dict[str, list[str]]:
    """The names of the problems by their families."""
    out = {f"xgboost-{task}" for task in CONTRADICTING}
    return {family: [name for name in names if name not in out] for family, names in _listed().items()}


def aside(name: str) -> bool:
    """Whether the problem with this name is put aside: it has an odd place in its family."""
    return _listed()[name.partition("-")[0]].index(name) % 2 == 1


def objective_of(name: str) -> Objective:
    """The objective of the problem with this name."""
    family, _, which = name.partition("-")
    makers: dict[str, Callable[[Any], Objective]] = {"lcbench": lcbench, "xgboost": xgboost}
    if family in makers:
        return makers[family](which)
    return corner(int(which)) if family == "corner" else branch(int(which))
