"""What trials of Optuna cost: their durations, or a user attribute."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from datetime import datetime, timedelta

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState, create_trial
from tests.helpers import MOSTLY, over_seeds, seeded

from numbo.optuna import BBKBSampler, BKBSampler, GPUCBSampler, GSSBOSampler, SBPESampler

SPACE = {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0)}
START = datetime(2027, 1, 1)


def cost_of(params):
    return math.exp(4.0 * params["x"])


def value_of(params):
    return (params["x"] - 0.4) ** 2 + (params["y"] - 0.6) ** 2


def objective(trial):
    params = {name: trial.suggest_float(name, 0.0, 1.0) for name in SPACE}
    trial.set_user_attr("price", cost_of(params))
    return value_of(params)


def ended(params, state=TrialState.COMPLETE, seconds=None, **options):
    """A trial that took as many seconds as it costs."""
    end = START + timedelta(seconds=cost_of(params) if seconds is None else seconds)
    value = value_of(params) if state == TrialState.COMPLETE else None
    trial = create_trial(state=state, value=value, params=params, distributions=SPACE, **options)
    trial.datetime_start, trial.datetime_complete = START, end
    return trial


def points(n, seed=0):
    return [dict(zip(SPACE, x, strict=True)) for x in np.random.default_rng(seed).random((n, 2)).tolist()]


def optimizer_of(sampler, study):
    sampler.explain(study=study)
    (view,) = sampler._views.values()
    return view.desk.optimizer


def costs_of(sampler, study):
    return optimizer_of(sampler, study)._run.history.trials.cost


def params_of(study):
    return [trial.params for trial in study.trials]


@pytest.mark.parametrize("cls", [GSSBOSampler, GPUCBSampler])
def test_durations_of_all_ended_trials_are_learned(cls):
    study = optuna.create_study(sampler=cls(seed=0, cost="duration", budget=1e4))
    states = [TrialState.COMPLETE, TrialState.FAIL, TrialState.PRUNED]
    for i, params in enumerate(points(12)):
        reports = {s: 1.0 / s for s in range(1, 4)} if i % 3 == 2 else None
        study.add_trial(ended(params, states[i % 3], intermediate_values=reports or {}))
    expected = [cost_of(params) for params in points(12)]
    np.testing.assert_allclose(sorted(costs_of(study.sampler, study)), sorted(expected), rtol=1e-5)
    run = optimizer_of(study.sampler, study)._run
    assert run.costs.left(run.history) == pytest.approx(1e4 - sum(expected), rel=1e-5)


def test_durations_of_trials_that_run_are_those_of_the_clock():
    study = optuna.create_study(sampler=GSSBOSampler(seed=0, cost="duration"))
    study.optimize(objective, 6)
    known = costs_of(study.sampler, study)
    expected = [trial.duration.total_seconds() for trial in study.trials]
    np.testing.assert_allclose(np.sort(known), np.sort(expected), rtol=1e-3, atol=2e-6)


def test_a_trial_that_took_no_time_has_an_unknown_cost():
    study = optuna.create_study(sampler=GSSBOSampler(seed=0, cost="duration"))
    for params in points(5):
        study.add_trial(ended(params, seconds=0.0))
    assert np.isnan(costs_of(study.sampler, study)).all()


@over_seeds()
def test_an_attribute_makes_trials_cheaper():
    def spent(cost):
        sampler = GSSBOSampler(seed=seeded(0), cost=cost, search_space=SPACE)
        study = optuna.create_study(sampler=sampler)

        def flat(trial):  # the same everywhere along x
            params = {name: trial.suggest_float(name, 0.0, 1.0) for name in SPACE}
            trial.set_user_attr("price", cost_of(params))
            return math.sin(20.0 * params["x"]) + params["y"]

        study.optimize(flat, 30)
        return sum(map(cost_of, params_of(study)))

    assert spent("price") < spent(None), MOSTLY


@pytest.mark.parametrize("cls", [GSSBOSampler, GPUCBSampler])
def test_unknown_and_equal_costs_change_nothing(cls):
    def run(price, **options):
        study = optuna.create_study(sampler=cls(seed=0, search_space=SPACE, **options))

        def priced(trial):
            if price is not None:
                trial.set_user_attr("price", price)
            return objective_without(trial)

        study.optimize(priced, 20)
        return params_of(study)

    def objective_without(trial):
        return value_of({name: trial.suggest_float(name, 0.0, 1.0) for name in SPACE})

    plain = run(None)
    assert run(3.0, cost="price", budget=500.0) == plain
    with pytest.warns(
        UserWarning, match="'price' has no value in 10 complete trials: their costs are unknown"
    ) as found:
        assert run(None, cost="price") == plain
    assert len(found) == 1


@pytest.mark.parametrize("price", [0.0, -1.0, math.inf, "1", True])
def test_a_bad_attribute_is_named_once_and_nothing_is_lost(price):
    study = optuna.create_study(sampler=GSSBOSampler(seed=0, cost="price"))

    def priced(trial):
        trial.set_user_attr("price", price)
        return trial.suggest_float("x", 0.0, 1.0)

    with pytest.warns(UserWarning, match="'price' must be a number above 0, got ") as found:
        study.optimize(priced, 6)
    assert len(found) == 1
    assert optimizer_of(study.sampler, study).n_told == 6


def test_two_workers_over_a_storage_share_costs_and_budget(tmp_path):
    """Each sees the trials of the other, finished and running ones, and what they cost."""
    url = f"sqlite:///{tmp_path}/study.db"
    studies = [
        optuna.create_study(
            study_name="s",
            storage=url,
            load_if_exists=True,
            sampler=GSSBOSampler(seed=seed, cost="price", budget=2000.0, search_space=SPACE),
        )
        for seed in (0, 1)
    ]
    for _ in range(5):
        studies[0].optimize(objective, 2)
        studies[1].optimize(objective, 2)
    expected = sorted(cost_of(trial.params) for trial in studies[0].trials)
    running = studies[0].ask(SPACE)
    for study in studies:
        np.testing.assert_allclose(np.sort(costs_of(study.sampler, study)), expected)
        run = optimizer_of(study.sampler, study)._run
        x = run.space.encode(running.params)
        left = 2000.0 - sum(expected) - run.costs.expected(run.history, x[None])[0]
        assert run.costs.left(run.history) == pytest.approx(left)


def test_a_running_trial_costs_what_it_has_said():
    study = optuna.create_study(sampler=GSSBOSampler(seed=0, cost="price", budget=2000.0, search_space=SPACE))
    study.optimize(objective, 10)
    spent = sum(cost_of(trial.params) for trial in study.trials)
    running = study.ask(SPACE)
    study.ask(SPACE)

    def left():
        study.sampler.explain(study)
        (view,) = study.sampler._views.values()
        run = view.desk.optimizer._run
        return run, run.costs.left(run.history)

    run, before = left()
    first, second = run.costs.expected(run.history, run.history.pending.X)
    assert before == pytest.approx(2000.0 - spent - first - second)
    running.set_user_attr("price", 123.0)
    assert left()[1] == pytest.approx(2000.0 - spent - 123.0 - second)
    running.set_user_attr("price", "dear")
    assert left()[1] == pytest.approx(before)


def timed(monkeypatch, **options):
    """A study whose clock is ``now[0]``."""
    now = [100.0]
    monkeypatch.setattr("numbo.run.timer.time.monotonic", lambda: now[0])
    sampler = GSSBOSampler(seed=0, cost="duration", search_space=SPACE, timeout=60.0, **options)
    return now, optuna.create_study(sampler=sampler)


def time_of(study):
    study.sampler.explain(study)
    (view,) = study.sampler._views.values()
    return view.desk.optimizer._run.costs.time


def test_what_the_clock_leaves_of_the_timeout(monkeypatch):
    now, study = timed(monkeypatch)
    now[0] += 1000.0  # nothing has begun
    study.optimize(objective, 1)
    now[0] += 20.0
    study.optimize(objective, 1)
    assert time_of(study) == (60.0, 40.0)
    now[0] += 39.0
    assert time_of(study) == (60.0, 1.0)
    now[0] += 5.0
    assert time_of(study) == (60.0, 0.0)
    study.optimize(objective, 1)  # optimize would not have begun it within the same call
    now[0] += 7.0
    assert time_of(study) == (60.0, 53.0)
    twin = copy.deepcopy(study.sampler)
    assert twin._views.timers._timeout == 60.0
    assert not twin._views.timers._timers


def test_the_last_trials_fit_into_the_time(monkeypatch):
    now, study = timed(monkeypatch)
    for params in points(30):
        study.add_trial(ended(params))
    study.ask(SPACE)
    now[0] += 58.0
    asked = [study.ask(SPACE).params for _ in range(6)]
    assert max(map(cost_of, asked)) < 2.4


def test_a_timeout_needs_durations():
    for cost in (None, "price"):
        with pytest.raises(ValueError, match=r"timeout needs cost='duration', as it is in seconds; got 60.0 with"):
            GSSBOSampler(cost=cost, timeout=60.0)
    for timeout in (0.0, -1.0, math.nan, math.inf, "1h"):
        with pytest.raises(ValueError, match=r"timeout must be a (finite )?number above 0, got"):
            GSSBOSampler(cost="duration", timeout=timeout)


def test_a_loaded_study_and_copies_of_the_sampler_go_on_alike(tmp_path):
    sampler = GSSBOSampler(seed=0, cost="price", budget=2000.0, search_space=SPACE)
    first = optuna.create_study(sampler=sampler)
    first.optimize(objective, 12)

    def following(twin, name):
        study = optuna.create_study(study_name=name, storage=f"sqlite:///{tmp_path}/study.db", sampler=twin)
        study.add_trials(first.trials)
        return study.ask(SPACE).params

    twins = [
        GSSBOSampler(seed=0, cost="price", budget=2000.0, search_space=SPACE),
        copy.deepcopy(sampler),
        pickle.loads(pickle.dumps(sampler)),
        eval(repr(sampler), globals()),
    ]
    assert all("cost='price', budget=2000.0" in repr(twin) for twin in twins)
    found = [following(twin, str(i)) for i, twin in enumerate(twins)]
    assert all(params == found[0] for params in found)
    blind = following(GSSBOSampler(seed=0, search_space=SPACE), "blind")
    assert blind != found[0]


@over_seeds()
def test_the_last_trials_are_those_that_still_fit():
    sampler = GSSBOSampler(seed=seeded(0), cost="price", budget=400.0, search_space=SPACE)
    study = optuna.create_study(sampler=sampler)
    total = 0.0
    for _ in range(150):
        trial = study.ask(SPACE)
        if total + cost_of(trial.params) > 400.0:
            break
        total += cost_of(trial.params)
        trial.set_user_attr("price", cost_of(trial.params))
        study.tell(trial, (trial.params["x"] - 0.9) ** 2 + (trial.params["y"] - 0.6) ** 2)
    assert total > 390.0, MOSTLY


@pytest.mark.parametrize("cost", ["", 3, True, ("duration",)])
def test_bad_names_are_refused(cost):
    with pytest.raises(ValueError, match="cost must be 'duration' or a name under which trials have their costs, got"):
        GSSBOSampler(cost=cost)


@pytest.mark.parametrize("budget", [0.0, -1.0, math.nan, math.inf, "1h"])
def test_bad_budgets_are_refused(budget):
    with pytest.raises(ValueError, match=r"budget must be a (finite )?number above 0, got"):
        GSSBOSampler(cost="duration", budget=budget)


def test_a_budget_needs_costs():
    with pytest.raises(ValueError, match=r"budget needs cost, such as cost='duration', .* got 60.0 alone"):
        GSSBOSampler(budget=60.0)


@pytest.mark.parametrize("cls", [BKBSampler, BBKBSampler, SBPESampler])
@pytest.mark.parametrize("option", [{"cost": "duration"}, {"budget": 3.0}])
def test_others_refuse_costs_by_name(cls, option):
    with pytest.raises(TypeError, match=f"{cls.__name__} does not take costs into account.*GSSBOSampler does"):
        cls(**option)


def test_no_warning_where_costs_are_in_order():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study = optuna.create_study(sampler=GSSBOSampler(seed=0, cost="price", budget=1e4, search_space=SPACE))
        study.optimize(objective, 12)
