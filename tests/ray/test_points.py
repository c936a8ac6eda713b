"""Points to evaluate that say more than the tuned values: constants, values that Tune fills in, other structures."""

from __future__ import annotations

import json

import pytest
from ray import tune
from ray.tune.impl.placeholder import create_resolvers_map, inject_placeholders
from ray.tune.utils.util import flatten_dict, merge_dicts

from numbo.ray import BBKBSearch, GSSBOSearch
from numbo.ray._domains import TuneSpace

SPACE = {
    "x": tune.uniform(0.0, 1.0),
    "net": {"width": tune.randint(1, 9), "kind": "mlp", "sizes": (1, 2), "opt": {"name": "adam", "beta": 0.9}},
    "drops": [tune.uniform(0.0, 0.5), 0.1, {"rate": tune.uniform(0.0, 1.0), "fixed": 3}],
    "lr": 0.3,
    "none": None,
}
GOAL = {"metric": "loss", "mode": "min", "seed": 0}
SAME = {
    "x": 0.5,
    "net": {"width": 3, "kind": "mlp", "sizes": [1, 2], "opt": {"name": "adam", "beta": 0.9}},
    "drops": [0.25, 0.1, {"rate": 0.5, "fixed": 3}],
    "lr": 0.3,
    "none": None,
}
OTHERS = [
    ({"x": 0.5, "lr": 6.57}, {"lr": 6.57}),
    ({"x": 0.5, "net": {"width": 3, "kind": "cnn"}}, {"net/kind": "cnn"}),
    ({"net/width": 3, "net/opt/beta": 0.5}, {"net/opt/beta": 0.5}),
    ({"net": {"opt/beta": 0.5}}, {"net/opt/beta": 0.5}),
    ({"net": {"opt": "sgd"}}, {"net/opt": "sgd"}),
    ({"lr": {"start": 0.1}}, {"lr": {"start": 0.1}}),
    ({"none": 0}, {"none": 0}),
    ({"drops": [0.25, 0.2, {"rate": 0.5, "fixed": 4}]}, {"drops/1": 0.2, "drops/2/fixed": 4}),
    ({"drops/2/fixed": 4}, {"drops/2/fixed": 4}),
]


def value_at(config, name):
    for key in name.split("/"):
        config = config[int(key) if isinstance(config, list) else key]
    return config


@pytest.mark.allows_fallback  # a warning
@pytest.mark.parametrize(("point", "others"), OTHERS, ids=str)
@pytest.mark.parametrize("cls", [GSSBOSearch, BBKBSearch])
def test_other_constants_are_run_and_not_learned(cls, point, others, caplog):
    search = cls(SPACE, **GOAL, points_to_evaluate=[point, {"x": 0.25}])
    run = merge_dicts(SPACE, search.suggest("given"))  # as Tune does
    for name, value in others.items():
        assert value_at(run, name) == value
    assert run["x"] == point.get("x", run["x"])
    assert f"other constants than the param_space, {others}: it is evaluated with them, and not learned." in caplog.text
    search.on_trial_result("given", {"loss": 1.0, "training_iteration": 50})
    search.on_trial_complete("given", {"loss": 1.0, "training_iteration": 50})
    config = search.suggest("next")
    search.on_trial_complete("next", {"loss": 2.0, "training_iteration": 10})
    assert merge_dicts(SPACE, config)["lr"] == 0.3
    assert search.optimizer.observations[1].tolist() == [2.0]
    assert search.optimizer.pending == []
    assert search.best_predicted() is not None  # 10 iterations are no early end: the other trial does not count


@pytest.mark.parametrize("point", [SAME, flatten_dict(SAME), json.loads(json.dumps(SAME)), {"x": 0.5}], ids=str)
def test_the_same_constants_or_none_are_learned(point, caplog):
    search = GSSBOSearch(SPACE, **GOAL, points_to_evaluate=[point])
    config = search.suggest("given")
    assert config.keys() == {"x", "net", "drops"}
    assert config["net"].keys() == {"width"}
    search.on_trial_complete("given", {"loss": 1.0})
    assert search.optimizer.n_told == 1
    assert not caplog.records


@pytest.mark.allows_fallback  # a warning
def test_constants_beside_the_space_of_a_searcher_are_known(caplog):
    points = [{"x": 0.5, "net": {"kind": "mlp"}}, {"x": 0.5, "net/kind": "cnn"}, {"x": 0.5, "depth": 3}]
    search = GSSBOSearch({"x": tune.uniform(0.0, 1.0)}, seed=0, points_to_evaluate=points)
    assert search.set_search_properties("loss", "min", {"net": {"kind": "mlp"}})
    assert search.suggest("a") == {"x": 0.5}
    assert not caplog.records
    assert search.suggest("b") == {"x": 0.5, "net": {"kind": "cnn"}}
    assert "other constants than the param_space, {'net/kind': 'cnn'}" in caplog.text
    assert search.suggest("c") == {"x": 0.5}
    assert "names that are not in the search space: ['depth']" in caplog.text
    assert len(search.optimizer.pending) == 2


@pytest.mark.allows_fallback  # a warning
def test_a_restored_search_knows_which_trials_have_other_constants(tmp_path):
    points = [{"x": 0.5, "lr": 6.57}, {"x": 0.5}, {"x": 0.75, "lr": 6.57}]
    search = GSSBOSearch(SPACE, **GOAL, points_to_evaluate=points)
    configs = {name: merge_dicts(SPACE, search.suggest(name)) for name in "ab"}
    search.save(str(tmp_path / "state"))
    rows = [
        [json.dumps({"trial_id": name, "status": status, "config": config}), json.dumps({"last_result": {"loss": 1.0}})]
        for name, status, config in (("a", "RUNNING", configs["a"]), ("b", "TERMINATED", configs["b"]))
    ]
    (tmp_path / "experiment_state-2026-01-02.json").write_text(json.dumps({"trial_data": rows}))
    whole, lost = GSSBOSearch(), GSSBOSearch(SPACE, **GOAL, points_to_evaluate=points)
    whole.restore(str(tmp_path / "state"))
    whole.on_trial_complete("b", {"loss": 1.0})
    lost.restore_from_dir(str(tmp_path))
    for one in (whole, lost):
        one.on_trial_complete("a", {"loss": 2.0})
        assert one.optimizer.observations[1].tolist() == [1.0]
        config = one.suggest("c")
        assert (config["x"], config["lr"]) == (0.75, 6.57)  # the others are not tried again


# -- what cannot be run ------------------------------------------------------------------------------------------------


def as_tune_passes_it(param_space):
    return inject_placeholders(param_space, create_resolvers_map())


@pytest.mark.parametrize("point", [{"net": {"lr": 0.1}}, {"net/lr": 0.1}, {"net": {"lr": None}}], ids=str)
@pytest.mark.parametrize("filled", [tune.sample_from(lambda spec: 3), object()])
def test_values_that_tune_fills_in_are_refused_before_the_run(point, filled):
    search = GSSBOSearch(seed=0, points_to_evaluate=[{"x": 0.5}, point])
    space = as_tune_passes_it({"x": tune.uniform(0.0, 1.0), "net": {"lr": filled}})
    words = r"^points_to_evaluate\[1\] has a value for 'net/lr', which Tune itself fills in, .*: leave it out, got "
    with pytest.raises(ValueError, match=words):
        search.set_search_properties("loss", "min", space)
    assert search.optimizer is None
    assert search.metric is None


@pytest.mark.parametrize(
    ("point", "words"),
    [
        ({"net": 3}, "must have a dict for 'net', as in the search space, got 3"),
        ({"drops": 0.5}, "must have a list for 'drops', as in the search space, got 0.5"),
        ({"drops": [0.1, 0.1, 0.1]}, "must have a dict for 'drops/2', as in the search space, got 0.1"),
    ],
)
def test_values_in_place_of_several_domains_are_refused(point, words):
    with pytest.raises(ValueError, match=rf"^points_to_evaluate\[0\] {words}\.$"):
        GSSBOSearch(SPACE, points_to_evaluate=[point])
    with pytest.raises(ValueError, match=rf"^points_to_evaluate\[0\] {words}\.$"):
        GSSBOSearch(points_to_evaluate=[point]).set_search_properties("loss", "min", SPACE)


@pytest.mark.allows_fallback  # a warning
def test_a_value_that_is_no_multiple_of_a_step_runs_as_given():
    search = GSSBOSearch({"q": tune.quniform(0.0, 1.0, 0.1)}, **GOAL, points_to_evaluate=[{"q": "much"}])
    assert search.suggest("a") == {"q": "much"}


@pytest.mark.allows_fallback  # a warning
def test_a_value_of_no_branch_leaves_what_is_beside_it():
    space = {"net": {"arm": tune.choice([{"k": tune.uniform(0, 1)}, None]), "width": tune.randint(1, 9)}}
    search = GSSBOSearch(space, **GOAL, points_to_evaluate=[{"net": {"arm": "no"}}, {"net/arm/z": 1, "net/width": 3}])
    config = search.suggest("a")
    assert config["net"]["arm"] == "no"
    assert 1 <= config["net"]["width"] <= 8
    assert search.suggest("b") == {"net": {"arm": {"z": 1}, "width": 3}}


def test_departures_name_what_is_not_as_in_the_space():
    found = TuneSpace(SPACE).departures({"x": 0.5, "y": 1, "net": {"widht": 3}, "drops": [0.1, 0.1, {}, 4], "lr": 0.3})
    assert [(one.name, one.foreign) for one in found] == [("y", True), ("net/widht", True), ("drops/3", True)]
