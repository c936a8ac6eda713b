"""What was told, in order: one row a trial, whatever became of it."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from numbo.trials import Curve, Trials, own

CURVES = st.none() | st.integers(1, 4).map(lambda r: Curve(np.arange(1.0, r + 1.0), np.arange(r) * 1.0))
ROWS = st.lists(st.tuples(st.integers(0, 9), st.booleans(), st.booleans(), CURVES), max_size=40)
MANY = [(k % 10, k % 5 == 0, k % 3 == 0, None) for k in range(200)]  # more than there is room for at first


def added(rows):
    trials = Trials(2, 2, 1)
    for t, (place, fails, final, curve) in enumerate(rows):
        outputs = np.full(2, np.nan) if fails else np.array([place, -place])
        constraints = None if place == 0 else np.array([float(place)])
        x = np.array([place / 9, t / 200])
        position = trials.add(
            x, outputs, {"a": place}, place, final=final, variance=float(t), curve=curve, constraints=constraints
        )
        assert position == t
    return trials


@given(ROWS)
@example(MANY)
def test_every_row_is_what_was_told(rows):
    trials = added(rows)
    assert trials.n == len(rows)
    assert trials.X.shape == (len(rows), 2)
    assert trials.failed.tolist() == [fails for _, fails, _, _ in rows]
    assert trials.final.tolist() == [final for _, _, final, _ in rows]
    assert trials.origins.tolist() == [place for place, *_ in rows]
    assert trials.params == [{"a": place} for place, *_ in rows]
    assert trials.variance.tolist() == list(range(len(rows)))
    np.testing.assert_array_equal(trials.C[:, 0], [np.nan if place == 0 else place for place, *_ in rows])
    for t, (_, _, final, curve) in enumerate(rows):
        assert trials.curves[t] is curve
        assert trials.stopped[t] == (curve is not None and not final)
        assert trials.reported(t) == (1 if curve is None else len(curve.steps))
    reported = np.array([t for t, row in enumerate(rows) if row[3] is not None], dtype=np.int64)
    assert [len(curve.steps) for curve in trials.curves_of(reported)] == [trials.reported(t) for t in reported]


def test_what_is_added_to_a_copy_or_after_it_is_not_seen_by_the_other():
    trials = added([(1, False, True, None)])
    twin = copy.copy(trials)
    for _ in range(100):  # more than there was room for
        trials.add(np.zeros(2), np.zeros(2), {}, 0)
    assert (twin.n, len(twin.params), len(twin.curves)) == (1, 1, 1)
    assert twin.X.tolist() == [[1 / 9, 0.0]]


def test_a_state_is_a_copy():
    trials = added([(1, False, True, Curve(np.array([1.0]), np.array([2.0])))])
    state = trials.state_dict()
    trials.X[:] = 7.0
    trials.params[0]["a"] = 9
    assert state["X"].tolist() == [[1 / 9, 0.0]]
    assert state["params"] == [{"a": 1}]
    assert [tuple(part.tolist() for part in curve) for curve in state["curves"]] == [([1.0], [2.0])]


def test_parameters_are_a_private_copy_and_arms_plain_integers():
    params, trials = {"a": 1}, Trials(1)
    trials.add(np.zeros(1), 0.0, params, -1)
    kept = own(params)
    params["a"] = 2
    assert kept == trials.params[0] == {"a": 1}
    assert type(own(np.int64(3))) is int


@pytest.mark.parametrize(
    ("one", "other", "finals", "agree"),
    [
        (None, None, (True, True), False),  # by their values, 1 and 2
        ([5.0, 6.0, 1.0], [5.0, 7.0, 2.0], (True, True), False),  # both ended
        ([5.0, 6.0], [5.0, 6.0, 9.0, 2.0], (False, True), True),  # at the last step that both reached
        ([5.0, 6.0], [6.0, 5.0, 9.0, 2.0], (False, True), False),
        ([5.0, 1.0], None, (False, True), False),
    ],
)
def test_trials_agree_if_they_have_one_value_as_far_as_both_went(one, other, finals, agree):
    trials = Trials(1)
    for curve, value, final in zip((one, other), (1.0, 2.0), finals, strict=True):
        reported = None if curve is None else Curve(np.arange(len(curve)) * 1.0, np.array(curve))
        trials.add(np.zeros(1), value, {}, -1, final=final, curve=reported)
    assert trials.agree(0, 1) is agree
    assert trials.agree(1, 0) is agree
