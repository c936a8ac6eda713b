"""Points are moved to where known constraints hold, as little as it takes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import INTERPRETED, seeded

from numbo import Float, Int, Linear, Mixture, Nonzero, Order, Space
from numbo.kernels.polytope import holding, repaired
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
