"""Posteriors and acquisition against extended precision, up to systems that double precision cannot solve."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from tests import naive
from tests.helpers import entry, make_points

from numbo.kernels.acquisition import LOG_EI, acquisition_terms
from numbo.kernels.covariance import RBF, stationary
from numbo.models import ExactGP, SparseGP
from numbo.models.gp import FAMILIES

pytestmark = pytest.mark.arithmetic

EPSILON = np.finfo(float).eps
DIGITS = 60


def gram(cov, X, Z):
    """The covariance matrix in extended precision, of the points as they are in double precision."""
    out = mpmath.matrix(len(X), len(Z))
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            pairs = zip(cov.inverse_squared_lengthscales, x, z, strict=True)
            r2 = mpmath.fsum(
                mpmath.mpf(float(w)) * (mpmath.mpf(float(a)) - mpmath.mpf(float(b))) ** 2 for w, a, b in pairs
            )
            if cov.family == RBF:
                rho = mpmath.exp(-r2 / 2)
            else:
                rho = (1 + mpmath.sqrt(5 * r2) + 5 * r2 / 3) * mpmath.exp(-mpmath.sqrt(5 * r2))
            out[i, j] = mpmath.mpf(cov.signal_variance) * rho
    return out


def exact(cov, X, y, A):
    """Mean and variance of the exact GP at the rows of ``A``, and the condition number of its matrix."""
    with mpmath.workdps(DIGITS):
        K = gram(cov, X, X) + mpmath.mpf(cov.noise_variance) * mpmath.eye(len(X))
        cross = gram(cov, A, X)
        alpha = mpmath.lu_solve(K, mpmath.matrix(list(map(float, y))))
        mean, variance = [], []
        for i in range(len(A)):
            k = cross[i, :].T
            mean.append(float((k.T * alpha)[0]))
            variance.append(float(mpmath.mpf(cov.signal_variance) - (k.T * mpmath.lu_solve(K, k))[0]))
        eigenvalues = mpmath.eigsy(K, eigvals_only=True)
        return np.array(mean), np.array(variance), float(max(eigenvalues) / min(eigenvalues))


def dtc(cov, S, X, y, A):
    """Mean and lambda var~ of section 2 of the BBKB paper on linearly independent atoms, and the condition number."""
    with mpmath.workdps(DIGITS):
        lam = mpmath.mpf(cov.noise_variance)
        KS, KXS, KAS = gram(cov, S, S), gram(cov, X, S), gram(cov, A, S)
        M = KXS.T * KXS + lam * KS  # z(x)^T V^-1 z(x') = k_S(x)^T M^-1 k_S(x')
        weights = mpmath.lu_solve(M, KXS.T * mpmath.matrix(list(map(float, y))))
        mean, variance = [], []
        for i in range(len(A)):
            k = KAS[i, :].T
            mean.append(float((k.T * weights)[0]))
            unexplained = mpmath.mpf(cov.signal_variance) - (k.T * mpmath.lu_solve(KS, k))[0]
            variance.append(float(unexplained + lam * (k.T * mpmath.lu_solve(M, k))[0]))
        eigenvalues = mpmath.eigsy(KS, eigvals_only=True)
        return np.array(mean), np.array(variance), float(max(eigenvalues) / min(eigenvalues))


def problem(family, noise, n=14, d=2, lengthscale=0.6):
    X, A = make_points(n, d, seed=3), make_points(9, d, seed=4)
    y = np.sin(4.0 * X.sum(axis=1)) + X[:, 0]
    return stationary(FAMILIES[family], np.full(d, lengthscale**-2.0), 1.0, noise, np.zeros(d, dtype=bool)), X, y, A


@pytest.mark.parametrize("family", ["rbf", "matern52"])
@pytest.mark.parametrize("noise", [1e-2, 1e-5, 1e-8, 1e-11, 1e-15])
def test_the_exact_posterior_is_as_good_as_its_condition_allows(family, noise, monkeypatch):
    cov, X, y, A = problem(family, noise)
    mean, variance, condition = exact(cov, X, y, A)
    gp = ExactGP(np.zeros(2, dtype=bool), kernel=family, trend=False)
    monkeypatch.setattr(type(gp), "covariance", property(lambda self: cov))
    gp.condition(X, y)
    found_mean, found_std = gp.mean_sd(A)
    assert (found_std >= 0.0).all()
    assert np.isfinite(found_mean).all()
    tolerance = 10.0 * EPSILON * condition
    np.testing.assert_allclose(found_std**2, variance, atol=tolerance)
    np.testing.assert_allclose(found_mean, mean, atol=tolerance * np.abs(y).max() * np.sqrt(condition))


@pytest.mark.parametrize("lengthscale", [0.1, 0.4, 1.0, 2.5])
@pytest.mark.parametrize("noise", [1e-1, 1e-4, 1e-8])
def test_the_sparse_posterior_is_as_good_as_its_condition_allows(lengthscale, noise):
    cov, X, y, A = problem("rbf", noise, n=20, lengthscale=lengthscale)
    gp = SparseGP(cov, X[:10])
    gp.condition(X)
    gp.set_values(y)
    kept = X[:10][gp.kept]
    mean, variance, condition = dtc(cov, kept, X, y, A)
    found_mean, found_variance = gp.mean_variance(A)
    tolerance = 10.0 * EPSILON * condition
    np.testing.assert_allclose(noise * found_variance, variance, atol=tolerance, rtol=1e-6)
    np.testing.assert_allclose(found_mean, mean, atol=tolerance / noise)
    assert (found_variance >= 0.0).all()


@pytest.mark.parametrize("noise", [1e-2, 1e-8, 1e-14])
def test_the_sparse_variance_is_never_starved(noise):
    cov, X, y, _ = problem("rbf", noise, n=20, lengthscale=0.02)
    gp = SparseGP(cov, X[:3])
    gp.condition(X)
    gp.set_values(y)
    far = X[3:] + 0.3 * np.array([1.0, -1.0])
    reach = naive.gram(cov, far, X[:3]).max(axis=1)
    variance = noise * gp.mean_variance(far)[1]
    np.testing.assert_allclose(variance[reach < 1e-9], 1.0, rtol=1e-9)
    assert (reach < 1e-9).sum() > 5


@pytest.mark.parametrize("mu", [-1e8, -3e4, -70.0, -2.0, -0.1, 0.0, 3.0])
@pytest.mark.parametrize("sd", [1e-9, 1e-3, 1.0, 1e3])
def test_log_ei_in_every_tail(mu, sd):
    mean = mu * sd
    value, d_mean, d_sd = entry(acquisition_terms)(LOG_EI, 0.0, 1.0, mean, sd)
    expected = float(naive.log_ei(mean, sd, 0.0))
    assert value == pytest.approx(expected, rel=1e-14, abs=1e-13)
    assert d_mean > 0.0
    assert np.isfinite([d_mean, d_sd]).all()
