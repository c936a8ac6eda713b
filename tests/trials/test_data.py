"""Observations as models take them."""

from __future__ import annotations

import numpy as np

from numbo.trials import Data


def test_some_of_the_observations_keep_what_is_known_of_each():
    data = Data(np.arange(8.0).reshape(4, 2), np.arange(4.0), np.array([0.0, 0.1, 0.2, 0.3]))
    for rows, expected in (
        (np.array([3, 1]), [3, 1]),
        (slice(2), [0, 1]),
        (np.array([False, True, True, True]), [1, 2, 3]),
    ):
        some = data.at(rows)
        assert some.n == len(expected)
        np.testing.assert_array_equal(some.X, data.X[expected])
        np.testing.assert_array_equal(some.y, data.y[expected])
        np.testing.assert_array_equal(some.variance, data.variance[expected])


def test_nothing_is_known_of_variances_unless_it_is_said():
    assert Data.of(np.zeros((3, 2)), np.ones(3)).variance.tolist() == [0.0, 0.0, 0.0]
