"""What a user allows: how it is declared, and which points of a space it leaves."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from tests.helpers import seeded

from numbo import Categorical, Float, Int, Linear, Mixture, Nonzero, Order, Space, Table
from numbo.spaces.allowed import met, restricted

PAIR = {"a": Float(0.0, 1.0), "b": Float(0.0, 1.0)}


def disk(p):
    """One percent of the square."""
    return (p["a"] - 0.3) ** 2 + (p["b"] - 0.6) ** 2 < 0.01 / math.pi


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Linear({}, most=1), r"^weights of Linear must be numbers by names"),
        (lambda: Linear({"a": math.nan}, most=1), r"^weights of Linear must be numbers by names"),
        (lambda: Linear({"a": 1}), r"^Linear takes least, most, or both, or equal alone"),
        (lambda: Linear({"a": 1}, most=1, equal=1), r"^Linear takes least, most, or both, or equal alone"),
        (lambda: Linear({"a": 1}, least=2, most=1), r"^Linear needs least <= most"),
        (lambda: Mixture(["a"]), r"^names of Mixture must be two or more different names"),
        (lambda: Mixture("ab"), r"^names of Mixture must be two or more different names"),
        (lambda: Order(["a", "a"]), r"^names of Order must be two or more different names"),
        (lambda: Nonzero(["a", "b"], -1), r"^most of Nonzero must be an integer of at least 0"),
        (lambda: Space(PAIR, allowed="a < b"), r"^allowed must hold Linear, Mixture, Order or Nonzero, or functions"),
        (lambda: Space(PAIR, allowed=[3]), r"^allowed must hold Linear, Mixture, Order or Nonzero, or functions"),
        (lambda: Space(PAIR, allowed=Linear({"c": 1}, most=1)), r"^allowed must name parameters of the space, .*'c'"),
        (
            lambda: Space({"a": Float(0, 1), "b": Categorical([1, 2])}, allowed=Order(["a", "b"])),
            r"^allowed can only bound numbers: 'b'",
        ),
        (
            lambda: Space({"a": Float(0.5, 1), "b": Float(0, 1)}, allowed=Nonzero(["a", "b"], 1)),
            r"^allowed can only count parameters that can be 0 exactly, .*'a'",
        ),
        (lambda: Space(PAIR, allowed=lambda p: p["z"] < 1), r"^allowed=<lambda> asked for 'z', which is none of"),
        (lambda: Space(PAIR, allowed=lambda p: 1 / 0), r"^allowed=<lambda> must return True or False .*ZeroDivision"),
        (lambda: Space(PAIR, allowed=lambda _: math.nan), r"^allowed=.* must return True or False .* returned nan"),
        (lambda: Space(PAIR, allowed=lambda p: None), r"^allowed=<lambda> must return True or False .* returned None"),
        (
            lambda: Space(PAIR, allowed=lambda p: np.array([True])),
            r"^allowed=<lambda> must return True or False .* returned array",
        ),
        (
            lambda: Table({"a": [1, 2]}, allowed=lambda row: row["b"] > 1),
            r"^allowed=<lambda> asked for 'b', which is none of \['a'\]",
        ),
    ],
)
def test_errors_say_what_is_accepted(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_comparison_in_numpy_is_an_answer():
    assert Space(PAIR, allowed=lambda p: np.float64(p["a"]) < 0.5).allowed.anchors[:, 0].max() < 0.5


@pytest.mark.parametrize(
    "allowed",
    [
        Linear({"a": 1, "b": 1}, least=3),
        [Linear({"a": 1, "b": 1}, equal=1), Linear({"a": 1, "b": 1}, equal=1.5)],
        lambda p: False,
        [Mixture(["a", "b"]), lambda p: p["a"] + p["b"] < 0.5],
    ],
)
def test_the_impossible_ends_in_a_sentence(allowed):
    with pytest.raises(ValueError, match=r"^allowed must leave points of the space: none of \d+ points"):
        Space(PAIR, allowed=allowed)


def test_the_nearly_impossible_is_worth_a_warning():
    with pytest.warns(UserWarning, match=r"^allowed leaves little: "):
        space = Space(PAIR, allowed=lambda p: (p["a"] - 0.5) ** 2 + (p["b"] - 0.5) ** 2 < 1e-4)
    assert space.allowed.rows(space.allowed.anchors).all()


def test_a_finite_space_knows_which_of_its_points_are_allowed():
    space = Space({"i": Int(0, 9), "j": Int(0, 9)}, allowed=Order(["i", "j"]))
    listed = [space.decode(x) for x in space.grid()]
    np.testing.assert_array_equal(space.permitted, [p["i"] <= p["j"] for p in listed])
    with pytest.raises(ValueError, match="none of its 100 points"):
        Space({"i": Int(0, 9), "j": Int(0, 9)}, allowed=lambda p: p["i"] > 9)


def test_a_walk_leaves_the_bounds_of_a_simplex_and_stays_in_it():
    space = Space({f"x{i}": Float(0, 1) for i in range(7)}, allowed=Mixture([f"x{i}" for i in range(7)]))
    anchors = space.allowed.anchors
    assert space.allowed.rows(anchors).all()
    on_bounds = (anchors == 0.0).sum(axis=1)
    assert on_bounds[::2].mean() > 2.0 * on_bounds[1::2].mean()
    drawn = space.allowed.spread(200, np.random.default_rng(seeded(0)))
    assert space.allowed.rows(drawn).all()
    assert len(np.unique(drawn, axis=0)) == 200


def test_points_beyond_are_pulled_back_along_the_line():
    space = Space(PAIR, allowed=disk)
    base = space.allowed.nearest(np.array([0.3, 0.6]))
    beyond = np.array([0.9, 0.9])
    found = space.allowed.pulled(beyond, base)
    assert space.allowed.holds(found)
    direction = beyond - base
    along = float((found - base) @ direction / (direction @ direction))
    np.testing.assert_allclose(found, base + along * direction, atol=1e-12)
    assert not space.allowed.holds(base + (along + 2.0**-4) * direction)


def test_where_a_function_asks_for_an_inactive_parameter_it_does_not_apply():
    space = Space(
        {"kind": Categorical(["x", "y"]), "m": Float(0, 1, when={"kind": "x"})}, allowed=lambda p: p["m"] < 0.2
    )
    assert space.allowed.holds(space.encode({"kind": "y"}))
    assert not space.allowed.holds(space.encode({"kind": "x", "m": 0.5}))


def test_points_outside_are_told_nevertheless():
    space = Space(PAIR, allowed=Mixture(["a", "b"]))
    np.testing.assert_array_equal(space.encode({"a": 1.0, "b": 1.0}), [1.0, 1.0])


def test_a_space_with_constraints_can_be_stored():
    space = Space(PAIR, allowed=[disk, Order(["a", "b"])])
    twin = pickle.loads(pickle.dumps(space))
    np.testing.assert_array_equal(twin.allowed.anchors, space.allowed.anchors)
    assert twin.allowed.constraints == space.allowed.constraints


def test_a_table_leaves_rows_by_the_values_of_their_columns():
    data = {"a": list(range(30)), "kind": ["u", "v", "w"] * 10}
    table = Table(data, allowed=[Linear({"a": 1}, most=12), lambda row: row["kind"] != "v"])
    rows = np.flatnonzero(table.permitted).tolist()
    assert rows == [i for i in range(13) if i % 3 != 1]
    assert Table(data).permitted is None
    assert Table(data).restricted(Linear({"a": 1}, most=12)).permitted.sum() == 13
    with pytest.raises(ValueError, match=r"^allowed must leave rows of the table"):
        Table(data, allowed=Linear({"a": 1}, most=-1))
    with pytest.raises(ValueError, match=r"^allowed must name columns of data, .* got 'z'"):
        Table(data, allowed=Linear({"z": 1}, most=1))


def test_constraints_of_fewer_parameters():
    names = ("a", "b", "c")
    assert restricted(Mixture(names), {"a", "b"}) == Mixture(("a", "b"))
    assert restricted(Mixture(names), {"b"}) == Linear({"b": 1.0}, equal=1.0)
    assert restricted(Order(names), {"a", "c"}) == Order(("a", "c"))
    assert restricted(Order(names), {"a"}) is None
    assert restricted(Linear({"a": 1, "b": 2}, most=1), {"b", "z"}) == Linear({"b": 2}, most=1)
    assert restricted(Linear({"a": 1}, most=1), {"z"}) is None
    assert restricted(disk, set()) is disk


@pytest.mark.parametrize(
    ("constraint", "params", "holds"),
    [
        (Mixture(["a", "b"]), {"a": 0.1, "b": 0.9}, True),
        (Mixture(["a", "b"]), {"a": 0.2, "b": 0.9}, False),
        (Mixture(["a", "b", "c"], most=1), {"a": 1.0, "b": 0.0, "c": 0.0}, True),
        (Mixture(["a", "b", "c"], most=1), {"a": 0.5, "b": 0.5, "c": 0.0}, False),
        (Linear({"a": 1, "b": -1}, most=0), {"a": 1}, False),
        (Linear({"a": 1, "b": -1}, most=0), {"z": 1}, True),
        (Order(["a", "b", "c"]), {"a": 2, "c": 1}, False),
        (Order(["a", "b", "c"]), {"a": 1, "c": 1}, True),
        (Nonzero(["a", "b"], 1), {"a": 3, "b": 0}, True),
        (Nonzero(["a", "b"], 1), {"a": 3, "b": 1e-300}, False),
        (disk, {"a": 0.3, "b": 0.6}, True),
    ],
)
def test_whether_a_constraint_is_met(constraint, params, holds):
    assert met(constraint, params) is holds
