from __future__ import annotations

import functools

import numpy as np
import pytest
from tests import naive
from tests.helpers import make_covariance, make_points

from numbo.kernels.covariance import RBF, cross_covariance, stationary
from numbo.models import SparseGP
from numbo.models.dictionaries import (
    DictionaryRule,
    bless,
    leverage_estimates,
    posterior_variance_sampling,
    recursive_rls,
)

N = 600


@functools.cache
def problem(seed, lam=0.05):
    """Clusters of very different sizes: uniform sampling misses the small ones."""
    rng = np.random.default_rng(seed)
    centers = rng.random((12, 2)) * 3
    X = centers[rng.choice(12, N, p=np.r_[0.89, [0.01] * 11])] + 0.02 * rng.normal(size=(N, 2))
    cov = stationary(RBF, np.full(2, 8.0), 1.0, lam, np.zeros(2, dtype=bool))
    XT = np.ascontiguousarray(X.T)
    K = cross_covariance(cov, XT, XT)
    exact = np.diag(K @ np.linalg.inv(K + lam * np.eye(N)))
    return cov, X, exact


def variances(cov, X, dictionary):
    gp = SparseGP(cov, dictionary)
    gp.condition(X)
    return gp.mean_variance(X)[1]


def by_known_scores(cov, X, rng):
    exact = leverage_estimates(cov, X, X, np.full(len(X), cov.noise_variance), cov.noise_variance)
    return posterior_variance_sampling(exact, 4.0, rng)


SAMPLERS = {
    "posterior variance": by_known_scores,
    "recursive RLS": lambda cov, X, rng: recursive_rls(cov, X, rng, qbar=4.0),
    "BLESS": lambda cov, X, rng: bless(cov, X, rng, qbar=4.0),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_variances_are_accurate_up_to_a_constant(name):
    """var / alpha <= var~ <= alpha var, alpha = (1 + eps) / (1 - eps) with eps = 1/2, on 12 random problems."""
    bad, sizes = 0, []
    for seed in range(12):
        cov, X, exact = problem(seed)
        chosen = SAMPLERS[name](cov, X, np.random.default_rng(seed))
        assert len(np.unique(chosen)) == len(chosen)
        ratio = variances(cov, X, X[chosen]) / exact
        bad += not (ratio.max() <= 3.0 and ratio.min() >= 1 / 3)
        sizes.append(len(chosen) / exact.sum())
    assert bad <= 1
    assert np.median(sizes) < 14  # a multiple of the effective dimension, far below n


def test_a_uniform_dictionary_of_that_size_is_not_accurate():
    bad = 0
    for seed in range(12):
        cov, X, exact = problem(seed)
        size = len(by_known_scores(cov, X, np.random.default_rng(seed)))
        chosen = np.random.default_rng(seed).choice(N, size, replace=False)
        ratio = variances(cov, X, X[chosen]) / exact
        bad += not (ratio.max() <= 3.0 and ratio.min() >= 1 / 3)
    assert bad >= 6


def test_exact_scores_from_the_whole_set():
    cov = make_covariance(RBF, 3, False)
    X = make_points(30, 3)
    K = naive.gram(cov, X)
    exact = np.diag(K @ np.linalg.inv(K + cov.noise_variance * np.eye(30)))
    found = leverage_estimates(cov, X, X, np.full(30, cov.noise_variance), cov.noise_variance)
    np.testing.assert_allclose(found, exact, rtol=1e-8)
    none = leverage_estimates(cov, X, X[:0], np.empty(0), 2.0)
    np.testing.assert_allclose(none, np.diag(K) / 2.0)


@pytest.mark.parametrize("sampler", [recursive_rls, bless])
def test_estimates_with_part_of_the_points_are_upper_bounds(sampler):
    cov, X, exact = problem(3)
    chosen = sampler(cov, X, np.random.default_rng(0), qbar=4.0)
    lam = cov.noise_variance
    # fewer observations leave more variance: unweighted, the estimate can only be too large
    unweighted = leverage_estimates(cov, X, X[chosen], np.full(len(chosen), lam), lam)
    assert (unweighted >= exact - 1e-9).all()


def test_inclusion_follows_the_probabilities():
    variance = np.array([0.0, 0.1, 0.25, 0.5, 3.0])
    counts = np.zeros(5)
    rng = np.random.default_rng(0)
    for _ in range(4000):
        counts[posterior_variance_sampling(variance, 2.0, rng)] += 1
    np.testing.assert_allclose(counts / 4000, [0.0, 0.2, 0.5, 1.0, 1.0], atol=0.03)


@pytest.mark.parametrize("sampler", [recursive_rls, bless])
@pytest.mark.parametrize("n", [1, 2, 500])
def test_degenerate_sets(sampler, n):
    cov = make_covariance(RBF, 2, False)
    X = np.full((n, 2), 0.3)
    chosen = sampler(cov, X, np.random.default_rng(0), qbar=2.0)
    assert 1 <= len(chosen) <= n


def test_the_papers_oversampling_keeps_more():
    cov, X, _ = problem(0, lam=0.5)
    X = np.tile(X, (4, 1)) + 1e-3 * np.random.default_rng(0).normal(size=(4 * N, 2))
    few = recursive_rls(cov, X, np.random.default_rng(0), qbar=2.0)
    many = recursive_rls(cov, X, np.random.default_rng(0), delta=0.1)
    assert len(few) < len(many) <= len(X)


def test_bless_wants_a_path_that_descends():
    cov = make_covariance(RBF, 2, False)
    with pytest.raises(ValueError, match=r"step must be above 1, got 1\.0"):
        bless(cov, make_points(5, 2), np.random.default_rng(0), step=1.0)


@pytest.mark.parametrize("sampler", [recursive_rls, bless])
def test_a_dictionary_holds_no_more_points_than_wanted(sampler):
    cov, X, _ = problem(0)
    rng = np.random.default_rng(0)
    chosen = sampler(cov, X, rng, limit=9)
    assert 0 < len(chosen) <= 9
    assert (np.diff(chosen) > 0).all()


def test_atoms_are_drawn_with_the_probability_of_their_variance():
    rule, rng = DictionaryRule(2.0, None, "bless", 0.1), np.random.default_rng(0)
    leverage = np.array([0.0, 0.01, 0.1, 0.3, 0.5, 7.0])
    drawn = np.zeros(6)
    for _ in range(4000):
        chosen, certain = rule.draw(leverage, rng)
        drawn[chosen] += 1
        np.testing.assert_array_equal(certain, 2.0 * leverage[chosen] >= 1.0)
    np.testing.assert_allclose(drawn / 4000, np.minimum(1.0, 2.0 * leverage), atol=0.03)


def test_a_dictionary_stays_within_its_size():
    rule, rng = DictionaryRule(2.0, 10, "bless", 0.1), np.random.default_rng(0)
    for scale in (1e-3, 1.0, 1e3):
        leverage = scale * rng.random(200) ** 3
        sizes = [len(rule.draw(leverage, rng)[0]) for _ in range(200)]
        expected = min(10.0, np.minimum(1.0, 2.0 * leverage).sum())
        assert np.mean(sizes) == pytest.approx(max(expected, 1.0), abs=0.7)
