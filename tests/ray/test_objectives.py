"""Several metrics at once: what is searched for, what Tune may say of it, failures, known points, and restores."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest
from ray import tune
from ray.tune.experiment import Trial
from ray.tune.schedulers import TrialScheduler
from tests.helpers import MOSTLY, over_seeds, seeded, trials_told

from numbo import GSSBO, Float
from numbo.ray import BBKBSearch, BKBSearch, CurveScheduler, GSSBOSearch, SBPESearch

SPACE = {"net": {"x": tune.uniform(0.0, 1.0)}, "y": tune.uniform(0.0, 1.0), "fixed": 3}
GOAL = {"metric": ["accuracy", "latency"], "mode": ["max", "min"]}
POINTS = [{"net": {"x": 0.25 * k}, "y": 0.4 + 0.05 * k} for k in range(5)]


def result_of(config):
    x, y = config["net"]["x"], config["y"]
    return {
        "accuracy": -((x - 0.2) ** 2) - (y - 0.5) ** 2,
        "latency": (x - 0.8) ** 2 + (y - 0.5) ** 2,
        "size": x,
        "training_iteration": 1,
    }


def searcher(**settings):
    return GSSBOSearch(SPACE, **GOAL, **({"seed": seeded(0)} | settings))


def run(search, n, first=0):
    for k in range(first, first + n):
        config = search.suggest(f"t{k}")
        search.on_trial_complete(f"t{k}", result_of(config) | {"config": config})


def known(search):
    trials = trials_told(search.optimizer)
    return trials["X"], trials["Y"], trials["C"]


def assert_same(one, other):
    for found, expected in zip(known(one), known(other), strict=True):
        np.testing.assert_array_equal(found, expected)


# -- the search --------------------------------------------------------------------------------------------------------


@over_seeds()
def test_the_core_is_driven_as_it_would_be_by_hand():
    search = searcher()
    run(search, 40)
    core = GSSBO({"net/x": Float(0, 1), "y": Float(0, 1)}, directions=("maximize", "minimize"), seed=seeded(0))
    for _ in range(40):
        p = core.ask()
        result = result_of({"net": {"x": p["net/x"]}, "y": p["y"]})
        core.tell(p, (result["accuracy"], result["latency"]))
    np.testing.assert_array_equal(core.observations[1], search.optimizer.observations[1])
    assert search.metric == GOAL["metric"]
    front = search.front()
    assert [values for _, values in front] == [values for _, values in core.front()]
    assert len(front) > 10, MOSTLY
    for config, (accuracy, latency) in front:
        assert config.keys() == {"net", "y"}
        result = result_of(config)
        assert (result["accuracy"], result["latency"]) == (accuracy, latency)
    volumes = search.hypervolumes((-0.5, 0.5))
    np.testing.assert_array_equal(volumes, core.hypervolumes((-0.5, 0.5)))
    assert (np.diff(volumes) >= 0.0).all()
    mean, std = search.predict([config for config, _ in front])
    assert mean.shape == std.shape == (len(front), 2)
    one, _ = search.predict(front[0][0])
    np.testing.assert_allclose(one, front[0][1], atol=1e-6)
    assert search.explain().relevance.keys() == {"net/x", "y"}


@over_seeds()
def test_constraints_hold_on_the_front():
    search = searcher(constraints={"size": ("<=", 0.5), "latency": ("<=", 0.3)})
    run(search, 40)
    front = search.front()
    assert len(front) > 6, MOSTLY
    assert all(config["net"]["x"] <= 0.5 and latency <= 0.3 for config, (_, latency) in front)
    assert search.predict_feasible({"net": {"x": 0.9}, "y": 0.5}) < 0.05, MOSTLY


def test_five_metrics():
    names = [f"m{j}" for j in range(5)]
    search = GSSBOSearch({"x": tune.uniform(0, 1)}, names, ["min", "max"] * 2 + ["min"], seed=0)
    for k in range(12):
        config = search.suggest(f"t{k}")
        search.on_trial_complete(f"t{k}", {name: config["x"] + j for j, name in enumerate(names)})
    assert search.predict(config)[0].shape == (5,)


def test_what_is_of_one_metric_says_so():
    search = searcher()
    run(search, 8)
    with pytest.raises(ValueError, match=r"^There is no best point of 2 objectives: see front\(\)\.$"):
        search.best_predicted()
    sentence = r"^predict_end is of one metric, and this GSSBOSearch has \['accuracy', 'latency'\]\.$"
    with pytest.raises(ValueError, match=sentence):
        search.predict_end({1: 0.5})
    with pytest.raises(ValueError, match=r"^reference must be 2 finite numbers, one an objective; got \(1\.0,\)"):
        search.hypervolumes((1.0,))


def test_one_metric_has_a_front_of_one():
    search = GSSBOSearch(SPACE, "latency", "min", seed=0)
    run(search, 10)
    config, latency = search.best_predicted()
    assert search.front() == [(config, (latency,))]


# -- what is said of them ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "mode", "words"),
    [
        (["a"], ["min"], r"metric must be one string, or a list of 2 to 5 different ones, got \['a'\]\."),
        ([], [], r"metric must be one string, or a list of 2 to 5 different ones, got \[\]\."),
        (list("abcdef"), ["min"] * 6, "metric must be one string, or a list of 2 to 5 different ones"),
        (["a", "a"], ["min", "max"], "metric must be one string, or a list of 2 to 5 different ones"),
        (["a", 3], ["min", "max"], "metric must be one string, or a list of 2 to 5 different ones"),
        ({"a", "b"}, ["min", "max"], "metric must be one string, or a list of 2 to 5 different ones"),
        (["a", "b"], None, r"mode must hold 'min' or 'max' for each of the metrics \['a', 'b'\], got None\."),
        (["a", "b"], "min", "mode must hold 'min' or 'max' for each of the metrics"),
        (["a", "b"], ["min"], "mode must hold 'min' or 'max' for each of the metrics"),
        (["a", "b"], ["min", "low"], "mode must hold 'min' or 'max' for each of the metrics"),
        (["a", "b"], {"a": "min", "b": "max"}, "mode must hold 'min' or 'max' for each of the metrics"),
        ("a", ["min"], r"metric must hold as many metrics as mode has modes, got 'a' and \['min'\]\."),
        ("a", 3, r"mode must be 'min' or 'max', got 3\."),
        ("a", {"min", "max"}, "mode must be 'min' or 'max', got {"),
        (None, ["min", "max"], "metric must hold as many metrics as mode has modes, got None"),
    ],
)
def test_goals_that_are_none(metric, mode, words):
    with pytest.raises(ValueError, match=f"^{words}"):
        GSSBOSearch(SPACE, metric, mode)


@pytest.mark.parametrize("cls", [BKBSearch, BBKBSearch, SBPESearch])
def test_others_refuse_several(cls):
    sentence = f"{cls.__name__} has one objective, and GSSBOSearch takes several"
    with pytest.raises(ValueError, match=rf"^metric must be one string, got .*: {sentence}\.$"):
        cls(SPACE, **GOAL)
    with pytest.raises(ValueError, match=rf"^mode must be one string, got .*: {sentence}\.$"):
        cls(SPACE, "loss", ["min", "max"])


@pytest.mark.parametrize(("metric", "mode"), [(None, None), ("accuracy", "max"), ("latency", "min"), ("latency", None)])
@pytest.mark.parametrize("space", [SPACE, None])
def test_tune_may_name_one_of_them_or_none(metric, mode, space):
    search = GSSBOSearch(space, **GOAL, seed=0)
    assert search.set_search_properties(metric, mode, SPACE, num_samples=5)
    assert search.metric == GOAL["metric"]
    assert search.mode == GOAL["mode"]
    assert search.optimizer.directions == ("maximize", "minimize")


HOW = "pass one of its metrics with its mode to TuneConfig, for Tune to report the best result by, or neither"


@pytest.mark.parametrize(
    ("metric", "mode", "words"),
    [
        ("loss", "min", r"metric='loss', which is none of the metrics \['accuracy', 'latency'\] of this GSSBOSearch"),
        ("accuracy", "min", "mode='min' for metric='accuracy', but the mode is 'max' in this GSSBOSearch"),
        (None, "min", "mode='min' only, for this GSSBOSearch"),
    ],
)
def test_tune_may_not_say_anything_else(metric, mode, words):
    search = GSSBOSearch(**GOAL, seed=0)
    with pytest.raises(ValueError, match=f"^TuneConfig has {words}: {HOW}"):
        search.set_search_properties(metric, mode, SPACE)
    assert search.optimizer is None


@pytest.mark.parametrize("cls", [GSSBOSearch, BKBSearch])
@pytest.mark.parametrize("own", [{}, {"metric": "accuracy", "mode": "max"}])
def test_tune_itself_has_one_metric(cls, own):
    search = cls(**own)
    sentence = "but Tune itself has one metric: pass several metrics and modes to GSSBOSearch, and one of them"
    with pytest.raises(ValueError, match=rf"^TuneConfig has metric=\['accuracy', 'latency'\], {sentence}"):
        search.set_search_properties(GOAL["metric"], "max", SPACE)
    with pytest.raises(ValueError, match=r"^TuneConfig has mode=\['max', 'min'\], but Tune itself has one mode"):
        search.set_search_properties("accuracy", GOAL["mode"], SPACE)


def test_lists_of_the_user_are_copied():
    goal = {name: list(value) for name, value in GOAL.items()}
    search = GSSBOSearch(SPACE, **goal, seed=0)
    goal["metric"].append("size")
    goal["mode"].clear()
    run(search, 3)
    assert search.metric == GOAL["metric"]


# -- trials ------------------------------------------------------------------------------------------------------------


@pytest.mark.allows_fallback  # what is missing is warned of
@pytest.mark.parametrize(
    ("result", "warned"),
    [
        (
            {"accuracy": 0.5},
            "A trial ended and never reported the metric 'latency': it counts as failed. Its last metrics: 'accuracy'.",
        ),
        (
            {"latency": 0.5},
            "A trial ended and never reported the metric 'accuracy': it counts as failed. Its last metrics: 'latency'.",
        ),
        ({"accuracy": 0.5, "latency": "slow"}, "A trial ended with latency='slow': it counts as failed."),
        ({"accuracy": math.nan, "latency": 0.5}, None),
        ({"accuracy": 0.5, "latency": math.nan}, None),
    ],
)
def test_a_trial_of_which_one_value_is_missing_has_failed(result, warned, caplog):
    search = searcher(constraints={"size": ("<=", 0.5)})
    for k in range(2):
        search.suggest(f"t{k}")
        search.on_trial_complete(f"t{k}", result)
    assert np.isnan(search.optimizer.observations[1]).all()
    assert search.optimizer.n_told == 2
    assert caplog.messages == ([warned] if warned else [])


def test_reports_of_running_trials_are_not_passed_on():
    """They would be one number; the last values of a trial that is stopped are not final."""
    search, other = searcher(), searcher()
    for one in (search, other):
        run(one, 12)
        one.suggest("long")
        one.on_trial_complete("long", {"accuracy": 0.1, "latency": 0.1, "training_iteration": 9})
        one.suggest("a")
        one.suggest("b")
    search.on_trial_result("a", {"accuracy": 0.3, "latency": 0.4, "training_iteration": 1})
    assert search.suggest("c") == other.suggest("c")
    search.on_trial_complete("a", {"accuracy": 0.4, "latency": 0.5, "training_iteration": 2})
    assert search.optimizer.observations[1][-1].tolist() == [0.4, 0.5]
    assert trials_told(search.optimizer)["final"].tolist() == [True] * 13 + [False]
    search.on_pause("b")
    search.on_trial_result("b", {"accuracy": 0.7, "latency": 0.8, "training_iteration": 1})
    search.on_trial_complete("b", None)  # stopped while it was paused
    assert search.optimizer.observations[1][-1].tolist() == [0.7, 0.8]


def test_a_scheduler_that_stops_trials_goes_by_one_of_them():
    scheduler = CurveScheduler(complete=1)
    assert scheduler.set_search_properties("accuracy", "max")
    trial = Trial("trainable", stub=True)
    assert scheduler.on_trial_result(None, trial, result_of(POINTS[0])) == TrialScheduler.CONTINUE
    search = searcher()
    assert search.set_search_properties("accuracy", "max", SPACE)


# -- points that are known ---------------------------------------------------------------------------------------------


def test_known_points_teach_what_trials_teach():
    limits = {"size": ("<=", 0.5)}
    results = [result_of(point) for point in POINTS]
    values = [(r["accuracy"], r["latency"]) for r in results]
    given, added = searcher(constraints=limits, points_to_evaluate=POINTS), searcher(constraints=limits)
    for k, (point, result) in enumerate(zip(POINTS, results, strict=True)):
        assert given.suggest(f"t{k}") == {"net": point["net"], "y": point["y"]}
        given.on_trial_complete(f"t{k}", result)
        added.add_evaluated_point(point, values[k], metrics=result)
    rewarded = searcher(constraints=limits, points_to_evaluate=POINTS, evaluated_rewards=results)
    late = GSSBOSearch(**GOAL, seed=seeded(0), constraints=limits, points_to_evaluate=POINTS, evaluated_rewards=results)
    assert late.set_search_properties("latency", "min", SPACE)
    for other in (added, rewarded, late):
        assert_same(other, given)
    assert added.suggest("next") == rewarded.suggest("next") == late.suggest("next")
    plain = searcher(points_to_evaluate=POINTS, evaluated_rewards=[np.array(v) for v in values])
    np.testing.assert_array_equal(plain.optimizer.observations[1], values)


def test_known_points_that_failed_or_were_stopped():
    search = searcher()
    search.add_evaluated_point(POINTS[0], None)
    search.add_evaluated_point(POINTS[1], (0.5, 0.5), error=True)
    search.add_evaluated_point(POINTS[2], (math.nan, 0.5))
    search.add_evaluated_point(POINTS[3], None, pruned=True, intermediate_values=[(0.1, 0.2), (0.3, 0.4)])
    search.add_evaluated_point(POINTS[4], [0.5, 0.6], intermediate_values=[(0.1, 0.2), (0.3, 0.4)])
    nothing = [math.nan, math.nan]
    np.testing.assert_array_equal(search.optimizer.observations[1], [nothing, nothing, nothing, [0.3, 0.4], [0.5, 0.6]])
    assert trials_told(search.optimizer)["final"].tolist()[3:] == [False, True]


@pytest.mark.parametrize("value", [0.5, (0.5,), (0.1, 0.2, 0.3), "ab", ("a", "b"), {"accuracy": 1.0, "latency": 2.0}])
def test_values_of_another_number_are_refused(value):
    search = searcher()
    with pytest.raises(
        ValueError, match=r"^value must be 2 numbers, one for each of \['accuracy', 'latency'\], or None"
    ):
        search.add_evaluated_point(POINTS[0], value)
    assert search.optimizer.n_told == 0
    if not isinstance(value, dict):
        with pytest.raises(ValueError, match=r"^evaluated_rewards must hold sequences of 2 numbers, or mappings"):
            searcher(points_to_evaluate=POINTS[:1], evaluated_rewards=[value])
    with pytest.raises(ValueError, match=r"^evaluated_rewards must be a list of sequences of 2 numbers or of "):
        searcher(points_to_evaluate=POINTS[:1], evaluated_rewards=3)


def test_mappings_need_all_metrics():
    with pytest.raises(ValueError, match=r"^evaluated_rewards that are mappings must have .* has none for 'latency'"):
        searcher(points_to_evaluate=POINTS[:1], evaluated_rewards=[{"accuracy": 0.5}])


# -- restores ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["file", "folder", "pickle"])
def test_restored_it_goes_on_in_the_same_way(way, tmp_path):
    search = searcher()
    run(search, 15)
    search.suggest("live")
    twin = GSSBOSearch()
    if way == "pickle":
        twin = pickle.loads(pickle.dumps(search))
    elif way == "file":
        search.save(str(tmp_path / "state"))
        twin.restore(str(tmp_path / "state"))
    else:
        search.save_to_dir(str(tmp_path))
        twin.restore_from_dir(str(tmp_path))
    for one in (search, twin):
        run(one, 5, 15)
    assert twin.metric == GOAL["metric"]
    assert twin.front() == search.front()
    assert_same(search, twin)
    assert twin.suggest("next") == search.suggest("next")


@pytest.mark.allows_fallback  # without a state there is a warning
def test_without_a_state_the_records_of_tune_are_learned(tmp_path):
    rows = [(f"t{k}", "TERMINATED", point, result_of(point)) for k, point in enumerate(POINTS)]
    rows += [("bad", "ERROR", POINTS[0], None), ("part", "TERMINATED", POINTS[1], {"accuracy": 1.0})]
    trials = [
        [json.dumps({"trial_id": name, "status": status, "config": config}), json.dumps({"last_result": result})]
        for name, status, config, result in rows
    ]
    (tmp_path / "experiment_state-2026-01-02.json").write_text(json.dumps({"trial_data": trials}))
    search = searcher()
    search.restore_from_dir(str(tmp_path))
    Y = search.optimizer.observations[1]
    np.testing.assert_array_equal(Y[:5], [(r["accuracy"], r["latency"]) for *_, r in rows[:5]])
    assert np.isnan(Y[5:]).all()
    assert len(Y) == 7
