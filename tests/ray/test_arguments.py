"""Checks of what a searcher is given: what they let pass, and the one sentence that says what is wrong."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Literal, get_args, get_type_hints

import numpy as np
import pytest

from numbo.ray import BBKBSearch, BKBSearch, CurveScheduler, GSSBOSearch, _arguments
from numbo.ray._arguments import (
    NAMED,
    agreed,
    are_values,
    check_agreement,
    check_constraints,
    check_metrics,
    check_objectives,
    check_points,
    check_reported,
    check_rewarded,
    check_rewards,
    check_run,
    lacks,
    no_goal,
    no_space,
    numbers_of,
    violation,
)


def refused(words, function, *arguments, **named):
    """The function refuses these arguments in one sentence that begins with these words."""
    with pytest.raises(ValueError, match="^" + re.escape(words)) as error:
        function(*arguments, **named)
    message = str(error.value)
    assert "\n" not in message
    assert message.endswith(".")
    return message


# -- metric and mode ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "mode", "found"),
    [
        (None, None, (None, None)),
        ("loss", None, ("loss", None)),
        (None, "max", (None, "max")),
        (["a", "b"], ["min", "max"], (["a", "b"], ["min", "max"])),
        (("a", "b"), np.array(["min", "max"]), (["a", "b"], ["min", "max"])),
        (list("abcde"), ["min"] * 5, (list("abcde"), ["min"] * 5)),
    ],
)
def test_one_objective_or_several(metric, mode, found):
    assert check_objectives("S", metric, mode, several=True) == found


@pytest.mark.parametrize(
    ("metric", "mode", "words"),
    [
        ("loss", "lowest", "mode must be 'min' or 'max', got 'lowest'."),
        ("loss", 3, "mode must be 'min' or 'max', got 3."),
        ("loss", ["min"], "metric must hold as many metrics as mode has modes, got 'loss' and ['min']."),
        (None, ["min", "max"], "metric must hold as many metrics as mode has modes, got None and"),
        (3, "min", "metric must be one string, or a list of 2 to 5 different ones, got 3."),
        (["a"], ["min"], "metric must be one string, or a list of 2 to 5 different ones, got ['a']."),
        (["a", "a"], ["min", "min"], "metric must be one string, or a list of 2 to 5 different ones, got"),
        (list("abcdef"), ["min"] * 6, "metric must be one string, or a list of 2 to 5 different ones, got"),
        ({"a", "b"}, ["min", "max"], "metric must be one string, or a list of 2 to 5 different ones, got"),
        (["a", 3], ["min", "max"], "metric must be one string, or a list of 2 to 5 different ones, got"),
        (["a", "b"], ["min"], "mode must hold 'min' or 'max' for each of the metrics ['a', 'b'], got ['min']."),
        (["a", "b"], "min", "mode must hold 'min' or 'max' for each of the metrics ['a', 'b'], got 'min'."),
        (["a", "b"], ["min", "low"], "mode must hold 'min' or 'max' for each of the metrics ['a', 'b'], got"),
    ],
)
def test_what_is_no_objective(metric, mode, words):
    refused(words, check_objectives, "S", metric, mode, several=True)


def test_searchers_of_one_objective_say_who_takes_several():
    assert check_objectives("S", "loss", "min", several=False) == ("loss", "min")
    other = "S has one objective, and GSSBOSearch takes several."
    refused(
        f"metric must be one string, got ['a', 'b']: {other}", check_objectives, "S", ["a", "b"], None, several=False
    )
    refused(f"mode must be one string, got ['min']: {other}", check_objectives, "S", "a", ["min"], several=False)


def test_searcher_and_run_agree_if_no_two_values_differ():
    assert agreed("S", {"metric": ("loss", None), "mode": (None, "max")}) == ["loss", "max"]
    assert agreed("S", {"metric": ("loss", "loss"), "mode": ("min", "min")}) == ["loss", "min"]
    refused(no_goal("S", ["mode"]), agreed, "S", {"metric": ("loss", None), "mode": (None, None)})
    goal = {"metric": ("loss", "loss"), "mode": ("min", "max")}
    words = (
        "TuneConfig has mode='max', but this S was made for, or has already searched with, mode='min': pass the same "
    )
    refused(words, agreed, "S", goal)


def test_of_several_metrics_a_run_names_one_with_its_mode_or_none():
    own = {"a": "min", "b": "max"}
    for metric, mode in ((None, None), ("a", None), ("b", "max")):
        check_agreement("S", own, metric, mode)
    advice = "this S: pass one of its metrics with its mode to TuneConfig, for Tune to report the best result by, or"
    refused(f"TuneConfig has mode='min' only, for {advice}", check_agreement, "S", own, None, "min")
    refused(
        f"TuneConfig has metric='c', which is none of the metrics ['a', 'b'] of {advice}",
        check_agreement,
        "S",
        own,
        "c",
        "min",
    )
    words = f"TuneConfig has mode='min' for metric='b', but the mode is 'max' in {advice}"
    refused(words, check_agreement, "S", own, "b", "min")


def test_tune_itself_has_one_metric():
    check_run(None, None)
    check_run("loss", "min")
    refused("TuneConfig has metric=['a', 'b'], but Tune itself has one metric: pass", check_run, ["a", "b"], None)
    refused("TuneConfig has mode=['min'], but Tune itself has one mode: pass", check_run, "a", ["min"])


def test_what_is_missing_is_said_with_where_to_pass_it():
    assert no_goal("S", ["mode"]) == 'S has no mode: pass mode="min" to TuneConfig, or to S.'
    both = no_goal("S", ["metric", "mode"], table=True)
    assert both == 'S has no metric and no mode: pass metric="loss" and mode="min" to S, as there is no param_space.'
    assert no_space("S").endswith("tune.uniform(0, 1), or pass space= to S.")


# -- points and rewards ------------------------------------------------------------------------------------------------


def test_points_are_copied():
    given = [{"x": 0.5}]
    points = check_points(given)
    points[0]["x"] = 1.0
    assert given == [{"x": 0.5}]
    assert check_points(None) == check_points(()) == []
    assert check_points({"x": x} for x in (1, 2)) == [{"x": 1}, {"x": 2}]
    for wrong in ({"x": 0.5}, "x", 3):
        refused("points_to_evaluate must be a list of configs such as", check_points, wrong)
    refused('points_to_evaluate must hold configs such as {"x": 0.5}, got 0.5.', check_points, [{"x": 0.5}, 0.5])


def test_metrics_are_numbers_of_any_size_as_in_the_results_of_trials():
    for number in (3, 0.5, True, 10**400, math.inf, None):
        assert check_metrics({"size": number}, ["size"]) == {"size": number}
    refused("metrics['size'] must be a number, got 'a'.", check_metrics, {"size": "a"}, ["size"])
    assert check_rewarded({"loss": 10**400}, ["loss"]) == {"loss": 10**400}


def test_reported_values_are_a_sequence_of_numbers():
    assert check_reported((1, np.float32(0.5)), 1) == [1, 0.5]
    assert check_reported([(1.0, 2.0), [3.0, 4.0]], 2) == [(1.0, 2.0), [3.0, 4.0]]
    for wrong in (5, "12", {1: 2.0}, ["a"], [None], [True], [10**400], [(1.0, 2.0)]):
        refused("intermediate_values must be a sequence of numbers, or None, got", check_reported, wrong, 1)
    for wrong in (5, [1.0], [(1.0,)], [(1.0, "a")]):
        refused(
            "intermediate_values must be a sequence of sequences of 2 numbers, or None, got", check_reported, wrong, 2
        )


def test_rewards_are_numbers_or_metrics_one_for_each_point():
    assert check_rewards(None, 3, 1, []) is None
    assert check_rewards([1, np.float32(0.5)], 2, 1, []) == [1.0, 0.5]
    assert check_rewards([{"a": {"loss": 1.0}}], 1, 1, ["a/loss"]) == [{"a/loss": 1.0}]  # flat, as Tune names them
    assert check_rewards([[1, 2.0], np.array([3.0, 4.0])], 2, 2, []) == [(1.0, 2.0), (3.0, 4.0)]
    one = "evaluated_rewards must hold numbers, or mappings of metrics such as"
    several = "evaluated_rewards must hold sequences of 2 numbers, or mappings of metrics such as"
    for wrong in ("a", None, True, 10**400, (1.0,), {3: 1.0}):
        refused(one, check_rewards, [wrong], 1, 1, [])
    for wrong in (1.0, (1.0,), (1.0, "a"), (1.0, 2.0, 3.0), {1.0, 2.0}):
        refused(several, check_rewards, [wrong], 1, 2, [])
    for wrong in (3, "ab", {"loss": 1.0}):
        refused("evaluated_rewards must be a list of numbers or of mappings", check_rewards, wrong, 1, 1, [])
    refused(
        "evaluated_rewards must hold a value for each of the 2 points_to_evaluate, got 1.",
        check_rewards,
        [1.0],
        2,
        1,
        [],
    )


def test_rewards_have_a_number_for_each_metric_that_is_wanted():
    reward = {"loss": 1.0, "time": None, "name": "x"}
    assert check_rewarded(reward, ["loss"]) is reward
    for lacking in ("time", "name", "size"):
        message = refused(
            "evaluated_rewards that are mappings must have numbers", check_rewarded, reward, ["loss", lacking]
        )
        assert message.endswith(f"has none for {lacking!r}.")


def test_values_are_as_many_real_numbers():
    assert are_values([1, 2.5], 2)
    assert are_values(np.array([1.0, math.nan]), 2)
    for wrong in ([1.0], [1.0, "2"], [1.0, 2j], {1.0, 2.0}, {1.0: 2.0, 3.0: 4.0}, "12", 12, None):
        assert not are_values(wrong, 2)


def test_metrics_of_a_point_are_flat_and_those_with_limits_are_numbers():
    assert check_metrics({"eval": {"loss": 1.0}, "name": "x"}, ["eval/loss"]) == {"eval/loss": 1.0, "name": "x"}
    assert check_metrics({"time": None}, ["time", "size"]) == {"time": None}
    for wrong in (21.0, [("time", 21.0)], {3: 21.0}, None):
        refused(
            'metrics must be a mapping of reported metrics such as {"latency": 12.0}, or None', check_metrics, wrong, []
        )
    refused("metrics['time'] must be a number, got 'fast'.", check_metrics, {"time": "fast"}, ["time"])


# -- constraints -------------------------------------------------------------------------------------------------------


def test_limits_are_copied_with_their_bounds_as_doubles():
    given = {"time": ["<=", 20], "size": (">=", np.float32(0.5))}
    assert check_constraints(given) == {"time": ("<=", 20.0), "size": (">=", 0.5)}
    assert check_constraints(None) == check_constraints({}) == {}


@pytest.mark.parametrize(
    "limit", [20.0, ("<", 20.0), ("<=",), ("<=", 20.0, 30.0), ("<=", "20"), ("<=", math.inf), ("<=", math.nan), "<="]
)
def test_what_is_no_limit(limit):
    message = refused(
        "constraints must give '<=' or '>=' and a finite bound for each metric, such as",
        check_constraints,
        {"time": limit},
    )
    assert message.endswith(f"got 'time': {limit!r}.")


def test_constraints_are_by_the_names_of_metrics():
    refused("constraints must give '<=' or '>='", check_constraints, {3: ("<=", 20.0)})
    refused("constraints must be a mapping of metrics such as", check_constraints, [("time", "<=", 20.0)])


@pytest.mark.parametrize(
    ("value", "most", "least"),
    [
        (25.0, 5.0, -5.0),
        (20, 0.0, 0.0),
        (np.float32(0.5), -19.5, 19.5),
        (math.inf, math.inf, -math.inf),
        (True, -19.0, 19.0),
        ("fast", math.nan, math.nan),
        ([1.0, 2.0], math.nan, math.nan),
        (10**400, math.nan, math.nan),
        (math.nan, math.nan, math.nan),
    ],
    ids=lambda value: str(value)[:9],
)
def test_a_violation_is_how_far_a_value_is_beyond_its_bound(value, most, least):
    assert violation(("<=", 20.0), value) == pytest.approx(most, nan_ok=True)
    assert violation((">=", 20.0), value) == pytest.approx(least, nan_ok=True)


def test_what_was_not_reported_violates_nothing():
    assert violation(("<=", 20.0), None) is None


# -- metrics that are missing ------------------------------------------------------------------------------------------


def test_the_numbers_of_a_result_are_those_of_the_trial():
    result = {
        "loss": 1.0,
        "n": 3,
        "f": np.float32(1),
        "array": np.ones(1),
        "name": "x",
        "none": None,
        "config/x": 0.5,
        3: 1.0,
    }
    assert numbers_of(result) == ["loss", "n", "f", "array"]


def test_a_metric_that_is_missing_is_named_with_those_like_it_first():
    words = "A trial ended without the metric 'latncy', which has a constraint, and counts as one that meets it. "
    result = {"accuracy": 1.0, "latency": 1.0, "pid": 7, "done": True, "training_iteration": 1}
    assert lacks("A trial ended", "latncy", result) == words + "Its last metrics: 'latency', 'accuracy'."
    assert lacks("A trial ended", "latncy", {"name": "x"}) == words + "Its last metrics: none."
    assert lacks("A trial ended", "time_total", {"time_total_s": 1.0}).endswith("Its last metrics: 'time_total_s'.")
    many = {f"m{k:02}": 1.0 for k in range(NAMED + 2)}
    assert lacks("A trial ended", "latncy", many).endswith(f"'m{NAMED - 1:02}' and 2 more.")


def test_the_words_of_the_types_are_those_that_are_accepted():
    assert get_args(_arguments.Mode) == _arguments.MODES
    assert get_args(_arguments.Relation) == tuple(_arguments.RELATIONS)
    hints = get_type_hints(GSSBOSearch.__init__)
    assert hints["avoid_repeats"] == bool | Literal["auto"] | None
    assert hints["preset"] == Literal["default", "paper"] | None
    assert hints["mode"] == Literal["min", "max"] | Sequence[Literal["min", "max"]] | None
    for cls in (BKBSearch, BBKBSearch, CurveScheduler):
        assert get_type_hints(cls.__init__)["mode"] == Literal["min", "max"] | None
