from __future__ import annotations

import numpy as np
import pytest
from tests import naive
from tests.conftest import make_points

from numbo.kernels import likelihood
from numbo.kernels.likelihood import WORKSPACE, unpack


def log_marginal_likelihood(theta, XT, y, family, categorical):
    dirty = np.full((WORKSPACE, len(y), len(y)), np.nan)
    return likelihood.log_marginal_likelihood(theta, XT, y, family, categorical, dirty)


def theta_of(cov):
    head = [*cov.inverse_squared_lengthscales, cov.signal_variance, cov.noise_variance]
    tail = [cov.linear_variance, cov.quadratic_variance] if cov.linear_variance > 0 else []
    return np.log(np.array(head + tail))


def data(cov, n=9):
    X = make_points(n, len(cov.categorical), int(cov.categorical.sum()))
    return X, np.ascontiguousarray(X.T), np.random.default_rng(1).normal(size=n)


def test_unpack_inverts_the_logarithms(covariance):
    found = unpack(theta_of(covariance), covariance.family, covariance.categorical)
    for a, b in zip(found, covariance, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


def test_value_is_the_normal_density(covariance):
    X, XT, y = data(covariance)
    value, _ = log_marginal_likelihood(theta_of(covariance), XT, y, covariance.family, covariance.categorical)
    assert value == pytest.approx(naive.log_marginal_likelihood(covariance, X, y), rel=1e-10)


def test_gradient_is_the_derivative(covariance):
    _, XT, y = data(covariance)

    def value(theta):
        return log_marginal_likelihood(theta, XT, y, covariance.family, covariance.categorical)[0]

    theta = theta_of(covariance)
    _, gradient = log_marginal_likelihood(theta, XT, y, covariance.family, covariance.categorical)
    np.testing.assert_allclose(gradient, naive.numerical_gradient(value, theta), rtol=1e-5, atol=1e-6)


def test_repeated_points_and_a_single_point(covariance):
    X, _, y = data(covariance, n=6)
    X[3:] = X[:3]
    for rows in (6, 1):
        XT = np.ascontiguousarray(X[:rows].T)
        value, gradient = log_marginal_likelihood(
            theta_of(covariance), XT, y[:rows], covariance.family, covariance.categorical
        )
        assert value == pytest.approx(naive.log_marginal_likelihood(covariance, X[:rows], y[:rows]), rel=1e-9)
        assert np.isfinite(gradient).all()


def test_a_singular_matrix_is_reported_not_raised():
    XT, y = np.zeros((2, 5)), np.arange(5.0)
    theta = np.array([0.0, 0.0, 0.0, -800.0])  # noise underflows to nothing
    value, gradient = log_marginal_likelihood(theta, XT, y, 2, np.zeros(2, dtype=bool))
    assert value == -np.inf
    assert (gradient == 0.0).all()
