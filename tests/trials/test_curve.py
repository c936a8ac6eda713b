"""What a trial reports: steps in order, values that are larger when better, and nothing that says nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numbo.trials import Curve

STEPS = st.floats(-1e9, 1e9)
REPORTS = st.dictionaries(STEPS, st.floats(allow_nan=False), min_size=1, max_size=12)


@pytest.mark.parametrize(
    "reports",
    [
        None,
        {},
        {1: float("nan")},
        {1: None},
        {1: "a"},
        {1: 10**400},
    ],
)
def test_reports_that_say_nothing_are_no_curve(reports):
    assert Curve.of(reports, 1.0) is None


def test_a_curve_has_its_steps_in_order_and_no_gaps():
    found = Curve.of({3: 1.0, 1: "2.5", 2: float("nan"), 9: -np.inf}, -1.0)
    assert found.steps.tolist() == [1.0, 3.0, 9.0]
    assert found.values.tolist() == [-2.5, -1.0, np.inf]


def test_what_is_no_mapping_is_refused():
    with pytest.raises(ValueError, match=r"^reports must be a mapping of steps to values .*, got \[1, 2\]\.$"):
        Curve.of([1, 2], 1.0)


@pytest.mark.parametrize("step", ["a", "1", None, True, (1,), math.nan, math.inf, pytest.param(10**400, id="huge")])
def test_steps_are_finite_numbers(step):
    with pytest.raises(ValueError, match=r"^A step of reports must be a finite number, got "):
        Curve.of({7: 2.0, step: 1.0}, 1.0)


@given(REPORTS, STEPS)
def test_the_value_at_a_step_is_the_last_one_reported_up_to_it(reports, step):
    curve = Curve.of(reports, 1.0)
    before = [s for s in reports if s <= step]
    found, part = curve.at(step), curve.until(step)
    if not before:
        assert math.isnan(found)
        assert part is None
    else:
        assert found == part.last == reports[max(before)]
        assert part.steps.tolist() == sorted(before)
        assert part.values.tolist() == [reports[s] for s in sorted(before)]


@given(REPORTS, REPORTS)
def test_of_two_curves_the_later_one_counts_where_both_report(first, second):
    found = Curve.of(first, 1.0).joined(Curve.of(second, 1.0))
    expected = {float(s): y for s, y in (first | second).items()}
    assert dict(zip(found.steps.tolist(), found.values.tolist(), strict=True)) == expected
    assert (np.diff(found.steps) > 0.0).all()
