"""`CurveScheduler`, and what the searchers learn from trials that a scheduler stopped."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from ray import tune
from ray.tune.schedulers import ASHAScheduler, TrialScheduler
from tests.helpers import MOSTLY, over_seeds, seeded

from numbo.ray import CurveScheduler, GSSBOSearch

LAST = 12


def end_of(config):
    return (config["x"] - 1.0) ** 2 / 16.0


def curve_of(config):
    end = end_of(config)
    return [end + (2.0 - end) * 0.7**step for step in range(1, LAST + 1)]


def run_of(scheduler, configs):
    """Trials one after the other, as Tune runs them; returns how many steps each one made."""
    made = []
    for k, config in enumerate(configs):
        trial = SimpleNamespace(trial_id=f"t{k}")
        for step, loss in enumerate(curve_of(config), start=1):
            result = {"training_iteration": step, "loss": loss}
            if scheduler.on_trial_result(None, trial, result) == TrialScheduler.STOP:
                break
        else:
            scheduler.on_trial_complete(None, trial, result)
        made.append(step)
    return made


@pytest.mark.parametrize("mode", ["min", "max"])
@over_seeds()
def test_it_stops_bad_trials_and_no_good_ones(mode):
    scheduler = CurveScheduler("loss", mode)
    rng = np.random.default_rng(seeded(0))
    configs = [{"x": float(x)} for x in rng.uniform(-3.0, 3.0, 40)]
    made = run_of(scheduler, configs)
    assert made[:4] == [LAST] * 4
    assert sum(made) < 0.6 * 40 * LAST, MOSTLY
    ends = [end_of(config) for config in configs]
    best = int(np.argmin(ends) if mode == "min" else np.argmax(ends))
    assert made[best] == LAST, MOSTLY


def test_it_takes_metric_and_mode_from_the_run_and_refuses_others():
    scheduler = CurveScheduler()
    with pytest.raises(ValueError, match="CurveScheduler has no metric and no mode"):
        scheduler.set_search_properties(None, None)
    assert scheduler.set_search_properties("loss", "min")
    with pytest.raises(ValueError, match=r"mode=.max."):
        scheduler.set_search_properties("loss", "max")
    with pytest.raises(ValueError, match="mode must be 'min' or 'max', got 'down'"):
        CurveScheduler(mode="down")
    with pytest.raises(ValueError, match=r"^time_attr must be a name such as 'training_iteration', got 3\.$"):
        CurveScheduler(time_attr=3)
    with pytest.raises(ValueError, match=r"^metric must be one string, got 3: "):
        CurveScheduler(metric=3)
    with pytest.raises(ValueError, match=r"complete must be .*got 0"):
        CurveScheduler(complete=0)


@pytest.mark.parametrize("torn", [None, "x", math.nan, math.inf])
def test_reports_of_any_kind_go_on(torn):
    scheduler = CurveScheduler("loss", "min")
    run_of(scheduler, [{"x": float(x)} for x in np.linspace(-3.0, 3.0, 8)])
    trial = SimpleNamespace(trial_id="torn")
    for result in ({"loss": torn}, {"training_iteration": 1, "loss": torn}, {"training_iteration": None, "loss": 1.0}):
        assert scheduler.on_trial_result(None, trial, result) in (TrialScheduler.CONTINUE, TrialScheduler.STOP)
    scheduler.on_trial_error(None, trial)
    scheduler.on_trial_remove(None, trial)
    scheduler.on_trial_complete(None, trial, {})


@over_seeds()
def test_a_searcher_learns_where_trials_that_were_stopped_would_have_ended():
    """Also after it was saved and restored in the middle of a trial."""
    searcher = GSSBOSearch({"x": tune.uniform(-3.0, 3.0)}, "loss", "min", seed=seeded(0))
    ends = []
    for k in range(30):
        config = searcher.suggest(f"t{k}")
        if k % 3:
            ends.append(end_of(config))
        losses = curve_of(config)[: LAST if k % 3 == 0 else 4]
        for step, loss in enumerate(losses, start=1):
            result = {"training_iteration": step, "loss": loss}
            if k % 3 == 0 or step < 4:  # Tune does not pass on the last result of a trial that it stops
                searcher.on_trial_result(f"t{k}", result)
            if step == 2:
                twin = GSSBOSearch()
                twin.__setstate__(searcher.__getstate__())
                searcher = twin
        searcher.on_trial_complete(f"t{k}", result)
    stopped = [curve for curve in searcher.optimizer.snapshot().curves() if curve.kind == "pruned"]
    assert len(stopped) == 20
    reported = np.subtract([curve.values[-1] for curve in stopped], ends)
    expected = np.subtract([curve.end for curve in stopped], ends)
    assert np.mean(np.abs(expected)) < 0.5 * np.mean(np.abs(reported)), MOSTLY


@pytest.mark.arithmetic
@pytest.mark.usefixtures("local_ray")
@pytest.mark.xdist_group("ray")
@pytest.mark.parametrize(
    "scheduler",
    [CurveScheduler(), pytest.param(ASHAScheduler(max_t=LAST, grace_period=1), marks=pytest.mark.slow)],
)
def test_a_real_run_stops_trials_and_finds_the_optimum(scheduler, tmp_path):
    def train(config):
        end = (config["x"] - 1.0) ** 2 / 16.0
        for step in range(1, 13):
            tune.report({"loss": end + (2.0 - end) * 0.7**step})

    searcher = GSSBOSearch(seed=0)
    tuner = tune.Tuner(
        train,
        param_space={"x": tune.uniform(-3.0, 3.0)},
        tune_config=tune.TuneConfig(
            metric="loss",
            mode="min",
            search_alg=searcher,
            scheduler=scheduler,
            num_samples=30,
            max_concurrent_trials=2,
            reuse_actors=True,
        ),
        run_config=tune.RunConfig(storage_path=str(tmp_path), name="run", verbose=0),
    )
    results = tuner.fit()
    assert len(results) == 30
    assert not results.errors
    made = [result.metrics["training_iteration"] for result in results]
    assert min(made) < LAST
    assert results.get_best_result().metrics["loss"] < 0.05
    assert searcher.optimizer.n_told == 30


@over_seeds()
def test_reports_of_running_trials_count_and_are_restored(tmp_path):
    search = GSSBOSearch({"x": tune.uniform(-3.0, 3.0)}, "loss", "min", seed=seeded(0))
    for k in range(12):
        curve = curve_of(search.suggest(f"t{k}"))
        count = 3 if k % 2 else LAST
        for step in range(1, count):
            search.on_trial_result(f"t{k}", {"training_iteration": step, "loss": curve[step - 1]})
        search.on_trial_complete(f"t{k}", {"training_iteration": count, "loss": curve[count - 1]})
    search.suggest("late")
    for step in (1, 2):
        search.on_trial_result("late", {"training_iteration": step, "loss": -4.0 + 1.0 / step})
    search.save(str(tmp_path / "state"))
    twin = GSSBOSearch(metric="loss", mode="min")
    twin.restore(str(tmp_path / "state"))
    for one in (search, twin):
        (running,) = [curve for curve in one.optimizer.snapshot().curves() if curve.kind == "running"]
        assert running.steps.tolist() == [1.0, 2.0]
        assert running.end < -1.0, MOSTLY  # all others end above 0
    assert search.suggest("next") == twin.suggest("next")
    search.on_trial_complete("late", {"training_iteration": 3, "loss": -3.8})
    assert search.optimizer.snapshot().curves()[-1].steps.tolist() == [1.0, 2.0, 3.0]
    assert search.optimizer.best[1] < 1.0, MOSTLY


# -- how trials end ----------------------------------------------------------------------------------------------------


def trials_of(scheduler, configs, results_of):
    """Trials one after the other, with what Tune calls at their ends; returns how many results each one reported."""
    made = []
    for k, config in enumerate(configs):
        trial = SimpleNamespace(trial_id=f"t{k}")
        for count, result in enumerate(results_of(config), start=1):  # noqa: B007
            if scheduler.on_trial_result(None, trial, result) == TrialScheduler.STOP:
                break
        scheduler.on_trial_complete(None, trial, result)
        made.append(count)
    return made


def dense(config):
    return [{"training_iteration": step, "loss": loss} for step, loss in enumerate(curve_of(config), start=1)]


@pytest.mark.parametrize("lacking", [{}, {"loss": None}])
def test_trials_are_stopped_whose_metric_only_some_results_have(lacking):
    def sparse(config):
        return [r if r["training_iteration"] in (2, 5, 8, 11) else r | {"loss": None} | lacking for r in dense(config)]

    scheduler = CurveScheduler("loss", "min")
    rng = np.random.default_rng(0)
    configs = [{"x": float(x)} for x in rng.uniform(-3.0, 3.0, 40)]
    made = trials_of(scheduler, configs, sparse)
    assert made[:4] == [LAST] * 4
    assert sum(made) < 0.8 * 40 * LAST
    assert made[int(np.argmin([end_of(config) for config in configs]))] == LAST


def ends_of(scheduler):
    """The values with which the trials have ended, NaN for those that were stopped or failed."""
    return [-end for end in scheduler._rule._ends]


def test_a_trial_that_was_stopped_has_not_ended_by_itself():
    scheduler = CurveScheduler("loss", "min")
    rng = np.random.default_rng(0)
    configs = [{"x": float(x)} for x in rng.uniform(-3.0, 3.0, 40)]
    made = trials_of(scheduler, configs, dense)
    assert min(made) < LAST
    assert np.isnan(ends_of(scheduler)).tolist() == [count < LAST for count in made]


@pytest.mark.parametrize(
    ("reports", "end"),
    [
        ([(1, 5.0), (2, math.nan), (3, 4.0)], 4.0),
        ([(1, 5.0), (2, 4.0), (3, math.nan)], math.nan),
        ([(1, 5.0), (2, math.nan), (3, None)], math.nan),
        ([(1, 5.0), (2, 4.0), (3, None)], 4.0),
        ([(3, 4.0), (1, 5.0), (2, 6.0)], 4.0),
        ([(1, 5.0), (None, 4.0)], 5.0),
        ([(1, 5.0), ("2", 4.0), (math.inf, 3.0)], 5.0),
    ],
)
def test_a_trial_has_ended_with_the_value_at_its_last_step(reports, end):
    scheduler = CurveScheduler("loss", "min")
    trials_of(scheduler, [reports], lambda rs: [{"training_iteration": step, "loss": loss} for step, loss in rs])
    np.testing.assert_array_equal(ends_of(scheduler), [end])


def test_a_trial_that_failed_and_runs_again_ends_by_itself():
    scheduler = CurveScheduler("loss", "min")
    trial = SimpleNamespace(trial_id="t")
    scheduler.on_trial_result(None, trial, {"training_iteration": 1, "loss": 5.0})
    scheduler.on_trial_error(None, trial)  # Tune calls it before it begins the trial again
    scheduler.on_trial_result(None, trial, {"training_iteration": 1, "loss": 4.0})
    scheduler.on_trial_complete(None, trial, {"training_iteration": 2, "loss": 3.0})
    np.testing.assert_array_equal(ends_of(scheduler), [math.nan, 3.0])
