"""The posterior on all observations: its definition, the exact GP as a limit, repeats, and any order of arrival."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import naive
from tests.helpers import compiled_only, make_covariance, points_of

from numbo.kernels.acquisition import mean_variance
from numbo.kernels.covariance import MATERN52, RBF
from numbo.models.fitc import FITC
from numbo.trials import Data

COVARIANCES = [
    make_covariance(RBF, 3, False),
    make_covariance(MATERN52, 3, True, noise=0.1),
    make_covariance(MATERN52, 5, True, 1, noise=0.1, additive=True, branching=True),
]


def data(cov, n=40):
    X = points_of(cov, n, 3)
    return X, np.sin(5 * X.sum(axis=1)), points_of(cov, 9, 4)


def brute(cov, X, counts, y, S, A):
    """Means and variances at ``A`` by the joint covariance of FITC, of averages of ``counts`` values."""
    K = naive.gram(cov, S) + 1e-10 * np.eye(len(S))

    def through(P, Q):
        return naive.gram(cov, P, S) @ np.linalg.solve(K, naive.gram(cov, S, Q))

    alone = np.diag(naive.gram(cov, X) - through(X, X)) + cov.noise_variance / counts
    joint, cross = through(X, X) + np.diag(alone), through(A, X)
    mean = cross @ np.linalg.solve(joint, y)
    return mean, np.diag(naive.gram(cov, A) - cross @ np.linalg.solve(joint, cross.T))


def at(model, A, pending=None):
    return mean_variance(model.posterior if pending is None else model.extended(pending), A)


@pytest.mark.parametrize("cov", COVARIANCES)
def test_posterior_is_the_definition(cov):
    X, y, A = data(cov)
    model = FITC(cov, Data.of(X, y), X[:12])
    mean, variance = brute(cov, X, np.ones(40), y, X[:12], A)
    np.testing.assert_allclose(at(model, A)[0], mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(at(model, A)[1], variance, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.fitted_means, brute(cov, X, np.ones(40), y, X[:12], X)[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("cov", COVARIANCES)
def test_a_value_with_a_variance_counts_as_a_part_of_one(cov):
    X, y, A = data(cov)
    variance = np.random.default_rng(0).exponential(0.3, 40) * (np.arange(40) % 3 > 0)
    counts = cov.noise_variance / (cov.noise_variance + variance)
    whole, grown = FITC(cov, Data(X, y, variance), X[:12]), FITC(cov, Data(X, y, variance).at(slice(30)), X[:12])
    for i in range(30, 40):
        grown.add(X[i], y[i], variance[i])
    mean, spread = brute(cov, X, counts, y, X[:12], A)
    for model in (whole, grown):
        np.testing.assert_allclose(at(model, A)[0], mean, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(at(model, A)[1], spread, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("cov", COVARIANCES)
def test_with_all_points_as_atoms_it_is_the_exact_gp(cov):
    X, y, A = data(cov)
    expected = naive.posterior(cov, X, y, A)
    for found, value in zip(at(FITC(cov, Data.of(X, y), X), A), expected, strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-8, atol=1e-8)


@compiled_only
@pytest.mark.parametrize("cov", COVARIANCES)
@settings(max_examples=20)
@given(order=st.permutations(range(30)), first=st.integers(12, 29), repeated=st.lists(st.integers(0, 29), max_size=8))
def test_values_in_any_order_and_with_repeats_give_one_posterior(cov, order, first, repeated):
    X, y, A = data(cov)
    rows = [*order, *repeated]
    values = y[rows] + np.linspace(0.0, 0.3, len(rows))
    atoms = X[:10]
    whole = FITC(cov, Data.of(X[rows], values), atoms)
    grown = FITC(cov, Data.of(X[rows[:first]], values[:first]), atoms)
    for i in range(first, len(rows)):
        grown.add(X[rows[i]], values[i])
    for a, b in zip(at(whole, A), at(grown, A), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(whole.fitted_means, grown.fitted_means, rtol=1e-8, atol=1e-9)
    counts = np.bincount(rows, minlength=40)[:30].astype(float)
    averages = np.bincount(rows, values, minlength=40)[:30] / counts
    mean, variance = brute(cov, X[:30], counts, averages, atoms, A)  # a repeated point is one of smaller noise
    np.testing.assert_allclose(at(whole, A)[0], mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(at(whole, A)[1], variance, rtol=1e-5, atol=1e-6)


def test_pending_points_shrink_variances_and_leave_the_mean_alone():
    cov = COVARIANCES[1]
    X, y, A = data(cov)
    model = FITC(cov, Data.of(X, y), X[:12])
    mean, variance = at(model, A)
    with_pending, smaller = at(model, A, A[:2])
    np.testing.assert_allclose(with_pending, mean, rtol=1e-9)
    assert (smaller <= variance + 1e-12).all()
    assert (smaller[:2] < 0.6 * variance[:2]).all()
