"""The search over arms follows a model: what it chooses is the literal argmax, whatever has happened."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import naive
from tests.helpers import compiled_only, make_points

from numbo import Arms
from numbo.models.dictionaries import DictionaryRule
from numbo.models.feedback import FeedbackModel, NewBatch, Pulled
from numbo.models.learned_kernel import LearnedKernel
from numbo.run.situation import Situation
from numbo.search.arm_search import ArmSearch
from numbo.trials import Goal

NOISE = 0.1
WIDTH = 1.5


class Loop:
    """Arms, a model, and the search that follows it."""

    def __init__(self, *, one_by_one=True, by_variance=False, avoid_repeats=False, A=80):
        self.run = Situation.begun(
            Arms(make_points(A, 2)), Goal(("maximize",)), avoid_repeats, False, np.random.default_rng(0)
        )
        self.grid = self.run.grid
        kernel = LearnedKernel(np.zeros(2, dtype=bool), "rbf", np.array(0.4), NOISE, trend=False, winsorize=False)
        self.model = FeedbackModel(
            2,
            kernel,
            DictionaryRule(2.0, None, "bless", 0.1),
            resparsify=0.0 if one_by_one else 0.3,
            one_by_one=one_by_one,
            by_variance=by_variance,
        )
        self.chooser = ArmSearch(self.run.space, self.grid)
        self.tell(*range(0, A, 8))

    def tell(self, *arms):
        for arm in arms:
            self.run.history.pending.pop(arm, None)
            x = self.grid[arm]
            self.run.history.add(x, float(np.sin(5 * x[0]) + x[1]), arm, -1)

    def hold(self, *arms):
        for arm in arms:
            self.run.hold(arm, arm, -1)

    def sync(self):
        change = self.model.hallucinate(self.run.history, self.run.rng)
        self.chooser.follow(self.run, self.model, WIDTH, change)
        return change

    def take_in(self):
        self.chooser.follow(self.run, self.model, WIDTH, self.model.take_in(self.run.history, self.run.rng))

    def moments(self):
        """Mean and variance at all arms: the mean of the last feedback, and the variance given the batch as well."""
        base = self.model.base
        mean, variance = base.gp.mean_variance(self.grid)
        pulled = self.model.pulls.X[self.model.batch.pulls]
        if self.model.one_by_one:
            gp = base.gp.copy()
            for x in pulled:
                gp.add(x)
            return mean, NOISE**2 * gp.mean_variance(self.grid)[1]
        if len(pulled) == 0:
            return mean, NOISE**2 * variance
        cov = self.model.kernel.covariance
        cross = NOISE**2 * base.gp.cross(self.grid, pulled)
        between = NOISE**2 * base.gp.cross(pulled, pulled) + cov.noise_variance * np.eye(len(pulled))
        explained = np.einsum("ij,ji->i", cross, np.linalg.solve(between, cross.T))
        return mean, NOISE**2 * variance - explained

    def bound(self, width=WIDTH):
        mean, variance = self.moments()
        sd = np.sqrt(np.maximum(variance, 0.0))
        return sd if self.model.by_variance else mean + width * sd

    def chosen(self, chooser=None, width=WIDTH):
        x = (chooser or self.chooser).next_point(self.run, self.model, width)
        return -1 if x is None else int(np.flatnonzero((x == self.grid).all(axis=1))[0])


def near_best(bound, arm):
    return bound[arm] >= bound.max() - 1e-6


@compiled_only
@settings(max_examples=30, deadline=None)
@given(
    one_by_one=st.booleans(),
    by_variance=st.booleans(),
    actions=st.lists(
        st.tuples(st.sampled_from(["hold", "hold", "tell", "release", "take in"]), st.integers(0, 79)), max_size=15
    ),
)
def test_the_choice_is_the_literal_argmax_and_that_of_a_search_that_sees_the_model_at_once(
    one_by_one, by_variance, actions
):
    loop = Loop(one_by_one=one_by_one, by_variance=by_variance)
    loop.sync()
    for action, arm in actions:
        pending = loop.run.history.pending
        if action == "hold":
            loop.hold(arm)
        elif action == "tell":
            loop.tell(arm)
        elif action == "release" and pending:
            del pending[next(iter(pending))]
        loop.sync()
        if action == "take in":
            loop.take_in()
        assert near_best(loop.bound(), loop.chosen())
    late = ArmSearch(loop.run.space, loop.grid)
    restored = copy.deepcopy(loop.model)
    restored.restore(loop.model.state_dict(), loop.run.history)
    late.follow(loop.run, loop.model, WIDTH, restored.begin_again())
    assert loop.chosen(late) == loop.chosen()


@pytest.mark.parametrize("one_by_one", [True, False])
def test_nothing_changes_if_nothing_was_pulled(one_by_one):
    loop = Loop(one_by_one=one_by_one)
    loop.sync()
    loop.hold(5, 6)
    loop.sync()
    before = loop.chosen()
    assert loop.sync() == Pulled()
    assert loop.chosen() == before


@pytest.mark.parametrize("one_by_one", [True, False])
def test_a_point_that_is_released_may_be_chosen_as_if_it_had_not_been_pulled(one_by_one):
    loop = Loop(one_by_one=one_by_one)
    loop.sync()
    first = loop.chosen()
    loop.hold(first)
    for _ in range(3):
        loop.sync()
        loop.hold(loop.chosen())
    loop.sync()
    assert loop.chosen() != first
    loop.run.history.pending.clear()
    assert isinstance(loop.sync(), NewBatch)
    assert loop.chosen() == first


@pytest.mark.parametrize("one_by_one", [True, False])
def test_arms_are_not_repeated_where_that_is_avoided(one_by_one):
    loop = Loop(one_by_one=one_by_one, avoid_repeats=True, A=16)
    loop.sync()
    seen = {0, 8}
    for k in range(14):
        arm = loop.chosen()
        assert arm not in seen
        seen.add(arm)
        loop.hold(arm)
        loop.sync()
        if k % 4 == 1:
            loop.tell(arm)
            loop.take_in()
    assert loop.chosen() == -1


def test_a_width_counts_from_the_feedback_on():
    """With a large one the most uncertain arm is chosen, with 0 the best one by the mean."""
    loop = Loop()
    for width, best in ((0.0, lambda: loop.moments()[0]), (1e6, lambda: loop.moments()[1])):
        loop.chooser.follow(loop.run, loop.model, width, loop.model.redraw(loop.run.history, loop.run.rng))
        assert loop.chosen(width=width) == int(np.argmax(best()))
    loop.chooser.start(loop.run, loop.model, 0.0)
    assert loop.chosen(width=0.0) == int(np.argmax(loop.moments()[0]))


def test_the_largest_variance_is_that_of_the_arms_that_may_be_suggested():
    loop = Loop(by_variance=True, avoid_repeats=True)
    loop.sync()
    free = np.ones(80, dtype=bool)
    free[::8] = False
    assert loop.chooser.largest_variance(loop.run, loop.model, WIDTH) == pytest.approx(
        loop.moments()[1][free].max(), rel=1e-6
    )
    loop.hold(*np.flatnonzero(free))
    loop.sync()
    assert loop.chooser.largest_variance(loop.run, loop.model, WIDTH) == math.inf


def ratios(loop):
    """Lemma 3 at all arms."""
    base = loop.model.base
    pulled = loop.model.pulls.X[loop.model.batch.pulls]
    return (base.gp.cross(loop.grid, pulled) ** 2).sum(axis=1) / base.gp.mean_variance(loop.grid)[1]


def test_the_largest_ratio_is_exact_where_it_exceeds_the_threshold_and_a_bound_elsewhere():
    loop = Loop()
    loop.sync()
    for arm in (3, 70, 3, 41, 20):
        loop.hold(arm)
        loop.run.history.pending[(arm, len(loop.run.history.pending))] = loop.run.history.pending.pop(arm)
        loop.sync()
        truth = ratios(loop).max()
        assert loop.chooser.largest_ratio(loop.run, loop.model, 1.0) == pytest.approx(truth, rel=1e-6)
        loose = loop.chooser.largest_ratio(loop.run, loop.model, math.inf)
        assert truth * (1.0 - 1e-6) <= loose <= truth + loop.model.batch.variances[-1]
    loop.run.history.pending.clear()
    loop.sync()
    loop.hold(3)
    loop.sync()
    assert loop.chooser.largest_ratio(loop.run, loop.model, 1.0) == pytest.approx(ratios(loop).max(), rel=1e-6)


def test_jointly_the_largest_ratio_is_at_least_that_of_the_batch_itself():
    loop = Loop(one_by_one=False)
    loop.sync()
    loop.hold(3, 70, 41)
    loop.sync()
    pulled = loop.model.pulls.X[loop.model.batch.pulls]
    found = loop.chooser.largest_ratio(loop.run, loop.model, 2.0)
    assert loop.model.base.ratios(pulled, pulled).max() <= found * (1.0 + 1e-9)
    assert found <= loop.model.base.ratios(make_points(2000, 2, seed=1), pulled).max() * 1.05
    loop.hold(20)
    loop.sync()
    assert loop.chooser.largest_ratio(loop.run, loop.model, 2.0) > found


def test_failures_count_as_the_worst_value_where_they_are_likely():
    loop = Loop()
    state = {"success": np.where(np.arange(80) < 40, 0.01, 1.0), "weighed": (0, 0)}
    loop.chooser.restore(state)
    loop.sync()
    worst = min(loop.run.history.values())
    p = state["success"]
    assert near_best(p * loop.bound() + (1 - p) * worst, loop.chosen())
    again = loop.chooser.state_dict()
    np.testing.assert_array_equal(again["success"], p)


def test_variances_of_jointly_hallucinated_arms_are_exact():
    """The twin of this file against the exact GP, where the dictionary is perfect."""
    loop = Loop(one_by_one=False)
    loop.sync()
    loop.hold(3, 70, 41)
    loop.sync()
    seen = [*range(0, 80, 8), 3, 70, 41]
    y = np.zeros(len(seen))
    variance = naive.posterior(loop.model.kernel.covariance, loop.grid[seen], y, loop.grid)[1]
    np.testing.assert_allclose(loop.moments()[1], variance, atol=1e-6)
