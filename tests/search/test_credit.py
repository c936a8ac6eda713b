"""Shares of two searches."""

from __future__ import annotations

import math

import numpy as np
import pytest

from numbo.search.credit import IDLE, LEAST, MOST, WINDOW, Credit, is_turn


def seen(*told: tuple[bool, float]) -> Credit:
    credit = Credit()
    for second, y in told:
        credit.see(y, second=second)
    return credit


def test_whoever_gains_more_for_each_of_its_observations_gets_more():
    assert Credit().share == IDLE
    assert seen((False, 0.0), (True, 1.0)).share == MOST
    assert seen((True, 0.0), (False, 1.0)).share == LEAST
    even = seen((True, 0.0), (False, 1.0), (True, 2.0), (True, 0.0))  # gains of 1 by one, and of 1 by three
    assert even.share == pytest.approx((1 / 3) / (1 + 1 / 3))


def test_only_improvements_on_all_that_was_seen_count():
    credit = seen((True, 5.0), (False, 6.0), (True, 5.5))
    assert credit.share == LEAST
    assert credit.record == 6.0


def test_old_gains_and_infinite_values_do_not_count():
    credit = seen((False, 0.0), (True, 1.0), *[(k % 2 == 0, 0.0) for k in range(WINDOW)])
    assert credit.share == IDLE
    before = credit.state_dict()
    credit.see(math.inf, second=True)
    credit.see(-math.inf, second=True)
    assert credit.state_dict() == before


def test_a_restored_credit_goes_on():
    credit = seen(*[(k % 3 == 0, float(k % 7)) for k in range(50)])
    twin = Credit()
    twin.restore(credit.state_dict())
    for one in (credit, twin):
        one.see(8.0, second=True)
    assert twin.share == credit.share


@pytest.mark.parametrize("share", [0.0, 0.35, 0.5, 0.85, 1.0])
def test_turns_are_a_share_of_any_stretch_of_suggestions(share):
    turns = np.array([is_turn(step, share) for step in range(2_000)])
    for start in (0, 700, 1_900):
        assert abs(turns[start : start + 100].sum() - 100 * share) <= 3
