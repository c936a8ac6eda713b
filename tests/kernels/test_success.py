"""The probability of success, and what it makes of an acquisition function."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests import naive
from tests.helpers import entry, gradient_at, make_covariance, make_points
from tests.kernels.test_acquisition import conditioned

from numbo.kernels import acquisition as kernels
from numbo.kernels.acquisition import CERTAIN, LEAST_SUCCESS, LOG_EI, STEEP, UCB, Acquisition, Success
from numbo.kernels.covariance import MATERN32, MATERN52, RBF
from numbo.models import ArmPosterior, SparseGP

NOW = 0.7


def success_of(family, cats=0, offset=0.6, slope=0.3, threshold=0.0):
    """A model with a last coordinate, the time, that points have not; its covariance, points and values."""
    cov = make_covariance(family, 4, False, cats)
    posterior, X, y = conditioned(cov)
    w, XT, alpha = cov.inverse_squared_lengthscales, X.T.copy(), posterior.alpha[: len(X)].copy()
    elsewhere = w[-1] * (NOW - XT[-1]) ** 2
    model = (family, w, cov.signal_variance, cov.categorical, cov.optional, XT, alpha, elsewhere)
    return Success(*model, offset, slope, threshold), cov, X, y


@pytest.mark.parametrize(("family", "cats"), [(MATERN52, 0), (MATERN32, 1), (RBF, 2)])
def test_probability_is_the_naive_mean_now(family, cats):
    success, cov, X, y = success_of(family, cats)
    Z = make_points(6, 3, cats, seed=4)
    mean, _ = naive.posterior(cov, X, y, np.column_stack([Z, np.full(6, NOW)]))
    expected = np.clip(0.6 + 0.3 * mean, LEAST_SUCCESS, 1.0)
    np.testing.assert_allclose(kernels.success_probabilities(success, Z), expected, rtol=1e-8)
    np.testing.assert_array_equal(kernels.success_probabilities(CERTAIN, Z), np.ones(6))


def test_probability_stays_within_its_limits():
    low, *_ = success_of(RBF, offset=-50.0)
    high, *_ = success_of(RBF, offset=50.0)
    x, gradient = np.full(3, 0.4), np.ones(3)
    k, slope = np.empty(len(low.alpha)), np.empty(len(low.alpha))
    assert entry(kernels.success_probability)(low, x, k, slope, gradient) == LEAST_SUCCESS
    assert not gradient.any()
    assert entry(kernels.success_probability)(high, x, k, slope, gradient) == 1.0
    assert not gradient.any()


@pytest.mark.parametrize("threshold", [0.0, 0.9])
@pytest.mark.parametrize("kind", [LOG_EI, UCB])
def test_weighted_values_and_gradients(kind, threshold):
    success, *_ = success_of(MATERN52, 1, threshold=threshold)
    posterior, _, _ = conditioned(make_covariance(MATERN52, 3, True, 1))
    plain, acquisition = Acquisition(kind, 0.4), Acquisition(kind, 0.4, success, -2.0)
    Z = make_points(5, 3, 1, seed=5)
    base, p = kernels.acquisition_values(posterior, plain, Z), kernels.success_probabilities(success, Z)
    if kind == UCB:
        expected = p * base + (1.0 - p) * -2.0
    else:
        below = math.log(threshold or 1.0) - STEEP * (threshold - p)
        expected = base + np.where(p < threshold, below, np.log(p))
    values = kernels.acquisition_values(posterior, acquisition, Z)
    np.testing.assert_allclose(values, expected, rtol=1e-9)

    def f(x):
        return kernels.acquisition_values(posterior, acquisition, x[None])[0]

    for z, value in zip(Z, values, strict=True):
        found, gradient = gradient_at(posterior, acquisition, z)
        assert found == pytest.approx(value, rel=1e-9)
        slopes = np.where(posterior.covariance.categorical, 0.0, naive.numerical_gradient(f, z))
        np.testing.assert_allclose(gradient, slopes, rtol=2e-4, atol=1e-5 * max(1.0, np.abs(slopes).max()))


def test_a_probability_that_is_the_same_everywhere_changes_no_choice():
    posterior, _, _ = conditioned(make_covariance(MATERN52, 3, True))
    success, *_ = success_of(MATERN52, offset=0.8, slope=0.0)
    Z = make_points(50, 3, seed=7)
    for kind in (LOG_EI, UCB):
        plain = kernels.acquisition_values(posterior, Acquisition(kind, 0.4), Z)
        weighted = kernels.acquisition_values(posterior, Acquisition(kind, 0.4, success, -2.0), Z)
        assert (np.argsort(plain) == np.argsort(weighted)).all()


@pytest.mark.parametrize("by_variance", [False, True])
def test_arms_are_chosen_with_their_probability_of_success(by_variance):
    X = make_points(300, 2)
    gp = SparseGP(make_covariance(RBF, 2, False), X[:8])
    gp.condition(X[:12])
    gp.set_values(np.sin(9 * X[:12, 0]))
    arms, p = ArmPosterior(X), np.random.default_rng(0).uniform(0.1, 1.0, 300)
    arms.condition(gp, np.arange(12), np.arange(8)[gp.kept], np.ones(gp.m, dtype=bool))
    arms.start(1.5, by_variance=by_variance, success=p, worst=-3.0)
    mean, variance = gp.mean_variance(X)
    sd = np.sqrt(variance * gp.regularization)
    truth = p * sd if by_variance else p * (mean + 1.5 * sd) + (1.0 - p) * -3.0
    assert arms.choose() == int(np.argmax(truth))
