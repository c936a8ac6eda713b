"""Hints of `explain`: bounds, parameters that do not matter, constraints that do not bind, needles."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import MOSTLY, over_seeds, seeded

from numbo import GPUCB, GSSBO, Categorical, Float, Int, Linear, Mixture, Space


def told(space, objective, n=60, seed=0):
    """An optimizer that was told random points."""
    opt = GPUCB(space, seed=0)
    rng = np.random.default_rng(seeded(seed))
    for x in opt.space.snap(rng.random((n, opt.space.d))):
        p = opt.space.decode(x)
        opt.tell(p, objective(p))
    return opt


def hints(opt):
    return {(hint.kind, hint.names) for hint in opt.explain().hints}


@over_seeds()
def test_a_best_value_at_a_bound_and_a_parameter_that_does_not_matter():
    space = {"x": Float(1e-4, 1, log=True), "k": Int(1, 8), "c": Categorical(["a", "b"]), "idle": Float(0, 1)}
    opt = GSSBO(space, seed=seeded(0))
    for _ in range(40):
        p = opt.ask()
        opt.tell(p, np.log10(p["x"]) + (p["k"] - 8) ** 2 / 20 + (p["c"] == "b"))
    found = hints(opt)
    assert ("bound", ("x",)) in found, MOSTLY
    assert ("bound", ("k",)) in found, MOSTLY
    assert ("irrelevant", ("idle",)) in found, MOSTLY
    assert not any("c" in names for kind, names in found if kind == "bound")
    text = str(opt.explain())
    assert "hint        the best values of x are at its lower bound: try a wider range" in text, MOSTLY
    assert "hint        the best values of k are at its upper bound: try a wider range" in text, MOSTLY
    assert "hint        hardly any effect so far, and could be fixed: idle" in text, MOSTLY


@over_seeds()
def test_an_optimum_inside_gives_no_hint():
    space = {"x": Float(0, 1), "y": Float(0, 1)}
    opt = GSSBO(space, seed=seeded(0))
    for _ in range(40):
        p = opt.ask()
        opt.tell(p, (p["x"] - 0.4) ** 2 + (p["y"] - 0.6) ** 2)
    assert not opt.explain().hints, MOSTLY


def inner(p):
    return p["x"] < 0.95


def outer(p):
    return p["x"] > 0.2


@over_seeds()
def test_a_constraint_that_does_not_bind():
    names = ["x", "y", "z"]
    allowed = [inner, outer, Mixture(names), Linear({"x": 1, "y": 1}, most=0.9), Linear({"x": 1}, least=0.15)]
    opt = GSSBO(Space({n: Float(0, 1) for n in names}, allowed=allowed), seed=seeded(0))
    for _ in range(30):
        p = opt.ask()
        opt.tell(p, (p["x"] - 0.2) ** 2 + (p["y"] - 0.3) ** 2)
    found = [str(hint) for hint in opt.explain().hints if hint.kind == "allowed"]
    words = "does not bind: all around the best trials meets it"
    assert found == [f"allowed: inner {words}", f"allowed: {allowed[3]!r} {words}"], MOSTLY


@over_seeds()
def test_a_needle_is_told_from_a_wide_optimum():
    sharp = GSSBO({"x": Float(0, 1), "y": Float(0, 1)}, seed=seeded(0))
    for _ in range(60):
        p = sharp.ask()
        sharp.tell(p, 0.2 * abs(p["x"] - 0.5) + min(abs(p["y"] - 0.4) / 0.02, 1.0))
    assert any(hint.kind == "needle" for hint in sharp.explain().hints), MOSTLY
    wide = told({"x": Float(0, 1), "y": Float(0, 1)}, lambda p: (p["x"] - 0.4) ** 2 + (p["y"] - 0.5) ** 2)
    assert not any(hint.kind == "needle" for hint in wide.explain().hints), MOSTLY


@pytest.mark.parametrize("n", [1, 5, 19])
def test_few_trials_give_none(n):
    opt = told({"x": Float(0, 1), "y": Float(0, 1)}, lambda p: p["x"], n)
    assert opt.explain().hints == ()


def test_arms_and_several_objectives_have_no_best_point():
    arms = GPUCB(arms=np.random.default_rng(0).random((40, 2)), seed=0)
    for i in range(30):
        arms.tell(i, float(i))
    assert arms.explain().hints == ()
    opt = GSSBO({"x": Float(0, 1), "y": Float(0, 1)}, seed=0, directions=("minimize", "maximize"))
    for _ in range(25):
        p = opt.ask()
        opt.tell(p, (p["x"], p["y"]))
    assert not any(hint.kind in ("bound", "needle") for hint in opt.explain().hints)
