"""Posteriors given pending points, all of them or those that determine the others best."""

from __future__ import annotations

import numpy as np
import pytest
from tests import naive
from tests.helpers import make_covariance, make_points, points_of
from tests.search.searches import fitted

from numbo.kernels.covariance import MATERN52, RBF
from numbo.models import ExactGP, SparseGP
from numbo.models.moments import mean_at, moments
from numbo.models.pending import Growing, extended, represented

COVARIANCES = [
    make_covariance(RBF, 3, False),
    make_covariance(MATERN52, 3, True),
    make_covariance(MATERN52, 5, True, 1, noise=0.1, additive=True, branching=True),
]


def conditioned(cov, n=14):
    """The posterior of a sparse model of which all points are atoms, which is exact."""
    X = points_of(cov, n, 1)
    gp = SparseGP(cov, X)
    gp.condition(X)
    gp.set_values(np.sin(X.sum(axis=1)))
    return gp.posterior, X


def given(cov, X, Z):
    """Variances at ``Z`` by the definition."""
    return naive.posterior(cov, X, np.zeros(len(X)), Z)[1]


@pytest.mark.parametrize("cov", COVARIANCES)
def test_all_points_are_taken_in_if_they_are_few(cov):
    posterior, X = conditioned(cov)
    P = points_of(cov, 6, 2)
    P[5] = P[2]  # measured twice
    Z = points_of(cov, 20, 3)
    for most in (None, 6, 100):
        found = extended(posterior, P, cov.noise_variance, most)
        np.testing.assert_array_equal(found.X, np.concatenate([posterior.X[: posterior.n], P]))
        np.testing.assert_allclose(moments(found, Z).variance, given(cov, np.concatenate([X, P]), Z), rtol=1e-6)
        np.testing.assert_allclose(moments(found, Z).mean, moments(posterior, Z).mean, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cov", COVARIANCES)
def test_of_many_points_the_next_one_is_the_least_known(cov):
    posterior, X = conditioned(cov)
    P = points_of(cov, 30, 2)
    expected = []
    for _ in range(7):
        variance = given(cov, np.concatenate([X, P[expected]]), P).copy()
        variance[expected] = -1.0
        expected.append(int(np.argmax(variance)))
    found = extended(posterior, P, cov.noise_variance, 7)
    np.testing.assert_array_equal(found.X[posterior.n :], P[expected])
    Z = points_of(cov, 20, 3)
    np.testing.assert_allclose(moments(found, Z).variance, given(cov, np.concatenate([X, P[expected]]), Z), rtol=1e-6)
    np.testing.assert_array_equal(np.triu(found.W, 1), 0.0)
    np.testing.assert_array_equal(found.WT, found.W.T)
    np.testing.assert_array_equal(found.XT, found.X.T)


def test_points_whose_values_are_known_change_nothing():
    gp = ExactGP(np.zeros(2, dtype=bool), trend=False)
    gp.theta[3] = -80.0  # exact values
    X = make_points(8, 2)
    gp.condition(X, np.zeros(8))
    new = np.array([[0.3, 0.4]])
    Z = make_points(20, 2, seed=3)
    found = gp.extended(np.concatenate([X[:3], new, new]))
    assert found.n == 13
    np.testing.assert_array_equal(found.W[[8, 9, 10, 12]], 0.0)
    np.testing.assert_allclose(moments(found, Z).variance, moments(gp.extended(new), Z).variance, atol=1e-12)
    greedy = gp.extended(np.concatenate([X[:3], new, new]), 2)
    np.testing.assert_array_equal(greedy.X[8], new[0])
    assert np.isfinite(greedy.W).all()


def test_no_point_changes_nothing():
    gp = fitted(make_points(8, 2), np.arange(8.0))
    assert gp.extended(np.empty((0, 2))).n == 8


def test_the_mean_alone_is_that_of_both_moments():
    gp = fitted(make_points(8, 2), np.arange(8.0))
    Z = make_points(30, 2, seed=4)
    np.testing.assert_allclose(mean_at(gp.posterior, Z), moments(gp.posterior, Z).mean, rtol=1e-10, atol=1e-12)
    assert mean_at(gp.posterior, Z[:0]).shape == (0,)


def same(found, expected):
    """Whether two posteriors are equal bit for bit."""
    assert found.n == expected.n
    for one, other in zip(found[2:], expected[2:], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("cov", COVARIANCES)
@pytest.mark.parametrize("sizes", [(1,) * 30, (3, 0, 20, 7), (30,)])
def test_points_that_come_one_after_another_are_those_that_come_at_once(cov, sizes):
    posterior, X = conditioned(cov)
    P = points_of(cov, 30, 2)
    P[5], P[20] = P[2], X[0]  # measured twice
    growing = Growing(posterior, cov.noise_variance)
    assert growing.posterior is posterior
    for size in sizes:
        growing.add(P[growing.count : growing.count + size])
        same(growing.posterior, extended(posterior, P[: growing.count], cov.noise_variance))
    assert growing.count == 30


def test_points_whose_values_are_known_change_nothing_one_by_one():
    gp = ExactGP(np.zeros(2, dtype=bool), trend=False)
    gp.theta[3] = -80.0  # exact values
    X = make_points(8, 2)
    gp.condition(X, np.zeros(8))
    P = np.concatenate([X[:2], [[0.3, 0.4], [0.3, 0.4], [0.8, 0.1]]])
    growing = Growing(gp.posterior, gp.covariance.noise_variance)
    for x in P:
        growing.add(x[None])
    same(growing.posterior, gp.extended(P))
    np.testing.assert_array_equal(growing.posterior.W[[8, 9, 11]], 0.0)


def by_definition(posterior, P, atoms, noise, Z):
    """Variances at ``Z`` of FITC with the ``atoms`` among the points ``P``, under what the posterior leaves."""

    def left(A, B):
        over = [posterior.W @ naive.gram(posterior.covariance, posterior.X, C) for C in (A, B)]
        return naive.gram(posterior.covariance, A, B) - over[0].T @ over[1]

    solved = np.linalg.solve(left(P[atoms], P[atoms]), left(P[atoms], P))
    Q = left(P, P[atoms]) @ solved
    q = left(Z, P[atoms]) @ solved
    values = Q + np.diag(np.diag(left(P, P)) - np.diag(Q) + noise)
    return np.diag(left(Z, Z)) - np.einsum("ij,ji->i", q, np.linalg.solve(values, q.T))


@pytest.mark.parametrize("cov", COVARIANCES)
def test_many_points_are_represented_by_a_few(cov):
    posterior, _ = conditioned(cov)
    P = points_of(cov, 30, 2)
    P[5] = P[2]
    Z = points_of(cov, 20, 3)
    noise = cov.noise_variance
    for most in (1, 7, 15):
        found, chosen = represented(posterior, P, noise, most)
        assert len(chosen) == len(set(chosen.tolist())) <= most
        np.testing.assert_array_equal(found.X, np.concatenate([posterior.X[: posterior.n], P[chosen]]))
        np.testing.assert_allclose(
            moments(found, Z).variance, by_definition(posterior, P, chosen, noise, Z), rtol=1e-6, atol=1e-12
        )
        np.testing.assert_allclose(moments(found, Z).mean, moments(posterior, Z).mean, rtol=1e-9, atol=1e-12)
        given_these = moments(extended(posterior, P[chosen], noise), Z).variance
        assert (moments(found, Z).variance <= given_these * (1.0 + 1e-9)).all()
        np.testing.assert_array_equal(np.triu(found.W, 1), 0.0)
        np.testing.assert_array_equal(found.WT, found.W.T)


@pytest.mark.parametrize("cov", COVARIANCES)
def test_if_as_many_as_there_are_represent_all_points_they_are_taken_in_exactly(cov):
    posterior, _ = conditioned(cov)
    P = points_of(cov, 30, 2)
    P[5] = P[2]
    Z = points_of(cov, 20, 3)
    found, chosen = represented(posterior, P, cov.noise_variance, 100)
    assert not {2, 5} <= set(chosen.tolist())
    exact = moments(extended(posterior, P, cov.noise_variance), Z).variance
    np.testing.assert_allclose(moments(found, Z).variance, exact, rtol=1e-3)


def test_points_that_are_not_finite_are_not_represented():
    posterior, _ = conditioned(COVARIANCES[0])
    P = make_points(30, 3)
    P[3, 1] = np.nan
    with pytest.raises(np.linalg.LinAlgError, match="not finite"):
        represented(posterior, P, 0.1, 7)
