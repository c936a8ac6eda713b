"""Constraints on reported metrics."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numbo.ray import BKBSearch, GSSBOSearch

from ray import tune

LIMITS = {"latency": ("<=", 20.0), "size": (">=", 1e6)}
SPACE = {"x": tune.uniform(0.0, 1.0), "y": tune.uniform(0.0, 1.0)}


def result_of(config):
    x, y = config["x"], config["y"]
    return {
        "loss": (x - 0.9) ** 2 + (y - 0.9) ** 2,
        "latency": 20.0 + 10.0 * (x + y - 0.8),
        "size": 1e6 * (0.8 + x),
        "training_iteration": 1,
    }


def searcher():
    return GSSBOSearch(SPACE, "loss", "min", seed=0, constraints=LIMITS)


def run(search, n, first=0):
    for k in range(first, first + n):
        search.on_trial_complete(f"t{k}", result_of(search.suggest(f"t{k}")))


def test_limits_are_met_in_the_end():
    search = searcher()
    run(search, 40)
    config, loss = search.best_predicted()
    result = result_of(config)
    assert result["latency"] <= 20.0
    assert result["size"] >= 1e6
    assert loss < 0.5 + 2e-3
    assert search.predict_feasible({"x": 0.9, "y": 0.9}) < 0.01
    assert search.predict_feasible([{"x": 0.3, "y": 0.3}])[0] > 0.99
    assert search.explain().n_feasible >= 5


def test_restored_it_goes_on_in_the_same_way(tmp_path):
    search = searcher()
    run(search, 15)
    search.save(str(tmp_path / "state"))
    twin = GSSBOSearch(metric="loss", mode="min")
    twin.restore(str(tmp_path / "state"))
    for one in (search, twin):
        run(one, 5, 15)
    np.testing.assert_array_equal(search.optimizer._run.history.C, twin.optimizer._run.history.C)
    assert search.suggest("last") == twin.suggest("last")


@pytest.mark.allows_fallback  # a warning
def test_results_that_lack_a_metric_or_hold_nonsense(caplog):
    search = searcher()
    results = [{}, {"latency": 10.0}, {"latency": math.nan, "size": 2e6}, {"latency": "fast"}, {"latency": None}]
    for k, extra in enumerate(results):
        search.suggest(f"t{k}")
        search.on_trial_complete(f"t{k}", {"loss": 1.0} | extra)
    C = search.optimizer._run.history.C
    np.testing.assert_array_equal(
        C, [[np.nan, np.nan], [-10.0, np.nan], [np.inf, -1e6], [np.inf, np.nan], [np.nan, np.nan]]
    )
    assert caplog.text.count("it counts as one that violates none of these") == 1


def test_a_trial_that_is_stopped_while_paused_keeps_its_last_metrics():
    search = searcher()
    search.suggest("t0")
    search.on_trial_result("t0", {"loss": 1.0, "latency": 25.0, "size": 2e6, "training_iteration": 1})
    search.on_pause("t0")
    search.on_trial_complete("t0", None)
    np.testing.assert_array_equal(search.optimizer._run.history.C, [[5.0, -1e6]])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([("latency", "<=", 3)], "constraints must be a mapping of metrics"),
        ({"latency": 20.0}, "'latency': 20.0"),
        ({"latency": ("<", 20.0)}, "must give '<=' or '>=' and a finite bound"),
        ({"latency": ("<=", math.inf)}, "finite bound"),
        ({"latency": ("<=", "20")}, "finite bound"),
        ({3: ("<=", 1.0)}, "got 3"),
    ],
)
def test_bad_limits_are_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        GSSBOSearch(SPACE, "loss", "min", constraints=wrong)


def test_others_refuse_them():
    with pytest.raises(TypeError, match="BKBSearch does not support constraints"):
        BKBSearch(SPACE, "loss", "min", constraints=LIMITS)
