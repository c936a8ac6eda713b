"""The choice of an output transform by leave-one-out predictions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from tests.helpers import make_points

from numbo.models import ExactGP, OutputTransform
from numbo.models.gp import LeftOut
from numbo.models.transform_choice import SHOWN, choose, fit_under, mean_error, surprise, transformed
from numbo.trials import Data

X = make_points(40, 2)


def model():
    return ExactGP(np.zeros(2, dtype=bool))


@pytest.mark.parametrize(("values", "best"), [(lambda z: z, "plain"), (lambda z: -np.exp(-5.0 * z), "log")])
@pytest.mark.parametrize("loss", [surprise, mean_error], ids=["surprise", "error"])
def test_the_transform_that_predicts_best_is_kept_with_its_fit(values, best, loss):
    y = values(np.sin(3.0 * X[:, 0]) + X[:, 1])
    data = Data.of(X, y)
    transforms = {kind: OutputTransform.fit(y, kind) for kind in ("plain", "log")}
    found = loss(y, np.ones(40, dtype=bool)) if loss is surprise else loss(y)
    gp, losses = model(), {}
    assert choose(gp, data, transforms, found) == best
    for kind, transform in transforms.items():
        alone = model()
        assert choose(alone, data, {kind: transform}, found) == kind
        targets = transformed(data, transform)
        alone.condition(*targets)
        losses[kind] = found(transform, targets.y, alone.leave_one_out())
        if kind == best:
            np.testing.assert_array_equal(gp.theta, alone.theta)
    assert losses[best] == min(losses.values())


def test_surprise_is_the_density_of_the_values_themselves():
    """The density of what was transformed, times the slope of the transform, of those that are no outliers."""
    rng = np.random.default_rng(0)
    y = -rng.exponential(size=12)
    transform = OutputTransform.fit(y, "log")
    values, inner = transform.forward(y), np.arange(12) % 3 > 0
    alone = LeftOut(rng.normal(size=12), rng.random(12) + 0.1)
    h = 1e-6
    slopes = (transform.forward(y + h) - transform.forward(y - h)) / (2.0 * h)
    densities = stats.norm.logpdf(alone.residual, scale=np.sqrt(alone.variance)) + np.log(slopes)
    inside = y < y.max() - h
    kept = inner & inside
    expected = -np.sum(densities[kept]) - kept.sum() * 0.5 * math.log(2.0 * math.pi)
    assert surprise(y, kept)(transform, values, alone) == pytest.approx(expected, rel=1e-5)


def test_errors_are_those_of_predictions_in_the_units_of_the_values():
    rng = np.random.default_rng(0)
    y, weights = 5.0 + 3.0 * rng.normal(size=20), rng.random(20)
    transform = OutputTransform.fit(y)
    alone = LeftOut(rng.normal(size=20), rng.random(20) + 0.1)
    errors = np.abs(alone.residual) * transform.scale
    assert mean_error(y)(transform, transform.forward(y), alone) == pytest.approx(errors.mean())
    weighted = mean_error(y, weights)(transform, transform.forward(y), alone)
    assert weighted == pytest.approx(np.average(errors, weights=weights))


def test_what_models_take_has_the_variances_of_its_units():
    y = 5.0 + 3.0 * np.random.default_rng(0).normal(size=40)
    transform = OutputTransform.fit(y)
    found = transformed(Data(X, y, np.full(40, 0.9)), transform)
    np.testing.assert_array_equal(found.X, X)
    np.testing.assert_allclose(found.y, (y - y.mean()) / y.std())
    np.testing.assert_allclose(found.variance, 0.9 / y.var())


@pytest.mark.parametrize("size", [1.0, 1e-200, 1e200])
@pytest.mark.parametrize("kind", ["plain", "winsorize", "log", "soft"])
def test_a_fit_has_a_share_of_the_noise_that_repeats_show_whatever_the_units(kind, size):
    y = size * (np.sin(3.0 * X[:, 0]) + X[:, 1])
    data = Data.of(X, y)
    transform = OutputTransform.fit(y, kind)
    gp = model()
    fit_under(transform, gp, data, deviation=0.4 * size)
    shown = np.median(0.4 * size / np.exp(transform.log_slopes(y)))
    assert gp.covariance.noise_variance == pytest.approx(SHOWN * shown**2, rel=1e-2)
    fit_under(transform, gp, data, deviation=1e3 * size)
    assert gp.covariance.noise_variance >= SHOWN * (1.0 - 1e-9)
