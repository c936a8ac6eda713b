"""Every suggestion is allowed: starts, batches, local and population searches, branches, tables, fixed values."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from tests.helpers import MOSTLY, over_seeds, seeded

from numbo import BBKB, BKB, GPUCB, GSSBO, SBPE, Categorical, Float, Int, Linear, Mixture, Nonzero, Order, Space, Table


def names(d):
    return [f"x{i}" for i in range(d)]


def floats(d):
    return {name: Float(0.0, 1.0) for name in names(d)}


def in_disk(p):
    return (p["x0"] - 0.3) ** 2 + (p["x1"] - 0.6) ** 2 < 0.01 / math.pi


def is_sum(p, total=1.0):
    return abs(sum(v for v in p.values() if not isinstance(v, str)) - total) < 1e-9


def in_order(p):
    values = list(p.values())
    return all(a <= b for a, b in itertools.pairwise(values))


BRANCHES = {
    "kind": Categorical(["x", "y"]),
    "m": Float(0, 1, when={"kind": "x"}),
    "w": Float(0, 1, when={"kind": "x"}),
    "rate": Float(1e-4, 1, log=True),
    "b": Float(0, 0.99, when={"kind": "y"}),
}
MIXED = {"i": Int(0, 40), "j": Int(1, 64, log=True), "x": Float(0, 10)}
CASES = {
    "simplex": (floats(7), Mixture(names(7)), is_sum),
    "few": (floats(6), Mixture(names(6), most=2), lambda p: is_sum(p) and sum(v != 0 for v in p.values()) <= 2),
    "nonzero": (floats(4), Nonzero(names(4), 2), lambda p: sum(v != 0 for v in p.values()) <= 2),
    "order": (floats(6), Order(names(6)), in_order),
    "predicate": (floats(3), in_disk, in_disk),
    "both": (floats(3), [in_disk, Order(["x1", "x2"])], lambda p: in_disk(p) and p["x1"] <= p["x2"]),
    "integers": (
        {name: Int(0, 20) for name in names(6)},
        Linear(dict.fromkeys(names(6), 1), equal=50),
        lambda p: sum(p.values()) == 50,
    ),
    "mixed": (MIXED, Linear(dict.fromkeys(MIXED, 1), equal=30), lambda p: is_sum(p, 30.0)),
    "branches": (
        BRANCHES,
        [Linear({"m": 1, "w": 1}, most=0.5), lambda p: p["rate"] < p["b"]],
        lambda p: p["m"] + p["w"] <= 0.5 if p["kind"] == "x" else p["rate"] < p["b"],
    ),
    "finite": (
        {"i": Int(0, 9), "j": Int(0, 9), "k": Categorical(["u", "v"])},
        lambda p: p["i"] + p["j"] == 9 or p["k"] == "u",
        lambda p: p["i"] + p["j"] == 9 or p["k"] == "u",
    ),
}


def value(p, rng_weights):
    numbers = [float(v) for v in p.values() if not isinstance(v, str)]
    return sum((v / 20 - w) ** 2 for v, w in zip(numbers, rng_weights, strict=False))


@pytest.mark.parametrize("algorithm", [GSSBO, GPUCB])
@pytest.mark.parametrize("case", CASES)
def test_every_suggestion_is_allowed(case, algorithm):
    dimensions, allowed, holds = CASES[case]
    opt = algorithm(Space(dimensions, allowed=allowed), seed=seeded(0))
    weights = np.random.default_rng(seeded(1)).random(8)
    for i in range(40 if algorithm is GSSBO else 15):
        points = opt.ask(3 if i % 8 == 7 else 1)
        for p in points:
            assert holds(p), p
            opt.tell(p, None if i % 11 == 10 else value(p, weights))
    assert not opt.fell_back


@pytest.mark.parametrize("settings", [{"directions": ["minimize", "maximize"]}, {"constraints": ("c",)}])
@pytest.mark.parametrize("case", ["simplex", "predicate", "branches"])
def test_so_it_is_with_several_objectives_and_constraints(case, settings):
    dimensions, allowed, holds = CASES[case]
    opt = GSSBO(Space(dimensions, allowed=allowed), seed=0, **settings)
    weights = np.random.default_rng(seeded(1)).random((2, 8))
    for _ in range(20):
        p = opt.ask()
        assert holds(p), p
        if "constraints" in settings:
            opt.tell(p, value(p, weights[0]), constraints={"c": value(p, weights[1]) - 0.3})
        else:
            opt.tell(p, [value(p, w) for w in weights])


@pytest.mark.parametrize("case", ["simplex", "predicate", "order", "mixed"])
def test_fixed_values_are_kept_and_completed(case):
    dimensions, allowed, holds = CASES[case]
    space = Space(dimensions, allowed=allowed)
    opt = GSSBO(space, seed=0)
    weights = np.random.default_rng(seeded(1)).random(8)
    name = next(iter(dimensions))
    for i in range(16):
        drawn = space.decode(space.allowed.spread(64, np.random.default_rng(seeded(i)))[0])
        fixed = {name: space.decode(space.allowed.anchors[i])[name] if i % 2 else drawn[name]}
        if case == "predicate":
            fixed = {name: 0.3}
        x, origin = opt.suggest(fixed=fixed)
        p = space.decode(x) | fixed
        assert holds(p), (p, fixed)
        opt.learn(p, value(p, weights), key=i, origin=origin)


def test_fixed_values_that_nothing_completes_end_in_a_warning():
    opt = GSSBO(Space(floats(3), allowed=Mixture(names(3))), seed=0)
    with pytest.warns(UserWarning, match=r"^The values that are given for \['x0', 'x1'\] allow no values"):
        x, _ = opt.suggest(fixed={"x0": 0.7, "x1": 0.8})
    np.testing.assert_allclose(x[:2], [0.7, 0.8])


def test_a_function_that_changes_its_mind_is_worth_a_warning():
    answer = True
    opt = GSSBO(Space(floats(3), allowed=lambda _: answer), seed=0)
    answer = False
    with pytest.warns(UserWarning, match=r"^allowed= has a function that does not always say the same"):
        assert set(opt.ask()) == set(names(3))


def test_rows_of_a_table():
    table = Table({"a": list(range(40)), "b": [i % 7 for i in range(40)]}, allowed=lambda row: row["a"] % 3 == 0)
    opt = GSSBO(table, seed=0)
    rows = []
    for _ in range(14):
        p = opt.ask()
        rows.append(p["row"])
        opt.tell(p, p["row"])
    assert sorted(rows) == list(range(0, 40, 3))
    assert opt.exhausted


@over_seeds()
def test_the_optimum_of_a_mixture_is_found():
    d = 7
    target = np.random.default_rng(seeded(0)).dirichlet(np.ones(d))
    opt = GSSBO(Space(floats(d), allowed=Mixture(names(d))), seed=seeded(1))
    for _ in range(60):
        p = opt.ask()
        opt.tell(p, sum((v - t) ** 2 for v, t in zip(p.values(), target, strict=True)))
    assert opt.best[1] < 1e-3, MOSTLY


@over_seeds()
def test_the_optimum_on_the_bound_of_a_predicate_is_found():
    opt = GSSBO(Space(floats(2), allowed=lambda p: p["x0"] * p["x1"] < 0.1), seed=seeded(1))
    for _ in range(50):
        p = opt.ask()
        opt.tell(p, (p["x0"] - 0.6) ** 2 + (p["x1"] - 0.4) ** 2)
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 2001)] * 2), axis=-1).reshape(-1, 2)
    best = np.min(np.sum((grid[grid.prod(axis=1) < 0.1] - [0.6, 0.4]) ** 2, axis=1))
    assert opt.best[1] < best + 2e-3, MOSTLY


@pytest.mark.parametrize("case", ["simplex", "predicate"])
def test_a_restored_optimizer_continues_alike(case):
    dimensions, _, holds = CASES[case]
    allowed = CASES[case][1]
    opt = GSSBO(Space(dimensions, allowed=allowed), seed=0)
    weights = np.random.default_rng(seeded(1)).random(8)
    for _ in range(12):
        p = opt.ask()
        opt.tell(p, value(p, weights))
    twin = GSSBO.from_state_dict(opt.state_dict())
    for _ in range(3):
        p = opt.ask()
        assert twin.ask() == p
        assert holds(p)
        for one in (opt, twin):
            one.tell(p, value(p, weights))


def test_recommendations_anywhere_and_beyond_the_front_are_allowed():
    dimensions, allowed, holds = CASES["simplex"]
    opt = GSSBO(Space(dimensions, allowed=allowed), directions=["minimize", "minimize"], seed=0)
    weights = np.random.default_rng(seeded(1)).random((2, 8))
    for _ in range(20):
        p = opt.ask()
        opt.tell(p, [value(p, w) for w in weights])
    assert all(holds(p) for p, *_ in opt.snapshot().beyond_front())
    one = GSSBO(Space(dimensions, allowed=allowed), seed=0)
    for _ in range(20):
        p = one.ask()
        one.tell(p, value(p, weights[0]) + 0.01 * np.random.default_rng(seeded(len(one.observations[0]))).normal())
    assert holds(one.best_predicted(anywhere=True)[0])


@pytest.mark.parametrize("algorithm", [BKB, BBKB, SBPE])
def test_others_refuse(algorithm):
    with pytest.raises(ValueError, match=rf"^{algorithm.__name__} does not take allowed= of a space: GSSBO and GPUCB"):
        algorithm(Space(floats(2), allowed=Mixture(names(2))))
    with pytest.raises(TypeError, match=rf"^{algorithm.__name__} does not take known constraints"):
        algorithm(floats(2), allowed=Mixture(names(2)))


def test_the_optimizer_says_where_it_is_declared():
    with pytest.raises(TypeError, match=r"^GSSBO takes allowed= in its space: "):
        GSSBO(floats(2), allowed=Mixture(names(2)))


def test_a_function_that_fails_says_so_itself_and_loses_nothing(caplog):
    """The error is that of the function, not of a model; the next call continues as if there had been none."""
    broken = False

    def ordered(p):
        if broken:
            raise OSError("disk")
        return p["a"] < p["b"]

    opt = GSSBO(Space({"a": Float(0, 1), "b": Float(0, 1)}, allowed=ordered), seed=0)
    for _ in range(20):
        p = opt.ask()
        opt.tell(p, (p["a"] - 0.7) ** 2 + (p["b"] - 0.2) ** 2)
    broken = True
    with pytest.raises(ValueError, match=r"^allowed=ordered must return True or False .* raised OSError: disk$"):
        opt.ask()
    broken = False
    p = opt.ask()
    opt.tell(p, 1.0)
    assert p["a"] < p["b"]
    assert opt.n_told == 21
    assert not caplog.records
