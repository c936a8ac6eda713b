"""The global model over the whole space, and on lines through the best point."""

from __future__ import annotations

import numpy as np
from tests.runs import new_run, tell
from tests.search.searches import CUBE, global_search, sampled

from numbo import Categorical, Int, Space
from numbo.optimizers.gp_ucb import Everything
from numbo.rules import Everywhere, GlobalModel, Lines


def test_lines_of_which_every_point_was_tried_give_way_to_the_whole_space():
    space = Space({f"c{i}": Categorical(list("abcdef")) for i in range(7)})
    run = new_run(space, avoid_repeats=True)
    best = dict.fromkeys(space.names, "a")
    tell(run, best, 1.0)
    for name in best:
        for c in "bcdef":
            tell(run, best | {name: c}, 0.5)
    rng = np.random.default_rng(0)
    for _ in range(20):
        tell(run, {name: "abcdef"[rng.integers(6)] for name in best}, 0.0)
    search = global_search(run)
    model = GlobalModel(search, Everything())
    assert model.best(run, lambda: search.lines(run)) is None
    p = space.decode(Everywhere(model).propose(run).x)
    assert sum(p[name] != "a" for name in p) >= 2
    assert not np.array_equal(space.encode(p), run.space_filling())


def test_where_nothing_is_left_a_point_of_the_design_is_suggested():
    space = Space({"k": Int(0, 4)})
    run = sampled(space, 0, avoid_repeats=True)
    for k in range(5):
        tell(run, {"k": k}, float(k))
    model = GlobalModel(global_search(run), Everything())
    assert model.best(run) is None
    assert Everywhere(model).propose(run).x in space.grid()


def test_in_few_dimensions_there_are_no_lines():
    run = sampled(CUBE, 20)
    assert Lines(GlobalModel(global_search(run), Everything()), None).propose(run) is None
