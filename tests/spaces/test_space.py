"""Spaces: user values <-> the unit cube, enumeration, neighbours."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.spaces.samples import SPACES, WIDE

from numbo import Categorical, Float, Int, Space


@given(SPACES, st.integers(0, 2**32 - 1))
def test_decoded_values_lie_in_their_dimension_and_survive_the_round_trip(space, seed):
    x = np.random.default_rng(seed).random(space.d)
    params = space.decode(x)
    for name, dimension in space.items():
        assert dimension.contains(params[name])
        assert type(params[name]) is (float if isinstance(dimension, Float) else type(params[name]))
        assert not isinstance(params[name], np.generic)
    encoded = space.encode(params)
    assert ((encoded >= 0) & (encoded <= 1)).all()
    again = space.decode(encoded)
    for name, dimension in space.items():
        if isinstance(dimension, Float) and dimension.step is None:
            scale = max(abs(dimension.low), abs(dimension.high), 1e-300)
            assert math.isclose(again[name], params[name], rel_tol=1e-9, abs_tol=1e-12 * scale)
        else:
            assert again[name] == params[name]


@given(SPACES, st.integers(0, 2**32 - 1))
def test_snapping_is_idempotent_and_agrees_with_decoding(space, seed):
    X = np.random.default_rng(seed).random((4, space.d))
    before = X.copy()
    snapped = space.snap(X)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_allclose(space.snap(snapped), snapped, rtol=0, atol=1e-12)
    for x, s in zip(X, snapped, strict=True):
        assert space.decode(x) == space.decode(s) or space.continuous.any()
        if not space.continuous.any():
            np.testing.assert_allclose(space.encode(space.decode(s)), s, atol=1e-9)


@pytest.mark.parametrize(
    ("dimension", "values"),
    [
        (Int(0, 3), [0, 1, 2, 3]),
        (Int(1, 9, step=3), [1, 4, 7]),
        (Int(1, 5, log=True), [1, 2, 3, 4, 5]),
        (Float(0.0, 1.0, step=0.25), [0.0, 0.25, 0.5, 0.75, 1.0]),
        (Float(-10.2, 10.2, step=0.1), [round(-10.2 + 0.1 * i, 10) for i in range(205)]),
        (Categorical(["a", None, 3]), ["a", None, 3]),
        (Int(4, 4), [4]),
        (Float(2.5, 2.5), [2.5]),
    ],
)
def test_every_value_of_a_discrete_dimension_is_reached(dimension, values):
    space = Space({"p": dimension})
    assert space.cardinality == dimension.size == len(values)
    grid = space.grid()
    decoded = [space.decode(x)["p"] for x in grid]
    assert decoded == pytest.approx(values) if isinstance(dimension, Float) else decoded == values
    assert [type(v) for v in decoded] == [type(v) for v in values]
    np.testing.assert_array_equal(space.grid_index(grid), np.arange(len(values)))
    uniform = [space.decode(np.array([u]))["p"] for u in np.linspace(0, 1, 5001)]
    assert len(set(uniform)) == len(values)


def test_uniform_points_are_uniform_values():
    space = Space({"k": Int(1, 4), "c": Categorical(list("xyz"))})
    draws = [space.decode(u) for u in np.random.default_rng(0).random((6000, 2))]
    for name, count in (("k", 4), ("c", 3)):
        frequency = np.unique([d[name] for d in draws], return_counts=True)[1] / 6000
        np.testing.assert_allclose(frequency, 1 / count, atol=0.03)


def test_grid_of_a_mixed_finite_space_lists_every_point_once():
    space = Space({"k": Int(1, 3, log=True), "c": Categorical(list("xy")), "f": Float(0, 1, step=0.5)})
    grid = space.grid()
    assert len({tuple(space.decode(x).values()) for x in grid}) == len(grid) == 18
    np.testing.assert_array_equal(space.grid_index(grid), np.arange(18))
    np.testing.assert_array_equal(space.snap(grid), grid)


def test_neighbours_differ_in_one_discrete_coordinate():
    space = Space({"x": Float(0, 1), "k": Int(0, 100), "s": Int(0, 3), "c": Categorical(list("abc")), "one": Int(7, 7)})
    X = space.snap(np.array([[0.3, 0.5, 0.1, 0.9, 0.5], [0.9, 0.0, 0.9, 0.1, 0.5]]))
    near, owner = space.neighbours(X)
    changed = near != X[owner]
    assert (changed.sum(axis=1) == 1).all()
    assert changed[owner == 0].sum(axis=0).tolist() == [0, 4, 3, 2, 0]
    assert changed[owner == 1].sum(axis=0).tolist() == [0, 2, 3, 2, 0]
    assert len(np.unique(np.column_stack([near, owner]), axis=0)) == len(near)
    assert Space({"x": Float(0, 1)}).neighbours(np.array([[0.4]]))[0].shape == (0, 1)


@pytest.mark.parametrize("dimension", WIDE, ids=repr)
def test_huge_and_tiny_ranges(dimension):
    space = Space({"p": dimension})
    for u in (0.0, 1e-9, 0.3, 0.5, 1.0):
        value = space.decode(space.snap(np.array([[u]]))[0])["p"]
        assert dimension.contains(value)
        assert 0.0 <= space.encode({"p": value})[0] <= 1.0
    low, high = (space.decode(np.array([u]))["p"] for u in (0.0, 1.0))
    assert (low, high) == (pytest.approx(dimension.low), pytest.approx(dimension.high))


def test_a_grid_over_many_dimensions_of_one_value():
    space = Space({f"one{i}": Int(3, 3) for i in range(70)} | {"k": Int(0, 5)})
    assert space.grid().shape == (6, 71)
    np.testing.assert_array_equal(space.grid_index(space.grid()), np.arange(6))


def test_choices_of_any_kind():
    space = Space(
        {"n": Categorical([16, 32]), "s": Categorical(["a", "b"]), "v": Categorical([np.arange(2), np.ones(2)])}
    )
    params = {"n": np.int64(32), "s": np.str_("b"), "v": np.ones(2)}
    assert space.cells(space.encode(params)[None])[0].tolist() == [1, 1, 1]


BAD = [
    (lambda: Space({}), "at least one dimension"),
    (lambda: Space({"x": 3.0}), "'x'"),
    (lambda: Space({"x": Float(0, 1)}).encode({"x": 2.0}), "2.0"),
    (lambda: Space({"x": Float(0, 1)}).encode({"y": 0.5}), "missing"),
    (lambda: Space({"c": Categorical(list("ab"))}).encode({"c": "z"}), "'z'"),
]


@pytest.mark.parametrize(("action", "words"), BAD)
def test_bad_input_gets_one_clear_sentence(action, words):
    with pytest.raises(ValueError, match=words) as error:
        action()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "dimension", [*WIDE, Float(1.0, 1.0 + 1e-9), Float(1e-300, 1.000000001e-300, log=True)], ids=repr
)
def test_representable_coordinates_are_those_of_the_values(dimension):
    space = Space({"p": dimension, "x": Float(-3.0, 7.0)})
    for u in (0.0, 1e-9, 0.013, 0.3, 0.5, 1.0):
        x = space.snap(np.array([[u, 0.4]]))[0]
        np.testing.assert_allclose(space.representable(x), space.encode(space.decode(x)), rtol=0.0, atol=0.5e-12)


@given(SPACES, st.integers(0, 2**32 - 1))
def test_coordinates_that_are_taken_as_they_are_survive_the_round_trip(space, seed):
    x = space.snap(np.random.default_rng(seed).random((1, space.d)))[0]
    np.testing.assert_allclose(space.representable(x), space.encode(space.decode(x)), rtol=0.0, atol=1e-12)
