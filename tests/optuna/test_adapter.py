"""What Optuna's own test classes leave out."""

from __future__ import annotations

import copy
import datetime
import functools
import gc
import json
import math
import pickle
import threading
import warnings

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import RandomSampler
from optuna.trial import TrialState
from tests.helpers import MOSTLY, configured, over_seeds, seeded
from tests.optuna.inside import asks_of, optimizer_of, set_system_attr, view_of

import numbo.optuna
from numbo import BBKBSettings
from numbo.optuna import BBKBSampler, GPUCBSampler, GSSBOSampler, SBPESampler, _records, _view
from numbo.optuna._distributions import Searched
from numbo.run.availability import Availability

optuna.logging.set_verbosity(optuna.logging.ERROR)

SPACE = {
    "x": FloatDistribution(-3.0, 3.0),
    "k": IntDistribution(1, 8),
    "act": CategoricalDistribution(("relu", None, 3)),
}


def objective(trial):
    x = trial.suggest_float("x", -3.0, 3.0)
    k = trial.suggest_int("k", 1, 8)
    act = trial.suggest_categorical("act", ("relu", None, 3))
    return (x - 1) ** 2 + abs(k - 3) + (act is not None)


#: One of each kind; Optuna's own tests try them all.
SAMPLERS = {
    "GSSBO": GSSBOSampler,
    "BBKB": BBKBSampler,
    "SBPE": functools.partial(SBPESampler, horizon=20, beta=2.0),
}


@pytest.fixture(params=list(SAMPLERS))
def make(request):
    cls = SAMPLERS[request.param]
    return lambda **kw: configured(
        cls, **({"seed": seeded(0), "n_startup_trials": 5, "warn_independent_sampling": False} | kw)
    )


def published(trial):
    return f"{_records.KEY}:0" in trial.system_attrs


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@over_seeds(0.5, of=14)
def test_finds_the_optimum(make, direction):
    sign = 1 if direction == "minimize" else -1
    study = optuna.create_study(sampler=make(), direction=direction)
    study.optimize(lambda t: sign * objective(t), n_trials=45)
    assert sign * study.best_value < 0.2, MOSTLY
    assert study.best_params["act"] is None, MOSTLY


def test_explicit_search_space_is_used_from_the_first_trial(make):
    study = optuna.create_study(sampler=make(search_space=SPACE | {"one": IntDistribution(4, 4)}))
    study.optimize(objective, n_trials=8)
    assert all(published(t) for t in study.trials)
    assert "one" not in json.loads(study.trials[0].system_attrs[f"{_records.KEY}:0"])["params"]


def test_a_study_is_resumed_where_it_stopped(make):
    whole = optuna.create_study(sampler=make(search_space=SPACE))
    whole.optimize(objective, n_trials=30)
    resumed = optuna.create_study(sampler=make(search_space=SPACE))
    for _ in range(30):
        resumed.optimize(objective, n_trials=1)
    # a sampler that saw every trial, and one that meets the storage for the first time, from the start on
    assert [t.params for t in whole.trials] == [t.params for t in resumed.trials]
    fresh = optuna.create_study(sampler=make(search_space=SPACE))
    fresh.add_trials(whole.trials)
    suggestions = [fresh.ask() for _ in range(3)]
    points = {tuple(t.suggest_float("x", -3, 3) for _ in range(1)) for t in suggestions}
    assert len(points) == 3
    assert optimizer_of(fresh).n_told == 30
    assert optimizer_of(fresh).best[1] == whole.best_value


def test_trials_that_others_add_are_learned(make):
    study = optuna.create_study(sampler=make())
    study.optimize(objective, n_trials=6)
    for x in np.linspace(-3, 3, 20):
        study.add_trial(
            optuna.create_trial(params={"x": x, "k": 3, "act": None}, distributions=SPACE, value=(x - 1) ** 2)
        )
    study.optimize(objective, n_trials=1)
    assert optimizer_of(study).n_told == 27
    assert asks_of(study)[-1] == 26


def test_enqueued_points_inside_and_outside_of_the_range(make):
    study = optuna.create_study(sampler=make())
    study.enqueue_trial({"x": 1.0, "k": 3, "act": None})
    study.enqueue_trial({"x": 99.0, "k": 3, "act": None})
    study.enqueue_trial({"x": 0.5})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study.optimize(objective, n_trials=25)
    assert study.trials[0].params == {"x": 1.0, "k": 3, "act": None}
    assert study.trials[1].params["x"] == 99.0
    assert study.trials[2].params["x"] == 0.5
    assert all(t.state == TrialState.COMPLETE for t in study.trials)
    assert optimizer_of(study).n_told == 24  # the one outside of the space does not fit the model


def test_pruned_trials_teach_their_last_value(make):
    def pruning(trial):
        value = objective(trial)
        if trial.number % 2:
            trial.report(value + 1, 0)
            trial.report(value, 1)
            raise optuna.TrialPruned
        if trial.number % 5 == 0:
            raise optuna.TrialPruned  # nothing reported
        return value

    study = optuna.create_study(sampler=make(), pruner=optuna.pruners.NopPruner())
    study.optimize(pruning, n_trials=30)
    opt = optimizer_of(study)
    expected = [
        t.value if t.state == TrialState.COMPLETE else t.intermediate_values.get(1, math.nan) for t in study.trials
    ]
    assert sum(map(math.isnan, expected)) == 3
    np.testing.assert_allclose(opt.observations[1], expected)


@pytest.mark.parametrize("learn", [True, False])
@over_seeds()
def test_a_point_that_is_refused_is_not_suggested_again(make, learn):
    def refusing(trial):
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        if x + y < 0.6:
            raise optuna.TrialPruned
        return (x - 0.1) ** 2 + (y - 0.1) ** 2

    study = optuna.create_study(sampler=make(learn_failures=learn))
    study.optimize(refusing, n_trials=60)
    assert len({tuple(t.params.values()) for t in study.trials}) == 60
    if learn and not isinstance(study.sampler, SBPESampler):  # whose race may have nothing left but what is refused
        assert sum(t.state == TrialState.COMPLETE for t in study.trials[30:]) > 10, MOSTLY


def test_a_trial_of_another_kind_leaves_its_parameter_to_independent_sampling(make):
    study = optuna.create_study(sampler=make())
    f = lambda t: t.suggest_float("x", 0, 1) + t.suggest_float("y", 0, 1)  # noqa: E731
    study.optimize(f, n_trials=3)
    other = {"x": IntDistribution(0, 10), "y": FloatDistribution(0, 1)}
    study.add_trial(optuna.create_trial(params={"x": 3, "y": 0.5}, distributions=other, value=1.0))
    study.optimize(f, n_trials=8)
    assert optimizer_of(study).space.keys() == {"y"}


def test_trials_that_stopped_short_do_not_shrink_the_space(make):
    study = optuna.create_study(sampler=make())
    study.add_trial(optuna.create_trial(value=1.0))  # no parameters at all

    def early(trial):
        x = trial.suggest_float("x", 0, 1)
        if trial.number % 4 == 1:
            raise optuna.TrialPruned
        return x + trial.suggest_float("y", 0, 1)

    study.optimize(early, n_trials=16)
    assert optimizer_of(study).space.keys() == {"x", "y"}


def test_finished_times_with_and_without_time_zones(make):
    study = optuna.create_study(sampler=make(search_space=SPACE))
    study.optimize(objective, n_trials=6)
    trial = optuna.create_trial(params={"x": 0.0, "k": 1, "act": None}, distributions=SPACE, value=1.0)
    trial.datetime_start = trial.datetime_complete = datetime.datetime.now(datetime.timezone.utc)
    study.add_trial(trial)
    study.optimize(objective, n_trials=3)
    assert optimizer_of(study).n_told == 10


@pytest.mark.parametrize("learn", [True, False])
@over_seeds()
def test_failed_trials(make, learn):
    def failing(trial):
        value = objective(trial)
        if trial.params["k"] > 4:
            raise RuntimeError("out of memory")
        return value

    study = optuna.create_study(sampler=make(learn_failures=learn))
    study.optimize(failing, n_trials=40, catch=(RuntimeError,))
    failed = [t.state == TrialState.FAIL for t in study.trials]
    told = optimizer_of(study).observations[1]
    assert np.isnan(told).sum() == sum(failed)
    if learn:
        assert sum(failed[15:]) <= 5, MOSTLY


def test_infinite_and_nan_objectives(make):
    values = {3: math.inf, 7: -math.inf, 11: math.nan, 13: 1e300}

    def wild(trial):
        value = objective(trial)
        return values.get(trial.number, value)

    study = optuna.create_study(sampler=make())
    study.optimize(wild, n_trials=25)
    assert len(study.trials) == 25
    mean, std = optimizer_of(study).predict([{"x": 1.0, "k": 3, "act": 1}])
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()


def test_a_pickled_sampler_goes_on_alike_and_is_small(make):
    study = optuna.create_study(sampler=make(search_space=SPACE))
    study.optimize(objective, n_trials=20)
    data = pickle.dumps(study.sampler)
    assert len(data) < 20_000
    trial = study.ask()
    copies = [pickle.loads(data), pickle.loads(pickle.dumps(pickle.loads(data)))]
    a, b = (c.sample_relative(study, study.trials[trial.number], SPACE) for c in copies)
    assert a == b


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda sampler: pickle.loads(pickle.dumps(sampler))])
def test_a_copy_keeps_a_drawn_seed_but_no_model_and_no_study(copied):
    study = optuna.create_study(sampler=GSSBOSampler(search_space=SPACE))
    study.optimize(objective, n_trials=12)
    twin = copied(study.sampler)
    with pytest.raises(ValueError, match="pass study="):
        twin.explain()
    found = twin.explain(study)
    assert found.n_told == 12
    assert not len(found.asked_at)
    again = optuna.create_study(sampler=twin)
    again.optimize(objective, n_trials=3)
    assert [t.params for t in again.trials] == [t.params for t in study.trials[:3]]


@over_seeds()
def test_reseeding_changes_the_suggestions_and_keeps_the_model(make):
    study = optuna.create_study(sampler=make(search_space=SPACE, seed=seeded(0)))
    study.optimize(objective, n_trials=12)
    trial = study.ask()
    frozen = study.trials[trial.number]
    sample = study.sampler.sample_relative
    first, again = sample(study, frozen, SPACE), sample(study, frozen, SPACE)
    assert first == again
    asked = asks_of(study)
    changed = False
    for _ in range(5):
        study.sampler.reseed_rng()
        changed |= sample(study, frozen, SPACE) != first
    # the most uncertain point is no matter of chance; the best one may be found from all candidates
    assert changed or isinstance(study.sampler, SBPESampler), MOSTLY
    assert asks_of(study) == [*asked, *[12] * 5]  # of the same optimizer


def test_threads_share_a_sampler(make):
    study = optuna.create_study(sampler=make(search_space=SPACE, avoid_repeats=True))
    study.optimize(objective, n_trials=60, n_jobs=8)
    assert len(study.trials) == 60
    assert all(t.state == TrialState.COMPLETE for t in study.trials)
    assert len({tuple(t.params.values()) for t in study.trials}) == 60
    assert all(published(t) for t in study.trials)
    assert asks_of(study)[-1] >= 52  # all but those of the other threads, when the last one was asked


def test_hyperband_does_not_rebuild_the_model(make):
    def reporting(trial):
        value = objective(trial)
        for step in range(1, 10):
            trial.report(value + 3 / step, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    pruner = optuna.pruners.HyperbandPruner(min_resource=1, max_resource=9, reduction_factor=3)
    study = optuna.create_study(sampler=make(search_space=SPACE), pruner=pruner)
    study.optimize(reporting, n_trials=20)
    before = asks_of(study)
    study.optimize(reporting, n_trials=20)
    after = asks_of(study)
    assert len(after) == 40
    assert after[:20] == before
    assert {t.state for t in study.trials} == {TrialState.COMPLETE, TrialState.PRUNED}


@over_seeds()
def test_a_range_changed_in_mid_study_keeps_what_still_fits(make):
    study = optuna.create_study(sampler=make())

    def f(trial, high):
        x = trial.suggest_float("x", 0.0, high)
        return (x - 1.5) ** 2 + trial.suggest_float("y", 0.0, 1.0)

    study.optimize(lambda t: f(t, 4.0), n_trials=15)
    kept = sum(t.params["x"] <= 2.0 for t in study.trials)
    study.optimize(lambda t: f(t, 2.0), n_trials=15)
    assert all(0.0 <= t.params["x"] <= 2.0 for t in study.trials[15:])
    opt = optimizer_of(study)
    assert opt.space["x"].high == 2.0
    assert opt.n_told == kept + 15
    assert all(published(t) for t in study.trials[16:])  # no fall-back to random sampling
    study.optimize(lambda t: f(t, 8.0), n_trials=10)
    assert optimizer_of(study).space["x"].high == 8.0
    assert study.best_value < 0.3, MOSTLY


def test_a_range_that_always_changes_is_searched_in_all_that_it_has_covered(make):
    study = optuna.create_study(sampler=make())
    study.optimize(lambda t: t.suggest_float("x", 0, 1 + t.number % 7) + t.suggest_float("y", 0, 1), n_trials=25)
    assert optimizer_of(study).space.keys() == {"x", "y"}
    assert optimizer_of(study).space["x"].high == 7.0
    assert all(t.params["x"] <= 1 + t.number % 7 for t in study.trials)


def test_changed_choices_keep_the_trials_that_fit(make):
    study = optuna.create_study(sampler=make())
    study.optimize(lambda t: float(t.suggest_categorical("c", ["a", "b"]) == "a"), n_trials=8)
    other = optuna.create_study(sampler=make(search_space={"c": CategoricalDistribution(["b", "z"])}))
    other.add_trials(study.trials)
    assert optimizer_of(other).n_told == sum(t.params["c"] == "b" for t in study.trials)


def test_only_parameters_that_no_trial_has_used_are_sampled_independently_and_warn():
    study = optuna.create_study(sampler=GSSBOSampler(seed=0, n_startup_trials=3))

    def conditional(trial):
        kind = trial.suggest_categorical("kind", ["a", "b"])
        return trial.suggest_float(f"only_{kind}", 0, 1) + (
            trial.suggest_float("late", 0, 1) if trial.number > 7 else 0
        )

    for kind in ("a", "b"):
        study.enqueue_trial({"kind": kind})
    with pytest.warns(UserWarning, match="'late' independently, with its usual value: no trial that") as caught:
        study.optimize(conditional, n_trials=12)
    assert len(caught) == 1


def test_running_trials_of_others_are_pending_by_their_attributes(make):
    study = optuna.create_study(sampler=make(search_space=SPACE))
    study.optimize(objective, n_trials=10)
    asked = [study.ask(SPACE) for _ in range(6)]
    assert len({tuple(t.params.values()) for t in asked}) == 6
    late = study.ask()  # has suggested nothing yet, but its point is chosen and published with the first parameter
    late.suggest_float("x", -3.0, 3.0)
    pending = optimizer_of(study).pending
    assert len(pending) == 7
    assert pending[-1]["x"] == late.params["x"]


@pytest.mark.parametrize("sampler", [GSSBOSampler, GPUCBSampler])
@over_seeds()
def test_reports_of_running_trials_of_others_count(sampler):
    study = optuna.create_study(sampler=sampler(search_space=SPACE, seed=seeded(0)))
    for k in range(12):
        trial = study.ask(SPACE)
        value = objective(trial)
        for step in range(1, 5):
            trial.report(value + 1.0 / step, step)
        study.tell(trial, None if k % 2 else value, TrialState.PRUNED if k % 2 else None)
    running = study.ask(SPACE)
    shown = lambda: [curve for curve in optimizer_of(study).curves() if curve.kind == "running"]  # noqa: E731
    assert shown() == []
    for step in range(1, 4):
        running.report(-5.0 + 1.0 / step, step)
        study.ask(SPACE)
        (curve,) = shown()
        assert curve.steps.tolist() == list(range(1, step + 1))
        assert curve.end < 0.0, MOSTLY  # all others end above
    study.tell(running, -5.0)
    assert shown() == []
    assert len(optimizer_of(study).pending) == 3  # those asked in between


SEARCHED = _records.Identity.of(Searched(SPACE))
TORN = ['{"origin":0,"par', "null", f'{{"space":{SEARCHED.space},"choices":{{}},"origin":0,"params":{{}}}}']


@pytest.mark.parametrize("text", TORN)
def test_torn_and_foreign_attributes_are_ignored(make, text):
    study = optuna.create_study(sampler=make(search_space=SPACE))
    study.optimize(objective, n_trials=7)
    for value in (text, {"not": "text"}, 7):
        trial = study.ask()
        set_system_attr(study, trial.number, f"{_records.KEY}:0", value)
    for params in ({"x": "y", "k": 1, "act": 0}, {"x": 0.0, "k": 1e9, "act": 77}, {"x": [], "k": {}, "act": None}):
        record = {"space": SEARCHED.space, "origin": 0, "params": params, "choices": SEARCHED.choices}
        wrong = json.dumps(record)
        set_system_attr(study, study.ask().number, f"{_records.KEY}:0", wrong)
    study.optimize(objective, n_trials=3)
    assert optimizer_of(study).pending == []


def test_stale_running_trials_are_not_hallucinated_for_ever(make, monkeypatch):
    monkeypatch.setattr(_view, "MAX_OVERTAKEN", 100)
    study = optuna.create_study(sampler=make(search_space=SPACE))
    asked = [study.ask(SPACE).params["x"] for _ in range(30)]
    assert [params["x"] for params in optimizer_of(study).pending] == asked
    now = datetime.datetime.now()  # naive, as Optuna has it
    done = optuna.create_trial(params={"x": 0.0, "k": 1, "act": None}, distributions=SPACE, value=1.0)
    done.datetime_start = now
    done.datetime_complete = now + datetime.timedelta(seconds=1)
    study.add_trials([done] * 150)
    assert optimizer_of(study).pending == []


def test_a_view_that_an_interrupt_left_half_done_is_not_used_again(make, monkeypatch):
    study = optuna.create_study(sampler=make(search_space=SPACE))
    study.optimize(objective, n_trials=8)
    hold = _view.StudyView.hold_running
    assert asks_of(study) == list(range(8))

    def interrupted(self, *arguments):
        hold(self, *arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(_view.StudyView, "hold_running", interrupted)
    with pytest.raises(KeyboardInterrupt):
        study.ask(SPACE)
    monkeypatch.undo()
    study.ask(SPACE)
    assert asks_of(study) == [8]  # by a new optimizer
    assert optimizer_of(study).n_told == 8


@pytest.mark.filterwarnings("ignore:PartialFixedSampler")
def test_studies_of_too_many_objectives_are_refused(make):
    most = 5 if isinstance(make(), GSSBOSampler) else 1
    takes = "one objective" if most == 1 else "up to 5 objectives"
    other = "use GSSBOSampler for several" if most == 1 else "use NSGAIISampler or TPESampler"
    study = optuna.create_study(sampler=make(), directions=["minimize"] * most + ["maximize"])
    begun = []
    words = f"{type(study.sampler).__name__} optimises {takes}, but the study has {most + 1}: {other}.*weighted sums"
    with pytest.raises(ValueError, match=words) as error:
        study.optimize(begun.append, n_trials=2)
    assert "\n" not in str(error.value)
    assert not begun  # before the objective spends any time
    with pytest.raises(ValueError, match=words):
        study.ask({"x": optuna.distributions.FloatDistribution(0, 1)})
    assert [trial.state for trial in study.trials] == [TrialState.FAIL] * 2
    wrapped = optuna.samplers.PartialFixedSampler({"x": 0.5}, make())
    with pytest.raises(ValueError, match=words):
        optuna.create_study(sampler=wrapped, directions=["minimize"] * (most + 1)).ask()
    with pytest.raises(ValueError, match=words):
        study.sampler.predict({"x": 0.5}, study)


def test_constraints_are_said_to_be_ignored(make):
    study = optuna.create_study(sampler=make())

    def constrained(trial):
        trial.set_constraint("c", trial.suggest_float("x", 0, 1))
        return 0.0

    if not hasattr(optuna.trial.Trial, "set_constraint"):
        pytest.skip("this Optuna has no Trial.set_constraint")
    if isinstance(study.sampler, GSSBOSampler):
        pytest.skip("it uses them")
    with pytest.warns(UserWarning, match="does not use them"):
        study.optimize(constrained, n_trials=1)


def test_a_sampler_around_this_one_may_change_the_space_that_it_is_given():
    sampler = GSSBOSampler(seed=0, n_startup_trials=2)
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda t: t.suggest_float("x", 0, 1) + t.suggest_float("y", 0, 1), n_trials=3)
    asked = study.ask()
    running = study.trials[asked.number]
    given = sampler.infer_relative_search_space(study, running)
    del given["x"]
    assert set(sampler.infer_relative_search_space(study, running)) == {"x", "y"}


def test_one_sampler_for_several_studies(make):
    sampler = make(search_space=SPACE)
    studies = [optuna.create_study(sampler=sampler) for _ in range(3)]
    for _ in range(12):
        for study in studies:
            study.optimize(objective, n_trials=1)
    assert [asks_of(study) for study in studies] == [list(range(12))] * 3


class TestStudiesThatBeginAlike:
    """A sampler for several studies, the later ones with copies of the first one's trials."""

    @staticmethod
    def told(sampler, study):
        """Direction and values that the model behind the next suggestion knows."""
        study.ask(SPACE)
        optimizer, _ = sampler.inspected(study)
        return optimizer.direction, optimizer.observations[1].tolist()

    @staticmethod
    def filled(sampler, storage=None):
        study = optuna.create_study(sampler=sampler, storage=storage)
        study.optimize(objective, n_trials=8)
        return study

    @pytest.mark.parametrize("files", [False, True])
    def test_in_the_other_direction(self, make, files, tmp_path):
        one, two = (f"sqlite:///{tmp_path}/{k}.db" if files else None for k in (1, 2))
        sampler = make(search_space=SPACE)
        first = self.filled(sampler, one)
        second = optuna.create_study(storage=two, sampler=sampler, direction="maximize")
        second.add_trials(first.trials)
        values = [t.value for t in first.trials]
        assert self.told(sampler, second) == ("maximize", values)
        assert self.told(sampler, first) == ("minimize", values)

    @pytest.mark.parametrize(
        ("files", "changed"), [(False, range(8)), (False, [0]), (False, [4]), (False, [7]), (True, [4])]
    )
    def test_with_other_values(self, make, files, changed, tmp_path):
        one, two = (f"sqlite:///{tmp_path}/{k}.db" if files else None for k in (1, 2))
        sampler = make(search_space=SPACE)
        trials = self.filled(sampler, one).trials
        for k in changed:
            trials[k].value += 1.0
        second = optuna.create_study(storage=two, sampler=sampler)
        second.add_trials(trials)
        assert self.told(sampler, second) == ("minimize", [t.value for t in trials])

    def test_a_study_that_is_loaded_again_needs_no_new_model(self, make, tmp_path):
        url, sampler = f"sqlite:///{tmp_path}/study.db", make(search_space=SPACE)
        study = self.filled(sampler, url)
        before = asks_of(study)
        again = optuna.load_study(study_name=study.study_name, storage=url, sampler=sampler)
        again.optimize(objective, n_trials=2)
        assert before == list(range(8))
        assert asks_of(again) == list(range(10))
        assert optimizer_of(again).n_told == 10

    def test_looking_for_changes_takes_the_same_time_however_many_trials_there_are(self, make, monkeypatch):
        looked = []
        mark = _view._mark
        monkeypatch.setattr(_view, "_mark", lambda trial: (looked.append(trial.number), mark(trial))[1])
        study = optuna.create_study(sampler=make(search_space=SPACE))
        counts = []
        for _ in range(20):
            study.optimize(objective, n_trials=1)
            counts.append(len(looked))
            looked.clear()
        assert len(set(counts[5:])) == 1


BAD = [
    ({"n_startup_trials": -1}, "n_startup_trials"),
    ({"n_startup_trials": 1.5}, "n_startup_trials must be an integer of at least 0, got 1.5"),
    ({"n_startup_trials": True}, "n_startup_trials must be an integer of at least 0, got True"),
    ({"search_space": {}}, "search_space"),
    ({"search_space": ["x"]}, r"search_space must be None, a mapping such as .*, got \['x'\]"),
    ({"search_space": {"x": (0, 1)}}, r"search_space must map names to distributions such as .*, got 'x': \(0, 1\)"),
    ({"search_space": {3: FloatDistribution(0, 1)}}, "search_space must map names to .*, got 3: FloatDistribution"),
    ({"independent_sampler": "random"}, "independent_sampler must be an Optuna sampler such as .*, got 'random'"),
    ({"warn_independent_sampling": "no"}, "warn_independent_sampling must be one of True, False, got 'no'"),
    ({"learn_failures": "no"}, "learn_failures must be one of 'auto', True, False, got 'no'"),
    ({"seed": -1}, "seed must be an integer of at least 0 or None, got -1"),
    ({"seed": 1.5}, "seed must be an integer of at least 0 or None, got 1.5"),
    ({"seed": True}, "seed must be an integer of at least 0 or None, got True"),
    ({"criterion": "best"}, "'best'"),
    ({"buffer_size": 4}, "buffer_size"),
    ({"kernel": "cubic"}, "'cubic'"),
]


@pytest.mark.parametrize(("settings", "words"), BAD)
def test_bad_settings_are_reported_at_once_in_one_clear_sentence(settings, words):
    with pytest.raises(ValueError, match=words) as error:
        configured(GSSBOSampler, **settings)
    assert "\n" not in str(error.value)
    with pytest.raises(TypeError, match="speed"):
        GSSBOSampler(speed=3)


def test_settings_that_depend_on_the_space_are_checked_against_it():
    kernel = {"lengthscale": [0.2, 0.5], "noise_std": 0.1}
    configured(BBKBSampler, **kernel)
    finite = {"a": IntDistribution(0, 3), "b": IntDistribution(0, 3), "one": IntDistribution(4, 4)}
    settings = BBKBSettings(min_batch=2, **kernel)
    sampler = BBKBSampler(seed=0, search_space=finite, n_startup_trials=2, settings=settings)
    study = optuna.create_study(sampler=sampler)
    for _ in range(6):
        trial = study.ask(finite)
        study.tell(trial, sum(trial.params.values()))
    with pytest.raises(ValueError, match="lengthscale must be a positive number or 3 of them"):
        configured(BBKBSampler, search_space=SPACE, **kernel)


@pytest.mark.parametrize(
    "choices",
    [
        ["a", "b", "a", "c", "d"],
        ["s"] * 6 + ["t", "u"],
        [1, 1.0, True, 2, 3],
        [0, False, None, "none"],
        ["x", "y", "z"] * 4 + ["w"],
    ],
    ids=str,
)
def test_every_different_choice_is_tried_soon(make, choices):
    different = list(dict.fromkeys(choices))
    study = optuna.create_study(sampler=make())
    study.optimize(lambda t: -choices.index(t.suggest_categorical("c", choices)), n_trials=len(different) + 4)
    tried = {choices.index(trial.params["c"]) for trial in study.trials}
    assert tried == {choices.index(choice) for choice in different}


def test_the_independent_sampler_is_the_users():
    class Fixed(RandomSampler):
        def sample_independent(self, study, trial, name, distribution):
            return 0.25

    study = optuna.create_study(sampler=GSSBOSampler(independent_sampler=Fixed()))
    assert study.ask().suggest_float("x", 0, 1) == 0.25


@pytest.mark.parametrize("storage", ["sqlite", "journal"])
@pytest.mark.parametrize("finite", [False, True])
def test_others_who_choose_the_same_again_and_again_are_avoided(storage, finite, tmp_path, monkeypatch):
    if storage == "sqlite":
        storage = f"sqlite:///{tmp_path}/study.db"
    else:
        storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(f"{tmp_path}/journal"))
    space = {"k": IntDistribution(0, 40)} if finite else {"x": FloatDistribution(0.0, 1.0)}
    study = optuna.create_study(storage=storage, sampler=GSSBOSampler(seed=0, search_space=space, n_startup_trials=3))
    for _ in range(8):
        trial = study.ask(space)
        study.tell(trial, sum(trial.params.values()) ** 2)
    rivals = []
    publish = _records.publish

    def overtaken(study, trial, identity, params, origin):
        """Somebody else publishes the same point at the same time."""
        publish(study, trial, identity, params, origin)
        if len(rivals) < 12:
            study.add_trial(optuna.create_trial(state=TrialState.RUNNING))
            publish(study, study.trials[-1], identity, params, origin)
            rivals.append(params)

    monkeypatch.setattr(_records, "publish", overtaken)
    chosen = study.ask(space).params
    assert len(rivals) == 12
    assert chosen not in rivals
    assert chosen not in [t.params for t in study.trials[:8]]


def test_a_rival_with_the_same_point_may_have_ended_already(tmp_path, monkeypatch):
    """What was new when it was chosen is no repeat that is meant, even where points are measured again."""
    space = {"x": FloatDistribution(0.0, 1.0)}
    sampler = GSSBOSampler(seed=0, search_space=space, n_startup_trials=3)
    study = optuna.create_study(storage=f"sqlite:///{tmp_path}/study.db", sampler=sampler)
    for _ in range(8):
        trial = study.ask(space)
        study.tell(trial, trial.params["x"] ** 2)
    rivals = []
    publish = _records.publish

    def overtaken(study, trial, identity, params, origin):
        """Somebody else chooses the same point at the same time, and is done with it."""
        publish(study, trial, identity, params, origin)
        if not rivals:
            rivals.append(params)
            study.add_trial(optuna.create_trial(params=params, distributions=space, value=0.5))

    monkeypatch.setattr(_records, "publish", overtaken)
    monkeypatch.setattr(Availability, "repeating", property(lambda available: True))
    assert study.ask(space).params not in rivals


def test_a_suggestion_reads_the_trials_once_and_once_more_to_settle(tmp_path, monkeypatch):
    study = optuna.create_study(storage=f"sqlite:///{tmp_path}/study.db", sampler=GSSBOSampler(seed=0))
    study.optimize(objective, n_trials=3)
    reads = []
    read = study._storage.get_all_trials
    monkeypatch.setattr(study._storage, "get_all_trials", lambda *args, **kw: reads.append(args) or read(*args, **kw))
    study.ask(SPACE)
    assert len(reads) == 3  # Optuna looks for waiting trials first


def test_what_was_seen_between_the_space_and_the_suggestion_is_known(tmp_path):
    sampler = GSSBOSampler(seed=0)
    study = optuna.create_study(storage=f"sqlite:///{tmp_path}/study.db", sampler=sampler)
    study.optimize(objective, n_trials=6)
    trial = study._storage.get_trial(study._storage.create_new_trial(study._study_id))
    space = sampler.infer_relative_search_space(study, trial)
    study.add_trial(study.trials[0])
    sampler.best_predicted(study)
    sampler.sample_relative(study, trial, space)
    assert len(view_of(study).desk.told) == 7


@pytest.mark.parametrize("storage", ["memory", "sqlite"])
def test_who_begins_between_the_space_and_the_suggestion_is_avoided(storage, tmp_path, monkeypatch):
    sampler = GSSBOSampler(seed=0)
    storage = None if storage == "memory" else f"sqlite:///{tmp_path}/study.db"
    study = optuna.create_study(storage=storage, study_name="both", sampler=sampler)
    space = {"a": IntDistribution(0, 3), "b": IntDistribution(0, 3)}
    for _ in range(6):
        trial = study.ask(space)
        study.tell(trial, sum(trial.params.values()))
    twin = optuna.load_study(study_name="both", storage=study._storage, sampler=GSSBOSampler(seed=50))
    sample, others = sampler.sample_relative, []

    def later(*args):
        others.append(twin.ask(space).params)
        return sample(*args)

    monkeypatch.setattr(sampler, "sample_relative", later)
    chosen = study.ask(space).params
    assert len(others) == 1
    assert chosen not in others


def test_trials_of_another_study_are_not_taken_for_those_of_a_trial_with_the_same_number(tmp_path):
    sampler = GSSBOSampler(seed=0)
    studies = [optuna.create_study(storage=f"sqlite:///{tmp_path}/{n}.db", sampler=sampler) for n in range(2)]
    for n, study in enumerate(studies):
        study.optimize(objective, n_trials=6)
        study.add_trials(study.trials[: 3 * n])
    trials = [s._storage.get_trial(s._storage.create_new_trial(s._study_id)) for s in studies]
    studies[0].add_trials(studies[0].trials[:1])
    trials[0]._trial_id = trials[1]._trial_id
    space = sampler.infer_relative_search_space(studies[0], trials[0])
    sampler.sample_relative(studies[1], trials[1], space)
    assert len(view_of(studies[1]).desk.told) == 9


class TestLookingInside:
    """predict, best_predicted and explain of a sampler, in Optuna's terms."""

    @staticmethod
    def objective(trial):
        x = trial.suggest_float("x", -1.0, 1.0)
        act = trial.suggest_categorical("act", ["relu", None, 3])
        return (x - 0.3) ** 2 + (act != 3) + 0.01 * trial.suggest_int("k", 1, 5)

    def test_in_the_units_and_categories_of_the_study(self):
        study = optuna.create_study(sampler=GSSBOSampler(seed=0))
        study.optimize(self.objective, n_trials=40)
        sampler = study.sampler
        mean, std = sampler.predict({"x": 0.3, "act": 3, "k": 1})
        assert mean == pytest.approx(0.01, abs=0.05)
        assert 0.0 <= std < 0.5
        means, stds = sampler.predict([{"x": 0.3, "act": 3, "k": 1}, {"x": 0.3, "act": None, "k": 1}])
        assert means[0] == mean
        assert means[1] > 0.5
        assert stds.shape == (2,)
        params, value = sampler.best_predicted()
        assert params["act"] == 3
        assert value == pytest.approx(study.best_value)
        assert next(iter(sampler.explain().relevance)) == "act"
        assert sampler.explain().n_told == 40

    def test_the_recommended_parameters_are_those_of_a_trial(self):
        def noisy(trial):
            x = trial.suggest_float("x", 1e-6, 1.0, log=True)
            y, _ = trial.suggest_float("y", -0.7, 0.9), trial.suggest_int("fixed", 3, 3)
            return abs(math.log10(x) + 3) + y * y + 0.5 * math.sin(7919.0 * trial.number)

        study = optuna.create_study(sampler=GSSBOSampler(seed=0))
        assert study.sampler.best_predicted_trial(study) is None
        for _ in range(5):
            study.optimize(noisy, n_trials=5)
            params, _ = study.sampler.best_predicted()
            trial = study.sampler.best_predicted_trial()
            assert trial.params == params == study.trials[trial.number].params
            assert numbo.optuna.best_predicted_trial(study) == trial
            trial.params["x"] = 0.0  # a copy
            assert study.sampler.best_predicted()[0] == params
        anywhere, _ = study.sampler.best_predicted(anywhere=True)
        assert {"x", "y"} <= anywhere.keys()

    def test_no_trial_is_recommended_before_a_success(self):
        study = optuna.create_study(sampler=GSSBOSampler(seed=0))

        def failing(trial):
            trial.suggest_float("x", 0, 1)
            raise optuna.TrialPruned

        study.optimize(failing, n_trials=3)
        assert study.sampler.best_predicted_trial() is None

    def test_of_a_study_that_another_process_has_filled(self):
        storage = optuna.storages.InMemoryStorage()
        study = optuna.create_study(storage=storage, sampler=GSSBOSampler(seed=0))
        study.optimize(self.objective, n_trials=25)
        fresh = optuna.load_study(study_name=study.study_name, storage=storage, sampler=GSSBOSampler(seed=0))
        with pytest.raises(ValueError, match="has been used for no study yet: pass study="):
            fresh.sampler.explain()
        assert fresh.sampler.explain(fresh).n_told == 25
        mean, _ = fresh.sampler.predict({"x": 0.3, "act": 3, "k": 1}, fresh)
        assert mean == pytest.approx(0.01, abs=0.1)

    def test_maximised(self):
        study = optuna.create_study(sampler=GSSBOSampler(seed=0), direction="maximize")
        study.optimize(lambda trial: -self.objective(trial), n_trials=30)
        assert study.sampler.best_predicted()[1] > study.sampler.predict({"x": -1.0, "act": None, "k": 5})[0]

    def test_wrong_points_are_named(self):
        study = optuna.create_study(sampler=GSSBOSampler(seed=0))
        with pytest.raises(ValueError, match="nothing to look at"):
            study.sampler.explain(study)
        study.optimize(self.objective, n_trials=12)
        with pytest.raises(ValueError, match=r"params must hold \['act', 'k', 'x'\]"):
            study.sampler.predict({"x": 0.1})
        with pytest.raises(ValueError, match=r"params\['act'\] = 'gelu' is not in "):
            study.sampler.predict({"x": 0.1, "act": "gelu", "k": 1})
        with pytest.raises(ValueError, match="is not in"):
            study.sampler.predict({"x": 5.0, "act": 3, "k": 1})

    def test_looking_does_not_change_the_study(self):
        looked = optuna.create_study(sampler=GSSBOSampler(seed=0))
        alone = optuna.create_study(sampler=GSSBOSampler(seed=0))
        for _ in range(25):
            looked.optimize(self.objective, n_trials=1)
            alone.optimize(self.objective, n_trials=1)
            looked.sampler.explain()
            looked.sampler.best_predicted()
        assert [t.params for t in looked.trials] == [t.params for t in alone.trials]

    def test_a_sampler_does_not_keep_its_study_alive(self):
        study = optuna.create_study(sampler=GSSBOSampler(seed=0))
        study.optimize(self.objective, n_trials=12)
        sampler = pickle.loads(pickle.dumps(study.sampler))
        with pytest.raises(ValueError, match="no study yet"):
            sampler.explain()
        sampler = study.sampler
        del study
        gc.collect()
        with pytest.raises(ValueError, match="has been used for a study that no longer exists: pass study="):
            sampler.explain()

    @pytest.mark.parametrize("sampler", [GSSBOSampler, GPUCBSampler, BBKBSampler])
    def test_from_another_thread_while_trials_run(self, sampler):
        study = optuna.create_study(sampler=sampler(seed=0, n_startup_trials=5))
        study.optimize(self.objective, n_trials=10)
        done, looked, found, errors = threading.Event(), threading.Event(), [], []

        def look():
            try:
                while not done.is_set():
                    found.append(study.sampler.predict({"x": 0.3, "act": 3, "k": 1}, study))
                    assert study.sampler.explain(study).n_told >= 10
                    looked.set()
            except Exception as error:
                errors.append(error)
                looked.set()

        def objective(trial):
            if trial.number >= 40:
                looked.wait()  # however slow the other thread is
            return self.objective(trial)

        looker = threading.Thread(target=look)
        looker.start()
        try:
            study.optimize(objective, n_trials=60, n_jobs=2)
        finally:
            done.set()
            looker.join()
        assert not errors
        assert found
        assert np.isfinite(found).all()
        assert study.sampler.explain(study).n_told == len(study.trials) == 70

    def test_under_a_sampler_that_fixes_parameters(self):
        def run(looks):
            base = GSSBOSampler(seed=0)
            study = optuna.create_study(sampler=base)
            study.optimize(self.objective, n_trials=12)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                study.sampler = optuna.samplers.PartialFixedSampler({"k": 2}, base)
            for _ in range(12):
                study.optimize(self.objective, n_trials=1)
                if looks:
                    assert "k" in base.explain(study).relevance  # what is fixed is modelled, and conditions the rest
            return [t.params for t in study.trials]

        assert run(looks=True) == run(looks=False)

    def test_running_trials_are_counted(self):
        study = optuna.create_study(sampler=GSSBOSampler(seed=0))
        study.optimize(self.objective, n_trials=12)
        for _ in range(3):
            study.ask(fixed_distributions=SPACE | {"x": FloatDistribution(-1.0, 1.0), "k": IntDistribution(1, 5)})
        assert study.sampler.explain(study).n_pending == 3

    def test_under_hyperband_the_study_is_meant_not_a_bracket_of_it(self):
        study = optuna.create_study(sampler=GSSBOSampler(seed=0), pruner=optuna.pruners.HyperbandPruner(1, 4))
        study.optimize(self.objective, n_trials=15)
        assert study.sampler.explain().n_told == 15

    def test_after_an_objective_with_a_study_of_its_own(self):
        sampler = GSSBOSampler(seed=0)
        study = optuna.create_study(sampler=sampler)

        def nesting(trial):
            inner = optuna.create_study(sampler=sampler)
            inner.optimize(lambda t: t.suggest_float("y", 0, 1), n_trials=2)
            return self.objective(trial)

        study.optimize(nesting, n_trials=12)
        gc.collect()
        assert set(sampler.explain().relevance) == {"x", "act", "k"}

    def test_of_an_objective_without_parameters(self):
        study = optuna.create_study(sampler=GSSBOSampler(seed=0))
        study.optimize(lambda trial: 1.0, n_trials=3)
        with pytest.raises(ValueError, match="no trial of the study has succeeded with a parameter that has several"):
            study.sampler.explain()


class WholeSeconds(optuna.storages.InMemoryStorage):
    """A storage whose clock has no fractions of seconds, such as MySQL's: quick trials begin and end at once."""

    def _set_trial(self, trial_id, trial):
        for name in ("datetime_start", "datetime_complete"):
            moment = getattr(trial, name)
            if moment is not None:
                setattr(trial, name, moment.replace(microsecond=0))
        super()._set_trial(trial_id, trial)

    def create_new_trial(self, study_id, template_trial=None):
        number = super().create_new_trial(study_id, template_trial)
        self._set_trial(number, self._get_trial(number))
        return number


@pytest.mark.parametrize("storage", [None, WholeSeconds()])
@pytest.mark.parametrize("again", ["copied", "created", "evaluated"])
def test_only_trials_that_were_evaluated_are_evidence_against_noise(again, storage):
    study = optuna.create_study(storage=storage, sampler=GSSBOSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=12)
    first = study.trials[5]
    if again == "copied":
        study.add_trial(first)
    elif again == "created":
        made = optuna.create_trial(params=first.params, distributions=first.distributions, value=first.value)
        study.add_trial(made)
    else:
        study.enqueue_trial(first.params)
        study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=1)
    means, _ = study.sampler.predict([t.params for t in study.trials[:12]], study)
    exact = means.tolist() == [t.value for t in study.trials[:12]]  # values without noise are what they are
    assert exact == (again == "evaluated")


@pytest.mark.parametrize("objective", [lambda x, y: (x - 0.3) ** 2 + (y - 0.7) ** 2, lambda x, y: abs(x - y) // 0.1])
def test_a_clock_without_fractions_of_seconds_repeats_no_point_more_often(objective):
    repeats = []
    for storage in (optuna.storages.InMemoryStorage(), WholeSeconds()):
        study = optuna.create_study(storage=storage, sampler=GSSBOSampler(seed=0))
        study.optimize(lambda t: objective(t.suggest_float("x", 0, 1), t.suggest_float("y", 0, 1)), n_trials=60)
        repeats.append(60 - len({tuple(trial.params.values()) for trial in study.trials}))
    assert repeats[1] == repeats[0]  # what was asked for is known by the record of it
