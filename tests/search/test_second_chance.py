"""Categories that have only failed are tried again, ever later; no others are, and none where all is tried anyway."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.helpers import MOSTLY, over_seeds, seeded
from tests.runs import new_run, tell

from numbo import BKB, GPUCB, GSSBO, Categorical, Float, Int, Space
from numbo.search.second_chance import BRANCHES_FROM, EVERY, FIRST, SecondChance

SPACE = Space({"x": Float(0, 1), "kind": Categorical(["a", "b", "c"]), "n": Int(1, 3)})


def point(kind, rng):
    return {"x": rng.random(), "kind": kind, "n": int(rng.integers(1, 4))}


def test_it_is_due_after_a_time_that_doubles_with_each_failure():
    rng = np.random.default_rng(0)
    run = new_run(SPACE)
    chance = SecondChance(SPACE)
    tell(run, point("a", rng), 1.0)
    assert chance.due(run) is None
    for failures in range(1, 4):
        tell(run, point("b", rng), None)
        waited = 0
        while chance.due(run) is None:
            tell(run, point("a", rng), 1.0)
            waited += 1
        assert chance.due(run) == (1, 1)
        assert waited == FIRST * 2 ** (failures - 1)
    run.hold("elsewhere", point("b", rng), -1)
    assert chance.due(run) is None  # it is being tried
    tell(run, point("b", rng), 2.0)
    run.history.pending.clear()
    for _ in range(100):
        tell(run, point("a", rng), 1.0)
    assert chance.due(run) is None  # it has succeeded
    assert SecondChance(SPACE).due(run) is None


def test_it_waits_for_nothing_where_it_is_not_wanted():
    rng = np.random.default_rng(0)
    for learn in (True, False):  # the user has said what failures mean
        run = new_run(SPACE, learn_failures=learn)
        tell(run, point("b", rng), None)
        for _ in range(20):
            tell(run, point("a", rng), 1.0)
        assert SecondChance(SPACE).due(run) is None
    run = new_run(SPACE)
    tell(run, point("b", rng), None)
    for _ in range(20):
        tell(run, point("a", rng), 1.0)
    kept = replace(run, fixed=np.array([0.5, np.nan, np.nan]))
    assert SecondChance(SPACE).due(kept) is None
    assert SecondChance(Space({"x": Float(0, 1)})).due(run) is None


def test_a_branch_without_a_trial_is_tried_and_a_plain_category_is_left_to_the_model():
    rng = np.random.default_rng(0)
    branch = Categorical(["a", "b", "c"])
    plain = {"x": Float(0, 1), "kind": branch, "n": Int(1, 3)}
    for space, first in ((Space(plain | {"y": Float(0, 1, when={"kind": "a"})}), BRANCHES_FROM), (SPACE, None)):
        run = new_run(space)
        chance = SecondChance(space)
        due = []
        for k in range(BRANCHES_FROM + 8):
            due += [k] * (chance.due(run) == (1, 2))
            p = point("ab"[k % 2], rng)
            tell(run, p | ({"y": 0.5} if p["kind"] == "a" and "y" in space else {}), 1.0)
        assert due == ([] if first is None else [first, first + EVERY])
        tell(run, point("c", rng), 1.0)
        assert chance.due(run) is None


def test_a_category_that_may_be_missing_counts_where_it_is_there():
    space = Space({"x": Float(0, 1), "kind": Categorical(["a", "b", "c"])}, optional=["kind"])
    run = new_run(space)
    chance = SecondChance(space)
    for _ in range(20):
        tell(run, {"x": 0.5}, 1.0)
    tell(run, {"x": 0.5, "kind": "a"}, None)  # the first one, whose number is that of a missing one
    for _ in range(FIRST):
        assert chance.due(run) is None
        tell(run, {"x": 0.5}, 1.0)
    tell(run, {"x": 0.5}, None)
    assert chance.due(run) == (1, 0)


#: The best category has a parameter of its own, and a point without it.
BRANCHES = {
    "with a parameter": Space({"kind": Categorical(["a", "b", "c"]), "y": Float(0, 1)}),
    "of one point": Space({"kind": Categorical(["a", "b", "c"]), "y": Float(0, 1, when={"kind": ["b", "c"]})}),
}


@pytest.mark.parametrize("space", BRANCHES.values(), ids=BRANCHES)
@pytest.mark.parametrize("make", [GSSBO, GPUCB, BKB])
@over_seeds()
def test_the_best_category_comes_back_after_accidents_and_one_that_always_fails_costs_little(make, space):
    for accidents in (2, 60):
        opt = make(space, seed=seeded(0))
        tried = 0
        for _ in range(60):
            p = opt.ask()
            tried += p["kind"] == "a"
            good = p["kind"] == "a" and tried > accidents
            opt.tell(
                p, None if p["kind"] == "a" and not good else (-5.0 if good else 1.0) + (p.get("y", 0.0) - 0.3) ** 2
            )
        if accidents == 2:
            assert opt.best[0]["kind"] == "a", MOSTLY
        else:
            assert tried <= 10, MOSTLY
