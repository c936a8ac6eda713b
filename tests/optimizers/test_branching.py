"""Optimisation over spaces that branch."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import MOSTLY, configured, over_seeds, seeded

from numbo import BBKB, BKB, GPUCB, GSSBO, SBPE, Categorical, Float, Int, Space

SPACE = {
    "kind": Categorical(["a", "b", "c"]),
    "rate": Float(1e-4, 1.0, log=True),
    "slope": Float(0.0, 1.0, when={"kind": "a"}),
    "mode": Categorical(["x", "y"], when={"kind": ["a", "b"]}),
    "layers": Int(1, 4, when={"kind": "b"}),
    **{f"width_{i}": Int(1, 32, log=True, when={"layers": (">", i)}) for i in range(4)},
}
FINITE = {
    "kind": Categorical(["a", "b", "c"]),
    "k": Int(1, 5, when={"kind": "a"}),
    "m": Int(1, 4, when={"kind": ["a", "b"]}),
}
MAKERS = {
    "GSSBO": GSSBO,
    "GSSBO-paper": lambda space, **kw: configured(GSSBO, space, preset="paper", **kw),
    "GPUCB": GPUCB,
    "BKB": BKB,
    "BBKB": BBKB,
    "SBPE": lambda space, **kw: configured(SBPE, space, horizon=80, **kw),
}


@pytest.fixture(params=list(MAKERS))
def make(request):
    return lambda space, **kw: MAKERS[request.param](space, seed=seeded(0), n_initial=8, **kw)


def objective(p):
    """Its minimum is 0, in the branch that has the most parameters."""
    loss = 0.1 * (np.log10(p["rate"]) + 2.0) ** 2 + (0.2 if p.get("mode") == "x" else 0.0)
    if p["kind"] == "a":
        return loss + 0.5 + (p["slope"] - 0.5) ** 2
    if p["kind"] == "c":
        return loss + 0.7
    loss += 0.2 * abs(p["layers"] - 2)
    return loss + 0.05 * sum(abs(np.log2(p[f"width_{i}"]) - 3.0) for i in range(p["layers"]))


@over_seeds()
def test_points_name_what_is_active_and_the_best_branch_is_found(make):
    opt = make(SPACE)
    for i in range(70):
        params = opt.ask()
        opt.space.encode(params)  # refuses what is not as the conditions say
        opt.tell(params, None if i % 20 == 7 else objective(params))
    params, value = opt.best
    assert params["kind"] == "b", MOSTLY
    assert value < (0.25 if isinstance(opt, SBPE) else 0.1), MOSTLY  # 0.13 at best of eight runs without a model


def test_points_asked_for_together_differ_in_what_is_active(make):
    opt = make(SPACE)
    for _ in range(20):
        params = opt.ask()
        opt.tell(params, objective(params))
    batch = opt.ask(8)
    assert len({tuple(sorted(params.items())) for params in batch}) == 8


@pytest.mark.parametrize("name", [name for name in MAKERS if name != "SBPE"])  # it repeats what is still in its race
def test_each_point_of_a_finite_space_is_suggested_once(name):
    opt = MAKERS[name](FINITE, seed=0, n_initial=8)
    assert opt.space.cardinality == 5 * 4 + 4 + 1
    seen = set()
    for _ in range(25):
        params = opt.ask()
        seen.add(tuple(sorted(params.items())))
        opt.tell(params, params.get("k", 3) + abs(params.get("m", 9) - 2))
    assert len(seen) == 25
    assert opt.exhausted
    assert opt.best == ({"kind": "a", "k": 1, "m": 2}, 1.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"slope": 0.5}, "must not name 'slope', which is active only where kind is a"),
        ({"width_2": 4}, "must not name 'width_2', which is active only where layers > 2"),
        ({"layers": None}, "must name 'layers', which is active where kind is b"),
    ],
)
def test_what_the_conditions_contradict_is_refused_and_loses_nothing(make, change, words):
    opt = make(SPACE)
    point = {"kind": "b", "rate": 0.1, "mode": "x", "layers": 2, "width_0": 4, "width_1": 4}
    wrong = {name: value for name, value in (point | change).items() if value is not None}
    for action in (lambda: opt.tell(wrong, 1.0), lambda: opt.hold("key", wrong)):
        with pytest.raises(ValueError, match=words) as error:
            action()
        assert "\n" not in str(error.value)
    assert (opt.n_told, opt.pending) == (0, [])
    opt.tell(point, 1.0)


def test_given_values_decide_what_is_active(make):
    opt = make(SPACE)
    for _ in range(15):
        params = opt.ask()
        opt.tell(params, objective(params))
    for fixed in ({"kind": "a"}, {"kind": "b", "layers": 4}, {"kind": "b", "layers": 1, "width_0": 3}):
        x, _ = opt.suggest(fixed=fixed)
        params = opt.space.decode(x)
        assert fixed.items() <= params.items()
        opt.space.encode(params)


def test_a_restored_optimizer_goes_on_exactly(make):
    opt = make(SPACE)
    for _ in range(25):
        params = opt.ask()
        opt.tell(params, objective(params))
    again = type(opt).from_state_dict(opt.state_dict())
    for _ in range(4):
        params = opt.ask()
        assert again.ask() == params
        opt.tell(params, objective(params))
        again.tell(params, objective(params))


def test_names_and_the_order_of_dimensions_do_not_matter_to_what_is_active():
    space = Space({name: SPACE[name] for name in reversed(SPACE)})
    assert space.decode(space.encode({"kind": "c", "rate": 1.0})) == {"kind": "c", "rate": 1.0}
    assert Space(SPACE).cardinality == np.inf
