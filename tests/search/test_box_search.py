"""The search of a large space with a sparse posterior."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.helpers import make_points

from numbo import Float, Int, Space
from numbo.kernels.acquisition import mean_variance
from numbo.models.dictionaries import DictionaryRule
from numbo.models.feedback import FeedbackModel
from numbo.models.learned_kernel import LearnedKernel
from numbo.run.situation import Situation
from numbo.search.box_search import BoxSearch
from numbo.trials import Goal, History

SMOOTH = Space({"x": Float(0, 1), "y": Float(0, 1)})
MIXED = Space({"x": Float(0, 1), "k": Int(0, 60_000)})


def value(x):
    return float(np.sin(5 * x[0]) + x[1] * (1.0 - x[1]))


class Loop:
    """A space, a model, and the search."""

    def __init__(self, space=SMOOTH, seed=0, avoid_repeats=True):
        self.run = Situation.begun(space, Goal(("maximize",)), avoid_repeats, True, np.random.default_rng(seed))
        assert self.run.grid is None
        kernel = LearnedKernel(np.zeros(2, dtype=bool), "rbf", np.array(0.4), 0.1, trend=False, winsorize=False)
        self.model = FeedbackModel(2, kernel, DictionaryRule(2.0, None, "bless", 0.1), resparsify=0.1, one_by_one=False)
        self.search = BoxSearch(space)
        self.tell(*space.snap(make_points(20, 2, seed=seed)))
        self.model.redraw(self.run.history, self.run.rng)

    def tell(self, *points):
        for x in points:
            self.run.history.add(x, value(x), {}, -1)

    def hold(self, x):
        self.run.hold(self.run.step, self.run.space.decode(x), -1)
        self.model.sync(self.run.history)

    def bound(self, X, width):
        mean, variance = mean_variance(self.model.given_batch()[0], np.ascontiguousarray(X))
        return mean + width * np.sqrt(variance)


@pytest.mark.parametrize("space", [SMOOTH, MIXED])
@pytest.mark.parametrize("width", [0.0, 2.0])
def test_the_next_point_has_the_largest_bound_given_the_batch(space, width):
    loop = Loop(space)
    anywhere = space.snap(make_points(3000, 2, seed=9))
    for _ in range(4):
        x = loop.search.next_point(loop.run, loop.model, width)
        np.testing.assert_array_equal(space.snap(x[None])[0], x)
        assert not loop.run.available.taken(x)
        assert loop.bound(x[None], width)[0] >= loop.bound(anywhere, width).max() - 1e-3
        loop.hold(x)


def test_the_search_draws_from_its_own_stream_alone():
    """Two searches of the same model from the same stream find the same point, whatever else is drawn."""
    points = []
    for draws in (0, 7):
        loop = Loop()
        loop.run.rng.random(draws)
        loop.search.fork(np.random.default_rng(3))
        points.append(loop.search.next_point(loop.run, loop.model, 2.0))
    np.testing.assert_array_equal(*points)


def test_points_that_are_out_are_not_proposed():
    loop = Loop()
    groups = [SMOOTH.snap(make_points(200, 2, seed=3))]
    posterior, _ = loop.model.given_batch()

    def out(x):
        return bool(x[0] > 0.2)

    x = loop.search.maximize(loop.run, loop.model, posterior, 2.0, groups, out)
    assert not out(x)
    assert loop.search.maximize(loop.run, loop.model, posterior, 2.0, groups, lambda x: True) is None


def test_coordinates_that_are_fixed_stay():
    loop = Loop()
    kept = replace(loop.run, fixed=np.array([0.25, np.nan]))
    x = loop.search.next_point(kept, loop.model, 2.0)
    assert x[0] == 0.25
    line = np.column_stack([np.full(500, 0.25), np.linspace(0, 1, 500)])
    assert loop.bound(x[None], 2.0)[0] >= loop.bound(line, 2.0).max() - 1e-4


def test_by_variance_alone_values_do_not_matter():
    """Neither the mean nor what failures count as."""
    points = []
    for scale in (1.0, -50.0):
        loop = Loop()
        loop.run = replace(loop.run, history=History(2))
        for i, x in enumerate(make_points(20, 2)):
            loop.run.history.add(x, np.nan if i % 5 == 4 else scale * value(x), {}, -1)
        loop.model.forget(0)
        loop.model.redraw(loop.run.history, np.random.default_rng(0))
        posterior, _ = loop.model.given_batch()
        loop.search.fork(np.random.default_rng(3))
        without_mean = posterior._replace(alpha=np.zeros(posterior.n))
        points.append(
            loop.search.maximize(loop.run, loop.model, without_mean, 1.0, [make_points(300, 2)], lambda x: False)
        )
    np.testing.assert_array_equal(*points)


def test_elites_are_the_best_observed_points():
    loop = Loop()
    history = loop.run.history
    elites = loop.search.elites(loop.run)
    best = history.X[np.argsort(-history.values())[: len(elites)]]
    np.testing.assert_array_equal(elites, best)
