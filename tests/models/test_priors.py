from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tests import naive

from numbo.models import priors


@pytest.mark.parametrize("trend", [False, True])
def test_gradient_and_bounds(trend):
    theta = priors.default_theta(3, trend) + np.linspace(-0.5, 0.5, 8 if trend else 5)
    _, gradient = priors.log_prior(theta, 3)
    np.testing.assert_allclose(
        gradient, naive.numerical_gradient(lambda t: priors.log_prior(t, 3)[0], theta), atol=1e-6
    )
    bounds = priors.log_bounds(3, trend)
    assert bounds.shape == (len(theta), 2)
    assert (bounds[:, 0] < theta).all()
    assert (theta < bounds[:, 1]).all()


def test_densities_are_those_of_scipy():
    a, b = priors.default_theta(1, True), priors.default_theta(1, True)
    b[1:] += [0.7, 1.1, -0.4, 0.9, 2.0]

    def expected(theta):
        s, noise, *trend = np.exp(theta[1:])
        return (
            stats.gamma(2.0, scale=1.0).logpdf(s)
            + stats.gamma(1.1, scale=1 / 30).logpdf(noise)
            + stats.expon(scale=1 / 5).logpdf(trend).sum()
        )

    found = priors.log_prior(a, 1)[0] - priors.log_prior(b, 1)[0]
    assert found == pytest.approx(expected(a) - expected(b), rel=1e-12)
