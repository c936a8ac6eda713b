"""Under a pruner the best points are measured again, where values are noisy."""

from __future__ import annotations

from collections import Counter

import numpy as np
import optuna
import pytest
from tests.helpers import MOSTLY, over_seeds, seeded

from numbo import GSSBO, Float
from numbo.models.noise import NOISY
from numbo.optuna import GSSBOSampler
from numbo.rules.confirm import REPEATS

SPACE = {"x": Float(0, 1), "y": Float(0, 1), "z": Float(0, 1)}
STEPS = 9


def curve(p, rng, noise):
    """Values that fall to a bowl, with noise that is larger at first."""
    end = sum((v - 0.4) ** 2 for v in p.values())
    steps = np.arange(1, STEPS + 1)
    return end + np.exp(-steps / 3.0) + noise * (1.0 + np.exp(-steps / 3.0)) * rng.normal(size=STEPS)


def pruned(noise, seed, trials=80, *, stop=True, stop_repeats=False):
    """A run in which all but the best third are stopped after three steps, and how often each point was asked for."""
    rng = np.random.default_rng(seeded(seed))
    opt = GSSBO(SPACE, seed=seeded(seed))
    early = []
    asked = Counter()
    for _ in range(trials):
        p = opt.ask()
        asked[tuple(p.values())] += 1
        values = curve(p, rng, noise).tolist()
        early.append(values[2])
        stopped = stop and len(early) > 5 and values[2] > np.quantile(early, 1 / 3)
        stopped |= stop_repeats and asked[tuple(p.values())] > 1
        count = 3 if stopped else STEPS
        opt.tell(p, values[count - 1], partial=stopped, reports=dict(enumerate(values[:count], 1)))
    return opt, asked


@over_seeds()
def test_the_best_points_are_measured_again_and_the_noise_is_known():
    opt, asked = pruned(0.05, 0)
    assert sum(asked.values()) - len(asked) >= 4, MOSTLY
    assert opt._run.noise.found, MOSTLY
    assert 0.02 < opt.explain().noise_std < 0.12, MOSTLY


@over_seeds()
def test_values_without_noise_cost_one_check():
    opt, asked = pruned(0.0, 0)
    assert sum(asked.values()) - len(asked) <= 1
    assert not opt._run.noise.found, MOSTLY


@over_seeds()
def test_without_a_pruner_nothing_is_measured_again_on_its_account():
    _, asked = pruned(0.0, 0, trials=40, stop=False)
    assert max(asked.values()) == 1, MOSTLY


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_repeats_that_were_stopped_hint_at_noise_by_the_last_common_step(noise):
    rng = np.random.default_rng(0)
    opt = GSSBO(SPACE, seed=0)
    for k in range(30):
        p = opt.space.decode(opt.space.snap(rng.random((1, 3)))[0])
        values = curve(p, rng, 0.0).tolist()
        opt.tell(p, values[-1], reports=dict(enumerate(values, 1)))
        if k == 10:
            again = [v + noise for v in values[:2]]
            opt.tell(p, again[-1], partial=True, reports=dict(enumerate(again, 1)))
    known = opt._run.noise
    assert known.share == 0.0
    assert (known.hinted > NOISY) == (noise > 0.0)
    assert known.credible(None) == (noise > 0.0)
    twin = GSSBO.from_state_dict(opt.state_dict())
    assert twin._run.noise.hinted == known.hinted


@pytest.mark.parametrize("stop_repeats", [False, True])
def test_no_point_is_measured_for_ever(stop_repeats):
    """Whatever its repeats end like: a pruner may stop each of them. Others than this rule repeat nothing here."""
    _, asked = pruned(0.05, 3, trials=150, stop_repeats=stop_repeats)
    assert max(asked.values()) <= 1 + REPEATS


@over_seeds(0.6, of=14)
def test_what_is_recommended_is_no_longer_the_luckiest():
    """Of programs whose noise is as large as what is left to gain."""
    rng = np.random.default_rng(seeded(0))

    def program(trial):
        p = {name: trial.suggest_float(name, 0, 1) for name in "xyz"}
        values = curve(p, rng, 0.08)
        for step, value in enumerate(values, 1):
            trial.report(value, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return float(values[-1])

    study = optuna.create_study(sampler=GSSBOSampler(seed=seeded(0)), pruner=optuna.pruners.MedianPruner())
    study.optimize(program, n_trials=80)

    def true(p):
        return sum((v - 0.4) ** 2 for v in p.values())

    assert true(study.sampler.best_predicted()[0]) <= true(study.best_params), MOSTLY
