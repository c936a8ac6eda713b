from __future__ import annotations

import numpy as np
import pytest
from tests import naive
from tests.conftest import make_points

from numbo.kernels.selection import kmeans_plus_plus, pivoted_cholesky


def points(cov, n=14):
    return make_points(n, len(cov.categorical), int(cov.categorical.sum()))


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
