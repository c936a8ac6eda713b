from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numbo.trials import Goal, best_first


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@given(values=st.lists(st.floats(allow_nan=False), min_size=1, max_size=20))
def test_the_best_value_has_the_largest_score(direction, values):
    goal = Goal(direction)
    scores = [goal.score(v) for v in values]
    best = min(values) if direction == "minimize" else max(values)
    assert goal.value(max(scores)) == best
    assert [goal.value(s) for s in scores] == values
    np.testing.assert_array_equal(goal.values(np.array(scores)), values)
    assert values[best_first(np.array(scores))[0]] == best


def test_a_failure_has_no_score_and_a_zero_no_sign():
    assert math.isnan(Goal("minimize").score(None))
    assert math.copysign(1.0, Goal("minimize").value(Goal("minimize").score(0.0))) == 1.0


def test_equal_scores_stay_in_order():
    np.testing.assert_array_equal(best_first(np.array([1.0, 2.0, 1.0, 2.0])), [1, 3, 0, 2])
