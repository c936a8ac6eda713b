"""The searchers without a running Ray: what Ray's own tests ask of its searchers, and what wrappers there get wrong."""

from __future__ import annotations

import itertools
import json
import math
import pickle
import sys

import numpy as np
import pytest
from ray import tune
from ray.tune.search import Searcher
from tests.helpers import MOSTLY, configured, over_seeds, seeded
from tests.ray.test_domains import BRANCHES

from numbo import BBKBSettings, BKBSettings
from numbo.ray import BBKBSearch, BKBSearch, GSSBOSearch, SBPESearch

SEARCHERS = {"GSSBO": GSSBOSearch, "BBKB": BBKBSearch, "SBPE": SBPESearch}  # one of each kind
SPACE = {
    "lr": tune.loguniform(1e-5, 1e-1),
    "net": {"width": tune.randint(1, 65), "act": tune.choice(["relu", "tanh", None]), "kind": "mlp"},
    "drops": [tune.uniform(0.0, 0.5), 0.1, {"rate": tune.quniform(0.0, 1.0, 0.1), "fixed": 3}],
    "epochs": 10,
}


@pytest.fixture(params=list(SEARCHERS))
def cls(request):
    return SEARCHERS[request.param]


def make(cls, space=SPACE, **kw):
    return configured(cls, space, **({"metric": "loss", "mode": "min", "seed": seeded(0), "n_initial": 5} | kw))


def loss(config):
    return (
        (math.log10(config["lr"]) + 3) ** 2
        + 0.01 * abs(config["net"]["width"] - 20)
        + (config["net"]["act"] != "tanh")
        + config["drops"][0]
        + config["drops"][2]["rate"]
    )


def play(searcher, n, f=loss, prefix="t"):
    configs = []
    for i in range(n):
        trial = f"{prefix}{i}"
        config = searcher.suggest(trial)
        configs.append(config)
        searcher.on_trial_complete(trial, {"loss": f(config), "config": config})
    return configs


# -- branches ----------------------------------------------------------------------------------------------------------


@over_seeds()
def test_branches_are_searched_and_their_points_completed(cls):
    space = {"model": BRANCHES["model"], "epochs": 5}
    given = [{"model": {"kind": "svm", "C": 3.0}}, {"model": {"depth": 4}}, {"model": None}]
    searcher = make(cls, space, points_to_evaluate=given, n_initial=5)

    def value(config):
        model = config["model"]
        if not isinstance(model, dict):
            return 3.0
        return 2.0 if model["kind"] != "forest" else abs(model["depth"] - 6) / 10 + model["rates"][1]

    configs = play(searcher, 45, value)
    assert (configs[0]["model"]["kind"], configs[0]["model"]["C"]) == ("svm", 3.0)
    assert "kernel" in configs[0]["model"]
    assert (configs[1]["model"]["kind"], configs[1]["model"]["depth"]) == ("forest", 4)
    assert configs[2]["model"] is None
    assert min(map(value, configs)) < 0.15, MOSTLY
    assert searcher.optimizer.n_told == 45
    with pytest.raises(ValueError, match="must name 'model/depth', which is active where model is forest"):
        searcher.predict({"model": {"kind": "forest", "rates": [1, 0.5]}})
    again = cls(space, metric="loss", mode="min", seed=seeded(0))
    again.__setstate__(pickle.loads(pickle.dumps(searcher.__getstate__())))
    assert again.suggest("a") == searcher.suggest("a")


def test_running_trials_differ_in_what_their_branch_has(cls):
    options = [{"k": tune.randint(0, 5), "m": tune.randint(0, 4)}, {"m": tune.randint(0, 4)}, None]
    searcher = make(cls, {"branch": tune.choice(options)})
    play(searcher, 6, lambda config: 0.0 if config["branch"] is None else float(config["branch"]["m"]))
    running = [searcher.suggest(f"running {i}") for i in range(16)]
    assert len({json.dumps(config) for config in running}) == 16


@pytest.mark.allows_fallback  # a warning
@pytest.mark.parametrize("branch", [{"kind": "p", "x": 7.0}, {"kind": "r", "x": 0.5}, {"kind": "p", "y": 0.5}])
def test_points_of_no_branch_are_run_as_given_and_not_learned(cls, branch, caplog):
    options = [{"kind": "p", "x": tune.uniform(0, 1)}, {"kind": "q", "y": tune.uniform(0, 1)}]
    searcher = make(cls, {"a": tune.choice(options), "c": tune.uniform(0, 1)}, points_to_evaluate=[{"a": branch}])
    config = searcher.suggest("given")
    assert config["a"] == branch
    assert 0.0 <= config["c"] <= 1.0
    searcher.on_trial_complete("given", {"loss": 1.0})
    assert searcher.suggest("next").keys() == {"a", "c"}
    assert "A point to evaluate is outside the search space and will not be learned" in caplog.text


@pytest.mark.allows_fallback  # a warning
def test_names_of_points_that_are_not_in_the_space_are_said(cls, caplog):
    space = {"x": tune.uniform(0, 1), "net": {"width": tune.randint(1, 9), "kind": "mlp"}, "seed": 3}
    points = [{"x": 0.5, "net/width": 2, "seed": 3}, {"x": 0.25, "net": {"width": 3, "kind": "mlp"}}]
    searcher = make(cls, space, points_to_evaluate=[*points, {"y": 0.5, "net": {"widht": 3}}])
    for trial in range(2):
        searcher.suggest(f"known {trial}")
    assert not caplog.records
    assert 0.0 <= searcher.suggest("other")["x"] <= 1.0
    assert "A point to evaluate has names that are not in the search space: ['y', 'net/widht']." in caplog.text


# -- searching ---------------------------------------------------------------------------------------------------------


@over_seeds()
def test_converges_on_a_parabola(cls):
    searcher = make(cls, {"x": tune.uniform(-5.0, 5.0)}, **({"horizon": 40} if cls is SBPESearch else {}))
    configs = play(searcher, 100, lambda c: c["x"] ** 2)
    assert min(c["x"] ** 2 for c in configs) < 1e-2, MOSTLY


@over_seeds()
def test_mode_max(cls):
    searcher = make(cls, {"x": tune.uniform(-5.0, 5.0)}, mode="max")
    configs = play(searcher, 60, lambda c: -abs(c["x"] - 1.0))
    assert min(abs(c["x"] - 1.0) for c in configs) < 0.3, MOSTLY


def test_space_metric_and_mode_may_come_from_the_tuner(cls):
    searcher = cls(seed=0)
    with pytest.raises(RuntimeError, match="no search space: give the Tuner a param_space"):
        searcher.suggest("a")
    with pytest.raises(RuntimeError, match='no metric and no mode: pass metric="loss" and mode="min" to TuneConfig'):
        cls(SPACE).suggest("a")
    assert searcher.set_search_properties("loss", "max", SPACE, num_samples=77)
    assert searcher.suggest("a").keys() == {"lr", "net", "drops"}
    assert searcher.optimizer.direction == "maximize"
    assert searcher.set_search_properties("loss", "max", SPACE)  # the same again, as when a run is extended
    assert not searcher.set_search_properties("loss", "max", {"x": tune.uniform(0, 1)})


@pytest.mark.parametrize(
    ("metric", "mode", "config", "words"),
    [
        (None, None, SPACE, 'Search has no metric and no mode: pass metric="loss" and mode="min" to TuneConfig, or to'),
        ("loss", None, SPACE, 'Search has no mode: pass mode="min" to TuneConfig, or to'),
        (None, "min", SPACE, 'Search has no metric: pass metric="loss" to TuneConfig, or to'),
        ("loss", "min", {"epochs": 10}, "Search has no search space: give the Tuner a param_space with a domain"),
        ("loss", "min", {"a": tune.grid_search([1, 2])}, "is a grid_search"),
    ],
)
def test_what_a_run_lacks_is_said_before_it_starts(cls, metric, mode, config, words):
    searcher = cls(seed=0)
    with pytest.raises(ValueError, match=words) as error:
        searcher.set_search_properties(metric, mode, config, num_samples=3)
    assert "\n" not in str(error.value)
    assert searcher.set_search_properties("accuracy", "max", SPACE, num_samples=50)  # nothing was kept of the other
    assert searcher.metric == "accuracy"
    assert searcher.optimizer.direction == "maximize"


def test_another_metric_or_mode_than_the_tuners_is_refused(cls):
    for given in ({"mode": "max"}, {"metric": "accuracy"}):
        (name, value), run = next(iter(given.items())), {"metric": "loss", "mode": "min"}
        searcher = configured(cls, SPACE, **given)
        words = f"TuneConfig has {name}={run[name]!r}, but this .*{name}={value!r}"
        with pytest.raises(ValueError, match=words) as error:
            searcher.set_search_properties("loss", "min", {})
        assert "\n" not in str(error.value)
        run |= given
        assert searcher.set_search_properties(run["metric"], run["mode"], {})


def test_another_mode_than_that_of_the_run_before_is_refused(cls):
    searcher = cls(seed=0)
    assert searcher.set_search_properties("loss", "min", SPACE)
    play(searcher, 3)
    for metric, mode, words in (("loss", "max", "mode='max'.*mode='min'"), ("acc", "min", "'acc'.*metric='loss'")):
        with pytest.raises(ValueError, match=words):
            searcher.set_search_properties(metric, mode, SPACE)
    assert searcher.set_search_properties("loss", "min", SPACE)
    assert searcher.set_search_properties(None, None, SPACE)  # TuneConfig leaves them to the searcher
    assert searcher.optimizer.direction == "minimize"


def test_the_budget_of_the_tuner_sets_the_horizon():
    searcher = SBPESearch()
    searcher.set_search_properties("loss", "min", SPACE, num_samples=500)
    assert searcher.optimizer.horizon == 500
    searcher = SBPESearch(horizon=60)
    searcher.set_search_properties("loss", "min", SPACE, num_samples=500)
    assert searcher.optimizer.horizon == 60
    searcher = BBKBSearch()
    for unlimited in (-1, sys.maxsize):  # given by users, and what Tune makes of it
        searcher.set_search_properties("loss", "min", SPACE, num_samples=unlimited)
    assert searcher.optimizer.settings.failing == 0.1
    for given, expected in ((None, 0.002), (0.1, 0.1)):
        searcher = BKBSearch(settings=BKBSettings(delta=given))
        searcher.set_search_properties("loss", "min", SPACE, num_samples=500)
        assert searcher.optimizer.settings.failing == expected


@pytest.mark.allows_fallback  # a warning
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), None, 1e300, "bad"])
def test_invalid_values(cls, value):
    searcher = make(cls)
    play(searcher, 6)
    for i in range(6):
        trial = f"bad{i}"
        searcher.suggest(trial)
        searcher.on_trial_complete(trial, {"loss": value} if i % 2 else {"loss": np.float32(1.0)})
    searcher.suggest("missing")
    searcher.on_trial_complete("missing", {"accuracy": 1.0})
    assert searcher.optimizer.pending == []
    config = searcher.suggest("next")
    assert math.isfinite(config["lr"])


@pytest.mark.allows_fallback  # a warning of trials that are unknown
def test_failed_stopped_and_repeated_notifications(cls, caplog):
    searcher = make(cls)
    play(searcher, 5)
    told = searcher.optimizer.n_told
    for trial in ("error", "stopped", "twice", "asha"):
        searcher.suggest(trial)
    searcher.on_trial_complete("error", result=None, error=True)
    searcher.on_trial_complete("stopped", result=None, error=False)
    searcher.on_trial_complete("twice", {"loss": 1.0})
    searcher.on_trial_complete("twice", {"loss": 2.0})
    searcher.on_trial_complete("asha", {"loss": 0.5, "training_iteration": 1})
    searcher.on_trial_complete("never seen", {"loss": 0.5})
    searcher.on_trial_complete("never seen either", result=None, error=True)
    searcher.on_trial_complete("never seen, and silent", result=None)
    assert caplog.messages == [
        "Trial never seen is not learned: it was not suggested here, and its config lacks tuned values."
    ]
    assert searcher.optimizer.n_told == told + 3
    assert np.isnan(searcher.optimizer.observations[1]).sum() == 1
    assert searcher.optimizer.pending == []


def test_failures_need_not_be_learned(cls):
    searcher = make(cls, learn_failures=False)
    play(searcher, 5)
    searcher.suggest("error")
    searcher.on_trial_complete("error", error=True)
    assert searcher.optimizer.n_told == 6
    assert searcher.optimizer.pending == []


def test_a_restarted_trial_is_known_by_its_config(cls):
    searcher = make(cls)
    play(searcher, 5)
    config = searcher.suggest("old name") | {"epochs": 10}
    flat = {"loss": 0.25, "config/lr": config["lr"], "config/net/width": config["net"]["width"]}
    flat |= {"config/net/act": config["net"]["act"], "config/drops": config["drops"], "config/epochs": 10}
    searcher.on_trial_complete("new name", flat)
    assert searcher.optimizer.n_told == 6
    assert searcher.optimizer.pending == []


# -- points to evaluate ------------------------------------------------------------------------------------------------


def test_points_are_evaluated_exactly_first(cls):
    nested = {"lr": 0.001, "net": {"width": 7, "act": None, "kind": "mlp"}, "drops": [0.25, 0.1, {"rate": 0.3}]}
    flat = {"lr": 0.02, "net/width": 64, "net/act": "relu", "drops": [0.5, 0.1, {"rate": 1.0}], "epochs": 10}
    partial = {"lr": 0.003}
    points = [nested, flat, partial]
    searcher = make(cls, points_to_evaluate=points)
    first, second, third = (searcher.suggest(t) for t in "abc")
    assert (first["lr"], first["net"], first["drops"][0], first["drops"][2]["rate"]) == (
        0.001,
        {"width": 7, "act": None},
        0.25,
        0.3,
    )
    assert (second["lr"], second["net"]["width"], second["drops"][0]) == (0.02, 64, 0.5)
    assert third["lr"] == 0.003
    assert points == [nested, flat, partial]
    for trial in "abc":
        searcher.on_trial_complete(trial, {"loss": 1.0})
    assert searcher.optimizer.n_told == 3


@pytest.mark.allows_fallback  # a warning
def test_a_point_outside_of_the_space_is_evaluated_all_the_same(cls, caplog):
    searcher = make(cls, {"x": tune.uniform(0.0, 1.0)}, points_to_evaluate=[{"x": 7.0}, {"x": 0.5}])
    assert not caplog.records
    assert searcher.suggest("a") == {"x": 7.0}
    assert "A point to evaluate is outside the search space and will not be learned" in caplog.text
    assert searcher.suggest("b") == {"x": 0.5}
    searcher.on_trial_complete("a", {"loss": 1.0})
    searcher.on_trial_complete("b", {"loss": 1.0})
    assert searcher.optimizer.n_told == 1


def test_evaluated_points_are_learned(cls):
    points = [{"x": 0.1 * i} for i in range(10)]
    searcher = make(
        cls, {"x": tune.uniform(0.0, 1.0)}, points_to_evaluate=points, evaluated_rewards=[p["x"] for p in points]
    )
    assert searcher.optimizer.n_told == 10
    assert searcher.optimizer.best == ({"x": 0.0}, 0.0)
    searcher.add_evaluated_point({"x": 0.77}, 5.0)
    searcher.add_evaluated_point({"x": 0.78}, 0.0, error=True)
    searcher.add_evaluated_point({"x": 0.79}, 0.0, pruned=True, intermediate_values=[9.0, 8.0])
    assert searcher.optimizer.n_told == 13
    assert searcher.optimizer.observations[1][-1] == 8.0
    lacking = r"^parameters must have values for all domains of the search space, but lack \['x'\]"
    with pytest.raises(ValueError, match=lacking + r"; \['y'\] are not in the search space\.$"):
        searcher.add_evaluated_point({"y": 0.5}, 1.0)
    with pytest.raises(ValueError, match=lacking + r"\.$"):
        searcher.add_evaluated_point({}, 1.0)
    with pytest.raises(ValueError, match="10 points_to_evaluate, got 3"):
        make(cls, points_to_evaluate=points, evaluated_rewards=[1.0, 2.0, 3.0])


# -- finite spaces and parallel trials ---------------------------------------------------------------------------------


def test_a_finite_space_is_exhausted_without_repeats(cls):
    space = {"a": tune.choice(["x", "y", "z"]), "b": tune.randint(0, 4)}
    searcher = make(cls, space)
    seen = []
    for i in itertools.count():
        config = searcher.suggest(f"t{i}")
        if config == Searcher.FINISHED:
            break
        seen.append((config["a"], config["b"]))
        if i % 3:
            searcher.on_trial_complete(f"t{i}", {"loss": config["b"]})
    assert sorted(seen) == sorted(itertools.product("xyz", range(4)))


def test_repeats_are_welcome_if_they_are_said_to_be(cls):
    searcher = make(cls, {"a": tune.choice([0, 1])}, avoid_repeats=False)
    configs = play(searcher, 12, lambda c: c["a"])
    assert len(configs) == 12


def test_no_two_pending_suggestions_are_alike(cls):
    searcher = make(cls)
    live = {}
    rng = np.random.default_rng(0)
    for i in range(90):
        config = searcher.suggest(f"t{i}")
        key = repr(config)
        assert key not in live.values()
        live[f"t{i}"] = key
        while len(live) > 16:
            trial = list(live)[int(rng.integers(len(live)))]
            del live[trial]
            searcher.on_trial_complete(trial, {"loss": float(rng.random())})
    assert len(searcher.optimizer.pending) == 16


# -- state -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 25])
def test_five_a_restore_and_five_more_are_ten(cls, n, tmp_path):
    whole, first = make(cls), make(cls)
    expected = play(whole, n) + play(whole, n, prefix="u")
    found = play(first, n)
    flying = [first.suggest(f"fly{i}") for i in range(2)]
    assert [whole.suggest(f"fly{i}") for i in range(2)] != []  # both draw the same number of suggestions
    first.save(str(tmp_path / "state.pkl"))
    blank = cls()
    blank.restore(str(tmp_path / "state.pkl"))
    del first
    again = make(cls)
    assert play(again, n) == expected[:n] == found
    assert [again.suggest(f"fly{i}") for i in range(2)] == flying
    for i, config in enumerate(flying):
        for searcher in (again, blank):
            searcher.on_trial_complete(f"fly{i}", {"loss": loss(config)})
    assert play(blank, n, prefix="v") == play(again, n, prefix="v")
    assert blank.metric == "loss"


def test_a_searcher_is_pickled_with_its_trials_and_stays_small(cls):
    searcher = make(cls)
    play(searcher, 30)
    searcher.suggest("live")
    clone = pickle.loads(data := pickle.dumps(searcher))
    assert len(data) < 60_000
    assert clone.suggest("next") == searcher.suggest("next")
    clone.on_trial_complete("live", {"loss": 0.5})
    assert clone.optimizer.n_told == 31
    assert clone.set_max_concurrency(4) is True
    assert not hasattr(clone, "searcher")
    assert pickle.loads(pickle.dumps(cls())).optimizer is None


def test_paused_trials_make_room_for_others_and_stay_pending(cls):
    searcher = make(cls)
    searcher.set_max_concurrency(2)
    assert searcher.suggest("a") is not None
    assert searcher.suggest("b") is not None
    assert searcher.suggest("c") is None
    searcher.on_pause("a")
    assert searcher.suggest("c") is not None
    assert len(searcher.optimizer.pending) == 3
    searcher.on_unpause("a")
    searcher.on_trial_complete("b", {"loss": 1.0})
    assert searcher.suggest("d") is None
    searcher.on_pause("a")
    searcher.on_trial_complete("a", {"loss": 1.0})
    assert searcher.suggest("d") is not None
    assert searcher.suggest("e") is None


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"metric": 3}, "metric must be one string, .*got 3"),
        ({"mode": "lowest"}, "'lowest'"),
        ({"n_initial": 0}, "n_initial"),
        ({"n_initial": 1.5}, "n_initial must be an integer of at least 1, got 1.5"),
        ({"kernel": "cubic"}, "'cubic'"),
        ({"seed": -1}, "seed must be an integer of at least 0 or None, got -1"),
        ({"seed": 1.5}, "seed must be an integer of at least 0 or None, got 1.5"),
        ({"learn_failures": "no"}, "learn_failures must be one of 'auto', True, False, got 'no'"),
        ({"space": ["x"]}, r"space must be a mapping such as .*, got \['x'\]"),
        ({"points_to_evaluate": {"lr": 0.1}}, r"points_to_evaluate must be a list of configs .*, got \{'lr': 0.1\}"),
        ({"points_to_evaluate": "lr"}, "points_to_evaluate must be a list of configs .*, got 'lr'"),
        ({"points_to_evaluate": [0.1]}, "points_to_evaluate must hold configs such as .*, got 0.1"),
        ({"evaluated_rewards": 3}, "evaluated_rewards must be a list of numbers or of mappings of metrics, got 3"),
        ({"evaluated_rewards": ["a"]}, "evaluated_rewards must hold numbers, or mappings .* such as .*, got 'a'"),
        ({"evaluated_rewards": [{3: 1.0}]}, r"evaluated_rewards must hold numbers, or .*, got \{3: 1.0\}"),
        ({"evaluated_rewards": [1.0]}, "a value for each of the 0 points_to_evaluate, got 1"),
    ],
)
def test_bad_settings(cls, setting, words):
    with pytest.raises(ValueError, match=words):
        make(cls, **setting)


def test_settings_that_depend_on_the_space_are_checked_against_it():
    kernel = {"lengthscale": [0.2, 0.5], "noise_std": 0.1}
    configured(BBKBSearch, **kernel)
    finite = {"a": tune.randint(0, 4), "b": tune.randint(0, 4)}
    settings = BBKBSettings(min_batch=2, **kernel)
    searcher = BBKBSearch(finite, metric="loss", mode="min", seed=0, n_initial=2, settings=settings)
    assert len(play(searcher, 6, lambda config: float(config["a"]))) == 6
    with pytest.raises(ValueError, match="lengthscale must be a positive number or 1 of them"):
        configured(BBKBSearch, {"a": tune.uniform(0, 1)}, **kernel)


def test_looking_inside_in_the_terms_of_the_config(cls):
    searcher = make(cls)
    with pytest.raises(ValueError, match="at least one successful observation"):
        searcher.explain()
    assert searcher.best_predicted() is None
    for i in range(30):
        config = searcher.suggest(str(i))
        searcher.on_trial_complete(str(i), {"loss": loss(config)})
    config = searcher.suggest("last")
    mean, std = searcher.predict(config)
    assert std >= 0.0
    flat = {"lr": config["lr"], "net/width": config["net"]["width"], "net/act": config["net"]["act"]}
    assert searcher.predict(flat | {"drops": config["drops"], "epochs": 10})[0] == mean
    assert searcher.predict([config, config])[0].tolist() == [mean, mean]
    best, value = searcher.best_predicted()
    assert value == pytest.approx(loss(best))
    assert best.keys() == config.keys()
    found = searcher.explain()
    assert found.n_told == 30
    assert set(found.relevance) == {"lr", "net/width", "net/act", "drops/0", "drops/2/rate"}
    with pytest.raises(ValueError, match="missing"):
        searcher.predict({"lr": 0.01})


def test_an_evaluated_point_leaves_a_trial_that_runs_at_the_same_point_alone(cls):
    searcher = make(cls)
    config = searcher.suggest("a")
    searcher.add_evaluated_point(config, 1.0)
    assert len(searcher.optimizer.pending) == 1
    assert searcher.optimizer.holds("a")
    searcher.on_trial_complete("a", {"loss": 2.0})
    assert searcher.optimizer.pending == []
    assert searcher.optimizer.observations[1].tolist() == [1.0, 2.0]


@pytest.mark.allows_fallback  # a warning
def test_reports_beyond_all_doubles_are_passed_over(cls):
    searcher = make(cls)
    searcher.suggest("a")
    searcher.on_trial_result("a", {"loss": 10**400, "training_iteration": 1})
    searcher.on_trial_result("a", {"loss": 2.0, "training_iteration": 2})
    searcher.on_trial_complete("a", {"loss": 10**400, "training_iteration": 3})
    assert np.isnan(searcher.optimizer.observations[1]).tolist() == [True]


@over_seeds()
def test_numbers_of_numpy_and_objects_that_only_equal_themselves():
    class Loss:
        pass

    losses = [Loss(), Loss()]
    space = {"q": tune.qrandint(0, 100, 5), "loss": tune.choice(losses)}
    searcher = make(GSSBOSearch, space)
    for i in range(25):
        config = searcher.suggest(str(i))
        assert config["loss"] in losses
        searcher.on_trial_complete(str(i), {"loss": float(config["q"])})
    for ten in (np.int64(10), np.float32(10.0), 10):
        assert searcher.predict({"q": ten, "loss": losses[0]})[0] == pytest.approx(10.0, abs=3.0), MOSTLY
    best, value = searcher.best_predicted()
    assert best["q"] == value, MOSTLY
    searcher.add_evaluated_point({"q": np.int64(50), "loss": losses[1]}, 50.0)
