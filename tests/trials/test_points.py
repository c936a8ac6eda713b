"""Which points are one, and what is known of those that are pending."""

from __future__ import annotations

import numpy as np

from numbo.trials import Curve, Pending, point_key
from numbo.trials.points import identities


def test_points_that_differ_by_rounding_are_one():
    x = np.array([0.1 + 0.2, -1.0, 1.0])
    assert point_key(x) == point_key(np.array([0.3, -1.0, 1.0]))
    assert point_key(x) != point_key(x + 1e-9)
    np.testing.assert_array_equal(identities(np.stack([x, x]))[0], identities(x))


def test_reports_of_a_pending_point_add_up():
    point = Pending.of(np.array([0.5]), {"x": 1.0}, -1)
    assert point.reporting(None) is point
    again = point.reporting(Curve(np.array([1.0]), np.array([3.0]))).reporting(Curve(np.array([2.0]), np.array([4.0])))
    assert again.curve is not None
    assert again.curve.steps.tolist() == [1.0, 2.0]
    assert point.curve is None
