"""The expected value at an observation: exact where it can be, and the observed value where there is no noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.helpers import MOSTLY, over_seeds, seeded

from numbo import GSSBO
from numbo.inspection.recommendation import expected_values, noise_near_best, with_own_values
from numbo.models import ExactGP
from numbo.models.moments import Prediction
from numbo.spaces import Float, Space
from numbo.trials.history import History

SPACE = Space({f"x{i}": Float(0.0, 1.0) for i in range(3)})


NONE = np.arange(0)


def told(X, y):
    history = History(X.shape[1])
    for x, value in zip(X, y, strict=True):
        history.add(x, value, {}, -1)
    return history


def wave(X):
    return np.sin(4.0 * X[:, 0]) + X[:, 1] ** 2


def subset_model(X, y):
    gp = ExactGP(np.zeros(3, dtype=bool))
    gp.condition(X, y)
    return gp


@pytest.mark.parametrize("repeats", [1, 3])
def test_own_values_are_one_more_exact_observation(repeats):
    rng = np.random.default_rng(0)
    X, x = rng.random((20, 3)), rng.random((1, 3))
    y, own = wave(X), 1.0 + 0.1 * rng.normal(size=repeats)
    gp = subset_model(X, y)
    noise = math.sqrt(gp.covariance.noise_variance)
    history = told(np.concatenate([X, np.repeat(x, repeats, axis=0)]), np.concatenate([y, own]))
    mean, std = gp.mean_sd(history.X)
    std[:20] = 0.0
    values = expected_values(history, mean, std, noise, noise, NONE)
    whole = subset_model(history.X, history.y)
    np.testing.assert_allclose(values[20:], whole.mean_sd(x)[0][0], rtol=1e-9)
    np.testing.assert_allclose(values[:20], gp.fitted_means, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize("repeats", [1, 3])
def test_mean_and_deviation_given_own_values_are_those_of_the_model_that_knows_them(repeats, size):
    rng = np.random.default_rng(0)
    X, x = rng.random((20, 3)), rng.random((1, 3))
    y, own, gp = wave(X), rng.normal(size=repeats), subset_model(X, wave(X))
    history = told(np.concatenate([X, np.repeat(x, repeats, axis=0)]), size * np.concatenate([y, own]))
    mean, std = gp.mean_sd(history.X)
    others = np.arange(20 + repeats) >= 20
    noise = np.sqrt(gp.covariance.noise_variance)
    found = with_own_values(history, Prediction(size * mean, size * std), others, size * noise, NONE)
    whole = subset_model(history.X, history.y / size)
    for values, expected in zip(found, whole.mean_sd(x), strict=True):
        np.testing.assert_allclose(values[20:] / size, expected[0], rtol=1e-9)
    np.testing.assert_array_equal(found[0][:20], size * mean[:20])
    np.testing.assert_array_equal(found[1][:20], size * std[:20])


def test_what_is_no_noise_is_the_observed_value_to_the_last_bit():
    rng = np.random.default_rng(0)
    X = rng.random((9, 3))
    history = told(X, 1e-13 * rng.normal(size=9))
    np.testing.assert_array_equal(expected_values(history, rng.normal(size=9), np.zeros(9), 0.3, 0.0, NONE), history.y)


def test_misfit_and_noise_share_a_residual_by_their_variances():
    history = told(np.zeros((1, 3)), [2.0])
    values = expected_values(history, np.array([1.0]), np.zeros(1), 0.5, 0.3, NONE)
    assert values[0] == pytest.approx(1.0 + 0.16 / 0.25)
    values = expected_values(history, np.array([1.0]), np.zeros(1), 0.5, 0.7, NONE)
    assert values[0] == 1.0  # no more noise than the model sees


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_units_do_not_matter(size):
    rng = np.random.default_rng(0)
    X, y, mean = rng.random((9, 3)), rng.normal(size=9), rng.normal(size=9)
    one = expected_values(told(X, y), mean, np.full(9, 0.2), 0.5, 0.3, NONE)
    np.testing.assert_allclose(
        expected_values(told(X, size * y), size * mean, np.full(9, 0.2 * size), 0.5 * size, 0.3 * size, NONE) / size,
        one,
    )


def test_noise_is_established_by_the_data_or_there_is_none():
    rng = np.random.default_rng(0)
    X = rng.random((100, 3))
    truth = wave(X)
    assert noise_near_best(SPACE, told(X, truth)) == 0.0
    noisy = told(X, truth + 0.3 * rng.normal(size=100))
    assert 0.15 < noise_near_best(SPACE, noisy) < 0.45
    few = told(X[:5], noisy.y[:5])
    assert noise_near_best(SPACE, few) == 0.0


def test_what_is_too_fine_for_the_whole_space_is_no_noise_near_the_best():
    rng = np.random.default_rng(0)
    near = 0.4 + 0.004 * rng.normal(size=(64, 3))
    X = np.concatenate([rng.random((100, 3)), near])
    y = 0.3 * np.sin(300.0 * X.sum(axis=1)) - np.sum((X - 0.4) ** 2, axis=1)
    y[100:] += 1.0
    assert noise_near_best(SPACE, told(X, y)) < 0.03


@pytest.mark.parametrize("n", [1, 2, 30])
def test_degenerate_histories(n):
    X = np.full((n, 3), 0.5)
    assert noise_near_best(SPACE, told(X, np.zeros(n))) == 0.0
    history = told(X, [-np.inf] * (n - 1) + [1e300])
    assert noise_near_best(SPACE, history) >= 0.0
    assert np.isfinite(expected_values(history, np.zeros(n), np.zeros(n), 1.0, 0.5, NONE)).all()


def test_what_the_model_explains_nothing_of_has_the_observed_value():
    history = told(np.array([[0.1], [0.2]]), np.array([1.0, 2.0]))
    with np.errstate(all="raise"):
        values = expected_values(history, np.array([5.0, 5.0]), np.full(2, 1e200), 1e-3, 1e-3, NONE)
    np.testing.assert_allclose(values, [1.0, 2.0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_recommendations_from_values_near_the_largest_double_are_finite():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        opt = GSSBO({"x": Float(0.0, 1.0)}, direction="maximize", seed=seed)
        for value in rng.choice([0.0, -1.0, 1.0], 10):
            opt.tell({"x": rng.random()}, 1.7e308 * value)
        assert np.isfinite(opt.best_predicted()[1])


@pytest.mark.parametrize("penalty", [1e2, 1e4, 1e10])
@over_seeds()
def test_what_a_penalty_hides_is_not_recommended(penalty):
    """Where a penalty makes all deviations large, no point without a trial is surely better than the best one."""
    for seed in range(4):
        opt = GSSBO({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}, seed=seeded(seed))
        told = []
        for _ in range(30):
            told.append(opt.ask())
            x, y = told[-1].values()
            opt.tell(told[-1], penalty if x > 0.6 and y < 0.5 else (x - 0.5) ** 2 + (y - 0.4) ** 2)
        best, _ = opt.best_predicted(anywhere=True)
        mean, std = opt.predict(best)
        assert best in told or mean + std < opt.best_predicted()[1]
        assert (best["x"] - 0.5) ** 2 + (best["y"] - 0.4) ** 2 < 0.01, MOSTLY
