from __future__ import annotations

import copy
import enum
import fractions
import math
import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from numbo import Categorical, Float, Int, Space
from numbo.spaces.dimensions import _equal, _equal_and_of_one_type, _identical

FINITE = st.floats(-1e300, 1e300, allow_nan=False)


@st.composite
def floats(draw):
    low, high = sorted((draw(FINITE), draw(FINITE)))
    log = low > 0 and draw(st.booleans())
    step = None if log else draw(st.none() | st.floats(1e-3, 10.0))
    if step is not None:
        low = draw(st.floats(-1e3, 1e3))
        high = low + step * draw(st.integers(0, 1000))
    return Float(low, high, log=log, step=step)


@st.composite
def ints(draw):
    low, high = sorted((draw(st.integers(-(2**40), 2**40)), draw(st.integers(-(2**40), 2**40))))
    log = low > 0 and draw(st.booleans())
    return Int(low, high, log=log, step=1 if log else draw(st.integers(1, 7)))


CATEGORICALS = st.lists(st.none() | st.text(max_size=3) | st.integers(5, 9), min_size=1, max_size=6, unique=True).map(
    Categorical
)
WIDE = [
    Int(1, 2**64, log=True),
    Int(2**60, 2**60 + 10, log=True),
    Int(0, 2**64),
    Float(1e300, 1.0000000000000002e300, log=True),
    Float(0.0, 5e-324),
    Float(-1.7e308, 1.7e308),
]
SPACES = st.dictionaries(st.text(max_size=3), floats() | ints() | CATEGORICALS, min_size=1, max_size=5).map(Space)


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


@given(floats() | ints() | st.sampled_from(WIDE))
def test_the_ends_of_the_unit_interval_are_exactly_the_bounds(dimension):
    assume(dimension.low < dimension.high)
    last = dimension.high
    if isinstance(dimension, Int):  # a step may not lead to the bound
        last = dimension.low + (dimension.high - dimension.low) // dimension.step * dimension.step
    elif dimension.step is not None:
        last = min(dimension.low + (dimension.size - 1) * dimension.step, dimension.high)
    assert (dimension.from_unit(0.0), dimension.from_unit(1.0)) == (dimension.low, last)


@given(st.floats(1e-300, 1e300), st.floats(1e-300, 1e300))
def test_bounds_of_a_logarithmic_range_survive_the_round_trip(one, other):
    assume(math.log(one) != math.log(other))
    dimension = Float(min(one, other), max(one, other), log=True)
    for bound in (dimension.low, dimension.high):
        assert dimension.from_unit(dimension.to_unit(bound)) == bound


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
    space = Space({"k": Int(1, 4), "c": Categorical("xyz")})
    draws = [space.decode(u) for u in np.random.default_rng(0).random((6000, 2))]
    for name, count in (("k", 4), ("c", 3)):
        frequency = np.unique([d[name] for d in draws], return_counts=True)[1] / 6000
        np.testing.assert_allclose(frequency, 1 / count, atol=0.03)


def test_grid_of_a_mixed_finite_space_lists_every_point_once():
    space = Space({"k": Int(1, 3, log=True), "c": Categorical("xy"), "f": Float(0, 1, step=0.5)})
    grid = space.grid()
    assert len({tuple(space.decode(x).values()) for x in grid}) == len(grid) == 18
    np.testing.assert_array_equal(space.grid_index(grid), np.arange(18))
    np.testing.assert_array_equal(space.snap(grid), grid)


def test_neighbours_differ_in_one_discrete_coordinate():
    space = Space({"x": Float(0, 1), "k": Int(0, 100), "s": Int(0, 3), "c": Categorical("abc"), "one": Int(7, 7)})
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


def test_values_off_the_grid_are_taken_for_the_nearest_on_it():
    assert Int(0, 5, step=3).to_unit(5) == 0.75
    assert Float(0, 1, step=0.6).to_unit(1.0) == 0.75


def test_choices_of_any_kind():
    space = Space(
        {"n": Categorical([16, 32]), "s": Categorical(["a", "b"]), "v": Categorical([np.arange(2), np.ones(2)])}
    )
    params = {"n": np.int64(32), "s": np.str_("b"), "v": np.ones(2)}
    assert space.cells(space.encode(params)[None])[0].tolist() == [1, 1, 1]


def test_equal_choices_of_different_types_are_told_apart():
    space = Space({"c": Categorical([1, True, 1.0, float("nan"), None])})
    for i, choice in enumerate(space["c"].choices):
        assert space.cells(space.encode({"c": choice})[None])[0, 0] == i
    assert Categorical([1, 2]).index(2.0) == 1
    assert not Categorical(["a"]).contains(["a"])


@given(floats(), FINITE)
def test_contains_is_the_range(dimension, value):
    assume(dimension.low != dimension.high)
    assert dimension.contains(value) == (dimension.low <= value <= dimension.high)
    assert not dimension.contains("text")
    assert not Int(0, 5).contains(2.5)
    assert not Int(0, 5).contains(float("nan"))
    assert not Int(0, 5).contains(float("inf"))


BAD = [
    (lambda: Float(float("nan"), 1.0), "finite"),
    (lambda: Float(0.0, float("inf")), "inf"),
    (lambda: Int(0, float("inf")), "finite"),
    (lambda: Float(2.0, 1.0), "low <= high"),
    (lambda: Float(0.0, 1.0, log=True), "low > 0"),
    (lambda: Float(0.0, 1.0, step=0.0), "step"),
    (lambda: Float(0.1, 1.0, log=True, step=0.1), "not both"),
    (lambda: Int(0.5, 3), "integers"),
    (lambda: Int(0, 3, step=0), "step"),
    (lambda: Int(1, 3, log=True, step=2), "not both"),
    (lambda: Categorical([]), "at least one choice"),
    (lambda: Categorical(["a", "b", "a"]), "'a' twice"),
    (lambda: Space({}), "at least one dimension"),
    (lambda: Space({"x": 3.0}), "'x'"),
    (lambda: Space({"x": Float(0, 1)}).encode({"x": 2.0}), "2.0"),
    (lambda: Space({"x": Float(0, 1)}).encode({"y": 0.5}), "missing"),
    (lambda: Space({"c": Categorical("ab")}).encode({"c": "z"}), "'z'"),
]


@pytest.mark.parametrize(("action", "words"), BAD)
def test_bad_input_gets_one_clear_sentence(action, words):
    with pytest.raises(ValueError, match=words) as error:
        action()
    assert "\n" not in str(error.value)


def slow_index(choices, value):
    """By comparing all choices, as the dimension defines it."""
    for same in (_identical, _equal_and_of_one_type, _equal):
        for i, choice in enumerate(choices):
            if same(choice, value):
                return i
    return -1


class Name(str, enum.Enum):
    A = "a"  # equal to "a", with another hash


NAN = float("nan")
CHOICES = [
    (1, True, 1.0, 0, False, None, "a", "1", 2),
    (True, 2.0, "b", None),
    (1.0, NAN, "nan"),
    (float("nan"), float("nan"), 3),
    ((1, 2), [1, 2], {"k": 1}, {1}, frozenset({1}), np.array([1, 2])),
    ("a", Name.A, b"a"),
    (Name.A, "a"),
    (int, str, len, object()),
    (np.float64(0.5), 0.25, np.int64(3)),
    tuple(range(5)),
]
VALUES = [v for choices in CHOICES for v in choices]
VALUES += [np.int64(1), np.float64(2.0), np.str_("a"), np.bool_(True), np.array(1), np.array([1, 2]), float("nan"), 7]
VALUES += [(1.0, 2), [1, 2], {"k": 1}, "absent", b"1", (np.float64(1), 2), 10**30, fractions.Fraction(1, 2), object()]


@pytest.mark.parametrize("choices", CHOICES)
def test_a_choice_is_found_as_by_comparing_all(choices):
    dimension = Categorical(choices)
    for one in (dimension, copy.deepcopy(dimension), pickle.loads(pickle.dumps(Categorical(choices)))):
        for value in [*VALUES, *one.choices]:
            assert one.index(value) == slow_index(one.choices, value)


def test_a_choice_is_found_without_comparing_all():
    class Counted:
        compared = 0

        def __init__(self, name):
            self.name = name

        def __hash__(self):
            return hash(self.name)

        def __eq__(self, other):
            Counted.compared += 1
            return self.name == other.name

    dimension = Categorical([Counted(i) for i in range(1000)])
    assert [dimension.index(Counted(i)) for i in range(1000)] == list(range(1000))
    assert Counted.compared <= 2000


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
