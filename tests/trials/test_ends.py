"""What a history asks of a model of the ends of curves, and what the model of curves answers."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from tests.helpers import make_points

from numbo.models.curves import Curves
from numbo.trials import Curve, History, Trials
from numbo.trials.ends import Expected

LAST = 9


def curve(seed, count=LAST):
    rng = np.random.default_rng(seed)
    steps = np.arange(1.0, LAST + 1.0)
    values = -rng.gamma(2.0, 0.2) - 2.0 * np.exp(-rng.uniform(0.2, 0.6) * steps)
    return Curve(steps[:count], values[:count])


def ended(n, silent=0):
    """Trials of which each third was stopped after three reports; the first ones do not report."""
    trials = Trials(1)
    for i in range(n):
        stopped = i % 3 == 2
        own = curve(i, 3 if stopped else LAST)
        trials.add(np.zeros(1), own.last, {}, -1, final=not stopped, curve=own if i >= silent else None)
    return trials


RUNNING = [curve(100 + k, 4) for k in range(5)]


def told(found):
    return np.array([found.values, found.variances])


def test_of_nothing_nothing_is_expected():
    assert [one.shape for one in Expected.of_nothing(3)] == [(3,), (3,)]
    assert np.isnan(Expected.of_nothing(3)).all()
    assert [len(one) for one in Expected.of_nothing(0)] == [0, 0]


@pytest.mark.parametrize("ask", ["expected", "running"])
def test_ends_are_unknown_until_a_trial_has_reported(ask):
    trials, model = ended(12, silent=4), Curves()
    found = [told(getattr(model, ask)(RUNNING, trials, n)) for n in range(13)]
    assert [np.isnan(one).all() for one in found] == [True] * 5 + [False] * 8
    assert [np.isfinite(one).all() for one in found] == [False] * 5 + [True] * 8
    assert (found[-1][1] > 0.0).all()


@pytest.mark.parametrize("ask", ["expected", "running"])
def test_ends_of_no_curves_are_no_numbers(ask):
    for n in (0, 12):
        assert told(getattr(Curves(), ask)([], ended(12), n)).shape == (2, 0)


@pytest.mark.parametrize("ask", ["expected", "running"])
def test_a_model_that_asks_late_expects_the_same(ask):
    """What is expected depends on the trials, and not on how often somebody has asked."""
    trials, often, late = ended(30), Curves(), Curves()
    for n in range(30):
        often.see(trials, n)
        getattr(often, ask)(RUNNING, trials, n)
    for one in (often, late):
        one.see(trials, 30)
    np.testing.assert_array_equal(*(told(getattr(one, ask)(RUNNING, trials, 30)) for one in (often, late)))


def test_seeing_a_trial_says_whether_ends_have_changed():
    trials, model = ended(40), Curves()
    before, changes = None, 0
    for n in range(1, 41):
        changed = model.see(trials, n)
        found = told(model.expected(RUNNING, trials, n))
        if before is not None:
            assert (found == before).all() != changed
        before = found
        changes += changed
    assert 5 < changes < 40


def test_copies_go_their_own_way():
    trials, model = ended(20), Curves()
    model.see(trials, 20)
    first = told(model.running(RUNNING, trials, 20))
    twin = copy.copy(model)
    more = ended(40)
    for n in range(21, 41):
        twin.see(more, n)
    assert not np.array_equal(told(twin.running(RUNNING, more, 40)), first)
    np.testing.assert_array_equal(told(model.running(RUNNING, trials, 20)), first)


def test_the_end_of_another_curve_needs_a_curve():
    assert Curves().end_of(RUNNING[0], ended(4, silent=4)) is None
    value, std = Curves().end_of(RUNNING[0], ended(20))
    assert value == pytest.approx(RUNNING[0].last, abs=1.0)
    assert std > 0.0


def test_a_history_takes_the_expected_end_for_the_value_of_a_stopped_trial():
    class Sure(Curves):
        """Every end is 7."""

        def expected(self, curves, trials, n):
            return Expected(np.full(len(curves), 7.0), np.full(len(curves), 0.25))

    history = History(1, ends=Sure)
    for i, x in enumerate(make_points(12, 1)):
        own = curve(i, LAST if i % 2 else 3)
        history.add(x, own.last, {}, -1, final=bool(i % 2), curve=own)
    expected = [curve(i).last if i % 2 else 7.0 for i in range(12)]
    np.testing.assert_array_equal(history.y, expected)
    np.testing.assert_array_equal(history.variance, [0.0, 0.25][::-1] * 6)
