"""Interrupts at random times, for real: they get out, and nothing that was told is lost."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import time
from types import FrameType

import numpy as np
import pytest

from numbo import BBKB, GSSBO, Float, Int
from numbo._interrupts import interrupts_get_out, raise_interrupt
from numbo.models import ExactGP
from numbo.run.situation import Situation
from tests.helpers import LONGER, Early
from tests.strikes import interrupted

SPACE = {"x": Float(-2, 2), "y": Float(-2, 2), "z": Float(0, 1)}


#: SciPy is interrupted in the middle of its import by the first suggestion, which is then asked for again.
IMPORTING = """
import signal, sys, threading
from numbo import GSSBO, Float

def handler(number, frame):
    raise KeyboardInterrupt

class Finder:
    struck = False

    def find_spec(self, name, path=None, target=None):
        if name == "scipy.{module}" and not self.struck:
            self.struck = True
            signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, handler)
optimizer = GSSBO({{"x": Float(0, 1)}}, seed=0)
sys.meta_path.insert(0, finder := Finder())
try:
    optimizer.ask()
except KeyboardInterrupt:
    print("interrupted", all(name in sys.modules for name in ("scipy.optimize", "scipy.stats")))
assert finder.struck
optimizer.ask()
"""


def objective(p):
    return (p["x"] - 0.3) ** 2 + p["y"] ** 2 + p["z"]


def interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@pytest.fixture
def alarm():
    """Interrupts the main thread after some seconds, as Ctrl-C does.

    Without the garbage collector's callbacks, which are the test tools': Python swallows what is raised in them.
    """
    before, callbacks = signal.signal(signal.SIGALRM, interrupt), gc.callbacks[:]
    gc.callbacks.clear()
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, before)
    gc.callbacks[:] = callbacks


@pytest.mark.parametrize("cls", [GSSBO, Early, BBKB])
def test_interrupts_get_out_and_nothing_told_is_lost(cls, alarm):
    rng = np.random.default_rng(0)
    opt = cls(SPACE, seed=0)
    for _ in range(25):  # with all kernels loaded: interrupted over and over, that would never end
        p = opt.ask()
        opt.tell(p, objective(p))
    told, out, pending = 25, 0, 0
    for _ in range(40):
        raised, deadline = False, time.monotonic() + 20.0
        try:
            alarm(float(rng.uniform(1e-4, 0.03)))
            while time.monotonic() < deadline:
                p = opt.ask()
                opt.tell(p, objective(p))
                told += 1
        except KeyboardInterrupt:
            raised = True
        out += raised
        assert opt.n_told - told in (0, 1)  # whether the one that was interrupted was told, tell had no time to say
        assert len(opt.pending) - pending in (0, 1)  # one may have been handed out, and not been told yet
        told, pending = opt.n_told, len(opt.pending)
    assert out == 40
    expected = cls(SPACE, seed=0)
    X, y = opt.observations
    for x, value in zip(X, y, strict=True):
        expected.tell(expected.space.decode(x), value)
    assert opt.best[1] == expected.best[1]
    np.testing.assert_array_equal(opt.observations[1], expected.observations[1])
    opt.ask()


def test_a_half_finished_call_is_repaired_to_what_was_told():
    """At whatever line of `tell` and `ask` an interrupt strikes; every third one, but for `make soak`."""

    def begun():
        opt = GSSBO({"x": Float(0, 1), "k": Int(0, 300)}, seed=0, n_initial=3)
        for i in range(6):
            opt.tell({"x": i / 7, "k": i}, float(i))
        p = opt.ask()

        def call():
            opt.tell(p, 6.0)
            opt.tell({"x": 0.5, "k": 4}, None)

        return opt, call

    for opt in interrupted(begun, 3 if LONGER == 1 else 1):
        told = opt.n_told
        fresh = GSSBO({"x": Float(0, 1), "k": Int(0, 300)}, seed=0, n_initial=3)
        assert 6 <= told <= 8
        state = opt.state_dict()
        assert opt.best[1] == 0.0
        assert len(opt.pending) == (told == 6)
        for x, y in zip(*opt.observations, strict=True):
            fresh.tell(fresh.space.decode(x), None if np.isnan(y) else y)
        np.testing.assert_array_equal(state["run"]["history"]["Y"], fresh.state_dict()["run"]["history"]["Y"])
        X = opt.observations[0]
        assert [opt.taken(x) for x in X] == [fresh.taken(x) for x in X] == [True] * told


def test_a_point_that_was_never_handed_out_is_not_pending(monkeypatch):
    opt = GSSBO(SPACE, seed=0)
    opt.ask()
    original = Situation.first_point
    calls = []

    def first_point(*args):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(*args)

    monkeypatch.setattr(Situation, "first_point", first_point)
    with pytest.raises(KeyboardInterrupt):
        opt.ask(5)
    monkeypatch.undo()
    opt.tell(opt.pending[0], 1.0)
    assert opt.pending == []


def test_looking_after_an_interrupt(monkeypatch):
    """What an interrupted suggestion left of the model is not looked at."""
    opt, whole = (GSSBO(SPACE, seed=0, n_initial=4) for _ in range(2))
    for one in (opt, whole):
        for p in one.ask(8):
            one.tell(p, objective(p))
    original = ExactGP.condition

    def condition(self, X, y, extra, **options):
        original(self, X, 100.0 + 0.0 * y, extra, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(ExactGP, "condition", condition)
    with pytest.raises(KeyboardInterrupt):
        opt.ask()
    monkeypatch.undo()
    points = [{"x": 0.1, "y": 0.2, "z": 0.3}, {"x": -1.0, "y": 1.0, "z": 0.9}]
    np.testing.assert_allclose(opt.predict(points), whole.predict(points))


def test_an_interrupt_inside_a_kernel_comes_out_as_what_it_is():
    inside = SystemError("<kernel> returned a result with an exception set")
    inside.__cause__ = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        raise_interrupt(inside)
    inside.__cause__ = SystemExit(3)
    with pytest.raises(SystemExit), interrupts_get_out():
        raise inside
    plain = SystemError("of its own")
    plain.__context__ = KeyboardInterrupt()  # one that was handled before
    raise_interrupt(plain)
    raise_interrupt(ValueError())
    with pytest.raises(SystemError), interrupts_get_out():
        raise plain


class Dying:
    """Something whose end is the moment at which an interrupt strikes."""

    def __del__(self):
        raise KeyboardInterrupt


def test_an_interrupt_in_a_callback_that_cannot_raise_comes_out_at_the_end():
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts_get_out():
        done.append(Dying() is None)
    assert done == [False]


def test_a_model_that_is_interrupted_in_a_kernel_does_not_fall_back(monkeypatch):
    opt = GSSBO(SPACE, seed=0, n_initial=2)
    for p in opt.ask(4):
        opt.tell(p, objective(p))
    error = SystemError("returned a result with an exception set")
    error.__cause__ = KeyboardInterrupt()

    def broken(run):
        raise error

    monkeypatch.setattr(opt, "_propose", broken)
    with pytest.raises(KeyboardInterrupt):
        opt.ask()


def an_interrupt_in_a_kernel(*args, **kwargs):
    """What a kernel raises if an interrupt strikes while it returns."""
    error = SystemError("returned a result with an exception set")
    error.__cause__ = KeyboardInterrupt()
    raise error


ENTRIES = {
    "tell": lambda opt: opt.tell({"x": 0.1, "y": 0.2, "z": 0.3}, 1.0),
    "tell many": lambda opt: opt.tell([{"x": 0.1, "y": 0.2, "z": 0.3}], [1.0]),
    "from_state_dict": lambda opt: type(opt).from_state_dict(opt.state_dict()),
    "suggest_value": lambda opt: opt.suggest_value("x", {"y": 0.0, "z": 0.5}, Float(-2, 2), 0),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_interrupt_in_a_kernel_gets_out_of_every_entry(entry, monkeypatch):
    opt = GSSBO(SPACE, seed=0, n_initial=2)
    for p in opt.ask(4):
        opt.tell(p, objective(p))
    monkeypatch.setattr(GSSBO, "_observed", an_interrupt_in_a_kernel)
    monkeypatch.setattr(GSSBO, "_scores", an_interrupt_in_a_kernel)
    monkeypatch.setattr(GSSBO, "_rebuild", an_interrupt_in_a_kernel)
    with pytest.raises(KeyboardInterrupt):
        ENTRIES[entry](opt)
    with pytest.raises(KeyboardInterrupt):
        opt.tell({"x": 0.4, "y": 0.5, "z": 0.6}, 1.0)
    with pytest.raises(KeyboardInterrupt):  # it is repaired first
        opt.best  # noqa: B018
    monkeypatch.undo()
    assert opt.n_told in (5, 6)
    opt.ask()


def test_a_block_inside_of_another_leaves_it_to_work():
    @interrupts_get_out()
    def inner():
        pass

    @interrupts_get_out()
    def outer():
        inner()
        done.append(Dying() is None)

    before, done = sys.unraisablehook, []
    with pytest.raises(KeyboardInterrupt):
        outer()
    assert done == [False]
    assert sys.unraisablehook is before


@pytest.mark.parametrize("module", ["optimize._lbfgsb_py", "stats._qmc"])
def test_no_interrupt_leaves_scipy_half_imported(module):
    command = [sys.executable, "-c", IMPORTING.format(module=module)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["interrupted", "True"]
