"""Where values of other spaces lie."""

from __future__ import annotations

import math

import numpy as np
import pytest

from numbo import Arms, Categorical, Float, Int, Space, Table
from numbo.spaces.placing import OTHER, OUTSIDE, coordinate, placed


@pytest.mark.parametrize(
    ("dimension", "value", "expected"),
    [
        (Float(0, 2), 0.5, 0.25),
        (Float(0, 2), 3.0, 1.5),
        (Float(0, 2), -1e9, -OUTSIDE),
        (Float(0, 2), 1e300, 1 + OUTSIDE),
        (Float(1e-4, 1e-2, log=True), 1e-3, 0.5),
        (Float(1e-4, 1e-2, log=True), 1e-1, 1.5),
        (Float(1e-4, 1e-2, log=True), -1.0, math.nan),
        (Float(0, 10, step=2.0), 4.0, 2.5 / 6),
        (Float(0, 10, step=2.0), 12.0, 13 / 12),
        (Int(1, 4), 2, 1.5 / 4),
        (Int(1, 4), 2.5, 2 / 4),
        (Int(1, 4), 5, 4.5 / 4),
        (Float(3, 3), 4.0, math.nan),
        (Categorical(["a", "b"]), "b", 0.75),
        (Categorical(["a", "b"]), "c", OTHER),
        (Categorical(["a", "b"]), None, OTHER),
        (Float(0, 1), "0.5", math.nan),
        (Float(0, 1), None, math.nan),
        (Float(0, 1), math.inf, math.nan),
    ],
)
def test_a_value(dimension, value, expected):
    assert coordinate(dimension, value) == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize(
    "dimension",
    [
        Float(-3, 2),
        Float(1e-3, 1e2, log=True),
        Float(0, 1, step=0.25),
        Int(0, 9),
        Int(2, 900, log=True),
        Int(1, 9, step=4),
    ],
)
def test_values_of_the_dimension_itself_lie_where_it_says(dimension):
    for u in np.linspace(0.0, 1.0, 23):
        value = dimension.from_unit(float(u))
        assert coordinate(dimension, value) == dimension.to_unit(value)


def test_coordinates_are_continuous_at_the_ends():
    for dimension in (Float(-3, 2), Float(1e-3, 1e2, log=True), Int(0, 9), Int(2, 900, log=True)):
        inside = coordinate(dimension, dimension.high)
        beyond = coordinate(dimension, dimension.high * 1.001)
        assert inside <= beyond + 1e-12
        assert beyond < inside + 0.06


def test_points_of_a_space():
    space = Space({"x": Float(0, 1), "c": Categorical(["a", "b"])})
    found = placed(space, [{"x": 0.5, "c": "a", "other": 3}, {"c": "z"}, "text", {}])
    np.testing.assert_array_equal(found, [[0.5, 0.25], [np.nan, OTHER], [np.nan, np.nan], [np.nan, np.nan]])
    assert placed(space, []).shape == (0, 2)


def test_arms_are_rows_or_features():
    arms = Arms([[0.0, 10.0], [2.0, 30.0]])
    found = placed(arms, [1, [1.0, 20.0], [4.0, 10.0], [1.0], 7, "text"])
    np.testing.assert_allclose(found[:3], [[1.0, 1.0], [0.5, 0.5], [2.0, 0.0]])
    assert np.isnan(found[3:]).all()


def test_tables_are_rows_or_values_of_columns():
    table = Table({"rate": [0.01, 0.1, 1.0], "kind": ["a", "b", "a"], "same": [1, 1, 1]}, log=["rate"])
    assert table.names == ["rate", "kind=a", "kind=b"]
    found = placed(table, [{"row": 2}, {"rate": 0.1, "kind": "b"}, {"rate": -1.0, "kind": "z"}, {"kind": "a"}, 3])
    np.testing.assert_allclose(found[:2], [[1.0, 1.0, 0.0], [0.5, 0.0, 1.0]])
    np.testing.assert_allclose(found[2], [np.nan, 0.0, 0.0])
    np.testing.assert_allclose(found[3], [np.nan, 1.0, 0.0])
    assert np.isnan(found[4]).all()
