"""Errors that values were told with, and what neighbouring values say of them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import seeded

from numbo.trials import UNASKED, History
from numbo.trials.stated import DOUBT, EVERY, LAST, MOST, Stated, halvings, neighbours, stated, too_large, unlikely


def told(count, std, noise=1.0, seed=0):
    """A history of noise alone."""
    rng = np.random.default_rng(seeded(seed))
    history = History(2)
    for x, y in zip(rng.random((count, 2)), noise * rng.normal(size=count), strict=True):
        history.add(x, y, {}, UNASKED, variance=std**2)
    return history


def test_pairs_are_nearest_to_each_other_and_disjoint():
    X = np.random.default_rng(seeded(0)).random((60, 3))
    one, other = neighbours(X)
    distance = np.linalg.norm(X[:, None] - X, axis=2) + np.diag(np.full(60, np.inf))
    expected = {(i, j) for i in range(60) for j in range(i) if distance[i].argmin() == j and distance[j].argmin() == i}
    assert set(zip(other.tolist(), one.tolist(), strict=True)) == expected
    assert len(set(one) | set(other)) == 2 * len(one)


@pytest.mark.parametrize("draw", ["normal", "heavy tails", "errors of five folds"])
def test_right_errors_are_hardly_ever_contradicted(draw):
    """Where the objective is flat, which is the worst case, at any of twenty looks."""
    found = 0
    for seed in range(100):
        rng = np.random.default_rng((seeded(0), seed))
        X, y, variance = rng.random((160, 2)), rng.normal(size=160), np.ones(160)
        if draw == "heavy tails":
            y = rng.standard_t(3, 160) / np.sqrt(3.0)
        if draw == "errors of five folds":
            variance = rng.chisquare(4, 160) / 4.0
        found += any(halvings(X[:n], y[:n], variance[:n]) for n in range(8, 161, 8))
    assert found <= 1


@pytest.mark.parametrize("times", [8, 32, 128])
def test_errors_that_are_far_too_large_become_about_right(times):
    factor = 0.25 ** stated(None, told(80, float(times))).halvings
    assert 1.0 / times / 2.0 <= np.sqrt(factor) <= 4.0 / times


def test_errors_that_are_too_small_or_twice_too_large_are_kept():
    for std in (0.1, 1.0, 2.0):
        assert stated(None, told(80, std)).halvings == 0


def test_equal_values_and_values_of_any_size():
    X = np.random.default_rng(seeded(0)).random((40, 2))
    assert halvings(X, np.zeros(40), np.ones(40)) == MOST
    assert halvings(X, np.where(np.arange(40) % 2, 1e308, -1e308), np.ones(40)) == 0
    assert halvings(X[:1], np.zeros(1), np.ones(1)) == 0


def test_the_fold_depends_on_the_trials_only():
    history = told(3 * EVERY, 30.0)
    once = stated(None, history)
    assert once.n == 3 * EVERY
    history.add(np.array([0.5, 0.5]), 0.0, {}, UNASKED, variance=900.0)
    assert stated(once, history) is once
    assert stated(None, history) == once
    assert history.fact(stated) == once


def test_only_the_last_values_are_looked_at():
    history = told(LAST, 1.0, seed=1)
    for x, y in zip(*(lambda h: (h.X, h.y))(told(LAST, 30.0)), strict=True):
        history.add(x, y, {}, UNASKED, variance=900.0)
    assert stated(None, history).halvings > 1


def test_variances_are_smaller_where_values_contradict_them_and_those_told_stay():
    history = told(80, 30.0)
    factor = 0.25**history.halvings
    np.testing.assert_allclose(history.variance, 900.0 * factor)
    np.testing.assert_allclose(history.data().variance, 900.0 * factor)
    np.testing.assert_array_equal(history.trials.variance, 900.0)


def test_values_without_errors_have_none():
    assert stated(None, told(80, 0.0)) == Stated(80)
    assert (told(80, 0.0).variance == 0.0).all()


def test_the_warning_says_by_how_much():
    assert "about 8 times too large" in too_large(3)


@pytest.mark.parametrize("count", [1, 5, 40])
def test_the_bound_is_above_the_probability(count):
    from scipy.special import chdtr

    for total in np.linspace(0.0, 1.5 * count, 40):
        assert not unlikely(total, count) or chdtr(count, total) < DOUBT
    assert unlikely(0.0, count)
    assert not unlikely(float(count), count)
