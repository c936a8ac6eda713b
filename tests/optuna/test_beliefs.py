"""Beliefs and defaults in Optuna: declared, or by names as the program runs, over any storage."""

from __future__ import annotations

import pickle
import re
import warnings

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution

from numbo import Guess, Linear, Table
from numbo.optuna import GPUCBSampler, GSSBOSampler

PRIOR = {"lr": Guess(1e-3), "k": lambda v: 1.0 / v, "o": {"a": 1, "b": 3, None: 0}, "m": Guess(0.25, "high")}


def program(trial):
    kind = trial.suggest_categorical("o", ["a", "b", None])
    lr = trial.suggest_float("lr", 1e-5, 1, log=True)
    k = trial.suggest_int("k", 1, 64)
    m = trial.suggest_float("m", 0, 1) if kind == "b" else 0.5
    return (np.log10(lr) + 3.2) ** 2 + abs(k - 4) / 20 + {"a": 1.0, "b": 0.0, None: 0.5}[kind] + (m - 0.2) ** 2


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Trials disagree")
        yield


def run(sampler, n, storage=None, name="s", objective=program):
    study = optuna.create_study(sampler=sampler, storage=storage, study_name=name, load_if_exists=True)
    study.optimize(objective, n_trials=n)
    return study


@pytest.mark.parametrize("sampler", [GSSBOSampler, GPUCBSampler])
@pytest.mark.parametrize("allowed", [(), Linear({"k": 1}, most=30)])
def test_the_first_trial_of_a_program_is_the_mode(sampler, allowed):
    study = run(sampler(seed=0, prior=PRIOR, allowed=allowed), 15)
    assert study.trials[0].params == {"o": "b", "lr": pytest.approx(1e-3), "k": 1, "m": pytest.approx(0.25)}
    space = study.sampler._views.latest(study) if hasattr(study.sampler._views, "latest") else None
    assert space is None or space
    assert study.best_value < 0.5


def test_the_first_trial_of_a_program_is_the_default():
    default = {"o": None, "lr": 0.01, "k": 9}
    study = run(GSSBOSampler(seed=0, default=default, prior={"k": Guess(3)}), 12)
    assert study.trials[0].params == default
    assert sum(t.params["k"] == 9 for t in study.trials) > 3


def test_a_declared_space_has_them():
    space = {"lr": FloatDistribution(1e-5, 1, log=True), "o": CategoricalDistribution(["a", "b", None])}
    said = {name: PRIOR[name] for name in space}
    study = run(
        GSSBOSampler(seed=0, search_space=space, prior=said),
        5,
        objective=lambda t: (
            t.suggest_float("lr", 1e-5, 1, log=True) + (t.suggest_categorical("o", ["a", "b", None]) == "a")
        ),
    )
    assert study.trials[0].params == {"lr": pytest.approx(1e-3), "o": "b"}


def test_workers_that_start_together_draw_from_the_prior():
    storage = optuna.storages.InMemoryStorage()
    study = optuna.create_study(sampler=GSSBOSampler(seed=0, prior={"x": Guess(0.8, 0.02)}), storage=storage)
    points = [study.ask().suggest_float("x", 0, 1) for _ in range(20)]
    assert points[0] == pytest.approx(0.8)
    assert np.mean(np.abs(np.array(points) - 0.8) < 0.1) > 0.5


def test_several_processes_over_one_storage_and_pickles(tmp_path):
    storage = f"sqlite:///{tmp_path}/s.db"
    for part in range(3):
        sampler = GSSBOSampler(seed=part, prior={"lr": Guess(1e-3), "o": PRIOR["o"]}, default={"k": 8})
        study = run(pickle.loads(pickle.dumps(sampler)), 6, storage)
    assert len(study.trials) == 18
    assert sum(t.params["k"] == 8 for t in study.trials) > 3
    assert study.best_value < 0.5


def test_what_no_trial_asks_for_is_told():
    with pytest.warns(UserWarning, match=r"^prior= or default= has \['y', 'z'\], which no trial so far has asked for"):
        run(GSSBOSampler(seed=0, prior={"y": Guess(1)}, default={"z": 2}), 14)


@pytest.mark.parametrize("argument", ["prior", "default"])
def test_what_does_not_fit_is_refused(argument):
    said = {"y": Guess(1.0) if argument == "prior" else 1.0}
    space = {"x": FloatDistribution(0, 1)}
    with pytest.raises(ValueError, match=rf"^{argument} must name parameters of search_space, \['x'\], got 'y'\.$"):
        GSSBOSampler(search_space=space, **{argument: said})
    with pytest.raises(ValueError, match=rf"^{argument} must name parameters of search_space, \[\], got 'y'\.$"):
        GSSBOSampler(search_space=Table({"y": [1, 2]}), **{argument: said})
    wrong = {"x": Guess(2.0) if argument == "prior" else 2.0}
    with pytest.raises(ValueError, match=rf"^{argument}\['x'\] must (guess|be) a value of "):
        GSSBOSampler(search_space=space, **{argument: wrong})
    with pytest.raises(ValueError, match=rf"^{argument}\['x'\] must (guess|be) a value of "):
        run(GSSBOSampler(seed=0, **{argument: wrong}), 1, objective=lambda t: t.suggest_float("x", 0, 1))


def test_explanations_have_hints_and_changes():
    study = run(GSSBOSampler(seed=0, default={"k": 8, "lr": 0.01}), 25)
    found = study.sampler.explain(study)
    assert set(found.changed) <= {"k", "lr"}
    assert all(hint.words in str(found) for hint in found.hints)


CHOICES = "CategoricalDistribution(choices=('adam', 'sgd'))"
SAID = {
    "prior['opt'] must have weights of all of ['adam', 'sgd'], got {'adam': 1}": {"prior": {"opt": {"adam": 1}}},
    "prior['opt'] must be finite numbers of at least 0, got -2 for 'sgd'": {"prior": {"opt": {"adam": 1, "sgd": -2}}},
    "at least 0; for 1 it raised ZeroDivisionError": {"prior": {"layers": lambda n: 1 / (n - 1)}},
    f"default['opt'] must be a value of {CHOICES}, got 'a'": {"default": {"opt": "a"}},
    "'opt': 'adam'} it returned None": {"allowed": lambda params: None},
}


@pytest.mark.parametrize("words", SAID)
def test_what_cannot_be_is_said_in_the_words_of_the_user(words):
    """And not by the positions of categories, nor by a bare error."""

    def objective(trial):
        layers = trial.suggest_int("layers", 1, 9)
        return layers + (trial.suggest_categorical("opt", ["adam", "sgd"]) == "sgd")

    study = optuna.create_study(sampler=GSSBOSampler(seed=0, **SAID[words]))
    with pytest.raises(ValueError, match=re.escape(words)):
        study.optimize(objective, n_trials=3)
