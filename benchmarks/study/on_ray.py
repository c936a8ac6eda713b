"""The study by Ray Tune: ASHA stops trials, and one control loop serves all workers."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import optuna
import ray
from optuna.samplers import TPESampler
from ray import tune
from ray.tune.schedulers import ASHAScheduler
from tests.harness.local_ray import LOCAL_RAY

from benchmarks.problems.study_network import EPOCHS, LIMIT, errors, latency, suggest
from benchmarks.study.ended import Ended, Run

SPACE = {
    "solver": tune.choice(
        [
            {"optimizer": "sgd", "momentum": tune.uniform(0.0, 0.99), "nesterov": tune.choice([False, True])},
            {"optimizer": "adam", "beta_1": tune.uniform(0.5, 0.99), "beta_2": tune.uniform(0.9, 0.9999)},
        ]
    ),
    "depth": tune.choice(
        [
            {"layers": layers, **{f"units_{layer}": tune.lograndint(4, 257) for layer in range(layers)}}
            for layers in (1, 2, 3)
        ]
    ),
    "activation": tune.choice(["relu", "tanh", "logistic"]),
    "alpha": tune.loguniform(1e-6, 1.0),
    "rate": tune.loguniform(1e-4, 0.3),
    "batch": tune.lograndint(16, 257),
    "images": tune.choice(
        [
            {"augmentation": "none"},
            {"augmentation": "shift", "probability": tune.uniform(0.0, 1.0)},
            {"augmentation": "noise", "std": tune.uniform(0.0, 0.5)},
        ]
    ),
}


def flat(config: dict[str, Any]) -> dict[str, Any]:
    """A configuration by the names of `study_network.suggest`."""
    found = dict[str, Any]()
    for name, value in config.items():
        found |= value if isinstance(value, dict) else {name: value}
    return found


def trainable(config: dict[str, Any]) -> None:
    """Report the error of a network after each epoch, and its latency."""
    network = flat(config)
    seconds = latency(network)
    beyond = max(0.0, seconds / LIMIT - 1.0)
    for error in errors(network):
        tune.report({"error": error, "latency": seconds, "penalised": error + beyond})


def together(config: dict[str, Any], ready: str, workers: int) -> None:
    """The `trainable`, which waits in each process for the first trials of all others."""
    mine = Path(ready, str(os.getpid()))
    if not mine.exists():
        latency(flat(config))  # libraries and images are loaded
        mine.touch()
        while len(os.listdir(ready)) < workers:
            time.sleep(0.05)
    trainable(config)


def space(trial: Any) -> None:
    """The space as Ray's `OptunaSearch` takes it."""
    suggest(trial)


class Searcher(NamedTuple):
    """A searcher, and the metric that it and the scheduler are told."""

    search: Any
    metric: str


def _gssbo() -> Searcher:
    from numbo.ray import GSSBOSearch

    return Searcher(GSSBOSearch(SPACE, "error", "min", constraints={"latency": ("<=", LIMIT)}), "error")


def _tpe() -> Searcher:
    """Ray's `OptunaSearch` has no constraints: the error of what answers too slowly is raised."""
    from ray.tune.search.optuna import OptunaSearch

    sampler = TPESampler(multivariate=True, group=True, constant_liar=True)
    return Searcher(OptunaSearch(space, metric="penalised", mode="min", sampler=sampler), "penalised")


SAMPLERS = {"GSSBO": _gssbo, "TPE": _tpe}


class Watch(tune.Callback):
    """Writes down what ends, and when; the time begins with the first report."""

    def __init__(self) -> None:
        self.began: float | None = None
        self.trials = list[Ended]()

    def on_trial_result(self, iteration: int, trials: Any, trial: Any, result: dict[str, Any], **info: Any) -> None:
        if self.began is None:
            self.began = time.monotonic()

    def on_trial_complete(self, iteration: int, trials: Any, trial: Any, **info: Any) -> None:
        last = trial.last_result
        epochs = last.get("training_iteration", 0)
        if epochs and last["error"] == last["error"]:
            ended = epochs == EPOCHS
            values = (last["error"],) if ended else ()
            self.trials.append(Ended(self.seconds(), flat(trial.config), values, last["latency"], epochs, not ended))
        else:
            self.on_trial_error(iteration, trials, trial)

    def on_trial_error(self, iteration: int, trials: Any, trial: Any, **info: Any) -> None:
        epochs = trial.last_result.get("training_iteration", 0)
        self.trials.append(Ended(self.seconds(), flat(trial.config), (), float("inf"), epochs, False))

    def seconds(self) -> float:
        """Since the beginning."""
        return 0.0 if self.began is None else time.monotonic() - self.began


class Limit(tune.Stopper):
    """Stops all trials when the time is up."""

    def __init__(self, watch: Watch, seconds: float) -> None:
        self.watch = watch
        self.limit = seconds

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        return False

    def stop_all(self) -> bool:
        return self.watch.seconds() >= self.limit


def run(sampler: str, seconds: float, workers: int) -> Run:
    """A run of Tune by this number of processes."""
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    os.environ |= LOCAL_RAY
    os.environ["TUNE_MAX_PENDING_TRIALS_PG"] = str(workers)  # all of them start together
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)  # of the workers
    if sampler == "GSSBO":
        import numbo

        numbo.warmup()
    search, metric = SAMPLERS[sampler]()
    watch = Watch()
    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as ready:
        tuner = tune.Tuner(
            tune.with_parameters(together, ready=ready, workers=workers),
            tune_config=tune.TuneConfig(
                search_alg=search,
                scheduler=ASHAScheduler(metric=metric, mode="min", max_t=EPOCHS, grace_period=1, reduction_factor=3),
                num_samples=-1,
                reuse_actors=True,
            ),
            run_config=tune.RunConfig(storage_path=folder, verbose=0, callbacks=[watch], stop=Limit(watch, seconds)),
        )
        tuner.fit()
    ray.shutdown()
    recommended = list[dict[str, Any]]()
    if sampler == "GSSBO" and (found := search.best_predicted()) is not None:
        recommended = [flat(found[0])]
    return Run([trial for trial in watch.trials if trial.seconds <= seconds], recommended, None)
