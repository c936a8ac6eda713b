"""The functions of a study for a sampler of numbo, whatever it is wrapped in."""

from __future__ import annotations

import warnings

import numpy as np
import optuna
import pytest
from optuna.samplers import PartialFixedSampler, RandomSampler
from tests.helpers import MOSTLY, over_seeds, seeded
from tests.optuna.inside import storage_of

import numbo.optuna
from numbo.optuna import BKBSampler, GSSBOSampler

POINT = {"x": 0.3, "k": 2}
#: Each function with what it takes besides the study.
LOOKS = {
    "explain": (),
    "predict": (POINT,),
    "predict_feasible": (POINT,),
    "predict_end": (optuna.trial.create_trial(value=0.0, intermediate_values={1: 0.5}),),
    "best_predicted": (),
    "best_predicted_trial": (),
    "front": (),
    "hypervolumes": ((1.0,),),
    "remaining": (10,),
    "worthwhile": (1e-6,),
}
each = pytest.mark.parametrize("name", LOOKS)


def objective(trial):
    x, k = trial.suggest_float("x", -1.0, 1.0), trial.suggest_int("k", 1, 5)
    value = (x - 0.3) ** 2 + 0.01 * k
    trial.report(value + 0.1, 1)
    trial.report(value, 2)
    return value


@pytest.fixture(scope="module")
def study():
    sampler = GSSBOSampler(seed=0, constraints_func=lambda trial: (trial.params["x"] - 0.5,))
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=15)
    return study


def wrapped(study, times):
    """The same study, its sampler wrapped in as many others."""
    sampler = study.sampler
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        for k in range(times):
            sampler = PartialFixedSampler({"k": k}, sampler)
    return optuna.load_study(study_name=study.study_name, storage=storage_of(study)[0], sampler=sampler)


@each
def test_it_is_what_the_sampler_says_of_the_study(name, study):
    own = getattr(study.sampler, name)
    arguments = LOOKS[name]
    expected = own(*arguments, study)
    for times in (0, 1, 2):
        found = getattr(numbo.optuna, name)(wrapped(study, times), *arguments)
        if name == "explain":
            assert str(found) == str(expected)
        else:
            assert np.all(found == expected)


def test_of_the_studies_of_a_sampler_the_one_that_is_asked_about(study):
    other = optuna.create_study(sampler=study.sampler)
    other.optimize(lambda trial: objective(trial) + 5.0, n_trials=6)
    assert numbo.optuna.explain(study).n_told == 15
    assert numbo.optuna.explain(other).n_told == 6
    assert numbo.optuna.best_predicted(other)[1] > 4.9 > numbo.optuna.best_predicted(study)[1]


def test_settings_are_passed_on(study):
    params, value = numbo.optuna.best_predicted(study, anywhere=True)
    assert (params, value) == study.sampler.best_predicted(study, anywhere=True)
    with pytest.raises(ValueError, match=r"^anywhere must be .* got 'yes'\.$"):
        numbo.optuna.best_predicted(study, anywhere="yes")
    with pytest.raises(ValueError, match=r"^objective must be 0, as there is one objective, got 1\.$"):
        numbo.optuna.explain(study, objective=1)
    means, stds = numbo.optuna.predict(study, [POINT, POINT])
    assert means.shape == stds.shape == (2,)
    assert means[0] == means[1] == numbo.optuna.predict(study, POINT)[0]


@each
def test_other_samplers_are_refused(name):
    random = RandomSampler(seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        samplers = {"RandomSampler": random, "PartialFixedSampler": PartialFixedSampler({"k": 2}, random)}
    for called, sampler in samplers.items():
        words = rf"^The study's sampler must be one of numbo\.optuna, got {called}: give one to load_study, or .*\.$"
        with pytest.raises(ValueError, match=words):
            getattr(numbo.optuna, name)(optuna.create_study(sampler=sampler), *LOOKS[name])


@each
def test_what_is_no_study_is_refused(name):
    with pytest.raises(ValueError, match=r"^study must be an optuna\.Study, got 'study'\.$"):
        getattr(numbo.optuna, name)("study", *LOOKS[name])


def fail(trial):
    objective(trial)
    raise RuntimeError


def no_parameter(trial):
    trial.suggest_int("one", 1, 1)
    return 1.0


NOTHING = "There is nothing to look at: no trial of the study has succeeded with a parameter that has several possible "


@each
@pytest.mark.parametrize(
    ("tried", "words"),
    [((), "values."), ((fail,), "values, and 3 failed."), ((no_parameter, fail), "values, and 3 failed.")],
)
def test_before_a_success_there_is_nothing_to_look_at(name, tried, words):
    study = optuna.create_study(sampler=BKBSampler(seed=0))
    for function in tried:
        study.optimize(function, n_trials=3, catch=(RuntimeError,))
    if name.startswith("best") and no_parameter not in tried:
        assert getattr(numbo.optuna, name)(study) is None
        return
    with pytest.raises(ValueError, match=f"^{NOTHING}{words}$"):
        getattr(numbo.optuna, name)(study, *LOOKS[name])


@over_seeds()
def test_the_best_may_be_a_pruned_trial_with_its_predicted_end():
    study = optuna.create_study(sampler=GSSBOSampler(seed=seeded(0)))

    def stopped_if_good(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        for step in range(5):
            trial.report(x + 1.0 / (step + 1), step)
            if step == 2 and x < 0.2:
                raise optuna.TrialPruned
        return x

    study.optimize(stopped_if_good, n_trials=30)
    trial = numbo.optuna.best_predicted_trial(study)
    assert trial.state == optuna.trial.TrialState.PRUNED, MOSTLY
    params, value = numbo.optuna.best_predicted(study)
    assert params == trial.params
    assert value < trial.intermediate_values[2], MOSTLY
    assert value < study.best_value, MOSTLY
