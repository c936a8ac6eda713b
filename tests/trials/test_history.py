"""The history: copies that stay as they are, and what is derived from its records."""

from __future__ import annotations

import numpy as np

from numbo.trials import Goal, History, Pending


def filled():
    history = History(2)
    history.add(np.array([0.1, 0.2]), 1.0, {"a": 1}, -1)
    history.fail(np.array([0.3, 0.4]))
    history.exclude(np.array([0.9, 0.9]))
    history.pending["k"] = Pending.of(np.array([0.5, 0.5]), {"a": 2}, 3)
    return history


def test_what_is_told_after_a_copy_does_not_reach_it():
    history = filled()
    copy = history.copy()
    X, y = copy.in_order()
    for i in range(100):  # more than there was room for
        history.add(np.array([0.1, 0.2]), float(i), {"a": i}, -1)
        history.fail(np.array([0.6, 0.6]))
    history.exclude(np.array([0.7, 0.7]))
    history.pending.clear()
    assert (copy.n, copy.told, len(copy.excluded), list(copy.pending)) == (1, 2, 1, ["k"])
    np.testing.assert_array_equal(copy.in_order()[0], X)
    np.testing.assert_array_equal(copy.in_order()[1], y)
    assert copy.best_of(Goal("minimize")) == ({"a": 1}, -1.0)
    assert len(copy.first) == copy.failed_counts.total() == 1


def test_what_is_told_to_a_copy_does_not_reach_the_original():
    history = filled()
    copy = history.copy()
    copy.fail(np.array([0.6, 0.6]))
    copy.pending.clear()
    copy.exclude(np.array([0.7, 0.7]))
    assert (history.told, len(history.excluded), list(history.pending)) == (2, 1, ["k"])


def test_the_oldest_pending_point_at_a_place_is_found_by_it():
    history = filled()
    assert history.key_of(np.array([0.5, 0.5])) == "k"
    assert history.key_of(np.array([0.5, 0.6])) is None
