"""A run of Tune ends when more trials do not pay."""

from __future__ import annotations

import pickle

import pytest
from ray import tune
from ray.tune.search import ConcurrencyLimiter
from tests.helpers import MOSTLY, over_seeds, seeded

from numbo.ray import GSSBOSearch, StopWhenDone
from numbo.ray import _stopping as stopping

SPACE = {"x": tune.uniform(-1, 1), "y": tune.uniform(-1, 1)}


def bowl(config):
    return (config["x"] - 0.3) ** 2 + (config["y"] + 0.2) ** 2


def search(**settings):
    return GSSBOSearch(SPACE, metric="loss", mode="min", **{"seed": 0, **settings})


def told(searcher, stopper, n, value=bowl):
    """Complete up to ``n`` trials; returns after how many the stopper says so, or None."""
    for i in range(n):
        config = searcher.suggest(f"t{i}")
        searcher.on_trial_complete(f"t{i}", {"loss": value(config), "training_iteration": 1})
        assert stopper("t", {}) is False
        if stopper.stop_all():
            return i + 1
    return None


@over_seeds()
def test_it_stops_when_the_search_has_converged():
    own = search(seed=seeded(0))
    found = told(own, StopWhenDone(own, worth=1e-4), 100)
    assert found is not None, MOSTLY
    assert found >= 24
    assert own.worthwhile(1e-4) is None
    assert own.remaining(10).expected < 1e-3, MOSTLY


def test_it_goes_on_as_long_as_that_pays():
    own = search()
    assert told(own, StopWhenDone(own, worth=1e-300), 30) is None


def test_when_it_starts_to_judge():
    own = search()
    stopper = StopWhenDone(own, worth=1e9, patience=2, n_startup_trials=7)
    assert not stopper.stop_all()
    assert told(own, stopper, 30) == 8
    assert stopper.stop_all()


def test_never_before_values_differ():
    own = search()
    assert told(own, StopWhenDone(own, worth=1e9, patience=1), 25, value=lambda config: 1.0) is None


def test_worth_per_hour(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(stopping.time, "monotonic", lambda: now[0])

    def slowly(config):
        now[0] += 360.0
        return bowl(config)

    own = search()
    assert told(own, StopWhenDone(own, worth=1.0, per="hour", patience=1), 30, value=slowly) == 20
    own = search()
    assert told(own, StopWhenDone(own, worth=1.0, per="hour", patience=1), 30) is None


def test_a_searcher_in_another():
    own = search()
    assert StopWhenDone(ConcurrencyLimiter(own, 2), worth=1.0)._search is own
    assert repr(StopWhenDone(own, worth=1.0)).endswith("worth=1.0, per='trial', patience=5)")


def test_it_is_saved_with_the_run():
    own = search()
    stopper = StopWhenDone(own, worth=1e9, patience=1, n_startup_trials=3)
    assert told(own, stopper, 5) == 3
    assert pickle.loads(pickle.dumps(stopper)).stop_all()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"search": "GSSBO", "worth": 1}, "search must be one of numbo's searchers, the one of the run; got 'GSSBO'"),
        ({"search": search(), "worth": -1}, "worth must be a number above 0, got -1"),
        ({"search": search(), "worth": 1, "per": "day"}, "per must be one of 'trial', 'hour', got 'day'"),
    ],
)
def test_bad_input_is_named(given, words):
    with pytest.raises(ValueError, match=words):
        StopWhenDone(**given)


@pytest.mark.usefixtures("local_ray")
@pytest.mark.xdist_group("ray")
def test_a_run_of_tune_ends(tmp_path):
    own = GSSBOSearch(seed=0)
    results = tune.Tuner(
        lambda config: tune.report({"loss": bowl(config)}),
        param_space=SPACE,
        tune_config=tune.TuneConfig(
            metric="loss", mode="min", num_samples=100, search_alg=own, max_concurrent_trials=2
        ),
        run_config=tune.RunConfig(
            storage_path=str(tmp_path), verbose=0, stop=StopWhenDone(own, worth=1e9, patience=1, n_startup_trials=6)
        ),
    ).fit()
    assert 6 <= len(results) <= 10
