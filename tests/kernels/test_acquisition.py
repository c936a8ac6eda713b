from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import log_ndtr
from tests import naive
from tests.helpers import entry, gradient_at, points_of

from numbo.kernels import acquisition as kernels
from numbo.kernels.acquisition import LOG_EI, LOG_PROBABILITY, MEAN, UCB, Acquisition, Posterior


def conditioned(cov, n=8, capacity=10):
    """A posterior in arrays with room to spare, which must not be read."""
    d = len(cov.categorical)
    X = points_of(cov, n)
    y = np.random.default_rng(2).normal(size=n)
    K = naive.gram(cov, X) + cov.noise_variance * np.eye(n)
    W = np.linalg.inv(np.linalg.cholesky(K))
    full = np.full((capacity, capacity), np.nan)
    WF, WTF = full.copy(), full.copy()
    WF[:n, :n], WTF[:n, :n] = W, W.T
    XF, XTF, alpha = np.full((capacity, d), np.nan), np.full((d, capacity), np.nan), np.full(capacity, np.nan)
    XF[:n], XTF[:, :n], alpha[:n] = X, X.T, np.linalg.solve(K, y)
    return Posterior(cov, n, XF, XTF, alpha, WF, WTF), X, y


@pytest.mark.parametrize(
    "z", [-1e8, -1e5, -1e3, -60.0, -20.0, -5.0, -3.3, -2.4, -2.0000001, -2.0, -1.9, -0.3, 0.0, 0.7, 5.0, 30.0]
)
def test_log_h_against_extended_precision(z):
    value, cdf_ratio, phi_ratio = entry(kernels.log_h)(z)
    expected = naive.log_h(z)
    assert abs(float(value - expected)) <= 4e-15 * max(1.0, abs(float(expected)))
    # h' = Phi and h = phi + z Phi tie the two ratios together
    assert phi_ratio + z * cdf_ratio == pytest.approx(1.0, abs=1e-9 * max(1.0, abs(z) * cdf_ratio))
    step = 1e-4 * max(1.0, abs(z))
    slope = float((naive.log_h(z + step) - naive.log_h(z - step)) / (2 * step))
    assert cdf_ratio == pytest.approx(slope, rel=1e-5, abs=1e-12)


def test_log_h_increases_and_is_smooth_where_the_two_formulas_meet():
    z = np.linspace(-2.001, -1.999, 401)
    values = np.array([entry(kernels.log_h)(v)[0] for v in z])
    assert (np.diff(values) > 0).all()
    assert np.abs(np.diff(values, 2)).max() < 1e-9


@pytest.mark.parametrize("z", [-1e8, -1e3, -60.0, -5.0, -2.0000001, -2.0, -1.9, -0.3, 0.0, 0.7, 5.0, 30.0, 1e8])
def test_log_cdf_in_both_tails(z):
    value, ratio = entry(kernels.log_cdf)(z)
    assert value == pytest.approx(float(log_ndtr(z)), rel=1e-11)
    density = -0.5 * z * z - 0.5 * math.log(2.0 * math.pi)
    expected = math.exp(density - float(log_ndtr(z))) if z > -1e3 else -z
    assert ratio == pytest.approx(expected, rel=1e-5)
    below, above = (entry(kernels.log_cdf)(z + step)[0] for step in (-1e-9, 1e-9))
    assert below <= value <= above


def test_predict_is_the_naive_posterior(covariance):
    posterior, X, y = conditioned(covariance)
    Z = points_of(covariance, 5, 9)
    mean, variance = kernels.mean_variance(posterior, Z)
    expected_mean, expected_variance = naive.posterior(covariance, X, y, Z)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(variance, expected_variance, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize(
    "acquisition",
    [
        Acquisition(UCB, 1.7),
        Acquisition(LOG_EI, 0.4),
        Acquisition(LOG_EI, 9.0),
        Acquisition(LOG_EI, 0.4, width=2.5),
        Acquisition(LOG_EI, 9.0, width=0.5),
        Acquisition(LOG_PROBABILITY, 0.0),
        Acquisition(LOG_PROBABILITY, 9.0),
        Acquisition(MEAN, 0.7),
        Acquisition(MEAN, -2.0),
    ],
)
def test_values_and_gradients(covariance, acquisition):
    posterior, X, y = conditioned(covariance)
    Z = points_of(covariance, 4, 5)
    values = kernels.acquisition_values(posterior, acquisition, Z)
    mean, variance = naive.posterior(covariance, X, y, Z)
    for z, value, mu, sd in zip(Z, values, mean, np.sqrt(variance), strict=True):
        assert value == pytest.approx(naive.acquisition(acquisition, mu, sd), rel=1e-7)
        found, gradient = gradient_at(posterior, acquisition, z)
        assert found == pytest.approx(value, rel=1e-9)

        def f(x):
            return kernels.acquisition_values(posterior, acquisition, x[None])[0]

        expected = np.where(covariance.categorical, 0.0, naive.numerical_gradient(f, z))
        np.testing.assert_allclose(gradient, expected, rtol=2e-4, atol=1e-5)


def test_variance_at_the_data_is_small_and_never_negative(covariance):
    posterior, X, _ = conditioned(covariance._replace(noise_variance=1e-9))
    _, variance = kernels.mean_variance(posterior, X)
    assert (variance >= 0.0).all()
    assert variance.max() < 1e-6
    values = kernels.acquisition_values(posterior, Acquisition(LOG_EI, 50.0), X)
    assert np.isfinite(values).all()


def test_standard_deviation_is_floored():
    assert entry(kernels.floored_sd)(-1.0, 4.0) == pytest.approx(2e-7)
    assert entry(kernels.floored_sd)(0.25, 1.0) == 0.5
    assert math.isfinite(entry(kernels.acquisition_terms)(LOG_EI, 1e8, 1.0, 0.0, 1e-7)[0])
