"""How much too small predicted standard deviations are: what predictions of left-out values need."""

from __future__ import annotations

import numpy as np
import pytest
from tests import naive

from numbo.models import ExactGP
from numbo.models.transform_choice import ITERATIONS
from numbo.models.widening import DOUBTED, FOLDS, left_out, widening


def fitted(X, y, extra=None):
    gp = ExactGP(np.zeros(X.shape[1], dtype=bool), trend=True, additive=True)
    gp.fit(X, y, extra)
    gp.condition(X, y, extra)
    return gp


def needed(gp, left, *, again):
    """Factors that predictions of the rows ``left`` need, and their latent variances, by a model without them."""
    rest = np.delete(np.arange(len(gp.values)), left)
    one = ExactGP(np.zeros(gp.points.shape[1], dtype=bool), trend=True, additive=True)
    if again:
        one.fit(gp.points[rest], gp.values[rest], gp.extra[rest], iterations=ITERATIONS)
    else:
        one.theta = gp.theta
    mean, variance = naive.posterior(one.covariance, gp.points[rest], gp.values[rest], gp.points[left], gp.extra[rest])
    noise = one.covariance.noise_variance + gp.extra[left]
    return np.sqrt(np.maximum(((gp.values[left] - mean) / 1.645) ** 2 - noise, 0.0) / variance), variance


def steep(X):
    noise = 0.1 * np.random.default_rng(0).standard_t(2, size=len(X))
    return np.exp(4.0 * X[:, 0]) + np.abs(X[:, 1] - 0.5) + noise


def step(X):
    return np.sin(9.0 * X[:, 0]) + (X[:, 1] > 0.5)


@pytest.mark.parametrize("extra", [0.0, 0.02])
@pytest.mark.parametrize("function", [steep, step])
def test_widening_is_what_predictions_of_what_is_left_out_need(function, extra):
    """Each observation alone, and those that the others leave most open in four parts, with a fit for each."""
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    y = function(X)
    gp = fitted(X, (y - y.mean()) / y.std(), extra * rng.random(40))
    alone = [needed(gp, np.array([i]), again=False) for i in range(40)]
    factors, open_ = (np.concatenate(part) for part in zip(*alone, strict=True))
    np.testing.assert_allclose(left_out(gp).variance, open_, rtol=1e-4, atol=1e-8)
    most = np.argsort(-open_, kind="stable")[:DOUBTED]
    together = np.empty(DOUBTED)
    for part in range(FOLDS):
        together[part::FOLDS] = needed(gp, most[part::FOLDS], again=True)[0]
    factor = widening(gp)
    estimates = ((factors, open_), (together, open_[most]))
    held = [weights[found <= factor * (1.0 + 1e-4)].sum() / weights.sum() for found, weights in estimates]
    less = [weights[found < factor * (1.0 - 1e-4)].sum() / weights.sum() for found, weights in estimates]
    assert factor > 1.0
    assert min(held) >= 0.9
    assert min(less) < 0.9


def test_a_model_that_is_right_is_hardly_widened_and_one_of_a_cliff_is():
    rng = np.random.default_rng(1)
    X = rng.random((80, 2))
    y = np.sin(5.0 * X[:, 0]) + X[:, 1] ** 2 + 0.05 * rng.normal(size=80)
    assert 1.0 <= widening(fitted(X, (y - y.mean()) / y.std())) < 1.3
    y = np.exp(9.0 * X[:, 0] * X[:, 1])
    assert 1.3 < widening(fitted(X, (y - y.mean()) / y.std())) < 10.0


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_few_values_say_something_too(n):
    X = np.random.default_rng(0).random((n, 2))
    factor = widening(fitted(X, 3.0 * X[:, 0]))
    assert 1.0 <= factor < np.inf


def test_the_model_itself_is_left_as_it_is():
    X = np.random.default_rng(0).random((30, 2))
    gp = fitted(X, np.sin(9.0 * X[:, 0]))
    theta, before = gp.theta.copy(), gp.mean_sd(X)
    widening(gp)
    np.testing.assert_array_equal(gp.theta, theta)
    np.testing.assert_array_equal(gp.mean_sd(X), before)
