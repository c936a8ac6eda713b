from __future__ import annotations

import numpy as np
import pytest

from numbo import Arms


def test_encoding_is_scaled_to_the_unit_cube_and_comes_back():
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 1e6, 1e-6] + 5.0
    arms = Arms(X)
    grid = arms.grid()
    assert (grid.min(axis=0), grid.max(axis=0)) == (pytest.approx(0.0), pytest.approx(1.0))
    np.testing.assert_allclose(grid * arms.ranges + X.min(axis=0), X)
    assert [arms.decode(arms.encode(i)) for i in range(50)] == list(range(50))
    np.testing.assert_array_equal(arms.grid_index(grid[::-1]), np.arange(50)[::-1])
    assert (arms.d, arms.cardinality, len(arms)) == (3, 50.0, 50)


def test_equal_rows_are_one_arm():
    arms = Arms([[0.0, 1.0], [2.0, 1.0], [0.0, 1.0]])
    assert [arms.decode(arms.encode(i)) for i in range(3)] == [0, 1, 0]


def test_snapping_goes_to_the_nearest_arm():
    arms = Arms(np.random.default_rng(0).random((40, 2)))
    points = np.random.default_rng(1).random((20, 2))
    nearest = [int(np.argmin(((arms.grid() - p) ** 2).sum(axis=1))) for p in points]
    np.testing.assert_array_equal(arms.snap(points), arms.grid()[nearest])
    np.testing.assert_array_equal(arms.grid_index(points), nearest)


@pytest.mark.parametrize("X", [np.ones((4, 2)), [[7.0, 1e308], [7.0, -1e308]], [[3]]])
def test_constant_and_huge_features(X):
    arms = Arms(X)
    assert np.isfinite(arms.grid()).all()
    assert arms.grid().min() >= 0.0
    assert arms.grid().max() <= 1.0
    assert (arms.ranges > 0.0).all()


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ([1.0, 2.0], r"shape \(2,\)"),
        (np.empty((0, 3)), r"shape \(0, 3\)"),
        ([["a", "b"]], "array"),
        ([[1.0, 2.0], [3.0, float("nan")]], "row 1"),
    ],
)
def test_what_is_not_an_array_of_arms(X, words):
    with pytest.raises(ValueError, match=words):
        Arms(X)


@pytest.mark.parametrize("arm", [-1, 3, 1.5, "x", None, float("nan")])
def test_what_is_not_an_arm(arm):
    with pytest.raises(ValueError, match="integer from 0 to 2"):
        Arms(np.eye(3)).encode(arm)
