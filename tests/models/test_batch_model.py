"""The posterior at a feedback, and pulls over it, against models that are told everything at once."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from tests import naive
from tests.helpers import make_covariance, make_points

from numbo.kernels.covariance import MATERN52, RBF
from numbo.models import SparseGP, batch_model
from numbo.models.batch_model import Base, Batch
from numbo.models.moments import moments
from numbo.models.pending import extended

X = make_points(40, 2)
SUMS = np.sin(5 * X.sum(axis=1))
COVARIANCE = make_covariance(RBF, 2, False)


def conditioned(points, counts, atoms, cov=COVARIANCE):
    """A model of the points with these numbers, whose values are `SUMS`, on a dictionary of some of them."""
    gp = SparseGP(cov, X[atoms])
    gp.condition(X[points], np.asarray(counts, dtype=float))
    gp.set_values(SUMS[points])
    return gp


def base(cov=COVARIANCE):
    points = np.arange(3, 15)
    gp = conditioned(points, np.ones(12), points[::2], cov)
    return Base(gp, points, points[::2][gp.kept], SUMS)


def fingerprint(one):
    """All that a base says, to the last bit."""
    parts = [*one.gp.mean_variance(X), one.gp.LV, one.gp.Z, one.gp.counts, one.points, one.atoms, *one.posterior[1:]]
    return [np.copy(part) for part in parts]


def same(a, b):
    for one, other in zip(a, b, strict=True):
        np.testing.assert_array_equal(one, other)


def test_points_are_found_by_their_number():
    one = base()
    assert [one.row(number) for number in (0, 3, 14, 15, 39)] == [-1, 0, 11, -1, -1]
    np.testing.assert_array_equal(one.gp.X, X[one.points])
    np.testing.assert_array_equal(one.gp.dictionary, X[one.atoms])


def test_the_prior_is_that_of_the_covariance():
    one = Base.prior(COVARIANCE, 2)
    assert one.gp.m == one.gp.u == 0
    np.testing.assert_allclose(one.variance(X), COVARIANCE.signal_variance / COVARIANCE.noise_variance)
    assert one.row(0) == -1


@pytest.mark.parametrize("cov", [COVARIANCE, make_covariance(MATERN52, 2, True)])
def test_pulls_reduce_variances_as_observations_do(cov):
    """Whether the points are known or not, and however often they are pulled."""
    one = base(cov)
    batch = Batch(one)
    reduced = one.gp.regularization * one.variance(X)
    told = one.gp.copy()
    for number in (4, 20, 4, 33, 20, 20):
        direction = batch.pull(number, X[number])
        reduced -= (naive.gram(cov, X, one.gp.dictionary) @ direction) ** 2
        told.add(X[number])
        np.testing.assert_allclose(reduced, told.regularization * told.mean_variance(X)[1], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(batch.LV, told.LV, rtol=1e-9, atol=1e-12)
    assert batch.pulls == [4, 20, 4, 33, 20, 20]
    np.testing.assert_allclose(batch.variances, one.variance(X[batch.pulls]), rtol=1e-9)
    assert batch.total == pytest.approx(sum(batch.variances))


def test_a_batch_that_is_dropped_was_never_pulled():
    one, other = base(), base()
    before = fingerprint(one)
    dropped = Batch(one)
    for number in (4, 20, 33, 20):
        dropped.pull(number, X[number])
    same(fingerprint(one), before)
    again, never = Batch(one), Batch(other)
    for number in (33, 4, 33):
        np.testing.assert_array_equal(again.pull(number, X[number]), never.pull(number, X[number]))
    assert again.variances == never.variances


def test_a_copy_of_a_batch_has_its_pulls_and_goes_its_own_way():
    batch = Batch(base())
    batch.pull(4, X[4])
    twin, LV = copy.copy(batch), batch.LV.copy()
    direction = twin.pull(20, X[20])
    assert (batch.pulls, twin.pulls) == ([4], [4, 20])
    np.testing.assert_array_equal(batch.LV, LV)
    np.testing.assert_array_equal(batch.pull(20, X[20]), direction)
    assert batch.total == twin.total


def test_taking_feedback_in_is_having_known_it():
    """New points, points again, points that join the dictionary, and one that joins it although it did before."""
    one = base()
    before = fingerprint(one)
    fresh, joining = np.array([4, 20, 21, 20, 33, 3]), {1, 4, 5}
    sizes = []

    def joins(i, size):
        sizes.append(size)
        return i in joining

    later = one.taking_in(fresh, X, joins, SUMS)
    same(fingerprint(one), before)
    points = np.array([*range(3, 15), 20, 21, 33])
    counts = np.bincount(np.concatenate([one.points, fresh]))[points]
    np.testing.assert_array_equal(later.points, points)
    np.testing.assert_array_equal(later.gp.counts, counts)
    np.testing.assert_array_equal(later.atoms, [*one.atoms, 20, 33])
    assert sizes == [6, 6, 7, 7, 7, 8]
    assert later.learned == tuple(zip(fresh.tolist(), [i in joining for i in range(6)], strict=True))
    whole = conditioned(points, counts, later.atoms)
    for found, expected in zip(later.gp.mean_variance(X), whole.mean_variance(X), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    for number in (4, 33):
        np.testing.assert_array_equal(later.gp.X[later.row(number)], X[number])


def test_feedback_in_one_step_is_feedback_in_several():
    fresh = np.array([4, 20, 21, 20, 33, 3, 34])
    steps = base()
    for part in (fresh[:3], fresh[3:4], fresh[4:]):
        steps = steps.taking_in(part, X, lambda i, size: size < 8, SUMS)
    known = [join for _, join in steps.learned]
    replayed = base().taking_in(fresh, X, lambda i, size: known[i], SUMS)
    same(fingerprint(steps), fingerprint(replayed))


def test_ratios_are_the_definition():
    one = base()
    others = X[[3, 20, 20, 33]]
    expected = (one.gp.cross(X, others) ** 2).sum(axis=1) / one.gp.mean_variance(X)[1]
    np.testing.assert_allclose(one.ratios(X, others), expected, rtol=1e-9)


def noted(numbers):
    """A batch with pulls of these points."""
    batch = Batch(base())
    for number in numbers:
        batch.note(number, 0.0)
    return batch


def test_pulls_that_are_noted_one_by_one_are_conditioned_on_as_all_at_once():
    numbers = [4, 20, 4, *range(16, 40)]
    batch = noted([])
    for count, number in enumerate(numbers, 1):
        batch.note(number, 0.0)
        posterior, pulls = batch.joint(X)
        assert pulls.tolist() == numbers[:count]
        whole = extended(batch.base.posterior, X[numbers[:count]], COVARIANCE.noise_variance)
        same(posterior[2:], whole[2:])
    empty = noted([])
    assert empty.joint(X)[0] is empty.base.posterior
    same(copy.copy(batch).joint(X)[0][2:], posterior[2:])


def test_of_many_pulls_the_older_ones_are_represented_by_some_of_them(monkeypatch):
    for name, value in (("EXACT", 8), ("NEWEST", 6), ("OLDER", 3), ("REPRESENTATIVES", 12)):
        monkeypatch.setattr(batch_model, name, value)
    numbers = [*range(15, 40), 20, 20]
    batch = noted([])
    for count, number in enumerate(numbers, 1):
        batch.note(number, 0.0)
        posterior, pulls = batch.joint(X)
        same([posterior.X], [np.concatenate([batch.base.gp.dictionary, X[pulls]])])
        older = 0 if count <= 8 else 3 * math.ceil((count - 6) / 3)
        assert pulls.tolist()[len(pulls) - (count - older) :] == numbers[older:count]
        assert set(pulls.tolist()) <= set(numbers[:count])
        assert len(pulls) <= max(8, 12 + 6)
        same(noted(numbers[:count]).joint(X)[0][2:], posterior[2:])  # whenever it is asked for
        exact = extended(batch.base.posterior, X[numbers[:count]], COVARIANCE.noise_variance)
        np.testing.assert_allclose(moments(posterior, X).std, moments(exact, X).std, rtol=0.1)
