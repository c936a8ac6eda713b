"""Dimensions where points may be inactive: distances between rows, and what active ones add."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from tests import naive
from tests.helpers import entry, make_covariance

from numbo.kernels import optional as kernels
from numbo.kernels.covariance import MATERN52
from numbo.kernels.optional import APART_SQUARED
from numbo.spaces import INACTIVE

ROW = np.array([0.1, INACTIVE, 0.5, 1.0, INACTIVE, 0.0, 0.1])
VALUES = [INACTIVE, 0.0, 0.1, 0.5, 0.93, 1.0]


@numba.njit(error_model="numpy")
def gap(categorical, a, b):
    return kernels.optional_gap(categorical, a, b)


def expected_gap(categorical, a, b):
    """An inactive coordinate lies apart from all active ones, and nearest to the middle of them."""
    if categorical:
        return float(a != b)
    if (a == INACTIVE) != (b == INACTIVE):
        return (max(a, b) - 0.5) ** 2 + APART_SQUARED
    return 0.0 if a == INACTIVE else (a - b) ** 2


@pytest.mark.parametrize("categorical", [False, True])
def test_gaps_are_a_squared_metric(categorical):
    for a in VALUES:
        for b in VALUES:
            found = gap(categorical, a, b)
            assert found == pytest.approx(expected_gap(categorical, a, b))
            assert found == gap(categorical, b, a)
            assert (found == 0.0) == (a == b)
            for c in VALUES:
                assert found**0.5 <= gap(categorical, a, c) ** 0.5 + gap(categorical, c, b) ** 0.5 + 1e-12


@pytest.mark.parametrize("categorical", [False, True])
@pytest.mark.parametrize("b", VALUES)
def test_gaps_of_a_row_are_those_of_its_entries(categorical, b):
    gaps = np.full(7, np.nan)
    entry(kernels.optional_gaps_into)(categorical, ROW, 5, b, gaps)
    np.testing.assert_allclose(gaps[:5], [gap(categorical, a, b) for a in ROW[:5]], atol=1e-15)
    assert np.isnan(gaps[5:]).all()


@pytest.mark.parametrize("optional", [[True, False, True], [False, True, False], [True, True, True]])
def test_active_columns_are_those_of_each_optional_dimension(optional):
    XT = np.where(np.random.default_rng(0).random((3, 9)) < 0.4, INACTIVE, 0.5)
    XT[2] = INACTIVE
    offsets, columns = entry(kernels.active_columns)(XT, np.array(optional))
    assert (offsets[0], offsets[-1]) == (0, len(columns))
    for j in range(3):
        active = np.flatnonzero(XT[j] >= 0.0) if optional[j] else []
        np.testing.assert_array_equal(columns[offsets[j] : offsets[j + 1]], active)


def test_without_optional_dimensions_no_columns_are_listed():
    offsets, columns = entry(kernels.active_columns)(np.zeros((2, 4)), np.zeros(2, dtype=bool))
    assert len(offsets) == len(columns) == 0


@pytest.mark.parametrize("categorical", [False, True])
@pytest.mark.parametrize("n", [4, 7])
def test_to_an_inactive_coordinate_active_columns_add_the_only_gaps(categorical, n):
    """Those before ``n`` alone: other columns may be room for more points."""
    columns = np.flatnonzero(ROW >= 0.0)
    out = np.full(7, 2.0)
    entry(kernels.add_inactive_gaps_into)(categorical, ROW, n, columns, 0, len(columns), 3.0, out)
    expected = [2.0 + 3.0 * gap(categorical, a, INACTIVE) * (i < n) for i, a in enumerate(ROW)]
    np.testing.assert_allclose(out, expected)


@numba.njit(error_model="numpy")
def products(cov, j, row, xj, r2, linear, quadratic, effects, squares):
    kernels.optional_products_into(
        cov, j, row, len(row), xj, np.empty(len(row)), r2, linear, quadratic, effects, squares
    )


@numba.njit(error_model="numpy")
def products_without_squares(cov, j, row, xj, r2, linear, quadratic, effects):
    kernels.optional_products_into(cov, j, row, len(row), xj, np.empty(len(row)), r2, linear, quadratic, effects, None)


def test_products_add_up_to_the_covariance():
    """A sum over dimensions, of which all are optional here, and none inactive at the point itself."""
    cov = make_covariance(MATERN52, 4, True, 1, additive=True)._replace(optional=np.ones(4, dtype=bool))
    rng = np.random.default_rng(0)
    X = np.where(rng.random((9, 4)) < 0.4, INACTIVE, rng.random((9, 4)))
    x = np.append((0.5 + 1) / 3, rng.random(3))
    X[:, 0] = (rng.integers(3, size=9) + 0.5) / 3
    X[4, 0] = INACTIVE
    start = np.random.default_rng(1).random((5, 9))
    r2, linear, quadratic, effects, squares = start.copy()
    four = [one.copy() for one in start[:4]]
    for j in range(4):
        row = np.ascontiguousarray(X[:, j])
        products(cov, j, row, x[j], r2, linear, quadratic, effects, squares)
        products_without_squares(cov, j, row, x[j], *four)
    for one, other in zip(four, (r2, linear, quadratic, effects), strict=True):
        np.testing.assert_array_equal(one, other)
    r2, linear, quadratic, effects, squares = np.array([r2, linear, quadratic, effects, squares]) - start
    rho = (1 + np.sqrt(5 * r2) + 5 * r2 / 3) * np.exp(-np.sqrt(5 * r2))
    trend = cov.linear_variance * linear + cov.quadratic_variance * quadratic + cov.interaction_variance * linear**2
    total = cov.signal_variance * rho + trend + cov.additive_variance * effects / 4
    np.testing.assert_allclose(total, naive.k(cov, x, X), rtol=1e-9)
    each = np.where(cov.categorical, x == X, 1 / (1 + cov.additive_weight * (X - x) ** 2)) * (X >= 0.0)
    np.testing.assert_allclose(squares, (each**2).sum(axis=1), rtol=1e-9)
