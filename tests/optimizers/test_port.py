"""What adapters need: a framework keeps the trials, under keys of its own."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tests.helpers import MOSTLY, over_seeds, seeded

from numbo import BBKB, GPUCB, GSSBO, Categorical, Float, Int, Space
from numbo.inspection import Inspectable
from numbo.inspection.questions import Questions
from numbo.optimizers import GLOBAL, Optimizer, Port
from numbo.run.situation import attempt
from numbo.trials import History

SPACE = {"x": Float(-1, 1), "k": Int(1, 9), "c": Categorical(["a", "b"])}
GRID = {"a": Int(0, 2), "b": Int(0, 1)}


def value(params):
    return (params["x"] - 0.3) ** 2 + 0.1 * params["k"] + (params["c"] == "b")


def tried(cls=GSSBO, n=12, **settings):
    opt = cls(SPACE, seed=seeded(0), n_initial=5, **settings)
    for _ in range(n):
        params = opt.ask()
        opt.tell(params, value(params))
    return opt


def started(opt, key, **how):
    """The parameters of a suggestion, which is pending from now on, and its origin."""
    suggestion = opt.suggest(**how)
    params = opt.space.decode(suggestion.x)
    opt.hold(key, params, suggestion.origin)
    return params, suggestion.origin


@pytest.mark.parametrize("cls", [GSSBO, BBKB])
def test_to_suggest_and_hold_is_to_ask(cls):
    one, other = (cls(SPACE, seed=0, n_initial=5) for _ in range(2))
    running = []
    for i in range(24):
        params, _ = started(one, f"trial {i}")
        assert params == other.ask()
        running.append((f"trial {i}", params))
        if len(running) == 3:
            key, params = running.pop(i % 3)
            one.tell(params, value(params), key=key)
            other.tell(params, value(params))
    assert one.pending == other.pending == [params for _, params in running]


def test_what_another_process_learns_is_what_was_told_here():
    here, there = (GSSBO(SPACE, seed=0, n_initial=5) for _ in range(2))
    origins = set()
    for i in range(24):
        params, origin = started(here, i, seed=(7, i), position=i)
        origins.add(origin)
        here.tell(params, value(params), key=i)
        suggestion = there.suggest((7, i), position=i)
        assert there.space.decode(suggestion.x) == params
        assert suggestion.origin == origin
        there.learn(params, value(params), origin=origin, key=i)
    assert len(origins) > 1  # results were credited to several parts of the search
    assert repr(here.state_dict()["run"]) == repr(there.state_dict()["run"])
    assert here.explain().region == there.explain().region


def test_learning_releases_and_joins_what_was_reported():
    opt = tried()
    params, origin = started(opt, "it")
    opt.report(params, 1, 3.0, key="it")
    opt.learn(params, 2.0, origin=origin, key="it", partial=True, reports={2: 2.5})
    assert not opt.holds("it")
    curve = next(c for c in opt.snapshot().curves() if c.kind == "pruned")
    assert curve.steps.tolist() == [1.0, 2.0]


def test_a_suggestion_is_not_pending_and_has_the_fixed_values():
    opt = tried()
    suggestion = opt.suggest(fixed={"c": "b", "k": 4})
    params = opt.space.decode(suggestion.x)
    assert (params["c"], params["k"]) == ("b", 4)
    assert opt.pending == []
    for wrong in ({"d": 1}, {"k": 40}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            opt.suggest(fixed=wrong)


def test_points_are_held_and_released():
    opt = tried()
    points = [{"x": 0.1 * i, "k": i, "c": "a"} for i in range(1, 5)]
    for key, params in zip("abc", points, strict=False):
        opt.hold(key, params)
    assert opt.pending == points[:3]
    opt.release("b")
    opt.release("nobody")
    assert [opt.holds(key) for key in "abc"] == [True, False, True]
    opt.hold("a", points[3])  # the trial goes on elsewhere
    assert opt.pending == [points[3], points[2]]
    opt.hold_only({"d": opt.pending_point(points[1], GLOBAL), "a": opt.pending_point(points[0], GLOBAL, {1: 0.5})})
    assert opt.pending == [points[1], points[0]]
    assert [c.kind for c in opt.snapshot().curves()] == ["running"]
    opt.hold_only({})
    assert opt.pending == []
    with pytest.raises(ValueError, match="k"):
        opt.hold("a", points[0] | {"k": 99})


@over_seeds()
def test_values_for_a_dimension_that_was_not_foreseen():
    opt, same = tried(n=14), tried(n=14)
    assert tried(n=3).suggest_value("x", {"k": 2, "c": "a"}, Float(-1, 1), 0) is None
    found = opt.suggest_value("x", {"k": 1, "c": "a"}, Float(-0.2, 0.9), 0)
    assert -0.2 <= found <= 0.9
    assert abs(found - 0.3) < 0.3, MOSTLY  # by the model
    assert opt.suggest_value("c", {"k": 1, "x": 0.3}, Categorical(["b"]), 0) == "b"
    with pytest.raises(ValueError, match="d"):
        opt.suggest_value("x", {"d": 1}, Float(-1, 1), 0)
    assert opt.ask() == same.ask()


def test_points_that_nobody_else_chooses():
    opt, same = tried(), tried()
    points = [opt.suggest_anywhere(seed).x for seed in range(20)]
    assert len({x.tobytes() for x in points}) == 20
    np.testing.assert_array_equal(opt.suggest_anywhere(3).x, points[3])
    fixed = [opt.space.decode(opt.suggest_anywhere(seed, fixed={"k": 7}).x)["k"] for seed in range(5)]
    assert fixed == 5 * [7]
    assert opt.ask() == same.ask()


def test_what_is_taken():
    opt = GSSBO(SPACE, seed=0, avoid_repeats=True)
    told, running, barred, free = (opt.space.encode({"x": 0.5, "k": k, "c": "a"}) for k in (1, 2, 3, 4))
    opt.tell(opt.space.decode(told), 1.0)
    opt.hold("it", opt.space.decode(running))
    opt.exclude(opt.space.decode(barred))
    assert [opt.taken(x) for x in (told, running, barred, free)] == [True, True, True, False]


def test_a_repeat_that_a_suggestion_did_not_mean_is_taken():
    opt = GSSBO(SPACE, seed=0, avoid_repeats="auto")
    rng = np.random.default_rng(0)
    params = {"x": 0.5, "k": 5, "c": "a"}
    for _ in range(40):  # so noisy that points are measured again
        opt.tell(opt.ask(), rng.normal())
    x = opt.space.encode(params)
    known = opt.n_told
    assert not opt.taken(x, known)
    opt.tell(params, 0.0)
    assert opt.taken(x, known)
    assert opt.taken(x, opt.n_told) == opt.taken(x)


@pytest.mark.parametrize("cls", [GSSBO, GPUCB, BBKB])
def test_asking_whether_a_space_is_exhausted_changes_nothing(cls):
    opt, same = (cls(Space(GRID), seed=0, n_initial=3) for _ in range(2))
    for i in range(6):
        assert not opt.exhausted
        params = opt.ask()
        assert params == same.ask()
        if i < 4:
            for one in (opt, same):
                one.tell(params, float(i))
    assert opt.exhausted  # two of the six run
    assert repr(opt.state_dict()) == repr(same.state_dict())
    opt.hold_only({})
    assert not opt.exhausted


@pytest.mark.allows_fallback
def test_whether_a_model_was_missing(monkeypatch):
    opt = tried()
    assert not opt.fell_back
    monkeypatch.setattr(GSSBO, "_propose", lambda self, run: 1 / 0)
    assert not opt.fell_back
    opt.ask()
    assert opt.fell_back


class Interrupted(BaseException):
    """Stands for an interrupt."""


def interrupt(*arguments, **named):
    raise Interrupted


@pytest.fixture
def interrupted(monkeypatch):
    """An optimizer that was interrupted while it was told the last of all points, and this point."""
    opt = GSSBO(Space(GRID), seed=0, n_initial=3)
    *points, last = (opt.space.decode(x) for x in opt.space.grid())
    for params in points:
        opt.tell(params, 1.0)
    opt.hold("last", last)
    with monkeypatch.context() as patch:
        patch.setattr(History, "assured", interrupt)
        with pytest.raises(Interrupted):
            opt.tell(last, 2.0, key="last")
    opt.release("last")
    assert opt.n_told == 6
    return opt, last


def test_what_is_asked_after_an_interrupted_call_is_repaired_first(interrupted):
    opt, last = interrupted
    assert opt.taken(opt.space.encode(last))


def test_whether_a_space_is_exhausted_after_an_interrupted_call(interrupted):
    opt, _ = interrupted
    assert opt.exhausted


def test_what_is_held_after_an_interrupted_call_stays_pending(interrupted):
    opt, last = interrupted
    opt.hold("last", last)  # once more, under the name of the trial that was told
    opt.ask()
    assert opt.holds("last")


def test_users_see_all_but_the_port():
    page = (Path(__file__).parents[2] / "docs" / "reference" / "core.md").read_text()
    shown = re.search(r"::: numbo\.optimizers\.Optimizer\n +options:\n +inherited_members:\n((?: +- \w+\n)+)", page)[1]

    def public(cls):
        return {name for name in vars(cls) if not name.startswith("_")}

    asked = public(Inspectable) | public(Questions)
    assert set(re.findall(r"\w+", shown)) == asked
    assert not public(Port) & (asked | public(Optimizer))
    assert public(Port) | asked | public(Optimizer) == {n for n in dir(Optimizer) if n[0] != "_"}


@pytest.mark.parametrize("cls", [GSSBO, BBKB])
def test_a_key_is_that_of_one_point(cls):
    """Another point beside it is refused, and nothing is stored; a point that differs by rounding is the same."""
    opt = tried(cls)
    params, _ = started(opt, "it")
    other = {"x": 0.123, "k": 5, "c": "a"}
    before = repr(opt.state_dict())
    names = re.escape(f"{params!r}; got {other!r}.")
    for call in (
        lambda: opt.report(other, 1, 0.5, key="it"),
        lambda: opt.withdraw(other, key="it"),
        lambda: opt.tell(other, 0.5, key="it"),
        lambda: opt.tell(other, None, key="it"),
    ):
        with pytest.raises(ValueError, match=rf"^params must be the point that is pending under key 'it', .*{names}$"):
            call()
    for outside in ({"x": 99.0, "k": 5, "c": "a"}, {"nonsense": 1}):
        with pytest.raises(ValueError, match=r"x|nonsense"):
            opt.report(outside, 1, 0.5, key="it")
    with pytest.raises(ValueError, match=r"^key is that of one point; got 'it' and a sequence of points\.$"):
        opt.tell([params, other], [0.5, 0.5], key="it")
    assert repr(opt.state_dict()) == before
    near = params | {"x": params["x"] + 1e-15}
    opt.report(near, 1, 0.5, key="it")
    opt.tell(near, 0.5, key="it")
    assert not opt.holds("it")


def test_the_key_of_a_point_that_is_not_pending_is_accepted():
    opt = tried()
    opt.tell({"x": 0.123, "k": 5, "c": "a"}, 0.5, key="never held")
    assert opt.n_told == 13


def test_what_another_point_has_reported_is_not_joined():
    opt = tried()
    params, origin = started(opt, "it")
    opt.report(params, 1, 3.0, key="it")
    opt.learn({"x": 0.123, "k": 5, "c": "a"}, 2.0, origin=origin, key="it", partial=True, reports={2: 2.5})
    assert not opt.holds("it")
    curve = next(c for c in opt.snapshot().curves() if c.kind == "pruned")
    assert curve.steps.tolist() == [2.0]


@pytest.mark.parametrize("make", [GSSBO, GPUCB])
def test_a_finite_space_is_not_exhausted_before_failures_that_may_be_accidents_were_tried_again(make):
    opt = make(Space({"i": Int(0, 11)}), seed=1, avoid_repeats=True)
    for i in range(12):
        opt.tell({"i": i}, None if i in (3, 8) else (i - 3.0) ** 2)
    assert not opt.exhausted
    assert opt.ask()["i"] in (3, 8)


@pytest.mark.allows_fallback
def test_a_failure_of_a_model_is_logged_once_and_made_up_for(caplog):
    opt = GSSBO({"x": Float(0, 1)})

    def broken():
        raise np.linalg.LinAlgError("made to fail")

    assert attempt(lambda: 1, lambda: 2, opt._warned_of) == 1
    assert [attempt(broken, lambda: 2, opt._warned_of) for _ in range(3)] == [2, 2, 2]
    assert opt.fell_back
    assert len(caplog.records) == 1


def pressed():
    raise KeyboardInterrupt


def pressed_within_a_library():
    try:
        pressed()
    except KeyboardInterrupt as error:
        raise SystemError("a call failed") from error


@pytest.mark.parametrize("action", [pressed, pressed_within_a_library])
def test_interrupts_are_no_failures(action):
    with pytest.raises(KeyboardInterrupt):
        attempt(action, lambda: 2, set())
