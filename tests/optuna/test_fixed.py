"""What is learned is what was evaluated, and what is given shapes what is suggested beside it."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import PartialFixedSampler
from optuna.trial import TrialState, create_trial
from tests.harness.program_runs import retry_callback
from tests.helpers import MOSTLY, over_seeds, seeded
from tests.optuna.inside import optimizer_of, view_of

from numbo.optuna import BBKBSampler, BKBSampler, GPUCBSampler, GSSBOSampler, SBPESampler, _records
from numbo.optuna._distributions import Searched, to_space
from numbo.optuna._fixed import fixed_params, within

optuna.logging.set_verbosity(optuna.logging.ERROR)

SAMPLERS = [GSSBOSampler, GPUCBSampler, BKBSampler, BBKBSampler, SBPESampler]
XY = {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}


def test_enqueued_values_come_before_those_of_a_sampler_and_outer_samplers_before_inner_ones():
    study = optuna.create_study(sampler=GSSBOSampler(seed=0))
    trial = create_trial(value=0.0)
    assert fixed_params(study, trial) == {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        inner = PartialFixedSampler({"x": 0.1, "y": 0.2, "z": 0.3}, study.sampler)
        study.sampler = PartialFixedSampler({"y": 0.5, "z": 0.6}, inner)
    assert fixed_params(study, trial) == {"x": 0.1, "y": 0.5, "z": 0.6}
    enqueued = create_trial(value=0.0, system_attrs={"fixed_params": {"z": 0.9}})
    assert fixed_params(study, enqueued) == {"x": 0.1, "y": 0.5, "z": 0.9}
    torn = create_trial(value=0.0, system_attrs={"fixed_params": ["z"]})
    assert fixed_params(study, torn) == {"x": 0.1, "y": 0.5, "z": 0.6}
    assert fixed_params(SimpleNamespace(), enqueued) == {"z": 0.9}  # a bracket of Hyperband has no sampler


def test_of_fixed_values_those_within_the_space_count():
    distributions = XY | {"k": IntDistribution(0, 9), "act": CategoricalDistribution(["relu", None])}
    space = to_space(Searched(distributions))
    fixed = {"x": 0.25, "y": 7.0, "k": 3, "act": None, "stranger": 1}
    assert within(fixed, distributions, space) == {"x": 0.25, "k": 3, "act": 1}
    assert within({"k": 3.5, "act": "tanh"}, distributions, space) == {}


def told_at(study):
    optimizer = optimizer_of(study)
    X, y = optimizer.observations
    return [(optimizer.space.decode(x), value) for x, value in zip(X, y, strict=True)]


def test_the_value_is_learned_where_it_was_measured():
    """A parameter that was listed but is conditional, and one that was enqueued: neither hides what was evaluated."""
    space = {"branch": CategoricalDistribution(["a", "b"]), **XY}
    study = optuna.create_study(sampler=GSSBOSampler(seed=0, search_space=space, n_startup_trials=3))

    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        if trial.suggest_categorical("branch", ["a", "b"]) == "b":
            return x + trial.suggest_float("y", 0, 1)
        return x

    for x in (0.9, 0.35, 0.72):
        study.enqueue_trial({"x": x, "branch": "a"})
    study.optimize(objective, n_trials=12)
    told = told_at(study)
    assert len(told) == 12
    for trial, (params, value) in zip(study.trials, told, strict=False):
        assert value == trial.value
        assert params["x"] == pytest.approx(trial.params["x"], abs=1e-12)
        assert ["a", "b"][params["branch"]] == trial.params["branch"]


def test_an_enqueued_point_is_pending_where_it_will_be_evaluated():
    study = optuna.create_study(sampler=GSSBOSampler(seed=0, search_space=XY, n_startup_trials=2))
    study.optimize(lambda t: t.suggest_float("x", 0, 1) + t.suggest_float("y", 0, 1), n_trials=5)
    study.enqueue_trial({"x": 0.123})
    running = study.ask()
    running.suggest_float("y", 0, 1)  # x is not asked for yet
    (pending,) = optimizer_of(study).pending
    assert pending["x"] == pytest.approx(0.123)
    assert pending["y"] == pytest.approx(running.params["y"])


def test_trials_without_a_listed_parameter_are_learned_for_what_they_have():
    study = optuna.create_study(sampler=GSSBOSampler(seed=0, search_space=XY, n_startup_trials=2))
    for i in range(10):
        params = {"x": i / 10}
        study.add_trial(create_trial(params=params, distributions={"x": XY["x"]}, value=(i / 10 - 0.3) ** 2))
    study.ask().suggest_float("x", 0, 1)
    told = told_at(study)
    assert [p["x"] for p, _ in told] == pytest.approx([i / 10 for i in range(10)])
    assert {p["y"] for p, _ in told} == {0.5}


def test_what_cannot_be_learned_is_counted_in_one_warning():
    study = optuna.create_study(sampler=GSSBOSampler(seed=0, search_space=XY, n_startup_trials=2))
    other, wide = {"z": FloatDistribution(0, 1)}, {"x": FloatDistribution(0, 9), "y": FloatDistribution(0, 9)}
    for i in range(3):
        study.add_trial(create_trial(params={"z": 0.1 * i}, distributions=other, value=1.0))
        study.add_trial(create_trial(params={"x": 0.1 * i, "y": 0.5}, distributions=XY, value=1.0))
    study.add_trial(create_trial(params={"x": 7.0, "y": 0.5}, distributions=wide, value=1.0))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            study.ask().suggest_float("x", 0, 1)
    messages = [str(w.message) for w in caught if "not learned" in str(w.message)]
    assert len(messages) == 1
    assert messages[0].startswith("4 of 7 finished trials are not learned")


def not_learned(study, objective, n):
    """The trials, counted from here, before which a warning said that others are not learned."""
    found = []
    for i in range(n):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            study.optimize(objective, n_trials=1)
        found += [i for w in caught if "not learned" in str(w.message)]
    return found


@pytest.mark.parametrize("cls", SAMPLERS)
def test_only_what_is_left_out_for_good_is_warned_of_and_each_cause_once(cls):
    """One range depends on another value, and two others change with the program."""
    low = {"y": 0.0, "z": 0.0}

    def objective(trial):
        n = trial.suggest_int("n", 1, 4)
        x = trial.suggest_float("x", n, n + 1)
        return x + sum(trial.suggest_float(name, a, a + 1.0) for name, a in low.items())

    study = optuna.create_study(sampler=cls(seed=0, n_startup_trials=5))
    assert not_learned(study, objective, 16) == []
    low["y"] = 5.0
    (first,) = not_learned(study, objective, 16)
    assert first > 1
    low["z"] = 5.0
    assert len(not_learned(study, objective, 16)) == 1
    low["y"] = 9.0
    assert len(not_learned(study, objective, 16)) == 1


@pytest.mark.parametrize("cls", SAMPLERS)
@over_seeds()
def test_what_is_enqueued_conditions_the_rest(cls):
    """The best y follows x, so that the y of another x would be wrong."""

    def objective(trial):
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        return (y - x) ** 2 + 0.1 * (x - 0.2) ** 2

    study = optuna.create_study(sampler=cls(seed=seeded(0)))
    study.optimize(objective, n_trials=40)
    misses = []
    for x in (0.8, 0.55, 0.95):
        study.enqueue_trial({"x": x})
        trial = study.ask()
        study.tell(trial, objective(trial))
        assert trial.params["x"] == x
        misses.append(abs(trial.params["y"] - x))
    limit = 0.35 if cls is SBPESampler else 0.2  # S-BPE explores
    assert np.median(misses) < limit, MOSTLY


def add_waiting(study, params):
    """Add a trial with these values to the queue, as another program or a callback does."""
    distributions = {name: XY[name] for name in params}
    study.add_trial(create_trial(params=params, distributions=distributions, state=TrialState.WAITING))


WAYS = {
    "enqueued": lambda study, params: study.enqueue_trial(params),
    "waiting": add_waiting,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("storage", [None, "sqlite"])
@over_seeds()
def test_values_that_a_waiting_trial_has_are_given_values(way, storage, tmp_path):
    """The best y follows x, so that the y of another x would be wrong; the record is of what runs."""

    def objective(trial):
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        return (y - x) ** 2 + 0.1 * (x - 0.2) ** 2

    url = storage and f"sqlite:///{tmp_path}/study.db"
    study = optuna.create_study(storage=url, sampler=GSSBOSampler(seed=seeded(0)))
    study.optimize(objective, n_trials=25)
    misses = []
    for x in (0.8, 0.55, 0.95):
        WAYS[way](study, {"x": x})
        study.optimize(objective, n_trials=1)
        trial = study.trials[-1]
        assert trial.params["x"] == x
        record = _records.read(trial, view_of(study).desk.identity)
        assert record == (trial.params, record.origin, trial.number)
        misses.append(abs(trial.params["y"] - x))
    assert np.median(misses) < 0.2, MOSTLY
    optimizer_of(study)
    assert view_of(study).desk.told == list(range(28))


@pytest.mark.parametrize("space", [None, XY])
def test_a_trial_that_is_run_again_has_the_whole_suggestion(space):
    """A worker died when it had asked for x only."""
    study = optuna.create_study(sampler=GSSBOSampler(seed=0, search_space=space))
    study.optimize(lambda t: t.suggest_float("x", 0, 1) + t.suggest_float("y", 0, 1), n_trials=8)
    dead = study.ask()
    dead.suggest_float("x", 0, 1)
    study.tell(dead, state=TrialState.FAIL)
    suggested = _records.read(study.trials[8], view_of(study).desk.identity).params
    retry = retry_callback()
    for number in (9, 10):  # it dies a second time
        retry(study, study.trials[-1])
        again = study.ask()
        assert again.number == number
        assert again.suggest_float("x", 0, 1) == suggested["x"]
        if number == 9:
            study.tell(again, state=TrialState.FAIL)
    assert again.suggest_float("y", 0, 1) == suggested["y"]
    study.tell(again, 0.5)
    assert _records.read(study.trials[-1], view_of(study).desk.identity)[::2] == (suggested, 10)
    changed = create_trial(
        params={"x": 0.25},
        distributions={"x": XY["x"]},
        system_attrs=study.trials[8].system_attrs,
        state=TrialState.WAITING,
    )
    study.add_trial(changed)  # with another x, the rest of that suggestion says nothing
    study.optimize(lambda t: t.suggest_float("x", 0, 1) + t.suggest_float("y", 0, 1), n_trials=1)
    assert study.trials[-1].params["x"] == 0.25
    assert study.trials[-1].params["y"] != suggested["y"]


@pytest.mark.parametrize("cls", SAMPLERS)
@over_seeds()
def test_finite_spaces_are_conditioned_too(cls):
    study = optuna.create_study(sampler=cls(seed=seeded(0), avoid_repeats=False))

    def objective(trial):
        k, c = trial.suggest_int("k", 0, 9), trial.suggest_categorical("c", ["p", "q"])
        return abs(k - (2 if c == "p" else 7))

    study.optimize(objective, n_trials=60)
    for c in ("p", "q"):
        study.enqueue_trial({"c": c})
        trial = study.ask()
        study.tell(trial, objective(trial))
        assert trial.params["c"] == c
        if cls is not SBPESampler:
            assert (trial.params["k"] < 4.5) == (c == "p"), MOSTLY  # on the side of the better of 2 and 7


@over_seeds()
def test_a_partly_fixed_study_is_modelled_as_a_whole():
    base = GSSBOSampler(seed=seeded(0))
    study = optuna.create_study(sampler=base)

    def objective(trial):
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        return (y - x) ** 2 + 0.1 * (x - 0.2) ** 2

    study.optimize(objective, n_trials=40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.sampler = PartialFixedSampler({"x": 0.8}, base)
    study.optimize(objective, n_trials=4)
    late = [t.params for t in study.trials[-4:]]
    assert {p["x"] for p in late} == {0.8}
    assert min(abs(p["y"] - 0.8) for p in late) < 0.1, MOSTLY
    assert set(base.inspected(study)[0].space) == {"x", "y"}


def test_values_out_of_range_are_left_to_optuna():
    study = optuna.create_study(sampler=GSSBOSampler(seed=0))
    study.optimize(lambda t: t.suggest_float("x", 0, 1) + t.suggest_float("y", 0, 1), n_trials=12)
    study.enqueue_trial({"x": 7.0, "unknown": 1, "y": 0.5})
    trial = study.ask()
    with pytest.warns(UserWarning, match="out of range"):
        assert 0 <= trial.suggest_float("x", 0, 1) <= 7
    assert trial.suggest_float("y", 0, 1) == 0.5


def test_the_first_batch_of_a_finite_space_has_no_repeats():
    space = {"a": IntDistribution(0, 4), "b": CategoricalDistribution(["p", "q", "r", "s", "t"])}
    study = optuna.create_study(sampler=GSSBOSampler(seed=0))
    trials = [study.ask(space) for _ in range(25)]
    assert len({tuple(t.params.values()) for t in trials}) == 25


@over_seeds()
def test_a_success_of_a_retry_supersedes_the_failure():
    point = {"x": 0.4, "y": 0.0}
    scores = []
    for failures in (0, 1):
        study = optuna.create_study(sampler=GSSBOSampler(seed=seeded(0), search_space=XY, n_startup_trials=3))
        study.optimize(lambda t: (t.suggest_float("x", 0, 1) - 0.4) ** 2 + t.suggest_float("y", 0, 1), n_trials=20)
        study.add_trials([create_trial(params=point, distributions=XY, state=TrialState.FAIL)] * failures)
        study.add_trial(create_trial(params=point, distributions=XY, value=0.0))
        scores.append(optimizer_of(study).acquisition_values([{"x": 0.4, "y": 0.05}, {"x": 0.6, "y": 0.3}]))
    np.testing.assert_array_equal(*scores)  # as if it had never failed
    mean, _ = study.sampler.predict(point)
    assert abs(mean) < 0.01, MOSTLY
    assert study.sampler.best_predicted()[0] == pytest.approx(point), MOSTLY
