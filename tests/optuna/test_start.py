"""The first trials of a study: the usual point, then spread ones."""

from __future__ import annotations

import math

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from tests.helpers import seeded

from numbo.optuna import BKBSampler, GPUCBSampler, GSSBOSampler

SPACE = {
    "rate": FloatDistribution(1e-4, 1.0, log=True),
    "units": IntDistribution(1, 9),
    "act": CategoricalDistribution(["relu", "tanh", "elu"]),
}
USUAL = {"rate": pytest.approx(1e-2), "units": 5, "act": "relu"}


def play(trial):
    rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
    return rate + trial.suggest_int("units", 1, 9) + len(trial.suggest_categorical("act", ["relu", "tanh", "elu"]))


@pytest.mark.parametrize("sampler", [GSSBOSampler, GPUCBSampler, BKBSampler])
@pytest.mark.parametrize("declared", [SPACE, None], ids=["declared", "as the program asks"])
def test_the_first_trial_is_the_usual_one(sampler, declared):
    study = optuna.create_study(sampler=sampler(seed=seeded(0), search_space=declared))
    study.optimize(play, n_trials=2)
    assert study.trials[0].params == USUAL
    assert study.trials[1].params != USUAL


def test_a_branch_begins_with_its_usual_values():
    study = optuna.create_study(sampler=GSSBOSampler(seed=seeded(0), warn_independent_sampling=False))

    def program(trial):
        if trial.suggest_categorical("kind", ["a", "b"]) == "a":
            return trial.suggest_float("x", 0.0, 1.0)
        return play(trial)

    study.optimize(program, n_trials=40)  # each category is tried by the 24th trial, or soon after
    assert study.trials[0].params == {"kind": "a", "x": 0.5}
    other = next(trial for trial in study.trials if trial.params["kind"] == "b")
    assert other.params == USUAL | {"kind": "b"}


@pytest.mark.parametrize("declared", [SPACE, None], ids=["declared", "as the program asks"])
def test_trials_that_start_together_differ(declared):
    study = optuna.create_study(sampler=GSSBOSampler(seed=seeded(0), search_space=declared))
    trials = [study.ask() for _ in range(6)]
    for trial in trials:
        play(trial)
    assert len({tuple(trial.params.values()) for trial in trials}) == 6
    assert trials[0].params == USUAL


def test_a_single_initial_trial_differs_from_seed_to_seed():
    firsts = set()
    for seed in range(3):
        study = optuna.create_study(sampler=GSSBOSampler(seed=seeded(seed), search_space=SPACE, n_startup_trials=1))
        firsts.add(tuple(study.ask(SPACE).params.values()))
    assert len(firsts) == 3


def test_after_a_first_trial_that_fails_another_point_is_tried():
    study = optuna.create_study(sampler=GSSBOSampler(seed=seeded(0), search_space=SPACE))
    study.optimize(lambda trial: play(trial) * (math.nan if trial.number == 0 else 1.0), n_trials=6)
    assert study.trials[0].params == USUAL
    assert all(trial.params != USUAL for trial in study.trials[1:])


def test_workers_of_one_storage_begin_with_different_trials(tmp_path):
    url = f"sqlite:///{tmp_path / 'study.db'}"
    studies = [
        optuna.create_study(storage=url, study_name="one", sampler=GSSBOSampler(), load_if_exists=True) for _ in "ab"
    ]
    trials = [study.ask() for study in studies]
    for trial in trials:
        play(trial)
    assert trials[0].params == USUAL
    assert trials[1].params != USUAL


def test_after_a_trial_of_the_users_own_there_is_no_usual_one():
    study = optuna.create_study(sampler=GSSBOSampler(seed=seeded(0), search_space=SPACE))
    study.enqueue_trial({"rate": 1e-3, "units": 3, "act": "tanh"})
    study.optimize(play, n_trials=4)
    assert all(trial.params != USUAL for trial in study.trials)
