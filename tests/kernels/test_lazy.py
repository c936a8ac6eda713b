from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import make_covariance, make_points

from numbo.kernels.covariance import RBF, cross_covariance
from numbo.kernels.lazy import (
    BLOCK_WIDTH,
    MEANS_WIDTH,
    UNKNOWN,
    Bounds,
    best_of_block,
    combine_into,
    lazy_argmax,
    rank_blocks,
    squared_remainders_into,
    start_bounds,
)
from numbo.models import SparseGP


def bounds_of(bound):
    A = len(bound)
    arrays = (np.zeros(A) for _ in range(2))
    stamp, top = np.full(A, UNKNOWN, dtype=np.int64), np.zeros(-(-A // BLOCK_WIDTH), dtype=np.int64)
    return Bounds(*arrays, np.array(bound), stamp, np.ones(A), np.zeros(A), top)


@pytest.mark.parametrize("A", [1, BLOCK_WIDTH - 1, BLOCK_WIDTH, BLOCK_WIDTH + 1, 3 * BLOCK_WIDTH + 5])
def test_blocks_are_ranked_by_their_first_best(A):
    rng = np.random.default_rng(A)
    bound = rng.integers(0, 20, A).astype(float)
    bounds = bounds_of(bound)
    rank_blocks(bounds)
    for block, best in enumerate(bounds.top):
        part = bound[block * BLOCK_WIDTH : (block + 1) * BLOCK_WIDTH]
        assert best == block * BLOCK_WIDTH + int(np.argmax(part)) == best_of_block(bound, block)


@pytest.mark.parametrize("m", [0, 3, 9])
def test_rows_are_combined(m):
    rng = np.random.default_rng(m)
    rows, alpha, out = rng.normal(size=(12, MEANS_WIDTH + 7)), rng.normal(size=m), np.empty(MEANS_WIDTH + 7)
    slots = rng.integers(0, 12, m)  # repeats count as often
    combine_into(rows, slots, alpha, out)
    np.testing.assert_allclose(out, alpha @ rows[slots], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("A", [1, MEANS_WIDTH, MEANS_WIDTH + 7])
@pytest.mark.parametrize(("m", "q"), [(0, 3), (3, 0), (4, 1), (9, 5)])
def test_squares_of_what_remains_are_summed(A, m, q):
    rng = np.random.default_rng(m)
    between, C, V, out = rng.normal(size=(q, A)), rng.normal(size=(m, q)), rng.normal(size=(m, A)), np.empty(A)
    squared_remainders_into(between, C, V, out)
    np.testing.assert_allclose(out, np.sum((between - C.T @ V) ** 2, axis=0), rtol=1e-12, atol=1e-12)


def test_bounds_start_from_means_and_deviations():
    rng = np.random.default_rng(0)
    A = BLOCK_WIDTH + 9
    means, deviations, excluded = rng.normal(size=A), rng.random(A), rng.random(A) < 0.5
    bounds = bounds_of(np.zeros(A))
    bounds.stamp[:] = 3
    bounds.weight[:] = rng.random(A)
    start_bounds(means, deviations, 2.0, 0.1, -1.5, excluded, bounds)
    whole = bounds.weight * (means + 2.0 * deviations + 0.1) - (1.0 - bounds.weight) * 1.5
    np.testing.assert_allclose(bounds.bound, np.where(excluded, -np.inf, whole), rtol=1e-12)
    assert (bounds.stamp == UNKNOWN).all()
    assert bounds.bound[bounds.top].tolist() == [bounds.bound[:BLOCK_WIDTH].max(), bounds.bound[BLOCK_WIDTH:].max()]
    start_bounds(means, deviations, 2.0, 0.1, -1.5, np.empty(0, dtype=bool), bounds)
    np.testing.assert_allclose(bounds.bound, whole, rtol=1e-12)


@pytest.mark.parametrize("beta", [0.0, 1.5])
def test_arms_are_computed_until_the_best_is_certain(beta):
    arms = make_points(3 * BLOCK_WIDTH, 2)
    gp = SparseGP(make_covariance(RBF, 2, False), arms[:8])
    gp.condition(arms[:12])
    gp.set_values(np.sin(9 * arms[:12, 0]))
    mean, variance = gp.mean_variance(arms)
    variance *= gp.regularization
    truth = mean + beta * np.sqrt(variance)
    loose = truth + np.random.default_rng(0).random(len(arms))
    bounds = bounds_of(loose)
    rank_blocks(bounds)
    arm, computed = lazy_argmax(gp.posterior, arms, np.empty((0, gp.m)), 0, beta, bounds)
    assert arm == int(np.argmax(truth))
    known = bounds.stamp == 0
    assert computed == known.sum() < len(arms)
    assert (known == (loose >= truth.max())).all()
    np.testing.assert_allclose(bounds.bound[known], truth[known], rtol=1e-7)
    np.testing.assert_allclose(bounds.variance[known], variance[known], rtol=1e-6)


def test_nothing_is_left_when_all_are_out():
    arms = make_points(10, 2)
    gp = SparseGP(make_covariance(RBF, 2, False), arms[:3])
    bounds = bounds_of(np.full(10, -np.inf))
    rank_blocks(bounds)
    assert lazy_argmax(gp.posterior, arms, np.empty((0, 3)), 0, 1.0, bounds) == (-1, 0)


def test_directions_shrink_the_variance_of_old_bounds_and_of_new_ones():
    arms = make_points(40, 2)
    gp = SparseGP(make_covariance(RBF, 2, False), arms[:4])
    gp.condition(arms[:6])
    gp.set_values(np.ones(6))
    mean, variance = gp.mean_variance(arms)
    variance = gp.regularization * variance
    bounds = bounds_of(np.full(40, 9.0))
    rank_blocks(bounds)
    beta = 2.0
    first, _ = lazy_argmax(gp.posterior, arms, np.empty((0, gp.m)), 0, beta, bounds)
    assert first == int(np.argmax(mean + beta * np.sqrt(variance)))
    k = cross_covariance(gp.covariance, np.ascontiguousarray(gp.dictionary.T), np.ascontiguousarray(arms.T))
    direction = k[first] / (k[first] @ k[first])  # takes a share of the variance away where the first arm is
    H = 0.9 * np.sqrt(variance[first]) * np.array([direction, 0.3 * direction])
    left = np.maximum(variance - ((k @ H.T) ** 2).sum(axis=1), 0.0)
    truth = mean + beta * np.sqrt(left)
    second, computed = lazy_argmax(gp.posterior, arms, H, 2, beta, bounds)
    assert second == int(np.argmax(truth))
    assert computed > 0
    known = bounds.stamp == 2
    np.testing.assert_allclose(bounds.bound[known], truth[known], rtol=1e-7)
    np.testing.assert_allclose(bounds.variance[known], left[known], rtol=1e-6, atol=1e-12)
