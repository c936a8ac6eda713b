from __future__ import annotations

import numpy as np
import pytest
from tests import naive
from tests.conftest import make_points

from numbo.kernels import covariance as kernels


def points(cov, n, seed=0):
    return make_points(n, len(cov.categorical), int(cov.categorical.sum()), seed)


def gram(cov, X, noise=0.0):
    out = np.full((len(X), len(X)), np.nan)
    kernels.gram_into(cov, np.ascontiguousarray(X.T), len(X), noise, out)
    return out


def test_gram_is_the_naive_one_and_symmetric(covariance):
    X = points(covariance, 7)
    K = gram(covariance, X, 0.25)
    np.testing.assert_allclose(K, naive.gram(covariance, X) + 0.25 * np.eye(7), rtol=1e-12)
    assert (K == K.T).all()


def test_cross_covariance_is_the_naive_one(covariance):
    X, Z = points(covariance, 6), points(covariance, 4, seed=1)
    cross = kernels.cross_covariance(covariance, np.ascontiguousarray(X.T), np.ascontiguousarray(Z.T))
    np.testing.assert_allclose(cross, naive.gram(covariance, Z, X), rtol=1e-12)


def test_squared_distances_agree_with_the_row_kernel(covariance):
    X = points(covariance, 9)
    row = np.empty(9)
    kernels.squared_distances_into(covariance, np.ascontiguousarray(X.T), 9, X[3], row)
    np.testing.assert_allclose(kernels.squared_distances(covariance, X, X[3]), row, rtol=1e-12)
    assert row[3] == 0.0


def test_prior_variance_is_the_diagonal_and_has_the_gradient_it_claims(covariance):
    for x in points(covariance, 5):
        assert kernels.prior_variance(covariance, x) == pytest.approx(naive.k(covariance, x, x), rel=1e-13)
        gradient = np.empty_like(x)
        kernels.prior_variance_gradient_into(covariance, x, gradient)
        expected = naive.numerical_gradient(lambda z: kernels.prior_variance(covariance, z), x)
        np.testing.assert_allclose(gradient, np.where(covariance.categorical, 0.0, expected), atol=1e-8)


@pytest.mark.parametrize("family", [kernels.MATERN52, kernels.MATERN32, kernels.RBF])
def test_the_slope_is_the_derivative_of_the_correlation(family):
    for r2 in (1e-3, 0.2, 1.0, 7.0):
        step = 1e-6 * r2
        expected = (kernels.correlation(family, r2 + step) - kernels.correlation(family, r2 - step)) / (2 * step)
        rho, slope = kernels.correlation_and_slope(family, r2)
        assert rho == kernels.correlation(family, r2)
        assert slope == pytest.approx(expected, rel=1e-6)
    assert kernels.correlation(family, 0.0) == 1.0
    assert np.isfinite(kernels.correlation_and_slope(family, 0.0)).all()
    assert kernels.correlation(family, 1e8) == 0.0


def test_covariance_is_positive_semidefinite(covariance):
    X = points(covariance, 40)
    X[20:] = X[:20]  # repeats
    eigenvalues = np.linalg.eigvalsh(gram(covariance, X))
    assert eigenvalues.min() > -1e-12 * eigenvalues.max()
