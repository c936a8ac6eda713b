"""Constraints: what is feasible is found and searched, and what is told is kept."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.helpers import MOSTLY, over_seeds, seeded

from numbo import BBKB, BKB, GPUCB, GSSBO, SBPE, Categorical, Float, Int, Space

SPACE = Space({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)})


def objective(p):
    return (p["x"] - 0.9) ** 2 + (p["y"] - 0.9) ** 2


def limits(p):
    return {"sum": p["x"] + p["y"] - 0.8, "left": 0.2 - p["x"]}


def told(opt, n):
    for _ in range(n):
        p = opt.ask()
        opt.tell(p, objective(p), constraints=limits(p))
    return opt


def make(cls=GSSBO, **settings):
    return cls(SPACE, seed=seeded(0), constraints=("sum", "left"), **settings)


@pytest.mark.parametrize("cls", [GSSBO, GPUCB])
@over_seeds()
def test_the_optimum_on_the_edge_of_the_feasible_region_is_found(cls):
    opt = told(make(cls), 40)
    params, value = opt.best
    assert max(limits(params).values()) <= 0.0
    assert value < 0.5 + 1e-3, MOSTLY  # (0.4, 0.4) has 0.5


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_best_is_feasible_or_there_is_none(direction):
    opt = make(direction=direction)
    sign = 1.0 if direction == "minimize" else -1.0
    opt.tell({"x": 0.9, "y": 0.9}, -100.0 * sign, constraints={"sum": 1.0, "left": -0.7})
    opt.tell({"x": 0.1, "y": 0.9}, -200.0 * sign, constraints={"sum": 0.2, "left": 0.1})
    assert opt.best is None
    assert opt.best_predicted() is None
    opt.tell({"x": 0.3, "y": 0.3}, 5.0 * sign, constraints={"sum": -0.2, "left": -0.1})
    opt.tell({"x": 0.8, "y": 0.8}, -300.0 * sign, constraints={"sum": 0.8, "left": -0.6})
    assert opt.best == ({"x": 0.3, "y": 0.3}, 5.0 * sign)
    assert opt.best_predicted()[0] == {"x": 0.3, "y": 0.3}
    opt.tell({"x": 0.35, "y": 0.3}, 4.0 * sign, constraints={"sum": 0.0, "left": -0.1})  # on the edge
    assert opt.best == ({"x": 0.35, "y": 0.3}, 4.0 * sign)


@pytest.mark.parametrize("cls", [GSSBO, GPUCB])
@pytest.mark.parametrize("feasible", [True, False])
def test_a_restored_optimizer_goes_on_as_it_was(cls, feasible):
    opt = make(cls)
    for _ in range(33):
        p = opt.ask()
        found = limits(p) if feasible else {name: 1.0 + abs(value) for name, value in limits(p).items()}
        opt.tell(p, objective(p), constraints=found)
    twin = cls.from_state_dict(opt.state_dict())
    assert twin.constraints == ("sum", "left")
    for _ in range(3):
        p, q = opt.ask(), twin.ask()
        assert p == q
        for one in (opt, twin):
            one.tell(p, objective(p), constraints=limits(p))
    assert repr(opt.state_dict()) == repr(twin.state_dict())


def test_what_was_not_told_is_not_violated_and_nan_is():
    opt = make()
    opt.tell({"x": 0.5, "y": 0.5}, 3.0)
    assert opt.best[1] == 3.0
    opt.tell({"x": 0.4, "y": 0.5}, 2.0, constraints={"sum": -1.0})
    assert opt.best[1] == 2.0
    opt.tell({"x": 0.4, "y": 0.4}, 1.0, constraints={"sum": math.nan, "left": -1.0})
    opt.tell({"x": 0.4, "y": 0.3}, 1.0, constraints={"sum": math.inf})
    opt.tell({"x": 0.3, "y": 0.3}, 1.5, constraints={"sum": -math.inf})
    assert opt.best[1] == 1.5
    for _ in range(20):
        opt.ask()
        opt.hold_only({})


VALUES = [0.0, -0.0, 1.0, -1.0, 1e300, -1e300, 5e-324, math.inf, -math.inf, math.nan, 1e-300]


@pytest.mark.parametrize("seed", range(4))
def test_constraints_of_any_values_do_no_harm(seed):
    rng = np.random.default_rng(seed)
    names = [f"c{j}" for j in range((1, 2, 9, 100)[seed])]
    space = {"x": Float(0.0, 1.0), "k": Int(1, 9), "act": Categorical(["a", "b"])}
    opt = GSSBO(space, seed=seed, constraints=names)
    for i in range((30, 30, 30, 15)[seed]):
        p = opt.ask()
        found = {name: VALUES[rng.integers(len(VALUES))] for name in names if rng.random() < 0.8}
        opt.tell(p, None if i % 9 == 0 else p["x"], constraints=found)
    assert opt.predict(p)[1] >= 0.0
    opt.explain()


def test_constant_and_equal_constraints_change_nothing():
    def run(names, found):
        opt = GSSBO(SPACE, seed=0, constraints=names)
        for _ in range(25):
            p = opt.ask()
            opt.tell(p, objective(p), constraints=found)
        return opt.ask()

    assert run(("a",), {"a": -1.0}) == run((), None)


@pytest.mark.parametrize("cls", [BKB, BBKB, SBPE])
def test_others_refuse_and_name_who_does_not(cls):
    with pytest.raises(TypeError, match=rf"^{cls.__name__} does not support constraints, .*: GSSBO does\.$"):
        cls(SPACE, constraints=("a",))
    opt = cls(SPACE, **({"horizon": 10} if cls is SBPE else {}))
    with pytest.raises(ValueError, match="constraints must be among those of the optimizer, \\[\\]; got \\['a'\\]"):
        opt.tell(opt.ask(), 1.0, constraints={"a": 1.0})


def test_bad_input_is_refused_and_loses_nothing():
    for wrong in ("latency", {"a": 1}, ("a", "a"), (1,), None):
        with pytest.raises(ValueError, match="constraints must be different names"):
            GSSBO(SPACE, constraints=wrong)
    opt = make()
    p = opt.ask()
    for wrong, words in (
        ({"speed": 1.0}, "got \\['speed'\\]"),
        ([1.0], "must be a mapping"),
        ({"sum": "big"}, r"constraints\['sum'\] must be a number, got 'big'"),
    ):
        with pytest.raises(ValueError, match=words):
            opt.tell(p, 1.0, constraints=wrong)
    with pytest.raises(ValueError, match="2 points and 2 values and 1 constraints"):
        opt.tell([p, p], [1.0, 2.0], constraints=[{}])
    assert opt.n_told == 0
    assert opt.pending == [p]
    opt.tell([p, p], [1.0, 2.0], constraints=[{"sum": 1.0}, {"sum": -1.0}])
    assert opt.best[1] == 2.0


def test_pending_points_of_a_batch_differ_while_nothing_is_feasible():
    opt = make()
    for _ in range(12):
        p = opt.ask()
        opt.tell(p, 1.0, constraints={"sum": 1.0 + p["x"], "left": 1.0 + p["y"]})
    batch = opt.ask(8)
    assert len({tuple(p.values()) for p in batch}) == 8


def test_a_small_feasible_region_is_found():
    """A ball that fills 0.2 % of a cube in five dimensions."""
    found = []
    for seed in range(5):
        center = np.random.default_rng(seed).uniform(0.2, 0.8, 5)
        opt = GSSBO({f"x{j}": Float(0.0, 1.0) for j in range(5)}, seed=seed, constraints=("inside",))
        for _ in range(60):
            p = opt.ask()
            x = np.array(list(p.values()))
            opt.tell(p, float(x.sum()), constraints={"inside": float(np.sum((x - center) ** 2)) - 0.04})
        found.append(opt.best is not None)
    assert sum(found) == 5


@pytest.mark.parametrize("exact_too", [False, True])
@over_seeds()
def test_under_noise_a_lucky_value_does_not_make_a_point_feasible(exact_too):
    """The border of one constraint lies at 0.5; the other one always holds."""
    names = ("noisy", "exact") if exact_too else ("noisy",)
    found = []
    for seed in range(4):
        rng = np.random.default_rng(seeded(seed))
        opt = GSSBO({"x": Float(0.0, 1.0)}, seed=seeded(seed), constraints=names, direction="maximize")
        told = {}
        for x in rng.random(80):
            limits = {"noisy": float(x - 0.5 + 0.15 * rng.normal()), "exact": float(x - 2.0)}
            told[float(x)] = {name: limits[name] for name in names}
            opt.tell({"x": float(x)}, float(x), constraints=told[float(x)])
        best = opt.best_predicted()
        assert max(told[best[0]["x"]].values()) <= 0.0
        found.append(best[0]["x"])
    assert max(found) < 0.6, MOSTLY
    assert np.median(found) > 0.4, MOSTLY


def test_what_is_shown_is_what_is_maximised_while_nothing_is_feasible():
    opt = make()
    rng = np.random.default_rng(1)
    for _ in range(15):
        p = {"x": float(rng.random()), "y": float(rng.random())}
        opt.tell(p, objective(p), constraints={"sum": abs(rng.normal()), "left": abs(rng.normal())})
    points = [{"x": float(a), "y": float(b)} for a, b in rng.random((50, 2))]
    shown = opt.acquisition_values(points)
    np.testing.assert_allclose(shown, np.log(opt.predict_feasible(points)), rtol=1e-6)
    opt.tell({"x": 0.2, "y": 0.2}, 0.0, constraints={"sum": -1.0, "left": -1.0})
    assert not np.allclose(opt.acquisition_values(points), np.log(opt.predict_feasible(points)))


@pytest.mark.parametrize("violated", [math.inf, math.nan])
@over_seeds()
def test_violations_of_unknown_size_are_learned(violated):
    opt, met = make(), 0
    for _ in range(50):
        p = opt.ask()
        found = {name: value if value <= 0.0 else violated for name, value in limits(p).items()}
        met += max(limits(p).values()) <= 0.0
        opt.tell(p, objective(p), constraints=found)
    assert opt.best[1] < 0.55, MOSTLY
    assert opt.predict_feasible({"x": 0.9, "y": 0.9}) < 0.2, MOSTLY
    assert met > 10, MOSTLY


@pytest.mark.parametrize("value", [1.0, math.nan, math.inf])
@over_seeds()
def test_where_nothing_says_what_is_feasible_points_fill_the_space(value):
    opt, points = make(), []
    for _ in range(64):
        p = opt.ask()
        opt.tell(p, objective(p), constraints={"sum": value, "left": value})
        points.append((int(4 * p["x"]), int(4 * p["y"])))
    assert max(np.unique(points, axis=0, return_counts=True)[1]) <= 8, MOSTLY


@over_seeds()
def test_a_trial_without_constraints_is_judged_by_the_model_once_others_have_them():
    opt = make()
    opt.tell({"x": 0.9, "y": 0.9}, -5.0)
    assert opt.best[1] == -5.0  # nothing else is known
    for _ in range(40):
        p = opt.ask()
        opt.tell(p, objective(p), constraints=limits(p))
    assert opt.best[1] < 0.55, MOSTLY
    assert opt.best == opt.best_predicted()
    assert opt.best[0] != {"x": 0.9, "y": 0.9}
    twin = GSSBO.from_state_dict(opt.state_dict())
    assert twin.best == opt.best
    assert twin.ask() == opt.ask()


@over_seeds()
def test_yes_or_no_is_understood():
    found = []
    for seed in range(3):
        opt = GSSBO(SPACE, seed=seeded(seed), constraints=("over",))
        for _ in range(60):
            p = opt.ask()
            opt.tell(p, objective(p), constraints={"over": float(p["x"] + p["y"] > 0.8)})
        found.append(opt.best[1])
        assert opt.predict_feasible({"x": 0.1, "y": 0.1}) > 0.6, MOSTLY
        assert opt.predict_feasible({"x": 0.9, "y": 0.9}) < 0.1, MOSTLY
    assert max(found) < 0.55, MOSTLY


@over_seeds()
def test_what_was_measured_is_known_however_close_trials_are_to_the_border():
    """In the end most values are tiny: they are not the scale of a constraint."""
    opt = told(make(), 80)
    points = [opt.space.decode(x) for x in opt.observations[0]]
    values = np.array([list(limits(p).values()) for p in points])
    known = np.abs(values).min(axis=1) > 1e-3
    met = values.max(axis=1) <= 0.0
    probability = opt.predict_feasible(points)
    assert (probability[known & met] > 0.5).all(), MOSTLY
    assert (probability[known & ~met] < 0.5).all(), MOSTLY


def test_there_is_no_probability_without_constraints():
    opt = told(GSSBO(SPACE, seed=0, constraints=()), 0)
    opt.tell({"x": 0.1, "y": 0.1}, 1.0)
    with pytest.raises(ValueError, match="predict_feasible needs constraints, of which this GSSBO has none"):
        opt.predict_feasible({"x": 0.1, "y": 0.1})
