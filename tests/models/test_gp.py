from __future__ import annotations

import copy

import numpy as np
import pytest
from tests import naive
from tests.helpers import compiled_only, make_points

from numbo.models import ExactGP
from numbo.models import gp as gp_module
from numbo.models.moments import moments

KERNELS = ["matern52", "matern32", "rbf"]


def make(kernel="matern52", trend=True, n=12, d=3, n_categorical=0, seed=0, additive=False):
    categorical = np.zeros(d, dtype=bool)
    categorical[:n_categorical] = True
    X = make_points(n, d, n_categorical, seed)
    y = np.sin(5 * X.sum(axis=1)) + 0.1 * np.random.default_rng(seed).normal(size=n)
    return ExactGP(categorical, kernel=kernel, trend=trend, additive=additive), X, y


def check(gp, X, y, Z):
    mean, std = gp.mean_sd(Z)
    expected_mean, expected_variance = naive.posterior(gp.covariance, X, y, Z)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(std**2, expected_variance, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("trend", [False, True])
@pytest.mark.parametrize("additive", [False, True])
def test_predictions_are_the_naive_ones(kernel, trend, additive):
    gp, X, y = make(kernel, trend, additive=additive)
    gp.condition(X, y)
    check(gp, X, y, make_points(6, 3, seed=7))


def test_growing_and_truncating_is_conditioning_afresh():
    gp, X, y = make(n=30)
    gp.condition(X[:10], y[:10], spare=2)
    zero = np.zeros(30)
    for rows in (slice(10, 11), slice(11, 30)):  # past the spare room
        assert gp.append(X[rows], y[rows], zero[rows])
    Z = make_points(6, 3, seed=7)
    check(gp, X, y, Z)
    gp.truncate(5)
    check(gp, X[:5], y[:5], Z)


def test_known_variances_are_those_of_single_values():
    gp, X, y = make(n=20)
    extra = np.random.default_rng(0).exponential(size=20)
    gp.condition(X[:12], y[:12], extra[:12], spare=2)
    assert gp.append(X[12:], y[12:], extra[12:])
    Z = make_points(6, 3, seed=7)
    mean, variance = naive.posterior(gp.covariance, X, y, Z, extra)
    np.testing.assert_allclose(gp.mean_sd(Z)[0], mean, rtol=1e-8)
    np.testing.assert_allclose(gp.mean_sd(Z)[1] ** 2, variance, rtol=1e-8)
    np.testing.assert_allclose(gp.fitted_means, gp.mean_sd(X)[0], rtol=1e-8, atol=1e-9)
    residual, variance = gp.leave_one_out()
    others = np.delete(np.arange(20), 7)
    mean, latent = naive.posterior(gp.covariance, X[others], y[others], X[7:8], extra[others])
    assert residual[7] == pytest.approx(y[7] - mean[0])
    assert variance[7] == pytest.approx(latent[0] + gp.covariance.noise_variance + extra[7])


def test_fitted_means_are_predictions_at_the_observed_points():
    gp, X, y = make(n=20)
    gp.condition(X, y)
    np.testing.assert_allclose(gp.fitted_means, gp.mean_sd(X)[0], rtol=1e-8, atol=1e-9)


def test_new_values_change_the_mean_only():
    gp, X, y = make()
    gp.condition(X, y)
    Z = make_points(6, 3, seed=7)
    before = gp.mean_sd(Z)[1]
    gp.set_values(y**2)
    check(gp, X, y**2, Z)
    np.testing.assert_array_equal(gp.mean_sd(Z)[1], before)


def test_pending_points_shrink_the_variance_and_leave_the_mean():
    gp, X, y = make()
    gp.condition(X, y)
    Z = make_points(6, 3, seed=7)
    mean, std = gp.mean_sd(Z)
    pending = make_points(3, 3, seed=8)
    held = moments(gp.extended(pending), Z)
    np.testing.assert_allclose(held.mean, mean, rtol=1e-12)
    assert (held.std < std).all()
    believed = np.concatenate([y, gp.mean_sd(pending)[0]])  # valued at their mean, they change nothing
    expected = naive.posterior(gp.covariance, np.concatenate([X, pending]), believed, Z)
    np.testing.assert_allclose(held.variance, expected[1], rtol=1e-8)
    np.testing.assert_allclose(gp.mean_sd(Z)[1], std, rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_fit_is_a_local_maximum_of_the_posterior(kernel):
    gp, X, y = make(kernel, n=25)
    XT = np.ascontiguousarray(X.T)
    before = gp.log_posterior(gp.theta, XT, y)[0]
    gp.fit(X, y, iterations=200)
    value, _ = gp.log_posterior(gp.theta, XT, y)
    assert value > before
    for j in range(len(gp.theta)):
        for step in (-0.2, 0.2):
            theta = gp.theta.copy()
            theta[j] += step
            assert gp.log_posterior(theta, XT, y)[0] < value + 1e-2


def test_the_noise_that_is_fitted_is_at_least_the_least():
    gp, X, y = make(n=25)
    free, low, high = (copy.deepcopy(gp) for _ in range(3))
    free.fit(X, y)
    found = free.covariance.noise_variance
    low.fit(X, y, least_noise=0.5 * found)
    high.fit(X, y, least_noise=8.0 * found)
    np.testing.assert_allclose(np.exp(low.theta), np.exp(free.theta), rtol=0.05, atol=1e-3)
    assert high.covariance.noise_variance == pytest.approx(8.0 * found)


def test_log_posterior_gradient():
    gp, X, y = make(n_categorical=1)
    XT = np.ascontiguousarray(X.T)
    theta = gp.theta + 0.3
    gradient = gp.log_posterior(theta, XT, y)[1]
    expected = naive.numerical_gradient(lambda t: gp.log_posterior(t, XT, y)[0], theta)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)


def test_the_fit_tells_relevant_from_irrelevant_dimensions():
    X = make_points(60, 3)
    gp = ExactGP(np.zeros(3, dtype=bool), trend=False)
    y = np.sin(9 * X[:, 0])
    gp.fit(X, (y - y.mean()) / y.std())
    lengthscales = gp.lengthscales
    assert lengthscales[0] < 0.5 * lengthscales[1:].min()


@compiled_only
def test_the_trend_extrapolates_a_bowl():
    X = 0.25 + 0.5 * make_points(60, 4)
    y = -((X - 0.4) ** 2).sum(axis=1)
    location, scale = y.mean(), y.std()
    corner = np.array([[0.0, 1.0, 0.0, 1.0]])
    truth = (-((corner - 0.4) ** 2).sum() - location) / scale
    errors = []
    for trend in (False, True):
        gp = ExactGP(np.zeros(4, dtype=bool), trend=trend)
        gp.fit(X, (y - location) / scale)
        gp.condition(X, (y - location) / scale)
        errors.append(abs(gp.mean_sd(corner)[0][0] - truth))
    assert errors[1] < 0.5 * errors[0]


@compiled_only
def test_the_additive_part_knows_effects_where_it_has_seen_no_point():
    X = make_points(90, 6, n_categorical=2)
    effects = np.array([[0.0, 2.0, -1.0], [1.0, -2.0, 0.5]])

    def value(X):
        chosen = sum(effects[j][(3.0 * X[:, j]).astype(int)] for j in range(2))
        return chosen + np.cos(14.0 * X[:, 2:]).sum(axis=1)

    y = value(X)
    location, scale = y.mean(), y.std()
    Z = make_points(200, 6, n_categorical=2, seed=1)
    errors = []
    for additive in (False, True):
        gp = ExactGP(np.array([True, True, False, False, False, False]), additive=additive)
        gp.fit(X, (y - location) / scale)
        gp.condition(X, (y - location) / scale)
        errors.append(float(np.mean((gp.mean_sd(Z)[0] - (value(Z) - location) / scale) ** 2)))
    assert errors[1] < 0.2 * errors[0]
    assert gp.covariance.additive_variance > 0.5


@pytest.mark.parametrize("case", ["repeats", "one", "constant", "tiny noise"])
def test_degenerate_data(case):
    gp, X, y = make(n=20)
    if case == "repeats":
        X[:] = X[0]
    elif case == "one":
        X, y = X[:1], y[:1]
    elif case == "constant":
        y[:] = 0.0
    gp.fit(X, y)
    if case == "tiny noise":
        gp.theta[4] = -40.0
        gp.theta[:3] = -9.0
        X[10:] = X[:10]
    gp.condition(X, y)
    mean, std = gp.mean_sd(make_points(5, 3, seed=3))
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()
    assert np.isfinite(moments(gp.extended(X[:1]), X).variance).all()
    assert not gp.append(X[:1], y[:1], np.zeros(1)) or gp.n == len(X) + 1


def test_leave_one_out_is_conditioning_on_all_others():
    gp, X, y = make()
    gp.condition(X, y)
    residual, variance = gp.leave_one_out()
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        mean, latent = naive.posterior(gp.covariance, X[others], y[others], X[i : i + 1])
        assert residual[i] == pytest.approx(y[i] - mean[0], rel=1e-7, abs=1e-9)
        assert variance[i] == pytest.approx(latent[0] + gp.covariance.noise_variance, rel=1e-7)


def test_a_trend_that_had_vanished_comes_back():
    gp, X, _ = make(n=40)
    turned = (X - 0.4) @ np.array([[1.0, 2.0, -1.0], [0.0, 3.0, 1.0], [2.0, 0.0, 1.0]])
    y = -np.sum(turned**2 * [1.0, 50.0, 2000.0], axis=1)
    y = (y - y.mean()) / y.std()
    XT = np.ascontiguousarray(X.T)
    gp.fit(X, y)
    expected = gp.log_posterior(gp.theta, XT, y)[0]
    plain, _, _ = make(trend=False)
    plain.fit(X, y)
    gp.theta[:5], gp.theta[5:] = plain.theta, np.log(1e-8)
    assert gp.log_posterior(gp.theta, XT, y)[0] > gp.log_posterior(gp_module.default_theta(3, True, False), XT, y)[0]
    gp.fit(X, y)
    assert gp.log_posterior(gp.theta, XT, y)[0] == pytest.approx(expected, abs=0.5)
    assert gp.covariance.interaction_variance > 0.1


def test_a_fit_does_not_depend_on_the_place_and_size_of_its_frame():
    gp, X, y = make()
    small = ExactGP(np.zeros(3, dtype=bool))
    small.center, small.radius = np.full(3, 0.3), 0.05
    gp.fit(X, y)
    small.fit(small.center + 0.1 * (X - 0.5), y)
    gp.condition(X, y)
    small.condition(small.center + 0.1 * (X - 0.5), y)
    Z = make_points(5, 3, seed=8)
    for a, b in zip(gp.mean_sd(Z), small.mean_sd(small.center + 0.1 * (Z - 0.5)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


@pytest.mark.allows_fallback
def test_values_that_cannot_be_fitted_leave_the_defaults(caplog):
    gp, X, y = make()
    gp.theta[:] = 3.0
    gp.fit(X, np.full_like(y, np.nan))
    np.testing.assert_array_equal(gp.theta, gp_module.default_theta(3, True, False))
    assert "could not be fitted" in caplog.text


@pytest.mark.allows_fallback
def test_a_matrix_that_stays_singular_is_replaced_by_its_diagonal(caplog, monkeypatch):
    gp, X, y = make(trend=False)
    monkeypatch.setattr(gp_module, "MAX_JITTER", 0.0)
    X[:], gp.theta[4] = X[0], -800.0
    gp.condition(X, y)
    assert "stayed singular" in caplog.text
    assert np.isfinite(gp.mean_sd(X)[0]).all()


def test_all_categorical_has_no_trend():
    gp = ExactGP(np.ones(2, dtype=bool), trend=True)
    assert not gp.trend
    assert len(gp.theta) == 4
    assert len(ExactGP(np.ones(2, dtype=bool), additive=True).theta) == 6


def test_unknown_kernel():
    with pytest.raises(ValueError, match="'periodic'"):
        ExactGP(np.zeros(2, dtype=bool), kernel="periodic")


def test_the_covariance_is_made_anew_when_what_it_depends_on_changes():
    model = ExactGP(np.zeros(3, dtype=bool))
    first = model.covariance
    assert model.covariance is first
    model.theta[3] += 1.0  # in place
    second = model.covariance
    assert second.signal_variance == pytest.approx(np.e * first.signal_variance)
    model.center = np.full(3, 0.25)
    assert model.covariance.center is model.center
    model.radius = 0.125
    ratio = model.covariance.inverse_squared_lengthscales / second.inverse_squared_lengthscales
    np.testing.assert_allclose(ratio, 16.0)
    twin = copy.deepcopy(model)
    twin.theta = twin.theta + 1.0
    assert twin.covariance.signal_variance != model.covariance.signal_variance
    assert model.covariance.center is model.center
    assert twin.covariance.center is twin.center


def test_a_point_without_a_factor_is_left_out():
    gp, X, y = make(n=10)
    gp.condition(X, y)
    new = np.concatenate([np.full((1, 3), np.nan), make_points(2, 3, seed=9)])
    assert not gp.append(new, np.zeros(3), np.zeros(3))
    np.testing.assert_array_equal(gp.points, np.concatenate([X, new[1:]]))
    assert gp.append(np.full((1, 3), 0.5), np.ones(1), np.zeros(1))


@pytest.mark.allows_fallback  # a warning
def test_conditioning_ends_whatever_it_is_given():
    gp = ExactGP(np.zeros(1, dtype=bool), kernel="matern52", trend=False, additive=False)
    X = np.linspace(0.0, 1.0, 5)[:, None]
    for extra in (np.nan, np.inf):
        gp.condition(X, np.zeros(5), np.full(5, extra))
        assert gp.n == 5
