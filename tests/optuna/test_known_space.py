from __future__ import annotations

from numbo.optuna import GSSBOSampler
from numbo.optuna._distributions import KnownSpace
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

import optuna

XY = {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}


def trial(number, **distributions):
    params = {name: distribution.low for name, distribution in distributions.items()}
    found = create_trial(params=params, distributions=distributions, value=0.0)
    found.number = number
    return found


def test_the_space_is_inferred_once_after_each_trial():
    space = KnownSpace()
    space.add([trial(0, **XY)])
    first = space.searched()
    space.add([])
    space.add([create_trial(state=TrialState.COMPLETE, value=1.0)])  # without parameters
    assert space.searched() is first
    space.add([trial(1, **XY, k=IntDistribution(0, 3))])
    assert set(space.searched().distributions) == {"x", "y", "k"}


def test_running_trials_count_anew_where_ranges_follow_from_values():
    space = KnownSpace()
    kind = CategoricalDistribution(["a", "b", "c"])
    for number in range(8):
        one = "ab"[number % 2]
        narrow = FloatDistribution(0, 1 + number % 2)
        distributions = {"kind": kind, "x": narrow}
        found = create_trial(params={"kind": one, "x": 0.5}, distributions=distributions, value=0.0)
        found.number = number
        space.add([found])
    assert len(space.searched().ranges["x"].bounds) == 2
    wide = {"kind": kind, "x": FloatDistribution(0, 9)}
    running = create_trial(params={"kind": "c", "x": 0.5}, distributions=wide, state=TrialState.RUNNING)
    assert len(space.searched([running]).ranges["x"].bounds) == 3
    assert len(space.searched().ranges["x"].bounds) == 2


def test_a_sampler_around_this_one_may_change_the_space_that_it_is_given():
    sampler = GSSBOSampler(seed=0, n_startup_trials=2)
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda t: t.suggest_float("x", 0, 1) + t.suggest_float("y", 0, 1), n_trials=3)
    asked = study.ask()
    running = study.trials[asked.number]
    given = sampler.infer_relative_search_space(study, running)
    del given["x"]
    assert set(sampler.infer_relative_search_space(study, running)) == {"x", "y"}
