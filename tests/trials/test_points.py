"""The identity of points, and points whose results are pending."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numbo.trials import Curve, Pending, point_key
from numbo.trials.points import identities


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=5), st.integers(0, 99))
def test_points_that_differ_by_rounding_are_one_and_others_are_not(x, seed):
    x = np.round(np.array(x), 10)
    rng = np.random.default_rng(seed)
    assert point_key(x + 1e-14 * rng.normal(size=len(x))) == point_key(x)
    moved = x.copy()
    moved[rng.integers(len(x))] += 1e-10
    assert point_key(moved) != point_key(x)
    np.testing.assert_array_equal(identities(np.stack([x, moved]))[0], identities(x))


def test_a_pending_point_keeps_its_own_parameters_and_what_was_reported():
    params = {"a": 1}
    pending = Pending.of(np.array([0.5]), params, 3)
    params["a"] = 2
    assert (pending.params, pending.origin, pending.identity) == ({"a": 1}, 3, point_key(np.array([0.5])))
    assert pending.reporting(None) is pending
    one, other = (Curve(np.array([step]), np.array([step / 2])) for step in (1.0, 2.0))
    both = pending.reporting(one).reporting(other)
    assert (both.curve.steps.tolist(), both.curve.values.tolist()) == ([1.0, 2.0], [0.5, 1.0])
    assert pending.curve is None
