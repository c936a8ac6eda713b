"""A table of candidates as the search space of a study."""

from __future__ import annotations

import warnings

import numpy as np
import optuna
import pandas as pd
import pytest
from tests.helpers import MOSTLY, over_seeds, seeded

from numbo.optuna import BBKBSampler, BKBSampler, GSSBOSampler, SBPESampler, Table, best_predicted, explain, predict

rng = np.random.default_rng(0)
FRAME = pd.DataFrame({"rate": 10.0 ** rng.uniform(-5, -1, 2500), "act": rng.choice(["relu", "tanh"], 2500)})
LOSSES = (np.log10(FRAME["rate"]) + 3.0) ** 2 + (FRAME["act"] != "tanh")


@pytest.fixture
def table():
    return Table(FRAME, log=["rate"])


def objective_over(table):
    def objective(trial):
        row = table.suggest(trial)
        return (np.log10(row["rate"]) + 3.0) ** 2 + (row["act"] != "tanh")

    return objective


@pytest.mark.parametrize("sampler", [GSSBOSampler, BKBSampler, BBKBSampler, SBPESampler])
def test_rows_are_suggested(sampler, table):
    study = optuna.create_study(sampler=sampler(seed=0, search_space=table, avoid_repeats=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study.optimize(objective_over(table), n_trials=40)
    rows = [trial.params["row"] for trial in study.trials]
    assert len(set(rows)) == 40
    assert study.best_value == LOSSES[study.best_params["row"]]


@over_seeds()
def test_one_of_the_best_rows_is_found(table):
    study = optuna.create_study(sampler=GSSBOSampler(seed=seeded(0), search_space=table))
    study.optimize(objective_over(table), n_trials=40)
    assert (study.best_value > LOSSES).sum() <= 5, MOSTLY
    mean, std = predict(study, study.best_params)
    assert abs(mean - study.best_value) < 0.1 + 3.0 * std, MOSTLY
    assert set(explain(study).relevance) == {"rate", "act=relu", "act=tanh"}
    assert best_predicted(study)[0].keys() == {"row"}


@over_seeds()
def test_a_study_goes_on_where_it_ended(tmp_path, table):
    url = f"sqlite:///{tmp_path}/study.db"
    first = optuna.create_study(storage=url, study_name="s", sampler=GSSBOSampler(seed=seeded(0), search_space=table))
    first.optimize(objective_over(table), n_trials=25)
    again = optuna.load_study(storage=url, study_name="s", sampler=GSSBOSampler(seed=seeded(0), search_space=table))
    again.optimize(objective_over(table), n_trials=15)
    rows = [trial.params["row"] for trial in again.trials]
    assert len(set(rows)) >= 38, MOSTLY
    assert (again.best_value > LOSSES).sum() <= 5, MOSTLY


def test_threads_take_different_rows(table):
    study = optuna.create_study(sampler=GSSBOSampler(seed=0, search_space=table, avoid_repeats=True))
    study.optimize(objective_over(table), n_trials=40, n_jobs=4)
    assert len({trial.params["row"] for trial in study.trials}) == 40


@pytest.mark.parametrize("before", [0, 20])
def test_an_enqueued_row_is_evaluated(before, table):
    study = optuna.create_study(sampler=GSSBOSampler(seed=0, search_space=table))
    study.optimize(objective_over(table), n_trials=before)
    study.enqueue_trial({"row": 1234})
    study.optimize(objective_over(table), n_trials=3)
    assert study.trials[before].params == {"row": 1234}
    assert study.trials[before].value == LOSSES[1234]


@over_seeds()
def test_failed_and_pruned_rows_and_added_trials(table):
    def objective(trial):
        row = table.suggest(trial)
        if row["act"] == "relu":
            raise ValueError
        trial.report(1.0, 0)
        if trial.number % 5 == 4:
            raise optuna.TrialPruned
        return (np.log10(row["rate"]) + 3.0) ** 2

    study = optuna.create_study(sampler=GSSBOSampler(seed=seeded(0), search_space=table))
    distribution = optuna.distributions.IntDistribution(0, len(table) - 1)
    for row in (3, 4):
        study.add_trial(
            optuna.trial.create_trial(params={"row": row}, distributions={"row": distribution}, value=LOSSES[row])
        )
    study.optimize(objective, n_trials=50, catch=(ValueError,))
    failed = [trial.state == optuna.trial.TrialState.FAIL for trial in study.trials[-30:]]
    assert sum(failed) < 8, MOSTLY


def test_another_parameter_than_the_row_is_sampled_at_random(table):
    def objective(trial):
        return table.suggest(trial)["rate"] + trial.suggest_float("other", 0.0, 1.0)

    study = optuna.create_study(sampler=GSSBOSampler(seed=0, search_space=table))
    with pytest.warns(UserWarning, match="samples the parameter 'other' independently"):
        study.optimize(objective, n_trials=12)


def test_a_table_of_one_row():
    table = Table({"rate": [0.1]})
    study = optuna.create_study(sampler=GSSBOSampler(seed=0, search_space=table))
    study.optimize(lambda trial: table.suggest(trial)["rate"], n_trials=13)
    assert [trial.params for trial in study.trials] == [{"row": 0}] * 13


def test_other_samplers_take_the_same_objective(table):
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(objective_over(table), n_trials=15)
    assert len(study.trials) == 15


def test_what_is_no_space_is_refused():
    with pytest.raises(ValueError, match=r"search_space must be None, a mapping such as .*, or a Table, got 3"):
        GSSBOSampler(search_space=3)


def test_a_study_is_told_if_its_rows_are_others_now(table):
    """Rows are known by their numbers: another order is another meaning, more rows at the end are not."""
    study = optuna.create_study()

    def go_on(with_rows):
        table = Table(with_rows, log=["rate"])
        study.sampler = GSSBOSampler(seed=0, search_space=table)
        study.optimize(objective_over(table), n_trials=3)

    few = FRAME[:200]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        go_on(few)
        go_on(few)
        go_on(FRAME[:300])
        go_on(FRAME[:300])
    for others in (FRAME[:300][::-1], FRAME[300:700]):
        with pytest.warns(UserWarning, match="are not those of the table that this study has searched"):
            go_on(others)


def test_what_is_searched_besides_the_row_should_be_a_column(table):
    def objective(trial):
        return table.suggest(trial)["rate"] + trial.suggest_float("other", 0.0, 1.0)

    study = optuna.create_study(sampler=GSSBOSampler(seed=0, search_space=table, n_startup_trials=1))
    with pytest.warns(UserWarning, match="a Table is the whole space"):
        study.optimize(objective, n_trials=3)
