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
    goal = Goal((direction,))
    scores = [goal.outputs(v)[0] for v in values]
    best = min(values) if direction == "minimize" else max(values)
    assert goal.value(max(scores)) == best
    assert [goal.value(s) for s in scores] == values
    np.testing.assert_array_equal(goal.value(np.array(scores)), values)
    assert values[best_first(np.array(scores))[0]] == best


def test_a_failure_has_no_outputs_and_a_zero_no_sign():
    goal = Goal(("minimize",))
    assert np.isnan(goal.outputs(None)).all()
    assert math.copysign(1.0, goal.value(goal.outputs(0.0)[0])) == 1.0


def test_each_of_several_objectives_has_its_direction():
    goal = Goal(("minimize", "maximize"))
    np.testing.assert_array_equal(goal.outputs((3.0, 4.0)), [-3.0, 4.0])
    assert [goal.value(output, j) for j, output in enumerate(goal.outputs([3, 4]))] == [3.0, 4.0]
    np.testing.assert_array_equal(goal.value(np.array([-1.0, 2.0]), 0), [1.0, -2.0])
    for failed in (None, (math.nan, 1.0), (1.0, math.nan)):
        np.testing.assert_array_equal(goal.outputs(failed), [math.nan, math.nan])
    for wrong in (1.0, (1.0,), (1.0, 2.0, 3.0)):
        with pytest.raises(ValueError, match="value must be a sequence of 2 numbers"):
            goal.outputs(wrong)


def test_equal_scores_stay_in_order():
    np.testing.assert_array_equal(best_first(np.array([1.0, 2.0, 1.0, 2.0])), [1, 3, 0, 2])
