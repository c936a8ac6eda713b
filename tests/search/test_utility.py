"""What a suggestion maximises: sums of terms, and what is crowded by pending points."""

from __future__ import annotations

import math
from itertools import islice

import numpy as np
import pytest
from tests.helpers import make_points
from tests.search.searches import fitted

from numbo.kernels.acquisition import (
    LOG_EI,
    LOG_PROBABILITY,
    STEEP,
    UCB,
    Acquisition,
    Success,
    Term,
    acquisition_values,
    success_probabilities,
)
from numbo.kernels.acquisition import mean_variance as moments
from numbo.kernels.front import deviations, front_of, improvements
from numbo.kernels.pending import shares_beside, shares_left
from numbo.search.utility import CROWDED, TESTED, Utility

X = make_points(12, 2)
Z = make_points(60, 2, seed=5)
GP = fitted(X, np.sin(5 * X[:, 0]) + X[:, 1])
OTHER = fitted(X, np.cos(4 * X[:, 1]) - X[:, 0])
#: A region that is likely to fail, beyond the middle of the first coordinate.
FAILING = Success(
    GP.covariance.family,
    np.array([4.0, 4.0, 0.1]),
    1.0,
    np.zeros(3, dtype=bool),
    np.zeros(3, dtype=bool),
    np.array([[0.2, 0.9], [0.5, 0.5], [0.0, 0.0]]),
    np.array([0.3, -0.5]),
    np.zeros(2),
    0.6,
    0.5,
    0.2,
)


def test_terms_add_up():
    terms = (
        Term(GP.posterior, Acquisition(UCB, 1.5)),
        Term(OTHER.posterior, Acquisition(LOG_PROBABILITY, 0.1)),
        Term(GP.posterior, Acquisition(LOG_PROBABILITY, -0.2)),
    )
    expected = sum(acquisition_values(*term, Z) for term in terms)
    np.testing.assert_allclose(Utility(terms).values(Z), expected, rtol=1e-12)
    assert Utility(terms).objectives == 1


@pytest.mark.parametrize("success", [None, FAILING, FAILING._replace(threshold=0.55)])
def test_of_several_objectives_the_improvement_on_the_front_counts(success):
    front = front_of(np.array([[0.5, 0.2], [0.0, 0.6]]), np.array([-1.0, -1.0]))
    acquisition = Acquisition(LOG_EI, 0.0) if success is None else Acquisition(LOG_EI, 0.0, success)
    own = [Term(one.posterior, acquisition) for one in (GP, OTHER)]
    limit = Term(OTHER.posterior, Acquisition(LOG_PROBABILITY, 0.1))
    utility = Utility((*own, limit), front=front)
    assert utility.objectives == 2
    mean, sd = [], []
    for term in own:
        mean.append(moments(term.posterior, Z)[0])
        sd.append(deviations(term.posterior.covariance, Z, moments(term.posterior, Z)[1]))
    expected = improvements(front, np.array(mean), np.array(sd)) + acquisition_values(*limit, Z)
    values = utility.values(Z)
    if success is not None:  # the logarithm of the probability, and a steep line below the threshold
        p, least = success_probabilities(success, Z), success.threshold
        assert p[Z[:, 0] > 0.8].max() < p[Z[:, 0] < 0.2].min()
        assert (p < least).any() == (least > 0.5)
        expected += np.where(p < least, math.log(least) - STEEP * (least - p), np.log(p))
    np.testing.assert_allclose(values, expected, rtol=1e-12)


def test_a_climb_ends_at_better_points_within_the_corners_of_each():
    utility = Utility((Term(GP.posterior, Acquisition(UCB, 1.0)),))
    lower, upper = np.maximum(Z - 0.1, 0.0), np.minimum(Z + 0.2, 1.0)
    found = utility.climb(Z, lower, upper)
    assert ((lower <= found.X) & (upper >= found.X)).all()
    assert (found.values >= utility.values(Z) - 1e-12).all()
    np.testing.assert_allclose(found.values, utility.values(found.X), rtol=1e-9)
    for x, value, low, high in zip(found.X, found.values, lower, upper, strict=True):
        near = np.clip(x + 0.02 * np.random.default_rng(0).normal(size=(50, 2)), low, high)
        assert utility.values(near).max() <= value + 1e-4


def test_the_share_of_a_copy_is_noise_over_noise_and_variance():
    gp = fitted(X, np.sin(5 * X[:, 0]) + X[:, 1])
    x = np.array([0.31, 0.77])
    alone = gp.posterior
    variance = gp.mean_sd(x[None])[1][0] ** 2
    noise = gp.covariance.noise_variance
    given = gp.extended(x[None])
    assert shares_left(given, alone, x[None])[0] == pytest.approx(noise / (variance + noise), rel=1e-6)
    far = np.array([[0.0, 0.0]])
    assert shares_left(given, alone, far)[0] > 0.5


def test_points_come_in_order_without_those_that_are_crowded():
    gp, other = fitted(X, np.sin(5 * X[:, 0])), fitted(X, X[:, 1])
    alone = gp.posterior, other.posterior
    given = gp.extended(Z[:8]), other.extended(Z[:4])
    front = front_of(np.array([[0.5, 0.2]]), np.array([-1.0, -1.0]))
    terms = tuple(Term(one, Acquisition(LOG_EI, 0.0)) for one in given)
    values = np.random.default_rng(1).random(60)
    shares = [shares_left(term.posterior, before, Z) for term, before in zip(terms, alone, strict=True)]
    # a point that one objective says something new of is not crowded
    expected = [i for i in np.argsort(-values) if max(share[i] for share in shares) >= CROWDED]
    assert list(Utility(terms, alone, front).uncrowded(Z, values)) == expected
    one = [i for i in np.argsort(-values) if shares[0][i] >= CROWDED]
    assert list(Utility(terms[:1], alone[:1]).uncrowded(Z, values)) == one
    assert len(one) < 60
    assert list(Utility(terms[:1]).uncrowded(Z, values)) == np.argsort(-values).tolist()


def test_few_points_are_looked_at_if_few_are_wanted(monkeypatch):
    looked, original = [], shares_left

    def counting(posterior, alone, points):
        looked.append(len(points))
        return original(posterior, alone, points)

    monkeypatch.setattr("numbo.search.utility.shares_left", counting)
    gp = fitted(X, X[:, 0])
    utility = Utility((Term(gp.extended(Z[:1]), Acquisition(UCB, 1.0)),), (gp.posterior,))
    assert len(list(islice(utility.uncrowded(Z, Z[:, 0]), 2))) == 2
    assert looked == [TESTED]


def test_a_copy_of_a_pending_point_that_the_posterior_does_not_have_is_crowded():
    gp = fitted(X, X[:, 0])
    term = Term(gp.extended(Z[:1]), Acquisition(UCB, 1.0))
    utility = Utility((term,), (gp.posterior,), crowd=Z[:30])
    free = list(utility.uncrowded(Z, Z[:, 0]))
    beside = shares_beside(gp.posterior, Z, np.ascontiguousarray(Z[:30].T), gp.covariance.noise_variance)
    share = np.minimum(shares_left(term.posterior, gp.posterior, Z), beside)
    assert free == [i for i in np.argsort(-Z[:, 0]) if share[i] >= CROWDED]
    assert set(free) < set(Utility((term,), (gp.posterior,)).uncrowded(Z, Z[:, 0]))
