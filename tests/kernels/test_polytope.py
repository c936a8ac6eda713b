"""Points are moved to where known constraints hold, as little as it takes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import INTERPRETED, entry, seeded

from numbo import Float, Int, Linear, Mixture, Nonzero, Order, Space
from numbo.kernels.polytope import (
    PASSES,
    STEPS,
    holding,
    keep_most,
    move_onto,
    nearest_anchor,
    pull_back,
    repaired,
    settle,
    take_steps,
)
from numbo.spaces.allowed import met, polytope_of

COUNT = 8 if INTERPRETED else 60
NAMES = ["a", "b", "c", "d"]
FLOATS = {name: Float(0.0, 1.0) for name in NAMES}
MIXED = {"a": Int(0, 20), "b": Int(1, 64, log=True), "c": Float(0, 10), "d": Float(-2.0, 4.0, step=0.5)}
CASES = {
    "simplex": (FLOATS, [Mixture(NAMES)]),
    "few": (FLOATS, [Mixture(NAMES, most=2)]),
    "nonzero": (FLOATS, [Nonzero(NAMES, 1)]),
    "order": (FLOATS, [Order(NAMES)]),
    "between": (FLOATS, [Linear({"a": 1, "b": -2}, least=-0.2, most=0.1), Linear({"c": 1, "d": 3}, least=2.0)]),
    "logarithms": ({name: Float(1e-4, 1.0, log=True) for name in NAMES}, [Mixture(NAMES), Order(NAMES[:2])]),
    "mixed": (MIXED, [Linear({"a": 1, "b": 1, "c": 1}, equal=30), Linear({"d": 2, "a": 1}, most=12)]),
    "integers": ({name: Int(0, 9) for name in NAMES}, [Linear(dict.fromkeys(NAMES, 1), equal=17)]),
}


def moved(space, constraints, X, held=None):
    held = np.zeros(X.shape, dtype=bool) if held is None else held
    return repaired(polytope_of(space, constraints), X, held, Space(space, allowed=constraints).allowed.anchors)


@pytest.mark.parametrize("case", CASES)
def test_all_points_are_moved_to_where_the_constraints_hold(case):
    dimensions, constraints = CASES[case]
    space = Space(dimensions)
    X = space.snap(np.random.default_rng(seeded(0)).random((COUNT, 4)))
    found, fine = moved(dimensions, constraints, X)
    assert fine.all()
    assert np.all((found >= 0.0) & (found <= 1.0))
    np.testing.assert_array_equal(holding(polytope_of(dimensions, constraints), found), True)
    for x in found:
        assert all(met(one, space.decode(x)) for one in constraints)


@pytest.mark.parametrize("case", CASES)
def test_points_where_they_hold_are_not_moved(case):
    dimensions, constraints = CASES[case]
    once, _ = moved(
        dimensions, constraints, Space(dimensions).snap(np.random.default_rng(seeded(1)).random((COUNT, 4)))
    )
    twice, _ = moved(dimensions, constraints, once)
    np.testing.assert_array_equal(twice, once)


def test_the_point_of_a_simplex_is_the_nearest_one():
    """Duchi et al. (2008): the largest coordinates, all less the same number."""
    X = np.random.default_rng(seeded(2)).random((COUNT, 4)) + 0.2
    X = np.minimum(X, 1.0)
    found, _ = moved(FLOATS, [Mixture(NAMES)], X)
    for x, y in zip(X, found, strict=True):
        shifts = [(np.sort(x)[::-1][:k].sum() - 1.0) / k for k in range(1, 5)]
        np.testing.assert_allclose(y, np.maximum(x - max(shifts), 0.0), atol=1e-12)


def test_held_coordinates_stay_and_what_cannot_be_met_is_said():
    X = np.array([[0.7, 0.9, 0.1, 0.2], [0.9, 0.6, 0.1, 0.2]])
    held = np.array([[True, False, False, False], [True, True, False, False]])
    found, fine = moved(FLOATS, [Mixture(NAMES)], X, held)
    np.testing.assert_array_equal(fine, [True, False])
    np.testing.assert_array_equal(found[held], X[held])
    assert found[0].sum() == pytest.approx(1.0, abs=1e-12)


def test_inactive_parameters_count_as_zero_or_are_left_out():
    X = np.array([[0.8, -1.0, 0.7, 0.1]])
    found, _ = moved(FLOATS, [Linear({"a": 1, "b": 1, "c": 1}, most=1.0)], X)
    assert found[0, 1] == -1.0
    assert found[0, 0] + found[0, 2] <= 1.0
    away = np.array([[0.3, -1.0, -1.0, 0.1]])
    np.testing.assert_array_equal(moved(FLOATS, [Linear({"b": 1, "c": 1}, least=1.0)], away)[0], away)


def at(x):
    """A point, with nothing held, and the bounds of the cube."""
    x = np.array(x, dtype=float)
    return x, np.zeros(len(x), dtype=bool), np.zeros(len(x)), np.ones(len(x))


PULLED = {
    "above": (FLOATS, Linear({"a": 1, "b": 1}, most=1.0), [0.9, 0.7, 0.3, 0.3], [0.2, 0.3, 0.5, 0.5]),
    "below": (FLOATS, Linear({"c": 1, "d": 3}, least=2.0), [0.1, 0.2, 0.3, 0.1], [0.9, 0.4, 0.8, 0.9]),
    "log": (
        CASES["logarithms"][0],
        Linear(dict.fromkeys(NAMES, 1.0), most=1.0),
        [0.9, 0.9, 0.5, 0.3],
        [0.2, 0.3, 0.1, 0],
    ),
}


@pytest.mark.parametrize("case", PULLED)
def test_what_is_pulled_back_is_where_the_line_enters_the_constraint(case):
    dimensions, constraint, start, anchor = PULLED[case]
    p = polytope_of(dimensions, [constraint])
    x, target = np.array(start, dtype=float), np.array(anchor, dtype=float)
    entry(pull_back)(p, x, target)

    def values(u):
        v = p.first + p.span * u
        return np.where(p.log, np.exp(v), v)

    def holds(share):
        total = weights @ (values(target) + share * (values(np.array(start)) - values(target)))
        return p.low[0] <= total <= p.high[0]

    weights = np.zeros(4)
    weights[p.columns] = p.weights
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    expected = values(target) + low * (values(np.array(start)) - values(target))
    np.testing.assert_allclose(values(x), expected, rtol=1e-9)
    assert holding(p, x[None]).all()


def test_of_a_sum_that_is_fixed_the_known_point_is_taken_and_what_is_inactive_is_left():
    equal = polytope_of(FLOATS, [Mixture(NAMES)])
    x, target = np.array([0.7, 0.4, 0.3, 0.1]), np.array([0.1, 0.2, 0.3, 0.4])
    entry(pull_back)(equal, x, target)
    np.testing.assert_array_equal(x, target)
    x, held, low, high = at([0.9, -1.0, -1.0, 0.2])
    away = polytope_of(FLOATS, [Linear({"b": 1, "c": 1}, least=1.0)])
    before = x.copy()
    entry(pull_back)(away, x, np.array([0.1, -1.0, -1.0, 0.1]))
    np.testing.assert_allclose(x, before)
    assert entry(settle)(away, x, held, low, high)
    np.testing.assert_allclose(x, before)


def test_an_exponential_that_is_far_too_large_is_approached():
    """Newton's method takes a step of one in the logarithm there, and ends after some."""
    x, held, low, high = at([1.0])
    p = polytope_of({"a": Float(1.0, np.exp(200.0), log=True)}, [Linear({"a": 1.0}, most=2.0)])
    v = np.array([np.exp(200.0)])
    assert entry(move_onto)(p, 0, 2.0 - v[0], x, v, held, low, high)
    assert np.log(v[0]) == pytest.approx(200.0 - PASSES, abs=1e-6)


def test_members_of_a_group_that_are_held_stay_though_they_are_too_many():
    p = polytope_of(FLOATS, [Nonzero(NAMES, 1)])
    x = np.array([0.5, 0.4, 0.0, 0.0])
    frozen = np.zeros(4, dtype=bool)
    assert not entry(keep_most)(p, x, np.ones(4, dtype=bool), frozen)
    np.testing.assert_array_equal(x, [0.5, 0.4, 0.0, 0.0])
    assert not frozen.any()


def stepped_from(dimensions, constraints, params):
    """The values after steps of discrete coordinates, from a point without the missing parameters."""
    p = polytope_of(dimensions, constraints)
    table = np.zeros((len(p.low), len(dimensions)))
    for i in range(len(p.low)):
        of = slice(p.starts[i], p.starts[i + 1])
        table[i, p.columns[of]] = p.weights[of]
    x = np.array([dimensions[n].to_unit(params[n]) if n in params else -1.0 for n in dimensions])
    entry(take_steps)(p, table, x, np.zeros(len(x), dtype=bool))
    return [round(dimensions[n].from_unit(u)) for n, u in zip(dimensions, x, strict=True) if u >= 0.0]


def test_steps_of_integers_end_where_none_helps_or_after_many():
    ints = {name: Int(0, 9) for name in NAMES}
    odd = [Linear({"a": 2, "b": 2}, equal=5), Linear({"c": 1, "d": 1}, least=3)]
    assert sum(stepped_from(ints, odd, {"a": 1, "b": 1})) == 2
    assert sum(stepped_from(ints, [Linear(dict.fromkeys(NAMES, 1), equal=17)], {"a": 1, "b": 2, "d": 0})) == 17
    switches = {f"s{j}": Int(0, 1) for j in range(STEPS + 10)}
    assert (
        sum(stepped_from(switches, [Linear(dict.fromkeys(switches, 1), least=STEPS + 5)], dict.fromkeys(switches, 0)))
        == STEPS
    )


def test_where_steps_do_not_help_a_known_point_does():
    ints = {name: Int(0, 9) for name in NAMES}
    X = Space(ints).snap(np.random.default_rng(seeded(3)).random((COUNT, 4)))
    for dimensions, constraints, points in (
        (ints, [Linear({"a": 3, "b": 5}, equal=31), Linear({"b": 7, "c": 4, "d": 6}, equal=47)], X),
        (FLOATS, [Nonzero(NAMES, 1), Linear({"c": 1, "d": 3}, least=2.0)], np.array([[0.9, 0.1, 0.1, 0.1]])),
    ):
        found, fine = moved(dimensions, constraints, points)
        assert fine.all()
        assert holding(polytope_of(dimensions, constraints), found).all()
    p = polytope_of(FLOATS, [Mixture(NAMES)])
    assert entry(nearest_anchor)(p, np.array([0.1, -1.0, 0.3, 0.4]), np.full((2, 4), 0.25)) == -1
