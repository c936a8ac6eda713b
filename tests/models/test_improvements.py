"""Forecasts of gains, against what they must satisfy and against processes whose gains are known."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from tests.helpers import MOSTLY, gains, over_seeds, seeded

from numbo.models import improvements
from numbo.models.improvements import (
    PATHS,
    Improvements,
    _corrected,
    _forecast,
    _found,
    _sizes,
    _surprise,
    differ,
)


def steady(n, ratio=0.9):
    """A search that comes closer to 0 by the same share in every trial."""
    return -(ratio ** np.arange(float(n)))


@pytest.fixture(params=["steady", "random", "steps", "one"])
def values(request):
    rng = np.random.default_rng(3)
    return {
        "steady": steady(60),
        "random": rng.normal(size=80),
        "steps": np.round(rng.normal(size=50), 1),
        "one": np.r_[5.0, rng.random(30)],
    }[request.param]


def test_samples_are_gains_in_order(values):
    found = gains(values, 20)
    assert found.shape == (PATHS,)
    assert (np.diff(found) >= 0.0).all()
    assert found[0] >= 0.0
    np.testing.assert_array_equal(found, gains(values, 20))


def test_units_and_origin_do_not_matter(values):
    """A power of two, so that no digit changes."""
    np.testing.assert_array_equal(gains(8.0 * values, 10), 8.0 * gains(values, 10))
    np.testing.assert_allclose(gains(values + 1.0, 10), gains(values, 10), rtol=1e-6, atol=1e-9)


def test_more_trials_gain_more(values):
    """In each sample, not only in the mean."""
    found = Improvements(values)
    samples = [found.gains(trials) for trials in (1, 3, 10, 30, 100, 1000)]
    for few, many in pairwise(samples):
        assert (many >= few).all()
    assert np.mean(samples[-1] > 0.0) > np.mean(samples[0] > 0.0)


@pytest.mark.parametrize("penalty", [1e3, 1e6, 1e300])
def test_penalties_say_nothing_of_what_can_be_gained(penalty):
    """Neither among the first values, nor where one improvement is as large."""
    rng = np.random.default_rng(0)
    values = -(rng.random(60) ** 2)
    plain = gains(values, 50)
    some = values.copy()
    some[[1, 3, 4, 7, 20, 41]] = -penalty
    assert gains(some, 50).max() < 10.0 * plain.max()
    first = np.r_[-penalty, values]
    assert gains(first, 50).max() < 10.0 * plain.max()


def test_gains_of_less_than_a_step_are_none():
    accuracies = np.round(np.random.default_rng(0).random(60), 2)
    step = np.diff(np.unique(accuracies)).min()
    found = gains(accuracies, 50)
    assert (found[found > 0.0] >= 0.5 * step).all()


def test_trials_that_do_not_count_are_trials(values):
    """Failures before the first success are not looked at; those after it make improvements rarer."""
    nothing = np.full(40, np.nan)
    np.testing.assert_array_equal(gains(np.r_[nothing, values], 10), gains(values, 10))
    assert np.mean(gains(np.r_[values, nothing], 10) > 0.0) < np.mean(gains(values, 10) > 0.0)


def test_a_search_that_stands_still_is_expected_to():
    going = np.mean(gains(steady(100), 20) > 0.0)
    stuck = gains(np.r_[steady(100), np.full(100, -1.0)], 20)
    assert going > 0.9
    assert np.mean(stuck > 0.0) < 0.5 < going
    assert stuck.mean() < 1e-3


def test_a_steady_search_goes_on_about_like_that():
    gain = 0.9**99 - 0.9**109
    low, high = np.quantile(gains(steady(100), 10), (0.1, 0.9))
    assert low < gain < 2.0 * high < 20.0 * gain


@over_seeds()
def test_random_values_set_records_as_often_as_they_do():
    """The best of n independent values is beaten in the next k with probability k / (n + k)."""
    rng = np.random.default_rng(seeded(0))
    for n, k in ((20, 20), (100, 100), (100, 20)):
        stated = np.mean([np.mean(gains(rng.random(n), k) > 0.0) for _ in range(40)])
        assert abs(stated - k / (n + k)) < 0.25, MOSTLY


def test_improvements_in_digits_show_that_a_search_has_converged():
    """They are none, but where they come, large ones are expected less than where nothing does."""
    digits = np.r_[np.linspace(-1.0, 0.0, 30), 1e-12 * np.arange(60.0)]
    flat = np.r_[np.linspace(-1.0, 0.0, 30), np.zeros(60)]
    assert gains(digits, 10).mean() < 0.1 * gains(flat, 10).mean()
    assert np.mean(gains(digits, 10) == 0.0) > 0.9
    converged = -(0.5 ** np.arange(200.0))
    assert gains(converged, 100).max() < 1e-6


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "wild",
    [
        np.r_[1e308 * steady(30), 1e300],
        np.r_[np.inf, steady(30), -np.inf],
        np.r_[steady(30), np.inf],
        np.r_[-1e308, 1e308, 0.0],
        1e-320 * np.arange(30.0),
        np.array([0.0, 1.0]),
    ],
)
def test_values_of_any_size(wild):
    found = gains(wild, 10)
    assert np.isfinite(found).all()
    assert found[0] >= 0.0


def test_which_values_differ():
    assert differ(np.array([1.0, np.nan, 2.0]))
    assert not differ(np.array([1.0, np.nan, 1.0]))
    assert not differ(np.array([np.nan]))
    assert not differ(np.empty(0))


def test_the_trend_of_sizes_is_that_of_bayesian_regression():
    """The ridge estimate, against the normal equations of weighted least squares with a prior on the slope."""
    logs = np.array([-1.0, -1.5, -3.0, -2.5, -4.0])
    (found_level, _), (found_trend, _), _, largest = _sizes(logs)
    i = np.arange(5.0) - 4.0
    W = np.diag(improvements.RECENT**-i)
    A = np.column_stack([np.ones(5), i - np.average(i, weights=np.diag(W))])
    prior = np.diag([0.0, improvements.TREND_STRENGTH])
    level, trend = np.linalg.solve(A.T @ W @ A + prior, A.T @ W @ logs + prior @ [0.0, improvements.TREND])
    assert found_trend == pytest.approx(trend)
    assert found_level == pytest.approx(level + trend * (0.0 - np.average(i, weights=np.diag(W))))
    assert largest == pytest.approx(logs[-improvements.LAST :].max() + improvements.CAP)


def test_the_number_of_improvements_is_negative_binomial():
    """How often there is none, against the distribution itself: a Poisson number whose rate has a gamma posterior."""
    best = np.maximum.accumulate(np.random.default_rng(1).random(60)) - 1.0
    n, k = len(best), 30
    steps = np.diff(best) > 0.0
    weights = 0.5 ** (np.arange(n - 1)[::-1] / (improvements.HALF_LIFE * n))
    shape = weights[steps].sum() + improvements.SHAPE
    rate = weights.sum() + improvements.SHAPE * n / improvements.MEAN
    grid = np.linspace(n, n + k, 20_001)
    exposure = np.trapezoid((grid / n) ** -improvements.GAMMA, grid)
    none = stats.nbinom.pmf(0, shape, rate / (rate + exposure))
    found = _forecast(best, k, 200_000)
    assert np.mean(found == 0.0) == pytest.approx(none, abs=0.01)


def test_what_came_before_corrects_what_is_expected():
    """Values that stood still and then went on were expected to stand still, and the other way round."""
    stairs = np.repeat(np.arange(8.0), 12)
    better = _surprise((stairs - 7.0) / 8.0)
    worse = _surprise(np.r_[steady(50, 0.5), np.full(50, -(0.5**49))])
    assert better > 0.0 > worse
    samples = np.arange(1000.0)
    np.testing.assert_allclose(_corrected(samples, 0.0), samples, atol=1.0)
    moved = _corrected(samples, 1.0)
    assert np.mean(moved < np.median(samples)) == pytest.approx(stats.norm.cdf(-1.0), abs=0.01)


def test_the_best_of_a_finite_space_may_have_been_found(values):
    """Then nothing comes, with the probability that is stated; the other samples are as in a space without end."""
    best = np.maximum.accumulate(values) - values.max()
    n, left = len(values), 500.0
    everywhere = _forecast(best, 30, 200_000)
    found = _forecast(best, 30, 200_000, left)
    some = np.mean(everywhere > 0.0) * (1.0 - _found(n, left))
    assert np.mean(found > 0.0) == pytest.approx(some, abs=0.01)
    assert found[found > 0.0].mean() == pytest.approx(everywhere[everywhere > 0.0].mean(), rel=0.1)


def test_the_more_was_tried_of_the_fewer_points_the_sooner_the_best_was_found():
    assert _found(20, 1e12) < 1e-4
    assert _found(20, 0.5) > 0.99
    assert _found(20, 1000.0) < _found(40, 1000.0) < _found(40, 100.0) < 1.0
    assert _found(60, 10_000.0 - 60.0) == pytest.approx(0.5, abs=0.01)


def test_more_trials_in_a_finite_space_gain_more(values):
    found = Improvements(values, 200.0)
    for few, many in pairwise([found.gains(trials) for trials in (1, 10, 100)]):
        assert (many >= few).all()
    np.testing.assert_array_equal(Improvements(values, math.inf).gains(10), gains(values, 10))
