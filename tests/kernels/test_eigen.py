"""Eigenvalues and eigenvectors against LAPACK's."""

from __future__ import annotations

import numpy as np
import pytest

from numbo.kernels.eigen import eigen


def symmetric(values):
    axes = np.linalg.qr(np.random.default_rng(len(values)).standard_normal((len(values), len(values))))[0]
    A = (axes * values) @ axes.T
    return (A + A.T) / 2.0


@pytest.mark.parametrize("n", [1, 2, 5, 20])
@pytest.mark.parametrize("low", [-1.0, 0.0])
def test_eigenvalues_are_lapacks_and_vectors_are_orthonormal(n, low):
    A = symmetric(np.random.default_rng(0).uniform(low, 1.0, n))
    values, axes = eigen(A)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A), atol=1e-13)
    np.testing.assert_allclose(axes.T @ axes, np.eye(n), atol=1e-13)
    np.testing.assert_allclose((axes * values) @ axes.T, A, atol=1e-13)


def test_small_eigenvalues_of_a_scaled_matrix_keep_their_digits():
    scales = np.logspace(0, -7, 6)
    A = symmetric(np.linspace(1.0, 2.0, 6))
    values, _ = eigen(A * np.outer(scales, scales))
    inverse, _ = eigen(np.linalg.inv(A) / np.outer(scales, scales))
    np.testing.assert_allclose(values[0], 1.0 / inverse[-1], rtol=1e-10)


def test_equal_values_and_empty_diagonals():
    values, axes = eigen(np.eye(3))
    np.testing.assert_array_equal(values, 1.0)
    np.testing.assert_array_equal(axes, np.eye(3))
    values, axes = eigen(np.array([[0.0, 2.0], [2.0, 0.0]]))
    np.testing.assert_allclose(values, [-2.0, 2.0], rtol=1e-15)
    np.testing.assert_array_equal(eigen(np.zeros((2, 2)))[0], 0.0)
