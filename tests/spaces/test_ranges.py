"""Ranges that depend on the value of another dimension: that all of a space agrees about them, and how they show."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numbo import GSSBO, Categorical, Float, Int, Space
from numbo.spaces import INACTIVE, Corners
from numbo.spaces.ranges import RangeRule, RangeUsage, interpolated

DIMENSIONS = {
    "kind": Categorical(["a", "b", "c"]),
    "n": Int(1, 4),
    "m": Int(0, 9),
    "rate": Float(1e-5, 1.0, log=True),
    "step": Float(0.0, 2.0, step=0.5),
}
RULES = {
    "m": RangeRule("n", {1: (0, 1), 2: (3, 7), 3: (9, 9)}),
    "rate": RangeRule("kind", {"a": (1e-2, 1.0), "b": (1e-5, 1e-3)}),
    "step": RangeRule("kind", {"b": (0.5, 1.5)}),
}


@st.composite
def spaces(draw, finite=False):
    names = draw(st.sets(st.sampled_from([n for n in DIMENSIONS if not (finite and n == "rate")]), min_size=1))
    names |= {RULES[name].parent for name in names & RULES.keys()}
    dimensions = {name: DIMENSIONS[name] for name in draw(st.permutations(sorted(names)))}
    if "m" in names and draw(st.booleans()):
        dimensions["m"] = Int(0, 9, when={"n": draw(st.lists(st.integers(1, 4), min_size=1))})
    return Space(dimensions, ranges={name: rule for name, rule in RULES.items() if name in names})


def fits(params):
    for name, (parent, bounds) in RULES.items():
        if name in params and params[parent] in bounds:
            low, high = bounds[params[parent]]
            if not low <= params[name] <= high:
                return False
    return True


@settings(max_examples=200, deadline=None)
@given(st.floats(1e-8, 1e8), st.floats(1e-8, 1e8), st.booleans())
def test_rounding_leads_out_of_no_range(one, other, log):
    """A value beyond its range by the last digit is none that a program could have had."""
    low, high = sorted((one, other))
    dimensions = {"kind": Categorical(["a", "b"]), "x": Float(1e-8, 1e8, log=log)}
    space = Space(dimensions, ranges={"x": RangeRule("kind", {"a": (low, high)})})
    for u in (0.0, 0.3, 1.0):
        assert low <= space.decode(space.snap(np.array([[0.25, u]]))[0])["x"] <= high


@settings(max_examples=60, deadline=None)
@given(spaces(), st.integers(0, 2**32 - 1))
def test_points_are_in_range(space, seed):
    rng = np.random.default_rng(seed)
    X = rng.random((30, space.d))
    snapped = space.snap(X)
    np.testing.assert_array_equal(space.snap(snapped), snapped)
    for x in snapped:
        params = space.decode(x)
        assert fits(params)
        np.testing.assert_allclose(space.encode(params), x, atol=1e-9)
    near, owner = space.neighbours(snapped, space.rounded(rng.random((2, space.d))))
    assert len(near) == len(owner)
    assert all(fits(space.decode(x)) for x in near)
    low, high = space.limits(snapped, Corners.of_cube(space.d))
    asleep = snapped == INACTIVE
    assert np.all((snapped >= low - 1e-12) & (snapped <= high + 1e-12) | asleep)


@settings(max_examples=60, deadline=None)
@given(spaces(finite=True))
def test_the_grid_has_what_is_in_range(space):
    combinations = np.array(list(itertools.product(*map(units, space.values()))))
    every = {tuple(x) for x in space.snap(combinations)}
    grid = space.grid()
    assert {tuple(x) for x in grid} == every
    assert len(grid) == space.cardinality == len(every)
    np.testing.assert_array_equal(space.grid_index(grid), np.arange(len(grid)))


def units(dimension):
    return [(k + 0.5) / dimension.size for k in range(int(dimension.size))]


def test_values_out_of_range_are_refused():
    space = Space({"n": Int(1, 4), "m": Int(0, 9)}, ranges={"m": RULES["m"]})
    assert space.decode(space.encode({"n": 2, "m": 7})) == {"n": 2, "m": 7}
    with pytest.raises(ValueError, match=r"params\['m'\] = 8 is out of range where n=2") as error:
        space.encode({"n": 2, "m": 8})
    assert "\n" not in str(error.value)


@settings(max_examples=60, deadline=None)
@given(spaces(), st.integers(0, 2**32 - 1), st.booleans())
def test_what_is_free_is_moved_into_its_range_and_nothing_else(space, seed, free):
    rng = np.random.default_rng(seed)
    drawn = {name: dimension.from_unit(rng.random()) for name, dimension in space.items()}
    active = space.completed(drawn) if space.conditions else drawn
    names = RULES.keys() & active.keys() if free else set()
    moved = space.moved_into_ranges(active, names)
    assert moved.keys() == active.keys()
    assert {n: v for n, v in moved.items() if n not in names} == {n: v for n, v in active.items() if n not in names}
    if fits(active):
        assert moved == active
    if free:
        assert fits(moved)


def test_draws_that_are_out_of_range_stay_even():
    space = Space(
        {"kind": Categorical(list("ab")), "x": Float(0, 1)}, ranges={"x": RangeRule("kind", {"a": (0.2, 0.4)})}
    )
    X = np.random.default_rng(0).random((4000, 2))
    found = space.snap(X)
    inside = np.sort(found[found[:, 0] < 0.5, 1])
    assert inside.min() >= 0.2
    assert inside.max() <= 0.4
    assert np.abs(np.histogram(inside, 10, (0.2, 0.4))[0] / len(inside) - 0.1).max() < 0.03


# -- inference ---------------------------------------------------------------------------------------------------------


def trials(count, seed):
    rng = np.random.default_rng(seed)
    for number in range(count):
        kind, n = float(rng.integers(3)), float(rng.integers(1, 7))
        values = {"kind": kind, "n": n, "m": float(rng.integers(n + 1)), "rate": rng.random(), "x": rng.random()}
        yield number, values, {"n": (1, 6), "m": (0, n), "rate": (0.0, 1.0 + kind), "x": (0.0, 1.0)}


FINITE = {"kind": True, "n": False}


@pytest.mark.parametrize("seed", range(4))
def test_rules_are_found_whatever_the_order(seed):
    known = list(trials(60, seed))
    for order in (range(60), np.random.default_rng(seed).permutation(60)):
        usage = RangeUsage()
        for k in order:
            usage.add(*known[k])
        parent, table = usage.rule("m", FINITE)
        assert (parent, table) == ("n", {float(n): (0, n) for n in range(1, 7)})
        assert usage.rule("rate", FINITE)[0] == "kind"
        assert usage.rule("x", FINITE) is usage.rule("n", FINITE) is None
        assert not usage.several("x")


def test_a_rule_is_given_up_when_a_trial_refutes_it():
    usage = RangeUsage()
    for trial in trials(60, 0):
        usage.add(*trial)
    _, values, ranges = next(trials(1, 9))
    usage.add(60, values, ranges | {"rate": (0.0, 9.0)})
    assert usage.rule("rate", FINITE) is None


def test_a_change_of_the_program_is_no_rule_and_a_range_that_keeps_changing_is_told_from_it():
    changed, restless = RangeUsage(), RangeUsage()
    for number, values, ranges in trials(40, 0):
        changed.add(number, values, ranges | {"x": (0.0, 1.0 + (number >= 20))})
        restless.add(number, values, ranges | {"x": (0.0, 1.0 + number % 7)})
    for usage, varies in ((changed, False), (restless, True)):
        assert usage.several("x")
        assert usage.rule("x", FINITE) is None
        assert usage.varies("x") is varies


@given(st.lists(st.integers(0, 2), min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_how_often_a_range_changes_does_not_depend_on_the_order_in_which_trials_come(ranges, random):
    order = list(enumerate(ranges))
    random.shuffle(order)
    usage = RangeUsage()
    for number, high in order:
        usage.add(number, {"x": 0.0}, {"x": (0, high)})
    changes = sum(a != b for a, b in itertools.pairwise(ranges))
    often = changes > RangeUsage.CHANGES or (changes >= RangeUsage.OFTEN and len(ranges) < 3 * (changes + 1))
    assert usage.varies("x") is (usage.several("x") and often)


def test_between_two_integers_a_range_covers_both():
    known = {1: (0, 1), 4: (-2, 3), 5: (5, 5)}
    assert interpolated(known) == known | {2: (-2, 3), 3: (-2, 3)}


def test_a_range_follows_a_parent_whose_value_is_given():
    space = Space({"n": Int(1, 4), "m": Int(0, 9), "x": Float(0.0, 1.0)}, ranges={"m": RULES["m"]})
    opt = GSSBO(space, n_initial=4, seed=0)
    for t in range(10):
        params = space.decode(opt.suggest(fixed={"n": 1 + t % 3}).x)
        assert fits(params)
        opt.tell(params, params["x"] - 0.1 * params["m"])
