"""Warnings name the line of the user's program that called Optuna or numbo."""

from __future__ import annotations

import inspect
import warnings

import pytest
from numbo.optuna import BKBSampler, GSSBOSampler, explain
from optuna.distributions import FloatDistribution
from optuna.trial import create_trial

import optuna

SPACE = {"x": FloatDistribution(0.0, 1.0)}


def line_of(action):
    """The source line that the one warning of an ``action`` names; the action is in this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    (found,) = [w for w in caught if w.category is UserWarning]
    assert found.filename == __file__
    return inspect.getsource(inspect.getmodule(line_of)).splitlines()[found.lineno - 1].strip()


@pytest.fixture
def study():
    """Of a sampler that does not learn one of its trials."""
    study = optuna.create_study(sampler=GSSBOSampler(seed=0, search_space=SPACE, n_startup_trials=2))
    study.add_trial(create_trial(params={"z": 0.5}, distributions={"z": SPACE["x"]}, value=1.0))
    study.add_trial(create_trial(params={"x": 0.5}, distributions=SPACE, value=1.0))
    return study


def test_of_trials_that_are_not_learned(study):
    def asking():
        study.ask(SPACE)

    assert line_of(asking) == "study.ask(SPACE)"


def test_of_a_look_at_them(study):
    def looking():
        explain(study)

    assert line_of(looking) == "explain(study)"


def test_of_what_an_objective_does(study):
    study.ask(SPACE)

    def objective(trial):
        trial.suggest_float("other", 0.0, 1.0)
        return trial.suggest_float("x", 0.0, 1.0)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explain(study)
    assert line_of(lambda: study.optimize(objective, n_trials=1)) == 'trial.suggest_float("other", 0.0, 1.0)'


def test_of_constraints_that_are_not_used():
    study = optuna.create_study(sampler=BKBSampler(seed=0))

    def objective(trial):
        study._storage.set_trial_system_attr(trial._trial_id, "constraints", (1.0,))
        return trial.suggest_float("x", 0.0, 1.0)

    def run():
        study.optimize(objective, n_trials=1)

    assert line_of(run) == "study.optimize(objective, n_trials=1)"
