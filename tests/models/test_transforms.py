from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from numbo.models import OutputTransform
from numbo.models.transforms import KINDS, KNEE
from numbo.trials import finite_range

VALUES = arrays(np.float64, st.integers(1, 30), elements=st.floats(allow_nan=False, allow_infinity=False))
ANY = arrays(np.float64, st.integers(1, 30), elements=st.floats(allow_nan=True, allow_infinity=True))


@given(VALUES, st.sampled_from(KINDS))
def test_forward_is_finite_monotone_and_undone_by_backward(y, kind):
    transform = OutputTransform.fit(y, kind)
    z = transform.forward(y)
    assert np.isfinite(z).all()
    order = np.argsort(y, kind="stable")
    assert (np.diff(z[order]) >= 0).all()
    back, _ = transform.backward(z, np.zeros_like(z))
    np.testing.assert_allclose(back, np.maximum(y, transform.floor), rtol=1e-9, atol=1e-9 * np.abs(y).max())


def test_predictions_of_the_largest_doubles_are_finite():
    y = np.array([-1.0, 1.0, 1.0]) * np.finfo(float).max
    transform = OutputTransform.fit(y)
    assert np.isfinite(transform.forward(y)).all()
    mean, std = transform.backward(np.array([-9.0, 0.0, 9.0]), np.full(3, 9.0))
    assert np.isfinite(mean).all()
    assert mean[0] < mean[1] < mean[2]
    assert np.isfinite(std).all()


@pytest.mark.parametrize("exponent", [-1000, -700, -340, 340, 700, 1000])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("outlier", [0.0, -1e6])
def test_values_times_a_power_of_two_are_transformed_to_the_same_bits(exponent, kind, outlier):
    y = np.append(np.random.default_rng(0).normal(0.5, 1.0, 40), outlier)
    unit = 2.0**exponent
    one, other = OutputTransform.fit(y, kind), OutputTransform.fit(y * unit, kind)
    assert one.warped == other.warped == (kind in ("log", "soft"))
    np.testing.assert_array_equal(one.forward(y), other.forward(y * unit))
    steps = np.linspace(-2.0, 2.0, 9)
    plain, scaled = one.backward(steps, np.full(9, 0.1)), other.backward(steps, np.full(9, 0.1))
    np.testing.assert_array_equal(np.array(plain) * unit, np.array(scaled))
    np.testing.assert_allclose(other.log_slopes(y * unit), one.log_slopes(y) + math.log(unit), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [5e-324, 1e-320, 1e-310, 1e-300, 1e-160])
def test_tiny_values_are_told_apart(size, kind):
    y = size * np.array([-9.0, -5.0, -1.0, 2.0, 3.0, 7.0])
    z = OutputTransform.fit(y, kind).forward(y)
    assert np.diff(z).min() > 0.05
    assert np.std(z) == pytest.approx(1.0, rel=0.2)  # the smallest doubles are far apart


def test_tiny_values_are_told_apart_below_an_outlier():
    y = np.append(1e-300 * np.arange(20.0), -1.0)
    z = OutputTransform.fit(y, "winsorize").forward(y)
    assert np.diff(z[:20]).min() > 0.1


def test_standardised_values():
    y = np.random.default_rng(0).normal(5.0, 3.0, 100)
    z = OutputTransform.fit(y).forward(y)
    assert z.mean() == pytest.approx(0.0, abs=1e-12)
    assert z.std() == pytest.approx(1.0)
    mean, std = OutputTransform.fit(y).backward(np.array([0.0]), np.array([1.0]))
    assert mean[0] == pytest.approx(y.mean())
    assert std[0] == pytest.approx(y.std())


def test_only_the_bad_tail_is_clipped():
    y = np.concatenate([np.linspace(0.0, 1.0, 50), [-1e6, 1e3]])
    transform = OutputTransform.fit(y, "winsorize")
    z = transform.forward(y)
    assert z[50] == pytest.approx(transform.forward(np.array([transform.floor]))[0])
    assert z[51] == z.max() > z[49] + 1.0
    q25, q75 = np.quantile(y, (0.25, 0.75))
    assert transform.floor == pytest.approx(q25 - 1.5 * (q75 - q25))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [0.0, 1.0, -1e300, 5e-324, 1e300])
def test_a_constant_becomes_zero(value, kind):
    z = OutputTransform.fit(np.full(6, value), kind).forward(np.full(6, value))
    np.testing.assert_allclose(z, 0.0, atol=1e-9)


def test_a_warp_compresses_by_the_gap_to_the_best():
    y = -np.geomspace(1e-3, 1e6, 101)
    transform = OutputTransform.fit(y, "log")
    assert transform.warped
    assert transform.best == y.max()
    z = transform.forward(y)
    assert z.mean() == pytest.approx(0.0, abs=1e-12)
    assert z.std() == pytest.approx(1.0)
    knee = KNEE * (y.max() - np.median(y))
    naive = np.array([-math.log(1.0 + (y.max() - value) / knee) for value in y])
    np.testing.assert_allclose(z, (naive - naive.mean()) / naive.std(), rtol=1e-9, atol=1e-9)
    better = transform.forward(np.array([y.max() + knee, y.max() + 2.0 * knee]))
    np.testing.assert_allclose(np.diff(better), better[0] - z.max())  # a straight line beyond the best


@pytest.mark.parametrize("kind", KINDS)
def test_slopes_are_those_of_the_way_back(kind):
    y = np.random.default_rng(0).exponential(5.0, 80)
    transform = OutputTransform.fit(y, kind)
    z = transform.forward(y)
    h = 1e-6
    slopes = (transform.backward(z + h, np.zeros(80))[0] - transform.backward(z - h, np.zeros(80))[0]) / (2.0 * h)
    inner = (y > transform.floor) & (y < y.max())
    np.testing.assert_allclose(np.exp(transform.log_slopes(y))[inner], slopes[inner], rtol=1e-6)


@pytest.mark.parametrize("kind", ["log", "soft"])
def test_predictions_beyond_the_worst_value_are_uncertain(kind):
    y = np.concatenate([np.full(5, -50.0), np.random.default_rng(0).random(55)])
    transform = OutputTransform.fit(y, kind)
    assert transform.warped
    below = transform.forward(np.array([-50.0])) - np.linspace(0.0, 5.0, 30)
    middle, deviation = transform.backward(below, np.full(30, 0.1))
    np.testing.assert_allclose(middle, -50.0)
    slope = np.exp(transform.log_slopes(np.array([-50.0])))
    np.testing.assert_allclose(deviation[5:], 0.1 * slope[0])  # linear there
    assert 0.8 < deviation[0] / deviation[-1] < 1.0  # and logarithmic to one side


@pytest.mark.parametrize("kind", ["plain", "log", "soft"])
def test_the_slope_is_that_of_the_way_back(kind):
    y = np.concatenate([np.full(5, -50.0), np.random.default_rng(0).random(55)])
    transform = OutputTransform.fit(y, kind)
    inner = np.sort(y)[5:-1]
    found = [transform.slope(z) for z in transform.forward(inner)]
    np.testing.assert_allclose(found, np.exp(transform.log_slopes(inner)))


def test_deviations_under_a_warp_span_the_quantiles():
    y = -np.random.default_rng(0).exponential(5.0, 80)
    transform = OutputTransform.fit(y, "log")
    mean, std = np.array([-1.0, 0.0, 0.5]), np.array([0.3, 0.2, 0.1])
    middle, deviation = transform.backward(mean, std)
    draws = transform.backward(mean + std * np.random.default_rng(1).normal(size=(200_000, 1)), np.zeros(3))[0]
    low, median, high = np.quantile(draws, [0.158655, 0.5, 0.841345], axis=0)
    np.testing.assert_allclose(middle, median, rtol=0.01, atol=0.01)
    np.testing.assert_allclose(deviation, (high - low) / 2.0, rtol=0.02)


@given(ANY)
def test_finite_range_is_finite_and_keeps_what_is(y):
    before = y.copy()
    out = finite_range(y)
    assert np.isfinite(out).all()
    np.testing.assert_array_equal(y, before)
    finite = np.isfinite(y)
    np.testing.assert_array_equal(out[finite], y[finite])
    if finite.any():
        low, high = y[finite].min(), y[finite].max()
        assert (out[np.isnan(y) | np.isneginf(y)] == low).all()
        assert (out[np.isposinf(y)] == high).all()


@pytest.mark.parametrize("kind", KINDS)
def test_variances_are_those_of_transformed_draws(kind):
    y, rng = np.random.default_rng(0).normal(5.0, 3.0, 40), np.random.default_rng(1)
    transform = OutputTransform.fit(y, kind)
    variance = rng.exponential(1e-3, 40) * (np.arange(40) % 2)
    draws = transform.forward(y + np.sqrt(variance) * rng.normal(size=(4000, 40)))
    inner = (y > transform.floor + 0.2) & (y < y.max())
    np.testing.assert_allclose(transform.variances(y, variance)[inner], draws.var(axis=0)[inner], rtol=0.15, atol=1e-20)
    assert np.isfinite(transform.variances(y, np.full(40, 1e300))).all()
    np.testing.assert_array_equal(transform.variances(y, np.zeros(40)), 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_other_values_than_those_it_was_fitted_to_stay_finite(kind):
    fitted = OutputTransform.fit(np.array([-3e-320, -2e-320, -2e-320, -1e-320, -1e-320, 0.0]), kind)
    assert np.isfinite(fitted.forward(np.array([-1e300, 1e300]))).all()
