"""Minima in a box, against SciPy's L-BFGS-B."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize
from scipy.optimize import rosen, rosen_der

from numbo.models.descent import minimize

OPTIONS = {"iterations": 200, "tolerance": 1e-13, "flat": 1e-7}


def quadratic(d: int, seed: int):
    """A convex quadratic with a condition number of 1e4."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.standard_normal((d, d)))[0]
    H = (axes * np.logspace(0, 4, d)) @ axes.T
    center = rng.uniform(-2.0, 2.0, d)
    return lambda x: (0.5 * (x - center) @ H @ (x - center), H @ (x - center))


@pytest.mark.parametrize("seed", range(5))
def test_minima_of_convex_functions_are_those_of_scipy(seed):
    function = quadratic(6, seed)
    bounds = np.tile([-1.0, 1.0], (6, 1))  # some of which hold
    found = minimize(function, np.zeros(6), bounds, **OPTIONS)
    expected = scipy_minimize(function, np.zeros(6), jac=True, method="L-BFGS-B", bounds=bounds, tol=1e-13)
    np.testing.assert_allclose(found.x, expected.x, atol=1e-4)
    assert found.value == function(found.x)[0]
    assert found.value == pytest.approx(expected.fun, rel=1e-6)


def test_a_curved_valley_is_followed_to_its_end():
    found = minimize(
        lambda x: (rosen(x), rosen_der(x)), np.array([-1.2, 1.0, -0.5]), np.tile([-2.0, 2.0], (3, 1)), **OPTIONS
    )
    np.testing.assert_allclose(found.x, 1.0, atol=1e-5)


def test_the_start_is_moved_into_the_box_and_equal_bounds_hold_a_coordinate():
    bounds = np.array([[0.0, 1.0], [0.25, 0.25]])
    found = minimize(lambda x: (float(x @ x), 2.0 * x), np.array([5.0, 5.0]), bounds, **OPTIONS)
    np.testing.assert_allclose(found.x, [0.0, 0.25], atol=1e-7)


def test_a_step_where_the_function_cannot_be_computed_is_shortened():
    def function(x):
        if x[0] < 0.5:
            return 1e25, np.zeros(1)
        return float(x[0]), np.ones(1)

    found = minimize(function, np.array([1.4]), np.array([[-9.0, 9.0]]), **OPTIONS)
    assert 0.5 <= found.x[0] < 0.6


def test_iterations_and_flat_starts_end_the_search():
    calls = []

    def function(x):
        calls.append(x)
        return rosen(x), rosen_der(x)

    bounds = np.tile([-2.0, 2.0], (2, 1))
    start = minimize(function, np.ones(2), bounds, **OPTIONS)
    np.testing.assert_array_equal(start.x, 1.0)
    assert len(calls) == 1
    few = minimize(function, np.array([-1.2, 1.0]), bounds, **OPTIONS | {"iterations": 3})
    many = minimize(function, np.array([-1.2, 1.0]), bounds, **OPTIONS)
    assert rosen(np.array([-1.2, 1.0])) > few.value > many.value


def test_a_direction_in_which_nothing_decreases_ends_the_search():
    found = minimize(lambda x: (1.0, np.ones(2)), np.zeros(2), np.tile([-1.0, 1.0], (2, 1)), **OPTIONS)
    np.testing.assert_array_equal(found.x, 0.0)
