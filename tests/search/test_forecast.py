"""Forecasts of ranks by a quadratic."""

from __future__ import annotations

import numpy as np
import pytest

from numbo import Categorical, Float, Int, Space
from numbo.models.quadratic import coefficients_of
from numbo.search.forecast import LOOKED_AT, Forecast, foreseeable

D = 5
Q = np.linalg.qr(np.random.default_rng(0).standard_normal((D, D)))[0]


def valley(x):
    """A rotated ellipsoid with axes from 1 to 1,000, largest at 0.6."""
    return -float(10.0 ** np.linspace(0.0, 6.0, D) @ (Q @ (x - 0.6)) ** 2)


def waves(x):
    return -float(np.sum(np.cos(40.0 * x)))


def learned(value, n, d=D, seed=0):
    forecast = Forecast(d)
    for x in np.random.default_rng(seed).random((n, d)):
        forecast.learn(x, value(x))
    return forecast


@pytest.mark.parametrize("of", [lambda y: y, lambda y: -np.sqrt(-y)])
def test_ranks_of_a_quadratic_are_foreseen_also_through_a_monotone_function(of):
    assert learned(lambda x: of(valley(x)), 150).holds


@pytest.mark.parametrize("value", [waves, lambda x: 1.0, lambda x: float(np.random.default_rng().random())])
def test_ranks_of_waves_constants_and_noise_are_not(value):
    assert not learned(value, 150).holds


def test_only_predictions_made_before_the_values_were_known_count():
    enough = next(n for n in range(200) if 0.75 * n >= 1.1 * coefficients_of(D))
    assert not learned(valley, enough + LOOKED_AT - 1).holds
    assert learned(valley, enough + LOOKED_AT).holds


def test_the_newest_predictions_count():
    forecast = learned(valley, 150)
    rng = np.random.default_rng(1)
    for x in rng.random((LOOKED_AT, D)):
        forecast.learn(x, waves(x))
    assert not forecast.holds


def test_failures_are_left_out():
    one = Forecast(D)
    other = Forecast(D)
    for k, x in enumerate(np.random.default_rng(0).random((150, D))):
        one.learn(x, valley(x))
        other.learn(x, valley(x))
        other.learn(x, (np.nan, np.inf, -np.inf)[k % 3])
    assert one.holds
    np.testing.assert_equal(one.state_dict(), other.state_dict())


def test_a_restored_forecast_goes_on_as_the_first_one():
    first = learned(valley, 80)
    second = Forecast(D)
    second.restore(first.state_dict())
    for x in np.random.default_rng(2).random((40, D)):
        first.learn(x, valley(x))
        second.learn(x, valley(x))
        assert first.holds == second.holds
    np.testing.assert_equal(first.state_dict(), second.state_dict())


def test_a_space_of_numbers_with_few_coefficients_is_foreseeable():
    assert foreseeable(Space({"a": Float(0.0, 1.0), "b": Int(1, 9)}))
    assert not foreseeable(Space({"a": Float(0.0, 1.0), "b": Categorical(["u", "v"])}))
    assert not foreseeable(Space({f"x{j}": Float(0.0, 1.0) for j in range(46)}))
