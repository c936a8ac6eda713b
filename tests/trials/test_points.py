"""The identity of points, what is known by it, and points whose results are pending."""

from __future__ import annotations

import copy

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numbo.trials import Curve, Pending, point_key
from numbo.trials.points import Visits, identities


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


def test_visits_know_what_became_of_each_point_and_a_copy_stays_as_it_is():
    visits = Visits()
    visits.add(b"a", 0, 0, failed=True, unasked=False)
    visits.add(b"b", 0, 1, failed=False, unasked=True)
    before = copy.copy(visits)
    visits.add(b"a", 1, 2, failed=True, unasked=True)
    assert (visits.failed, visits.only_failed(b"a"), visits.only_failed(b"b")) == ({b"a": 2}, True, False)
    visits.add(b"a", 1, 3, failed=False, unasked=True)
    visits.add(b"a", 2, 4, failed=False, unasked=False)
    visits.add(b"a", 3, 5, failed=True, unasked=False)
    assert (visits.first, visits.again) == ({b"b": 0, b"a": 1}, [(1, 2)])
    assert (visits.failures, visits.failed, visits.only_failed(b"a")) == ({b"a": (0, 2, 5)}, {}, False)
    assert (visits.failed_again, visits.told_again) == (1, 2)
    assert visits.superseded(6).tolist() == [True, False, True, False, False, True]
    assert (before.first, before.failures, before.again, before.told_again) == ({b"b": 0}, {b"a": (0,)}, [], 0)
