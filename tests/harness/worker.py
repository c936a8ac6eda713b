"""One process of a parallel study.

Asks, waits a moment, tells, and then writes what it told to a log: a trial in the log must not be lost, whatever
happens to the process.
"""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import BaseTrial, TrialState

from benchmarks.problems.functions import ackley

SPACE: dict[str, BaseDistribution] = {
    **{name: FloatDistribution(-2.0, 2.0, step=0.05) for name in "abcd"},
    "width": IntDistribution(1, 64, log=True),
    "act": CategoricalDistribution(["relu", "gelu", "tanh"]),
}


def objective(params: Mapping[str, Any]) -> float:
    """Ackley's function with an off-centre optimum, a width and a category; the minimum is 0."""
    x = np.array([params["a"] - 0.8, params["b"] + 0.45, params["c"] - 0.3, params["d"] + 1.1])
    return (
        ackley(x) + 0.3 * abs(math.log2(params["width"] / 20)) + {"relu": 0.1, "gelu": 0.0, "tanh": 0.2}[params["act"]]
    )


def plain(trial: BaseTrial) -> float:
    """The `objective` over the `SPACE`."""
    params: dict[str, Any] = {name: trial.suggest_float(name, -2.0, 2.0, step=0.05) for name in "abcd"}
    params["width"] = trial.suggest_int("width", 1, 64, log=True)
    params["act"] = trial.suggest_categorical("act", ["relu", "gelu", "tanh"])
    return objective(params)


def branching(trial: BaseTrial) -> float:
    """Two models with settings of their own, one of which has up to three layers; the minimum is 0."""
    if trial.suggest_categorical("model", ["net", "linear"]) == "linear":
        return 0.2 + sum(abs(trial.suggest_float(name, -2.0, 2.0, step=0.05) - 0.8) for name in "ab")
    layers = trial.suggest_int("layers", 1, 3)
    widths = [trial.suggest_int(f"width_{i}", 1, 400) for i in range(layers)]
    rate = trial.suggest_float("rate", -2.0, 2.0, step=0.05)
    return abs(rate - 0.3) + 0.1 * (layers - 2) ** 2 + sum(abs(width - 40) / 400 for width in widths)


def reporting(trial: BaseTrial) -> float:
    """As `plain`, at the end of a curve that falls at a rate of its own; it may be pruned on the way."""
    end = plain(trial)
    rate = 0.4 + 0.1 * len(trial.params["act"])
    for step in range(1, STEPS + 1):
        trial.report(end + 3.0 * math.exp(-rate * step), step)
        time.sleep(0.001)
        if trial.should_prune():
            raise optuna.TrialPruned
    return end


#: Number of reports of a trial.
STEPS = 9
PROGRAMS: dict[str, Callable[[BaseTrial], float]] = {"plain": plain, "branching": branching, "reporting": reporting}


def storage(url: str) -> optuna.storages.BaseStorage:
    """``journal:PATH``, or the URL of a relational database."""
    if url.startswith("journal:"):
        from optuna.storages.journal import JournalFileBackend

        return optuna.storages.JournalStorage(JournalFileBackend(url.removeprefix("journal:")))
    patience = {"connect_args": {"timeout": 120}} if url.startswith("sqlite") else {}
    return optuna.storages.RDBStorage(url, engine_kwargs=patience)


def main(
    url: str,
    name: str,
    program: str,
    trials: int,
    log: Path,
    all_killed: Path,
    seed: int,
    avoid_repeats: Any,
) -> None:
    """Work until the study has ``trials`` complete trials and the file ``all_killed`` exists."""
    from numbo.optuna import CurvePruner, GSSBOSampler

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = GSSBOSampler(seed=seed, avoid_repeats=avoid_repeats)
    study = optuna.load_study(study_name=name, storage=storage(url), sampler=sampler, pruner=CurvePruner())
    pause = random.Random(os.getpid())

    def ended() -> bool:
        complete = sum(t.state == TrialState.COMPLETE for t in study.get_trials(deepcopy=False))
        return complete >= trials and all_killed.exists()

    with log.open("a") as told:
        while not ended():
            trial = study.ask()
            try:
                value = PROGRAMS[program](trial)
            except optuna.TrialPruned:
                state = TrialState.PRUNED
                value = None
            else:
                state = TrialState.COMPLETE
            time.sleep(pause.uniform(0.0, 0.02))
            told.write(f"{trial.number} {study.tell(trial, value, state).value!r}\n")
            told.flush()
            os.fsync(told.fileno())
