"""Searchers and schedulers tell how to make them again."""

from __future__ import annotations

import math
import pickle

import pytest
from ray import tune

from numbo import BBKBSettings, BKBSettings, GSSBOSettings, SBPESettings
from numbo.ray import BBKBSearch, BKBSearch, CurveScheduler, GSSBOSearch, SBPESearch, Table

NAMES = {
    one.__name__: one
    for one in (
        BBKBSearch,
        BKBSearch,
        CurveScheduler,
        GSSBOSearch,
        SBPESearch,
        BBKBSettings,
        BKBSettings,
        GSSBOSettings,
        SBPESettings,
    )
}
CALLS = [
    "GSSBOSearch()",
    "BKBSearch()",
    "CurveScheduler()",
    "GSSBOSearch(metric='loss', mode='min', seed=3)",
    "GSSBOSearch(metric=['loss', 'size'], mode=['min', 'max'], seed=0)",
    "GSSBOSearch(n_initial=7, avoid_repeats=False, buffer_size='dynamic')",
    "GSSBOSearch(constraints={'latency': ('<=', 20.0)}, settings=GSSBOSettings(kernel='rbf', trend=False))",
    "GSSBOSearch(points_to_evaluate=[{'x': 0.5, 'net': {'kind': 'a'}}, {'x': 1}])",
    "BBKBSearch(points_to_evaluate=[{'x': 0.5}], evaluated_rewards=[2.0])",
    "BKBSearch(beta='paper', settings=BKBSettings(delta=0.05, qbar=float(\"inf\")))",
    "BBKBSearch(settings=BBKBSettings(lengthscale=(0.2, 0.5), noise_std=0.1, max_dictionary=None))",
    "SBPESearch(horizon=60, n_initial=3)",
    "CurveScheduler(metric='loss', mode='max', time_attr='epoch', probability=0.25, complete=8)",
]


@pytest.mark.parametrize("call", CALLS)
def test_they_can_be_pasted_back(call):
    made = eval(call, NAMES)
    again = eval(repr(made), NAMES)
    assert repr(again) == repr(made)
    assert eval(repr(made), NAMES).__dict__.get("_settings") == made.__dict__.get("_settings")
    if "horizon" not in call:  # arguments come in the order of the signature
        assert repr(made) == call


def test_a_preset_is_said_by_its_settings():
    made = GSSBOSearch(preset="paper", seed=0)
    assert eval(repr(made), NAMES)._settings == made._settings != GSSBOSearch(seed=0)._settings


def test_what_cannot_be_pasted_is_left_open():
    for space in ({"x": tune.uniform(0, 1)}, Table({"x": [0.1, 0.5]})):
        assert repr(BKBSearch(space, "loss", "min")) == "BKBSearch(space=..., metric='loss', mode='min')"
    rewarded = GSSBOSearch(metric="loss", points_to_evaluate=[{"x": object()}], evaluated_rewards=[math.inf])
    assert repr(rewarded) == "GSSBOSearch(metric='loss', points_to_evaluate=..., evaluated_rewards=[float(\"inf\")])"


def test_a_run_changes_only_what_it_decides():
    made = GSSBOSearch(seed=0, points_to_evaluate=[{"x": 0.5}])
    made.set_search_properties("loss", "min", {"x": tune.uniform(0, 1)}, num_samples=5)
    made.suggest("a")
    expected = "GSSBOSearch(metric='loss', mode='min', points_to_evaluate=[{'x': 0.5}], seed=0)"
    assert repr(made) == repr(pickle.loads(pickle.dumps(made))) == expected
