"""Exponentials and logarithms are those of the C library."""

from __future__ import annotations

import math

import numpy as np
import pytest

from numbo import _elementary


@pytest.mark.parametrize("name", ["exp", "expm1", "log", "log1p"])
def test_each_value_is_that_of_the_c_library(name):
    x = np.random.default_rng(0).uniform(1e-3, 30.0, (40, 5))
    found = getattr(_elementary, name)(x.T)
    np.testing.assert_array_equal(found, np.vectorize(getattr(math, name))(x.T))
    assert getattr(_elementary, name)(2.0).shape == ()
