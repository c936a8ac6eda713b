"""`CurvePruner`, and how the samplers learn from trials that were pruned."""

from __future__ import annotations

import logging
import pickle
from threading import Thread

import numpy as np
import optuna
import pytest
from tests.helpers import MOSTLY, over_seeds, seeded
from tests.optuna.inside import optimizer_of

from numbo.optuna import CurvePruner, GPUCBSampler, GSSBOSampler, predict_end

LAST = 16
PRUNERS = {
    "median": optuna.pruners.MedianPruner(),
    "hyperband": optuna.pruners.HyperbandPruner(min_resource=1, max_resource=LAST),
    "curve": CurvePruner(),
}


def train(trial, sign=1.0):
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    end = (x - 0.3) ** 2 + (y - 0.7) ** 2
    for step in range(1, LAST + 1):
        value = sign * (end + (1.0 - end) * 0.75**step)
        trial.report(value, step)
        if trial.should_prune():
            raise optuna.TrialPruned
    return value


def cost(study):
    return sum(len(trial.intermediate_values) for trial in study.trials)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@over_seeds()
def test_it_prunes_and_the_best_trials_end(sign):
    direction = "minimize" if sign > 0 else "maximize"
    study = optuna.create_study(
        direction=direction, sampler=optuna.samplers.RandomSampler(seed=seeded(0)), pruner=CurvePruner()
    )
    study.optimize(lambda trial: train(trial, sign), n_trials=60)
    ended = [t for t in study.trials if t.state == optuna.trial.TrialState.COMPLETE]
    assert 4 <= len(ended) < 30, MOSTLY
    assert cost(study) < 0.6 * 60 * LAST, MOSTLY
    ends = [(t.params["x"] - 0.3) ** 2 + (t.params["y"] - 0.7) ** 2 for t in study.trials]
    assert abs(sign * study.best_value - min(ends)) < 0.02, MOSTLY


@pytest.mark.parametrize("make", [GSSBOSampler, GPUCBSampler])
@pytest.mark.parametrize("pruner", PRUNERS)
def test_a_study_that_is_loaded_again_goes_on_in_the_same_way(make, pruner, tmp_path):
    """What is learned from curves is a function of the trials in the storage."""
    storage = f"sqlite:///{tmp_path}/study.db"
    settings = {"study_name": "s", "storage": storage, "pruner": pickle.loads(pickle.dumps(PRUNERS[pruner]))}
    study = optuna.create_study(sampler=make(seed=0), **settings)
    study.optimize(train, n_trials=24)
    optimizer = optimizer_of(study)
    again = optuna.create_study(sampler=make(seed=0), load_if_exists=True, **settings)
    other = optimizer_of(again)
    for known, found in zip(optimizer.observations, other.observations, strict=True):
        np.testing.assert_array_equal(found, known)
    for known, found in zip(optimizer.curves(), other.curves(), strict=True):
        assert found.kind == known.kind
        np.testing.assert_array_equal(found.steps, known.steps)
        np.testing.assert_array_equal(found.values, known.values)
    again.optimize(train, n_trials=1)
    assert optimizer_of(again).n_told == optimizer.n_told + 1


@over_seeds()
def test_pruned_trials_are_expected_to_end_where_like_ones_did():
    sampler = GPUCBSampler(seed=seeded(0), n_startup_trials=40)  # a model would hardly propose any that are pruned
    study = optuna.create_study(sampler=sampler, pruner=PRUNERS["median"])
    study.optimize(train, n_trials=40)
    stopped = study.get_trials(states=(optuna.trial.TrialState.PRUNED,))
    curves = [curve for curve in optimizer_of(study).curves() if curve.kind == "pruned"]
    assert len(curves) == len(stopped) > 5, MOSTLY
    truth = [(t.params["x"] - 0.3) ** 2 + (t.params["y"] - 0.7) ** 2 for t in stopped]
    reported = [t.intermediate_values[t.last_step] for t in stopped]
    expected = [curve.end for curve in curves]
    assert np.mean(np.abs(np.subtract(expected, truth))) < 0.5 * np.mean(np.abs(np.subtract(reported, truth))), MOSTLY
    assert all(0.0 < curve.std < 1.0 for curve in curves), MOSTLY


@over_seeds()
def test_the_end_of_a_running_trial_is_predicted():
    study = optuna.create_study(sampler=GSSBOSampler(seed=seeded(0)), pruner=CurvePruner())
    study.optimize(train, n_trials=30)
    trial = study.ask()
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    end = (x - 0.3) ** 2 + (y - 0.7) ** 2
    for step in range(1, 8):
        trial.report(end + (1.0 - end) * 0.75**step, step)
    value, std = study.sampler.predict_end(trial)
    assert abs(value - end) < 0.2, MOSTLY
    assert 0.0 < std < 0.3, MOSTLY
    frozen = study.trials[-1]
    assert study.sampler.predict_end(frozen) == predict_end(study, frozen) == (value, std)
    with pytest.raises(ValueError, match="trial must be a trial of Optuna, got 3"):
        study.sampler.predict_end(3)


@pytest.mark.parametrize("torn", [float("nan"), float("inf"), float("-inf")])
def test_reports_of_any_kind_are_survived(torn):
    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        rng = np.random.default_rng(trial.number)
        for step in rng.permutation(12) * 3:  # out of order, and with gaps
            trial.report(torn if rng.random() < 0.2 else x + 1.0 / (1 + step), int(step))
            if trial.should_prune():
                raise optuna.TrialPruned
        if trial.number % 7 == 3:
            return float("nan")
        return x

    study = optuna.create_study(sampler=GSSBOSampler(seed=0), pruner=CurvePruner())
    study.optimize(objective, n_trials=40)
    assert len(study.trials) == 40


def test_one_pruner_for_two_studies_knows_them_apart():
    pruner = CurvePruner()
    samplers = [optuna.samplers.RandomSampler(seed=seed) for seed in range(2)]
    pair = [optuna.create_study(sampler=sampler, pruner=pruner) for sampler in samplers]
    for k in range(24):
        pair[k % 2].optimize(train, n_trials=1)
    for seed, study in enumerate(pair):
        alone = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed), pruner=CurvePruner())
        alone.optimize(train, n_trials=12)
        assert [t.last_step for t in alone.trials] == [t.last_step for t in study.trials]
        assert study.trials[0].state == optuna.trial.TrialState.COMPLETE
        assert optuna.trial.TrialState.PRUNED in [t.state for t in study.trials]


def test_one_pruner_for_studies_one_after_another():
    """The memory of a storage that is gone is used again by the next one."""
    pruner, ended = CurvePruner(), []
    for _ in range(8):
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0), pruner=pruner)
        study.optimize(train, n_trials=15)
        ended.append(len(study.get_trials(states=(optuna.trial.TrialState.COMPLETE,))))
    assert len(set(ended)) == 1


@over_seeds()
def test_it_knows_trials_that_ended_in_other_threads_since_the_trial_began():
    pruner = CurvePruner()
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seeded(0)), pruner=pruner)
    hopeless = study.ask()
    others = Thread(target=lambda: study.optimize(train, n_trials=20))
    others.start()
    others.join()
    for step in range(1, LAST + 1):
        hopeless.report(5.0, step)
        if hopeless.should_prune():
            break
    assert step < LAST // 2, MOSTLY


def test_it_explains_itself_at_debug_level(caplog):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0), pruner=CurvePruner())
    with caplog.at_level(logging.DEBUG, "numbo"):
        study.optimize(train, n_trials=12)
    assert any("a fresh trial promises more per step" in message for message in caplog.messages)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"probability": 1.5}, "probability must be .*got 1.5"),
        ({"probability": "half"}, "probability must be .*got 'half'"),
        ({"n_startup_trials": 0}, "n_startup_trials must be .*got 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        CurvePruner(**settings)
