"""Warnings name the line of the user's program that called Optuna or numbo."""

from __future__ import annotations

import inspect
import warnings

import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState, create_trial

from numbo.optuna import BKBSampler, GSSBOSampler, explain, predict, predict_feasible

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


def messages_of(objective, sampler, n=25):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        optuna.create_study(sampler=sampler).optimize(objective, n_trials=n)
    return [str(found.message) for found in caught if found.category is UserWarning]


def test_of_a_search_space_that_is_not_that_of_the_objective_once_with_both_ranges():
    sampler = GSSBOSampler(seed=0, search_space=SPACE | {"y": SPACE["x"]})
    independent, left_out = messages_of(lambda t: t.suggest_float("x", 2.0, 3.0) + t.suggest_float("y", 0, 1), sampler)
    for message in (independent, left_out):
        assert repr(SPACE["x"]) in message
        assert repr(FloatDistribution(2.0, 3.0)) in message
    assert "samples the parameter 'x' independently" in independent
    assert left_out.startswith("1 of 1 finished trials are not learned; trial 0: x = 2.")


def test_of_what_search_space_lacks_once_for_each_parameter():
    def objective(trial):
        trial.suggest_float("z", 0.0, 1.0)
        return trial.suggest_float("w", 0.0, 1.0) + trial.suggest_float("x", 0.0, 1.0)

    found = messages_of(objective, GSSBOSampler(seed=0, search_space=SPACE))
    assert len(found) == 2
    for name, message in zip("zw", found, strict=True):
        assert f"the parameter {name!r} independently" in message
        assert "search_space= does not have it. Add it there" in message
    assert messages_of(objective, GSSBOSampler(seed=0, search_space=SPACE, warn_independent_sampling=False)) == []


def test_of_a_parameter_that_only_some_trials_have_once_and_without_their_numbers():
    def objective(trial):
        rare = trial.number > 12 and trial.number % 3 == 0
        return trial.suggest_float("x", 0.0, 1.0) + (trial.suggest_float("rare", 0.0, 1.0) if rare else 0.0)

    found = messages_of(objective, GSSBOSampler(seed=0), 60)
    assert len(found) == 1
    assert not any(char.isdecimal() for char in found[0])


def test_each_study_of_a_sampler_is_warned_of():
    sampler = GSSBOSampler(seed=0, search_space=SPACE)
    for _ in range(2):
        assert len(messages_of(lambda trial: trial.suggest_float("z", 0.0, 1.0), sampler)) == 2


@pytest.mark.parametrize("params", [0.3, None, "x", [0.3], [{"x": 0.5}, "x"], {0.3}])
@pytest.mark.parametrize("function", [predict, predict_feasible])
def test_what_is_no_point_is_refused(function, params, study):
    study.ask(SPACE)
    with pytest.raises(ValueError, match=r"^params must be the parameters of a trial such as .* of such, got .*\.$"):
        function(study, params)


def test_a_class_in_place_of_a_sampler_is_refused_and_leaves_nothing_running():
    study = optuna.create_study(sampler=GSSBOSampler)
    words = r"^sampler must be an instance such as GSSBOSampler\(\), got the class GSSBOSampler\.$"
    with pytest.raises(ValueError, match=words):
        study.optimize(lambda trial: 0.0, n_trials=1)
    assert study.trials[0].state == TrialState.FAIL
    with pytest.raises(ValueError, match=r"one of numbo\.optuna, got the class GSSBOSampler"):
        explain(study)
