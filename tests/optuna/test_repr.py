"""Samplers tell how to make them again."""

from __future__ import annotations

import copy

import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import RandomSampler

import numbo
import numbo.optuna
from numbo.optuna import GPUCBSampler, GSSBOSampler

NAMES = {name: getattr(module, name) for module in (numbo, numbo.optuna) for name in module.__all__}
NAMES |= {one.__name__: one for one in (CategoricalDistribution, FloatDistribution, IntDistribution)}
CALLS = [
    "GSSBOSampler(seed=3)",
    "BKBSampler(seed=0, beta='paper')",
    "GSSBOSampler(seed=0, n_startup_trials=7, warn_independent_sampling=False, avoid_repeats=False)",
    "GSSBOSampler(seed=0, buffer_size=64, settings=GSSBOSettings(kernel='rbf', trend=False))",
    "GPUCBSampler(seed=0, beta=1.5, settings=GPUCBSettings(n_initial=4))",
    "BBKBSampler(seed=0, settings=BBKBSettings(lengthscale=(0.2, 0.5), noise_std=0.1))",
    "SBPESampler(seed=0, horizon=60)",
    "GSSBOSampler(seed=0, search_space={'act': CategoricalDistribution(choices=('relu', None)), "
    "'m': (FloatDistribution(high=1.0, log=False, low=0.0, step=None), {'act': 'relu'})})",
]


@pytest.mark.parametrize("call", CALLS)
def test_they_can_be_pasted_back(call):
    made = eval(call, NAMES)
    assert repr(made) == call
    again = eval(repr(made), NAMES)
    assert repr(again) == repr(copy.deepcopy(made)) == call
    assert again._settings == made._settings


def test_a_drawn_seed_is_told_and_what_cannot_be_pasted_is_left_open():
    made = GSSBOSampler(independent_sampler=RandomSampler(), constraints_func=lambda trial: (0.0,))
    assert repr(made) == f"GSSBOSampler(seed={made._seed}, independent_sampler=..., constraints_func=...)"


def test_a_preset_is_said_by_its_settings():
    made = GSSBOSampler(preset="paper", seed=0)
    assert eval(repr(made), NAMES)._settings == made._settings != GSSBOSampler(seed=0)._settings
    assert repr(GPUCBSampler(seed=1)) == "GPUCBSampler(seed=1)"
