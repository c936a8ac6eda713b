"""Rules take turns, however often points are told, and whoever else asks."""

from __future__ import annotations

import copy
from collections import Counter

import numpy as np
import pytest
from tests.helpers import MOSTLY, over_seeds, seeded

from numbo import GSSBO, Categorical, Float, Int
from numbo.rules.rule import first_of

SPACE = {"x": Float(0, 1), "y": Float(0, 1), "z": Float(0, 1)}
MIXED = {"x": Float(-5, 5), "y": Float(-5, 5), "a": Categorical([*"abc"]), "b": Categorical([*"xyz"])}


def bowl(p):
    return (p["x"] - 0.3) ** 2 + (p["y"] - 0.8) ** 2 + (p["z"] - 0.5) ** 2


class Heard:
    """A rule that notes its name with each suggestion."""

    def __init__(self, one, said):
        self.silent_with = one.silent_with
        self._rule = one
        self._said = said

    def propose(self, run):
        found = self._rule.propose(run)
        if found is not None:
            self._said.append(type(self._rule).__name__)
        return found


@pytest.mark.parametrize("known", [0, 1, 3])
@pytest.mark.parametrize("times", [1, 2, 4, 8])
@over_seeds()
def test_rules_have_their_turns_however_often_each_point_is_told(times, known):
    said = []
    rng = np.random.default_rng(seeded(0))
    opt = GSSBO(SPACE, seed=seeded(0))
    opt._rules = tuple(Heard(one, said) for one in opt._rules)
    for k in range(known):
        p = {"x": 0.1 * k, "y": 0.1, "z": 0.1}
        opt.tell(p, bowl(p))
    for _ in range(44):
        p = opt.ask()
        for _ in range(times):
            opt.tell(p, bowl(p) + 0.02 * rng.normal())
    shares = Counter(said)
    assert 7 <= shares["Everywhere"] <= 14, MOSTLY
    assert shares["Filling"] + shares["InTurn"] >= 26, MOSTLY


@pytest.mark.parametrize("times", [1, 2])
@over_seeds()
def test_combinations_are_tried_however_often_each_point_is_told(times):
    opt = GSSBO(MIXED, seed=seeded(0))
    first = {"x": 3.0, "y": 3.0, "a": "a", "b": "x"}
    opt.tell(first, 5.0)
    tried = set()
    for _ in range(30):
        p = opt.ask()
        tried.add((p["a"], p["b"]))
        for _ in range(times):
            opt.tell(p, p["x"] ** 2 + p["y"] ** 2)
    assert len(tried | {("a", "x")}) == 9, MOSTLY


def test_optimizers_that_ask_in_strict_turns_all_have_a_model_of_what_all_have_told():
    several = [GSSBO(SPACE, seed=k) for k in range(4)]
    for t in range(96):
        p = several[t % 4].ask()
        for opt in several:
            opt.tell(p, bowl(p))
    assert min(opt._search.surrogate.updated_at for opt in several) >= 60


@pytest.mark.parametrize("when", [False, True])
def test_values_told_again_are_no_turn_whether_told_one_by_one_or_restored(when):
    opt = GSSBO(SPACE, seed=0)
    for k in range(6):
        p = opt.ask()
        opt.tell(p, None if k == 2 else bowl(p))
        if k % 2:
            opt.tell(p, bowl(p) + 0.1)
    if when:
        opt = GSSBO.from_state_dict(opt.state_dict())
    assert opt._run.turn == 6
    assert opt._run.step == 9


def test_rules_of_which_none_has_a_point_are_an_error_that_says_so():
    with pytest.raises(LookupError, match=r"^No rule has a suggestion"):
        first_of([], GSSBO(SPACE)._run)


def test_a_restored_search_of_branches_for_several_objectives_goes_on_as_it_was():
    """What is best where a parameter is active changes with the front: scores of different times do not compare."""
    space = {
        "m": Categorical([*"pqr"]),
        "n": Categorical([*"st"]),
        "u": Float(0, 1, when={"m": "p"}),
        "v": Float(0, 1, when={"m": "q"}),
        "w": Categorical(["1", "2"], when={"m": ["p", "q"]}),
        "x": Int(1, 200),
    }
    for seed in range(3):
        opt = GSSBO(space, seed=seed, directions=["minimize"] * 2)
        for t in range(24):
            p = opt.ask()
            y = (p.get("u", 0.5) - 0.3) ** 2 + (p.get("v", 0.2) - 0.2) ** 2 + p["x"] / 200 + "pqr".index(p["m"]) * 0.1
            opt.tell(p, [y, 1 - y])
            if t >= 12 and t % 3 == 0:
                again = GSSBO.from_state_dict(opt.state_dict())
                twin = copy.deepcopy(opt)
                assert [twin.ask() for _ in range(3)] == [again.ask() for _ in range(3)]
