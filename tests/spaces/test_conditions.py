"""Spaces that branch: which coordinates are active, and that all of a space agrees about it."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numbo import Categorical, Float, Int, Space
from numbo.spaces import INACTIVE
from numbo.spaces.conditions import COMPARISONS

OPTIMIZER = {
    "optimizer": Categorical(["adam", "sgd"]),
    "momentum": Float(0, 1, when={"optimizer": "sgd"}),
    "nesterov": Categorical([True, False], when={"optimizer": "sgd"}),
    "dampening": Float(0, 1, when={"nesterov": False}),
    "layers": Int(1, 6),
    **{f"width_{i}": Int(8, 256, log=True, when={"layers": (">=", i)}) for i in range(2, 7)},
}


@st.composite
def spaces(draw, finite=False):
    """Random spaces; each dimension may depend on those before it, in any of the ways that there are."""
    dimensions = {}
    for i in range(draw(st.integers(1, 6))):
        when = None
        if dimensions and draw(st.booleans()):
            when = [
                {
                    parent: draw(asked(dimensions[parent]))
                    for parent in draw(st.lists(st.sampled_from(sorted(dimensions)), min_size=1, max_size=2))
                }
                for _ in range(draw(st.integers(1, 2)))
            ]
        dimensions[f"p{i}"] = draw(
            st.sampled_from(
                [Categorical(list("abc")[: draw(st.integers(1, 3))], when=when)]
                + [Int(1, draw(st.integers(1, 4)), when=when)]
                + [Float(0, 2, step=0.5, when=when), Int(2, 9, log=True, when=when)]
                + [Float(-1, 1, when=when), Float(0.1, 10, log=True, when=when)] * (not finite)
            )
        )
    return Space(dimensions)


def asked(dimension):
    if isinstance(dimension, Categorical):
        return st.lists(st.sampled_from(dimension.choices), min_size=1, max_size=2)
    numbers = st.integers(int(dimension.low), int(dimension.high)).map(
        lambda v: min(max(v, dimension.low), dimension.high)
    )
    compared = st.tuples(st.sampled_from(["<", "<=", ">", ">="]), numbers)
    compared = compared.filter(lambda c: any(COMPARISONS[c[0]](end, c[1]) for end in (dimension.low, dimension.high)))
    return compared if dimension.size == math.inf else compared | numbers.filter(dimension.contains)


def naive_active(space, params, name):
    """Whether ``name`` is active at ``params``, which have a value for every dimension."""
    condition = space.conditions.get(name)
    if condition is None:
        return True
    return any(
        all(naive_active(space, params, parent) and met(params[parent], ask) for parent, ask in group)
        for group in condition.alternatives
    )


def met(value, ask):
    if hasattr(ask, "values") and not hasattr(ask, "sign"):
        return any(value == v for v in ask.values)
    return {"<": value < ask.bound, "<=": value <= ask.bound, ">": value > ask.bound, ">=": value >= ask.bound}[
        ask.sign
    ]


@settings(max_examples=100, deadline=None)
@given(spaces(), st.integers(0, 2**32 - 1))
def test_points_have_what_is_active_and_nothing_else(space, seed):
    X = np.random.default_rng(seed).random((8, space.d))
    full, snapped = space.rounded(X), space.snap(X)
    for x, y in zip(full, snapped, strict=True):
        values = {name: space[name].from_unit(u) for name, u in zip(space, x, strict=True)}
        names = {name for name in space if naive_active(space, values, name)}
        params = space.decode(y)
        assert params == {name: values[name] for name in space if name in names}
        np.testing.assert_allclose(space.encode(params), y, atol=1e-12)
        np.testing.assert_array_equal(y == INACTIVE, [name not in names for name in space])
    np.testing.assert_array_equal(space.snap(snapped), snapped)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(space)).active(X), space.active(X))


@settings(max_examples=60, deadline=None)
@given(spaces(finite=True))
def test_the_grid_has_every_point_once(space):
    every = itertools.product(*[[d.from_unit(u) for u in Space({"x": _alone(d)}).grid()[:, 0]] for d in space.values()])
    expected = set()
    for values in every:
        params = dict(zip(space, values, strict=True))
        expected.add(tuple((n, v) for n, v in params.items() if naive_active(space, params, n)))
    grid = space.grid()
    assert {tuple(space.decode(x).items()) for x in grid} == expected
    assert space.cardinality == len(grid) == len(expected)
    np.testing.assert_array_equal(space.grid_index(grid), np.arange(len(grid)))


def _alone(dimension):
    if isinstance(dimension, Categorical):
        return Categorical(dimension.choices)
    return type(dimension)(dimension.low, dimension.high, log=dimension.log, step=dimension.step)


@settings(max_examples=60, deadline=None)
@given(spaces(), st.integers(0, 2**32 - 1))
def test_neighbours_are_points_that_differ_in_one_value_and_in_what_it_wakes(space, seed):
    rng = np.random.default_rng(seed)
    X, dormant = space.snap(rng.random((3, space.d))), space.rounded(rng.random((2, space.d)))
    near, owner = space.neighbours(X, dormant)
    np.testing.assert_allclose(space.snap(near), near, atol=1e-12)
    for x, y in zip(X[owner], near, strict=True):
        both = (x != INACTIVE) & (y != INACTIVE)
        assert np.sum(x[both] != y[both]) == 1
        woken = (x == INACTIVE) & (y != INACTIVE)
        assert not woken.any() or any(np.array_equal(y[woken], row[woken]) for row in dormant)


def test_waking_gives_one_point_for_each_row_where_it_matters():
    space = Space(OPTIMIZER)
    x = space.encode({"optimizer": "adam", "layers": 1})
    flipped = x.copy()
    flipped[0] = space["optimizer"].to_unit("sgd")
    dormant = space.rounded(np.random.default_rng(0).random((3, space.d)))
    found, rows = space.wake(np.array([x, flipped]), dormant)
    assert rows.tolist() == [0, 1, 1, 1]
    np.testing.assert_array_equal(found[0], x)
    assert [space.decode(y)["momentum"] for y in found[1:]] == [space["momentum"].from_unit(m) for m in dormant[:, 1]]
    assert all("width_2" not in space.decode(y) for y in found)


def test_large_conditional_spaces_are_counted_without_being_listed():
    many = {"k": Categorical(range(30))}
    many |= {f"a{i}": Int(1, 10, when={"k": i}) for i in range(30)}
    assert Space(many).cardinality == 300
    assert len(Space(many).grid()) == 300
    assert Space(many | {"x": Float(0, 1, when={"k": 3})}).cardinality == np.inf
    assert Space(many | {f"b{i}": Int(1, 10) for i in range(20)}).cardinality == pytest.approx(300 * 10.0**20)


REFUSED = [
    ({"optimizer": "adam", "layers": 1, "momentum": 0.5}, "must not name 'momentum', which is active only where optim"),
    ({"optimizer": "sgd", "layers": 1, "nesterov": True}, "must name 'momentum', which is active where optimizer is s"),
    ({"optimizer": "adam", "layers": 3, "width_2": 9}, "must name 'width_3', which is active where layers >= 3"),
    ({"optimizer": "adam"}, "must name 'layers'"),
    ({"optimizer": "adam", "layers": 1, "depth": 3}, r"\['depth'\] are unknown"),
]


@pytest.mark.parametrize(("params", "message"), REFUSED)
def test_points_with_something_inactive_or_without_something_active_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        Space(OPTIMIZER).encode(params)


def test_optional_dimensions_may_be_there_or_not():
    space = Space(OPTIMIZER, optional=["momentum", "layers"])
    assert space.cardinality == math.inf
    assert space.decode(space.encode({"optimizer": "adam"})) == {"optimizer": "adam"}
    assert space.decode(space.encode({"optimizer": "adam", "layers": 1})) == {"optimizer": "adam", "layers": 1}
    with pytest.raises(ValueError, match="must name 'nesterov'"):
        space.encode({"optimizer": "sgd", "momentum": 0.5, "layers": 1})
    with pytest.raises(ValueError, match="must not name 'momentum'"):
        space.encode({"optimizer": "adam", "momentum": 0.5})


def test_incomplete_points_are_completed_where_conditions_hold():
    space = Space(OPTIMIZER, optional=["layers"])
    assert space.completed({"optimizer": "adam", "momentum": 0.5}) == {"optimizer": "adam"}
    given = {"optimizer": "sgd", "nesterov": True, "layers": 2, "width_3": 9}
    middles = {"momentum": 0.5, "width_2": space["width_2"].from_unit(0.5)}
    assert space.completed(given) == {"optimizer": "sgd", "nesterov": True, "layers": 2} | middles


INVALID = [
    ({"x": Float(0, 1, when={"x": 0.5})}, "when of 'x' must name other dimensions of the space, got 'x'"),
    ({"x": Float(0, 1, when={"y": 0.5})}, "when of 'x' must name other dimensions of the space, got 'y'"),
    ({"x": Float(0, 1, when="y")}, "when of 'x' must be a mapping such as"),
    ({"x": Float(0, 1, when=[])}, "when of 'x' must be a mapping such as"),
    (
        {"k": Categorical(list("ab")), "x": Float(0, 1, when={"k": "c"})},
        "must ask for values that 'k', .* can have; got 'c'",
    ),
    (
        {"k": Categorical(list("ab")), "x": Float(0, 1, when={"k": (">", 1)})},
        "must ask for values that 'k', .* can have",
    ),
    ({"k": Int(1, 3), "x": Float(0, 1, when={"k": (">", "a")})}, "must ask for values that 'k', .* can have"),
    ({"k": Int(1, 3), "x": Float(0, 1, when={"k": (">", 3)})}, "must ask for values that 'k', .* can have"),
    ({"k": Float(0, 1), "x": Float(0, 1, when={"k": (">", 2.0)})}, "must ask for values that 'k', .* can have"),
    ({"k": Float(0, 1), "x": Float(0, 1, when={"k": 0.25})}, "must compare 'k', which is continuous, with a number"),
    ({"k": Float(0, 1), "x": Float(0, 1, when={"k": (0.2, 0.5)})}, "must compare 'k', which is continuous"),
    (
        {"x": Int(0, 1, when={"y": 1}), "y": Int(0, 1, when={"x": 1})},
        r"when must not lead back to the same dimension, as it does for \['x', 'y'\]",
    ),
]


@pytest.mark.parametrize(("dimensions", "message"), INVALID)
def test_conditions_that_cannot_be_are_refused(dimensions, message):
    with pytest.raises(ValueError, match=message):
        Space(dimensions)


def test_conditions_in_words():
    space = Space(
        {
            "k": Categorical(list("abc")),
            "n": Int(1, 9),
            "x": Float(0, 1, when=[{"k": ["a", "b"], "n": ("<=", 3)}, {"n": 9}]),
        }
    )
    assert str(space.conditions["x"]) == "k is a or b and n <= 3, or n is 9"


def test_misfits_begin_with_the_parents():
    x = Space(OPTIMIZER).partial({"optimizer": "sgd", "layers": 1})
    assert Space(OPTIMIZER).misfits(x)[0] in {"momentum", "nesterov"}


def test_cardinality_is_infinite_without_looking_at_branches():
    wide = {f"p{i}": Categorical(list("abcdefghij")) for i in range(30)}
    branch = {f"c{i}": Float(0, 1, when={f"p{i}": "a"}) for i in range(30)}
    assert Space({**wide, **branch, "x": Float(0, 1)}).cardinality == math.inf
    assert Space({**wide, "k": Int(1, 2, when={f"p{i}": "a" for i in range(30)})}).cardinality > 1e29
