"""The list of rules: the first that speaks makes the suggestion, and the one of the guide can be added."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.runs import new_run, tell

from numbo import GPUCB, GSSBO, Float
from numbo.rules.rule import Loop, first_of, noise_found, values_fixed
from numbo.run.situation import Suggestion
from numbo.spaces import Space

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "extending.md"


class Says:
    def __init__(self, x, *silent_with):
        self.x = x
        self.silent_with = silent_with
        self.asked = 0

    def propose(self, run):
        self.asked += 1
        return None if self.x is None else Suggestion(np.array([self.x]))


def test_the_first_rule_that_has_a_point_makes_the_suggestion():
    run = new_run(Space({"x": Float(0, 1)}))
    rules = [Says(None), Says(0.1, values_fixed), Says(0.2, noise_found, values_fixed), Says(0.3)]
    assert first_of(rules, run).x == 0.1
    assert [rule.asked for rule in rules] == [1, 1, 0, 0]
    kept = replace(run, fixed=np.array([0.5]))
    assert first_of(rules, kept).x == 0.3
    assert [rule.asked for rule in rules] == [2, 1, 0, 1]


def test_circumstances_are_those_of_the_moment_at_which_a_rule_is_asked():
    run = new_run(Space({"x": Float(0, 1)}))

    class Tells(Says):
        def propose(self, run):
            for k in range(8):
                tell(run, {"x": 0.25 * (k % 2)}, k + 1e-3 * k**2)
            return super().propose(run)

    rules = [Tells(None), Says(0.1, noise_found), Says(0.2)]
    assert not run.noise.found
    assert first_of(rules, run).x == 0.2
    assert run.noise.found


def test_the_rule_of_the_guide_can_be_added():
    code = re.search(r"```python\n(from dataclasses.*?)```", GUIDE.read_text(), flags=re.DOTALL)[1]
    defined = {}
    exec(code, defined)
    opt = GSSBO({"x": Float(0, 1), "y": Float(0, 1)}, seed=0)
    probe, *others = opt._rules
    opt._rules = (probe, defined["MedianAgain"](), *others)
    points = []
    for step in range(30):
        p = opt.ask()
        if step % 7 == 0 and step:
            known = sorted(points, key=lambda one: one[1])
            assert p == known[len(known) // 2][0]
        points.append((p, p["x"] + p["y"]))
        opt.tell(*points[-1])


def test_the_loop_of_an_algorithm_of_the_guide_goes_on_after_an_interrupt(monkeypatch):
    """An interrupted call is repaired from the trials by a twin, whose loop must not stay."""

    class Counting(GPUCB):
        def _new_rules(self):
            return (Loop(self._next),)

        def _next(self, run):
            self._turns = getattr(self, "_turns", 0) + 1
            return Suggestion(run.rng.random(self.space.d))

    opt = Counting({"x": Float(0, 1)}, seed=0, n_initial=1)
    for _ in range(3):
        opt.tell(opt.ask(), 0.5)
    with monkeypatch.context() as patch:
        patch.setattr(type(opt._run.history), "add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            opt.tell({"x": 0.3}, 0.2)
    opt.tell(opt.ask(), 0.1)
    assert opt._rules[0].turn.__self__ is opt


def interrupted(*args, **kwargs):
    raise KeyboardInterrupt
