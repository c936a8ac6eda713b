"""Optuna's own test classes for third-party samplers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    MultiObjectiveSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)
from optuna.trial import FrozenTrial

from numbo.optuna import BBKBSampler, BKBSampler, GPUCBSampler, GSSBOSampler, SBPESampler


def _constraints(trial: FrozenTrial) -> tuple[float, float]:
    """Half of the trials violate one of two constraints."""
    return (0.5 if trial.number % 2 else -0.5, -1.0)


FACTORIES: dict[str, Callable[[], BaseSampler]] = {
    "GSSBO": lambda: GSSBOSampler(n_startup_trials=0, seed=0, warn_independent_sampling=False),
    "GSSBO-defaults": lambda: GSSBOSampler(warn_independent_sampling=False),
    "GSSBO-constrained": lambda: GSSBOSampler(
        n_startup_trials=0, seed=0, warn_independent_sampling=False, constraints_func=_constraints
    ),
    "BKB": lambda: BKBSampler(n_startup_trials=0, seed=0, warn_independent_sampling=False),
    "BBKB": lambda: BBKBSampler(n_startup_trials=0, seed=0, warn_independent_sampling=False),
    "SBPE": lambda: SBPESampler(n_startup_trials=0, seed=0, warn_independent_sampling=False),
    "GPUCB": lambda: GPUCBSampler(n_startup_trials=0, seed=0, warn_independent_sampling=False),
}


#: Those that take several objectives.
SEVERAL = [name for name in FACTORIES if name.startswith(("GSSBO", "GPUCB"))]


class TestSamplers(BasicSamplerTestCase, RelativeSamplerTestCase):
    @pytest.fixture(params=list(FACTORIES))
    def sampler(self, request: pytest.FixtureRequest) -> Callable[[], BaseSampler]:
        return FACTORIES[request.param]


class TestSamplersOfSeveralObjectives(MultiObjectiveSamplerTestCase):
    @pytest.fixture(params=SEVERAL)
    def sampler(self, request: pytest.FixtureRequest) -> Callable[[], BaseSampler]:
        return FACTORIES[request.param]


class TestSamplersOfOneObjective(SingleOnlySamplerTestCase):
    @pytest.fixture(params=[name for name in FACTORIES if name not in SEVERAL])
    def sampler(self, request: pytest.FixtureRequest) -> Callable[[], BaseSampler]:
        return FACTORIES[request.param]
