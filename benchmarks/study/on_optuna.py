"""The study by Optuna: processes share it over a PostgreSQL of its own."""

from __future__ import annotations

import math
import multiprocessing
import time
import warnings
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import optuna
from optuna.pruners import HyperbandPruner
from optuna.samplers import BaseSampler, TPESampler
from optuna.storages import RDBStorage
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState
from tests.harness.faults import postgres, postgres_programs

from benchmarks.problems.study_network import EPOCHS, LIMIT, WORK, errors, latency, suggest, weights
from benchmarks.study import figures
from benchmarks.study.ended import Ended, Run

NAME = "study"
ENDED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)


def limited(trial: optuna.Trial) -> dict[str, Any]:
    """A configuration, and a constraint: it has to answer in time."""
    config = suggest(trial)
    seconds = latency(config)
    trial.set_user_attr("latency", seconds)
    trial.set_constraint("latency", seconds / LIMIT - 1.0)
    return config


def curves(trial: optuna.Trial) -> float:
    """The error of a network, which is pruned if it learns too slowly."""
    error = 1.0
    for epoch, error in enumerate(errors(limited(trial)), start=1):
        trial.report(error, epoch)
        if epoch < EPOCHS and trial.should_prune():
            raise optuna.TrialPruned
    return error


def front(trial: optuna.Trial) -> tuple[float, float]:
    """The error of a network, and the order of magnitude of its size."""
    config = limited(trial)
    *_, error = errors(config)
    return error, math.log10(weights(config))


class Study(NamedTuple):
    """What is searched: a function of a trial, and its directions."""

    objective: Callable[[optuna.Trial], Any]
    directions: list[StudyDirection]


STUDIES = {"curves": Study(curves, [StudyDirection.MINIMIZE]), "front": Study(front, 2 * [StudyDirection.MINIMIZE])}


def _gssbo() -> BaseSampler:
    from numbo.optuna import GSSBOSampler

    return GSSBOSampler()


SAMPLERS: dict[str, Callable[[], BaseSampler]] = {
    "GSSBO": _gssbo,
    "TPE": lambda: TPESampler(multivariate=True, group=True, constant_liar=True),
}


def run(study: str, sampler: str, seconds: float, workers: int, images: Path | None) -> Run:
    """A study by this number of processes; what numbo's sampler tells about it is drawn into ``images``."""
    programs = postgres_programs()
    if programs is None:
        raise RuntimeError("The study needs PostgreSQL, which is not installed.")
    quiet()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.study.loaded"])
    with postgres(programs) as url:
        optuna.create_study(study_name=NAME, storage=url, directions=STUDIES[study].directions)
        ready = context.Barrier(workers + 1)
        spent = context.Array("d", 2 * workers)
        running = [context.Process(target=_work, args=(url, study, sampler, k, ready, spent)) for k in range(workers)]
        try:
            for process in running:
                process.start()
            ready.wait(timeout=600)
            began = datetime.now()
            time.sleep(seconds)
            ended = [process.name for process in running if not process.is_alive()]
        finally:
            for process in running:
                process.kill()
                process.join()
        if ended:
            raise RuntimeError(f"{', '.join(ended)} ended early; the error is above.")
        finished = _load(url, study, sampler)
        trials = [_ended(trial, began) for trial in finished.get_trials(states=ENDED)]
        in_time = sorted((trial for trial in trials if trial.seconds <= seconds), key=lambda trial: trial.seconds)
        if sampler == "GSSBO" and images is not None:
            figures.draw(finished, study, images)
        training = sum(spent[1::2]) / max(sum(spent[::2]), 1e-9)
        return Run(in_time, _recommended(finished, sampler), training)


def _work(url: str, study: str, sampler: str, k: int, ready: Any, spent: Any) -> None:
    """One process: it waits for the others, and runs trials until it is killed.

    Its processor time goes to ``spent[2k]``, and that of its networks to ``spent[2k + 1]``.
    """
    quiet()
    storage = RDBStorage(url)
    first = optuna.create_study(storage=storage, directions=STUDIES[study].directions)  # of this process alone
    first.optimize(STUDIES[study].objective, n_trials=1)  # SQLAlchemy compiles the statements
    one = _load(storage, study, sampler)
    ready.wait()
    began = time.process_time()
    trained = WORK.seconds

    def write_down(_: optuna.Study, trial: FrozenTrial) -> None:
        spent[2 * k : 2 * k + 2] = [time.process_time() - began, WORK.seconds - trained]

    one.optimize(STUDIES[study].objective, callbacks=[write_down])


def _load(storage: str | RDBStorage, study: str, sampler: str) -> optuna.Study:
    pruner = HyperbandPruner(min_resource=1, max_resource=EPOCHS, reduction_factor=3)
    return optuna.load_study(study_name=NAME, storage=storage, sampler=SAMPLERS[sampler](), pruner=pruner)


def quiet() -> None:
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def _ended(trial: FrozenTrial, began: datetime) -> Ended:
    assert trial.datetime_complete is not None
    complete = trial.state == TrialState.COMPLETE
    return Ended(
        seconds=(trial.datetime_complete - began).total_seconds(),
        config=trial.params,
        values=tuple(trial.values) if complete else (),
        latency=trial.user_attrs.get("latency", float("inf")),
        epochs=len(trial.intermediate_values) or EPOCHS * complete,
        pruned=trial.state == TrialState.PRUNED,
    )


def _recommended(study: optuna.Study, sampler: str) -> list[dict[str, Any]]:
    """What numbo's sampler expects to be best, or the trade-offs that it expects."""
    if sampler != "GSSBO":
        return []
    from numbo.optuna import best_predicted
    from numbo.optuna import front as expected_front

    if len(study.directions) > 1:
        return [trial.params for trial, _ in expected_front(study)]
    found = best_predicted(study)
    return [] if found is None else [found[0]]
