"""What stands out from noise, and what fills the space as long as nothing does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.runs import new_run, tell
from tests.search.searches import CUBE, bowl, everything, global_search, sampled

from numbo import Float, Space
from numbo.kernels.acquisition import mean_variance
from numbo.rules import Filling
from numbo.rules.filling import BEST, STANDS_OUT, stands_out
from numbo.rules.rule import first_of


def noisy(value, space=CUBE, seed=0):
    """A run with repeats that show the noise, and a search whose model is up to date."""
    run, rng = new_run(space), np.random.default_rng(seed)
    points = [space.decode(x) for x in rng.random((60, space.d))]
    for p in points + points[:2]:
        tell(run, p, value(p, rng.normal()))
    search = global_search(run)
    search.update(run, everything(run))
    assert run.noise.found
    return run, search


def test_the_luckiest_value_of_noise_alone_does_not_stand_out_and_a_hill_does():
    run, search = noisy(lambda p, e: e)
    assert not stands_out(run, search.surrogate)
    run, search = noisy(lambda p, e: 30.0 * bowl(p) + e)
    assert stands_out(run, search.surrogate)


def rise_and_noise(run, search):
    """How far the best mean lies above the median over the space, and the deviation of the noise of all members."""
    anywhere = run.space.snap(run.candidates.even(64))
    middle = np.median(mean_variance(search.surrogate.posterior, anywhere)[0])
    return search.surrogate.means.max() - middle, np.sqrt(search.surrogate.gp.covariance.noise_variance)


@pytest.mark.parametrize("height", [0.5, 1.0, 2.0, 4.0, 8.0])
def test_what_stands_out_does_so_by_its_rise_in_units_of_the_noise_of_the_best(height):
    run, search = noisy(lambda p, e: height * bowl(p) + e)
    rise, noise = rise_and_noise(run, search)
    gp = search.surrogate.gp
    best = np.argsort(-gp.fitted_means)[:BEST]
    residual, variance = gp.leave_one_out()
    ratio = min(np.mean(residual[best] ** 2 / variance[best]), 1.0)
    assert stands_out(run, search.surrogate) == (rise >= STANDS_OUT * noise * np.sqrt(ratio))


def test_the_noise_of_the_worst_members_says_nothing_of_that_of_the_best():
    """Where it is in proportion to the value, the optimum would never stand out from the noise of all."""
    run, search = noisy(lambda p, e: -p["x"] * (1.0 + 0.8 * e), Space({"x": Float(0.0, 1.0)}))
    rise, noise = rise_and_noise(run, search)
    assert rise < STANDS_OUT * noise
    assert stands_out(run, search.surrogate)


def test_without_noise_or_a_model_everything_stands_out():
    run = sampled(CUBE, 30)
    search = global_search(run)
    assert stands_out(run, search.surrogate)
    search.update(run, everything(run))
    assert stands_out(run, search.surrogate)


class Last:
    silent_with = ()

    def propose(self, run):
        return "another"


def test_points_fill_the_space_in_three_of_four_turns_but_not_with_fixed_values():
    run, search = noisy(lambda p, e: e)
    rules = (Filling(search.surrogate, 4), Last())
    found = []
    for _ in range(8):
        found.append(first_of(rules, run))
        tell(run, CUBE.decode(run.rng.random(3)), run.rng.normal())
    assert sum(one == "another" for one in found) == 2
    kept = replace(run, fixed=np.array([0.5, np.nan, np.nan]))
    assert first_of(rules, kept) == "another"  # a slice has nothing to do with it
