"""The model of the sparse algorithms by itself, without a search: against models that are told everything at once."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import naive
from tests.helpers import make_points

from numbo.models import SparseGP
from numbo.models.confidence import Information
from numbo.models.dictionaries import DictionaryRule
from numbo.models.feedback import FeedbackModel, NewBatch, Pulled
from numbo.models.learned_kernel import LearnedKernel
from numbo.trials import History, Pending

X = make_points(60, 2)
Y = np.sin(5 * X[:, 0]) + X[:, 1]
NOISE = 0.1


def make(resparsify=0.0, *, one_by_one=True, qbar=2.0, limit=None, fixed=True, **kw):
    categorical = np.zeros(2, dtype=bool)
    scale, noise = (np.array(0.4), NOISE) if fixed else (None, None)
    kernel = LearnedKernel(categorical, "rbf", scale, noise, trend=False, winsorize=False)
    rule = DictionaryRule(qbar, limit, "bless", 0.1)
    return FeedbackModel(2, kernel, rule, resparsify=resparsify, one_by_one=one_by_one, **kw)


class Told:
    """A history of points of `X`, and the model that is brought up to date with it as the algorithms do."""

    def __init__(self, model, seed=0):
        self.model = model
        self.history = History(2)
        self.rng = np.random.default_rng(seed)

    def hold(self, *points):
        for i in points:
            self.history.pending[(i, len(self.history.pending), self.history.n)] = Pending.of(X[i], {}, -1)

    def release(self, i):
        key = next(key for key in self.history.pending if key[0] == i)
        self.history.pending.pop(key)

    def tell(self, *points):
        for i in points:
            if any(key[0] == i for key in self.history.pending):
                self.release(i)
            self.history.add(X[i], float(Y[i]), {}, -1)

    def sync(self):
        if self.model.usable(self.history):
            return self.model.sync(self.history)
        return self.model.redraw(self.history, self.rng)

    def take_in(self):
        return self.model.take_in(self.history, self.rng)

    def points(self, numbers):
        """Which rows of `X` the points with these numbers are."""
        return [int(np.flatnonzero((x == X).all(axis=1))[0]) for x in self.model.pulls.X[list(numbers)]]


def begun(model, *points, seed=0):
    told = Told(model, seed)
    told.tell(*points)
    told.sync()
    return told


def fingerprint(model):
    """All that choices depend on, to the last bit."""
    numbers = [model.information, model.effective_dimension, model.fed_back, model.drawn_at, model.draws, model.window]
    parts = [*model.base.posterior[1:], model.base.gp.counts, model.batch.pulls, *of_batch(model), *numbers]
    return [np.copy(part) for part in parts]


def of_batch(model):
    return [model.batch.variances, model.batch.LV, model.batch.total]


def same(a, b):
    for one, other in zip(a, b, strict=True):
        np.testing.assert_array_equal(one, other)


def exact(model, points):
    """Mean and variance at `X` of the exact GP of some observations."""
    return naive.posterior(model.kernel.covariance, X[points], Y[points], X)


def assert_exact(found, points, model):
    mean, variance = exact(model, points)
    np.testing.assert_allclose(found[0], mean, atol=1e-6)
    np.testing.assert_allclose(NOISE**2 * found[1], variance, atol=1e-6)


def test_at_first_the_dictionary_is_empty_and_the_posterior_is_the_prior():
    model = make()
    assert model.empty
    assert not model.usable(History(2))
    mean, variance = model.base.gp.mean_variance(X)
    np.testing.assert_array_equal(mean, 0.0)
    np.testing.assert_allclose(variance, 1.0 / NOISE**2)
    status = model.status(1.0, ())
    assert (status.dictionary_size, status.batch_size, status.resparsifications) == (0, 0, 0)


def test_the_first_dictionary_of_a_short_history_is_all_of_it():
    told = begun(make(), 3, 7, 3, 20, 41, 7, 7)
    assert told.model.draws == 1
    assert told.points(told.model.base.atoms) == [3, 7, 20, 41]
    assert_exact(told.model.base.gp.mean_variance(X), [3, 7, 3, 20, 41, 7, 7], told.model)


@pytest.mark.parametrize("one_by_one", [True, False])
def test_what_was_pulled_joins_the_batch_once(one_by_one):
    told = begun(make(one_by_one=one_by_one), 3, 7)
    told.hold(20, 30)
    told.tell(41, 7)
    change = told.sync()
    assert isinstance(change, Pulled)
    assert sorted(told.points(change.numbers)) == [7, 20, 30, 41]
    assert list(change.numbers) == told.model.batch.pulls
    assert len(change.directions) == (4 if one_by_one else 0)
    np.testing.assert_allclose(told.model.batch.variances, told.model.base.variance(X[told.points(change.numbers)]))
    told.tell(20)  # it was hallucinated, and is until the next feedback
    assert told.sync() == Pulled()
    assert_exact(told.model.base.gp.mean_variance(X), [3, 7], told.model)


def test_the_batch_can_be_conditioned_on_jointly_and_exactly():
    told = begun(make(one_by_one=False), 3, 7, 20)
    told.hold(30, 41, 41)
    told.sync()
    posterior, _ = told.model.given_batch()
    W = posterior.W @ naive.gram(told.model.kernel.covariance, posterior.X, X)
    variance = exact(told.model, [3, 7, 20, 30, 41, 41])[1]
    np.testing.assert_allclose(1.0 - np.einsum("ij,ij->j", W, W), variance, atol=1e-6)
    mean = posterior.alpha @ naive.gram(told.model.kernel.covariance, posterior.X, X)
    np.testing.assert_allclose(mean, exact(told.model, [3, 7, 20])[0], atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["hold", "tell", "release", "feedback"]), st.integers(0, 9)), max_size=14))
def test_a_batch_has_all_pulls_however_they_came(steps):
    told = begun(make(), 3, 7)
    wanted = []  # the points of the batch
    for step, i in steps:
        pending = {key[0] for key in told.history.pending}
        if step == "hold":
            told.hold(i, i + 10)
            wanted += [i, i + 10]
        elif step == "tell":
            wanted += [] if i in pending else [i]
            told.tell(i)
        elif step == "release" and i in pending:
            told.release(i)
            wanted.remove(i)
        elif step == "feedback":
            told.take_in()
            wanted = [key[0] for key in told.history.pending]
        told.sync()
        assert sorted(told.points(told.model.batch.pulls)) == sorted(wanted)


@pytest.mark.parametrize("one_by_one", [True, False])
def test_a_point_that_is_released_was_never_pulled(one_by_one):
    told, never = (begun(make(one_by_one=one_by_one), 3, 7, 20) for _ in range(2))
    told.hold(30, 41, 50)
    told.sync()
    told.release(41)
    change = told.sync()
    assert isinstance(change, NewBatch)
    assert change.certain is None
    assert told.points(change.pulled.numbers) == [30, 50]
    never.hold(30, 50)
    directions = never.sync().directions
    same(of_batch(told.model), of_batch(never.model))
    same(change.pulled.directions, directions)


@pytest.mark.parametrize("limit", [None, 6])
def test_a_dictionary_is_redrawn_by_the_variances_at_the_start_of_the_batch(limit):
    """Lines 11 to 18 literally, by the same random numbers."""
    told = begun(make(limit=limit), *range(20), 3, 3)
    told.hold(30, 31)
    told.sync()
    told.tell(30, 5, 40, 40)
    told.sync()
    model = told.model
    before = model.base
    twin = copy.deepcopy(told.rng)
    counts = np.bincount([*range(20), 3, 3, 30, 5, 40, 40, 31], minlength=60)
    points = np.array(told.points(range(model.pulls.u)))
    p = 2.0 * before.variance(X[points]) * counts[points]
    change = told.take_in()
    if limit is None:
        drawn = np.flatnonzero(twin.random(len(points)) < p)
        assert sorted(model.base.atoms) == list(drawn)
        np.testing.assert_array_equal(change.certain, p[model.base.atoms] >= 1.0)
        assert 0 < change.certain.sum() < len(drawn) < len(points)
    assert told.points(change.pulled.numbers) == [31]
    told_counts = counts.copy()
    told_counts[31] = 0
    rows = np.flatnonzero(told_counts)
    gp = SparseGP(model.kernel.covariance, X[told.points(model.base.atoms)])
    gp.condition(X[rows], told_counts[rows].astype(float))
    gp.set_values(told_counts[rows] * Y[rows])
    for found, expected in zip(model.base.gp.mean_variance(X), gp.mean_variance(X), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
    assert model.effective_dimension == pytest.approx(told_counts[rows] @ gp.variances())
    assert (model.draws, model.fed_back, model.drawn_at) == (2, 26, 26)


@pytest.mark.parametrize("one_by_one", [True, False])
def test_between_two_draws_new_points_join_the_dictionary(one_by_one):
    model = make(10.0, one_by_one=one_by_one, qbar=math.inf)
    told = begun(model, 3, 7, 20)
    told.hold(30, 41)
    told.sync()
    told.tell(30, 50, 3)
    told.sync()
    before = model.base
    change = told.take_in()
    assert isinstance(change, NewBatch)
    assert change.certain is None
    assert told.points(change.pulled.numbers) == told.points(model.batch.pulls) == [41]
    assert told.points(model.base.atoms) == [3, 7, 20, 30, 50]
    assert model.draws == 1
    assert_exact(model.base.gp.mean_variance(X), [3, 7, 20, 30, 50, 3], model)
    assert_exact(before.gp.mean_variance(X), [3, 7, 20], model)


@pytest.mark.parametrize(("resparsify", "draws"), [(0.0, 4), (0.5, 2), (10.0, 1)])
def test_a_dictionary_is_drawn_again_when_the_history_has_grown(resparsify, draws):
    told = begun(make(resparsify), 0, 1, 2, 3)
    for i in (4, 5, 6):
        told.tell(i)
        told.sync()
        assert told.model.may_take_in(told.history)
        told.take_in()
    assert told.model.draws == draws
    assert told.model.may_take_in(told.history) == (resparsify == 0.0)


def test_information_is_counted_when_the_values_of_a_batch_arrive():
    told = begun(make(10.0, counting=Information(weight=3.0)), 3, 7, 20)
    told.hold(30, 41, 50)
    told.sync()
    start = told.model.information
    told.tell(30, 50)
    told.take_in()
    variances = exact(told.model, [3, 7, 20])[1][[30, 50]] / NOISE**2
    assert told.model.information == pytest.approx(start + np.log1p(3.0 * variances).sum(), rel=1e-6)


def test_where_points_are_chosen_by_variance_pending_ones_count_as_told():
    told = Told(make(by_variance=True))
    told.tell(3, 7)
    told.hold(20)
    told.sync()
    model = told.model
    assert model.assumes
    assert told.model.batch.pulls == []
    np.testing.assert_allclose(NOISE**2 * model.base.variance(X), exact(model, [3, 7, 20])[1], atol=1e-6)
    told.release(20)
    assert not model.usable(told.history)
    told.sync()
    assert not model.assumes
    np.testing.assert_allclose(NOISE**2 * model.base.variance(X), exact(model, [3, 7])[1], atol=1e-6)
    told.hold(30)
    told.take_in()
    assert model.assumes
    model.end_exploration(told.history)
    told.take_in()
    assert not model.assumes
    assert told.points(model.batch.pulls) == [30]


def test_a_model_that_forgets_knows_what_comes_later_alone():
    told = begun(make(), *range(10))
    told.model.forget(8)
    assert told.model.empty
    told.tell(41)
    told.sync()
    assert_exact(told.model.base.gp.mean_variance(X), [8, 9, 41], told.model)


@pytest.mark.parametrize("one_by_one", [True, False])
@pytest.mark.parametrize("resparsify", [0.0, 10.0])
def test_a_settled_model_knows_everything_and_leaves_this_one_as_it_is(one_by_one, resparsify):
    told = begun(make(resparsify, one_by_one=one_by_one, qbar=math.inf), 3, 7, 20)
    told.hold(30, 41)
    told.sync()
    told.tell(30, 50)
    model = told.model
    before = fingerprint(model)
    quiet = told.history.copy()
    quiet.pending.clear()
    settled = model.settled(quiet, np.random.default_rng(5))
    assert_exact(settled.base.gp.mean_variance(X), [3, 7, 20, 30, 50], model)
    same(fingerprint(model), before)
    told.sync()
    told.take_in()
    assert_exact(settled.base.gp.mean_variance(X), [3, 7, 20, 30, 50], model)
    assert_exact(model.base.gp.mean_variance(X), [3, 7, 20, 30, 50], model)


@settings(max_examples=25, deadline=None)
@given(
    one_by_one=st.booleans(),
    resparsify=st.sampled_from([0.0, 0.3, 10.0]),
    by_variance=st.booleans(),
    fixed=st.booleans(),
    data=st.data(),
)
def test_a_restored_model_goes_on_as_the_original(one_by_one, resparsify, by_variance, fixed, data):
    """Whatever was pulled, released, told and taken in before, to the last bit."""
    kw = {"one_by_one": one_by_one and resparsify == 0.0, "by_variance": by_variance, "fixed": fixed, "limit": 8}
    told = begun(make(resparsify, **kw), 0, 1, 2)

    def step(action, i):
        if action == "hold":
            told.hold(i)
        elif action == "release" and told.history.pending:
            told.release(next(iter(told.history.pending))[0])
        elif action == "tell":
            told.tell(i)
        elif action == "explored":
            told.model.end_exploration(told.history)
        elif action == "forget":
            told.model.forget(told.history.n - 1)
        told.sync()
        if action == "take in":
            told.take_in()

    actions = ["hold", "hold", "release", "tell", "tell", "take in", "take in", "explored", "forget"]
    steps = st.lists(st.tuples(st.sampled_from(actions), st.integers(0, 59)), min_size=1, max_size=20)
    for action, i in data.draw(steps):
        step(action, i)
    original = told.model
    restored = make(resparsify, **kw)
    restored.restore(copy.deepcopy(original.state_dict()), told.history)
    change = restored.begin_again()
    assert isinstance(change, NewBatch)
    assert list(change.pulled.numbers) == original.batch.pulls
    same(fingerprint(restored), fingerprint(original))
    later = data.draw(steps)
    now = copy.deepcopy((told.history, told.rng))
    for action, i in later:
        step(action, i)
    told.model = restored
    told.history, told.rng = now
    for action, i in later:
        step(action, i)
    same(fingerprint(restored), fingerprint(original))
