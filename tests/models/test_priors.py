from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats
from tests import naive

from numbo import Categorical, Float, Int, Space
from numbo.models import priors


@pytest.mark.parametrize(("trend", "additive"), list(itertools.product([False, True], repeat=2)))
def test_gradient_and_bounds(trend, additive):
    theta = priors.default_theta(3, trend, additive)
    assert len(theta) == 5 + 3 * trend + 2 * additive
    theta += np.linspace(-0.5, 0.5, len(theta))
    _, gradient = priors.log_prior(theta, 3)
    np.testing.assert_allclose(
        gradient, naive.numerical_gradient(lambda t: priors.log_prior(t, 3)[0], theta), atol=1e-6
    )
    bounds = priors.log_bounds(3, trend, additive)
    assert bounds.shape == (len(theta), 2)
    assert (bounds[:, 0] < theta).all()
    assert (theta < bounds[:, 1]).all()


def test_densities_are_those_of_scipy():
    a, b = priors.default_theta(1, True, True), priors.default_theta(1, True, True)
    b[1:] += [0.7, 1.1, -0.4, 0.9, 2.0, 0.3, -1.5]

    def expected(theta):
        s, noise, *variances = np.exp(theta[1:-1])
        return (
            stats.gamma(2.0, scale=1.0).logpdf(s)
            + stats.gamma(1.1, scale=1 / 30).logpdf(noise)
            + stats.expon(scale=1 / 5).logpdf(variances).sum()
            + stats.norm(np.log(0.1), 0.7).logpdf(-0.5 * theta[-1])
        )

    found = priors.log_prior(a, 1)[0] - priors.log_prior(b, 1)[0]
    assert found == pytest.approx(expected(a) - expected(b), rel=1e-12)


@pytest.mark.parametrize("usual", [np.ones(3), np.array([0.4, 0.6, 1.5])])
def test_the_most_probable_lengthscales_are_the_usual_ones(usual):
    prior = priors.VALUES.around(usual)
    theta = priors.default_theta(3, False, False, prior)
    np.testing.assert_allclose(np.exp(-0.5 * theta[:3]), usual)
    np.testing.assert_allclose(priors.log_prior(theta, 3, prior).gradient[:3], 0.0, atol=1e-12)
    theta += np.linspace(-0.5, 0.5, len(theta))
    gradient = naive.numerical_gradient(lambda t: priors.log_prior(t, 3, prior)[0], theta)
    np.testing.assert_allclose(priors.log_prior(theta, 3, prior).gradient, gradient, atol=1e-6)


def test_reals_on_a_linear_scale_say_nothing_of_lengthscales():
    assert (
        priors.VALUES.around(Space({"x": Float(0, 1), "y": Float(-5, 5, step=0.5)}).usual_lengthscales) is priors.VALUES
    )
    mixed = Space({"x": Float(0, 1), "rate": Float(1e-4, 1.0, log=True), "depth": Int(1, 9), "n": Int(1, 99, log=True)})
    assert mixed.usual_lengthscales.tolist() == [1.0, 0.6, 0.8, 1.0]
    chosen = Space({"a": Categorical([True, False]), "b": Categorical([*"abc"])})
    assert chosen.usual_lengthscales.tolist() == [1.2, 0.9]
