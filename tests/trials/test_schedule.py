from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from numbo.trials.schedule import Schedule


@given(st.floats(0.0, 2.0), st.integers(1, 9), st.none() | st.integers(9, 20))
def test_waits_grow_with_the_history_between_their_bounds(growth, shortest, longest):
    schedule, times = Schedule(growth, shortest, longest), []
    for n in range(1, 300):
        if schedule.due(n):
            schedule.done(n)
            times.append(n)
    for before, after in itertools.pairwise(times):
        expected = max(shortest, int(growth * before))
        assert after - before == (expected if longest is None else min(expected, longest))
    assert times[0] == shortest


@given(st.floats(0.0, 2.0), st.integers(1, 9), st.lists(st.integers(1, 40)))
def test_what_is_passed_does_not_depend_on_when_it_is_asked_for(growth, shortest, steps):
    asked = Schedule(growth, shortest)
    passed = []
    n = 0
    for step in steps:
        n += step
        passed += asked.passed(n)
    once = Schedule(growth, shortest)
    assert list(once.passed(n)) == passed
    assert not once.advance(n)
    assert once.at == asked.at
