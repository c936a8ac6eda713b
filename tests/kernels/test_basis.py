"""The posterior with basis functions, against one that is written out."""

from __future__ import annotations

import numpy as np
import pytest
from tests import naive
from tests.helpers import entry, points_of

from numbo.kernels import acquisition as kernels
from numbo.kernels import basis as own
from numbo.kernels.acquisition import LOG_EI, UCB, Acquisition, Posterior, acquisition_values
from numbo.kernels.ascent import ascend
from numbo.kernels.covariance import stationary
from numbo.kernels.pending import shares_left
from numbo.models.moments import mean_at, moments, study_weights
from numbo.models.pending import extended

STUDIES = 3
WEIGHT, VARIANCE = 0.4, 0.25


def basis_of(cov):
    """Three studies of different sizes, with covariances of their own."""
    d = len(cov.categorical)
    rng = np.random.default_rng(5)
    counts = np.array([4, 7, 5])
    X = np.stack([points_of(cov, 7)[rng.permutation(7)] for _ in range(STUDIES)])
    return own.Basis(
        weight=WEIGHT,
        shifts=rng.normal(size=STUDIES),
        counts=counts,
        X=X,
        XT=np.ascontiguousarray(X.transpose(0, 2, 1)),
        alpha=rng.normal(size=(STUDIES, 7)),
        family=cov.family,
        categorical=cov.categorical,
        optional=cov.optional,
        inverse_squared_lengthscales=rng.uniform(0.3, 3.0, (STUDIES, d)),
        signal_variances=rng.uniform(0.1, 0.8, STUDIES),
    )


def naive_features(basis, cov, X):
    columns = []
    for m in range(STUDIES):
        weights, s = basis.inverse_squared_lengthscales[m], basis.signal_variances[m]
        one = stationary(cov.family, weights, s, 0.0, cov.categorical, cov.optional)
        n = basis.counts[m]
        K = naive.gram(one, X, basis.X[m, :n])
        columns.append(K @ basis.alpha[m, :n] - basis.shifts[m])
    return np.array(columns).T


class Written:
    """The same posterior, by the formulas of Bayesian linear regression and a GP."""

    def __init__(self, cov, n=9):
        self.cov, self.basis = cov._replace(basis_variance=VARIANCE), basis_of(cov)
        self.X = points_of(cov, n)
        self.y = np.random.default_rng(2).normal(size=n)
        self.F = naive_features(self.basis, cov, self.X)
        self.K = naive.gram(cov, self.X) + VARIANCE * self.F @ self.F.T + cov.noise_variance * np.eye(n)
        self.alpha = np.linalg.solve(self.K, self.y - WEIGHT * self.F.sum(axis=1))

    @property
    def posterior(self):
        lifted = np.ascontiguousarray(np.concatenate([self.X, self.F], axis=1))
        W = np.linalg.inv(np.linalg.cholesky(self.K))
        return Posterior(
            self.cov,
            len(self.X),
            lifted,
            np.ascontiguousarray(lifted.T),
            self.alpha,
            W,
            np.ascontiguousarray(W.T),
            self.basis,
        )

    def at(self, Z):
        F = naive_features(self.basis, self.cov, Z)
        plain = self.cov._replace(basis_variance=0.0)
        k = naive.gram(plain, Z, self.X) + VARIANCE * F @ self.F.T
        prior = np.diag(naive.gram(plain, Z)) + VARIANCE * (F**2).sum(axis=1)
        mean = WEIGHT * F.sum(axis=1) + k @ self.alpha
        return mean, prior - np.einsum("ci,ci->c", k, np.linalg.solve(self.K, k.T).T)


def test_features_and_the_gradient_of_them(covariance):
    basis, Z = basis_of(covariance), points_of(covariance, 12)[9:]
    expected = naive_features(basis, covariance, Z)
    np.testing.assert_allclose(own.features(basis, Z), expected, rtol=1e-9, atol=1e-12)
    lift = entry(own.lift)
    moving = ~covariance.categorical
    for z, row in zip(Z, expected, strict=True):
        lifted, slopes = lift(basis, z)
        np.testing.assert_allclose(lifted, np.concatenate([z, row]), rtol=1e-9, atol=1e-12)
        free = moving & ~(covariance.optional & (z < 0.0))
        for m in range(STUDIES):

            def feature(u, m=m, z=z, free=free):
                return float(own.features(basis, np.where(free, u, z)[None])[0, m])

            numerical = np.where(free, naive.numerical_gradient(feature, z), 0.0)
            np.testing.assert_allclose(slopes[m], numerical, rtol=1e-5, atol=1e-6)


def test_the_posterior_is_that_of_a_gp_with_uncertain_weights(covariance):
    written = Written(covariance)
    Z = points_of(covariance, 14)[9:]
    mean, variance = written.at(Z)
    found = moments(written.posterior, Z)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.variance, variance, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(mean_at(written.posterior, Z), mean, rtol=1e-8, atol=1e-9)
    # the expected weights given the values, by the other form of the same regression
    plain = naive.gram(covariance, written.X) + covariance.noise_variance * np.eye(9)
    precision = np.eye(STUDIES) / VARIANCE + written.F.T @ np.linalg.solve(plain, written.F)
    rest = written.F.T @ np.linalg.solve(plain, written.y) + WEIGHT / VARIANCE
    np.testing.assert_allclose(study_weights(written.posterior), np.linalg.solve(precision, rest), rtol=1e-7)


@pytest.mark.parametrize("kind", [UCB, LOG_EI])
def test_the_gradient_of_an_acquisition_function(covariance, kind):
    posterior = Written(covariance).posterior
    acquisition = Acquisition(kind, 0.3)
    gradient_into = entry(kernels.acquisition_gradient_into)
    from numbo.kernels.optional import active_columns

    layout = entry(active_columns)(posterior.XT, covariance.optional)
    for z in points_of(covariance, 14)[9:]:
        gradient = np.empty(len(z))
        value = gradient_into(posterior, acquisition, *layout, z, gradient)
        assert value == pytest.approx(float(acquisition_values(posterior, acquisition, z[None])[0]), rel=1e-7)
        free = ~covariance.categorical & ~(covariance.optional & (z < 0.0))
        numerical = naive.numerical_gradient(
            lambda u, z=z, free=free: float(acquisition_values(posterior, acquisition, np.where(free, u, z)[None])[0]),
            z,
        )
        np.testing.assert_allclose(gradient, np.where(free, numerical, 0.0), rtol=1e-4, atol=1e-5)


def test_ascent_improves(covariance):
    from numbo.kernels.acquisition import Term

    posterior = Written(covariance).posterior
    acquisition = Acquisition(UCB, 2.0)
    starts = points_of(covariance, 14)[9:]
    free = ~covariance.categorical & ~(covariance.optional & (starts < 0.0))
    lower, upper = np.where(free, 0.0, starts), np.where(free, 1.0, starts)
    found, values = ascend((Term(posterior, acquisition),), None, starts, lower, upper, 40, 1e-5)
    np.testing.assert_allclose(acquisition_values(posterior, acquisition, found), values, rtol=1e-7, atol=1e-9)
    assert (values >= acquisition_values(posterior, acquisition, starts) - 1e-9).all()


def test_pending_points_leave_the_mean_and_reduce_the_variance(covariance):
    written = Written(covariance)
    pending, Z = points_of(covariance, 16)[9:12], points_of(covariance, 16)[12:]
    noise = covariance.noise_variance
    after = extended(written.posterior, pending, noise)
    before = moments(written.posterior, Z)
    found = moments(after, Z)
    np.testing.assert_allclose(found.mean, before.mean, rtol=1e-7, atol=1e-9)
    F = naive_features(written.basis, covariance, pending)
    twin = Written(covariance)
    twin.X, twin.F = np.concatenate([written.X, pending]), np.concatenate([written.F, F])
    n = len(twin.X)
    twin.K = naive.gram(covariance, twin.X) + VARIANCE * twin.F @ twin.F.T + noise * np.eye(n)
    twin.alpha = np.zeros(n)
    np.testing.assert_allclose(found.variance, twin.at(Z)[1], rtol=1e-6, atol=1e-8)
    shares = shares_left(after, written.posterior, written.posterior.lifted(Z))
    np.testing.assert_allclose(shares, found.variance / before.variance, rtol=1e-5, atol=1e-7)


def test_a_basis_of_no_study_changes_nothing(covariance):
    """Terms with and without studies are climbed together."""
    from numbo.kernels.acquisition import LOG_PROBABILITY, Term

    one = Term(Written(covariance).posterior, Acquisition(LOG_EI, 0.2))
    n = 9
    X, y = points_of(covariance, n), np.random.default_rng(4).normal(size=n)
    K = naive.gram(covariance, X) + covariance.noise_variance * np.eye(n)
    W = np.linalg.inv(np.linalg.cholesky(K))
    plain = Posterior(covariance, n, X, np.ascontiguousarray(X.T), np.linalg.solve(K, y), W, np.ascontiguousarray(W.T))
    empty = plain._replace(basis=own.without_studies(basis_of(covariance)))
    Z = points_of(covariance, 14)[9:]
    limit = Acquisition(LOG_PROBABILITY, 0.0)
    np.testing.assert_array_equal(acquisition_values(empty, limit, Z), acquisition_values(plain, limit, Z))
    free = ~covariance.categorical & ~(covariance.optional & (Z < 0.0))
    lower, upper = np.where(free, 0.0, Z), np.where(free, 1.0, Z)
    found, values = ascend((one, Term(empty, limit)), None, Z, lower, upper, 40, 1e-5)
    expected = acquisition_values(*one, found) + acquisition_values(plain, limit, found)
    np.testing.assert_allclose(values, expected, rtol=1e-7, atol=1e-9)
