"""The race of S-BPE: who is in it, who drops out, and who comes next."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests import naive
from tests.helpers import make_points

from numbo import Arms, Float, Int, Space
from numbo.kernels.covariance import RBF, stationary
from numbo.models import SparseGP
from numbo.models.dictionaries import DictionaryRule
from numbo.models.feedback import FeedbackModel
from numbo.models.learned_kernel import LearnedKernel
from numbo.optimizers.parts import race
from numbo.optimizers.parts.race import ArmRace, BoxRace, Filter, lambda_max, race_of
from numbo.run.situation import Situation
from numbo.search.arm_search import ArmSearch
from numbo.search.box_search import BoxSearch
from numbo.trials import Goal

NOISE = 0.1
TAU2 = NOISE**2
LENGTHSCALE = 0.3
SPACE = Space({"x": Float(0, 1), "y": Float(0, 1)})


def covariance(d=2):
    return stationary(RBF, np.full(d, LENGTHSCALE**-2.0), 1.0, TAU2, np.zeros(d, dtype=bool))


def value(X):
    return np.exp(-8 * ((X - [0.3, 0.6]) ** 2).sum(axis=1))


def verdict_of(X, beta):
    gp = SparseGP(covariance(), X)
    gp.condition(X)
    gp.set_values(value(X))
    return Filter(gp.posterior, beta, 0.0, 0.0)


class Loop:
    """A domain with some observations, a model of them, and the race."""

    def __init__(self, domain, avoid_repeats=False):
        self.begun = Situation.begun(domain, Goal(("maximize",)), avoid_repeats, False, np.random.default_rng(0))
        grid = self.begun.grid
        self.chooser = BoxSearch(self.begun.named_space) if grid is None else ArmSearch(domain, grid)
        self.race = race_of(domain, self.chooser)
        kernel = LearnedKernel(
            np.zeros(2, dtype=bool), "rbf", np.array(LENGTHSCALE), NOISE, trend=False, winsorize=True
        )
        self.model = FeedbackModel(
            2,
            kernel,
            DictionaryRule(math.inf, None, "bless", 0.1),
            resparsify=0.0,
            one_by_one=grid is not None,
            by_variance=True,
            on_schedule=False,
        )
        self.X = domain.snap(make_points(30, 2, seed=4)) if grid is None else grid[:30]
        for x, y in zip(self.X, value(self.X), strict=True):
            self.run.history.add(x, float(y), {}, -1)
        self.chooser.follow(self.run, self.model, 1.0, self.model.redraw(self.run.history, self.run.rng))

    @property
    def run(self):
        return replace(self.begun, race=self.race.left)


def arms():
    return Loop(Arms(make_points(200, 2, seed=2)))


def box():
    return Loop(SPACE)


def test_the_race_is_that_of_the_domain():
    assert isinstance(arms().race, ArmRace)
    assert isinstance(box().race, BoxRace)


@pytest.mark.parametrize("make", [arms, box])
def test_all_points_are_in_the_race_at_first_and_again_after_a_new_start(make):
    loop = make()
    X = loop.run.grid if loop.run.grid is not None else make_points(500, 2, seed=1)
    assert loop.race.contains(X).all()
    loop.race.eliminate(loop.run, verdict_of(loop.X, 1.0), loop.model, loop.X)
    assert not loop.race.contains(X).all()
    loop.race.start_again()
    assert loop.race.contains(X).all()


def test_arms_drop_out_by_the_bounds_of_those_that_are_left():
    loop = arms()
    grid = loop.run.grid
    racing = np.ones(len(grid), dtype=bool)
    for some, beta in ((slice(0, 30), 2.0), (slice(10, 20), 1.0), (slice(0, 30), 0.2)):
        verdict = verdict_of(loop.X[some], beta)
        loop.race.eliminate(loop.run, verdict, loop.model, loop.X[some])
        lower, upper = verdict.bounds(grid)
        racing &= upper >= lower[racing].max()
        np.testing.assert_array_equal(loop.race.contains(grid), racing)
        np.testing.assert_array_equal(loop.run.available.race, racing)
    assert 0 < racing.sum() < 200


def test_points_of_a_box_are_judged_by_all_batches():
    """Whoever is in the race reaches the best lower bound of all verdicts, and nobody else is."""
    loop = box()
    X = make_points(2000, 2, seed=1)
    for some, beta in ((slice(0, 30), 2.0), (slice(10, 20), 1.0), (slice(0, 30), 0.2)):
        before = loop.race.contains(X)
        verdict = verdict_of(loop.X[some], beta)
        loop.race.eliminate(loop.run, verdict, loop.model, loop.X[some])
        upper = verdict.bounds(X)[1]
        np.testing.assert_array_equal(loop.race.contains(X), before & (upper >= verdict.best_lower))
        observed = loop.X[some]
        still = loop.race.contains(observed) | ~before.any()
        assert verdict.best_lower >= verdict.bounds(observed[still])[0].max(initial=-math.inf)
        assert verdict.best_lower <= verdict.bounds(make_points(20_000, 2, seed=7))[0].max() + 1e-3
    assert len(loop.race.filters) == 3
    assert 0 < loop.race.contains(X).sum() < 500


@pytest.mark.parametrize("make", [arms, box])
def test_the_first_point_is_in_the_race_and_free(make):
    loop = make()
    loop.race.eliminate(loop.run, verdict_of(loop.X, 1.0), loop.model, loop.X)
    points = [loop.race.first_point(loop.run, loop.model) for _ in range(5)]
    assert loop.race.contains(np.array(points)).all()
    loop.run.history.exclude(points[0])
    assert (loop.race.first_point(loop.run, loop.model) != points[0]).any()


@pytest.mark.parametrize("make", [arms, box])
def test_the_next_point_is_the_most_uncertain_one_of_the_race(make):
    loop = make()
    loop.race.eliminate(loop.run, verdict_of(loop.X, 1.0), loop.model, loop.X)
    loop.chooser.start(loop.run, loop.model, 1.0)
    everywhere = loop.run.grid if loop.run.grid is not None else make_points(4000, 2, seed=1)
    inside = everywhere[loop.race.contains(everywhere)]
    nearly = 1.0 - 1e-6 if make is arms else 0.9  # ascents that leave the race find nothing there
    for k in range(4):
        x = loop.race.next_point(loop.run, loop.model)
        assert loop.race.contains(x[None])[0]
        pulled = loop.model.pulls.X[loop.model.batch.pulls]
        among = np.concatenate([x[None], inside])
        if make is arms:  # one by one, as an update of V
            gp = loop.model.base.gp.copy()
            for one in pulled:
                gp.add(one)
            truth = gp.mean_variance(among)[1]
        else:  # jointly and exactly
            seen = np.concatenate([loop.X, pulled])
            truth = naive.posterior(covariance(), seen, np.zeros(len(seen)), among)[1]
        assert truth[0] >= nearly * truth.max()
        loop.run.hold(k, loop.run.space.decode(x), -1)
        loop.chooser.follow(loop.run, loop.model, 1.0, loop.model.sync(loop.run.history))


def test_a_race_too_small_to_be_hit_is_searched_from_the_points_in_it():
    loop = box()
    best = int(np.argmax(value(loop.X)))
    far = 1e-4

    class Small:
        def passes(self, X):
            return np.abs(X - loop.X[best]).max(axis=1) < far

    loop.race.filters.append(Small())
    x = loop.race.first_point(loop.run, loop.model)
    assert np.abs(x - loop.X[best]).max() < far
    x = loop.race.next_point(loop.run, loop.model)
    assert np.abs(x - loop.X[best]).max() < far


def test_taken_points_of_the_race_come_again_if_there_are_no_others():
    loop = Loop(Space({"i": Int(0, 300), "j": Int(0, 300)}), avoid_repeats=True)
    left = loop.X[[3, 8]]

    class Two:
        def passes(self, X):
            return (X[:, None] == left).all(axis=2).any(axis=1)

    loop.race.filters.append(Two())
    assert loop.run.available.taken(left[0])
    assert loop.race.contains(loop.race.next_point(loop.run, loop.model)[None])[0]
    assert loop.race.first_point(loop.run, loop.model) is None


@pytest.mark.parametrize("make", [arms, box])
def test_a_restored_race_goes_on_as_the_original(make):
    loop = make()
    loop.race.eliminate(loop.run, verdict_of(loop.X, 1.0), loop.model, loop.X)
    loop.race.next_point(loop.run, loop.model)
    other = make()
    other.race.restore(loop.race.state_dict())
    X = loop.run.grid if loop.run.grid is not None else make_points(500, 2, seed=1)
    np.testing.assert_array_equal(loop.race.contains(X), other.race.contains(X))
    for one in (loop, other):
        one.chooser.fork(np.random.default_rng(1))
        one.chooser.start(one.run, one.model, 1.0)
    np.testing.assert_array_equal(
        loop.race.next_point(loop.run, loop.model), other.race.next_point(other.run, other.model)
    )
    other.race.eliminate(other.run, verdict_of(loop.X, 0.1), other.model, loop.X)  # the original is not touched
    assert loop.race.contains(X).sum() > other.race.contains(X).sum()


def test_lambda_max_is_the_top_eigenvalue():
    X, cov = make_points(30, 2), covariance()
    gp = SparseGP(cov, X[:6])
    counts = np.random.default_rng(0).integers(1, 4, 20).astype(float)
    gp.condition(X[:20], counts)
    index = np.repeat(np.arange(20), counts.astype(int))
    K, C = naive.gram(cov, X[index]), naive.gram(cov, X[index], X[:6])
    residual = K - C @ np.linalg.solve(naive.gram(cov, X[:6]), C.T)
    assert lambda_max(gp) == pytest.approx(np.linalg.eigvalsh(residual)[-1], rel=1e-5)
    gp.condition(X[:6])
    assert lambda_max(gp) == pytest.approx(0.0, abs=1e-9)


def test_lambda_max_of_many_points_is_the_top_eigenvalue_too(monkeypatch):
    """The dictionary is far too small, so that RLS's promise of at most lambda would be far off."""
    X, cov = make_points(300, 2), covariance()
    gp = SparseGP(cov, X[:4])
    gp.condition(X, np.random.default_rng(0).integers(1, 4, 300).astype(float))
    full = lambda_max(gp)
    assert full > 100 * TAU2
    monkeypatch.setattr(race, "FULL_MATRIX", 100)
    monkeypatch.setattr(race, "JUDGED_AT_ONCE", 64)
    found = lambda_max(gp)
    assert full * (1 - 1e-9) <= found <= 1.002 * full
    gp = SparseGP(cov, X)
    gp.condition(X)
    assert lambda_max(gp) == pytest.approx(0.0, abs=1e-8)
