"""What every domain promises to the search, whether its points are named parameters, arms, or rows of a table."""

from __future__ import annotations

import numpy as np
import pytest

from numbo import Arms, Categorical, Float, Int, Space, Table
from numbo.spaces import INACTIVE, Corners
from numbo.spaces.ranges import RangeRule

BRANCHES = {
    "kind": Categorical(["a", "b"]),
    "k": Int(1, 5, when={"kind": "a"}),
    "m": Int(1, 40, when={"k": (">", 2)}),
}
RANGED = {"n": Int(1, 4), "w": Int(1, 9)}
RULE = {"w": RangeRule("n", {1: (1, 3), 2: (2, 5)})}
ROWS = np.random.default_rng(0).normal(size=(70, 3))
FINITE = {
    "box": Space({"a": Int(0, 4), "b": Categorical(list("xyz")), "c": Float(0.0, 1.0, step=0.25)}),
    "branches": Space(BRANCHES),
    "ranges": Space(RANGED, ranges=RULE),
    "arms": Arms(ROWS),
    "repeated arms": Arms(ROWS[np.r_[:40, :30]]),
    "table": Table({"size": np.arange(1.0, 31.0), "kind": list("ab") * 15}, log=["size"]),
}
INFINITE = {
    "cube": Space({"x": Float(-1.0, 1.0), "y": Float(1e-6, 1.0, log=True)}),
    "mixed": Space({"x": Float(0.0, 1.0), **BRANCHES}),
    "optional": Space({"x": Float(0.0, 1.0), "k": Int(1, 5)}, optional=["k"]),
}
EVERY = FINITE | INFINITE
every = pytest.mark.parametrize("domain", EVERY.values(), ids=EVERY)
finite = pytest.mark.parametrize("domain", FINITE.values(), ids=FINITE)


def anywhere(domain, n=200, seed=0):
    return np.random.default_rng(seed).random((n, domain.d))


def dormant(domain, m=3):
    return domain.rounded(anywhere(domain, m, 9)) if isinstance(domain, Space) else None


@every
def test_properties_have_one_entry_a_coordinate(domain):
    for mask in (domain.categorical, domain.conditional, domain.continuous, domain.relaxed, domain.discrete):
        assert mask.shape == (domain.d,)
        assert mask.dtype == bool
    assert len(domain.names) == len(set(domain.names)) == domain.d
    assert not (domain.continuous & domain.discrete).any()
    assert (domain.relaxed | domain.discrete).all()
    assert set(domain.conditions) <= set(np.array(domain.names)[domain.conditional].tolist())


@every
def test_snapped_points_are_those_of_the_domain(domain):
    X = domain.snap(anywhere(domain))
    np.testing.assert_array_equal(domain.snap(X), X)
    for x in X[:40]:
        np.testing.assert_allclose(domain.encode(domain.decode(x)), domain.representable(x), rtol=0.0, atol=1e-12)
    assert ((X == INACTIVE).any(axis=0) <= domain.conditional).all()


@pytest.mark.parametrize("name", ["branches", "mixed"])
def test_what_becomes_active_has_the_values_that_are_given(name):
    domain = EVERY[name]
    X, values = domain.snap(anywhere(domain)), dormant(domain)
    flipped = domain.neighbours(X, values)
    awake = (X[flipped.rows] == INACTIVE) & (flipped.X != INACTIVE)
    assert awake.any()
    for column in np.flatnonzero(awake.any(axis=0)):
        assert set(flipped.X[awake[:, column], column]) <= set(values[:, column])
    asleep = domain.neighbours(X)
    assert not ((X[asleep.rows] == INACTIVE) & (asleep.X != INACTIVE)).any()


@every
def test_waking_leaves_points_of_the_domain_as_they_are(domain):
    X = domain.snap(anywhere(domain))
    for values in (None, dormant(domain)):
        found = domain.wake(X, values)
        np.testing.assert_array_equal(found.X[: len(X)][X != INACTIVE], X[X != INACTIVE])
        np.testing.assert_array_equal(found.rows[: len(X)], np.arange(len(X)))
        np.testing.assert_array_equal(domain.snap(found.X), found.X)


@every
def test_neighbours_lie_in_the_domain_and_belong_to_a_row(domain):
    X = domain.snap(anywhere(domain, 20))
    for values in (None, dormant(domain)):
        near, rows = domain.neighbours(X, values)
        assert len(near) == len(rows)
        there = (near != INACTIVE) | (values is not None)  # without values, nothing becomes active
        np.testing.assert_array_equal(domain.snap(near)[there], near[there])
        assert set(rows.tolist()) <= set(range(20))
        assert (len(near) > 0) == domain.discrete.any()


@every
def test_limits_hold_the_points_and_lie_in_the_given_box(domain):
    X = domain.snap(anywhere(domain))
    cube = Corners.of_cube(domain.d)
    limits = domain.limits(X, cube)
    inside = (limits.lower <= X) & (limits.upper >= X) | (X == INACTIVE)
    assert inside.all()
    narrow = Corners(np.full(domain.d, 0.2), np.full(domain.d, 0.7))
    within = domain.limits(X, narrow)
    assert (within.lower >= 0.2).all()
    assert (within.upper <= 0.7).all()


@finite
def test_the_grid_lists_every_point_once(domain):
    grid = domain.grid()
    assert len(grid) == domain.cardinality
    rows = domain.grid_index(grid)
    np.testing.assert_array_equal(grid[rows], grid)  # of equal arms the first one
    known = {repr(domain.decode(x)) for x in grid}
    assert len(known) == len(set(rows.tolist()))
    snapped = domain.snap(anywhere(domain, 500))
    np.testing.assert_array_equal(grid[domain.grid_index(snapped)], snapped)


@pytest.mark.parametrize("domain", INFINITE.values(), ids=INFINITE)
def test_an_infinite_domain_has_no_number_of_points(domain):
    assert domain.cardinality == np.inf


def test_a_box_holds_what_lies_between_its_corners_where_it_is_active():
    box = Corners(np.array([0.2, 0.0]), np.array([0.6, 0.5]))
    X = np.array([[0.2, 0.5], [0.6, 0.6], [0.1, 0.2], [INACTIVE, 0.1], [0.3, INACTIVE]])
    assert box.hold(X).tolist() == [True, False, False, True, True]
    assert Corners.of_cube(2).hold(X).all()
    each = Corners(np.repeat([[0.0, 0.0], [0.9, 0.0]], [4, 1], axis=0), np.ones((5, 2)))
    assert each.hold(X).tolist() == [True, True, True, True, False]
