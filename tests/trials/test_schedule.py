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
            schedule.at = n
            times.append(n)
    for before, after in itertools.pairwise(times):
        expected = max(shortest, int(growth * before))
        assert after - before == (expected if longest is None else min(expected, longest))
    assert times[0] == shortest
