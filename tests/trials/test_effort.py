"""What trials cost, and when a point that fills the space is due."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numbo.trials import SCOUT, Curve, History
from numbo.trials.effort import Effort, effort

TRIALS = st.lists(st.tuples(st.integers(1, 30), st.booleans(), st.booleans()), min_size=1, max_size=30)


def of(trials):
    history = History(1)
    for k, (cost, scout, stopped) in enumerate(trials):
        curve = Curve(np.arange(1.0, cost + 1.0), np.zeros(cost))
        history.add(np.array([0.5]), 0.0, {}, SCOUT if scout else 0, final=not stopped, curve=curve)
        if k % 3 == 0:
            assert history.fact(effort).trials == k + 1  # it is known of some of them before the others
    return history.fact(effort)


@given(TRIALS)
def test_sums_are_those_of_all_trials(trials):
    costs = [cost for cost, _, _ in trials]
    scouts = [cost for cost, scout, _ in trials if scout]
    stopped = sum(1 for _, _, one in trials if one)
    assert of(trials) == Effort(sum(costs), len(scouts), sum(scouts), stopped, len(trials), max(costs))


@given(TRIALS)
def test_no_scout_is_due_where_stopping_saves_nothing(trials):
    """All trials are as long as the longest one: scouts are as dear as others."""
    assert not of([(12, scout, stopped) for _, scout, stopped in trials]).scout_is_due(0.99, 0)


@given(TRIALS, st.floats(0.0, 1.0), st.integers(0, 5))
def test_pending_scouts_make_further_ones_less_due(trials, share, pending):
    known = of(trials)
    assert known.scout_is_due(share, 0) or not known.scout_is_due(share, pending)


def test_pending_scouts_count_as_much_as_one_has_cost():
    """Of 100 reports, two thirds are saved: trials of two would have been of ten. Half of that is 33 for scouts."""
    trials = [(10, False, False)] * 5 + [(2, False, True)] * 25
    assert [of(trials).scout_is_due(0.5, count) for count in (0, 33, 34)] == [True, True, False]  # a report each
    scouts = [(10, False, False)] * 5 + [(2, True, True)] * 5 + [(2, False, True)] * 20
    assert [of(scouts).scout_is_due(0.5, count) for count in (0, 11, 12)] == [True, True, False]  # two each, 10 spent
