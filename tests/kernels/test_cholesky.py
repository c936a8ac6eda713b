from __future__ import annotations

import math

import numpy as np
import pytest
from tests.helpers import entry

from numbo.kernels.cholesky import (
    cholesky_append,
    cholesky_into,
    cholesky_update,
    inverse_into,
    invert_lower_into,
    lower_product_into,
    unwhiten_into,
    whiten_into,
)


def spd(n, seed=0):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A @ A.T + n * np.eye(n)


def factor(K, capacity=None):
    n = len(K)
    capacity = capacity or n
    L, W, WT = (np.zeros((capacity, capacity)) for _ in range(3))
    room = np.full((capacity, capacity), np.nan)
    room[:n, :n] = K
    assert cholesky_into(room, n, L)
    invert_lower_into(L, n, 0, W, WT)
    return L, W, WT


def check(L, W, WT, K):
    n = len(K)
    expected = np.linalg.cholesky(K)
    np.testing.assert_allclose(L[:n, :n], expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(W[:n, :n], np.linalg.inv(expected), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(WT[:n, :n], W[:n, :n].T)


@pytest.mark.parametrize("n", [1, 2, 5, 17])
def test_factor_and_inverse(n):
    K = spd(n)
    check(*factor(K), K)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_what_is_not_positive_definite_is_reported(bad):
    K = spd(4)
    K[2, 2] = bad
    assert not cholesky_into(K, 4, np.empty((4, 4)))


def test_the_inverse():
    K = spd(9)
    out = np.full((9, 9), np.nan)
    entry(inverse_into)(factor(K)[1], 9, out)
    np.testing.assert_allclose(np.tril(out), np.tril(np.linalg.inv(K)), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize(("n", "size"), [(1, 3), (4, 1), (7, 5), (18, 33)])
def test_the_product_with_a_lower_triangle(n, size):
    rng = np.random.default_rng(n)
    W = np.tril(rng.normal(size=(n + 2, n + 2)))  # with room that is not used
    K, out = rng.normal(size=(n + 2, size + 3)), np.full((n + 1, size + 1), np.nan)
    entry(lower_product_into)(W, n, K, size, out)
    np.testing.assert_allclose(out[:n, :size], W[:n, :n] @ K[:n, :size], rtol=1e-12, atol=1e-13)
    assert np.isnan(out[n]).all()
    assert np.isnan(out[:, size]).all()


def test_whitening_and_back_solve_the_system():
    K, k = spd(9), np.arange(9.0)
    _, W, WT = factor(K)
    v, out = np.empty(9), np.empty(9)
    whiten_into(WT, 9, k, v)
    unwhiten_into(W, 9, v, out)
    np.testing.assert_allclose(v @ v, k @ np.linalg.solve(K, k), rtol=1e-12)
    np.testing.assert_allclose(out, np.linalg.solve(K, k), rtol=1e-10)


@pytest.mark.parametrize("n", [1, 2, 8])
def test_append_is_the_factor_of_the_larger_matrix(n):
    K = spd(n + 1)
    L, W, WT = factor(K[:n, :n], capacity=n + 3)
    assert cholesky_append(L, W, WT, n, K[n, :n].copy(), K[n, n])
    check(L, W, WT, K)


@pytest.mark.parametrize("diagonal", [1.0, 0.5, math.inf, math.nan])
def test_append_refuses_a_repeat_and_what_is_no_number_and_changes_nothing(diagonal):
    K = np.array([[1.0, 1.0], [1.0, diagonal]])
    L, W, WT = factor(K[:1, :1], capacity=2)
    before = [a.copy() for a in (L, W, WT)]
    assert not cholesky_append(L, W, WT, 1, K[1, :1].copy(), K[1, 1])
    for a, b in zip((L, W, WT), before, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("start", [0, 2])
def test_rank_one_update(start):
    K, x = spd(6), np.random.default_rng(1).normal(size=6)
    x[:start] = 0.0
    L = np.linalg.cholesky(K)
    entry(cholesky_update)(L, 6, start, x.copy())
    np.testing.assert_allclose(L, np.linalg.cholesky(K + np.outer(x, x)), rtol=1e-10, atol=1e-12)
