from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg
from tests import naive
from tests.helpers import make_covariance, make_points

from numbo.kernels.covariance import MATERN52, RBF
from numbo.kernels.sparse import (
    dtc_mean_weights,
    dtc_variances,
    dtc_weights,
    embed,
    embed_one,
    inverse_factor,
    observe,
    precision_factor,
)

LAM = 1e-2


def setting(m, n=300, d=2, family=MATERN52):
    """n exceeds one block of points."""
    cov = make_covariance(family, d, False, noise=LAM)
    X = make_points(n, d)
    S = X[:m].copy()
    L = np.linalg.cholesky(naive.gram(cov, S) + 1e-10 * np.eye(m))
    R, RT = inverse_factor(L)
    return cov, X, S, L, R, RT


@pytest.mark.parametrize("m", [1, 3, 4, 17])
def test_embedding(m):
    cov, X, S, L, R, RT = setting(m)
    np.testing.assert_allclose(R, linalg.inv(L), atol=1e-7)
    np.testing.assert_array_equal(R.T, RT)
    expected = linalg.solve_triangular(L, naive.gram(cov, S, X), lower=True).T
    np.testing.assert_allclose(embed(cov, S, R, X), expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(embed_one(cov, np.ascontiguousarray(S.T), RT, X[7]), expected[7], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("m", [1, 4, 17])
def test_factor_of_the_precision(m):
    cov, X, S, _, R, _ = setting(m)
    Z, counts = embed(cov, S, R, X), np.random.default_rng(0).integers(1, 5, len(X)).astype(float)
    LV, ok = precision_factor(Z, counts, LAM)
    assert ok
    np.testing.assert_allclose(LV @ LV.T, (Z.T * counts) @ Z + LAM * np.eye(m), rtol=1e-10, atol=1e-10)
    assert not precision_factor(Z, np.full(len(X), np.nan), LAM)[1]


@pytest.mark.parametrize(("m", "n"), [(1, 9), (6, 40), (17, 300), (9, 3), (9, 0)])
def test_weights_give_the_posterior(m, n):
    cov, X, S, _, R, _ = setting(m)
    Z = embed(cov, S, R, X[:n])
    y = np.cos(5 * X[:n, 0])
    LV, _ = precision_factor(Z, np.ones(n), LAM)
    W, U, half, halfT, ok = dtc_weights(R, LV, LAM)
    assert ok
    V = Z.T @ Z + LAM * np.eye(m)
    np.testing.assert_allclose(U.T @ U, np.eye(m) - LAM * linalg.inv(V), atol=1e-10)
    np.testing.assert_allclose(W, U @ R, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(np.triu(W, 1), 0.0)
    np.testing.assert_allclose(half @ LV, np.eye(m), atol=1e-9)
    alpha = dtc_mean_weights(R, half, halfT, Z.T @ y)
    ZX = embed(cov, S, R, X)
    np.testing.assert_allclose(
        naive.gram(cov, X, S) @ alpha, ZX @ linalg.solve(V, Z.T @ y, assume_a="pos"), rtol=1e-5, atol=1e-7
    )
    prior = np.full(len(X), cov.signal_variance)
    expected = prior - np.sum(ZX**2, axis=1) + LAM * np.sum(ZX * linalg.solve(V, ZX.T).T, axis=1)
    np.testing.assert_allclose(dtc_variances(ZX, U, prior), np.maximum(expected, 0.0), rtol=1e-6, atol=1e-9)


def test_weights_of_what_is_not_finite_fail():
    R = np.eye(3)
    assert not dtc_weights(R, np.full((3, 3), np.nan), LAM)[-1]


def test_observing_is_a_rank_one_update():
    cov, X, S, _, R, _ = setting(6, family=RBF)
    Z = embed(cov, S, R, X)
    LV, _ = precision_factor(Z[:20], np.ones(20), LAM)
    before = LV @ LV.T
    h = observe(R, LV, Z[25].copy(), LAM)
    np.testing.assert_allclose(LV @ LV.T, before + np.outer(Z[25], Z[25]), rtol=1e-10, atol=1e-12)
    inside = np.einsum("ij,ij->i", Z, linalg.solve(before, Z.T).T)
    after = np.einsum("ij,ij->i", Z, linalg.solve(LV @ LV.T, Z.T).T)
    np.testing.assert_allclose((naive.gram(cov, X, S) @ h) ** 2, LAM * (inside - after), rtol=1e-5, atol=1e-10)
