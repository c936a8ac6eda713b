"""The distribution of CMA-ES against the package cmaes, which implements the same equations, and by its properties."""

from __future__ import annotations

import numpy as np
import pytest

from numbo._plain import plain
from numbo.search.distribution import CONDITION, Constants, Distribution


def drawn(distribution: Distribution, size: int, rng: np.random.Generator):
    return distribution.points(rng.standard_normal((size, len(distribution.mean))))


@pytest.mark.parametrize(("d", "size"), [(2, 6), (5, 8), (12, 30)])
def test_updates_are_those_of_the_package_cmaes(d, size):
    cmaes = pytest.importorskip("cmaes")
    twin = cmaes.CMA(mean=np.full(d, 0.4), sigma=0.2, population_size=size, seed=0)
    mine = Distribution.around(np.full(d, 0.4), 0.2)
    constants = Constants.of(d, size)
    rng = np.random.default_rng(0)
    for _ in range(12):
        X = drawn(mine, size, rng)
        losses = np.sum(10.0 ** np.linspace(0, 3, d) * (X - 0.7) ** 2, axis=1)
        twin.tell(list(zip(X, losses.tolist(), strict=True)))
        mine = mine.updated(X[np.argsort(losses)], constants)
        np.testing.assert_allclose(mine.mean, twin._mean, rtol=1e-8)
        np.testing.assert_allclose(mine.sigma, twin._sigma, rtol=1e-8)
        np.testing.assert_allclose(mine.C, twin._C, rtol=1e-6, atol=1e-10)
    assert mine.generation == 12


def test_points_have_the_mean_and_the_covariance():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((4, 4))
    one = Distribution(rng.random(4), 0.3, A @ A.T + np.eye(4), np.zeros(4), np.zeros(4))
    X = drawn(one, 200_000, rng)
    np.testing.assert_allclose(X.mean(axis=0), one.mean, atol=0.02)
    np.testing.assert_allclose(np.cov(X.T), 0.09 * one.C, rtol=0.1, atol=0.02)
    np.testing.assert_allclose(one.deviations, np.sqrt(np.diag(0.09 * one.C)))
    np.testing.assert_allclose(one.longest**2, 0.09 * np.linalg.eigvalsh(one.C)[-1])
    white = (X - one.mean) @ one.whitening
    np.testing.assert_allclose(np.cov(white.T), np.eye(4), atol=0.02)


def test_the_mean_goes_where_points_are_better_and_the_steps_grow_on_a_slope():
    rng = np.random.default_rng(0)
    one = Distribution.around(np.full(6, 0.5), 0.01)
    constants = Constants.of(6, 9)
    for _ in range(20):
        X = drawn(one, 9, rng)
        one = one.updated(X[np.argsort(-X[:, 0])], constants)
    assert one.mean[0] > 0.6
    assert one.sigma > 0.02
    assert np.argmax(np.diag(one.C)) == 0


def test_a_point_from_elsewhere_is_drawn_near():
    one = Distribution(np.full(3, 0.5), 0.1, np.diag([1.0, 4.0, 9.0]), np.zeros(3), np.zeros(3))
    near = np.array([0.55, 0.5, 0.5])
    far = np.array([0.5, 9.5, 0.5])
    assert one.within_reach(near) is near
    drawn_near = one.within_reach(far)
    np.testing.assert_allclose(drawn_near[[0, 2]], 0.5)
    assert np.linalg.norm((drawn_near - 0.5) @ one.whitening) == pytest.approx(3**0.5 + 6 / 5)


def test_what_ends_a_search():
    round_one = Distribution.around(np.full(2, 0.5), 0.1)
    assert not round_one.degenerate
    thin = Distribution(np.full(2, 0.5), 0.1, np.diag([1.0, CONDITION**-2]), np.zeros(2), np.zeros(2))
    assert thin.degenerate
    assert round_one.wider(Constants.of(2, 6)).sigma > 0.1


def test_a_state_is_the_distribution():
    one = Distribution.around(np.array([0.1, 0.9]), 0.2)
    same = Distribution(**plain(one))
    assert repr(same) == repr(one)
