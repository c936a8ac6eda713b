"""The covariance function of the sparse optimizers: what is given, what is learned from, and when."""

from __future__ import annotations

import numpy as np
import pytest
from tests import naive
from tests.helpers import compiled_only, make_points

from numbo.models.gp import ExactGP
from numbo.models.learned_kernel import FIT_SIZE, GROWTH, NOISE_FLOOR, LearnedKernel
from numbo.models.transforms import OutputTransform
from numbo.trials.schedule import Schedule

NUMERICAL = np.zeros(2, dtype=bool)


def learned(*, winsorize=True, **options):
    return LearnedKernel(NUMERICAL, "matern52", None, None, trend=True, winsorize=winsorize, **options)


def fixed(lengthscale, noise_std=0.3, d=2):
    kind = np.zeros(d, dtype=bool)
    return LearnedKernel(kind, "matern52", np.asarray(lengthscale), noise_std, trend=True, winsorize=True)


def wave(X):
    return np.sin(5.0 * X[:, 0]) + X[:, 1]


def rng(seed=0):
    return np.random.default_rng(seed)


def state_of(kernel):
    return kernel.state_dict()["gp"]["theta"]


@pytest.mark.parametrize("lengthscale", [0.4, [0.4, 0.2]])
def test_a_given_kernel_has_unit_variance_and_stays_as_it_is(lengthscale):
    kernel, X = fixed(lengthscale), make_points(8, 2)
    expected = np.broadcast_to(lengthscale, 2)
    assert kernel.fixed
    np.testing.assert_allclose(kernel.lengthscales, expected)
    np.testing.assert_allclose(np.diag(naive.gram(kernel.covariance, X)), 1.0)
    assert kernel.covariance.noise_variance == kernel.claimed_noise == pytest.approx(0.09)
    assert kernel.largest_prior(None) == kernel.largest_prior(X) == 1.0
    assert not any(kernel.due(n) for n in (0, 1, 10, 1000))
    y = 100.0 + 7.0 * wave(X)
    np.testing.assert_array_equal(kernel.fit_transform(y), y)
    assert kernel.shown(X, y, rng()) is kernel


def test_a_kernel_is_learned_on_a_schedule():
    kernel, twin = learned(), Schedule(GROWTH)
    assert not kernel.fixed
    X = make_points(60, 2)
    for n in range(2, 61):
        assert kernel.due(n) == twin.due(n)
        if kernel.due(n):
            kernel.learn(X[:n], wave(X[:n]), rng())
            twin.done(n)
    assert twin.at > 50


@compiled_only
def test_few_observations_are_all_learned_from():
    kernel, X = learned(), make_points(40, 2)
    assert kernel.claimed_noise is None
    y = 50.0 - 3.0 * wave(X)
    kernel.learn(X, y, rng())
    gp = ExactGP(NUMERICAL, None, kernel="matern52", trend=True)
    gp.fit(X, OutputTransform.fit(y, "winsorize").forward(y))
    np.testing.assert_array_equal(state_of(kernel), gp.theta)
    np.testing.assert_array_equal(kernel.lengthscales, gp.lengthscales)
    assert kernel.claimed_noise == gp.covariance.noise_variance


def test_of_many_observations_a_quarter_are_the_best_and_the_others_are_random(monkeypatch):
    seen = []
    monkeypatch.setattr(ExactGP, "fit", lambda gp, X, y, *args, **options: seen.append((X, y)))
    X = make_points(500, 2)
    y = wave(X)
    for seed in (0, 0, 1):
        learned(winsorize=False).learn(X, y, rng(seed))
    (first, targets), (again, _), (other, _) = seen
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    best = {x.tobytes() for x in X[np.argsort(-y)[: FIT_SIZE // 4]]}
    for points in (first, other):
        taken = {x.tobytes() for x in points}
        assert len(taken) == len(points) == FIT_SIZE
        assert best <= taken
    others = np.array([wave(x[None])[0] for x in first if x.tobytes() not in best])
    assert others.min() < np.quantile(y, 0.1)
    assert np.median(others) == pytest.approx(np.median(y), abs=0.3)
    # the targets are standardised by all of the values
    np.testing.assert_allclose(targets, (wave(first) - y.mean()) / y.std(), atol=1e-12)


def test_lambda_has_a_floor_and_the_noise_that_is_claimed_has_none():
    kernel, X = learned(), make_points(40, 2)
    kernel.learn(X, wave(X), rng())
    assert kernel.claimed_noise < NOISE_FLOOR
    assert kernel.covariance.noise_variance == NOISE_FLOOR
    noisy = learned()
    noisy.learn(X, wave(X) + rng().normal(size=40), rng())
    assert noisy.covariance.noise_variance == noisy.claimed_noise > 100.0 * NOISE_FLOOR


def test_the_largest_prior_variance_is_over_a_grid_or_the_whole_cube():
    kernel, X = learned(), make_points(30, 2)
    kernel.learn(X, (X[:, 0] - 0.3) ** 2 + 3.0 * X[:, 1], rng())
    prior = np.diag(naive.gram(kernel.covariance, X))
    assert kernel.largest_prior(X) == pytest.approx(prior.max())
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    assert kernel.largest_prior(None) == pytest.approx(np.diag(naive.gram(kernel.covariance, corners)).max())
    assert kernel.largest_prior(None) > prior.max() > kernel.covariance.signal_variance


@pytest.mark.parametrize("winsorize", [True, False])
def test_targets_are_standardised_and_clipped_if_that_is_asked_for(winsorize):
    y = np.append(wave(make_points(39, 2)), -1e6)
    kernel = learned(winsorize=winsorize)
    targets = kernel.fit_transform(y)
    assert targets.mean() == pytest.approx(0.0, abs=1e-9)
    assert targets.std() == pytest.approx(1.0)
    assert (targets.min() > -4.0) == winsorize
    np.testing.assert_array_equal(targets, kernel.transform.forward(y))


@compiled_only
def test_what_is_shown_predicts_bad_values_where_clipping_hides_them():
    """A steep edge is no accident: the values beyond it can be predicted."""
    kernel, X = learned(), make_points(60, 2)
    y = wave(X) - 40.0 * np.exp(-X[:, 0] / 0.05)
    kernel.learn(X, y, rng())
    before = kernel.transform, state_of(kernel)
    shown = kernel.shown(X, y, rng())
    assert shown is not kernel
    assert not shown.winsorize
    np.testing.assert_array_equal(shown.fit_transform(y), OutputTransform.fit(y, "plain").forward(y))
    assert np.isfinite(before[0].floor)
    assert kernel.transform is before[0]
    np.testing.assert_array_equal(state_of(kernel), before[1])


@compiled_only
def test_what_is_shown_is_clipped_where_bad_values_are_accidents():
    kernel, X = learned(), make_points(60, 2)
    y = wave(X)
    y[::9] -= 1e6 * rng().random(7)
    kernel.learn(X, y, rng())
    shown = kernel.shown(X, y, rng())
    assert shown.winsorize
    assert shown.transform == OutputTransform.fit(y, "winsorize")


@pytest.mark.parametrize(("winsorize", "outlier"), [(True, 0.0), (False, -1e6)])
def test_without_clipped_values_the_kernel_is_shown_as_it_is(winsorize, outlier):
    kernel, X = learned(winsorize=winsorize), make_points(30, 2)
    y = wave(X)
    y[0] += outlier
    kernel.learn(X, y, rng())
    assert kernel.shown(X, y, rng()) is kernel


def test_optional_dimensions_are_known_to_the_covariance():
    optional = np.array([False, True])
    np.testing.assert_array_equal(learned(optional=optional).covariance.optional, optional)
    np.testing.assert_array_equal(learned().covariance.optional, [False, False])


def test_a_restored_kernel_is_the_same_and_due_at_the_same_time():
    kernel, twin, X = learned(), learned(), make_points(40, 2)
    kernel.learn(X, wave(X), rng())
    twin.restore(kernel.state_dict())
    for one, other in zip(kernel.covariance, twin.covariance, strict=True):
        np.testing.assert_array_equal(one, other)
    assert twin.claimed_noise == kernel.claimed_noise
    assert [twin.due(n) for n in range(40, 50)] == [kernel.due(n) for n in range(40, 50)]
    state = kernel.state_dict()
    kernel.learn(X[:20], wave(X[:20]) ** 2, rng())
    assert not np.array_equal(state["gp"]["theta"], state_of(kernel))  # a state is a copy


def test_a_kernel_is_learned_from_the_best_by_the_model_not_from_the_luckiest():
    X = make_points(400, 2)
    y = wave(X) + 3.0 * rng(1).normal(size=400)
    found = []
    for means in (None, wave(X)):
        kernel = learned()
        kernel.learn(X, y, rng(2), means)
        found.append(kernel._sample(y if means is None else means, rng(2)))
    best = np.argsort(-wave(X))[:32]
    assert np.isin(best, found[1]).all()
    assert not np.isin(best, found[0]).all()
