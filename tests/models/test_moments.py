"""Means and variances of a posterior, in whatever form points come."""

from __future__ import annotations

import numpy as np
from tests import naive
from tests.helpers import make_points

from numbo.models import ExactGP
from numbo.models.moments import moments


def test_moments_are_those_of_the_posterior_whatever_the_layout_of_the_points():
    X = make_points(15, 3)
    gp, Z = ExactGP(np.zeros(3, dtype=bool)), make_points(20, 3, seed=1)
    gp.condition(X, X.sum(axis=1))
    mean, variance = naive.posterior(gp.covariance, X, X.sum(axis=1), Z[::2])
    for points in (Z[::2], np.asfortranarray(Z[::2])):
        found = moments(gp.posterior, points)
        np.testing.assert_allclose(found.mean, mean, rtol=1e-7)
        np.testing.assert_allclose(found.variance, variance, rtol=1e-6, atol=1e-10)
        np.testing.assert_allclose(found.std, np.sqrt(found.variance))
