"""The global model over the whole space, and on lines through the best point."""

from __future__ import annotations

import numpy as np
from tests.runs import new_run, tell
from tests.search.searches import CUBE, global_search, sampled

from numbo import Categorical, Int, Space
from numbo.optimizers.gp_ucb import Everything
from numbo.rules import Ends, Everywhere, GlobalModel, Lines
from numbo.rules.everywhere import ENDS_FROM, TURN_OF_END
from numbo.rules.rule import is_turn


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


# -- several objectives ----------------------------------------------------------------------------------------------


def first_piece(run, n=60):
    """A front with a second piece at x > 0.8, of which only points at x < 0.4 are known."""
    for x in np.random.default_rng(0).random((n, 3)):
        tell(run, {"x": 0.4 * x[0], "y": x[1] ** 3, "z": x[2] ** 3}, pieces(0.4 * x[0], x[1] ** 3, x[2] ** 3))
    return run


def pieces(x, y, z):
    return x, 1.0 + y + z - x - 2.0 * float(x > 0.8)


def ends(run):
    return Ends(GlobalModel(global_search(run), Everything()))


def at_its_turn(run):
    while not is_turn(run.turn, TURN_OF_END):
        tell(run, {"x": 0.9, "y": 1.0, "z": 1.0}, (2.0, 2.0))
    return run


def test_where_models_know_one_piece_of_a_front_another_one_is_looked_for_beyond_it():
    run = at_its_turn(first_piece(new_run(CUBE, directions=("minimize", "minimize"))))
    rule = ends(run)
    x = rule.propose(run).x
    assert x[0] > 0.6
    near = run.history.X[run.history.front.rows][:, 1:]
    assert (np.abs(near - x[1:]).max(axis=1) < 1e-9).any()  # on a line through a point of the front
    run.hold("a", CUBE.decode(x), -1)
    assert not np.allclose(rule.model.beyond(run), x, atol=0.02)


def test_more_of_a_front_is_looked_for_in_turns_and_once_a_front_is_known():
    few = at_its_turn(first_piece(new_run(CUBE, directions=("minimize", "minimize")), 20))
    assert ends(few).propose(few) is None
    run = first_piece(new_run(CUBE, directions=("minimize", "minimize")), ENDS_FROM + 3)
    assert not is_turn(run.turn, TURN_OF_END)
    assert ends(run).propose(run) is None
    alone = sampled(CUBE, 64)
    assert ends(alone).propose(alone) is None


def test_where_a_front_is_a_point_nothing_lies_along_it():
    run = new_run(CUBE, directions=("minimize", "minimize"))
    for x in np.random.default_rng(0).random((64, 3)):
        tell(run, CUBE.decode(x), (float(x.sum()), float(x.sum())))
    assert len(run.history.front.rows) == 1
    rule = ends(run)
    assert rule.model.beyond(run) is None
    assert rule.propose(run) is not None
