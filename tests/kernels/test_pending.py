"""The share of its variance that the nearest of many points leaves."""

from __future__ import annotations

import numpy as np
import pytest
from tests import naive
from tests.helpers import make_points
from tests.search.searches import fitted

from numbo.kernels.pending import AT_ONCE, TOGETHER, shares_beside, shares_left
from numbo.models.moments import moments
from numbo.models.pending import extended

X = make_points(10, 2)
GP = fitted(X, np.sin(5 * X[:, 0]) + X[:, 1])
NOISE = GP.covariance.noise_variance


def test_it_is_that_of_conditioning_on_the_nearest_point():
    P = make_points(40, 2, seed=2)
    Z = make_points(25, 2, seed=3)
    scaled = GP.covariance.inverse_squared_lengthscales
    nearest = [int(np.argmin(((P - z) ** 2) @ scaled)) for z in Z]
    alone = naive.posterior(GP.covariance, X, np.zeros(10), Z)[1]
    expected = [
        naive.posterior(GP.covariance, np.vstack([X, P[i]]), np.zeros(11), z[None])[1][0]
        for i, z in zip(nearest, Z, strict=True)
    ]
    found = shares_beside(GP.posterior, Z, np.ascontiguousarray(P.T), NOISE)
    np.testing.assert_allclose(found, np.array(expected) / alone, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("most", [3, 40])
def test_what_pending_points_leave_is_the_ratio_of_the_variances(most):
    given = extended(GP.posterior, make_points(40, 2, seed=2), NOISE, most)
    Z = make_points(25, 2, seed=3)
    expected = moments(given, Z).variance / moments(GP.posterior, Z).variance
    np.testing.assert_allclose(shares_left(given, GP.posterior, Z), expected, rtol=1e-6)
    assert expected.max() > 0.5 > expected.min()


def test_many_points_have_the_shares_that_each_has_alone():
    given = extended(GP.posterior, make_points(40, 2, seed=2), NOISE)
    PT = np.ascontiguousarray(make_points(40, 2, seed=4).T)
    Z = make_points(AT_ONCE + TOGETHER - 1, 2, seed=3)  # the last ones one after another
    left = np.concatenate([shares_left(given, GP.posterior, z[None]) for z in Z])
    np.testing.assert_allclose(shares_left(given, GP.posterior, Z), left, rtol=1e-7)
    beside = np.concatenate([shares_beside(GP.posterior, z[None], PT, NOISE) for z in Z])
    np.testing.assert_allclose(shares_beside(GP.posterior, Z, PT, NOISE), beside, rtol=1e-7)


def test_a_copy_leaves_the_share_of_the_noise():
    P = make_points(5, 2, seed=2)
    variance = moments(GP.posterior, P).variance
    found = shares_beside(GP.posterior, P, np.ascontiguousarray(P.T), NOISE)
    np.testing.assert_allclose(found, NOISE / (variance + NOISE), rtol=1e-5)


def test_what_is_known_has_no_share():
    exact = fitted(X, X[:, 0])
    exact.theta[3] = -80.0
    exact.condition(X, X[:, 0])
    again = extended(exact.posterior, X[:2], 0.0)
    assert shares_left(again, exact.posterior, X[:2]) == pytest.approx(0.0, abs=1e-3)
    assert shares_beside(exact.posterior, X[:2], np.ascontiguousarray(X[:2].T), 0.0) == pytest.approx(0.0, abs=1e-3)
