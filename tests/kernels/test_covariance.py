from __future__ import annotations

import numpy as np
import pytest
from tests import naive
from tests.helpers import entry, make_covariance, points_of

from numbo.kernels import covariance as kernels


def points(cov, n, seed=0):
    return points_of(cov, n, seed)


def gram(cov, X, noise=0.0):
    out = np.full((len(X), len(X)), np.nan)
    kernels.gram_into(cov, np.ascontiguousarray(X.T), len(X), np.broadcast_to(noise, len(X)).astype(float), out)
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
    entry(kernels.squared_distances_into)(
        covariance.inverse_squared_lengthscales,
        covariance.categorical,
        covariance.optional,
        np.ascontiguousarray(X.T),
        9,
        X[3],
        row,
    )
    whole = kernels.squared_distances(covariance, X, X[3], np.inf)
    np.testing.assert_allclose(whole, row, rtol=1e-12)
    assert row[3] == 0.0
    for limit in (0.0, *whole):
        expected = np.where(whole > limit, np.inf, whole)
        np.testing.assert_array_equal(kernels.squared_distances(covariance, X, X[3], limit), expected)


def test_squared_distances_in_many_dimensions_are_finished_where_they_are_small():
    covariance = make_covariance(kernels.RBF, 12, False)
    X = np.random.default_rng(0).random((30, 12))
    expected = ((X - X[3]) ** 2 * covariance.inverse_squared_lengthscales).sum(axis=1)
    for limit in (0.0, np.median(expected), np.inf):
        found = kernels.squared_distances(covariance, X, X[3], limit)
        np.testing.assert_allclose(found, np.where(expected > limit, np.inf, expected), rtol=1e-12)


def test_prior_variance_is_the_diagonal_and_has_the_gradient_it_claims(covariance):
    for x in points(covariance, 5):
        assert kernels.prior_variance(covariance, x) == pytest.approx(naive.k(covariance, x, x), rel=1e-13)
        gradient = np.empty_like(x)
        entry(kernels.prior_variance_gradient_into)(covariance, x, gradient)
        expected = naive.numerical_gradient(lambda z: kernels.prior_variance(covariance, z), x)
        np.testing.assert_allclose(gradient, np.where(covariance.categorical, 0.0, expected), atol=1e-8)


def correlations(family, r2):
    """rho and d rho / d r2 at every entry of ``r2``."""
    rho, slope = np.array(r2, dtype=float), np.empty(len(r2))
    entry(kernels.correlations_into)(family, len(r2), rho, slope)
    return rho, slope


@pytest.mark.parametrize("family", [kernels.MATERN52, kernels.MATERN32, kernels.RBF])
def test_the_slope_is_the_derivative_of_the_correlation(family):
    r2 = np.array([1e-3, 0.2, 1.0, 7.0])
    step = 1e-6 * r2
    expected = (correlations(family, r2 + step)[0] - correlations(family, r2 - step)[0]) / (2 * step)
    np.testing.assert_allclose(correlations(family, r2)[1], expected, rtol=1e-6)
    (one, none), slopes = correlations(family, [0.0, 1e8])
    assert one == 1.0
    assert 0.0 <= none < 1e-290
    assert np.isfinite(slopes).all()


def test_decay_is_the_exponential_function():
    r = np.concatenate([np.linspace(0.0, 5.0, 4001), np.geomspace(1e-300, 708.0, 4001), [0.0, 5e-324]])
    out = np.empty(len(r))
    entry(kernels.decay_into)(r, len(r), out)
    np.testing.assert_allclose(out, np.exp(-r), rtol=5e-16)
    entry(kernels.decay_into)(np.array([709.0, 1e300, np.inf]), 3, out)
    assert (out[:3] == np.exp(-708.0)).all() or np.allclose(out[:3], np.exp(-708.0), rtol=1e-15, atol=0.0)
    entry(kernels.decay_into)(np.array([np.nan]), 1, out)
    assert np.isnan(out[0])


def test_covariance_is_positive_semidefinite(covariance):
    X = points(covariance, 40)
    X[20:] = X[:20]  # repeats
    eigenvalues = np.linalg.eigvalsh(gram(covariance, X))
    assert eigenvalues.min() > -1e-12 * eigenvalues.max()


def test_the_nearest_point_before_is_that_of_all_distances(covariance):
    X = points(covariance, 30)
    X[7], X[20] = X[3], X[3]
    rows, r2 = kernels.nearest_before(covariance, X)
    assert np.isinf(r2[0])
    for i in range(1, 30):
        distances = kernels.squared_distances(covariance, X[:i], X[i], np.inf)
        distances[(X[:i] == X[i]).all(axis=1)] = np.inf
        assert r2[i] == pytest.approx(distances.min())
        if np.isfinite(r2[i]):
            assert distances[rows[i]] == pytest.approx(r2[i])
