"""Constraints on reported metrics."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest
from ray import tune
from tests.helpers import MOSTLY, over_seeds, seeded, trials_told

from numbo.ray import BKBSearch, GSSBOSearch

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
    return GSSBOSearch(SPACE, "loss", "min", seed=seeded(0), constraints=LIMITS)


def run(search, n, first=0):
    for k in range(first, first + n):
        search.on_trial_complete(f"t{k}", result_of(search.suggest(f"t{k}")))


def constraints(search):
    """The values of the constraints (n, q) that a search has learned, which hold up to 0."""
    return trials_told(search.optimizer)["C"]


@over_seeds()
def test_limits_are_met_in_the_end():
    search = searcher()
    run(search, 40)
    config, loss = search.best_predicted()
    result = result_of(config)
    assert result["latency"] <= 20.0
    assert result["size"] >= 1e6
    assert loss < 0.5 + 2e-3, MOSTLY
    assert search.predict_feasible({"x": 0.9, "y": 0.9}) < 0.1, MOSTLY
    assert search.predict_feasible([{"x": 0.3, "y": 0.3}])[0] > 0.9, MOSTLY
    assert search.explain().n_feasible >= 5, MOSTLY


def test_restored_it_goes_on_in_the_same_way(tmp_path):
    search = searcher()
    run(search, 15)
    search.save(str(tmp_path / "state"))
    twin = GSSBOSearch(metric="loss", mode="min")
    twin.restore(str(tmp_path / "state"))
    for one in (search, twin):
        run(one, 5, 15)
    np.testing.assert_array_equal(constraints(search), constraints(twin))
    assert search.suggest("last") == twin.suggest("last")


@pytest.mark.allows_fallback  # a warning
def test_results_that_lack_a_metric_or_hold_nonsense(caplog):
    search = searcher()
    results = [{}, {"latency": 10.0}, {"latency": math.nan, "size": 2e6}, {"latency": "fast"}, {"latency": None}]
    for k, extra in enumerate(results):
        search.suggest(f"t{k}")
        search.on_trial_complete(f"t{k}", {"loss": 1.0} | extra)
    np.testing.assert_array_equal(
        constraints(search), [[np.nan, np.nan], [-10.0, np.nan], [np.inf, -1e6], [np.inf, np.nan], [np.nan, np.nan]]
    )
    assert caplog.text.count("counts as one that meets it") == 2  # one of each metric


def test_a_trial_that_is_stopped_while_paused_keeps_its_last_metrics():
    search = searcher()
    search.suggest("t0")
    search.on_trial_result("t0", {"loss": 1.0, "latency": 25.0, "size": 2e6, "training_iteration": 1})
    search.on_pause("t0")
    search.on_trial_complete("t0", None)
    np.testing.assert_array_equal(constraints(search), [[5.0, -1e6]])


# -- metrics that are missing ------------------------------------------------------------------------------------------


def typed(**extra):
    """A search with a typing error in a constraint, and a result with what else Tune adds."""
    search = GSSBOSearch(SPACE, "loss", "min", seed=0, constraints={"latncy": ("<=", 20.0)})
    added = {"training_iteration": 1, "pid": 7, "done": True, "date": "now", "config/x": 0.5, "config": {"x": 0.5}}
    return search, {"loss": 1.0, "accuracy": np.float32(0.5), "latency": 25.0} | added | extra


@pytest.mark.allows_fallback
def test_a_metric_that_is_missing_is_named_once_with_those_like_it_first(caplog):
    search, result = typed()
    for k in range(3):
        search.suggest(f"t{k}")
        search.on_trial_complete(f"t{k}", result)
    assert caplog.messages == [
        "A trial ended without the metric 'latncy', which has a constraint, and counts as one that meets it. "
        "Its last metrics: 'latency', 'accuracy', 'loss'."
    ]
    assert search.optimizer.n_told == 3


@pytest.mark.allows_fallback
def test_names_of_tune_are_said_only_if_they_are_like_it_and_never_too_many(caplog):
    many = {f"m{k:02}": 1.0 for k in range(30)}
    search = GSSBOSearch(SPACE, "loss", "min", seed=0, constraints={"time_total": ("<=", 60.0)})
    search.suggest("t0")
    search.on_trial_complete("t0", {"loss": 1.0, "time_total_s": 3.0, "pid": 7} | many)
    (message,) = caplog.messages
    named = ["time_total_s", "loss", *list(many)[:8]]
    assert message.endswith(f"Its last metrics: {', '.join(map(repr, named))} and 22 more.")


def test_trials_that_fail_or_say_nothing_lack_nothing(caplog):
    search, result = typed()
    ends = [(None, True), (result, True), (result | {"loss": math.nan}, False), (None, False)]
    for k, (found, error) in enumerate(ends):
        search.suggest(f"t{k}")
        search.on_trial_complete(f"t{k}", found, error=error)
    assert not caplog.messages


@pytest.mark.allows_fallback
def test_a_trial_that_is_stopped_while_paused_names_what_it_had_reported(caplog):
    search, result = typed()
    search.suggest("t0")
    search.on_trial_result("t0", result)
    assert b"accuracy" in pickle.dumps(search)
    search.on_pause("t0")
    search.on_trial_complete("t0", None)
    assert caplog.messages[0].endswith("Its last metrics: 'latency', 'accuracy', 'loss'.")
    search.suggest("t1")
    search.on_trial_result("t1", result)
    assert b"accuracy" not in pickle.dumps(search)  # no more is kept than is needed


@pytest.mark.allows_fallback
def test_a_warning_is_not_repeated_by_a_restored_search(caplog, tmp_path):
    search, result = typed()
    search.suggest("t0")
    search.on_trial_complete("t0", result)
    search.save(str(tmp_path / "state"))
    twin = GSSBOSearch()
    twin.restore(str(tmp_path / "state"))
    twin.suggest("t1")
    twin.on_trial_complete("t1", result)
    assert len(caplog.messages) == 1


# -- points that were evaluated elsewhere ------------------------------------------------------------------------------

POINTS = [{"x": 0.25 * k, "y": 0.3 + 0.1 * k} for k in range(5)]


def known(search):
    return *search.optimizer.observations, constraints(search)


def test_evaluated_points_teach_what_trials_teach():
    told, added = searcher(), searcher()
    results = [result_of(point) for point in POINTS]
    nested = [{"loss": r["loss"], "latency": r["latency"], "size": r["size"], "other": {"a": "b"}} for r in results]
    rewarded = GSSBOSearch(
        SPACE, "loss", "min", seed=seeded(0), constraints=LIMITS, points_to_evaluate=POINTS, evaluated_rewards=nested
    )
    given = GSSBOSearch(SPACE, "loss", "min", seed=seeded(0), constraints=LIMITS, points_to_evaluate=POINTS)
    for k, (point, result) in enumerate(zip(POINTS, results, strict=True)):
        assert given.suggest(f"t{k}") == point
        given.on_trial_complete(f"t{k}", result)
        added.add_evaluated_point(point, result["loss"], metrics=result)
        told.optimizer.tell(
            point,
            result["loss"],
            constraints={"latency": result["latency"] - 20.0, "size": 1e6 - result["size"]},
        )
    for other in (given, added, rewarded):
        for one, same in zip(known(told), known(other), strict=True):
            np.testing.assert_array_equal(one, same)
    assert added.suggest("next") == rewarded.suggest("next") == told.suggest("next")


@pytest.mark.parametrize(
    ("name", "metrics"),
    [
        ("eval/latency", {"eval": {"latency": 25.0, "loss": 1.0}}),
        ("latency", {"latency": 25.0, "eval/loss": 1.0}),
    ],
)
def test_nested_metrics_have_the_names_that_tune_gives_them(name, metrics):
    known_point = {"points_to_evaluate": POINTS[:1], "evaluated_rewards": [metrics]}
    search = GSSBOSearch(SPACE, "eval/loss", "min", constraints={name: ("<=", 20.0)}, **known_point)
    search.add_evaluated_point(POINTS[1], 2.0, metrics=metrics)
    np.testing.assert_array_equal(known(search)[2], [[5.0], [5.0]])


@pytest.mark.allows_fallback
def test_evaluated_points_of_which_less_is_known(caplog):
    search = searcher()
    search.add_evaluated_point(POINTS[0], 1.0)
    search.add_evaluated_point(POINTS[1], 1.0, metrics={"latency": None, "size": math.nan})
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("A point was evaluated without the metric 'latency', which has a constraint")
    search.add_evaluated_point(POINTS[2], 1.0, metrics={"size": 2e6, "latency": np.float64(19.0)})
    search.add_evaluated_point(
        POINTS[3], None, pruned=True, intermediate_values=[3.0, 2.0], metrics={"latency": 21, "size": 3e6}
    )
    search.add_evaluated_point(POINTS[4], 1.0, error=True, metrics={"latency": 21.0})
    C = [[np.nan, np.nan], [np.nan, np.inf], [-1.0, -1e6], [1.0, -2e6], [1.0, np.nan]]
    np.testing.assert_array_equal(known(search)[2], C)
    assert search.optimizer.n_told == 5
    assert len(caplog.messages) == 1


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        (21.0, r"metrics must be a mapping of reported metrics such as \{\"latency\": 12.0\}, or None, got 21.0"),
        ([("latency", 21.0)], "metrics must be a mapping"),
        ({3: 21.0}, "metrics must be a mapping"),
        ({"latency": "fast"}, r"metrics\['latency'\] must be a number, got 'fast'"),
        ({"latency": [21.0], "size": 2e6}, r"metrics\['latency'\] must be a number, got \[21.0\]"),
    ],
)
def test_bad_metrics_are_refused(metrics, words):
    search = searcher()
    with pytest.raises(ValueError, match=words):
        search.add_evaluated_point(POINTS[0], 1.0, metrics=metrics)
    assert search.optimizer.n_told == 0


LACKS = "evaluated_rewards that are mappings must have numbers for the objective's metric and those of the constraints"


@pytest.mark.parametrize(
    ("reward", "words"),
    [
        ({"latency": 3.0, "size": 2e6}, f"{LACKS}, but .* has none for 'loss'"),
        ({"loss": 1.0, "size": 2e6, "latncy": 3.0}, f"{LACKS}, but .*'latncy': 3.0.* has none for 'latency'"),
        ({"loss": None, "size": 2e6, "latency": 3.0}, f"{LACKS}, but .* has none for 'loss'"),
        ({"loss": 1.0, "size": "big", "latency": 3.0}, f"{LACKS}, but .* has none for 'size'"),
    ],
)
def test_bad_rewards_are_refused(reward, words):
    good = {"loss": 1.0, "latency": 3.0, "size": 2e6}
    settings = {"constraints": LIMITS, "points_to_evaluate": POINTS[:2], "evaluated_rewards": [good, reward]}
    with pytest.raises(ValueError, match=words):
        GSSBOSearch(SPACE, "loss", "min", **settings)
    if isinstance(reward.get("latency"), float) and reward.get("size") == 2e6:  # the objective is known by the run only
        for given in ({}, {"space": SPACE, "mode": "min"}):
            search = GSSBOSearch(**settings, **given)
            with pytest.raises(ValueError, match=words):
                search.set_search_properties("loss", "min", SPACE)
            assert search.optimizer is None
            assert search.metric is None


def test_rewards_are_learned_when_the_run_says_the_metric():
    rewards = [2.0, {"loss": 1.0, "latency": 21.0, "size": 2e6}]
    search = GSSBOSearch(
        SPACE, mode="min", constraints=LIMITS, points_to_evaluate=POINTS[:2], evaluated_rewards=rewards
    )
    assert search.optimizer is None
    assert search.set_search_properties("loss", None, {})
    np.testing.assert_array_equal(known(search)[1], [2.0, 1.0])
    np.testing.assert_array_equal(known(search)[2], [[np.nan, np.nan], [1.0, -1e6]])


def test_searchers_without_constraints_take_metrics_too():
    point, metrics = {"x": 0.5, "y": 0.5}, {"loss": 3.0, "latency": 21.0}
    search = BKBSearch(SPACE, "loss", "min", points_to_evaluate=[point], evaluated_rewards=[metrics])
    search.add_evaluated_point({"x": 0.25, "y": 0.5}, 4.0, metrics=metrics)
    assert search.optimizer.observations[1].tolist() == [3.0, 4.0]


# -- restored ----------------------------------------------------------------------------------------------------------

OTHERS = {"latency": ("<=", 10.0), "size": (">=", 1e6)}


@pytest.mark.allows_fallback
@pytest.mark.parametrize("way", ["file", "folder"])
@pytest.mark.parametrize("saved", [LIMITS, None])
def test_other_constraints_than_those_of_the_restored_search_are_said(way, saved, tmp_path, caplog):
    search = GSSBOSearch(SPACE, "loss", "min", seed=0, constraints=saved)
    run(search, 3)
    search.save(str(tmp_path / "state"))
    search.save_to_dir(str(tmp_path))
    other = GSSBOSearch(SPACE, "loss", "min", seed=0, constraints=OTHERS)

    def restore():
        if way == "file":
            other.restore(str(tmp_path / "state"))
        else:
            other.restore_from_dir(str(tmp_path))

    restore()
    (message,) = caplog.messages
    assert message.startswith(
        f"This GSSBOSearch was made with constraints={OTHERS}, but restored with constraints={saved or {}}"
    )
    restore()
    assert len(caplog.messages) == 1
    run(other, 2, 3)
    run(search, 2, 3)
    np.testing.assert_array_equal(known(search)[2], known(other)[2])
    assert search.suggest("next") == other.suggest("next")


@pytest.mark.parametrize("given", [None, LIMITS, dict(reversed(LIMITS.items()))])
def test_the_same_constraints_or_none_are_restored_in_silence(given, tmp_path, caplog):
    search = searcher()
    run(search, 3)
    search.save(str(tmp_path / "state"))
    other = GSSBOSearch(constraints=given)
    other.restore(str(tmp_path / "state"))
    assert not caplog.messages
    run(search, 1, 3)
    run(other, 1, 3)
    np.testing.assert_array_equal(constraints(other), constraints(search))


def test_a_state_that_cannot_be_restored_says_nothing_of_constraints(tmp_path, caplog):
    BKBSearch(SPACE, "loss", "min").save(str(tmp_path / "state"))
    other = GSSBOSearch(SPACE, "loss", "min", constraints=LIMITS)
    with pytest.raises(ValueError, match="Cannot restore"):
        other.restore(str(tmp_path / "state"))
    assert not caplog.messages
    other.suggest("t0")
    other.on_trial_complete("t0", {"loss": 1.0, "latency": 25.0, "size": 2e6})
    np.testing.assert_array_equal(constraints(other), [[5.0, -1e6]])


@pytest.mark.allows_fallback
def test_metrics_are_learned_from_the_records_of_tune_nested_or_not(tmp_path, caplog):
    rows = [
        ("a", {"eval": {"loss": 1.0, "latency": 25.0}, "config": {"x": 0.1, "y": 0.2}}),
        ("b", {"eval/loss": 2.0, "eval/latency": 15.0}),
        ("c", {"eval": {"loss": 3.0}}),
    ]
    trials = [
        [
            json.dumps({"trial_id": name, "status": "TERMINATED", "config": {"x": 0.1 * k, "y": 0.2}}),
            json.dumps({"last_result": result}),
        ]
        for k, (name, result) in enumerate(rows)
    ]
    (tmp_path / "experiment_state-2026-01-02.json").write_text(json.dumps({"trial_data": trials}))
    search = GSSBOSearch(SPACE, "eval/loss", "min", seed=0, constraints={"eval/latency": ("<=", 20.0)})
    search.restore_from_dir(str(tmp_path))
    assert search.optimizer.observations[1].tolist() == [1.0, 2.0, 3.0]
    np.testing.assert_array_equal(known(search)[2], [[5.0], [-5.0], [np.nan]])
    assert [m for m in caplog.messages if "without the metric 'eval/latency'" in m] == [caplog.messages[-1]]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([("latency", "<=", 3)], "constraints must be a mapping of metrics"),
        ({"latency": 20.0}, "'latency': 20.0"),
        ({"latency": ("<", 20.0)}, "must give '<=' or '>=' and a finite bound"),
        ({"latency": ("<=", math.inf)}, "finite bound"),
        ({"latency": ("<=", "20")}, "finite bound"),
        ({"latency": ("<=", True)}, "finite bound"),
        ({"latency": ("<=", 10**400)}, "finite bound"),
        ({"latency": (["<="], 20.0)}, "must give '<=' or '>='"),
        ({3: ("<=", 1.0)}, "got 3"),
    ],
)
def test_bad_limits_are_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        GSSBOSearch(SPACE, "loss", "min", constraints=wrong)


def test_others_refuse_them():
    with pytest.raises(TypeError, match="BKBSearch does not support constraints"):
        BKBSearch(SPACE, "loss", "min", constraints=LIMITS)
