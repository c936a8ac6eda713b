"""The searchers in real runs on a local Ray: concurrency, early stopping, dying workers, restored drivers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest
from ray import tune
from ray.tune.schedulers import HyperBandForBOHB
from tests.harness import restores

from numbo.ray import BBKBSearch, BKBSearch, GSSBOSearch, SBPESearch
from numbo.ray._snapshot import read_trials

SPACE = {"x": tune.uniform(-3.0, 3.0), "net": {"width": tune.randint(1, 9)}, "fixed": 5}

pytestmark = [pytest.mark.usefixtures("local_ray"), pytest.mark.xdist_group("ray")]


def fit(trainable, searcher, path, n, **config):
    tuner = tune.Tuner(
        trainable,
        param_space=SPACE,
        tune_config=tune.TuneConfig(
            metric="loss", mode="min", search_alg=searcher, num_samples=n, reuse_actors=True, **config
        ),
        run_config=tune.RunConfig(storage_path=str(path), name="run", verbose=0),
    )
    return tuner.fit()


def different(configs):
    return {(config["x"], config["net"]["width"]) for config in configs}


def test_a_run_with_concurrent_trials(tmp_path):
    """Trials differ where values are exact."""

    def parabola(config):  # a function inside of one travels to the workers by value
        assert config["fixed"] == 5
        tune.report({"loss": (config["x"] - 1.0) ** 2 + abs(config["net"]["width"] - 4)})

    searcher = GSSBOSearch(seed=0, n_initial=8, avoid_repeats=True)
    results = fit(parabola, searcher, tmp_path, 24, max_concurrent_trials=4)
    assert len(results) == 24
    assert results.num_errors == 0
    assert len(different(r.config for r in results)) == 24


@pytest.mark.slow
def test_a_scheduler_that_pauses_trials(tmp_path):
    """Paused trials make room for others, stay pending, and are learned from when they end."""

    class Steps(tune.Trainable):
        def setup(self, config):
            self.x, self.t = config["x"], 0

        def step(self):
            self.t += 1
            return {"loss": (self.x - 1.0) ** 2 + 1.0 / self.t}

        def save_checkpoint(self, folder):
            return {"t": self.t}

        def load_checkpoint(self, state):
            self.t = state["t"]

        def reset_config(self, config):
            self.setup(config)
            return True

    searcher = GSSBOSearch(seed=0, n_initial=4)
    scheduler = HyperBandForBOHB(time_attr="training_iteration", max_t=9, reduction_factor=3)
    results = fit(Steps, searcher, tmp_path, 12, max_concurrent_trials=2, scheduler=scheduler)
    assert results.num_errors == 0
    assert len(results) == searcher.optimizer.n_told == 12
    assert searcher.optimizer.pending == []
    assert len({r.metrics["training_iteration"] for r in results}) > 1


def test_what_tune_computes_itself_is_left_to_it(tmp_path):
    def trainable(config):
        tune.report({"loss": config["x"] ** 2, "double": config["double"]})

    searcher = BKBSearch(seed=0, n_initial=2)
    space = {"x": tune.uniform(0.0, 1.0), "double": tune.sample_from(lambda config: 2.0 * config["x"])}
    tuner = tune.Tuner(
        trainable,
        param_space=space,
        tune_config=tune.TuneConfig(metric="loss", mode="min", search_alg=searcher, num_samples=4, reuse_actors=True),
        run_config=tune.RunConfig(storage_path=str(tmp_path), name="run", verbose=0),
    )
    results = tuner.fit()
    assert len(results) == searcher.optimizer.n_told == 4
    assert all(r.config["double"] == 2.0 * r.config["x"] for r in results)
    assert list(searcher.explain().relevance) == ["x"]


def test_a_run_that_says_too_little_or_something_else_does_not_start(tmp_path):
    def run(searcher, **config):
        tuner = tune.Tuner(
            lambda config: tune.report({"loss": config["x"]}),
            param_space=SPACE,
            tune_config=tune.TuneConfig(search_alg=searcher, num_samples=2, **config),
            run_config=tune.RunConfig(storage_path=str(tmp_path), name="run", verbose=0),
        )
        return tuner.fit()

    with pytest.raises(ValueError, match="GSSBOSearch has no metric and no mode: pass metric="):
        run(GSSBOSearch())
    with pytest.raises(ValueError, match=r"TuneConfig has mode='max', but this GSSBOSearch .* mode='min'"):
        run(GSSBOSearch(mode="min"), metric="loss", mode="max")
    with pytest.raises(ValueError, match="GSSBOSearch has no metric and no mode"):
        tune.run(lambda config: None, config=SPACE, search_alg=GSSBOSearch(), num_samples=2, verbose=0)


@pytest.mark.arithmetic
def test_trials_that_asha_stops_are_learned(tmp_path):
    def curve(config):
        for i in range(1, 10):
            tune.report({"loss": (config["x"] - 1.0) ** 2 + 1.0 / i})

    searcher = BBKBSearch(seed=0, n_initial=6)
    scheduler = tune.schedulers.ASHAScheduler(max_t=9, grace_period=1, reduction_factor=3)
    results = fit(curve, searcher, tmp_path, 20, max_concurrent_trials=2, scheduler=scheduler)
    lengths = {r.metrics["training_iteration"] for r in results}
    assert len(results) == len(different(r.config for r in results)) == 20
    assert len(lengths) > 1
    assert results.get_best_result().metrics["loss"] < 1.0


@pytest.mark.slow
def test_several_metrics_in_a_run_that_is_restored(tmp_path):
    """Tune reports the best of one of them, or of none; trials that a scheduler stops, and failures, are learned."""

    def trade_off(config):
        if config["x"] == 0.0:
            raise RuntimeError("broken")
        for epoch in range(1, 4):
            tune.report({"loss": (config["x"] - 1.0) ** 2 + 1.0 / epoch, "size": config["net"]["width"]})

    goal = {"metric": ["loss", "size"], "mode": ["min", "max"]}
    searcher = GSSBOSearch(seed=0, n_initial=4, points_to_evaluate=[{"x": 0.0, "net": {"width": 8}}], **goal)
    scheduler = tune.schedulers.ASHAScheduler(max_t=3, grace_period=1, reduction_factor=2)
    results = fit(trade_off, searcher, tmp_path, 12, max_concurrent_trials=2, scheduler=scheduler)
    told = searcher.optimizer.observations[1]
    assert told.shape == (12, 2)
    assert np.isnan(told).all(axis=1).sum() == results.num_errors == 1
    last = {tuple(r.metrics[name] for name in goal["metric"]) for r in results if r.error is None}
    assert {tuple(values) for values in told if not np.isnan(values).any()} == last
    assert results.get_best_result().metrics["loss"] == min(loss for loss, _ in last)
    front = searcher.front()
    assert [loss for _, (loss, _) in front] == sorted(loss for _, (loss, _) in front)

    restored = tune.Tuner.restore(str(tmp_path / "run"), trade_off, restart_errored=True)
    again = restored.fit()
    assert (len(again), again.num_errors) == (12, 1)
    state = GSSBOSearch()
    state.restore_from_dir(str(tmp_path / "run"))
    assert state.metric == goal["metric"]
    assert state.front() == front


@pytest.mark.slow
def test_tune_needs_no_metric_if_there_are_several(tmp_path):
    def trade_off(config):
        tune.report({"loss": config["x"] ** 2, "size": config["net"]["width"]})

    def run(searcher, **config):
        tuner = tune.Tuner(
            trade_off,
            param_space=SPACE,
            tune_config=tune.TuneConfig(search_alg=searcher, num_samples=3, reuse_actors=True, **config),
            run_config=tune.RunConfig(storage_path=str(tmp_path), name="run", verbose=0),
        )
        return tuner.fit()

    searcher = GSSBOSearch(metric=["loss", "size"], mode=["min", "max"], seed=0)
    results = run(searcher)
    assert len(results) == searcher.optimizer.n_told == 3
    assert results.num_errors == 0
    best = results.get_best_result(metric="size", mode="max")  # Tune has to be asked for one of them
    assert best.metrics["size"] == max(r.metrics["size"] for r in results)
    with pytest.raises(ValueError, match=r"TuneConfig has metric=\['loss', 'size'\], but Tune itself has one metric"):
        run(GSSBOSearch(), metric=["loss", "size"], mode="min")
    with pytest.raises(ValueError, match="TuneConfig has mode='max' for metric='loss', but the mode is 'min'"):
        run(GSSBOSearch(metric=["loss", "size"], mode=["min", "max"]), metric="loss", mode="max")
    with pytest.raises(ValueError, match="The `mode` parameter passed to"):  # so says Tune
        run(GSSBOSearch(), metric=["loss", "size"], mode=["min", "max"])


@pytest.mark.slow
def test_dying_actors_errors_and_nan_do_not_end_the_run(tmp_path):
    def dangerous(config):
        if config["net"]["width"] == 8:
            os._exit(1)
        if config["net"]["width"] == 7:
            raise RuntimeError("out of memory")
        value = float("nan") if config["net"]["width"] == 6 else (config["x"] - 1.0) ** 2
        tune.report({"loss": value})

    bad = [{"x": 0.0, "net": {"width": width}} for width in (8, 7, 6)]
    searcher = SBPESearch(seed=0, points_to_evaluate=bad)
    results = fit(dangerous, searcher, tmp_path, 8, max_concurrent_trials=2)
    configs = [trial.config for trial in read_trials(tmp_path / "run")]
    widths = [config["net"]["width"] for config in configs]
    assert len(results) == len(different(configs)) == 8
    assert results.num_errors == sum(width > 6 for width in widths) >= 2
    assert np.isnan(searcher.optimizer.observations[1]).sum() == sum(width > 5 for width in widths) < 8


DRIVER = """
import sys, time
from pathlib import Path
import ray
from ray import tune
from numbo.ray import BBKBSearch
folder = Path(sys.argv[1])
ray.init(sys.argv[2], log_to_driver=False, logging_level="ERROR")

def trainable(config):
    own, log = tune.get_context().get_trial_id(), folder / "log"
    with log.open("a") as file:
        file.write(f"{own} {config['a']} {config['b']}\\n")
    place = [line.split()[0] for line in log.read_text().splitlines()].index(own)
    if place == 1:
        raise RuntimeError("broken")
    while place >= 5:  # until the driver is killed
        time.sleep(0.1)
    tune.report({"loss": config["a"] + config["b"]})

class Ready(tune.Callback):
    def __reduce__(self):  # not in the restored run
        return tune.Callback, ()

    def on_step_end(self, iteration, trials, **info):
        statuses = [trial.status for trial in trials]
        if statuses.count("RUNNING") < 2 or statuses.count("TERMINATED") + statuses.count("ERROR") < 5:
            return
        local, deadline = Path(trials[0].storage.experiment_driver_staging_path), time.time() + 1.0
        while time.time() < deadline:  # the snapshot of this step is uploaded, or else that of a later one
            uploaded = {p.name: p.read_bytes() for p in (folder / "run").glob("*.*") if p.is_file()}
            if all(uploaded.get(p.name) == p.read_bytes() for p in local.glob("*.*")):
                (folder / "ready").touch()
                time.sleep(1000.0)

tune.Tuner(
    trainable,
    param_space={"a": tune.randint(0, 3), "b": tune.randint(0, 4)},
    tune_config=tune.TuneConfig(metric="loss", mode="min", num_samples=100, max_concurrent_trials=2,
                                search_alg=BBKBSearch(seed=0, n_initial=4), reuse_actors=True),
    run_config=tune.RunConfig(storage_path=str(folder), name="run", verbose=0, callbacks=[Ready()]),
).fit()
"""


def killed_driver(tmp_path, address):
    """The folder of a run whose driver was killed in mid-run.

    Ray may reserve the CPU of a trial and never start it (seen once in some hundred runs, in its own accounts); the
    driver then waits for ever, and another one is started.
    """
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    environment = os.environ | {"TUNE_GLOBAL_CHECKPOINT_S": "0", "PYTHONUNBUFFERED": "1"}
    for attempt in range(3):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        with (folder / "out").open("w") as out:
            driver = subprocess.Popen(
                [sys.executable, str(script), str(folder), address],
                env=environment,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
            end = time.monotonic() + 120.0
            while not (folder / "ready").exists() and driver.poll() is None and time.monotonic() < end:
                time.sleep(0.05)
            assert driver.poll() is None, (folder / "out").read_text()
            os.killpg(driver.pid, signal.SIGKILL)
            driver.wait()
        if (folder / "ready").exists():
            return folder
    raise AssertionError((folder / "out").read_text())


@pytest.mark.slow
@pytest.mark.allows_fallback
def test_a_killed_driver_is_restored_and_repeats_nothing(tmp_path, local_ray):
    """SIGKILL in mid-run and torn states; then the run goes on to the end of the finite space, errored trials included.

    The driver is killed at a known point, with two running trials and five in its snapshot, one of which has failed.
    """
    folder = killed_driver(tmp_path, local_ray)
    log = folder / "log"
    restores.forget_session()
    states = list((folder / "run").glob("*searcher-state-*.pkl"))
    assert len(states) == 2
    for path in states:
        path.write_bytes(path.read_bytes()[:500])
    before = read_trials(folder / "run")

    def trainable(config):
        with log.open("a") as file:
            file.write(f"restored {config['a']} {config['b']}\n")
        tune.report({"loss": config["a"] + config["b"]})

    tuner = tune.Tuner.restore(str(folder / "run"), trainable, resume_unfinished=True, restart_errored=True)
    results = tuner.fit()
    tried = Counter(tuple(map(int, line.split()[1:])) for line in log.read_text().splitlines())
    assert Counter(trial.status for trial in before) == {"TERMINATED": 4, "ERROR": 1, "RUNNING": 2}
    # what failed has run twice; so has what was running, unless the driver was killed before the trial had begun
    runs, least, most = {"TERMINATED": (1, 1), "ERROR": (2, 2), "RUNNING": (1, 2)}, Counter(), Counter()
    for trial in before:  # a point that failed may be under way once more
        for counter, n in zip((least, most), runs[trial.status], strict=True):
            counter[trial.config["a"], trial.config["b"]] += n
    rest = {(a, b) for a in range(3) for b in range(4)} - most.keys()
    assert least + Counter(rest) <= tried <= most + Counter(rest)
    assert (len(results), results.num_errors) == (len(before) + len(rest), 0)
