from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import gradient_at, make_covariance
from tests.kernels.test_acquisition import conditioned
from tests.kernels.test_success import success_of

from numbo.kernels.acquisition import CERTAIN, LOG_EI, LOG_PROBABILITY, UCB, Acquisition, Term, acquisition_values
from numbo.kernels.ascent import ascend
from numbo.kernels.covariance import MATERN52
from numbo.kernels.front import front_of
from numbo.search.utility import Utility

CASES = [(Acquisition(UCB, 1.0), False), (Acquisition(LOG_EI, 1.0), False), (Acquisition(LOG_EI, 1.0), True)]


@pytest.mark.parametrize(("acquisition", "trend"), CASES)
def test_ends_at_a_stationary_point_of_the_box(acquisition, trend):
    cov = make_covariance(0, 3, trend)
    posterior, _, _ = conditioned(cov, n=10, capacity=10)
    starts = np.random.default_rng(0).random((6, 3))
    lower, upper = np.full_like(starts, 0.1), np.full_like(starts, 0.8)
    starts = np.clip(starts, 0.1, 0.8)
    before = starts.copy()
    X, values = ascend((Term(posterior, acquisition),), None, starts, lower, upper, 200, 1e-12)
    np.testing.assert_array_equal(starts, before)
    assert ((X >= 0.1) & (X <= 0.8)).all()
    assert (values >= acquisition_values(posterior, acquisition, starts)).all()
    np.testing.assert_allclose(values, acquisition_values(posterior, acquisition, X), rtol=1e-9)
    for x in X:
        _, gradient = gradient_at(posterior, acquisition, x)
        projected = np.clip(x + gradient, 0.1, 0.8) - x
        assert np.abs(projected).max() < 1e-3


@pytest.mark.parametrize(("acquisition", "trend"), CASES)
def test_finds_what_scipy_finds(acquisition, trend):
    from scipy.optimize import minimize

    cov = make_covariance(0, 3, trend)
    posterior, _, _ = conditioned(cov, n=10, capacity=10)
    starts = np.random.default_rng(1).random((8, 3))
    _, values = ascend(
        (Term(posterior, acquisition),), None, starts, np.zeros_like(starts), np.ones_like(starts), 200, 1e-12
    )

    def negative(x):
        value, gradient = gradient_at(posterior, acquisition, x)
        return -value, -gradient

    scipy_best = max(-minimize(negative, s, jac=True, method="L-BFGS-B", bounds=[(0, 1)] * 3).fun for s in starts)
    assert values.max() == pytest.approx(scipy_best, rel=1e-4, abs=1e-4)


def test_equal_bounds_hold_a_coordinate():
    posterior, _, _ = conditioned(make_covariance(0, 3, True), n=10, capacity=10)
    starts = np.random.default_rng(2).random((3, 3))
    lower, upper = np.zeros_like(starts), np.ones_like(starts)
    lower[:, 1] = upper[:, 1] = starts[:, 1]
    X, _ = ascend((Term(posterior, Acquisition(UCB, 2.0)),), None, starts, lower, upper, 50, 1e-9)
    np.testing.assert_array_equal(X[:, 1], starts[:, 1])
    assert (X[:, 0] != starts[:, 0]).all()


def test_more_iterations_never_end_lower():
    posterior, _, _ = conditioned(make_covariance(0, 3, True), n=10, capacity=10)
    starts = np.random.default_rng(3).random((4, 3))
    box = np.zeros_like(starts), np.ones_like(starts)
    runs = [
        ascend((Term(posterior, Acquisition(LOG_EI, 2.0)),), None, starts, *box, k, 0.0)[1] for k in (0, 1, 2, 5, 20)
    ]
    np.testing.assert_allclose(runs[0], acquisition_values(posterior, Acquisition(LOG_EI, 2.0), starts), rtol=1e-9)
    assert (np.diff(runs, axis=0) >= 0).all()
    assert (runs[-1] > runs[0]).all()


def test_nothing_free_is_no_work():
    posterior, _, _ = conditioned(make_covariance(0, 2, False), n=4, capacity=4)
    starts = np.full((1, 2), 0.4)
    X, values = ascend((Term(posterior, Acquisition(UCB, 2.0)),), None, starts, starts, starts, 50, 1e-9)
    np.testing.assert_array_equal(X, starts)
    assert np.isfinite(values).all()


@pytest.mark.parametrize("trend", [False, True])
def test_climbs_the_sum_of_several_terms(trend):
    """Twice the same term has the same optimum and twice the value; another one moves it."""
    posterior, _, _ = conditioned(make_covariance(0, 3, trend), n=10, capacity=10)
    other, _, _ = conditioned(make_covariance(1, 3, trend), n=14, capacity=14)
    starts = np.random.default_rng(0).random((4, 3))
    box = np.zeros_like(starts), np.ones_like(starts)
    one, two = Term(posterior, Acquisition(UCB, 1.0)), Term(other, Acquisition(LOG_EI, 1.0))
    X, values = ascend((one,), None, starts, *box, 200, 1e-12)
    again, doubled = ascend((one, one), None, starts, *box, 200, 1e-12)
    np.testing.assert_allclose(again, X, atol=1e-4)
    np.testing.assert_allclose(doubled, 2.0 * values, rtol=1e-8)
    X, values = ascend((one, two), None, starts, *box, 200, 1e-12)
    np.testing.assert_allclose(values, sum(acquisition_values(*term, X) for term in (one, two)), rtol=1e-9)
    for x in X:
        gradient = sum(gradient_at(*term, x)[1] for term in (one, two))
        assert np.abs(np.clip(x + gradient, 0.0, 1.0) - x).max() < 1e-3


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("level", [0.3, 60.0])
def test_climbs_what_objectives_add_to_a_front(constrained, fails, level):
    """Also where the front is so far away that only logarithms can tell what is better."""
    kinds = ((False, 10), (True, 14))
    objectives = [conditioned(make_covariance(0, 3, trend), n=n, capacity=n)[0] for trend, n in kinds]
    success = success_of(MATERN52, threshold=0.01)[0] if fails else CERTAIN
    terms = tuple(Term(posterior, Acquisition(LOG_EI, 0.0, success)) for posterior in objectives)
    limit = Term(conditioned(make_covariance(1, 3, False), n=8, capacity=8)[0], Acquisition(LOG_PROBABILITY, 0.0))
    terms += (limit,) * constrained
    front = front_of(np.array([[-0.5, level], [0.0, 0.0], [level, -0.5]]), np.full(2, -3.0))
    utility = Utility(terms, front=front)
    starts = np.random.default_rng(0).random((4, 3))
    X, values = ascend(terms, front, starts, np.zeros_like(starts), np.ones_like(starts), 200, 1e-12)
    np.testing.assert_allclose(values, utility.values(X), rtol=1e-8)
    assert (values >= utility.values(starts) - 1e-9).all()
    steps = 1e-4 * np.vstack([np.eye(3), -np.eye(3)])
    for x, value in zip(X, values, strict=True):
        assert utility.values(np.clip(x + steps, 0.0, 1.0)).max() <= value + 1e-6 * (1.0 + abs(value))
