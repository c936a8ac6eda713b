"""What an inspection sees of a model: predictions in the units of the history, and what the next ask maximises."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.helpers import make_points

from numbo.kernels.acquisition import LOG_EI, UCB, Acquisition, acquisition_values
from numbo.models import SparseGP
from numbo.models.constraints import Constraints
from numbo.models.dictionaries import unrepresented
from numbo.models.gp import ExactGP
from numbo.models.moments import moments
from numbo.models.surrogate import Surrogate
from numbo.models.transforms import OutputTransform
from numbo.models.view import ModelView
from numbo.models.widening import widening
from numbo.trials import Data, History

X = make_points(30, 2)
Z = make_points(11, 2, seed=5)
Y = 40.0 + 6.0 * np.sin(5.0 * X[:, 0]) + X[:, 1]


def surrogate(**also):
    return Surrogate(np.zeros(2, dtype=bool), kernel="matern52", trend=True, additive=False, winsorize=False, **also)


def view_of(y=Y, acquisition=None, **fields):
    model = surrogate()
    model.update(Data.of(X, y), np.arange(len(X)))
    usual = Acquisition(UCB, 1.5)
    return ModelView(
        model.posterior,
        model.transform,
        model.posterior,
        usual if acquisition is None else acquisition,
        model.members,
        model.gp.lengthscales,
        model.noise_std,
        **fields,
    )


def limits():
    """The models of a constraint that holds in the left part."""
    history = History(2, 1, 1)
    for x, y in zip(X, Y, strict=True):
        history.add(x, y, {}, -1, constraints=x[:1] - 0.6)
    out = Constraints(surrogate, 1)
    out.update(history, np.arange(len(X)))
    return out


@pytest.mark.parametrize("warp", [False, True])
def test_predictions_are_in_the_units_of_the_history(warp):
    y = -np.exp(Y / 3.0) if warp else Y
    model = surrogate(warp=warp)
    model.update(Data.of(X, y), np.arange(len(X)))
    view = replace(view_of(y), posterior=model.posterior, transform=model.transform)
    assert view.transform.warped == warp
    for found, expected in zip(view.mean_sd(Z), model.mean_sd(Z), strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(view.mean_sd(X).mean, y, rtol=0.1)


def test_noise_is_claimed_in_the_units_of_the_values():
    view = replace(view_of(), noise_std=2.0)
    assert view.claimed_noise == pytest.approx((2.0 / Y.std()) ** 2)


def test_intervals_grow_by_what_their_model_says():
    model = surrogate()
    model.update(Data.of(X, np.exp(9.0 * X[:, 0] * X[:, 1])), np.arange(len(X)))  # of a cliff it is too sure
    assert view_of().widening == 1.0
    assert view_of(calibration=model).widening == widening(model.gp) > 1.0


def test_what_the_next_ask_maximises_is_a_function_of_the_searched_model():
    other = ExactGP(np.zeros(2, dtype=bool))
    other.condition(X, X[:, 1])
    acquisition = Acquisition(LOG_EI, 0.3)
    view = replace(view_of(), searched=other.posterior, acquisition=acquisition)
    np.testing.assert_allclose(view.acquire(Z), acquisition_values(other.posterior, acquisition, Z), rtol=1e-12)


def test_constraints_add_their_log_probability_and_stand_alone_until_one_point_meets_them():
    constraints, alone = limits(), view_of().acquire(Z)
    likely = constraints.log_probability(Z)
    assert likely.min() < -1.0
    np.testing.assert_allclose(view_of(constraints=constraints).acquire(Z), alone + likely, rtol=1e-12)
    np.testing.assert_array_equal(view_of(constraints=constraints, feasible=False).acquire(Z), likely)
    np.testing.assert_array_equal(view_of(feasible=False).acquire(Z), alone)  # there is nothing to meet


def test_of_several_objectives_their_common_function_counts():
    view = view_of(improving=lambda Z: Z[:, 0] - 3.0, constraints=limits(), others=(view_of(X[:, 0]),))
    np.testing.assert_array_equal(view.acquire(Z), Z[:, 0] - 3.0)


def test_what_the_model_is_conditioned_on_is_explained():
    members = np.arange(0, 30, 2)
    model = surrogate()
    model.update(Data.of(X, Y), members)
    view = replace(view_of(), posterior=model.posterior, transform=model.transform, members=members)
    mean, unexplained = view.at_observations(X)
    expected = model.mean_sd(X)
    np.testing.assert_array_equal(mean, expected.mean)
    np.testing.assert_array_equal(unexplained[members], 0.0)
    others = np.setdiff1d(np.arange(30), members)
    np.testing.assert_array_equal(unexplained[others], expected.std[others])
    assert (unexplained[others] > 0.0).all()


def test_a_dictionary_explains_what_it_represents():
    gp = ExactGP(np.zeros(2, dtype=bool), trend=False)
    sparse, transform = SparseGP(gp.covariance, X[:4]), OutputTransform.fit(Y)
    sparse.condition(X)
    sparse.set_values(transform.forward(Y))
    view = replace(view_of(), posterior=sparse.posterior, transform=transform, sparse=sparse, members=np.arange(4))
    mean, unexplained = view.at_observations(X)
    np.testing.assert_allclose(mean, transform.backward(*moments(sparse.posterior, X)[:1], np.zeros(30)).mean)
    expected = np.sqrt(unrepresented(sparse.covariance, X, sparse.embed(X))) * Y.std()
    np.testing.assert_allclose(unexplained, expected)
    np.testing.assert_allclose(unexplained[:4], 0.0, atol=1e-4 * Y.std())
    whole = math.sqrt(gp.covariance.signal_variance) * Y.std()
    assert 0.01 * whole < unexplained[4:].max() < whole
