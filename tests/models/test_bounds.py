"""Bounds on which points fail although those beside them work."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers import MOSTLY, over_seeds, seeded

from numbo import GSSBO, Float
from numbo.models.bounds import DOUBLINGS, STEP, UNLIKELY, failing_bounds, off_bounds
from numbo.spaces import INACTIVE

CONTINUOUS = np.array([True, True])


def points(n=12):
    return 0.05 + 0.9 * np.random.default_rng(0).random((n, 2))


def by_hand(X, failed, continuous):
    """The same rule, one point and one bound after the other."""
    left, closed, explained = list(range(len(X))), np.zeros((2, X.shape[1]), dtype=bool), np.zeros(len(X), dtype=bool)
    while True:
        found = None
        for side in (0, 1):
            for j in np.flatnonzero(continuous):
                on = [i for i in left if X[i, j] == side]
                off = {i: abs(X[i, j] - side) for i in left if X[i, j] != side and X[i, j] != INACTIVE}
                if not on or not off or not all(failed[i] for i in on):
                    continue
                beside = [failed[i] for i, distance in off.items() if distance == min(off.values())]
                rate = (sum(failed[i] for i in off) + 1) / (len(off) + 2)
                convicted = sum(beside) / len(beside) < 0.5 and rate ** len(on) < UNLIKELY
                if convicted and (found is None or len(on) > len(found[2])):
                    found = side, j, on
        if found is None:
            return closed, explained
        closed[found[0], found[1]] = True
        explained[found[2]] = True
        left = [i for i in left if i not in found[2]]


@settings(max_examples=400)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.sampled_from(["bounds", "random"]))
def test_bounds_and_what_they_explain_are_those_of_the_rule(seed, n, fails):
    rng = np.random.default_rng(seed)
    X = rng.choice([INACTIVE, 0.0, 0.2, 0.5, 0.8, 1.0], (n, 3), p=[0.05, 0.15, 0.3, 0.2, 0.2, 0.1])
    random, continuous = rng.random(n) < 0.1, rng.random(3) < 0.9
    failed = random | (X[:, 0] == 0.0) | (X[:, 1] == 1.0) if fails == "bounds" else rng.random(n) < 0.4
    for found, expected in zip(failing_bounds(X, failed, continuous), by_hand(X, failed, continuous), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_bound_is_known_by_its_failures():
    X = np.concatenate([points(), [[0.0, 0.4], [0.0, 0.6]]])
    closed, explained = failing_bounds(X, X[:, 0] == 0.0, CONTINUOUS)
    assert closed.tolist() == [[True, False], [False, False]]
    assert explained.tolist() == [False] * 12 + [True, True]
    closed, explained = failing_bounds(1.0 - X, X[:, 0] == 0.0, CONTINUOUS)
    assert closed.tolist() == [[False, False], [True, False]]
    assert not failing_bounds(X, X[:, 0] == 0.0, ~CONTINUOUS)[0].any()


def test_a_corner_does_not_accuse_both_of_its_bounds():
    X = np.concatenate([points(), [[0.0, 1.0], [0.0, 0.6]]])
    assert failing_bounds(X, X[:, 0] == 0.0, CONTINUOUS)[0].tolist() == [[True, False], [False, False]]


@pytest.mark.parametrize("why", ["a success there", "a region", "one by accident", "nothing failed"])
def test_no_bound_is_to_blame_without_evidence(why):
    X = np.concatenate([points(), [[0.0, 0.4], [0.0, 0.6], [0.001, 0.5]]])
    failed = X[:, 0] == 0.0
    if why == "a success there":
        failed[12] = False
    elif why == "a region":
        failed[14] = True
    elif why == "one by accident":
        X, failed = X[:13], failed[:13]
    else:
        failed[:] = False
    closed, explained = failing_bounds(X, failed, CONTINUOUS)
    assert not closed.any()
    assert not explained.any()


def test_points_move_off_a_failing_bound_to_where_none_is():
    closed = np.array([[True, False], [False, True]])
    x, free = np.array([0.0, 1.0]), lambda x: False
    np.testing.assert_allclose(off_bounds(x, closed, free), [STEP, 1.0 - STEP])
    np.testing.assert_allclose(off_bounds(x, closed, lambda x: x[0] < 3 * STEP), [4 * STEP, 1.0 - 4 * STEP])
    most = STEP * 2**DOUBLINGS
    np.testing.assert_allclose(off_bounds(x, closed, lambda x: True), [most, 1.0 - most])
    inside = np.array([1.0, 0.0])
    assert off_bounds(inside, closed, free) is inside


@over_seeds()
def test_a_search_goes_on_beside_a_failing_bound():
    opt = GSSBO({"split": Float(0.0, 1.0), "other": Float(0.0, 1.0)}, seed=seeded(0))
    failed = []
    for _ in range(50):
        p = opt.ask()
        failed.append(p["split"] == 0.0)
        opt.tell(p, None if failed[-1] else p["split"] + (p["other"] - 0.3) ** 2)
    assert 0 < sum(failed) <= 5, MOSTLY
    assert not any(failed[25:]), MOSTLY
    assert opt.best[0]["split"] < 0.01, MOSTLY
    twin = GSSBO.from_state_dict(opt.state_dict())
    assert twin.ask() == opt.ask()


def test_fixed_values_stay_on_a_failing_bound():
    opt = GSSBO({"split": Float(0.0, 1.0), "other": Float(0.0, 1.0)}, seed=0)
    for k in range(20):
        p = {"split": 0.0 if k > 16 else (k + 1) / 20, "other": (k * 7 % 20) / 20}
        opt.tell(p, None if p["split"] == 0.0 else p["split"])
    x = opt.suggest(fixed={"split": 0.0}).x
    assert x[0] == 0.0
