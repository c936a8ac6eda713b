"""What the papers prove for any points and any dictionary, with NumPy on the other side."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests import naive
from tests.helpers import make_covariance, make_points

from numbo.kernels.covariance import MATERN52, RBF
from numbo.models import SparseGP
from numbo.optimizers.parts.race import lambda_max

CASES = [(family, noise, seed) for family in (RBF, MATERN52) for noise in (1.0, 1e-2) for seed in range(3)]
#: Room for rounding, in what is compared.
ROUNDING = 1.0 + 1e-6


def sparse(family, noise, seed, inside=False):
    """A model of 40 points on a dictionary of 8, which are others, or some of them; and 60 other points."""
    cov = make_covariance(family, 2, False, noise=noise)
    X = make_points(40, 2, seed=seed)
    S = X[:8] if inside else make_points(8, 2, seed=seed + 100)
    gp = SparseGP(cov, S)
    gp.condition(X)
    return cov, X, S, gp, make_points(60, 2, seed=seed + 200)


def exact_variance(cov, X, probes):
    """In units of lambda."""
    return naive.posterior(cov, X, np.zeros(len(X)), probes)[1] / cov.noise_variance


def projected(cov, S, X, Y):
    """kappa (n, p) of two sets of points: what the dictionary S represents of their covariance."""
    return naive.gram(cov, X, S) @ np.linalg.solve(naive.gram(cov, S), naive.gram(cov, S, Y))


def after(gp, batch):
    """The same model, with pulls of a batch on the same dictionary."""
    gp = gp.copy()
    for x in batch:
        gp.add(x)
    return gp


# -- S-BPE ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("family", "noise", "seed"), CASES)
def test_the_sparse_variance_is_projection_error_and_prediction_error_and_noise(family, noise, seed):
    """Theorem 3.2 of S-BPE, with each supremum in closed form."""
    cov, X, S, gp, probes = sparse(family, noise, seed)
    kappa = projected(cov, S, X, X)
    cross = projected(cov, S, X, probes)
    own = np.diag(projected(cov, S, probes, probes))
    V = np.linalg.solve(kappa + noise * np.eye(40), cross)
    projection = np.diag(naive.gram(cov, probes)) - own
    prediction = own - 2 * np.einsum("ij,ij->j", V, cross) + np.einsum("ij,ij->j", V, kappa @ V)
    total = projection + prediction + noise * (V**2).sum(axis=0)
    np.testing.assert_allclose(noise * gp.mean_variance(probes)[1], total, rtol=1e-5)


@pytest.mark.parametrize(("family", "noise", "seed"), CASES)
def test_the_interpolant_is_the_projection(family, noise, seed):
    """Lemma 3.1 of S-BPE: it is orthogonal to what is left, so norms add up."""
    cov, X, S, _, _ = sparse(family, noise, seed)
    weights = np.random.default_rng(seed).normal(size=40)
    f_at_S = naive.gram(cov, S, X) @ weights
    coefficients = np.linalg.solve(naive.gram(cov, S), f_at_S)  # those of the interpolant on the sections at S
    norm2 = weights @ naive.gram(cov, X) @ weights
    interpolant2 = coefficients @ f_at_S
    left2 = norm2 - 2 * coefficients @ f_at_S + coefficients @ naive.gram(cov, S) @ coefficients
    assert left2 + interpolant2 == pytest.approx(norm2, rel=1e-6)
    assert 0.0 < interpolant2 < norm2


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize(("family", "noise", "seed"), CASES)
def test_the_sparse_variance_is_the_exact_one_up_to_a_factor(family, noise, seed, inside):
    """Lemma G.1 of S-BPE, as it can be proved: either is at most ``1 + s`` times the other, ``s^2 = r (1 + s)``.

    ``r`` is ``lambda_max / tau^2``. The lemma says that the sparse one is the larger, by at most ``1 + r``; neither
    holds for all points.
    """
    cov, X, _, gp, probes = sparse(family, noise, seed, inside)
    ratio = gp.mean_variance(probes)[1] / exact_variance(cov, X, probes)
    r = lambda_max(gp) / noise
    factor = 1.0 + 0.5 * (r + math.sqrt(r**2 + 4 * r))
    assert ratio.max() <= factor * ROUNDING
    assert ratio.min() >= 1.0 / (factor * ROUNDING)


def test_the_sparse_variance_may_be_below_the_exact_one():
    """Against the left side of lemma G.1: the model takes what it cannot represent for something it has observed."""
    cov, X, _, gp, probes = sparse(RBF, 1e-2, 0)
    assert (gp.mean_variance(probes)[1] / exact_variance(cov, X, probes)).min() < 0.8


def test_the_factor_is_attained_under_a_linear_kernel():
    """Against the right side of lemma G.1, in two dimensions: the ratio exceeds 1 + r = 2, and tends to ``1 + s``."""
    v = np.array([1e3, 1.0])  # the point that is observed; the dictionary spans the first axis, so r = 1
    exact = np.outer(v, v) + np.eye(2)
    approximate = np.diag([v[0] ** 2 + 1.0, 1.0])
    ratio = np.linalg.eigvals(np.linalg.solve(approximate, exact)).real
    assert ratio.max() == pytest.approx((3 + math.sqrt(5)) / 2, rel=1e-5)
    assert 1.0 / ratio.min() == pytest.approx((3 + math.sqrt(5)) / 2, rel=1e-5)


# -- BKB -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 5, 40])
@pytest.mark.parametrize(("family", "noise", "seed"), CASES)
def test_dimension_variances_and_information_are_in_order(family, noise, seed, n):
    """Propositions B.1 and B.3 of BKB, for a perfect dictionary."""
    cov = make_covariance(family, 2, False, noise=noise)
    X = make_points(n, 2, seed=seed)
    K = naive.gram(cov, X)
    gp = SparseGP(cov, X)
    last = 0.0
    for x in X:
        before = gp.mean_variance(x[None])[1][0]
        gp.add(x)
        now = gp.mean_variance(x[None])[1][0]
        assert before / (1 + before) <= now * ROUNDING
        assert now <= before * ROUNDING
        last += now
    d_eff = np.trace(K @ np.linalg.inv(K + noise * np.eye(n)))
    assert gp.variances().sum() == pytest.approx(d_eff, rel=1e-5)
    information = np.linalg.slogdet(K / noise + np.eye(n))[1]
    assert d_eff <= last * ROUNDING
    assert last <= information * ROUNDING
    assert information <= d_eff * (1 + math.log(np.linalg.norm(K, 2) / noise + 1)) * ROUNDING


@pytest.mark.parametrize(("family", "noise", "seed"), CASES)
def test_a_dictionary_knows_no_more_than_all_points(family, noise, seed):
    """Section 4.1 of BKB: the log determinant of A~ is at most that of A."""
    cov, X, _, gp, _ = sparse(family, noise, seed)
    exact = np.linalg.slogdet(naive.gram(cov, X) / noise + np.eye(40))[1]
    assert gp.log_determinant() <= exact * ROUNDING


@pytest.mark.parametrize(("family", "noise", "seed"), CASES)
def test_an_accurate_dictionary_bounds_the_rest_and_the_variances(family, noise, seed):
    """Proposition D.3, lemma C.1 and corollary 4.2 of BKB, for the accuracy that a drawn dictionary has."""
    cov = make_covariance(family, 2, False, noise=noise)
    X = make_points(60, 2, seed=seed)
    K = naive.gram(cov, X)
    values, vectors = np.linalg.eigh(K)
    share = np.maximum(values, 0.0) / (np.maximum(values, 0.0) + noise)
    scores = vectors**2 @ share
    p = np.minimum(1.0, 6 * scores)
    chosen = np.flatnonzero(np.random.default_rng(seed).random(60) < p)
    half = np.sqrt(share)[:, None] * vectors[chosen].T
    eps = np.abs(np.linalg.eigvalsh(half / p[chosen] @ half.T - np.diag(share))).max()
    assert 0.0 <= eps < 0.9
    gp = SparseGP(cov, X[chosen])
    gp.condition(X)
    Z = gp.embed(X)
    rest = np.linalg.eigvalsh(noise / (1 - eps) * (vectors * share) @ vectors.T - (K - Z @ Z.T))
    assert rest.min() >= -1e-6
    alpha = (1 + eps) / (1 - eps)
    ratio = gp.variances() / scores
    assert ratio.max() <= alpha * ROUNDING
    assert ratio.min() >= 1 / (alpha * ROUNDING)


# -- BBKB ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("family", "noise", "seed"), CASES)
def test_a_batch_reduces_variances_by_no_more_than_it_may(family, noise, seed):
    """Lemma 1 of BBKB and the tighter bound of lemma 3, at any point, for any dictionary and batch."""
    _, _, _, gp, probes = sparse(family, noise, seed)
    batch = np.concatenate([make_points(7, 2, seed=seed + 300), probes[:2]])
    ratio = gp.mean_variance(probes)[1] / after(gp, batch).mean_variance(probes)[1]
    assert ratio.max() > 1.001
    half = np.linalg.solve(gp.LV, np.concatenate([gp.embed(probes), gp.embed(batch)]).T)
    cross = half[:, : len(probes)].T @ half[:, len(probes) :]  # k~ of a point and of a projection
    local = 1 + (cross**2).sum(axis=1) / gp.mean_variance(probes)[1]
    assert (ratio <= local * ROUNDING).all()
    assert (local <= (1 + gp.mean_variance(batch)[1].sum()) * ROUNDING).all()


@pytest.mark.parametrize(("family", "noise", "seed"), CASES)
def test_with_a_perfect_dictionary_the_local_bound_is_that_of_the_paper(family, noise, seed):
    """Lemma 3 of BBKB with the covariance of the points themselves, and the product of proposition 2."""
    cov = make_covariance(family, 2, False, noise=noise)
    X, batch, probes = (
        make_points(20, 2, seed=seed),
        make_points(5, 2, seed=seed + 1),
        make_points(40, 2, seed=seed + 2),
    )
    gp = SparseGP(cov, np.concatenate([X, batch]))
    gp.condition(X)
    before = gp.mean_variance(probes)[1]
    local = 1 + (gp.cross(probes, batch) ** 2).sum(axis=1) / before
    total = 1 + gp.mean_variance(batch)[1].sum()
    product = 1.0
    for x in batch:
        product *= 1 + gp.mean_variance(x[None])[1][0]
        gp.add(x)
    ratio = before / gp.mean_variance(probes)[1]
    assert (ratio <= local * ROUNDING).all()
    assert (local <= total * ROUNDING).all()
    assert (ratio <= product * ROUNDING).all()


# -- GSSBO ---------------------------------------------------------------------------------------------------------


def low_rank(family, noise, seed):
    """40 points, of which 8 are chosen: their kernel matrix, its approximation, the cross covariances, and values."""
    cov, X, S, _, probes = sparse(family, noise, seed, inside=True)
    y = np.random.default_rng(seed).normal(size=40)
    return naive.gram(cov, X), projected(cov, S, X, X), naive.gram(cov, X, probes), y


@pytest.mark.parametrize(("family", "noise", "seed"), CASES)
def test_the_error_of_a_low_rank_posterior_is_bounded(family, noise, seed):
    """Theorem 5.1 of GSSBO, equations 7 and 9."""
    K, approximation, cross, y = low_rank(family, noise, seed)
    full = np.linalg.inv(K + noise * np.eye(40))
    reduced = np.linalg.inv(approximation + noise * np.eye(40))
    C = np.linalg.norm(full, 2) * np.linalg.norm(reduced, 2) * np.linalg.norm(K - approximation, 2)
    lengths = np.linalg.norm(cross, axis=0)
    mean = np.abs(cross.T @ (full - reduced) @ y)
    variance = np.abs(np.einsum("ij,ik,kj->j", cross, full - reduced, cross))
    assert mean.max() > 1e-3
    assert (mean <= lengths * np.linalg.norm(y) * C * ROUNDING).all()
    assert (variance <= lengths**2 * C * ROUNDING).all()


@pytest.mark.parametrize(("family", "noise", "seed"), CASES)
def test_the_variance_of_theorem_5_1_is_too_small_and_that_on_a_subset_too_large(family, noise, seed):
    """Theorem 5.1 of GSSBO has a variance below that on all points, algorithm 1 one above it."""
    cov, X, S, _, probes = sparse(family, noise, seed, inside=True)
    _, approximation, cross, y = low_rank(family, noise, seed)
    reduced = np.linalg.solve(approximation + noise * np.eye(40), cross)
    printed = np.diag(naive.gram(cov, probes)) - np.einsum("ij,ij->j", cross, reduced)
    exact = naive.posterior(cov, X, y, probes)[1]
    subset = naive.posterior(cov, S, y[:8], probes)[1]
    assert (printed <= exact * ROUNDING + 1e-9).all()
    assert (exact <= subset * ROUNDING + 1e-9).all()
    assert (exact / subset).min() < 0.9


def test_the_variance_of_theorem_5_1_may_be_negative():
    cov, _, _, _, probes = sparse(RBF, 1e-2, 0, inside=True)
    _, approximation, cross, _ = low_rank(RBF, 1e-2, 0)
    reduced = np.linalg.solve(approximation + 1e-2 * np.eye(40), cross)
    assert (np.diag(naive.gram(cov, probes)) - np.einsum("ij,ij->j", cross, reduced)).min() < 0.0


def test_gradient_columns_span_another_space_than_kernel_columns():
    """Against appendix A.1 of GSSBO, with two samples: K e and K^-1 e are no multiples of each other."""
    K = np.array([[1.0, 0.5], [0.5, 1.0]])
    kernel = K[:, 0] / np.linalg.norm(K[:, 0])
    gradient = np.linalg.inv(K)[:, 0]
    gradient /= np.linalg.norm(gradient)
    assert abs(kernel @ gradient) == pytest.approx(0.6)
