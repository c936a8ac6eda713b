"""Tests over seeds: what chance may do, and what it may not."""

from __future__ import annotations

import pytest
from scipy import stats

from tests import helpers
from tests.helpers import MOSTLY, SELDOM, over_seeds, seeded


def holding(*outcomes):
    """A test that holds for some of its seeds, and the seeds that it was run with."""
    seeds = []

    def test():
        seeds.append(seeded(3))
        assert outcomes[len(seeds) - 1], MOSTLY

    return test, seeds


def test_one_seed_is_enough_where_it_holds():
    test, seeds = holding(True)
    over_seeds()(test)()
    assert seeds == [seeded(3)]


def test_other_seeds_are_tried_and_all_are_different():
    test, seeds = holding(False, False, False, False, True)
    over_seeds(0.9, of=5)(test)()
    assert len(set(seeds)) == 5


def test_it_fails_as_soon_as_too_few_can_hold():
    test, seeds = holding(True, *[False] * 8, True)
    with pytest.raises(
        AssertionError, match=r"^It held for 1 of 9 seeds, where 5 of 12 are expected of 85%\.$"
    ) as error:
        over_seeds(0.85, of=12)(test)()
    assert len(seeds) == 9
    assert str(error.value.__cause__).startswith(MOSTLY)


@pytest.mark.parametrize(("share", "of"), [(0.9, 5), (0.85, 12), (0.5, 14), (0.99, 20)])
def test_chance_fails_it_once_in_ten_thousand_times(share, of):
    """By the literal sum over all outcomes; one more success would be demanded too often."""
    passed = [passes(share, of, k) for k in range(of + 1)]
    least = passed.index(True)
    assert stats.binom.cdf(least - 1, of, share) < SELDOM <= stats.binom.cdf(least, of, share)


def passes(share, of, successes):
    """Whether a test passes that holds for so many of its first seeds, and for no other."""
    test, _ = holding(*[True] * successes, *[False] * (of - successes))
    try:
        over_seeds(share, of)(test)()
    except AssertionError:
        return False
    return True


def test_what_must_hold_for_each_seed_fails_at_once():
    def test():
        seeded(0)
        assert 1.0 > 2.0

    with pytest.raises(AssertionError) as error:
        over_seeds()(test)()
    assert "seeds, where" not in str(error.value)


def test_too_few_seeds_are_refused():
    with pytest.raises(ValueError, match=r"^2 seeds say nothing of a share of 0\.9\.$"):
        over_seeds(0.9, of=2)


def test_a_variable_shifts_all_seeds(monkeypatch):
    shifted = []
    for shift in range(4):
        monkeypatch.setitem(helpers._seeds, "shift", shift)
        test, seeds = holding(*[False] * 4, True)
        over_seeds()(test)()
        shifted += seeds
    assert len(set(shifted)) == 20
