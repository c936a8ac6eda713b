"""Metrics that only some results of a trial have, such as those of a validation every few epochs."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest
from ray import tune
from tests.helpers import trials_told

from numbo.ray import BBKBSearch, CurveScheduler, GSSBOSearch, SBPESearch

SPACE = {"x": tune.uniform(0.0, 1.0)}
SEARCHERS = {"GSSBO": GSSBOSearch, "BBKB": BBKBSearch, "SBPE": SBPESearch}  # one of each kind
LIMITS = {"latency": ("<=", 20.0)}


def searcher(**settings):
    return GSSBOSearch(SPACE, **({"metric": "loss", "mode": "min", "seed": 0} | settings))


def report(search, trial, *results, first=1):
    """Results of a trial one after the other; returns the last one, as Tune passes it on at the end."""
    for step, result in enumerate(results, start=first):
        search.on_trial_result(trial, last := {"training_iteration": step} | result)
    return last


def told(search):
    return trials_told(search.optimizer)


# -- one metric --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SEARCHERS)
@pytest.mark.parametrize("lacking", [{}, {"loss": None}])
def test_the_last_reported_value_counts_whatever_the_last_result_has(name, lacking):
    search = SEARCHERS[name](SPACE, metric="loss", mode="min", seed=0)
    for k in range(3):
        search.suggest(f"t{k}")
        last = report(search, f"t{k}", {"loss": 9.0}, lacking, {"loss": float(k)}, lacking)
        search.on_trial_complete(f"t{k}", last)
    assert search.optimizer.observations[1].tolist() == [0.0, 1.0, 2.0]
    assert search.best_predicted() is not None
    assert told(search)["final"].all()


@pytest.mark.allows_fallback  # a warning
@pytest.mark.parametrize("value", [math.nan, "bad", 10**400])
def test_a_trial_has_failed_if_its_last_value_is_no_number(value):
    search = searcher()
    search.suggest("a")
    search.on_trial_complete("a", report(search, "a", {"loss": 1.0}, {"loss": value}, {}))
    search.suggest("b")
    search.on_trial_complete("b", report(search, "b", {"loss": value}, {"loss": 1.0}, {}))
    assert np.isnan(search.optimizer.observations[1]).tolist() == [True, False]


@pytest.mark.allows_fallback  # a warning
def test_a_trial_that_never_reports_the_metric_has_failed_and_is_told_what_it_has(caplog):
    search = searcher()
    for k in range(2):
        search.suggest(f"t{k}")
        last = report(search, f"t{k}", {"val_loss": 1.0, "pid": 7}, {"val_loss": 1.0, "loss": None, "accuracy": 0.5})
        search.on_trial_complete(f"t{k}", last)
    assert np.isnan(search.optimizer.observations[1]).tolist() == [True, True]
    assert caplog.messages == [
        "A trial ended and never reported the metric 'loss': it counts as failed. "
        "Its last metrics: 'val_loss', 'accuracy'."
    ]


def test_curves_have_the_iterations_that_reported_the_metric():
    search = searcher()
    for k in range(4):
        search.suggest(f"t{k}")
        results = [{"loss": 1.0 / step} if step % 3 == 0 else {} for step in range(1, 11)]
        search.on_trial_complete(f"t{k}", report(search, f"t{k}", *results))
    search.suggest("stopped")
    report(search, "stopped", {}, {}, {"loss": 0.5})
    search.on_trial_complete("stopped", {"training_iteration": 4})  # Tune does not pass it on before
    search.suggest("running")
    report(search, "running", {}, {}, {"loss": 0.4}, {})
    curves = search.optimizer.snapshot().curves()
    steps = [curve.steps.tolist() for curve in curves if curve.kind != "running"]
    assert steps == [[3.0, 6.0, 9.0]] * 4 + [[3.0]]
    assert [curve.steps.tolist() for curve in curves if curve.kind == "running"] == [[3.0]]
    assert told(search)["final"].tolist() == [True] * 4 + [False]


def test_the_value_that_was_reported_last_counts_in_any_order_of_iterations():
    search = searcher()
    search.suggest("a")
    for step, result in ((5, {"loss": 3.0}), (2, {"loss": 2.0}), (None, {}), (1, {})):
        search.on_trial_result("a", {"training_iteration": step} | result)
    search.on_trial_complete("a", {"training_iteration": 1})
    assert search.optimizer.observations[1].tolist() == [2.0]


def test_a_paused_trial_that_is_stopped_keeps_its_last_value():
    search = searcher(constraints=LIMITS)
    search.suggest("a")
    report(search, "a", {"loss": 1.0, "latency": 25.0}, {}, {})
    search.on_pause("a")
    search.on_trial_complete("a", None)
    assert search.optimizer.observations[1].tolist() == [1.0]
    assert told(search)["C"].tolist() == [[5.0]]


def test_a_renamed_trial_keeps_its_last_value():
    search = searcher()
    config = search.suggest("old name")
    last = report(search, "new name", {"loss": 1.0, "config": config}, {"config": config})
    search.on_trial_complete("new name", last)
    assert search.optimizer.observations[1].tolist() == [1.0]
    assert search.optimizer.pending == []


# -- bounds and several metrics ----------------------------------------------------------------------------------------


def test_the_last_reported_value_of_a_bound_counts():
    search = searcher(constraints={"latency": ("<=", 20.0), "size": (">=", 1.0)})
    ends = [
        [{"loss": 1.0, "latency": 25.0}, {"loss": 2.0, "size": 3.0}, {"loss": 3.0}],
        [{"loss": 1.0, "latency": 25.0, "size": 3.0}, {"latency": 15.0}],
        [{"loss": 1.0, "latency": math.nan, "size": 3.0}, {"loss": 2.0}],
    ]
    for k, results in enumerate(ends):
        search.suggest(f"t{k}")
        search.on_trial_complete(f"t{k}", report(search, f"t{k}", *results))
    np.testing.assert_array_equal(told(search)["C"], [[5.0, -2.0], [-5.0, -2.0], [np.inf, -2.0]])
    assert search.optimizer.observations[1].tolist() == [3.0, 1.0, 2.0]
    assert search.best_predicted()[1] == pytest.approx(1.0)


@pytest.mark.allows_fallback  # a warning
def test_each_of_several_metrics_has_its_own_last_value():
    search = searcher(metric=["loss", "time"], mode=["min", "max"])
    results = [
        [{"loss": 1.0}, {"time": 5.0}, {"loss": 2.0}, {}],
        [{"loss": 1.0}, {"loss": 2.0}],
        [{"loss": 1.0, "time": 3.0}, {"time": math.nan}, {"loss": 2.0}],
    ]
    for k, one in enumerate(results):
        search.suggest(f"t{k}")
        search.on_trial_complete(f"t{k}", report(search, f"t{k}", *one))
    np.testing.assert_array_equal(told(search)["Y"], [[-2.0, 5.0], [np.nan, np.nan], [np.nan, np.nan]])


# -- what is kept and restored -----------------------------------------------------------------------------------------


def test_what_is_kept_of_a_running_trial_stays_small_and_is_restored(tmp_path):
    search = searcher(constraints=LIMITS)
    search.suggest("a")
    report(search, "a", {"loss": 1.0, "latency": 25.0})
    size = len(pickle.dumps(search))
    report(search, "a", *({f"m{step}": 1.0, "text": "x" * 1000} for step in range(100)), first=2)
    assert len(pickle.dumps(search)) < size + 100
    search.save(str(tmp_path / "state"))
    twin = GSSBOSearch()
    twin.restore(str(tmp_path / "state"))
    for one in (search, twin):
        one.on_trial_complete("a", {"training_iteration": 102})
        assert one.optimizer.observations[1].tolist() == [1.0]
        assert told(one)["C"].tolist() == [[5.0]]


def write(folder, *trials):
    """A snapshot of trials as Tune writes it, cut down to what is read."""
    rows = [
        [
            json.dumps({"trial_id": name, "status": status, "config": config}),
            json.dumps(
                {"last_result": result, "metric_analysis": {metric: {"last": value} for metric, value in last.items()}}
            ),
        ]
        for name, status, config, result, last in trials
    ]
    (folder / "experiment_state-2026-01-02.json").write_text(json.dumps({"trial_data": rows}))


@pytest.mark.allows_fallback  # warnings
def test_without_a_state_the_records_of_tune_say_what_was_reported_last(tmp_path):
    last = {"eval/loss": 2.0, "latency": 25.0, "training_iteration": 4}
    write(
        tmp_path,
        ("a", "TERMINATED", {"x": 0.1}, {"training_iteration": 4}, last),
        ("b", "TERMINATED", {"x": 0.2}, {"training_iteration": 4, "eval": {"loss": 1.0}}, last),
        ("c", "TERMINATED", {"x": 0.3}, {"training_iteration": 4}, {"training_iteration": 4}),
        ("d", "RUNNING", {"x": 0.4}, {"training_iteration": 4}, last),
        ("e", "PENDING", {"x": 0.5}, {}, {}),
    )
    search = searcher(metric="eval/loss", constraints=LIMITS)
    search.restore_from_dir(str(tmp_path))
    search.on_trial_complete("d", {"training_iteration": 5})
    np.testing.assert_array_equal(told(search)["Y"][:, 0], [-2.0, -1.0, np.nan, -2.0])
    np.testing.assert_array_equal(told(search)["C"], [[5.0], [5.0], [np.nan], [5.0]])
    assert len(search.optimizer.pending) == 1


def test_records_of_tune_are_newer_than_a_state(tmp_path):
    search = searcher()
    configs = {name: search.suggest(name) for name in "ab"}
    for name in "ab":
        report(search, name, {"loss": 3.0}, {})
    search.save_to_dir(str(tmp_path))
    last = {"loss": 1.0, "training_iteration": 5}
    write(
        tmp_path,
        ("a", "TERMINATED", configs["a"], {"training_iteration": 5}, last),
        ("b", "RUNNING", configs["b"], {"training_iteration": 5}, last),
    )
    again = searcher()
    again.restore_from_dir(str(tmp_path))
    again.on_trial_complete("b", {"training_iteration": 6})
    assert again.optimizer.observations[1].tolist() == [1.0, 1.0]


# -- a real run --------------------------------------------------------------------------------------------------------


class Adam:
    """An option that is an object, for which Tune suggests a mark."""


class Sgd:
    """Another one."""


def twice(spec):
    return 2.0 * spec["x"]


@pytest.mark.slow
@pytest.mark.allows_fallback  # warnings of a point with other constants, and of the lost state
@pytest.mark.usefixtures("local_ray")
@pytest.mark.xdist_group("ray")
def test_a_real_run_with_a_validation_every_third_epoch(tmp_path, monkeypatch):
    monkeypatch.setenv("TUNE_DISABLE_STRICT_METRIC_CHECKING", "1")

    def train(config):
        end = (config["x"] - 0.3) ** 2
        assert config["twice"] == 2.0 * config["x"]
        for step in range(1, config["epochs"] + 1):
            validated = {"loss": end + 0.7**step, "latency": 30.0 * config["x"]} if step % 3 == 0 else {}
            tune.report({"progress": step} | validated)

    points = [{"x": 0.3}, {"x": 0.9, "epochs": 7}]
    search = GSSBOSearch(seed=0, constraints={"latency": ("<=", 20.0)}, points_to_evaluate=points)
    tuner = tune.Tuner(
        train,
        param_space=SPACE | {"epochs": 13, "kind": tune.choice([Adam, Sgd]), "twice": tune.sample_from(twice)},
        tune_config=tune.TuneConfig(
            metric="loss",
            mode="min",
            search_alg=search,
            scheduler=CurveScheduler(),
            num_samples=16,
            max_concurrent_trials=2,
            reuse_actors=True,
        ),
        run_config=tune.RunConfig(storage_path=str(tmp_path), name="run", verbose=0),
    )
    results = tuner.fit()
    assert not results.errors
    assert [result.config["epochs"] for result in results].count(7) == 1
    trials = told(search)
    assert len(trials["Y"]) == 15  # without the one with other constants
    assert not np.isnan(trials["Y"]).any()
    np.testing.assert_allclose(trials["C"][:, 0], [30.0 * params["x"] - 20.0 for params in trials["params"]])
    assert search.best_predicted()[1] < 0.1
    lost = GSSBOSearch(metric="loss", mode="min", constraints={"latency": ("<=", 20.0)})
    lost.CKPT_FILE_TMPL = "none-{}.pkl"
    lost.restore_from_dir(str(tmp_path / "run"))
    again = told(lost)
    assert len(again["Y"]) == 15
    assert not np.isnan(again["Y"]).any()
    np.testing.assert_allclose(sorted(again["C"][:, 0]), sorted(trials["C"][:, 0]))
