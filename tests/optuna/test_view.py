"""A sampler's view of a study: which trials it tells the optimizer, in which order, at which points and values."""

from __future__ import annotations

import datetime
import math

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from numbo import GSSBO
from numbo.optuna import _records, _view
from numbo.optuna._distributions import Searched, declared
from numbo.optuna._view import ROUNDS, FirstTrials, StudyView, checked

START = datetime.datetime(2026, 1, 1)
SPACE = {"x": FloatDistribution(0.0, 1.0), "k": IntDistribution(0, 8)}


def trial(number, params, end=None, **given):
    """A trial with this number that took ``end`` seconds, by default its number plus one."""
    state = given.setdefault("state", TrialState.COMPLETE)
    if state == TrialState.COMPLETE and "values" not in given:
        given.setdefault("value", float(number))
    distributions = {name: SPACE[name] for name in params}
    found = create_trial(params=params, distributions=distributions, **given)
    found.number = number
    found.datetime_start = START + datetime.timedelta(microseconds=number)
    found.datetime_complete = None
    if state.is_finished():
        found.datetime_complete = START + datetime.timedelta(seconds=number + 1 if end is None else end)
    return found


def running(number, params, **given):
    return trial(number, params, state=TrialState.RUNNING, **given)


def viewed(trials, space=SPACE, view=None, current=-1, **goal):
    """A view whose optimizer knows these trials."""
    view = StudyView() if view is None else view
    view.sync(trials)

    def make(domain, constraints):
        return GSSBO(domain, seed=0, constraints=constraints, **({"direction": "minimize"} | goal))

    view.desk_over(declared(space), trials, make)
    view.hold_running(trials, current)
    return view


def told(view):
    """The points and values that the optimizer was told."""
    X, values = view.desk.optimizer.observations
    return [(view.desk.optimizer.space.decode(x), value) for x, value in zip(X, values.tolist(), strict=True)]


# -- which trials ------------------------------------------------------------------------------------------------------


def test_trials_are_told_once_in_the_order_in_which_they_finished():
    trials = [trial(0, {"x": 0.0}, end=30.0), trial(1, {"x": 0.1}, end=10.0), running(2, {"x": 0.2})]
    view = viewed(trials)
    assert view.desk.told == [1, 0]
    trials = [*trials[:2], trial(2, {"x": 0.2}, end=20.0), trial(3, {"x": 0.3}, end=15.0)]
    assert viewed(trials, view=view) is view
    assert view.desk.told == [1, 0, 3, 2]
    viewed(trials, view=view)
    assert view.desk.told == [1, 0, 3, 2]
    assert view.desk.optimizer.n_told == 4
    assert viewed(trials).desk.told == [1, 3, 2, 0]  # a new view knows all at once


def test_the_optimizer_is_kept_until_the_space_or_the_constraints_change():
    trials = [trial(0, {"x": 0.0, "k": 1})]
    view = viewed(trials)
    first = view.desk.optimizer
    trials.append(trial(1, {"x": 0.1, "k": 1}))
    assert viewed(trials, view=view).desk.optimizer is first
    trials.append(trial(2, {"x": 0.2, "k": 1}, system_attrs={"constraints": [0.5]}))
    second = viewed(trials, view=view).desk.optimizer
    assert second is not first
    assert (second.constraints, second.n_told, view.constraints) == (("0",), 3, ("0",))
    assert view.desk.optimizer.snapshot().met.tolist() == [True, True, False]
    third = viewed(trials, {"x": SPACE["x"]}, view).desk.optimizer
    assert third is not second
    assert (third.space.names, third.n_told) == (["x"], 3)


def test_a_view_continues_only_with_the_trials_that_it_has_seen():
    trials = [trial(number, {"x": number / 8}) for number in range(4)]
    view = StudyView()
    assert view.continues(trials)
    assert not view.continues(trials, compare_all=True)  # nothing speaks for it
    view.sync(trials)
    longer = [*trials, running(4, {"x": 0.5})]
    assert view.continues(longer)
    assert view.continues(longer, compare_all=True)
    assert not view.continues(trials[:3])
    assert not view.continues([*trials[:3], trial(7, {"x": 0.5})])
    view.sync(longer)
    assert view.continues(longer)
    assert not view.continues([*trials, running(7, {"x": 0.5})])
    view = StudyView()
    view.sync(trials)
    for changed, seen in ((0, True), (1, False), (3, True)):  # the first and the last one are always compared
        other = [trial(n, {"x": n / 8}, value=9.0 if n == changed else float(n)) for n in range(4)]
        assert view.continues(other) is not seen
        assert not view.continues(other, compare_all=True)


@pytest.mark.parametrize(
    "change",
    [
        {"value": 5.0},
        {"params": {"x": 0.75}},
        {"end": 99.0},
        {"state": TrialState.FAIL},
        {"intermediate_values": {1: 0.5}},
    ],
    ids=str,
)
def test_any_change_of_what_is_learned_makes_another_trial(change):
    view = StudyView()
    view.sync([trial(0, {"x": 0.5})])
    assert view.continues([trial(0, {"x": 0.5}, user_attrs={"numbo:report:1": [0.5]})])  # it was not pruned
    assert not view.continues([trial(**({"number": 0, "params": {"x": 0.5}} | change))])


# -- values ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"value": 2.5}, 2.5),
        ({"value": math.inf}, math.inf),
        ({"state": TrialState.FAIL}, math.nan),
        ({"state": TrialState.FAIL, "intermediate_values": {1: 0.5}}, math.nan),
        ({"state": TrialState.PRUNED}, math.nan),
        ({"state": TrialState.PRUNED, "intermediate_values": {1: 0.5, 7: 0.25, 3: 0.75}}, 0.25),
        ({"state": TrialState.PRUNED, "intermediate_values": {1: 0.5, 7: math.nan}}, 0.5),
        ({"state": TrialState.PRUNED, "intermediate_values": {1: math.nan}}, math.nan),
        ({"state": TrialState.PRUNED, "intermediate_values": {1: -math.inf}}, -math.inf),
    ],
    ids=str,
)
def test_the_value_of_a_trial(given, value):
    ((_, found),) = told(viewed([trial(0, {"x": 0.5, "k": 1}, **given)]))
    assert found == pytest.approx(value, nan_ok=True)


def test_the_values_of_several_objectives():
    reports = {"numbo:report:1": [0.5, 0.25], "numbo:report:2": [math.nan, 0.0]}
    trials = [
        trial(0, {"x": 0.0}, values=[1.0, 2.0]),
        trial(1, {"x": 0.1}, state=TrialState.PRUNED, user_attrs=reports),
        trial(2, {"x": 0.2}, state=TrialState.FAIL, user_attrs=reports),
    ]
    view = viewed(trials, direction=None, directions=["minimize", "maximize"])
    values = view.desk.optimizer.observations[1]
    assert values[:2].tolist() == [[1.0, 2.0], [0.5, 0.25]]
    assert all(map(math.isnan, values[2]))


# -- points ------------------------------------------------------------------------------------------------------------


def published(params, space=SPACE):
    study = optuna.create_study()
    study.ask()
    _records.publish(study, study.trials[0], _records.Identity.of(declared(space)), params, 3)
    return study.trials[0].system_attrs


@pytest.mark.parametrize(
    ("params", "attrs", "point"),
    [
        ({"x": 0.25, "k": 2}, {}, {"x": 0.25, "k": 2}),
        ({"x": 0.25}, published({"x": 0.75, "k": 7}), {"x": 0.25, "k": 7}),  # used values are what was evaluated
        ({"x": 0.25}, {}, {"x": 0.25, "k": 4}),  # what it never asked for had no influence
        ({"x": 0.25}, {"fixed_params": {"k": 7}}, {"x": 0.25, "k": 4}),
    ],
    ids=str,
)
def test_the_point_of_a_finished_trial(params, attrs, point):
    view = viewed([trial(0, params, system_attrs=attrs)])
    ((found, _),) = told(view)
    assert found == point


@pytest.mark.parametrize(
    ("params", "attrs", "point"),
    [
        ({"x": 0.25, "k": 2}, {}, {"x": 0.25, "k": 2}),
        ({"x": 0.25}, published({"x": 0.75, "k": 7}), {"x": 0.25, "k": 7}),
        ({}, published({"x": 0.75, "k": 7}) | {"fixed_params": {"k": 6}}, {"x": 0.75, "k": 6}),  # enqueued
        ({"x": 0.25}, {}, {"x": 0.25, "k": 4}),  # its k may be anything
        ({}, {}, None),
        ({}, published({"x": "torn", "k": 7}), None),
        ({"x": 0.25}, published({"x": 0.25, "k": 77}), {"x": 0.25, "k": 4}),
    ],
    ids=str,
)
def test_the_point_of_a_running_trial(params, attrs, point):
    view = viewed([running(0, params, system_attrs=attrs)])
    assert view.desk.optimizer.pending == ([] if point is None else [point])


@pytest.mark.filterwarnings("ignore:. of . finished trials are not learned")
def test_trials_without_a_searched_parameter_and_out_of_range_are_not_told():
    narrow = {"x": FloatDistribution(0.0, 0.5)}
    trials = [trial(0, {"k": 1}), trial(1, {"x": 0.75}), trial(2, {"x": 0.25}), running(3, {"x": 0.75})]
    view = viewed(trials, narrow)
    assert view.desk.told == [2]
    assert view.desk.optimizer.pending == []


def test_a_branch_that_a_trial_did_not_reach():
    kind = CategoricalDistribution(["a", "b"])
    space = {"kind": kind, "m": (FloatDistribution(0.0, 1.0), {"kind": "b"})}
    study = optuna.create_study()
    for state in (TrialState.PRUNED, TrialState.FAIL):
        study.add_trial(create_trial(params={"kind": "b"}, distributions={"kind": kind}, state=state))
    study.add_trial(create_trial(params={"kind": "a"}, distributions={"kind": kind}, value=1.0))
    view = viewed(study.trials, space)
    assert [point for point, _ in told(view)] == [{"kind": 1, "m": 0.5}] * 2 + [{"kind": 0}]


# -- running trials ----------------------------------------------------------------------------------------------------


def test_all_other_running_trials_are_pending():
    trials = [running(number, {"x": number / 2000, "k": 1}) for number in range(1200)]
    trials.append(trial(1200, {"x": 1.0, "k": 1}, state=TrialState.WAITING))
    view = viewed(trials, current=7)
    assert [point["x"] for point in view.desk.optimizer.pending] == [
        t.params["x"] for t in trials[:1200] if t.number != 7
    ]


def test_trials_that_many_have_overtaken_are_not_waited_for(monkeypatch):
    monkeypatch.setattr(_view, "MAX_OVERTAKEN", 10)
    for overtaking, waited in ((10, 2), (11, 1), (12, 0)):
        trials = [running(number, {"x": 0.1 * number, "k": 1}) for number in (0, 2)]
        trials += [trial(number, {"x": 0.5, "k": 1}) for number in (1, *range(3, 2 + overtaking))]
        trials.sort(key=lambda one: one.number)
        assert len(viewed(trials).desk.optimizer.pending) == waited, overtaking
    trials = [running(number, {"x": 0.1, "k": 1}) for number in range(30)]  # dead ones do not prolong their time
    trials += [trial(number, {"x": 0.5, "k": 1}) for number in range(30, 70)]
    assert len(viewed(trials).desk.optimizer.pending) == 0
    trials += [running(number, {"x": 0.1, "k": 1}) for number in range(70, 80)]
    oldest = 40 - ROUNDS * 10
    assert len(viewed(trials).desk.optimizer.pending) == 10 + 30 - max(oldest, 0)


def test_start_times_may_have_a_time_zone(monkeypatch):
    monkeypatch.setattr(_view, "MAX_OVERTAKEN", 10)
    trials = [running(number, {"x": 0.1, "k": 1}) for number in range(2)]
    trials += [trial(number, {"x": 0.5, "k": 1}) for number in range(2, 14)]
    for number, one in enumerate(trials):
        if number % 2:
            one.datetime_start = one.datetime_start.astimezone(datetime.timezone(datetime.timedelta(hours=7)))
    assert viewed(trials).desk.optimizer.pending == []
    assert len(viewed(trials[:-2]).desk.optimizer.pending) == 2


def test_imported_results_and_older_trials_overtake_nobody(monkeypatch):
    monkeypatch.setattr(_view, "MAX_OVERTAKEN", 10)
    worker = running(0, {"x": 0.1, "k": 1})
    imported = [trial(number, {"x": 0.5, "k": 1}) for number in range(1, 40)]
    for one in imported:
        one.datetime_start = one.datetime_complete
    older = [trial(number, {"x": 0.6, "k": 1}) for number in range(40, 80)]
    for number, one in enumerate(older):
        one.datetime_start = START - datetime.timedelta(seconds=1 + number)
    assert len(viewed([worker, *imported, *older]).desk.optimizer.pending) == 1
    later = [trial(number, {"x": 0.7, "k": 1}) for number in range(80, 91)]
    assert len(viewed([worker, *imported, *older, *later]).desk.optimizer.pending) == 0


def test_a_running_trial_is_pending_where_it_now_is():
    view = viewed([running(0, {"x": 0.25}, system_attrs=published({"x": 0.25, "k": 7}))])
    assert view.desk.optimizer.pending == [{"x": 0.25, "k": 7}]
    viewed([running(0, {"x": 0.25, "k": 2}, system_attrs=published({"x": 0.25, "k": 7}))], view=view)
    assert view.desk.optimizer.pending == [{"x": 0.25, "k": 2}]  # it has used another value
    attrs = published({"x": 0.25, "k": 7})
    viewed([running(0, {"x": 0.25, "k": 2}, system_attrs=attrs, intermediate_values={3: 0.5})], view=view)
    (curve,) = view.desk.optimizer.snapshot().curves()
    assert (curve.kind, curve.steps.tolist(), curve.values.tolist()) == ("running", [3.0], [0.5])
    viewed([trial(0, {"x": 0.25, "k": 2})], view=view)
    assert view.desk.optimizer.pending == []


def synced(trials):
    view = StudyView()
    view.sync(trials)
    return view


def test_before_a_trial_has_finished_the_space_is_that_of_the_others_that_run():
    view = StudyView()
    trials = [running(0, {"x": 0.25}), running(1, {"k": 2})]
    view.sync(trials)
    assert view.known_space(trials, 1).distributions.keys() == {"x"}
    assert view.known_space(trials, -1).distributions.keys() == {"x", "k"}
    assert StudyView().known_space([], 0) == Searched({})
    trials[0] = running(0, {"x": 0.25, "k": 5})  # it has used another parameter
    trials.append(running(2, {}))
    view.sync(trials)
    for current in (2, 1, 0, -1):
        assert view.known_space(trials, current) == synced(trials).known_space(trials, current)
    trials.append(trial(3, {"k": 3}))
    view.sync(trials)
    assert view.known_space(trials, -1) == synced(trials).known_space(trials, -1)
    assert view.known_space(trials, -1).distributions.keys() == {"x", "k"}  # what has ended, and what runs
    assert view.known_space(trials, 0).distributions.keys() == {"k"}


# -- trials at points --------------------------------------------------------------------------------------------------


def test_the_first_successful_trial_at_a_point():
    pruned = {"state": TrialState.PRUNED, "intermediate_values": {1: 0.5}}
    trials = [
        trial(0, {"x": 0.5, "k": 1}, state=TrialState.FAIL),
        trial(1, {"x": 0.5, "k": 1}, **pruned),
        trial(2, {"x": 0.5, "k": 1}),
        trial(3, {"x": 0.5, "k": 1}),
        trial(4, {"x": 0.75, "k": 1}, state=TrialState.FAIL),
        trial(5, {}, value=1.0),
        running(6, {"x": 0.75, "k": 1}),
    ]
    with pytest.warns(UserWarning, match="1 of 6 finished trials are not learned"):
        view = viewed(trials)
    first = FirstTrials(view.desk.optimizer.snapshot(), view.desk.told, trials)
    points = [{"x": 0.5, "k": 1}, {"x": 0.75, "k": 1}, {"x": 0.0, "k": 0}]
    assert first.at(points) == [trials[1], None, None]
    assert first.at(points, complete=True) == [trials[2], None, None]
    assert first.left_out() == [trials[5]]
    assert first.finished() == trials[:6]


def test_what_is_no_study_is_refused():
    study = optuna.create_study()
    assert checked(study) is study
    for wrong in (None, study.sampler):
        with pytest.raises(ValueError, match=r"^study must be an optuna\.Study, got .*\.$"):
            checked(wrong)


def test_trials_of_another_sampler_are_no_copies_if_the_clock_ticks_every_16_ms():
    trials = [trial(number, {"x": number / 8, "k": number}) for number in range(4)]
    with_times = repr(viewed(trials).desk.optimizer.state_dict())
    for one in trials:
        one.datetime_start = START
        one.datetime_complete = START + datetime.timedelta(milliseconds=16)
    assert repr(viewed(trials).desk.optimizer.state_dict()) == with_times
    trials[3] = trial(3, {"x": 0.25, "k": 2}, value=2.0)  # such a copy has the times of the trial, too
    trials[3].datetime_start = START
    trials[3].datetime_complete = trials[2].datetime_complete
    copied = repr(viewed(trials).desk.optimizer.state_dict())
    trials[3].datetime_complete += datetime.timedelta(milliseconds=16)
    assert repr(viewed(trials).desk.optimizer.state_dict()) != copied
