"""A study ends, once and for all workers, when more trials do not pay."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.samplers import PartialFixedSampler, TPESampler
from optuna.trial import TrialState, create_trial
from tests.helpers import MOSTLY, over_seeds, seeded

from numbo.optuna import GSSBOSampler, StopWhenDone, remaining, worthwhile
from numbo.optuna._stopping import ENDED, _hours


def bowl(trial):
    return (trial.suggest_float("x", -1, 1) - 0.3) ** 2 + (trial.suggest_float("y", -1, 1) + 0.2) ** 2


def study_of(sampler=None, **settings):
    return optuna.create_study(sampler=GSSBOSampler(seed=0) if sampler is None else sampler, **settings)


@over_seeds()
def test_a_study_ends_when_it_has_converged(caplog):
    caplog.clear()
    optuna.logging.enable_propagation()
    try:
        study = study_of(GSSBOSampler(seed=seeded(0)))
        with caplog.at_level(logging.INFO, logger="optuna.numbo"):
            study.optimize(bowl, n_trials=120, callbacks=[StopWhenDone(worth=1e-4)])
    finally:
        optuna.logging.disable_propagation()
    assert len(study.trials) >= 24
    assert len(study.trials) < 100, MOSTLY
    assert study.best_value < 1e-2, MOSTLY
    assert worthwhile(study, 1e-4) is None
    assert f"The study ends after {len(study.trials)} trials" in caplog.text
    assert study.user_attrs[ENDED] == len(study.trials)


def test_it_goes_on_as_long_as_that_pays():
    study = study_of()
    study.optimize(bowl, n_trials=40, callbacks=[StopWhenDone(worth=1e-300)])
    assert len(study.trials) == 40
    assert ENDED not in study.user_attrs


def test_the_questions_are_those_of_the_sampler():
    study = study_of(PartialFixedSampler({"y": 0.0}, GSSBOSampler(seed=0)))
    study.optimize(bowl, n_trials=15)
    sampler = study.sampler._base_sampler
    assert remaining(study, 10, least=0.1) == sampler.remaining(10, study, least=0.1)
    assert worthwhile(study, 1e-3) == sampler.worthwhile(1e-3, study)


def test_never_before_anything_succeeded():
    study = study_of()

    def fails(trial):
        trial.suggest_float("x", 0, 1)
        raise RuntimeError

    study.optimize(fails, n_trials=25, catch=RuntimeError, callbacks=[StopWhenDone(worth=1e9, patience=1)])
    assert len(study.trials) == 25
    study.optimize(lambda trial: 0.0 * trial.suggest_float("x", 0, 1), n_trials=5, callbacks=[StopWhenDone(1e9)])
    assert len(study.trials) == 30


def test_when_it_starts_to_judge():
    study = study_of()
    study.optimize(bowl, n_trials=50, callbacks=[StopWhenDone(worth=1e9, patience=2, n_startup_trials=7)])
    assert len(study.trials) == 8


def test_workers_end_together_and_may_go_on_later(tmp_path):
    """Another worker sees the mark at its next trial. Who continues is not ended by it."""
    url = f"sqlite:///{tmp_path}/study.db"
    first = study_of(storage=url, study_name="shared")
    second = optuna.load_study(storage=url, study_name="shared", sampler=GSSBOSampler(seed=1))
    patient = StopWhenDone(worth=1e-300)
    second.optimize(bowl, n_trials=3, callbacks=[patient])
    first.optimize(bowl, n_trials=50, callbacks=[StopWhenDone(worth=1e9, patience=1, n_startup_trials=5)])
    assert len(first.trials) == 5
    second.optimize(bowl, n_trials=50, callbacks=[patient])
    assert len(first.trials) == 6
    second.optimize(bowl, n_trials=4, callbacks=[patient])
    assert len(first.trials) == 10


def test_threads_end_together():
    study = study_of()
    study.optimize(bowl, n_trials=60, n_jobs=3, callbacks=[StopWhenDone(worth=1e9, patience=1, n_startup_trials=10)])
    assert 10 <= len(study.trials) <= 14


def test_an_hour_is_the_time_from_one_end_to_the_next():
    def ended(*minutes):
        at = [datetime(2026, 1, 1) + timedelta(minutes=m) for m in minutes]
        distributions = {"x": FloatDistribution(0, 1)}
        return [create_trial(value=1.0, params={"x": 0.5}, distributions=distributions) for _ in minutes], at

    trials, at = ended(0, 6, 12, 18, 600)
    for trial, moment in zip(trials, at, strict=True):
        trial.datetime_complete = moment
    assert _hours(trials) == pytest.approx(0.1)
    assert _hours(trials[:1]) == 0.0


def test_worth_per_hour():
    """Trials take a microsecond here, so that an hour brings more than any gain is worth; or they take an hour."""
    known = study_of()
    known.optimize(bowl, n_trials=30)

    def after(count, between, **settings):
        study = study_of()
        for i, trial in enumerate(known.trials[:count]):
            trial.datetime_complete = datetime(2026, 1, 1) + i * between
            study.add_trial(trial)
        study.optimize(bowl, n_trials=30 - count or 30, callbacks=[StopWhenDone(per="hour", **settings)])
        return len(study.trials)

    assert after(20, timedelta(microseconds=1), worth=1e-3) == 30
    assert after(30, timedelta(hours=1), worth=1.0, patience=1) == 31


def test_several_objectives():
    study = study_of(directions=["minimize", "minimize"])
    callback = StopWhenDone(worth=1e3, reference=(9.0, 9.0), patience=1)
    study.optimize(lambda t: (bowl(t), t.params["x"]), n_trials=30, callbacks=[callback])
    assert len(study.trials) == 20


def test_pruned_trials_are_trials():
    study = study_of()

    def objective(trial):
        value = bowl(trial)
        trial.report(value, 0)
        if trial.number % 2:
            raise optuna.TrialPruned
        return value

    study.optimize(objective, n_trials=60, callbacks=[StopWhenDone(worth=1e9, patience=1)])
    assert len(study.trials) == 20
    assert {trial.state for trial in study.trials} == {TrialState.COMPLETE, TrialState.PRUNED}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"worth": 0}, "worth must be a number above 0, got 0"),
        ({"worth": 1, "per": "day"}, "per must be one of 'trial', 'hour', got 'day'"),
        ({"worth": 1, "patience": 0}, "patience must be an integer of at least 1, got 0"),
        ({"worth": 1, "n_startup_trials": 0}, "n_startup_trials must be an integer of at least 1, got 0"),
        ({"worth": 1, "reference": 3}, "reference must be finite numbers, one an objective; got 3"),
        ({"worth": 1, "reference": "ab"}, "reference must be finite numbers, one an objective; got 'ab'"),
    ],
)
def test_bad_input_is_named(settings, words):
    with pytest.raises(ValueError, match=words):
        StopWhenDone(**settings)


def test_what_is_wrong_is_said_after_the_first_trial():
    study = study_of(TPESampler(seed=0))
    with pytest.raises(ValueError, match=r"must be one of numbo\.optuna, got TPESampler: give one to load_study"):
        study.optimize(bowl, n_trials=30, callbacks=[StopWhenDone(worth=1.0)])
    assert len(study.trials) == 1
    study = study_of()
    with pytest.raises(ValueError, match=r"reference must be a sequence of one finite number; got \(1.0, 2.0\)"):
        study.optimize(bowl, n_trials=30, callbacks=[StopWhenDone(worth=1.0, reference=[1.0, 2.0])])
    assert len(study.trials) == 1


def test_a_program_without_parameters_goes_on():
    study = study_of()
    study.optimize(lambda trial: 1.0 / (trial.number + 1), n_trials=25, callbacks=[StopWhenDone(worth=1e9)])
    assert len(study.trials) == 25


def test_repr():
    assert repr(StopWhenDone(worth=0.1)) == "StopWhenDone(worth=0.1, per='trial', patience=5)"


def test_a_finite_space_ends_with_its_last_point(caplog):
    study = study_of()
    optuna.logging.enable_propagation()
    try:
        with caplog.at_level(logging.INFO, logger="optuna.numbo"):
            study.optimize(
                lambda t: t.suggest_int("a", 1, 4) + t.suggest_categorical("b", [0.1, 0.2, 0.3]),
                n_trials=60,
                callbacks=[StopWhenDone(worth=1e-300)],
            )
    finally:
        optuna.logging.disable_propagation()
    assert len(study.trials) == 12 == len({tuple(t.params.values()) for t in study.trials})
    assert "The study ends after 12 trials: every point of its space was tried." in caplog.text


def test_a_branch_that_the_last_trial_has_opened_is_left():
    study = study_of()

    def branching(trial):
        kind = trial.suggest_categorical("kind", ["a", "b"])
        return 0.5 if kind == "a" else trial.suggest_int("depth", 1, 5) / 10

    study.optimize(branching, n_trials=40, callbacks=[StopWhenDone(worth=1e-300)])
    assert {t.params["depth"] for t in study.trials if "depth" in t.params} == {1, 2, 3, 4, 5}
    assert len(study.trials) < 20


def test_where_repeats_are_wanted_a_finite_space_is_no_end():
    study = study_of(GSSBOSampler(seed=0, avoid_repeats=False))
    study.optimize(lambda t: t.suggest_int("a", 1, 3), n_trials=15, callbacks=[StopWhenDone(worth=1e-300)])
    assert len(study.trials) == 15
