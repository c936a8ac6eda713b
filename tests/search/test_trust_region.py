from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numbo._plain import plain
from numbo.run.situation import GLOBAL
from numbo.search.trust_region import (
    FINEST,
    INITIAL_LENGTH,
    LENGTHS,
    MAX_LENGTH,
    MIN_LENGTH,
    NARROW,
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
        region.tell(10 + i, 2.0 + i, region.origin)
    assert region.length == min(2 * INITIAL_LENGTH, MAX_LENGTH)
    assert region.center == 10 + SUCCESSES - 1
    before = region.length
    for _ in range(max(4, 3)):
        region.tell(30, 0.0, region.origin)
    assert region.length == before / 2
    region.tell(31, np.nan, region.origin)
    assert region.failures == 1


def test_a_success_ends_a_run_of_failures():
    region = scouted()
    for _ in range(3):
        region.tell(10, 0.0, region.origin)
    region.tell(11, 5.0, region.origin)
    for _ in range(3):
        region.tell(12, 0.0, region.origin)
    assert region.length == INITIAL_LENGTH


def test_points_of_others_leave_the_counters_alone_and_move_the_center_only_with_a_record():
    region = scouted()
    for _ in range(50):
        region.tell(10, 0.0, GLOBAL)
        region.tell(10, 0.0, 7 * LENGTHS + 1)
    assert (region.failures, region.length, region.center) == (0, INITIAL_LENGTH, 2)
    region.tell(11, 9.0, GLOBAL)
    assert (region.center, region.best, region.successes) == (11, 9.0, 0)


def test_a_batch_asked_from_one_box_halves_it_once():
    region = scouted()
    asked = region.origin
    for i in range(50):
        region.tell(10 + i, 0.0, asked)
    assert (region.length, region.failures) == (INITIAL_LENGTH / 2, 0)


def test_late_results_of_a_former_box_move_the_center_and_leave_the_counters_alone():
    region = scouted()
    asked = region.origin
    for i in range(4):
        region.tell(10 + i, 0.0, asked)
    assert region.length == INITIAL_LENGTH / 2
    region.tell(20, 0.0, region.origin)
    for i in range(SUCCESSES):
        region.tell(30 + i, 2.0 + i, asked)
    assert (region.center, region.best) == (29 + SUCCESSES, 1.0 + SUCCESSES)
    assert (region.successes, region.failures, region.length) == (0, 1, INITIAL_LENGTH / 2)


def test_origins_tell_all_lengths_of_all_regions_apart():
    lengths = [MAX_LENGTH * 0.5**k for k in range(LENGTHS)]
    assert lengths[-1] < FINEST * MIN_LENGTH
    origins = [TrustRegion(3, number=n, length=length).origin for n in range(3) for length in lengths]
    assert min(origins) > GLOBAL
    assert len(set(origins)) == len(origins)


def test_a_region_that_has_become_too_small_starts_anew():
    region = scouted()
    first = region.origin
    n = collapse(region, collapse(region, 10))
    assert region.scouting
    assert region.exploring
    assert (region.length, region.center, region.seen, region.failures) == (INITIAL_LENGTH, -1, 0, 0)
    for i in range(SCOUTS):
        region.tell(n + i, 0.1 * i, GLOBAL)
    assert region.best == pytest.approx(0.1 * (SCOUTS - 1))  # below the record of the first region
    region.tell(n + 10, 0.7, GLOBAL)  # the global model returns near the old optimum
    assert region.best == pytest.approx(0.1 * (SCOUTS - 1))
    region.tell(n + 11, 0.7, first)  # a late result of the old region
    assert (region.failures, region.best) == (0, pytest.approx(0.1 * (SCOUTS - 1)))


def collapse(region, first, y=0.0):
    """Fail until the region is given up; returns the next free number."""
    number = region.number
    while region.number == number:
        region.tell(first, y, region.origin)
        first += 1
    return first


def test_a_region_is_narrow_once_it_is_short_or_another_was_given_up_and_it_has_a_center():
    assert not TrustRegion(2).narrow
    assert not TrustRegion(2, center=3, seen=SCOUTS, length=2.0 * NARROW).narrow
    assert TrustRegion(2, center=3, seen=SCOUTS, length=NARROW).narrow
    assert TrustRegion(2, center=3, seen=SCOUTS, number=1).narrow
    assert not TrustRegion(2, center=3, seen=SCOUTS - 1, number=1).narrow
    assert not TrustRegion(2, center=-1, seen=SCOUTS, number=1).narrow


def test_every_second_region_of_three_takes_up_the_record_where_it_was_left():
    region = scouted()
    record = region.center
    n = collapse(region, 10)
    assert region.record_length < MIN_LENGTH
    assert (region.center, region.best, region.scouting, region.exploring) == (record, 1.0, False, False)
    assert MIN_LENGTH < region.length < 4 * MIN_LENGTH
    refined = n
    region.tell(refined, 2.0, region.origin)  # the refinement pays
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


@given(st.lists(st.tuples(st.floats(allow_nan=True, allow_infinity=True), st.integers(-1, 20)), max_size=300))
def test_invariants_and_a_fold_that_can_be_stopped_and_resumed(events):
    region, resumed = TrustRegion(2), TrustRegion(2)
    origins = [GLOBAL]
    for i, (y, age) in enumerate(events):
        origin = GLOBAL if age < 0 else origins[-1 - age % len(origins)]
        region.tell(i, y, origin)
        origins.append(region.origin)
        resumed = TrustRegion(**plain(resumed))
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


def test_a_run_of_failures_is_as_long_as_what_is_active_at_the_center():
    region = scouted(40)
    for _ in range(5):
        region.tell(30, 0.0, region.origin, active=6)
    assert region.length == INITIAL_LENGTH
    region.tell(30, 0.0, region.origin, active=6)
    assert region.length == INITIAL_LENGTH / 2
