"""Distinct points, numbered in the order in which they were first seen."""

from __future__ import annotations

import copy

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from tests.helpers import make_points

from numbo.trials import History, Pending, Pulls


def point(place):
    return np.array([place / 8, 1.0 - place / 16])


MANY = [(k // 2, k % 3 > 0) for k in range(200)]  # more than there is room for at first


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=40))
@example(MANY)
def test_points_are_numbered_as_they_come_pending_or_told(events):
    pulls, history, seen, told, pending = Pulls(2), History(2), [], [], []
    for k, (place, arrives) in enumerate(events):
        if arrives:
            history.add(point(place), 0.5, {}, -1)
            told.append(place)
            pulls.told(history)
        else:
            history.pending[k] = Pending.of(point(place), {}, -1)
            pending.append(place)
            pulls.pending(history.pending.values())
        seen += [place] * (place not in seen)
    number = {place: k for k, place in enumerate(seen)}
    assert pulls.u == len(seen)
    np.testing.assert_array_equal(pulls.X, np.array([point(place) for place in seen]).reshape(-1, 2))
    assert pulls.told(history).tolist() == [number[place] for place in told]
    assert pulls.told(history, len(told) // 2).tolist() == [number[place] for place in told[: len(told) // 2]]
    assert pulls.pending(history.pending.values()) == [number[place] for place in pending]
    counts = pulls.counts(pulls.told(history))
    assert counts.tolist() == [told.count(place) for place in seen]


def test_numbers_survive_a_restore():
    pulls, again = Pulls(2), Pulls(2)
    for place in (3, 1, 3, 70, 5):
        pulls.number(point(place))
    again.restore(pulls.state_dict())
    assert [again.number(point(place)) for place in (70, 5, 3, 1, 9)] == [2, 3, 0, 1, 4]


def test_points_that_differ_by_rounding_have_one_number():
    pulls = Pulls(2)
    assert pulls.number(point(3)) == pulls.number(point(3) + 1e-14)


def test_a_copy_numbers_points_on_its_own():
    X = make_points(150, 2)
    pulls = Pulls(2)
    assert [pulls.number(x) for x in (*X[:5], X[2])] == [0, 1, 2, 3, 4, 2]
    twin = copy.copy(pulls)
    assert [pulls.number(x) for x in X[5:150]] == list(range(5, 150))  # past the room that there was
    assert [twin.number(x) for x in X[149:4:-1]] == list(range(5, 150))
    np.testing.assert_array_equal(pulls.X, X)
    np.testing.assert_array_equal(twin.X, [*X[:5], *X[149:4:-1]])
    assert pulls.number(X[7]) == 7
    assert twin.number(X[7]) == 147


def test_pending_points_are_numbered_after_some_are_released():
    pulls, history = Pulls(2), History(2)
    for place in (4, 2, 4, 7):
        history.pending[len(history.pending)] = Pending.of(point(place), {}, -1)
        pulls.pending(history.pending.values())
    assert pulls.pending(history.pending.values()) == [0, 1, 0, 2]
    del history.pending[0]
    assert pulls.pending(history.pending.values()) == [1, 0, 2]
    history.pending["again"] = Pending.of(point(9), {}, -1)
    assert pulls.pending(history.pending.values()) == [1, 0, 2, 3]
    del history.pending["again"]
    assert pulls.pending(history.pending.values()) == [1, 0, 2]
