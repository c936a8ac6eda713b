"""Dimensions: user values <-> one coordinate, and which values belong to them."""

from __future__ import annotations

import copy
import enum
import fractions
import math
import operator
import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.spaces.samples import FINITE, WIDE, floats, ints

from numbo import Categorical, Float, Int, Space
from numbo.spaces.dimensions import COUNTABLE, _equal_and_of_one_type, cells, equal, middles


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


def test_values_off_the_grid_are_taken_for_the_nearest_on_it():
    assert Int(0, 5, step=3).to_unit(5) == 0.75
    assert Float(0, 1, step=0.6).to_unit(1.0) == 0.75


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


def slow_index(choices, value):
    """By comparing all choices, as the dimension defines it."""
    for same in (operator.is_, _equal_and_of_one_type, equal):
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
    (lambda: Categorical(3), r"^Categorical choices must be a sequence such as .*, got 3\.$"),
    (lambda: Categorical("abc"), r"^Categorical choices must be a sequence such as .*, got 'abc'\.$"),
    (lambda: Categorical(b"abc"), r"^Categorical choices must be a sequence such as .*, got b'abc'\.$"),
    (lambda: Int(True, 5), r"^Int bounds must be finite numbers, got low=True, high=5\.$"),
    (lambda: Int(0, 10**400), r"^Int bounds must be finite numbers, got low=0, high=10"),
    (lambda: Int(1, 5, step="2"), r"^Int step must be a positive integer, got '2'\.$"),
    (lambda: Int(1, 5, step=True), r"^Int step must be a positive integer, got True\.$"),
    (lambda: Int(1, 5, log=1), r"^Int log must be one of True, False, got 1\.$"),
    (lambda: Float("a", 1), r"^Float bounds must be finite numbers, got low='a', high=1\.$"),
    (lambda: Float(0, None), r"^Float bounds must be finite numbers, got low=0, high=None\.$"),
    (lambda: Float(0, 1, step="a"), r"^Float step must be a positive finite number or None, got 'a'\.$"),
    (lambda: Float(1, 2, log="yes"), r"^Float log must be one of True, False, got 'yes'\.$"),
]


@pytest.mark.parametrize(("action", "words"), BAD)
def test_bad_input_gets_one_clear_sentence(action, words):
    with pytest.raises(ValueError, match=words) as error:
        action()
    assert "\n" not in str(error.value)


@given(floats() | ints() | st.sampled_from(WIDE), st.floats(0.0, 1.0))
def test_a_value_has_a_coordinate_that_leads_back_to_it(dimension, u):
    value = dimension.from_unit(u)
    assert dimension.contains(value)
    assert type(value) is (int if isinstance(dimension, Int) else float)
    again = dimension.from_unit(dimension.to_unit(value))
    if dimension.size <= COUNTABLE:
        assert again == value
    else:
        scale = max(abs(dimension.low), abs(dimension.high), 1e-300)
        assert again == pytest.approx(value, rel=1e-9, abs=1e-12 * scale)


@pytest.mark.parametrize(
    "dimension",
    [
        Int(0, 9),
        Int(1, 100, log=True),
        Int(0, 9, step=4),
        Float(0.0, 1.0, step=0.1),
        Categorical(list("abcd")),
        Int(5, 5),
    ],
    ids=repr,
)
def test_many_coordinates_have_the_numbers_of_single_ones(dimension):
    values = [dimension.from_unit(float(u)) for u in middles(dimension, np.arange(int(dimension.size)))]
    assert len(set(values)) == dimension.size
    assert [dimension.to_unit(value) for value in values] == pytest.approx(
        middles(dimension, np.arange(int(dimension.size))), abs=1e-12
    )
    u = np.random.default_rng(0).random(300)
    assert cells(dimension, u).tolist() == [values.index(dimension.from_unit(float(one))) for one in u]


@pytest.mark.parametrize(
    ("dimension", "coarse"),
    [
        (Float(0.0, 1.0), False),
        (Float(1.0, 1.0 + 1e-9), True),  # of the doubles there a coordinate is a tenth
        (Float(1e-300, 1.000000001e-300, log=True), True),
        (Float(0.0, 1.0, step=0.1), False),
        (Int(0, 2**60), False),
        (Int(1, 2**60, log=True), True),
        (Int(1, 2**40, log=True), False),
        (Categorical(list("ab")), False),
    ],
    ids=str,
)
def test_ranges_of_fewer_doubles_than_coordinates_are_coarse(dimension, coarse):
    assert dimension.coarse is coarse
