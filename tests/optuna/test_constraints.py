"""Constraints of trials, by a function or by name, from this process or another one."""

from __future__ import annotations

import math
import re

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState, create_trial
from tests.harness.programs import NAMED
from tests.helpers import MOSTLY, over_seeds, seeded, trials_told
from tests.optuna.inside import add_unchecked, optimizer_of, view_of

import numbo.optuna
from numbo.optuna import BKBSampler, GPUCBSampler, GSSBOSampler

needs_names = pytest.mark.skipif(not NAMED, reason="this Optuna has no Trial.set_constraint")
SAMPLERS = pytest.mark.parametrize("sampler", [GSSBOSampler, GPUCBSampler])


def objective(trial):
    x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
    trial.set_user_attr("c", (x + y - 0.8, 0.2 - x))
    return (x - 0.9) ** 2 + (y - 0.9) ** 2


def by_attribute(trial):
    return trial.user_attrs["c"]


def named(trial):
    value = objective(trial)
    for name, c in zip(("sum", "left"), trial.user_attrs["c"], strict=True):
        trial.set_constraint(name, c)
    return value


def constraints(study):
    """The values of the constraints (n, q) that the optimizer of a study has learned, which hold up to 0."""
    return trials_told(view_of(study).desk.optimizer)["C"]


@SAMPLERS
@over_seeds()
def test_a_function_says_what_is_feasible(sampler):
    study = optuna.create_study(sampler=sampler(seed=seeded(0), constraints_func=by_attribute))
    study.optimize(objective, n_trials=40)
    feasible = [t.value for t in study.trials if max(t.user_attrs["c"]) <= 0.0]
    assert min(feasible) < 0.5 + 2e-3, MOSTLY  # at (0.4, 0.4)
    params, value = study.sampler.best_predicted(study)
    assert value == min(feasible)
    assert max(params["x"] + params["y"] - 0.8, 0.2 - params["x"]) <= 0.0
    assert numbo.optuna.predict_feasible(study, {"x": 0.9, "y": 0.9}) < 0.1, MOSTLY
    found = numbo.optuna.predict_feasible(study, [{"x": 0.3, "y": 0.3}, {"x": 0.1, "y": 0.1}])
    assert found[0] > 0.5, MOSTLY
    assert found[1] < 0.05, MOSTLY
    assert numbo.optuna.explain(study).n_feasible == len(feasible)
    assert study.best_trial.value == min(feasible)


@needs_names
@SAMPLERS
def test_constraints_by_name_are_those_by_a_function(sampler):
    """In the same order: in another one, sums of their terms differ in the last digit, and searches after a while."""

    def by_name(trial):
        value = objective(trial)
        for name, c in zip(("sum", "width"), trial.user_attrs["c"], strict=True):
            trial.set_constraint(name, c)
        return value

    one = optuna.create_study(sampler=sampler(seed=0, constraints_func=by_attribute))
    other = optuna.create_study(sampler=sampler(seed=0))
    one.optimize(objective, n_trials=25)
    other.optimize(by_name, n_trials=25)
    assert optimizer_of(other).constraints == ("sum", "width")
    assert optimizer_of(one).constraints == ("0", "1")
    np.testing.assert_array_equal(constraints(one), constraints(other))
    points = [[list(t.params.values()) for t in study.trials] for study in (one, other)]
    np.testing.assert_array_equal(*points)
    third = optuna.create_study(sampler=sampler(seed=0))
    third.optimize(named, n_trials=5)  # no more than the initial design
    third.ask().suggest_float("x", 0.0, 1.0)
    assert optimizer_of(third).constraints == ("left", "sum")
    np.testing.assert_array_equal(constraints(third)[:, ::-1], constraints(one)[:5])


@needs_names
def test_another_process_sees_them_and_a_new_one_may_come_later():
    storage = optuna.storages.InMemoryStorage()
    study = optuna.create_study(storage=storage, study_name="s", sampler=GSSBOSampler(seed=0))
    study.optimize(objective, n_trials=8)
    assert optimizer_of(study).constraints == ()
    study.optimize(named, n_trials=8)
    twin = optuna.load_study(storage=storage, study_name="s", sampler=GSSBOSampler(seed=0))
    study.ask({"x": optuna.distributions.FloatDistribution(0, 1)})
    twin.ask({"x": optuna.distributions.FloatDistribution(0, 1)})
    for one in (study, twin):
        C = constraints(one)
        assert C.shape == (16, 2)
        assert np.isnan(C[:8]).all()
        assert np.isfinite(C[8:]).all()


def test_trials_that_were_added_and_pruned_ones_count():
    study = optuna.create_study(sampler=GSSBOSampler(seed=0))
    space = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}
    for k in range(12):
        study.add_trial(
            create_trial(
                params={"x": k / 12.0},
                distributions=space,
                value=None if k % 2 else float(k),
                state=TrialState.PRUNED if k % 2 else TrialState.COMPLETE,
                intermediate_values={1: float(k)},
                system_attrs={"constraints": [0.5 - k / 12.0]},
            )
        )
    assert optimizer_of(study).met.tolist() == [k >= 6 for k in range(12)]
    assert study.sampler.best_predicted(study)[0] == {"x": 0.5}


def test_torn_constraints_do_no_harm():
    study = optuna.create_study(sampler=GSSBOSampler(seed=0))
    space = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}
    for k, attr in enumerate([None, [], [1.0], [-1.0, 2.0], "torn", {"a": 1}]):
        attrs = {"constraints": attr}
        trial = create_trial(params={"x": k / 6}, distributions=space, value=1.0, system_attrs=attrs)
        add_unchecked(study, trial)
    for _ in range(6):
        study.tell(study.ask(space), 1.0)
    assert optimizer_of(study).constraints == ("0", "1")


def test_a_sampler_without_constraints_refuses_them():
    with pytest.raises(TypeError, match=r"^BKBSampler does not support constraints, .*: GSSBOSampler does\.$"):
        BKBSampler(constraints_func=by_attribute)
    with pytest.raises(ValueError, match="constraints_func must be a function of a trial, got 3"):
        GSSBOSampler(constraints_func=3)


BAD = [
    0.5,
    None,
    "ab",
    np.array(0.5),
    ("0.5",),
    [None],
    [[0.5], [1.0]],
    [[0.5], [1.0, 2.0]],
    (1j,),
    (10**400,),
    {0.5},
    (c for c in [0.5]),
    b"ab",
    {"a": 0.5},
    (math.nan,),
    np.array([1.0, np.nan]),
]


@pytest.mark.parametrize("returned", BAD, ids=lambda found: type(found).__name__)
def test_what_is_no_sequence_of_numbers_is_refused_in_one_sentence(returned):
    functions = [lambda trial: returned, lambda trial: 1 / 0, by_attribute]
    sampler = GSSBOSampler(seed=0, constraints_func=lambda trial: functions[trial.number](trial))
    study = optuna.create_study(sampler=sampler)
    words = "constraints_func must return a list or tuple of numbers other than NaN, such as (0.5, -1.0), "
    with pytest.raises(ValueError, match=re.escape(f"{words}got {returned!r} for trial 0.")):
        study.optimize(objective, n_trials=1)
    assert study.trials[0].state is TrialState.COMPLETE  # nothing is lost
    assert study.trials[0].system_attrs["constraints"] is None
    with pytest.raises(ZeroDivisionError):  # errors of the function itself are its own
        study.optimize(objective, n_trials=1)
    study.optimize(objective, n_trials=1)
    assert optimizer_of(study).constraints == ("0", "1")
    assert optimizer_of(study).met.tolist() == [True, True, max(study.trials[2].user_attrs["c"]) <= 0.0]
    assert study.trials[2].system_attrs["constraints"] == study.trials[2].user_attrs["c"]


GOOD = [(), [], (0.5, -1), [True], [math.inf, np.float32(-1.5)], np.array([0.5, 1.0]), range(2)]


@pytest.mark.filterwarnings("ignore:Constraints should be a sequence of floats")
@pytest.mark.parametrize("returned", GOOD, ids=repr)
def test_what_is_stored_is_what_optuna_stores(returned):
    stored = []
    for cls in (GSSBOSampler, optuna.samplers.TPESampler):
        study = optuna.create_study(sampler=cls(seed=0, constraints_func=lambda trial: returned))
        study.optimize(objective, n_trials=1)
        stored.append(study.trials[0].system_attrs["constraints"])
    assert stored[0] == stored[1] == tuple(returned)
    assert [type(c) for c in stored[0]] == [type(c) for c in stored[1]]


def test_failed_trials_are_not_asked_for_constraints():
    study = optuna.create_study(sampler=GSSBOSampler(seed=0, constraints_func=lambda trial: 0.5))
    study.tell(study.ask(), state=TrialState.FAIL)
    assert "constraints" not in study.trials[0].system_attrs
