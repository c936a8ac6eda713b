"""What is told of a trial, as it is checked and kept: in the unit cube, larger outputs being better."""

from __future__ import annotations

import math

import numpy as np
import pytest

from numbo import GSSBO, SBPE, Categorical, Float, Space

SPACE = Space({"x": Float(-1.0, 3.0), "kind": Categorical(["a", "b"])})
POINT = {"x": 2.0, "kind": "b"}


def kept(opt):
    return opt.state_dict()["run"]["history"]


@pytest.mark.parametrize(("direction", "sign"), [("minimize", -1.0), ("maximize", 1.0)])
def test_a_trial_is_kept_with_all_that_was_told(direction, sign):
    opt = GSSBO(SPACE, direction=direction, constraints=("late", "large"), seed=0)
    given = dict(POINT)
    opt.tell(given, 3, std=0.2, partial=True, reports={2: 5, 1: 4.0, 3: math.nan}, constraints={"large": -1})
    given["x"] = 0.0
    found = kept(opt)
    np.testing.assert_array_equal(found["X"], [SPACE.encode(POINT)])
    np.testing.assert_array_equal(found["Y"], [[3.0 * sign]])
    np.testing.assert_array_equal(found["C"], [[np.nan, -1.0]])
    np.testing.assert_allclose(found["variance"], [0.04])
    assert found["params"] == [POINT]
    assert found["final"].tolist() == [False]
    (curve,) = found["curves"]
    np.testing.assert_array_equal(curve, [[1.0, 2.0], [4.0 * sign, 5.0 * sign]])


def test_what_is_not_told_is_unknown():
    opt = GSSBO(SPACE, constraints=("late",), seed=0)
    opt.tell(POINT, None)
    opt.tell(POINT, 1.0, constraints={"late": math.nan})
    found = kept(opt)
    assert np.isnan(found["Y"][0, 0])
    np.testing.assert_array_equal(found["C"], [[np.nan], [np.inf]])  # a violation of unknown size
    assert found["variance"].tolist() == [0.0, 0.0]
    assert found["final"].tolist() == [True, True]
    assert found["curves"] == [None, None]


def test_reports_are_kept_by_algorithms_that_use_them():
    opt = SBPE(SPACE, horizon=50, seed=0)
    opt.tell(POINT, 1.0, reports={1: 2.0})
    assert kept(opt)["curves"] == [None]


def test_of_several_objectives_each_has_its_direction_and_a_failure_fails_in_all():
    opt = GSSBO(SPACE, directions=("minimize", "maximize"), seed=0)
    opt.tell([POINT, POINT], [(1.0, 2.0), (1.0, math.nan)])
    np.testing.assert_array_equal(kept(opt)["Y"], [[-1.0, 2.0], [np.nan, np.nan]])


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (([POINT, {"x": 9.0, "kind": "a"}], [1.0, 2.0]), r"params\['x'\] = 9\.0 is not in"),
        (([POINT, POINT], [1.0, "low"]), "value must be a number or None for a failure, got 'low'"),
        (([POINT, POINT], [1.0, "3"]), "value must be a number or None for a failure, got '3'"),
        (([POINT, POINT], [1.0, 2.0], {"std": [0.1, -0.1]}), "std must be a number of at least 0, got -0.1"),
        (([POINT, POINT], [1.0, 2.0], {"constraints": [{"late": 0}, {"lat": 0}]}), r"constraints must .*'lat'"),
    ],
)
def test_several_trials_are_kept_if_all_of_them_pass_the_checks(told, words):
    opt = GSSBO(SPACE, constraints=("late",), seed=0)
    points, values, *more = told
    with pytest.raises(ValueError, match=words):
        opt.tell(points, values, **(more[0] if more else {}))
    assert opt.n_told == len(kept(opt)["X"]) == 0
