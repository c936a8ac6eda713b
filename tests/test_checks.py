"""What is accepted, and that the one sentence about anything else names the argument and the value."""

from __future__ import annotations

import fractions
import math

import numpy as np
import pytest

from numbo import _checks


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_integers(value):
    found = _checks.integer("n", value, 3)
    assert type(found) is int
    assert found == 3


@pytest.mark.parametrize("value", [2, 3.0, True, "3", None, np.bool_(True), [3]])
def test_what_is_no_integer(value):
    with pytest.raises(ValueError, match=r"n must be an integer of at least 3, got "):
        _checks.integer("n", value, 3)


@pytest.mark.parametrize("value", [0, 0.5, np.float32(0.5)])
def test_numbers(value):
    found = _checks.number("x", value, 0.0, 1.0)
    assert type(found) is float
    assert found == float(value)


@pytest.mark.parametrize("value", [-0.1, 1.0, math.nan, math.inf, False, "0.5", None, np.ones(2)])
def test_what_is_no_number(value):
    with pytest.raises(ValueError, match=r"x must be a number of at least 0 and below 1, got "):
        _checks.number("x", value, 0.0, 1.0)


def test_infinity_is_said_to_be_the_trouble():
    for value in (math.inf, np.float32(math.inf)):
        with pytest.raises(ValueError, match=r"^x must be a finite number above 0, got "):
            _checks.number("x", value, 0.0, above=True)


@pytest.mark.parametrize("value", [math.nan, math.inf, True, "0.5", None, pytest.param(10**400, id="huge")])
def test_what_is_no_finite_number(value):
    with pytest.raises(ValueError, match=r"^x must be a finite number, got "):
        _checks.finite("x", value)
    if value == 10**400:  # beyond the range of doubles
        with pytest.raises(ValueError, match=r"^x must be a number of at least 0, got 10"):
            _checks.number("x", value, 0.0)


@pytest.mark.parametrize("value", [3, True, np.float32(3.0), np.array(3), fractions.Fraction(3), math.inf, math.nan])
def test_values_are_all_that_can_be_numbers(value):
    for found in (_checks.objective(value), _checks.constraint("late", value)):
        assert type(found) is float
        assert found == value or math.isnan(found)


@pytest.mark.parametrize("value", ["3", b"3", bytearray(b"3"), np.str_("3"), "low", [3.0], 3j, 10**400])
def test_what_is_no_value_of_an_objective_or_a_constraint(value):
    with pytest.raises(ValueError, match=r"^value must be a number or None for a failure, got "):
        _checks.objective(value)
    with pytest.raises(ValueError, match=r"^constraints\['late'\] must be a number, got "):
        _checks.constraint("late", value)


def test_flags():
    assert _checks.flag("final", np.int64(3) > 2) is True
    assert _checks.flag("final", False) is False
    for wrong in (0, 1, "yes", None):
        with pytest.raises(ValueError, match=r"^final must be one of True, False, got "):
            _checks.flag("final", wrong)


def test_limits_that_are_left_out_or_infinite():
    assert _checks.number("x", math.inf, 0.0, infinite=True) == math.inf
    assert _checks.number("x", 1e-300, 0.0, above=True) == 1e-300
    for value, settings in ((math.inf, {}), (0.0, {"above": True})):
        with pytest.raises(ValueError, match=f"got {value!r}"):
            _checks.number("x", value, 0.0, **settings)


def test_choices_are_of_one_type():
    assert _checks.one_of("learn", False, ("auto", True, False)) is False
    for value in (0, 1, "no", None, np.ones(2), ["auto"]):
        with pytest.raises(ValueError, match="learn must be one of 'auto', True, False, got "):
            _checks.one_of("learn", value, ("auto", True, False))
    assert _checks.number_or("beta", "log", ("log",)) == "log"
    assert _checks.number_or("beta", 2, ("log",)) == 2.0
    with pytest.raises(ValueError, match="beta must be 'log' or a number of at least 0, got 'sqrt'"):
        _checks.number_or("beta", "sqrt", ("log",))


def test_seeds():
    assert _checks.seed(None) is None
    assert _checks.seed(np.int64(3)) == 3
    sequence, generator = np.random.SeedSequence(5), np.random.default_rng(5)
    assert _checks.random_stream(generator) is generator
    for seed in (5, [5], sequence):
        assert _checks.random_stream(seed).random() == np.random.default_rng(seed).random()
    for wrong in (-1, 1.5, "a", True):
        with pytest.raises(ValueError, match="seed must be an integer of at least 0"):
            _checks.seed(wrong)
        with pytest.raises(ValueError, match="seed must be an integer of at least 0"):
            _checks.random_stream(wrong)
