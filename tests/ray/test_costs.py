"""What trials of Ray Tune cost: the time that they have run, or a metric."""

from __future__ import annotations

import math
import pickle
from datetime import timedelta

import numpy as np
import pytest
from ray import tune
from ray.tune.experiment import Experiment
from tests.helpers import MOSTLY, over_seeds, seeded

from numbo.ray import BBKBSearch, BKBSearch, GSSBOSearch, SBPESearch

SPACE = {"x": tune.uniform(0.0, 1.0), "net": {"y": tune.uniform(0.0, 1.0)}}


def cost_of(config):
    return math.exp(4.0 * config["x"])


def loss(config):
    return (config["x"] - 0.4) ** 2 + (config["net"]["y"] - 0.6) ** 2


def search(**options):
    return GSSBOSearch(SPACE, "loss", "min", seed=seeded(0), **options)


def run(searcher, n, metric="time_total_s", cost=cost_of, first=0):
    configs = []
    for i in range(first, first + n):
        config = searcher.suggest(str(i))
        configs.append(config)
        spent = {} if cost is None else {metric: cost(config)}
        searcher.on_trial_complete(str(i), {"loss": loss(config), "training_iteration": 1, **spent})
    return configs


def costs(searcher):
    return searcher._opt._run.history.trials.cost


@pytest.mark.parametrize(("cost", "metric"), [("duration", "time_total_s"), ("price", "price"), ("a/b", "a/b")])
def test_costs_are_learned_from_results(cost, metric):
    searcher = search(cost=cost, budget=1e4)
    configs = run(searcher, 12, metric)
    np.testing.assert_allclose(costs(searcher), [cost_of(config) for config in configs])
    state = searcher._opt._run
    assert state.costs.left(state.history) == pytest.approx(1e4 - sum(map(cost_of, configs)))


def test_the_last_reported_cost_counts_also_of_a_failure():
    searcher = search(cost="duration")
    for i in range(3):
        searcher.suggest(str(i))
        for step in (1, 2, 3):
            result = {"loss": 1.0 / step, "training_iteration": step, "time_total_s": 10.0 * step}
            searcher.on_trial_result(str(i), result)
    searcher.on_trial_complete("0", None, error=True)
    searcher.on_trial_complete("1", None)
    searcher.on_trial_complete("2", {"loss": 0.2, "training_iteration": 4, "time_total_s": 40.0})
    assert costs(searcher).tolist() == [30.0, 30.0, 40.0]


def test_equal_and_unknown_costs_change_nothing():
    plain = run(search(), 16, cost=None)
    assert run(search(cost="price"), 16, cost=None) == plain
    assert run(search(cost="duration", budget=100.0), 16, cost=lambda config: 3.0) == plain


@over_seeds()
def test_the_last_suggestions_are_those_that_still_fit():
    searcher = search(cost="price", budget=400.0)
    total = 0.0
    for i in range(150):
        config = searcher.suggest(str(i))
        if total + cost_of(config) > 400.0:
            break
        total += cost_of(config)
        result = {"loss": -config["x"] - config["net"]["y"], "training_iteration": 1, "price": cost_of(config)}
        searcher.on_trial_complete(str(i), result)
    assert total > 390.0, MOSTLY


@pytest.mark.allows_fallback
def test_a_cost_that_is_none_counts_as_unknown_and_is_named_once(caplog):
    searcher = search(cost="price")
    for i, price in enumerate([0.0, -2.0, math.nan, "much"]):
        searcher.suggest(str(i))
        searcher.on_trial_complete(str(i), {"loss": 1.0 + i, "training_iteration": 1, "price": price})
    assert np.isnan(costs(searcher)).all()
    assert searcher._opt.n_told == 4
    assert caplog.text.count("its cost counts as unknown") == 1


def test_a_restored_searcher_goes_on_as_it_was(tmp_path):
    searcher = search(cost="duration", budget=2000.0)
    run(searcher, 12)
    searcher.suggest("running")
    searcher.on_trial_result("running", {"loss": 0.5, "training_iteration": 1, "time_total_s": 7.0})
    searcher.save(str(tmp_path / "state.pkl"))
    twins = [GSSBOSearch(SPACE, "loss", "min"), pickle.loads(pickle.dumps(searcher))]
    twins[0].restore(str(tmp_path / "state.pkl"))
    for one in (searcher, *twins):
        one.on_trial_complete("running", None, error=True)
    expected = run(searcher, 4, first=20)
    for twin in twins:
        assert run(twin, 4, first=20) == expected
        assert costs(twin)[12] == 7.0
        assert "cost='duration', budget=2000.0" in repr(twin)


def test_evaluated_points_have_costs():
    points = [{"x": x, "net": {"y": 0.5}} for x in (0.1, 0.3, 0.5, 0.7)]
    rewards = [{"loss": loss(p), "price": cost_of(p)} for p in points]
    searcher = search(cost="price", points_to_evaluate=points, evaluated_rewards=rewards)
    np.testing.assert_allclose(costs(searcher), [cost_of(p) for p in points])
    searcher.add_evaluated_point(points[0] | {"x": 0.9}, 0.3, metrics={"price": 5.0})
    assert costs(searcher)[-1] == 5.0


@pytest.mark.parametrize("cls", [BKBSearch, BBKBSearch, SBPESearch])
@pytest.mark.parametrize("option", [{"cost": "duration"}, {"budget": 3.0}])
def test_others_refuse_costs_by_name(cls, option):
    with pytest.raises(TypeError, match=f"{cls.__name__} does not take costs into account.*GSSBOSearch does"):
        cls(**option)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match=r"cost must be 'duration' or a name .* got 3"):
        search(cost=3)
    with pytest.raises(ValueError, match=r"budget must be a number above 0, got -1\.0"):
        search(cost="duration", budget=-1.0)
    with pytest.raises(ValueError, match=r"budget needs cost, .* got 60.0 alone"):
        search(budget=60.0)


@pytest.mark.usefixtures("local_ray")
@pytest.mark.xdist_group("ray")
def test_a_run_of_tune_knows_its_seconds(tmp_path):
    def trainable(config):
        return {"loss": loss(config)}

    searcher = GSSBOSearch(seed=0, cost="duration", budget=3600.0)
    tuner = tune.Tuner(
        trainable,
        param_space=SPACE,
        tune_config=tune.TuneConfig(metric="loss", mode="min", num_samples=4, search_alg=searcher),
        run_config=tune.RunConfig(storage_path=str(tmp_path), verbose=0),
    )
    results = tuner.fit()
    times = sorted(result.metrics["time_total_s"] for result in results)
    np.testing.assert_allclose(np.sort(costs(searcher)), times)


def test_the_time_of_a_run_is_what_is_left(monkeypatch):
    now = [5.0]
    monkeypatch.setattr("numbo.run.timer.time.monotonic", lambda: now[0])
    searcher = GSSBOSearch(cost="duration", seed=0)
    assert searcher.set_search_properties("loss", "min", SPACE, time_budget_s=timedelta(seconds=60), num_samples=30)
    run(searcher, 1)
    now[0] += 20.0
    run(searcher, 1, first=1)
    assert searcher._opt._run.costs.time == (60.0, 40.0)
    twin = pickle.loads(pickle.dumps(searcher))
    now[0] += 1e6  # Tune does not count the time between two sessions either
    run(twin, 1, first=2)
    assert twin._opt._run.costs.time == (60.0, 40.0)
    searcher.set_search_properties("loss", "min", SPACE, time_budget_s=None)
    run(searcher, 1, first=2)
    assert searcher._opt._run.costs.time is None


@pytest.mark.parametrize("cost", [None, "price"])
def test_the_time_of_a_run_is_no_limit_of_other_costs(cost):
    searcher = GSSBOSearch(cost=cost, seed=0)
    searcher.set_search_properties("loss", "min", SPACE, time_budget_s=60)
    run(searcher, 1)
    assert searcher._opt._run.costs.time is None


def test_tune_passes_on_the_time_of_a_run():
    """Tune has no promise that it does: if it stops, ``time_budget_s`` no longer counts."""
    assert "time_budget_s" in Experiment.PUBLIC_KEYS
