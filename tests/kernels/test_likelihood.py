from __future__ import annotations

import numpy as np
import pytest
from tests import naive
from tests.helpers import entry, points_of

from numbo.kernels import likelihood
from numbo.kernels.covariance import RBF, stationary
from numbo.kernels.likelihood import WORKSPACE, unpack


def log_marginal_likelihood(theta, XT, y, cov, extra=None, known=None):
    extra = np.zeros(len(y)) if extra is None else extra
    known = np.empty((0, 0)) if known is None else known
    dirty = np.full((WORKSPACE, len(y), len(y)), np.nan)
    return likelihood.log_marginal_likelihood(
        theta, XT, y, extra, cov.family, cov.categorical, cov.center, cov.radius, cov.optional, known, dirty
    )


def theta_of(cov):
    units = np.where(cov.categorical, 1.0, (2.0 * cov.radius) ** 2)
    head = [*(cov.inverse_squared_lengthscales * units), cov.signal_variance, cov.noise_variance]
    trend = [cov.linear_variance, cov.quadratic_variance, cov.interaction_variance]
    additive = [cov.additive_variance, cov.additive_weight * (2.0 * cov.radius) ** 2]
    return np.log(head + trend * (cov.linear_variance > 0) + additive * (cov.additive_variance > 0))


def data(cov, n=9):
    X = points_of(cov, n)
    return X, np.ascontiguousarray(X.T), np.random.default_rng(1).normal(size=n)


def test_unpack_inverts_the_logarithms(covariance):
    found = entry(unpack)(
        theta_of(covariance),
        covariance.family,
        covariance.categorical,
        covariance.center,
        covariance.radius,
        covariance.optional,
    )
    if covariance.additive_variance == 0.0:
        found = found._replace(additive_weight=covariance.additive_weight)
    for a, b in zip(found, covariance, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


def test_value_is_the_normal_density(covariance):
    X, XT, y = data(covariance)
    value, _ = log_marginal_likelihood(theta_of(covariance), XT, y, covariance)
    assert value == pytest.approx(naive.log_marginal_likelihood(covariance, X, y), rel=1e-10)


def test_gradient_is_the_derivative(covariance):
    _, XT, y = data(covariance)

    def value(theta):
        return log_marginal_likelihood(theta, XT, y, covariance)[0]

    theta = theta_of(covariance)
    _, gradient = log_marginal_likelihood(theta, XT, y, covariance)
    np.testing.assert_allclose(gradient, naive.numerical_gradient(value, theta), rtol=1e-5, atol=1e-6)


def test_known_variances_are_on_the_diagonal(covariance):
    X, XT, y = data(covariance)
    extra, theta = np.random.default_rng(2).exponential(size=9), theta_of(covariance)
    value, gradient = log_marginal_likelihood(theta, XT, y, covariance, extra)
    assert value == pytest.approx(naive.log_marginal_likelihood(covariance, X, y, extra), rel=1e-10)
    numerical = naive.numerical_gradient(lambda t: log_marginal_likelihood(t, XT, y, covariance, extra)[0], theta)
    np.testing.assert_allclose(gradient, numerical, rtol=1e-5, atol=1e-6)


def test_repeated_points_and_a_single_point(covariance):
    X, _, y = data(covariance, n=6)
    X[3:] = X[:3]
    for rows in (6, 1):
        XT = np.ascontiguousarray(X[:rows].T)
        value, gradient = log_marginal_likelihood(theta_of(covariance), XT, y[:rows], covariance)
        assert value == pytest.approx(naive.log_marginal_likelihood(covariance, X[:rows], y[:rows]), rel=1e-9)
        assert np.isfinite(gradient).all()


def test_a_singular_matrix_is_reported_not_raised():
    XT, y = np.zeros((2, 5)), np.arange(5.0)
    theta = np.array([0.0, 0.0, 0.0, -800.0])  # noise underflows to nothing
    plain = stationary(RBF, np.ones(2), 1.0, 1.0, np.zeros(2, dtype=bool))
    value, gradient = log_marginal_likelihood(theta, XT, y, plain)
    assert value == -np.inf
    assert (gradient == 0.0).all()


def test_a_known_part_of_the_covariance_matrix(covariance):
    X, XT, y = data(covariance)
    F = np.random.default_rng(3).normal(size=(9, 2))
    known, theta = F @ F.T, theta_of(covariance)
    K = naive.gram(covariance, X) + covariance.noise_variance * np.eye(9) + known
    expected = -0.5 * (y @ np.linalg.solve(K, y) + np.linalg.slogdet(K)[1] + 9 * np.log(2 * np.pi))
    value, gradient = log_marginal_likelihood(theta, XT, y, covariance, known=known)
    assert value == pytest.approx(expected, rel=1e-9)
    numerical = naive.numerical_gradient(lambda t: log_marginal_likelihood(t, XT, y, covariance, known=known)[0], theta)
    np.testing.assert_allclose(gradient, numerical, rtol=1e-5, atol=1e-6)
