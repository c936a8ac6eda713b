"""Combinations of categories: each is tried, where they are few."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.helpers import MOSTLY, configured, over_seeds, seeded
from tests.runs import tell
from tests.search.searches import global_search, sampled

from numbo import GSSBO, Categorical, Float, Int, Space
from numbo.optimizers.gp_ucb import Everything
from numbo.rules import Elsewhere, GlobalModel, Untried, untried
from numbo.rules.untried import EVERY, KEPT, LEFT, LISTED, LISTED_LATE, stands_still

SPACE = {
    "a": Categorical(list("xyz")),
    "b": Categorical(list("xyz")),
    "c": Categorical(list("xyz")),
    "u": Float(0, 1),
    "v": Float(0, 1),
}


def hidden(good, u):
    """One combination is better than all others; single effects point away from it."""

    def value(p):
        smooth = (p["u"] - u[0]) ** 2 + (p["v"] - u[1]) ** 2
        combination = p["a"], p["b"], p["c"]
        return (
            smooth
            if combination == good
            else smooth + 1.0 + sum(x == g for x, g in zip(combination, good, strict=True))
        )

    return value


def run(space, value, trials, **settings):
    opt, points = configured(GSSBO, space, seed=seeded(settings.pop("seed", 0)), **settings), []
    for _ in range(trials):
        p = opt.ask()
        opt.tell(p, value(p))
        points.append(p)
    return points


@pytest.fixture
def advancing(monkeypatch):
    """Records never stand still."""
    monkeypatch.setattr(untried, "stands_still", lambda run: False)


@pytest.mark.parametrize("seed", range(4))
def test_every_combination_is_tried_early(seed):
    rng = np.random.default_rng(seeded(seed))
    good, u = tuple(rng.choice(list("xyz"), 3)), rng.random(2)
    points = run(SPACE, hidden(good, u), 60, seed=seed)
    assert len({(p["a"], p["b"], p["c"]) for p in points}) == 27


@over_seeds(0.5, of=14)
def test_without_it_they_are_not():
    points = run(SPACE, hidden(("x", "y", "z"), (0.3, 0.6)), 60, cover_categories=False)
    assert len({(p["a"], p["b"], p["c"]) for p in points}) < 27, MOSTLY


def test_once_all_are_tried_suggestions_are_those_of_any_search():
    space = Space({"a": Categorical(list("xy")), "b": Categorical(list("xy")), "u": Float(0, 1)})
    settings = {"n_initial": 20}  # which has all four

    def value(p):
        return (p["u"] - 0.3) ** 2 + (p["a"] == "x") * 0.2 + (p["b"] == "y") * p["u"]

    assert run(space, value, 40, **settings) == run(space, value, 40, cover_categories=False, **settings)


@pytest.mark.parametrize(
    "space", [{"a": Categorical(list("xyz")), "u": Float(0, 1)}, {"k": Int(0, 9), "u": Float(0, 1)}]
)
def test_single_categories_are_left_to_the_model(space, advancing):
    def value(p):
        return (p["u"] - 0.3) ** 2 + 0.1 * len(str(p.get("a", p.get("k"))))

    assert run(space, value, 25) == run(space, value, 25, cover_categories=False)


def test_many_combinations_are_left_to_the_model(advancing):
    space = {f"c{i}": Categorical(list("xyzw")) for i in range(3)} | {"u": Float(0, 1)}
    assert LISTED < 4**3

    def value(p):
        return (p["u"] - 0.3) ** 2 + 0.1 * (p["c0"] == "x")

    assert run(space, value, 25) == run(space, value, 25, cover_categories=False)


def test_what_failed_or_is_pending_was_tried():
    opt, seen = GSSBO(SPACE, seed=0, n_initial=10), []
    for i in range(10 + 2 * 27):
        p = opt.ask()
        seen.append((p["a"], p["b"], p["c"]))
        if i < 10 or i % 4 < 2:
            opt.tell(p, None if i % 4 == 0 and i >= 10 else p["u"])  # the others stay pending
    due = [i for i in range(10, len(seen)) if i % EVERY == 0]
    fresh = [i for i in due if seen[i] not in seen[:i]]
    assert len(set(seen)) == 27
    assert fresh == due[: len(fresh)]  # none of them twice before all were tried


def test_conditional_parameters_of_an_untried_category_have_values():
    space = Space(
        {
            "model": Categorical(["svm", "tree", "linear"]),
            "scaler": Categorical(["none", "standard", "robust", "rank"]),
            "gamma": Float(1e-3, 1.0, log=True, when={"model": "svm"}),
            "depth": Int(1, 9, when={"model": "tree"}),
        }
    )

    def value(p):
        assert ("gamma" in p) == (p["model"] == "svm")
        assert ("depth" in p) == (p["model"] == "tree")
        return len(p["scaler"]) + p.get("gamma", 0.0) + 0.1 * p.get("depth", 5)

    points = run(space, value, 40)
    assert len({(p["model"], p["scaler"]) for p in points}) == 12


def test_a_restored_search_goes_on_with_those_that_are_left():
    value = hidden(("x", "y", "z"), (0.3, 0.6))
    opt = GSSBO(SPACE, seed=1)
    for _ in range(21):
        p = opt.ask()
        opt.tell(p, value(p))
    twin = GSSBO.from_state_dict(opt.state_dict())
    for _ in range(12):
        p, q = opt.ask(), twin.ask()
        assert p == q
        opt.tell(p, value(p))
        twin.tell(q, value(q))


def rare(seed):
    """A space with 64 combinations, its values, and whether a point has the one that is like no other."""
    rng = np.random.default_rng(seeded(seed))
    good = int(rng.integers(1, 5)), int(rng.integers(1, 5)), str(rng.choice(list("pqrs")))
    center = rng.random(2)
    space = {"i": Int(1, 4), "j": Int(1, 4), "k": Categorical(list("pqrs")), "u": Float(0, 1), "v": Float(0, 1)}

    def hit(p):
        return (p["i"], p["j"], p["k"]) == good

    def value(p):
        smooth = (p["u"] - center[0]) ** 2 + (p["v"] - center[1]) ** 2
        return smooth + 0.2 * abs(p["i"] - 2) + 0.2 * abs(p["j"] - 3) - 2.0 * hit(p)

    return space, value, hit


@over_seeds(0.9, of=6)
def test_a_search_that_has_converged_looks_for_combinations_like_no_other():
    """Of ten runs seven missed the best one before, since all later trials refined digits."""
    space, value, hit = rare(0)
    assert any(hit(p) for p in run(space, value, 100)), MOSTLY


def bowl(p):
    """Nothing but digits is left to find after a while."""
    return sum((v - 0.4) ** 2 for v in p.values() if isinstance(v, float))


@pytest.mark.parametrize(
    ("space", "combinations"),
    [
        ({"k": Categorical(range(30)), "u": Float(0, 1), "v": Float(0, 1)}, 30),
        ({"k": Categorical(list("abcdefghijklmnopqrst")), "i": Int(1, 2), "u": Float(0, 1)}, 40),
        ({"i": Int(0, 4), "j": Int(0, 7), "u": Float(0, 1)}, 40),
    ],
)
def test_categories_and_small_integers_are_covered_once_records_stand_still(space, combinations):
    points = run(space, bowl, 100)
    assert len({tuple(v for v in p.values() if not isinstance(v, float)) for p in points}) == combinations


def test_of_too_many_combinations_each_value_is_tried():
    space = {"k": Categorical(range(40)), "i": Int(1, 16), "n": Int(1, 1000), "u": Float(0, 1)}
    assert LISTED_LATE < 40 * 16
    points = run(space, bowl, 110)
    assert {p["k"] for p in points} == set(range(40))
    assert {p["i"] for p in points} == set(range(1, 17))


def test_one_suggestion_in_four_goes_on_where_the_search_is(monkeypatch):
    monkeypatch.setattr(untried, "stands_still", lambda run: True)
    space = Space({"k": Int(0, 7), "l": Int(0, 7), "u": Float(0.0, 1.0)})
    run = sampled(space, 30, bowl)
    rule = Elsewhere(GlobalModel(global_search(run), Everything()), space)
    for _ in range(12):
        seen = {(p["k"], p["l"]) for p in run.history.trials.params}
        found = rule.propose(run)
        assert (found is None) == (run.turn % KEPT == 0)
        p = space.decode(run.space_filling() if found is None else found.x)
        assert found is None or (p["k"], p["l"]) not in seen
        tell(run, p, bowl(p))


@pytest.mark.parametrize(("improvements", "still"), [(40, False), (20, True)])
def test_records_stand_still_once_only_last_digits_improve(improvements, still):
    opt = GSSBO({"k": Int(0, 9), "u": Float(0, 1)}, seed=0)
    for i in range(40):
        opt.tell({"k": i % 10, "u": 0.025 * i}, -float(min(i, improvements)) - 1e-6 * i)
    assert stands_still(opt._run) == still


def test_every_second_suggestion_covers_a_combination_of_categories():
    space = Space({"a": Categorical(list("xyz")), "b": Categorical(list("uv")), "c": Float(0.0, 1.0)})
    run = sampled(space, 4, lambda p: p["c"] - (p["a"] == "x"))
    model = GlobalModel(global_search(run), Everything())
    rule = Untried(model, space)
    for _ in range(20):
        seen = {(p["a"], p["b"]) for p in run.history.trials.params}
        found = rule.propose(run)
        assert (found is not None) == (run.step % EVERY == 0 and len(seen) < 6)
        p = space.decode(model.best(run) if found is None else found.x)
        assert found is None or (p["a"], p["b"]) not in seen
        tell(run, p, p["c"] - (p["a"] == "x"))
    assert len({(p["a"], p["b"]) for p in run.history.trials.params}) == 6


def test_a_single_category_is_covered_after_a_while():
    space = Space({"k": Categorical(list("abcdef")), "u": Float(0.0, 1.0)})
    run = sampled(space, 1, lambda p: p["u"])
    first = run.history.trials.params[0]["k"]
    rule = Untried(GlobalModel(global_search(run), Everything()), space)
    for turn in range(1, LEFT + EVERY * 6):
        seen = {p["k"] for p in run.history.trials.params}
        found = rule.propose(run)
        assert (found is not None) == (turn % EVERY == 0 and turn >= LEFT and len(seen) < 6)
        p = {"k": first, "u": turn / 100.0} if found is None else space.decode(found.x)
        assert found is None or p["k"] not in seen
        tell(run, p, p["u"])
    assert len({p["k"] for p in run.history.trials.params}) == 6


def test_combinations_are_covered_where_numbers_are_fixed_and_not_where_a_category_is():
    opt = GSSBO({**SPACE, "n": Int(1, 1000)}, seed=0)
    seen = set()
    for _ in range(60):
        p = opt.space.decode(opt.suggest(fixed={"u": 0.3, "n": 7}).x)
        assert (p["u"], p["n"]) == (pytest.approx(0.3), 7)
        seen.add((p["a"], p["b"], p["c"]))
        opt.tell(p, (p["v"] - 0.4) ** 2 + (p["a"] != "x") + (p["b"] != "x") + (p["c"] != "x"))
    assert len(seen) == 27

    space = Space(SPACE)
    found = sampled(space, 30, lambda p: p["u"])
    rule = Untried(GlobalModel(global_search(found), Everything()), space)
    proposed = []
    for fixed in ({}, {"u": 0.3}, {"a": "y"}):
        proposed.append(rule.propose(replace(found, fixed=space.partial(fixed) if fixed else None)))
    assert proposed[0] is not None
    assert space.decode(proposed[1].x)["u"] == pytest.approx(0.3)
    assert proposed[2] is None
