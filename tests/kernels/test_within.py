"""The ascent within known constraints."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.helpers import INTERPRETED, gradient_at, make_covariance
from tests.kernels.test_acquisition import conditioned

from numbo import Float, Linear, Mixture, Space
from numbo.kernels.acquisition import LOG_EI, UCB, Acquisition, Term, acquisition_values
from numbo.kernels.ascent import ascend
from numbo.kernels.polytope import holding, repaired
from numbo.kernels.within import ascend_within
from numbo.spaces.allowed import polytope_of

NAMES = ["a", "b", "c"]
FLOATS = {name: Float(0.0, 1.0) for name in NAMES}
HALF = [Linear(dict.fromkeys(NAMES, 1.0), most=1.2)]
COUNT = 4 if INTERPRETED else 12


def climbed(constraints, acquisition, *, iterations=200, lower=0.0, upper=1.0, dimensions=FLOATS, seed=0):
    """Starts that meet the constraints, where they have climbed to, the values there, the posterior and polytope."""
    posterior, _, _ = conditioned(make_covariance(0, 3, True), n=10, capacity=10)
    p = polytope_of(dimensions, constraints)
    X = np.random.default_rng(seed).random((COUNT, 3))
    anchors = Space(dimensions, allowed=constraints).allowed.anchors
    starts, fine = repaired(p, X, np.zeros(X.shape, dtype=bool), anchors)
    assert fine.all()
    bounds = np.full_like(starts, lower), np.full_like(starts, upper)
    found, values = ascend_within((Term(posterior, acquisition),), None, p, starts, *bounds, iterations, 1e-12)
    return starts, found, values, posterior, p


@pytest.mark.parametrize("acquisition", [Acquisition(UCB, 1.0), Acquisition(LOG_EI, 1.0)])
@pytest.mark.parametrize("constraints", [HALF, [Mixture(NAMES)], [Linear({"a": 1.0, "b": -1.0}, least=0.1)]])
def test_it_climbs_to_what_scipy_finds_and_stays_within(constraints, acquisition):
    starts, found, values, posterior, p = climbed(constraints, acquisition)
    assert holding(p, found).all()
    assert ((found >= 0.0) & (found <= 1.0)).all()
    np.testing.assert_allclose(values, acquisition_values(posterior, acquisition, found), rtol=1e-9)
    assert (values >= acquisition_values(posterior, acquisition, starts) - 1e-9).all()

    weights = np.zeros(3)
    weights[p.columns] = p.weights
    limits = [{"type": "ineq", "fun": lambda x: p.high[0] - weights @ x, "jac": lambda x: -weights}]
    limits += [{"type": "ineq", "fun": lambda x: weights @ x - p.low[0], "jac": lambda x: weights}]
    limits = [limit for limit in limits if np.isfinite(limit["fun"](np.zeros(3)))]

    def negative(x):
        value, gradient = gradient_at(posterior, acquisition, np.ascontiguousarray(np.clip(x, 0.0, 1.0)))
        return -value, -gradient

    by_scipy = [
        minimize(negative, s, jac=True, bounds=[(0, 1)] * 3, constraints=limits, method="SLSQP") for s in starts
    ]
    assert values.max() >= max(-one.fun for one in by_scipy if one.success) - 1e-3


def test_where_nothing_binds_it_is_the_ascent_in_the_box():
    wide = [Linear(dict.fromkeys(NAMES, 1.0), most=2.999999)]
    starts, _, values, posterior, _ = climbed(wide, Acquisition(LOG_EI, 1.0))
    term = Term(posterior, Acquisition(LOG_EI, 1.0))
    _, expected = ascend((term,), None, starts, np.zeros_like(starts), np.ones_like(starts), 200, 1e-12)
    assert values.max() == pytest.approx(expected.max(), rel=1e-4, abs=1e-4)


def test_equal_bounds_hold_a_coordinate_and_no_step_is_taken_from_where_none_helps():
    posterior, _, _ = conditioned(make_covariance(0, 3, True), n=10, capacity=10)
    p = polytope_of(FLOATS, HALF)
    starts = np.array([[0.2, 0.3, 0.4], [0.1, 0.1, 0.1]])
    lower, upper = np.zeros_like(starts), np.ones_like(starts)
    lower[:, 1] = upper[:, 1] = starts[:, 1]
    lower[1] = upper[1] = starts[1]
    term = Term(posterior, Acquisition(UCB, 1.0))
    once, _ = ascend_within((term,), None, p, starts, lower, upper, 100, 1e-9)
    np.testing.assert_array_equal(once[:, 1], starts[:, 1])
    np.testing.assert_array_equal(once[1], starts[1])
    assert not np.array_equal(once[0], starts[0])
    again, values = ascend_within((term,), None, p, once, lower, upper, 100, 1e-9)
    np.testing.assert_allclose(again, once, atol=1e-4)
    few, least = ascend_within((term,), None, p, starts, lower, upper, 1, 1e-9)
    assert holding(p, few).all()
    assert (least <= values + 1e-9).all()


@pytest.mark.parametrize(("one", "other"), [("a", "b"), ("b", "a"), ("c", "a"), ("a", "c")])
def test_steps_that_constraints_cannot_follow_are_pulled_back(one, other):
    """Visits of two constraints that are nearly parallel come nearer to their edge in small steps only."""
    edge = [Linear({one: 1.0, other: 1.0}, most=1.0), Linear({one: 1.0, other: 1.1}, least=1.05)]
    starts, found, values, posterior, p = climbed(edge, Acquisition(UCB, 1.0), iterations=30)
    assert holding(p, starts).all()
    assert holding(p, found).all()
    assert (values >= acquisition_values(posterior, Acquisition(UCB, 1.0), starts) - 1e-9).all()
