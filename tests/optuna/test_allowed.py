"""Known constraints in Optuna: beside a search space, and by names as the program runs."""

from __future__ import annotations

import pickle
import warnings

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import PartialFixedSampler

from numbo import Linear, Mixture, Order, Table
from numbo.optuna import BKBSampler, GPUCBSampler, GSSBOSampler

NAMES = ["a", "b", "c"]


def shares(trial):
    found = [trial.suggest_float(name, 0, 1) for name in NAMES]
    return sum((value - 0.1 * i) ** 2 for i, value in enumerate(found))


def sums_to_one(params):
    return abs(sum(params.values()) - 1.0) < 1e-9


def small(params):
    return params["a"] + params["b"] < 0.2


def with_branches(trial):
    kind = trial.suggest_categorical("kind", ["x", "y"])
    one = trial.suggest_float("one", 1, 1)
    rate = trial.suggest_float("rate", 1e-4, 1, log=True)
    if kind == "x":
        return one * rate + trial.suggest_float("m", 0, 1) + trial.suggest_float("w", 0, 1)
    return rate - trial.suggest_float("b", 0, 0.99)


def of_branches(p):
    return p["rate"] + p.get("m", 0) + p.get("w", 0) + p.get("b", 0) <= 0.7 and p["one"] * p["rate"] < 0.5


def run(sampler, objective, n=20):
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=n)
    return [trial.params for trial in study.trials]


@pytest.mark.parametrize("sampler", [GSSBOSampler, GPUCBSampler])
def test_by_names_as_the_program_runs(sampler):
    assert all(map(sums_to_one, run(sampler(seed=0, allowed=Mixture(NAMES)), shares)))
    assert all(map(small, run(sampler(seed=0, allowed=small), shares)))


def test_beside_a_search_space():
    space = {name: FloatDistribution(0, 1) for name in NAMES}
    assert all(map(sums_to_one, run(GSSBOSampler(seed=0, search_space=space, allowed=Mixture(NAMES)), shares)))
    kinds = {"kind": CategoricalDistribution(["x", "y"]), "i": IntDistribution(0, 100), "j": IntDistribution(0, 100)}

    def allowed(p):
        return p["kind"] == "y" or p["i"] + p["j"] < 30

    def objective(trial):
        kind = trial.suggest_categorical("kind", ["x", "y"])
        return (kind == "y") - trial.suggest_int("i", 0, 100) - trial.suggest_int("j", 0, 100)

    assert all(map(allowed, run(GSSBOSampler(seed=0, search_space=kinds, allowed=allowed), objective)))


def test_in_branches_of_a_program_and_with_a_parameter_of_one_value():
    allowed = [Linear({"rate": 1, "m": 1, "w": 1, "b": 1}, most=0.7), lambda p: p["one"] * p["rate"] < 0.5]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        found = run(GSSBOSampler(seed=0, allowed=allowed), with_branches, 30)
    assert all(map(of_branches, found))
    assert {p["kind"] for p in found} == {"x", "y"}


def test_given_values_are_completed():
    sampler = PartialFixedSampler({"a": 0.7}, GSSBOSampler(seed=0, allowed=Mixture(NAMES)))
    study = optuna.create_study(sampler=sampler)
    study.enqueue_trial({"b": 0.25})
    study.optimize(shares, n_trials=12)
    assert all(sums_to_one(trial.params) and trial.params["a"] == 0.7 for trial in study.trials)
    assert study.trials[0].params["b"] == 0.25


def a_and_b(trial):
    return trial.suggest_float("a", 0, 1) + trial.suggest_float("b", 0, 1)


def within_most(p):
    return p["a"] + p["b"] <= 0.8 + 1e-9


@pytest.mark.parametrize("allowed", [Linear({"a": 1, "b": 1}, most=0.8), within_most])
def test_values_that_the_first_trial_will_get_are_completed(allowed):
    for given in ({"b": 0.7}, {"b": 0.75}, {"a": 0.7}):
        study = optuna.create_study(sampler=GSSBOSampler(seed=0, allowed=allowed))
        study.enqueue_trial(given)
        study.optimize(a_and_b, n_trials=2)
        assert study.trials[0].params | given == study.trials[0].params
        assert all(within_most(trial.params) for trial in study.trials)
        study = optuna.create_study(sampler=PartialFixedSampler(given, GSSBOSampler(seed=0, allowed=allowed)))
        study.optimize(a_and_b, n_trials=2)
        assert all(within_most(trial.params) for trial in study.trials)


def size_and_kind(trial):
    size = trial.suggest_int("size", 1, 100)
    return size + (trial.suggest_categorical("kind", ["large", None]) is None)


def test_a_given_category_is_completed():
    study = optuna.create_study(sampler=GSSBOSampler(seed=0, allowed=lambda p: p["kind"] != "large" or p["size"] < 20))
    study.enqueue_trial({"kind": "large"})
    study.optimize(size_and_kind, n_trials=1)
    assert study.trials[0].params["kind"] == "large"
    assert study.trials[0].params["size"] < 20


def test_the_first_value_may_be_none():
    study = optuna.create_study(sampler=GSSBOSampler(seed=0, allowed=lambda p: p["kind"] is None))
    study.optimize(size_and_kind, n_trials=1)
    assert study.trials[0].params["kind"] is None


def test_given_values_that_allow_no_others_are_worth_a_warning_in_the_first_trial():
    study = optuna.create_study(sampler=GSSBOSampler(seed=0, allowed=Linear({"a": 1, "b": 1}, most=0.8)))
    study.enqueue_trial({"a": 0.9})
    with pytest.warns(UserWarning, match=r"^The values that are given for \['a'\] allow no value of 'b' that meets"):
        study.optimize(a_and_b, n_trials=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study.optimize(a_and_b, n_trials=3)


def test_rows_of_a_table():
    table = Table({"a": list(range(12)), "b": [i % 3 for i in range(12)]})
    sampler = GSSBOSampler(seed=0, search_space=table, allowed=lambda row: row["b"] > 0)
    found = run(sampler, lambda trial: table.suggest(trial)["a"], 8)
    assert sorted(p["row"] for p in found) == [i for i in range(12) if i % 3]


def test_several_processes_and_copies_keep_them(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    sampler = pickle.loads(pickle.dumps(GSSBOSampler(seed=0, allowed=[small, Order(["a", "b"])])))
    assert "allowed=" in repr(sampler)
    for _ in range(2):
        study = optuna.create_study(storage=url, study_name="s", sampler=sampler, load_if_exists=True)
        study.optimize(shares, n_trials=6)
    assert all(small(t.params) and t.params["a"] <= t.params["b"] for t in study.trials)


def test_names_that_no_trial_asks_for_are_worth_a_warning():
    with pytest.warns(UserWarning, match=r"^allowed= has \['z'\], which no trial so far has asked for"):
        run(GSSBOSampler(seed=0, allowed=[Linear({"a": 1, "z": 1}, most=0.5), Mixture(NAMES)]), shares, 14)
    with pytest.warns(UserWarning, match=r"^allowed= has \['y'\], which no trial so far has asked for"):
        run(GSSBOSampler(seed=0, allowed=lambda p: p["y"] > 0), shares, 14)


def test_errors_come_at_once():
    with pytest.raises(ValueError, match=r"^allowed must leave points of the space"):
        GSSBOSampler(
            search_space={n: FloatDistribution(0, 1) for n in NAMES}, allowed=Linear({"a": 1, "b": 1}, least=3)
        )
    with pytest.raises(ValueError, match=r"^allowed must hold Linear"):
        GSSBOSampler(allowed=3)
    with pytest.raises(TypeError, match=r"^BKBSampler does not take known constraints"):
        BKBSampler(allowed=small)
