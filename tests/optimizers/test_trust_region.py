from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numbo.optimizers._base import GLOBAL
from numbo.optimizers._trust_region import (
    FINEST,
    INITIAL_LENGTH,
    MAX_LENGTH,
    MIN_LENGTH,
    SCOUTS,
    SUCCESSES,
    TrustRegion,
)


def scouted(d=3):
    region = TrustRegion(d)
    for i in range(SCOUTS):
        region.tell(i, float(i == 2), GLOBAL)
    return region


def test_the_best_scout_is_the_first_incumbent():
    region = scouted()
    assert not region.scouting
    assert (region.center, region.best, region.length) == (2, 1.0, INITIAL_LENGTH)


def test_failures_alone_are_scouted_on():
    region = TrustRegion(3)
    for i in range(20):
        region.tell(i, np.nan, GLOBAL)
    assert region.scouting


def test_successes_double_and_failures_halve():
    region = scouted()
    for i in range(SUCCESSES):
        region.tell(10 + i, 2.0 + i, 0)
    assert region.length == min(2 * INITIAL_LENGTH, MAX_LENGTH)
    assert region.center == 10 + SUCCESSES - 1
    before = region.length
    for _ in range(max(4, 3)):
        region.tell(30, 0.0, 0)
    assert region.length == before / 2
    region.tell(31, np.nan, 0)
    assert region.failures == 1


def test_a_success_ends_a_run_of_failures():
    region = scouted()
    for _ in range(3):
        region.tell(10, 0.0, 0)
    region.tell(11, 5.0, 0)
    for _ in range(3):
        region.tell(12, 0.0, 0)
    assert region.length == INITIAL_LENGTH


def test_points_of_others_leave_the_counters_alone_and_move_the_center_only_with_a_record():
    region = scouted()
    for _ in range(50):
        region.tell(10, 0.0, GLOBAL)
        region.tell(10, 0.0, 7)
    assert (region.failures, region.length, region.center) == (0, INITIAL_LENGTH, 2)
    region.tell(11, 9.0, GLOBAL)
    assert (region.center, region.best, region.successes) == (11, 9.0, 0)


def test_a_region_that_has_become_too_small_starts_anew():
    region = scouted()
    n = collapse(region, collapse(region, 10))
    assert region.scouting
    assert region.exploring
    assert (region.length, region.center, region.seen, region.failures) == (INITIAL_LENGTH, -1, 0, 0)
    for i in range(SCOUTS):
        region.tell(n + i, 0.1 * i, GLOBAL)
    assert region.best == pytest.approx(0.1 * (SCOUTS - 1))  # below the record of the first region
    region.tell(n + 10, 0.7, GLOBAL)  # the global model returns near the old optimum
    assert region.best == pytest.approx(0.1 * (SCOUTS - 1))
    region.tell(n + 11, 0.0, 0)  # a late result of the old region
    assert region.failures == 0


def collapse(region, first, y=0.0):
    """Fail until the region is given up; returns the next free number."""
    number = region.number
    while region.number == number:
        region.tell(first, y, number)
        first += 1
    return first


def test_every_second_region_of_three_takes_up_the_record_where_it_was_left():
    region = scouted()
    record = region.center
    n = collapse(region, 10)
    assert region.record_length < MIN_LENGTH
    assert (region.center, region.best, region.scouting, region.exploring) == (record, 1.0, False, False)
    assert MIN_LENGTH < region.length < 4 * MIN_LENGTH
    refined = n
    region.tell(refined, 2.0, region.number)  # the refinement pays
    finest = region.shortest
    n = collapse(region, n + 1)
    assert (region.record, region.record_center) == (2.0, refined)
    assert region.record_length < finest < MIN_LENGTH**2
    for _ in range(2):  # one among unexplored points, one by the global model
        assert region.scouting
        assert region.length == INITIAL_LENGTH
        for i in range(SCOUTS):
            region.tell(n + i, 0.1 * i, GLOBAL)
        n = collapse(region, n + SCOUTS)
    assert (region.center, region.scouting) == (refined, False)


def test_what_was_refined_to_the_end_is_left_alone():
    region = scouted()
    n = 10
    for _ in range(30):
        n = collapse(region, n)
        if region.scouting:
            for i in range(SCOUTS):
                region.tell(n + i, -1.0, GLOBAL)
        else:
            assert region.record_length >= FINEST
    assert region.record_length < FINEST


@given(st.lists(st.tuples(st.floats(allow_nan=True, allow_infinity=True), st.integers(-1, 3)), max_size=300))
def test_invariants_and_a_fold_that_can_be_stopped_and_resumed(events):
    region, resumed = TrustRegion(2), TrustRegion(2)
    for i, (y, origin) in enumerate(events):
        region.tell(i, y, origin)
        resumed = TrustRegion(**resumed.state_dict())
        resumed.tell(i, y, origin)
        assert region.shortest <= region.length <= MAX_LENGTH
        assert FINEST * MIN_LENGTH <= region.shortest <= MIN_LENGTH
        assert 0 <= region.successes < SUCCESSES
        assert 0 <= region.failures < 4
        assert region.best <= region.record
    assert region == resumed


def test_the_box_follows_the_lengthscales_and_leaves_categories_whole():
    region = scouted()
    region.length = 0.4
    center = np.array([0.5, 0.9, 0.5])
    lower, upper = region.box(center, np.array([1.0, 4.0, 9.0]), np.array([True, True, False]))
    np.testing.assert_allclose(upper[0] - lower[0], 0.4 / 2)
    assert (lower[1], upper[1]) == (pytest.approx(0.5), 1.0)
    assert (lower[2], upper[2]) == (0.0, 1.0)
    lower, upper = region.box(center, np.ones(3), np.zeros(3, dtype=bool))
    assert (lower == 0).all()
    assert (upper == 1).all()
