"""What numbo writes to the storage beside Optuna's own records, and reads whatever others have written there."""

from __future__ import annotations

import json
import math

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import create_trial
from tests.optuna.inside import storage_of

from numbo.optimizers import GLOBAL
from numbo.optuna import GSSBOSampler
from numbo.optuna._distributions import Searched
from numbo.optuna._records import (
    BEGUN,
    KEY,
    PIECE,
    TABLE,
    Identity,
    asked_for,
    constraints_of,
    directions_of,
    is_the_table,
    last_report,
    pieces,
    publish,
    read,
    reported,
)
from numbo.spaces import Table

SPACE = {
    "x": FloatDistribution(-3.0, 3.0),
    "k": IntDistribution(1, 8),
    "act": CategoricalDistribution(("relu", None, 3)),
}
SEARCHED = Identity.of(Searched(SPACE))
PARAMS = {"x": 0.5, "k": 3, "act": 1}


def test_directions_are_in_the_words_of_the_core():
    assert directions_of(optuna.create_study()) == ("minimize",)
    assert directions_of(optuna.create_study(directions=["maximize", "minimize"])) == ("maximize", "minimize")


# -- published parameters ----------------------------------------------------------------------------------------------


def test_long_parameters_are_published_in_short_pieces():
    space = {f"parameter_with_a_rather_long_name_{i}": FloatDistribution(0, 1) for i in range(150)}
    study = optuna.create_study(sampler=GSSBOSampler(seed=0, search_space=space))
    trial = study.ask(space)
    attrs = study.trials[0].system_attrs
    assert len(attrs) > 2
    assert max(len(v) for v in attrs.values()) <= PIECE
    identity = Identity.of(Searched(space))
    assert read(study.trials[0], identity) == (trial.params, -1, 0)
    last = max(attrs)
    del attrs[last]
    torn = study.trials[0]
    torn.system_attrs = attrs
    assert read(torn, identity) == ({}, -1, None)


def test_what_was_published_for_another_space_holds_as_far_as_both_have_it():
    study = optuna.create_study()
    study.ask()
    params = {"x": 0.5, "k": 3, "act": 1}
    publish(study, study.trials[0], SEARCHED, params, 7)
    trial = study.trials[0]
    assert read(trial, SEARCHED) == (params, 7, 0)
    other = SPACE | {"new": FloatDistribution(0, 1), "act": CategoricalDistribution(["tanh", None])}
    del other["k"]
    assert read(trial, Identity.of(Searched(other))) == ({"x": 0.5}, -1, 0)


def test_a_shorter_record_in_the_place_of_a_longer_one():
    study = optuna.create_study()
    study.ask()
    for count in (400, 3):
        params = {f"parameter {i}": 0.5 for i in range(count)}
        identity = Identity(7, frozenset(params), {})
        publish(study, study.trials[0], identity, params, 1)
        assert read(study.trials[0], identity) == (params, 1, 0)


@pytest.mark.parametrize("storage", ["memory", "sqlite"])
def test_what_is_published_is_read_in_any_storage(storage, tmp_path):
    url = None if storage == "memory" else f"sqlite:///{tmp_path}/study.db"
    study = optuna.create_study(storage=url)
    study.ask()
    assert read(study.trials[0], SEARCHED) == ({}, GLOBAL, None)
    assert pieces(study.trials[0]) == []
    publish(study, study.trials[0], SEARCHED, PARAMS | {"x": -1.2345678901234567e-300}, 7)
    assert read(study.trials[0], SEARCHED) == (PARAMS | {"x": -1.2345678901234567e-300}, 7, 0)
    assert len(pieces(study.trials[0])) == 1


def test_choices_that_have_changed_are_other_values():
    record = create_trial(value=0.0, system_attrs=published(PARAMS))
    more = Identity.of(Searched(SPACE | {"act": CategoricalDistribution(("relu", None, 3, "tanh"))}))
    assert read(record, more) == ({"x": 0.5, "k": 3}, GLOBAL, 4)
    wide = Identity.of(Searched(SPACE | {"x": FloatDistribution(-9.0, 9.0)}))
    assert read(record, wide) == (PARAMS, GLOBAL, 4)  # another space, of whose regions this one is none


def published(params, **changes):
    """The attributes of a trial for which ``params`` were published, in `SPACE` and by region 7, for trial 4."""
    record = {"space": SEARCHED.space, "origin": 7, "trial": 4, "params": params, "choices": SEARCHED.choices}
    return {f"{KEY}:0": json.dumps(record | changes)}


TORN = [
    {},
    {f"{KEY}:0": ""},
    {f"{KEY}:0": "[]"},
    {f"{KEY}:0": "7"},
    {f"{KEY}:0": '{"origin":0,"par'},
    {f"{KEY}:0": 7},
    {f"{KEY}:0": ["text"]},
    {f"{KEY}:1": published(PARAMS)[f"{KEY}:0"]},
    published([1]),
    published(PARAMS, choices=None),
    published(PARAMS, origin="7"),
    published(PARAMS, origin=True),
    published(PARAMS, origin=None),
]


@pytest.mark.parametrize("attrs", TORN, ids=str)
def test_torn_and_foreign_records_hold_nothing(attrs):
    assert read(create_trial(value=0.0, system_attrs=published(PARAMS)), SEARCHED) == (PARAMS, 7, 4)
    assert read(create_trial(value=0.0, system_attrs=attrs), SEARCHED) == ({}, GLOBAL, None)


@pytest.mark.parametrize("number", [None, "4", True, 0.5])
def test_a_record_need_not_say_for_which_trial_it_was_published(number):
    record = create_trial(value=0.0, system_attrs=published(PARAMS, trial=number))
    assert read(record, SEARCHED) == (PARAMS, 7, None)


@pytest.mark.parametrize(
    ("attrs", "asked"),
    [
        ({}, None),
        (published(PARAMS), True),
        (published(PARAMS, trial=3), False),
        (published(PARAMS, trial=None), None),
        ({BEGUN: 4}, True),
        ({BEGUN: 3}, False),
        ({BEGUN: "4"}, None),
        (published(PARAMS, trial=3) | {BEGUN: 4}, True),  # the same trial, begun again
        (published(PARAMS) | {BEGUN: 3}, True),
    ],
    ids=str,
)
def test_a_record_says_whether_its_trial_was_run_or_copied(attrs, asked):
    trial = create_trial(value=0.0, system_attrs=attrs)
    trial.number = 4
    assert asked_for(trial, read(trial, SEARCHED)) is asked


# -- constraints -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attrs", "found"),
    [
        ({}, {}),
        ({"constraints": None}, {}),
        ({"constraints": "torn"}, {}),
        ({"constraints": {"a": 1.0}}, {}),
        ({"constraints": []}, {}),
        ({"constraints": (0.5, -1.0)}, {"0": 0.5, "1": -1.0}),
        ({"constraints:time": 2.0, "constraints:": 3.0, "constraint:x": 4.0}, {"time": 2.0, "": 3.0}),
        ({"constraints": [0.5], "constraints:time": 2.0}, {"0": 0.5, "time": 2.0}),
        ({"constraints": [0.5], "constraints:0": 2.0}, {"0": 2.0}),
    ],
    ids=str,
)
def test_constraints_by_number_and_by_name(attrs, found):
    trial = create_trial(value=0.0)
    trial.system_attrs = attrs
    assert constraints_of(trial) == found


# -- reports of several objectives -------------------------------------------------------------------------------------


def test_a_report_is_usable_if_it_is_as_many_numbers_as_objectives():
    assert reported([0.5, -math.inf], 2) == [0.5, -math.inf]
    assert reported((0.5, 1.5), 2) == [0.5, 1.5]
    for torn in (
        [0.5],
        [0.5, 1.5, 2.5],
        [0.5, 1],
        [0.5, True],
        [0.5, math.nan],
        [0.5, "1"],
        {0: 0.5, 1: 1.5},
        "ab",
        None,
    ):
        assert reported(torn, 2) is None


def test_the_last_usable_report_up_to_a_step_counts():
    attrs = {"numbo:report:3": [3.0, 0.0], "numbo:report:10": [10.0, 0.0], "numbo:report:20": ["torn"]}
    strangers = {"numbo:report:x": [0.0, 0.0], "numbo:report:-1": [0.0, 0.0], "numbo:report:²": [0.0, 0.0]}
    trial = create_trial(value=0.0, user_attrs=attrs | strangers)
    assert last_report(trial, 2) == (10, [10.0, 0.0])
    assert last_report(trial, 2, 10) == (10, [10.0, 0.0])
    assert last_report(trial, 2, 9) == (3, [3.0, 0.0])
    assert last_report(trial, 2, 20) == (10, [10.0, 0.0])
    assert last_report(trial, 2, 2) is None
    assert last_report(trial, 3) is None


# -- tables ------------------------------------------------------------------------------------------------------------


def test_a_table_may_grow_but_its_first_rows_stay():
    x = np.linspace(0.0, 1.0, 6)
    study = optuna.create_study()
    assert is_the_table(study, Table({"x": x[:4]}))
    assert is_the_table(study, Table({"x": x[:4]}))
    assert not is_the_table(study, Table({"x": x[1:]}))
    assert is_the_table(study, Table({"x": x}))  # it has grown
    assert not is_the_table(study, Table({"x": [*x[:5], 0.5]}))  # and is known with its new rows
    assert is_the_table(study, Table({"x": x[3:]}))  # one that has lost rows is not compared
    assert is_the_table(study, Table({"x": x}))
    storage, number = storage_of(study)
    assert storage.get_study_system_attrs(number)[TABLE]["rows"] == 6
