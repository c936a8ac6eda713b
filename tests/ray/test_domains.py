"""Tune's domains as a space of numbo: which values are searched, how they are named, and how configs are read."""

from __future__ import annotations

import json

import numpy as np
import pytest
from ray import tune
from ray.tune.utils.util import flatten_dict

from numbo import Categorical, Float, Int
from numbo.ray import GSSBOSearch
from numbo.ray._domains import TuneSpace, holds_domains
from numbo.spaces import Table


def points_of(space, n):
    """Points of a space, in its parameters."""
    domain = space.space
    return [domain.decode(x) for x in domain.snap(np.random.default_rng(0).random((n, domain.d)))]


def dimensions_of(space):
    return {name: parameter.dimension for name, parameter in TuneSpace(space).parameters.items()}


# -- domains -----------------------------------------------------------------------------------------------------------

DOMAINS = {
    "uniform": (tune.uniform(-2.0, 5.0), lambda v: isinstance(v, float) and -2.0 <= v <= 5.0),
    "loguniform": (tune.loguniform(1e-6, 1e2), lambda v: isinstance(v, float) and 1e-6 <= v <= 1e2),
    "quniform": (tune.quniform(0.0, 1.0, 0.1), lambda v: v in [round(0.1 * k, 1) for k in range(11)]),
    "qloguniform": (
        tune.qloguniform(0.5, 100.0, 0.5),
        lambda v: 0.5 <= v <= 100.0 and v / 0.5 == round(v / 0.5),
    ),
    "randint": (tune.randint(-3, 4), lambda v: isinstance(v, int) and -3 <= v <= 3),
    "lograndint": (tune.lograndint(1, 1000), lambda v: isinstance(v, int) and 1 <= v <= 999),
    "qrandint": (tune.qrandint(10, 50, 10), lambda v: isinstance(v, int) and v in (10, 20, 30, 40, 50)),
    "qrandint, q=1": (tune.qrandint(0, 5, 1), lambda v: isinstance(v, int) and 0 <= v <= 4),
    "qlograndint": (tune.qlograndint(2, 64, 2), lambda v: isinstance(v, int) and v in range(2, 65, 2)),
    "choice": (tune.choice(["a", 3, None, (1, 2)]), lambda v: v in ["a", 3, None, (1, 2)]),
    "choice of dicts": (tune.choice([{"k": 1}, {"k": 2}]), lambda v: v in [{"k": 1}, {"k": 2}]),
}


@pytest.mark.parametrize("name", DOMAINS)
def test_every_domain_keeps_its_bounds_and_types(name):
    domain, valid = DOMAINS[name]
    space = TuneSpace({"p": domain, "one": tune.uniform(0, 1)})
    points = points_of(space, 1000)
    values = [space.to_config(params)["p"] for params in points]
    assert all(map(valid, values))
    for params in points[:50]:
        assert space.to_params(space.to_config(params)) == params
    if name in ("qrandint", "quniform", "randint", "choice", "qrandint, q=1"):
        spread = {repr(v) for v in values}
        assert len(spread) == space.space["p"].size  # both ends are reached


def test_ranges_are_those_of_tune():
    """The upper bound of integers is exclusive, unless they are quantised; then multiples of the step are searched."""
    found = dimensions_of(
        {
            "float": tune.uniform(-1, 2),
            "log": tune.loguniform(1e-5, 1e-1),
            "int": tune.randint(-3, 4),
            "log int": tune.lograndint(1, 65),
            "step 1": tune.qrandint(0, 5, 1),
            "step 5": tune.qrandint(-7, 23, 5),
            "float step": tune.quniform(0.3, 0.7, 0.1),
            "log step": tune.qlograndint(1, 8, 3),
            "long step": tune.qlograndint(1, 10**12, 10**10),
            "rounded": tune.quniform(2.1, 4.2, 0.7),
            "choice": tune.choice(["a", None]),
        }
    )
    assert found == {
        "float": Float(-1.0, 2.0),
        "log": Float(1e-5, 1e-1, log=True),
        "int": Int(-3, 3),
        "log int": Int(1, 64, log=True),
        "step 1": Int(0, 4),
        "step 5": Int(-1, 4),
        "float step": Int(3, 7),
        "log step": Int(1, 2, log=True),
        "long step": Int(1, 100, log=True),
        "rounded": Int(3, 6),
        "choice": Categorical(["a", None]),
    }


def test_multiples_of_a_step_are_exact():
    space = TuneSpace({"x": tune.quniform(0.0, 1.0, 0.1), "k": tune.qrandint(0, 100, 5)})
    assert space.to_config({"x": 3, "k": 7}) == {"x": 0.3, "k": 35}
    for value, expected in ((0.1 + 0.2, 3), (0.3, 3), (np.float32(0.3), 3), (0, 0)):
        assert space.to_params({"x": value})["x"] == expected
    assert space.to_params({"x": "torn", "k": float("inf")}) == {"x": "torn", "k": float("inf")}  # in no range


@pytest.mark.parametrize(
    ("space", "words"),
    [
        ({"a": tune.choice([{"x": tune.grid_search([1, 2])}])}, r"param_space\['a'\]\['x'\] is a grid_search"),
        ({"a": {"x": tune.grid_search([1, 2])}}, r"param_space\['a'\]\['x'\] is a grid_search.*tune\.choice"),
        ({"x": tune.randn(0, 1)}, "no bounds.*tune.uniform"),
        ({"x": tune.sample_from(lambda c: 3)}, "cannot be searched.*trainable"),
        ({"x": tune.choice([{"y": tune.randn(0, 1)}, 3])}, r"param_space\['x'\]\['y'\] has no bounds"),
        ({"x": 3}, "^The search space has no domain such as .*: there is nothing to tune"),
        ({}, "nothing to tune"),
        ({"x": [3, tune.qrandint(1, 4, 5)]}, r"\['x'\]\[1\] contains no multiple of its step 5 from 1 to 4\.$"),
        ({"x": tune.qrandn(0, 1, 0.5)}, r"^param_space\['x'\] has no bounds"),
    ],
)
def test_what_cannot_be_searched_says_what_to_do(space, words):
    with pytest.raises(ValueError, match=words) as error:
        TuneSpace(space)
    assert "\n" not in str(error.value)


# -- nested configs ----------------------------------------------------------------------------------------------------

NESTED = {
    "lr": tune.loguniform(1e-5, 1e-1),
    "net": {"width": tune.randint(1, 65), "act": tune.choice(["relu", "tanh", None]), "kind": "mlp"},
    "drops": [tune.uniform(0.0, 0.5), 0.1, {"rate": tune.quniform(0.0, 1.0, 0.1), "fixed": 3}],
    "epochs": 10,
}
PARAMS = {"lr": 0.01, "net/width": 3, "net/act": None, "drops/0": 0.25, "drops/2/rate": 7}
CONFIG = {"lr": 0.01, "net": {"width": 3, "act": None}, "drops": [0.25, 0.1, {"rate": 0.7, "fixed": 3}]}


def test_constants_are_left_to_tune_except_in_lists():
    space = TuneSpace(NESTED)
    assert space.parameters.keys() == PARAMS.keys()
    assert space.to_config(PARAMS) == CONFIG


def test_configs_are_read_nested_or_flat_with_constants_or_without():
    space = TuneSpace(NESTED)
    full = CONFIG | {"net": CONFIG["net"] | {"kind": "mlp"}, "epochs": 10}
    flat = {"lr": 0.01, "net/width": 3, "net/act": None, "drops": CONFIG["drops"], "epochs": 10}
    for config in (CONFIG, full, flat, flatten_dict(full), json.loads(json.dumps(full))):
        assert space.to_params(config) == PARAMS
        assert not space.missing(PARAMS)


def test_what_a_config_lacks_is_said():
    space = TuneSpace(NESTED)
    some = space.to_params({"lr": 0.01, "net": {"width": 3}, "drops": [0.25]})
    assert some == {"lr": 0.01, "net/width": 3, "drops/0": 0.25}
    assert space.missing(some) == ["net/act", "drops/2/rate"]
    assert space.to_params({}) == {}


def test_a_config_is_the_callers_own():
    options = [{"k": [1, 2]}, {"k": [3]}]
    space = TuneSpace({"p": tune.choice(options), "list": [tune.uniform(0, 1), {"fixed": {1}}]})
    config = space.to_config({"p": options[0], "list/0": 0.5})
    config["p"]["k"].append(3)
    config["list"][1]["fixed"].add(2)
    assert options == [{"k": [1, 2]}, {"k": [3]}]
    assert space.to_config({"p": options[0], "list/0": 0.5})["list"][1] == {"fixed": {1}}


def test_keys_with_slashes_do_not_collide():
    space = TuneSpace({"a/b": tune.uniform(0, 1), "a": {"b": tune.uniform(5, 6)}})
    config = space.to_config({name: p.dimension.low for name, p in space.parameters.items()})
    assert config == {"a/b": 0.0, "a": {"b": 5.0}}
    assert len(space.to_params(config)) == 2


def test_values_are_read_from_json_where_tuples_are_lists_and_keys_are_text():
    x = tune.uniform(0, 1)
    plain = TuneSpace({"p": tune.choice([(1, (2, 3)), {1: (2,)}, [4]])})
    for choice, kept in (((1, (2, 3)), [1, [2, 3]]), ({1: (2,)}, {"1": [2]}), ([4], [4])):
        assert plain.to_params({"p": kept}) == plain.to_params({"p": choice}) == {"p": choice}
    for key in (2, 2.5, True, None):
        nested = TuneSpace({"p": {key: {"x": x}}, "q": tune.choice([{7: x}, {key: (x, 3)}])})
        config = {"p": {key: {"x": 0.25}}, "q": {key: [0.5, 3]}}
        params = nested.to_params(config)
        assert not nested.missing(params)
        assert nested.to_config(params) == config
        assert nested.to_params(json.loads(json.dumps(config))) == params


def test_a_table_is_the_number_of_a_row():
    table = Table({"x": [0.1, 0.5, 0.9]})
    space = TuneSpace(table)
    assert space.space is table
    assert space.to_config({"row": 2}) == {"row": 2}
    assert space.to_params({"row": 2, "epochs": 3}) == {"row": 2}
    assert space.missing({}) == ["row"]
    assert space.parameters == TuneSpace({"row": tune.randint(0, 3)}).parameters


def test_spaces_are_the_same_if_their_parameters_are():
    same = {"net": {"width": tune.randint(1, 65)}}
    assert TuneSpace(same).parameters == TuneSpace(same | {"epochs": 3}).parameters
    assert TuneSpace(same).parameters != TuneSpace({"net": {"width": tune.randint(1, 66)}}).parameters


def test_domains_are_found_wherever_they_are():
    for node in (tune.uniform(0, 1), {"a": [1, {"b": tune.uniform(0, 1)}]}, [tune.choice([1])], (1, tune.randn())):
        assert holds_domains(node)
    for node in ({}, {"a": [1, {"b": 2}]}, 3, None, "tune.uniform(0, 1)", {"grid_search": [1], "b": 2}):
        assert not holds_domains(node)
    with pytest.raises(ValueError, match=r"^param_space\['a'\]\[1\] is a grid_search, which"):
        holds_domains({"a": [1, tune.grid_search([1, 2])]})


# -- branches ----------------------------------------------------------------------------------------------------------

BRANCHES = {
    "model": tune.choice(
        [
            {
                "kind": "svm",
                "C": tune.loguniform(1e-3, 1e3),
                "kernel": tune.choice(["linear", {"gamma": tune.uniform(0, 1)}]),
            },
            {"kind": "forest", "depth": tune.randint(1, 10), "rates": [1, tune.uniform(0, 1)], "fixed": {"n": 7}},
            {"kind": "knn"},
            None,
            tune.uniform(5, 6),
        ]
    ),
    "optimizer": tune.choice(
        [
            {"name": "adam", "lr": tune.loguniform(1e-5, 1e-1)},
            {"name": "sgd", "lr": tune.loguniform(1e-5, 1e-1), "momentum": tune.uniform(0, 1)},
            {"name": "lion", "lr": tune.uniform(0, 1)},
        ]
    ),
    "layers": [tune.choice([{"width": tune.randint(1, 5)}, None]), tune.uniform(0, 1)],
    "epochs": 5,
}


def test_a_choice_between_dicts_with_domains_is_a_branch():
    space = TuneSpace(BRANCHES)
    words = {name: str(condition) for name, condition in space.space.conditions.items()}
    assert words == {
        "model/C": "model is svm",
        "model/kernel": "model is svm",
        "model/kernel/gamma": "model/kernel is option 1",
        "model/depth": "model is forest",
        "model/rates/1": "model is forest",
        "model where model is option 4": "model is option 4",
        "optimizer/lr": "optimizer is adam or sgd",  # the same domain in the same place
        "optimizer/momentum": "optimizer is sgd",
        "optimizer/lr where optimizer is lion": "optimizer is lion",
        "layers/0/width": "layers/0 is option 0",
    }
    forest = {"model": "forest", "model/depth": 3, "model/rates/1": 0.5, "optimizer": "sgd", "optimizer/lr": 0.01}
    forest |= {"optimizer/momentum": 0.9, "layers/0": "None", "layers/1": 0.25}
    assert space.to_config(forest) == {
        "model": {"kind": "forest", "depth": 3, "rates": [1, 0.5], "fixed": {"n": 7}},
        "optimizer": {"name": "sgd", "lr": 0.01, "momentum": 0.9},
        "layers": [None, 0.25],
    }


def test_configs_of_branches_are_read_as_they_were_written():
    space, rng = TuneSpace(BRANCHES), np.random.default_rng(0)
    for x in space.space.snap(rng.random((200, space.space.d))):
        params = space.space.decode(x)
        config = space.to_config(params) | {"epochs": 5}
        assert not space.missing(params)
        assert space.to_params(config) == params
        assert space.to_params(flatten_dict(config)) == params
        assert space.to_params(json.loads(json.dumps(config))) == params


def test_options_are_known_by_what_is_simple_in_them():
    """By the first label that fits; an option without one, or with that of another, has a number."""
    x = tune.uniform(0, 1)
    options = ["plain", {"kind": "a", "n": 3, "x": x}, {"x": x}, {"kind": "a", "n": 3, "y": x}, [x], x]
    (branch, *_) = dimensions_of({"p": tune.choice(options)}).values()
    assert branch == Categorical(["plain", "a, 3 (1)", "option 2", "a, 3 (3)", "option 4", "option 5"])


@pytest.mark.parametrize(
    ("value", "option"),
    [
        ({"kind": "a", "x": 0.5}, 0),
        ({"x": 0.5}, 0),  # of those that fit, the one that lacks least
        ({"kind": "b"}, 1),
        ({"kind": "b", "x": 7.0}, 1),
        ({}, 0),
        ([1, 0.5], 2),
        ((1, 0.5), 2),
        ("c", 3),
    ],
    ids=str,
)
def test_a_value_is_of_the_option_that_it_fits_best(value, option):
    x = tune.uniform(0, 1)
    options = [{"kind": "a", "x": x}, {"kind": "b", "x": tune.uniform(5, 9)}, [1, x], "c"]
    space = TuneSpace({"p": tune.choice(options)})
    params = space.to_params({"p": value})
    assert space.space["p"].choices.index(params["p"]) == option
    assert not space.unknown(params)


@pytest.mark.parametrize(("value", "option"), [({"x": 0.5}, 1), ({"x": 0.5, "y": 0.5}, 0), ({"x": 7.0}, 2)], ids=str)
def test_of_options_with_the_same_names_ranges_count_before_names_that_are_lacking(value, option):
    x, y = tune.uniform(0, 1), tune.uniform(0, 1)
    space = TuneSpace({"p": tune.choice([{"x": x, "y": y}, {"x": x}, {"x": tune.uniform(5, 9), "y": y, "z": y}])})
    assert space.space["p"].choices.index(space.to_params({"p": value})["p"]) == option


@pytest.mark.parametrize("value", ["d", {"kind": "z"}, {"stranger": 1}, [1], [2, 0.5], [1, 0.5, 3], 3, None], ids=str)
def test_a_value_of_no_option_is_unknown(value):
    x = tune.uniform(0, 1)
    space = TuneSpace({"p": tune.choice([{"kind": "a", "x": x}, [1, x], "c"]), "q": tune.choice([1, 2])})
    params = space.to_params({"p": value, "q": 7})
    assert space.unknown(params) == {"p": value}
    assert space.missing(params) == []


# -- options that are equal --------------------------------------------------------------------------------------------


def test_equal_options_are_one():
    nan = float("nan")
    options = ["a", "b", "a", 1, True, 1.0, 1, (1, 2), (1, 2), [1, 2], {"k": [3]}, {"k": [3]}, None, None, nan, -nan]
    found = dimensions_of({"p": tune.choice(options), "q": {"r": [tune.choice([float("1.5"), float("1.5")]), 3]}})
    assert found["p"] == Categorical(["a", "b", 1, True, 1.0, (1, 2), [1, 2], {"k": [3]}, None, nan])
    assert found["q/r/0"] == Categorical([1.5])
    arrays = [np.array([1, 2]), np.array([1, 2]), np.array([3, 4])]
    assert dimensions_of({"p": tune.choice(arrays)})["p"].size == 2


def test_options_with_equal_domains_are_one():
    def svm(high=1.0, kind="svm"):
        kernel = tune.choice(["linear", {"gamma": tune.loguniform(1e-3, high)}, "linear"])
        return {"kind": kind, "C": tune.quniform(0.0, 1.0, 0.1), "kernel": kernel}

    options = [svm(), None, svm(), svm(high=2.0), svm(kind="svr"), None, svm(), {"kind": "svm"}]
    given = {"p": tune.choice(options)}
    space = TuneSpace(given)
    assert space.space["p"].size == 5
    assert space.space["p/kernel"].size == 2
    assert len(given["p"].categories) == 8  # the user's own stay as they are
    for params in points_of(space, 100):
        config = space.to_config(params)
        assert space.to_config(space.to_params(config)) == config


def test_a_choice_with_weights_is_searched():
    searcher = GSSBOSearch({"p": tune.choice(["a", "b", "a"])}, "loss", "min", seed=0, avoid_repeats=True)
    configs = []
    while isinstance(config := searcher.suggest(f"t{len(configs)}"), dict):
        configs.append(config)
        searcher.on_trial_complete(f"t{len(configs) - 1}", {"loss": 1.0})
    assert sorted(config["p"] for config in configs) == ["a", "b"]
