from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg
from tests import naive
from tests.conftest import make_covariance, make_points

from numbo.kernels.covariance import MATERN52, RBF
from numbo.models import SparseGP


def brute(cov, S, X, y, A):
    """Section 3 literally, with the pseudo-inverse square root of the reference definition."""
    lam = cov.noise_variance
    values, vectors = np.linalg.eigh(naive.gram(cov, S))
    keep = values > 1e-10 * values.max()
    root = vectors[:, keep] / np.sqrt(values[keep])
    Z, ZA = naive.gram(cov, X, S) @ root, naive.gram(cov, A, S) @ root
    V = Z.T @ Z + lam * np.eye(Z.shape[1])
    cross = (naive.gram(cov, A) - ZA @ ZA.T) / lam + ZA @ linalg.solve(V, ZA.T)
    return ZA @ linalg.solve(V, Z.T @ y), cross


def data(n=25, d=3, seed=0):
    X = make_points(n, d, seed=seed)
    return X, np.sin(5 * X.sum(axis=1)), make_points(9, d, seed=seed + 1)


COVARIANCES = [make_covariance(RBF, 3, False), make_covariance(MATERN52, 3, False), make_covariance(MATERN52, 3, True)]


def fitted(cov, S, X, y):
    gp = SparseGP(cov, S)
    gp.condition(gp.embed(X), y)
    return gp


@pytest.mark.parametrize("cov", COVARIANCES)
@pytest.mark.parametrize("m", [1, 6, 25])
def test_posterior_is_the_definition(cov, m):
    X, y, A = data()
    gp = fitted(cov, X[:m], X, y)
    mean, variance = gp.predict(A)
    expected_mean, expected_cross = brute(cov, X[:m], X, y, A)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(variance, np.diag(expected_cross), rtol=1e-6)
    np.testing.assert_allclose(gp.cross(A, A), expected_cross, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("cov", COVARIANCES)
def test_a_perfect_dictionary_is_the_exact_gp(cov):
    X, y, A = data()
    gp = fitted(cov, np.concatenate([X, A]), X, y)
    mean, variance = gp.predict(A)
    exact_mean, exact_variance = naive.posterior(cov, X, y, A)
    np.testing.assert_allclose(mean, exact_mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gp.regularization * variance, exact_variance, rtol=1e-4, atol=1e-7)


def test_the_variance_does_not_starve_far_from_the_dictionary():
    cov = make_covariance(RBF, 3, False)
    X, y, _ = data()
    gp = fitted(cov, X[:2], X, y)
    far = np.full((1, 3), 40.0)
    assert gp.regularization * gp.predict(far)[1][0] == pytest.approx(cov.signal_variance)


@pytest.mark.parametrize("pending", [False, True])
def test_adding_one_at_a_time_is_conditioning_on_all(pending):
    cov = COVARIANCES[1]
    X, y, A = data()
    whole, grown = fitted(cov, X[:8], X, y), fitted(cov, X[:8], X[:10], y[:10])
    for x, value in zip(X[10:], y[10:], strict=True):
        grown.add(grown.embed(x[None])[0], None if pending else value)
    assert grown.n == whole.n == 25
    Z = grown.embed(A)
    prior = np.diag(naive.gram(cov, A))
    np.testing.assert_allclose(grown.variance(Z, prior), whole.variance(Z, prior), rtol=1e-8)
    if not pending:
        np.testing.assert_allclose(grown.mean(Z), whole.mean(Z), rtol=1e-7, atol=1e-9)


def test_counted_repeats_are_repeats():
    cov = COVARIANCES[0]
    X, y, A = data(n=6)
    counts = np.array([1.0, 3.0, 2.0, 1.0, 1.0, 4.0])
    index = np.repeat(np.arange(6), counts.astype(int))
    values = y[index] + np.random.default_rng(0).normal(size=len(index))
    means = np.array([values[index == i].mean() for i in range(6)])
    a, b = SparseGP(cov, X), SparseGP(cov, X)
    a.condition(a.embed(X[index]), values)
    b.condition(b.embed(X), means, counts)
    assert a.n == b.n == 12
    for found, expected in zip(b.predict(A), a.predict(A), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("case", ["repeats", "nearly", "one", "all equal"])
def test_degenerate_dictionaries(case):
    cov = make_covariance(RBF, 3, False, noise=1e-4)
    X, y, A = data()
    S = {
        "repeats": np.concatenate([X, X]),
        "nearly": np.concatenate([X, X + 1e-9]),
        "one": X[:1],
        "all equal": np.repeat(X[:1], 7, axis=0),
    }[case]
    gp = fitted(cov, S, X, y)
    distinct = {"repeats": 25, "nearly": 25, "one": 1, "all equal": 1}[case]
    assert gp.m <= distinct
    mean, variance = gp.predict(np.concatenate([A, X]))
    expected_mean, expected_cross = brute(cov, S[:distinct], X, y, np.concatenate([A, X]))
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(variance, np.diag(expected_cross), rtol=2e-2, atol=1e-2)
    assert (variance >= 0.0).all()


def test_what_cannot_be_a_model_is_refused():
    X, _, _ = data()
    with pytest.raises(ValueError, match=r"lambda .* must be positive, got 0\.0"):
        SparseGP(COVARIANCES[0]._replace(noise_variance=0.0), X)
    with pytest.raises(ValueError, match="at least one point"):
        SparseGP(COVARIANCES[0], X[:0])
