"""Sums of functions of one coordinate each: against interpolation, and as a part of what an ascent climbs."""

from __future__ import annotations

import numpy as np
from tests.helpers import make_covariance
from tests.kernels.test_acquisition import conditioned

from numbo.kernels.acquisition import UCB, Acquisition, Term, acquisition_values
from numbo.kernels.ascent import ascend
from numbo.kernels.tables import table_sums
from numbo.spaces import INACTIVE


def naive(tables, X):
    places = np.linspace(0.0, 1.0, tables.shape[1])
    active = X != INACTIVE
    columns = [np.interp(x, places, table) for x, table in zip(X.T, tables, strict=True)]
    return np.sum(np.where(active, np.array(columns).T, 0.0), axis=1)


def test_sums_are_those_of_interpolation():
    rng = np.random.default_rng(0)
    tables = rng.normal(size=(3, 9))
    X = np.concatenate([rng.random((40, 3)), np.zeros((1, 3)), np.ones((1, 3)), [[0.5, INACTIVE, 0.25]]])
    np.testing.assert_allclose(table_sums(tables, X), naive(tables, X), atol=1e-12)


def test_an_ascent_climbs_the_sum():
    rng = np.random.default_rng(1)
    posterior, _, _ = conditioned(make_covariance(0, 2, False), n=10, capacity=10)
    acquisition = Acquisition(UCB, 1.0)
    places = np.linspace(0.0, 1.0, 257)
    tables = -8.0 * (places - np.array([[0.2], [0.7]])) ** 2
    starts = rng.random((5, 2))
    box = np.zeros_like(starts), np.ones_like(starts)
    X, values = ascend((Term(posterior, acquisition),), None, starts, *box, 200, 1e-12, tables)
    np.testing.assert_allclose(values, acquisition_values(posterior, acquisition, X) + naive(tables, X), atol=1e-9)
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 101)] * 2), axis=-1).reshape(-1, 2)
    assert values.max() >= np.max(acquisition_values(posterior, acquisition, grid) + naive(tables, grid)) - 1e-3
