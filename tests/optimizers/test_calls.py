"""Calls are whole: wherever one is interrupted, the optimizer goes on as if it was complete, or was never made."""

from __future__ import annotations

import numpy as np
import pytest
from tests.strikes import Interrupted, interrupted, struck

from numbo import BBKB, GSSBO, Float, Int
from numbo._interrupts import interrupts_get_out
from numbo.optimizers._calls import Transaction
from numbo.trials import History, Pending

SPACE = {"x": Float(0, 1), "k": Int(0, 300)}
OTHERS = {"x": 0.7, "k": 11}


def started(cls=GSSBO, **settings):
    opt = cls(SPACE, seed=0, n_initial=40, **settings)
    for i in range(6):
        opt.tell({"x": i / 7, "k": i}, float(i))
    opt.hold("theirs", OTHERS)
    return opt


CALLS = {
    "ask": (GSSBO, lambda opt: opt.ask()),
    "ask for several": (GSSBO, lambda opt: opt.ask(3)),
    "next_batch": (BBKB, lambda opt: opt.next_batch(3)),
}


@pytest.mark.parametrize("name", CALLS)
def test_points_are_handed_out_all_of_them_or_none(name):
    cls, call = CALLS[name]

    def make():
        opt = started(cls)
        opt.ask()
        return opt, lambda: call(opt)

    (without, _), (whole, calling) = make(), make()
    calling()
    found = [one.pending for one in (without, whole)]
    next_ones = [one.ask() for one in (without, whole)]
    for opt in interrupted(make):
        case = found.index(opt.pending)
        assert opt.ask() == next_ones[case]
        assert opt.pending == [*found[case], next_ones[case]]


def test_a_suggestion_leaves_nothing():
    def make():
        opt = started()
        return opt, lambda: opt.suggest(position=9)

    expected = started().ask()
    for opt in interrupted(make):
        assert opt.pending == [OTHERS]
        assert opt.ask() == expected


def telling(partial=False):
    """An optimizer, and a call that tells a point that it was asked for."""
    opt = started()
    params = opt.ask()
    return opt, lambda: opt.tell(params, 0.5, partial=partial, reports={1: 0.9, 2: 0.7})


@pytest.mark.parametrize("partial", [False, True])
def test_a_trial_is_told_as_a_whole_or_not(partial):
    without, (whole, call) = telling(partial)[0], telling(partial)
    call()
    best = [one.best for one in (without, whole)]
    next_ones = [one.ask() for one in (without, whole)]
    for opt in interrupted(lambda: telling(partial)):
        case = opt.n_told - 6
        assert len(opt.pending) == 2 - case
        assert opt.best == best[case]
        assert opt.ask() == next_ones[case]


def test_a_repair_that_is_interrupted_is_done_again():
    at = next(at for at, opt in enumerate(interrupted(telling), start=1) if opt.n_told == 7)  # told, but no more

    def half_told():
        opt, call = telling()
        assert struck(call, at)
        return opt, lambda: opt.pending

    whole, call = telling()
    call()
    expected = whole.ask()
    for opt in interrupted(half_told, step=7):
        assert opt.pending == [OTHERS]
        assert opt.n_told == 7
        assert opt.ask() == expected


def test_an_error_is_repaired_like_an_interrupt(monkeypatch):
    opt, call = telling()
    monkeypatch.setattr(GSSBO, "_observed", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        call()
    monkeypatch.undo()
    assert opt.pending == [OTHERS]
    assert opt.n_told == 7
    assert opt.best[1] == 0.0


def test_what_is_refused_changes_nothing():
    opt, same = started(), started()
    for wrong in ({"value": "many"}, {"value": 1.0, "std": -1.0}, {"value": 1.0, "reports": 3}):
        with pytest.raises(ValueError, match="must"):
            opt.tell({"x": 0.5, "k": 5}, **wrong)
    with pytest.raises(ValueError, match="4 points and 2 values"):
        opt.tell(4 * [OTHERS], [1.0, 2.0])
    with pytest.raises(ValueError, match="value must be a number"):  # of several, none is stored
        opt.tell(2 * [OTHERS], [1.0, "many"])
    assert repr(opt.state_dict()) == repr(same.state_dict())


# -- on its own ----------------------------------------------------------------------------------------------------


@pytest.fixture
def history():
    history = History(2)
    for i in range(3):
        history.add(np.array([0.1 * i, 0.5]), np.array([float(i)]), {"i": i}, -1)
    return history


def hold(history, key):
    history.pending[key] = Pending.of(np.array([0.9, 0.9]), {"key": str(key)}, -1)


def test_nothing_is_built_after_calls_that_were_whole(history):
    calls = Transaction()
    calls.repair(history, lambda: pytest.fail("built"))
    with calls.whole(history.told):
        keys = [calls.next_key(), calls.next_key()]
    assert keys == [("asked", 0), ("asked", 1)]
    assert calls.asked == 2
    calls.repair(history, lambda: pytest.fail("built"))


def interrupt(calls, history, change):
    """A call that is interrupted after a ``change``."""
    with calls.whole(history.told):
        change()
        raise Interrupted


def test_keys_of_points_that_were_not_handed_out_are_used_again(history):
    calls = Transaction(5)
    built = []
    with pytest.raises(Interrupted):
        interrupt(calls, history, lambda: hold(history, calls.next_key()))
    hold(history, "theirs")
    calls.repair(history, lambda: built.append(True))
    assert built == [True]
    assert list(history.pending) == ["theirs"]
    with calls.whole(history.told):
        assert calls.next_key() == ("asked", 5)


@pytest.mark.parametrize("after", [False, True])
def test_a_point_is_pending_until_its_trial_is_told(after, history):
    hold(history, "a")
    calls = Transaction()

    def tell():
        calls.telling = "a"
        if after:
            history.add(np.array([0.9, 0.9]), np.array([9.0]), {}, -1)
            history.visits.first.clear()  # half done

    with pytest.raises(Interrupted):
        interrupt(calls, history, tell)
    calls.repair(history, history.refresh)
    assert ("a" in history.pending) == (not after)
    assert (history.best, len(history.visits.first)) == ((3, 4) if after else (2, 3))


def test_what_is_outdated_is_built_once_and_the_call_is_complete(history):
    hold(history, "a")
    calls, built = Transaction(), []
    with calls.whole(history.told):
        calls.telling = "a"
        history.add(np.array([0.9, 0.9]), np.array([9.0]), {}, -1)
        del history.pending["a"]
        calls.outdated = True
    hold(history, "a")  # again, by another one
    for _ in range(2):
        calls.repair(history, lambda: built.append(True))
    assert built == [True]
    assert list(history.pending) == ["a"]


class Dying:
    """Something whose end is the moment at which an interrupt strikes."""

    def __del__(self):
        raise KeyboardInterrupt


def test_a_call_whose_interrupt_could_not_be_raised_is_not_complete(history):
    calls = Transaction()

    def hand_out():
        with calls.whole(history.told):
            hold(history, calls.next_key())
            Dying()

    with pytest.raises(KeyboardInterrupt):
        hand_out()
    assert calls.asked == 0
    calls.repair(history, history.refresh)
    assert not history.pending


def test_a_repair_in_which_an_interrupt_strikes_is_repeated(history):
    calls, built = Transaction(), []

    def build():
        built.append(True)
        if len(built) == 1:
            with interrupts_get_out():
                raise Interrupted

    with pytest.raises(Interrupted):
        interrupt(calls, history, lambda: None)
    with pytest.raises(Interrupted):
        calls.repair(history, build)
    calls.repair(history, build)
    calls.repair(history, build)
    assert len(built) == 2
