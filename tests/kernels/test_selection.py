from __future__ import annotations

import numpy as np
import pytest
from tests import naive
from tests.helpers import make_covariance, make_points, points_of

from numbo.kernels.covariance import RBF
from numbo.kernels.selection import independent_columns, kmeans_plus_plus, pivoted_cholesky


def points(cov, n=14):
    return points_of(cov, n)


@pytest.mark.parametrize("forced", [[], [3], [5, 0, 2]])
def test_pivoted_cholesky_is_the_naive_greedy_rule(covariance, forced):
    X = points(covariance)
    if covariance.categorical.any():
        X = np.unique(X, axis=0)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    found = pivoted_cholesky(covariance, np.ascontiguousarray(X.T), 7, np.array(forced, dtype=np.int64), weights)
    assert found.tolist() == naive.greedy_nystrom(covariance, X, 7, forced, weights)


def test_pivoted_cholesky_takes_repeats_last(covariance):
    X = points(covariance, 12)
    X[6:] = X[:6]
    distinct = len(np.unique(X, axis=0))
    found = pivoted_cholesky(covariance, np.ascontiguousarray(X.T), 12, np.empty(0, dtype=np.int64), np.ones(12))
    assert sorted(found) == list(range(12))
    assert len(np.unique(X[found[:distinct]], axis=0)) == distinct


def test_pivoted_cholesky_with_more_forced_repeats_than_directions(covariance):
    X = np.repeat(points(covariance, 3), 4, axis=0)
    found = pivoted_cholesky(covariance, np.ascontiguousarray(X.T), 9, np.arange(4), np.ones(12))
    assert len(set(found.tolist())) == 9


@pytest.mark.parametrize("forced", [[], [3], [5, 0, 2]])
def test_kmeans_plus_plus_is_the_naive_rule(covariance, forced):
    X = points(covariance)
    uniforms = np.random.default_rng(1).random(8)
    found = kmeans_plus_plus(covariance, np.ascontiguousarray(X.T), 8, np.array(forced, dtype=np.int64), uniforms)
    assert found.tolist() == naive.kmeans_plus_plus(covariance, X, 8, forced, uniforms)


def test_kmeans_plus_plus_with_nothing_but_repeats(covariance):
    X = np.repeat(points(covariance, 1), 6, axis=0)
    found = kmeans_plus_plus(covariance, np.ascontiguousarray(X.T), 6, np.empty(0, dtype=np.int64), np.full(6, 0.9))
    assert sorted(found) == list(range(6))


@pytest.mark.parametrize("candidates", [[0], [0, 1, 2, 3, 4], [7, 3, 12, 1, 19, 5]])
def test_independent_columns_are_a_cholesky_factor_and_an_embedding(candidates):
    cov = make_covariance(RBF, 2, False)
    X = make_points(20, 2)
    X[3] = X[1]  # a repeat is not independent
    kept, Z = independent_columns(cov, np.ascontiguousarray(X.T), np.array(candidates), 1e-10)
    chosen = np.array(candidates)[kept]
    assert len(set(chosen.tolist())) == len(candidates) - (3 in candidates)
    L = Z[chosen]
    np.testing.assert_array_equal(np.triu(L, 1), 0.0)
    np.testing.assert_allclose(L @ L.T, naive.gram(cov, X[chosen]), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(Z @ L.T, naive.gram(cov, X, X[chosen]), rtol=1e-7, atol=1e-9)
