"""Reports of several objectives, the median rule by dominance, and what is learned from trials that were pruned."""

from __future__ import annotations

import math
import statistics
import subprocess
import sys

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.samplers import RandomSampler
from optuna.storages import InMemoryStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState, create_trial
from tests.helpers import MOSTLY, over_seeds, seeded, trials_told
from tests.optuna.inside import optimizer_of, view_of

import numbo.optuna
from numbo.optuna import GPUCBSampler, GSSBOSampler, _records, report, should_prune

DIRECTIONS = ("minimize", "maximize")
SPACE = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}
LAST = 4
STORAGES = {
    "memory": lambda path: InMemoryStorage(),
    "journal": lambda path: JournalStorage(JournalFileBackend(str(path / "journal"))),
    "sqlite": lambda path: RDBStorage(f"sqlite:///{path}/study.db"),
}


def new_study(sampler=None, storage=None, directions=DIRECTIONS):
    sampler = RandomSampler(seed=0) if sampler is None else sampler
    return optuna.create_study(study_name="s", sampler=sampler, directions=directions, storage=storage)


def ends(x, y):
    return (x - 0.2) ** 2 + (y - 0.5) ** 2, -((x - 0.8) ** 2) - (y - 0.5) ** 2


def train(trial):
    near, far = ends(trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0))
    for step in range(LAST + 1):
        gap = 0.3 * 0.5**step
        report(trial, (near + gap, far - gap), step)
        if should_prune(trial):
            raise optuna.TrialPruned
    return near, far


def reports_of(trial):
    """By step, read in the plainest way."""
    prefix = "numbo:report:"
    return {int(k.removeprefix(prefix)): v for k, v in trial.user_attrs.items() if k.startswith(prefix)}


@pytest.mark.parametrize("storage", STORAGES)
def test_trials_that_the_median_dominates_are_pruned(storage, tmp_path):
    study = new_study(storage=STORAGES[storage](tmp_path))
    study.optimize(train, n_trials=24)
    complete = []
    pruned = 0
    for trial in study.trials:
        reports = reports_of(trial)
        for step, (near, far) in reports.items():
            medians = [statistics.median(c[step][j] for c in complete) if complete else math.nan for j in range(2)]
            beaten = len(complete) >= 5 and near > medians[0] and far < medians[1]
            assert beaten == (trial.state == TrialState.PRUNED and step == max(reports))
        if trial.state == TrialState.COMPLETE:
            assert max(reports) == LAST
            complete.append(reports)
        pruned += trial.state == TrialState.PRUNED
    assert 2 <= pruned <= 15


NUMBERS = st.sampled_from([-math.inf, -1.0, 0.0, 1.0, 1e308, 2.0, math.inf])
CURVES = st.dictionaries(st.integers(0, 4), st.tuples(NUMBERS, NUMBERS), max_size=4)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(CURVES, max_size=7),
    CURVES,
    st.sampled_from([("minimize", "maximize"), ("minimize", "minimize")]),
    st.integers(1, 4),
    st.integers(0, 3),
)
def test_the_rule_is_that_of_a_naive_twin(others, curve, directions, least, warmup):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = new_study(directions=directions)
    for reports in others:
        trial = study.ask()
        for step, values in reports.items():
            report(trial, values, step)
        study.tell(trial, (0.0, 0.0))
    for state in (TrialState.FAIL, TrialState.PRUNED):  # of no account
        trial = study.ask()
        report(trial, (-1.0, 1.0), 0)
        study.tell(trial, state=state)
    trial = study.ask()
    for step, values in curve.items():
        report(trial, values, step)
    expected = False
    if curve and max(curve) >= warmup:
        at = max(curve)
        known = [c[max(s for s in c if s <= at)] for c in others if any(s <= at for s in c)]
        if len(known) >= least:
            signs = [1.0 if d == "maximize" else -1.0 for d in directions]
            better, worse = [], []
            for j, sign in enumerate(signs):
                column = sorted(sign * c[j] for c in known)
                low, high = column[(len(column) - 1) // 2], column[len(column) // 2]
                median = low / 2.0 + high / 2.0
                better.append(sign * curve[at][j] > median or math.isnan(median))
                worse.append(sign * curve[at][j] < median)
            expected = any(worse) and not any(better)
    assert should_prune(trial, n_startup_trials=least, n_warmup_steps=warmup) == expected


@pytest.mark.parametrize("sampler", [GSSBOSampler, GPUCBSampler])
def test_samplers_learn_from_the_last_report_of_pruned_trials(sampler):
    study = new_study(sampler(seed=0, search_space=SPACE))

    def objective(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        if trial.number % 5 == 4:
            raise optuna.TrialPruned  # a failure: nothing was reported
        report(trial, (x + 1.0, x - 1.0), 1)
        report(trial, (x + 0.25, x - 0.25), 10)
        report(trial, (x + 0.5, x - 0.5), 2)
        report(trial, (math.nan, 7.0), 11)
        if trial.number % 2:
            raise optuna.TrialPruned
        return x, x

    study.optimize(objective, n_trials=20)
    study.ask(SPACE)
    view = view_of(study)
    assert view.desk.told == list(range(20))
    values = view.desk.optimizer.observations[1]
    final = trials_told(view.desk.optimizer)["final"]
    for number, trial in enumerate(study.trials[:20]):
        x = trial.params["x"]
        if number % 5 == 4:
            assert np.isnan(values[number]).all()
        elif number % 2:
            assert trial.state == TrialState.PRUNED
            assert not final[number]
            assert values[number].tolist() == [x + 0.25, x - 0.25]
        else:
            assert final[number]
            assert values[number].tolist() == [x, x]


@over_seeds()
def test_pruning_saves_steps_and_finds_the_front():
    sampler = GSSBOSampler(seed=seeded(0), n_startup_trials=25)  # a model would hardly propose any that are pruned
    study = new_study(sampler)
    study.optimize(train, n_trials=50)
    states = [t.state for t in study.trials]
    assert states.count(TrialState.PRUNED) >= 3, MOSTLY
    assert states.count(TrialState.COMPLETE) >= 20, MOSTLY
    assert np.mean([abs(t.params["y"] - 0.5) < 0.1 for t in study.best_trials]) > 0.8, MOSTLY
    assert optimizer_of(study).n_told == 50


def test_copies_with_other_reports_are_another_study():
    sampler = GSSBOSampler(seed=0, search_space=SPACE)
    study = new_study(sampler)
    for number in range(8):
        trial = study.ask(SPACE)
        report(trial, (float(number), 0.0), 3)
        study.tell(trial, state=TrialState.PRUNED)
    study.ask(SPACE)
    trials = study.get_trials()[:8]
    for trial in trials:
        trial.user_attrs["numbo:report:3"] = [-5.0, 5.0]
    other = new_study(sampler)
    other.add_trials(trials)
    other.ask(SPACE)
    assert optimizer_of(other).observations[1].tolist() == [[-5.0, 5.0]] * 8


@pytest.mark.parametrize(
    "torn", ["x", [1.0], [1.0, "x"], [1.0, 2.0, 3.0], None, {"a": 1}, [math.nan, 1.0], [True, 1.0]]
)
def test_torn_reports_do_no_harm(torn):
    study = new_study(GSSBOSampler(seed=0, search_space=SPACE))
    for name in ("4", "x", "-1", "", "²"):
        trial = create_trial(
            params={"x": 0.5},
            distributions=SPACE,
            state=TrialState.PRUNED,
            user_attrs={f"{_records.REPORT}{name}": torn, f"{_records.REPORT}2": [0.5, 0.25]},
        )
        study.add_trial(trial)
        study.add_trial(create_trial(values=[0.0, 0.0], user_attrs=trial.user_attrs))
    trial = study.ask(SPACE)
    assert not should_prune(trial)
    report(trial, (0.5, 0.25), 4)
    assert not should_prune(trial)
    report(trial, (0.6, 0.25), 4)  # in place of the one before
    assert should_prune(trial)
    assert view_of(study).desk.optimizer.observations[1].tolist() == [[0.5, 0.25]] * 5


WORKER = """
import sys, optuna, numbo.optuna
from optuna.storages.journal import JournalFileBackend
storage = optuna.storages.JournalStorage(JournalFileBackend(sys.argv[1]))
study = optuna.load_study(study_name="s", storage=storage, sampler=optuna.samplers.RandomSampler(seed=1))
for _ in range(5):
    trial = study.ask()
    numbo.optuna.report(trial, (0.0, 0.0), 1)
    study.tell(trial, (0.0, 0.0))
"""


def test_trials_of_other_processes_that_ended_since_the_trial_began_count(tmp_path):
    study = new_study(storage=STORAGES["journal"](tmp_path))
    trial = study.ask()
    report(trial, (1.0, 0.0), 2)
    assert not should_prune(trial)
    subprocess.run([sys.executable, "-c", WORKER, str(tmp_path / "journal")], check=True)
    assert should_prune(trial)
    assert not should_prune(trial, n_startup_trials=6)
    assert not should_prune(trial, n_warmup_steps=3)
    assert should_prune(trial, n_warmup_steps=2)


def test_attributes_are_short_enough_for_relational_storages(tmp_path):
    k = 5
    study = new_study(storage=STORAGES["sqlite"](tmp_path), directions=["minimize"] * k)
    trial = study.ask()
    values = [-1.2345678901234567e-300] * k
    for step in (0, 7, 10**9):
        report(trial, values, step)
    frozen = study.trials[0]
    assert reports_of(frozen) == {0: values, 7: values, 10**9: values}
    assert all(len(str(v)) < 200 for v in frozen.user_attrs.values())
    assert _records.last_report(frozen, k) == (10**9, values)
    assert _records.last_report(frozen, k, 8) == (7, values)


def test_trials_outside_of_a_study_report_to_nobody():
    def objective(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        report(trial, (x, x), 0)
        assert not should_prune(trial)
        return x, x

    assert objective(optuna.trial.FixedTrial({"x": 0.5})) == (0.5, 0.5)
    study = new_study()
    study.optimize(objective, n_trials=1)
    assert objective(study.trials[0]) == tuple(study.trials[0].values)


def test_what_makes_no_sense_is_refused():
    study = new_study()
    trial = study.ask()
    for wrong in (1.0, (1.0,), (1.0, 2.0, 3.0), "12", (1.0, "x"), None):
        with pytest.raises(ValueError, match=r"^values must be a sequence of 2 numbers, one for each objective; got "):
            report(trial, wrong, 1)
    for wrong in (-1, 1.5, "1", None, True):
        with pytest.raises(ValueError, match=r"^step must be "):
            report(trial, (1.0, 2.0), wrong)
    assert study.trials[0].user_attrs == {}
    with pytest.raises(ValueError, match=r"^n_startup_trials must be .*got 0"):
        should_prune(trial, n_startup_trials=0)
    with pytest.raises(ValueError, match=r"^n_warmup_steps must be .*got -1"):
        should_prune(trial, n_warmup_steps=-1)
    with pytest.raises(ValueError, match=r"^trial must be a trial of Optuna, got 3\.$"):
        should_prune(3)
    alone = optuna.create_study().ask()
    with pytest.raises(ValueError, match=r"has one: use trial\.report\(value, step\)\.$"):
        numbo.optuna.report(alone, (1.0,), 1)
    with pytest.raises(ValueError, match=r"has one: use trial\.should_prune\(\)\.$"):
        numbo.optuna.should_prune(alone)
