"""Known constraints in Ray Tune, on the names of parameters and on configs."""

from __future__ import annotations

import pytest
from ray import tune

from numbo import Linear, Mixture, Order, Table
from numbo.ray import BKBSearch, GSSBOSearch

NAMES = ["a", "b", "c"]
SPACE = {name: tune.uniform(0, 1) for name in NAMES} | {
    "d": {"kind": tune.choice(["u", "v"]), "q": tune.quniform(0, 1, 0.1)},
    "net": tune.choice([{"width": tune.randint(1, 9)}, {"depth": tune.randint(1, 9)}]),
}


def holds(config):
    shallow = "depth" not in config["net"] or config["net"]["depth"] < 4
    pairs = config["a"] < 0.5 or config["d"]["kind"] == "u"
    return abs(sum(config[n] for n in NAMES) - 1) < 1e-9 and pairs and shallow and config["d"]["q"] <= 0.55


def searcher(**settings):
    allowed = [
        Mixture(NAMES),
        lambda c: c["a"] < 0.5 or c["d"]["kind"] == "u",
        lambda c: c["net"]["depth"] < 4,
        Linear({"d/q": 1}, most=0.55),
    ]
    return GSSBOSearch(SPACE, "loss", "min", seed=0, allowed=allowed, **settings)


def go(search, first, last):
    configs = []
    for i in range(first, last):
        configs.append(search.suggest(f"t{i}"))
        search.on_trial_complete(f"t{i}", {"loss": sum(configs[-1][n] ** 2 for n in NAMES), "training_iteration": 1})
    return configs


def test_every_suggestion_is_allowed():
    found = go(searcher(), 0, 25)
    assert all(map(holds, found))
    assert {"u", "v"} == {config["d"]["kind"] for config in found}


def test_points_to_evaluate_are_completed():
    search = searcher(points_to_evaluate=[{"a": 0.25, "b": 0.5}])
    first = search.suggest("t")
    assert (first["a"], first["b"]) == (0.25, 0.5)
    assert holds(first)


def test_a_restored_searcher_has_them_also_functions_of_a_script(tmp_path):
    search = searcher()
    go(search, 0, 6)
    search.save(str(tmp_path / "state"))
    twin = GSSBOSearch(SPACE, "loss", "min")
    twin.restore(str(tmp_path / "state"))
    assert twin.suggest("next") == search.suggest("next")
    assert all(map(holds, go(twin, 10, 14)))


def test_the_space_of_the_tuner_has_them_too():
    search = GSSBOSearch(metric="loss", mode="min", seed=0, allowed=Order(["a", "b"]))
    search.set_search_properties(None, None, {"a": tune.uniform(0, 1), "b": tune.uniform(0, 1), "c": 3})
    assert all(config["a"] <= config["b"] for config in (search.suggest(f"t{i}") for i in range(6)))


def test_quantised_domains():
    space = {"a": tune.quniform(0, 1, 0.1), "b": tune.quniform(0, 1, 0.25), "c": tune.uniform(0, 1)}
    search = GSSBOSearch(space, "loss", "min", seed=0, allowed=Mixture(NAMES))
    assert all(abs(sum(c.values()) - 1) < 1e-9 for c in (search.suggest(f"t{i}") for i in range(8)))
    with pytest.raises(ValueError, match=r"^Order takes domains that are quantised alike"):
        GSSBOSearch(space, "loss", "min", allowed=Order(["a", "b"]))
    with pytest.raises(ValueError, match=r"^most of Mixture must be None where domains are quantised"):
        GSSBOSearch(space, "loss", "min", allowed=Mixture(NAMES, most=2))


def test_rows_of_a_table():
    table = Table({"a": list(range(9)), "b": [i % 3 for i in range(9)]})
    search = GSSBOSearch(table, "loss", "min", seed=0, allowed=Linear({"b": 1}, most=1))
    assert sorted(c["row"] for c in (search.suggest(f"t{i}") for i in range(6))) == [0, 1, 3, 4, 6, 7]


def test_others_refuse():
    with pytest.raises(TypeError, match=r"^BKBSearch does not take known constraints"):
        BKBSearch(SPACE, "loss", "min", allowed=Mixture(NAMES))
