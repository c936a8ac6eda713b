from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg
from tests import naive
from tests.helpers import compiled_only, make_covariance, make_points

from numbo.kernels.acquisition import mean_variance
from numbo.kernels.covariance import MATERN52, RBF
from numbo.models import SparseGP
from numbo.models.pending import extended


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
    gp.condition(X)
    gp.set_values(y)
    return gp


def same_posterior(a, b, A, rtol=1e-7):
    for found, expected in zip(a.mean_variance(A), b.mean_variance(A), strict=True):
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-9)


@pytest.mark.parametrize("cov", COVARIANCES)
@pytest.mark.parametrize("m", [1, 6, 25])
def test_posterior_is_the_definition(cov, m):
    X, y, A = data()
    gp = fitted(cov, X[:m], X, y)
    mean, variance = gp.mean_variance(A)
    expected_mean, expected_cross = brute(cov, X[:m], X, y, A)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(variance, np.diag(expected_cross), rtol=1e-6)
    np.testing.assert_allclose(gp.cross(A, A), expected_cross, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(gp.variances(), np.diag(brute(cov, X[:m], X, y, X)[1]), rtol=1e-6)
    V = gp.Z.T @ gp.Z + cov.noise_variance * np.eye(gp.m)
    assert gp.log_determinant() == pytest.approx(np.linalg.slogdet(V / cov.noise_variance)[1])


@pytest.mark.parametrize("cov", COVARIANCES)
def test_a_perfect_dictionary_is_the_exact_gp(cov):
    X, y, A = data()
    gp = fitted(cov, np.concatenate([X, A]), X, y)
    mean, variance = gp.mean_variance(A)
    exact_mean, exact_variance = naive.posterior(cov, X, y, A)
    np.testing.assert_allclose(mean, exact_mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gp.regularization * variance, exact_variance, rtol=1e-4, atol=1e-7)


def test_the_variance_does_not_starve_far_from_the_dictionary():
    cov = make_covariance(RBF, 3, False)
    X, y, _ = data()
    gp = fitted(cov, X[:2], X, y)
    far = np.full((1, 3), 40.0)
    assert gp.regularization * gp.mean_variance(far)[1][0] == pytest.approx(cov.signal_variance)


def test_before_any_observation_it_is_the_prior():
    cov = COVARIANCES[0]
    X, _, A = data()
    mean, variance = SparseGP(cov, X).mean_variance(A)
    assert not mean.any()
    np.testing.assert_allclose(cov.noise_variance * variance, cov.signal_variance, rtol=1e-9)


@pytest.mark.parametrize("n", [10, 24])
def test_adding_one_at_a_time_is_conditioning_on_all(n):
    cov = COVARIANCES[1]
    X, y, A = data(n=90)
    whole, grown = fitted(cov, X[:8], X, y), fitted(cov, X[:8], X[:n], y[:n])
    before = grown.regularization * grown.mean_variance(A)[1]
    for x, value in zip(X[n:], y[n:], strict=True):
        h = grown.add(x, value)
        after = grown.regularization * grown.mean_variance(A)[1]
        taken = (naive.gram(cov, A, grown.dictionary) @ h) ** 2
        np.testing.assert_allclose(before - after, taken, rtol=1e-5, atol=1e-9)
        before = after
    assert grown.u == whole.u == 90
    same_posterior(grown, whole, A)


def test_a_point_that_enters_at_its_mean_leaves_the_mean_alone():
    cov = COVARIANCES[0]
    X, y, A = data()
    gp = fitted(cov, X[:8], X, y)
    mean, variance = gp.mean_variance(A)
    for x in A[:3]:
        gp.add(x, gp.mean_variance(x[None])[0][0])
    np.testing.assert_allclose(gp.mean_variance(A)[0], mean, rtol=1e-7, atol=1e-9)
    assert (gp.mean_variance(A)[1] < variance).all()


@pytest.mark.parametrize("cov", COVARIANCES)
@pytest.mark.parametrize("m", [2, 12])
def test_extending_is_exact_conditioning_on_points_at_their_mean(cov, m):
    X, y, A = data()
    gp = fitted(cov, X[:m], X, y)
    P = np.concatenate([A[:3], A[1:2], X[20:21]])  # a repeat among them
    posterior = extended(gp.posterior, P, cov.noise_variance)
    mean, variance = mean_variance(posterior, A)
    np.testing.assert_allclose(mean, gp.mean_variance(A)[0], rtol=1e-9)
    lam = cov.noise_variance
    among, across = lam * gp.cross(P, P), lam * gp.cross(A, P)
    expected = lam * gp.mean_variance(A)[1] - np.sum(across * linalg.solve(among + lam * np.eye(5), across.T).T, axis=1)
    np.testing.assert_allclose(variance, expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(np.triu(posterior.W, 1), 0.0)
    np.testing.assert_array_equal(posterior.XT, posterior.X.T)
    assert extended(gp.posterior, X[:0], lam).n == gp.m


def test_repeats_are_counted_one_at_a_time_or_together():
    cov = COVARIANCES[0]
    X, y, A = data(n=6)
    counts = np.array([1.0, 3.0, 2.0, 1.0, 1.0, 4.0])
    index = np.repeat(np.arange(6), counts.astype(int))
    values = y[index] + np.random.default_rng(0).normal(size=len(index))
    sums = np.bincount(index, values)
    literal = fitted(cov, X[:4], X[index], values)
    counted = SparseGP(cov, X[:4])
    counted.condition(X, counts)
    counted.set_values(sums)
    stepwise = fitted(cov, X[:4], X, np.zeros(6))
    for i in np.repeat(np.arange(6), counts.astype(int) - 1):
        stepwise.repeat(i)
    stepwise.set_values(sums)
    np.testing.assert_array_equal(stepwise.counts, counts)
    same_posterior(counted, literal, A)
    same_posterior(stepwise, literal, A)


@pytest.mark.parametrize("cov", COVARIANCES)
def test_conditioning_over_points_is_the_same_in_one_go(cov):
    X, y, A = data(n=40)
    X[20:25] = X[:5]
    counts = np.random.default_rng(0).integers(0, 4, 40).astype(float)
    atoms = np.array([3, 0, 22, 39, 17, 20])  # 20 repeats 0, and 22 is 2
    one_go = SparseGP.over(cov, X, counts, atoms)
    stepwise = SparseGP(cov, X[atoms])
    stepwise.condition(X, counts)
    for gp in (one_go, stepwise):
        gp.set_values(counts * y)
    np.testing.assert_array_equal(one_go.kept, stepwise.kept)
    assert one_go.m == 5
    np.testing.assert_allclose(one_go.Z, stepwise.Z, atol=1e-9)
    same_posterior(one_go, stepwise, A)


@pytest.mark.parametrize("cov", COVARIANCES)
def test_other_counts_on_the_same_dictionary_are_conditioning_again(cov):
    X, y, A = data(n=40)
    atoms = np.array([3, 0, 22, 39, 17, 20])
    first = SparseGP.over(cov, X, np.ones(40), atoms)
    counts = np.random.default_rng(0).integers(1, 4, 40).astype(float)
    recounted, anew = first.recounted(counts), SparseGP.over(cov, X, counts, atoms)
    for gp in (recounted, anew):
        gp.set_values(counts * y)
    for ours, theirs in zip(recounted.mean_variance(A), anew.mean_variance(A), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(recounted.variances(), anew.variances())
    recounted.add(A[0])
    assert first.u == 40
    np.testing.assert_array_equal(first.counts, np.ones(40))


@compiled_only
@pytest.mark.parametrize("cov", COVARIANCES)
def test_growing_the_dictionary_is_starting_with_it(cov):
    X, y, A = data(n=60)
    grown = fitted(cov, X[:3], X[:20], y[:20])
    for i in range(3, 50):  # past the spare room for atoms and points
        assert grown.grow(X[i])
        if i >= 20:
            grown.add(X[i], y[i])
    assert not grown.grow(X[7])
    whole = fitted(cov, X[:50], X[:50], y[:50])
    assert grown.m == whole.m == 50
    same_posterior(grown, whole, A, rtol=1e-5)


@compiled_only
def test_a_copy_goes_its_own_way():
    """Whoever is changed first, and whatever is copied: the others stay as they are to the last bit."""
    cov = COVARIANCES[0]
    X, y, A = data(n=60)
    gp, untouched = fitted(cov, X[:5], X[:10], y[:10]), fitted(cov, X[:5], X[:10], y[:10])
    before = gp.copy()
    models = [gp, before.copy(), before.copy()]
    for rows, model in zip((range(10, 30), range(30, 60), range(10, 60)), models, strict=True):
        for i in rows:
            model.grow(X[i])
            model.add(X[i], y[i])
            model.repeat(i % 10, 0.5)
    models[2].scale_up(3, 2.0, 1.0)
    assert (before.u, before.m) == (10, 5)
    for found, expected in zip(before.mean_variance(A), untouched.mean_variance(A), strict=True):
        np.testing.assert_array_equal(found, expected)
    for rows, model in zip((range(10, 30), range(30, 60)), models, strict=False):
        alone = fitted(cov, X[:5], X[:10], y[:10])
        for i in rows:
            alone.grow(X[i])
            alone.add(X[i], y[i])
            alone.repeat(i % 10, 0.5)
        for found, expected in zip(model.mean_variance(A), alone.mean_variance(A), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_a_hallucination_is_an_observation_of_another_model():
    X, y, _ = data()
    gp = fitted(COVARIANCES[1], X[:6], X[:20], y[:20])
    LV, observed = gp.LV.copy(), gp.copy()
    for x in X[20:]:
        z = gp.embed(x[None])[0]
        np.testing.assert_allclose(gp.hallucinate(LV, z), observed.add(x), rtol=1e-12)
    np.testing.assert_allclose(LV, observed.LV, rtol=1e-12)
    assert gp.u == 20


def test_the_variance_at_one_point_is_that_of_many():
    X, y, A = data()
    gp = fitted(COVARIANCES[2], X[:6], X, y)
    np.testing.assert_allclose([gp.variance(x) for x in A], gp.mean_variance(A)[1], rtol=1e-9)


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
    mean, variance = gp.mean_variance(np.concatenate([A, X]))
    expected_mean, expected_cross = brute(cov, S[:distinct], X, y, np.concatenate([A, X]))
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(variance, np.diag(expected_cross), rtol=2e-2, atol=1e-2)
    assert (variance >= 0.0).all()


def test_what_cannot_be_a_model_is_refused():
    X, _, _ = data()
    with pytest.raises(ValueError, match=r"lambda .* must be positive, got 0\.0"):
        SparseGP(COVARIANCES[0]._replace(noise_variance=0.0), X)


def test_on_an_empty_dictionary_the_posterior_is_the_prior():
    X, y, A = data()
    cov = COVARIANCES[2]
    gp = fitted(cov, X[:0], X, y)
    mean, variance = gp.mean_variance(A)
    np.testing.assert_array_equal(mean, np.zeros(len(A)))
    np.testing.assert_allclose(variance, np.diag(naive.gram(cov, A)) / cov.noise_variance)
    assert gp.grow(X[0])
    same_posterior(gp, fitted(cov, X[:1], X, y), A)
