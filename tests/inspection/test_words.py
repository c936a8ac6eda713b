"""Numbers and shares in words."""

from __future__ import annotations

import pytest

from numbo.inspection.words import NAMED, listed, rounded


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.0, "0"),
        (0.04449, "0.044"),
        (1.0, "1"),
        (117.3, "120"),
        (-98765.0, "-99000"),
        (4.04e6, "4e+06"),
        (5.27e-9, "5.3e-09"),
        (float("inf"), "inf"),
    ],
)
def test_a_number_is_rounded_and_written_out(value, words):
    assert rounded(value) == words


def test_so_many_digits_are_kept():
    assert [rounded(1234.5678, digits) for digits in (1, 3, 6)] == ["1000", "1230", "1234.57"]


def test_of_many_shares_the_sum_of_the_last_is_told():
    assert listed({}) == ""
    assert listed({"b": 0.756, "a": 0.244}) == "b 76%, a 24%"
    whole = {f"p{i}": 1.0 / (NAMED + 1) for i in range(NAMED + 1)}
    assert listed(whole).count(",") == NAMED  # one more is not summed up
    many = {f"p{i}": 0.01 * (NAMED + 6 - i) for i in range(NAMED + 5)}
    shown = listed(many).split(", ")
    assert shown[:NAMED] == [f"{name} {share:.0%}" for name, share in list(many.items())[:NAMED]]
    assert shown[NAMED:] == ["5 others 20% together"]
