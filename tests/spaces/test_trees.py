"""Decision trees that tell trials with a parameter from those without."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numbo import Categorical, Float, Int
from numbo.spaces.conditions import Compared, OneOf
from numbo.spaces.trees import DEPTH, between, grown, holds

NAMES = ["kind", "k", "x"]
KINDS = [Categorical(list("abc")), Int(0, 9), Float(0.0, 1.0)]


def trials(n, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(3, size=n), rng.integers(10, size=n), rng.random(n)]).astype(float)


RULES = {
    "one category": lambda V: V[:, 0] == 1,
    "two categories": lambda V: V[:, 0] != 2,
    "a threshold": lambda V: V[:, 1] >= 4,
    "a real threshold": lambda V: V[:, 2] <= 0.3,
    "both": lambda V: (V[:, 0] == 0) & (V[:, 1] < 5),
    "either": lambda V: (V[:, 0] == 0) | (V[:, 1] > 7),
    "three tests": lambda V: (V[:, 0] == 0) & (V[:, 1] < 7) & (V[:, 2] > 0.2),
}


@pytest.mark.parametrize("rule", RULES)
def test_what_a_program_asks_is_found(rule):
    V, used = trials(300), RULES[rule]
    found = grown(NAMES, KINDS, V, used(V))
    np.testing.assert_array_equal(holds(found, NAMES, V), used(V))
    others = trials(500, seed=1)
    assert np.mean(holds(found, NAMES, others) == used(others)) > 0.95


def test_one_of_several_categories_takes_one_test():
    V = trials(300)
    assert grown(NAMES, KINDS, V, V[:, 0] == 1) == ((("kind", OneOf((1,))),),)


@given(st.integers(1, 25), st.integers(0, 10**6))
def test_a_tree_tells_all_trials_apart_or_there_is_none(n, seed):
    V = trials(n, seed)
    used = np.random.default_rng(seed).random(n) < 0.5
    found = grown(NAMES, KINDS, V, used)
    if found is not None:
        np.testing.assert_array_equal(holds(found, NAMES, V), used)
        assert all(len(group) <= DEPTH for group in found)
    else:
        assert n > 1


def test_the_same_trials_with_and_without_cannot_be_told_apart():
    V = np.repeat(trials(1), 2, axis=0)
    assert grown(NAMES, KINDS, V, np.array([True, False])) is None


def test_a_parameter_that_some_trials_lack_is_not_asked():
    V = trials(40)
    used = V[:, 1] >= 4
    V[0, 1] = np.nan
    asked = {name for group in grown(NAMES, KINDS, V, used) or () for name, _ in group}
    assert "k" not in asked


def test_trials_that_are_all_alike_need_no_tests():
    V = trials(5)
    assert grown(NAMES, KINDS, V, np.ones(5, dtype=bool)) == ((),)
    assert grown(NAMES, KINDS, V, np.zeros(5, dtype=bool)) == ()
    assert holds(((),), NAMES, V).all()
    assert not holds((), NAMES, V).any()


def test_of_several_tests_all_have_to_hold_and_of_several_groups_one():
    V = np.array([[0.0, 1.0, 0.5], [0.0, 9.0, 0.5], [2.0, 9.0, 0.5]])
    both = (("kind", OneOf((0, 1))), ("k", Compared(">=", 4.0)))
    assert holds([both], NAMES, V).tolist() == [False, True, False]
    assert holds([both, (("kind", OneOf((2,))),)], NAMES, V).tolist() == [False, True, True]


REALS = st.floats(-1e300, 1e300)


@given(REALS, REALS, st.booleans())
def test_a_threshold_tells_both_values_apart(one, other, integer):
    without, nearest = (math.floor(one), math.floor(other)) if integer else (one, other)
    if without == nearest or (integer and max(abs(without), abs(nearest)) > 2**50):
        return
    bound = between(integer, float(without), float(nearest))
    test = (lambda v: v >= bound) if nearest > without else (lambda v: v <= bound)
    assert test(nearest)
    assert not test(without)


@pytest.mark.parametrize(
    ("without", "nearest", "threshold"),
    [
        (0.4137, 0.5931, 0.5),
        (0.5931, 0.4137, 0.5),
        (-0.2, 0.13, 0.0),
        (0.00213, 0.00231, 0.0022),
        (-7.3e5, -7.1e5, -7.2e5),
        (0.0, 1.0, 0.5),
        (0.3, np.nextafter(0.3, 1.0), np.nextafter(0.3, 1.0)),
    ],
)
def test_thresholds_have_few_digits(without, nearest, threshold):
    assert between(False, without, nearest) == pytest.approx(threshold, rel=1e-15)
