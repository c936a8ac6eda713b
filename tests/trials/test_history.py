"""The history: copies that stay as they are, and what is derived from its records."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numbo.trials import Goal, History, Pending, point_key


def filled():
    history = History(2)
    history.add(np.array([0.1, 0.2]), 1.0, {"a": 1}, -1)
    history.add(np.array([0.3, 0.4]), np.nan, {"a": 5}, 2)
    history.exclude(np.array([0.9, 0.9]))
    history.pending["k"] = Pending.of(np.array([0.5, 0.5]), {"a": 2}, 3)
    return history


def test_what_is_told_after_a_copy_does_not_reach_it():
    history = filled()
    copy = history.copy()
    X, Y = copy.trials.X.copy(), copy.trials.Y.copy()
    for i in range(100):  # more than there was room for
        history.add(np.array([0.1, 0.2]), float(i), {"a": i}, -1)
        history.add(np.array([0.6, 0.6]), np.nan, {}, -1)
    history.exclude(np.array([0.7, 0.7]))
    history.pending.clear()
    assert (copy.n, copy.told, len(copy.excluded), list(copy.pending)) == (1, 2, 1, ["k"])
    np.testing.assert_array_equal(copy.trials.X, X)
    np.testing.assert_array_equal(copy.trials.Y, Y)
    assert copy.best_of(Goal(("minimize",))) == ({"a": 1}, -1.0)
    assert len(copy.first) == copy.failed_counts.total() == 1


def test_what_is_told_to_a_copy_does_not_reach_the_original():
    history = filled()
    copy = history.copy()
    copy.add(np.array([0.6, 0.6]), np.nan, {}, -1)
    copy.pending.clear()
    copy.exclude(np.array([0.7, 0.7]))
    assert (history.told, len(history.excluded), list(history.pending)) == (2, 1, ["k"])


def test_the_oldest_pending_point_at_a_place_is_found_by_it():
    history = filled()
    assert history.key_of(np.array([0.5, 0.5])) == "k"
    assert history.key_of(np.array([0.5, 0.6])) is None


def naive(told):
    """Observations, failures and what is derived from them, one trial after the other."""
    observed = [(t, x, y) for t, (x, y) in enumerate(told) if not np.isnan(y)]
    first = {}
    again = [(first[x], i) for i, (_, x, _) in enumerate(observed) if first.setdefault(x, i) != i]
    lost = [x for x, y in told if np.isnan(y)]
    return observed, first, again, lost


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([math.nan, 0.0, 1.0, math.inf])), max_size=150))
def test_observations_are_the_trials_that_succeeded(told):
    history = History(1, 2)
    for t, (x, y) in enumerate(told):
        history.add(np.array([x / 8]), np.array([y, -y]), {"x": x}, t, final=x > 0)
    observed, first, again, lost = naive(told)
    interrupted = history.copy()
    interrupted.refresh()
    for known in (history, interrupted, History.of(history.state_dict())):
        assert (known.n, known.told) == (len(observed), len(told))
        np.testing.assert_array_equal(known.X[:, 0], [x / 8 for _, x, _ in observed])
        np.testing.assert_array_equal(known.y, [y for _, _, y in observed])
        np.testing.assert_array_equal(known.origins, [t for t, _, _ in observed])
        np.testing.assert_array_equal(known.positions(np.arange(known.n)), [t for t, _, _ in observed])
        np.testing.assert_array_equal(known.trials.Y[:, 1], [-y for _, y in told])
        assert known.first == {point_key(np.array([x / 8])): i for x, i in first.items()}
        assert known.again == again
        assert {float(x[0] * 8) for x in known.failed.values()} == set(lost) - set(first)
        assert known.superseded().tolist() == [bool(np.isnan(y)) and x in first for x, y in told]
        assert known.all_final == all(x > 0 for _, x, _ in observed)
        if observed:
            assert known.params(known.best) == {"x": observed[int(np.argmax(known.y))][1]}
