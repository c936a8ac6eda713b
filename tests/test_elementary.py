"""Exponentials and logarithms of what is not finite, as NumPy gives them."""

from __future__ import annotations

import numpy as np

from numbo import _elementary


def test_limits_are_reached_without_a_warning():
    np.testing.assert_array_equal(_elementary.log([0.0, np.inf]), [-np.inf, np.inf])
    np.testing.assert_array_equal(_elementary.log1p([-1.0, 0.0]), [-np.inf, 0.0])
    np.testing.assert_array_equal(_elementary.exp([-np.inf, 1e4]), [0.0, np.inf])
    np.testing.assert_array_equal(_elementary.expm1([-np.inf, 0.0]), [-1.0, 0.0])
    assert np.isnan(_elementary.exp([np.nan])).all()
    assert np.isnan(_elementary.log([np.nan, -1.0])).all()
