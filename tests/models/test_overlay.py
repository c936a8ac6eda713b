"""A sparse posterior of all observations over the members: its atoms, what is added, and when it is stale."""

from __future__ import annotations

import copy
from functools import partial

import numpy as np
import pytest
from tests.helpers import make_points

from numbo.models.fitc import FITC
from numbo.models.gp import ExactGP
from numbo.models.moments import moments
from numbo.models.noise import Noise
from numbo.models.overlay import LACKING, MORE, STALE, Overlay
from numbo.models.surrogate import Surrogate
from numbo.models.transform_choice import transformed
from numbo.models.transforms import OutputTransform
from numbo.trials import Data, History

N = 60
X = make_points(N, 2)
Z = make_points(15, 2, seed=5)
MEMBERS = np.arange(0, N, 4)


def noisy(X, variance=0.0, seed=0):
    y = 20.0 + 3.0 * np.sin(5.0 * X[:, 0]) + X[:, 1] + np.random.default_rng(seed).normal(size=len(X))
    return Data(X, y, np.full(len(X), variance))


DATA = noisy(X)
TRANSFORM = OutputTransform.fit(DATA.y)


def gp(lengthscale=0.4):
    model = ExactGP(np.zeros(2, dtype=bool), trend=False)
    theta = model.theta.copy()
    theta[:2] = -2.0 * np.log(lengthscale)
    model.theta = theta
    return model


def over(data, rows, members=MEMBERS, model=None, built_at=None):
    return Overlay(gp() if model is None else model, TRANSFORM, data, members, rows, -1, built_at or len(rows))


def same(one, other, rtol=0.0):
    for found, expected in zip(moments(one.model.posterior, Z), moments(other.model.posterior, Z), strict=True):
        np.testing.assert_allclose(found, expected, rtol=rtol)


def test_the_posterior_is_that_of_all_rows_through_the_members():
    rows = np.setdiff1d(np.arange(N), [3, 17])
    overlay = over(DATA, rows)
    np.testing.assert_array_equal(overlay.rows, rows)
    twin = FITC(gp().covariance, transformed(DATA.at(rows), TRANSFORM), X[MEMBERS])
    for found, expected in zip(moments(overlay.model.posterior, Z), moments(twin.posterior, Z), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_known_variances_count_in_the_units_of_the_values():
    wide = over(noisy(X, 1e4), np.arange(N))
    assert np.abs(moments(wide.model.posterior, Z).mean).max() < 0.1  # values say next to nothing
    assert np.abs(moments(over(DATA, np.arange(N)).model.posterior, Z).mean).max() > 0.5


def far(count):
    """Points that the members do not represent under a short lengthscale, each measured often."""
    return np.repeat(np.stack([np.linspace(0.7, 1.0, count), np.full(count, 0.9)], axis=1), 20, axis=0)


@pytest.mark.parametrize("count", [3, MORE + 20])
def test_repeated_points_that_the_members_do_not_represent_become_atoms(count):
    near = np.random.default_rng(0).random((12, 2)) * 0.1
    data = noisy(np.concatenate([near, far(count)]))
    members = np.arange(6)
    overlay = over(data, np.arange(data.n), members, gp(lengthscale=1e-3))
    atoms = {x.tobytes() for x in overlay.model.gp.dictionary}
    assert {x.tobytes() for x in data.X[members]} <= atoms
    added = atoms & {x.tobytes() for x in far(count)}
    assert len(added) == min(count, MORE)
    assert not atoms & {x.tobytes() for x in data.X[6:12]}  # they were measured once


def test_what_is_added_counts_as_if_it_had_been_there():
    whole, grown = over(DATA, np.arange(N)), over(DATA, np.arange(40))
    for rows in (np.arange(40, 41), np.arange(41, 41), np.arange(41, N)):
        grown.add(DATA, rows)
    np.testing.assert_array_equal(grown.rows, np.arange(N))
    same(grown, whole, rtol=1e-8)


def longer(n):
    return noisy(make_points(n, 2))


@pytest.mark.parametrize("n", [40, 900])
def test_it_is_stale_once_a_share_of_the_data_is_new(n):
    share, least = STALE
    members = np.arange(9)
    overlay = over(longer(n), np.arange(n), members)
    wait = max(int(share * n), least)
    assert [overlay.stale(longer(n + new)) for new in (0, 1, wait - 1, wait)] == [False, False, False, True]
    built = over(longer(n), np.arange(n), members, built_at=n - wait)
    assert built.stale(longer(n))


def test_it_is_stale_sooner_if_a_point_is_measured_again_that_should_be_an_atom():
    n = 1100
    data = noisy(np.concatenate([np.random.default_rng(0).random((n, 2)), np.full((9, 2), 0.95)]))
    wait = int(LACKING * data.n)
    for built_at in (data.n - wait, data.n - wait + 1):
        overlay = over(data, np.arange(n), np.arange(6), gp(lengthscale=1e-3), built_at)
        overlay.add(data, np.array([n]))
        assert not overlay.stale(data)
        overlay.add(data, np.arange(n + 1, n + 9))
        assert overlay.stale(data) == (built_at == data.n - wait)


def test_it_is_stale_if_used_values_have_changed():
    rows = np.arange(1, N)
    overlay = over(DATA, rows)
    for row, expected in ((0, False), (7, True)):
        variance = DATA.variance.copy()
        variance[row] = 0.5  # another end is expected of a stopped trial
        assert overlay.stale(DATA._replace(variance=variance)) == expected
    known = DATA._replace(variance=np.linspace(0.1, 0.9, N))
    added = over(known, rows[:30], built_at=N)
    added.add(known, rows[30:33])
    assert not added.stale(known)
    for row, expected in ((32, True), (40, False)):
        variance = known.variance.copy()
        variance[row] = 0.5
        assert added.stale(known._replace(variance=variance)) == expected


def test_a_state_holds_the_steps_that_rebuild_the_posterior_to_the_last_bit():
    overlay = Overlay(gp(), TRANSFORM, DATA, MEMBERS, np.arange(50), 7, 48)
    for rows in (np.array([50, 51]), np.array([52])):
        overlay.add(DATA, rows)
    state = overlay.state_dict()
    rows, added = np.split(state["rows"], [state["first_rows"]])
    np.testing.assert_array_equal(rows, np.arange(50))
    np.testing.assert_array_equal(added, [50, 51, 52])
    twin = Overlay(gp(), TRANSFORM, DATA, MEMBERS, rows, state["anchor"], state["built"]["at"])
    twin.add(DATA, added)
    same(twin, overlay)
    np.testing.assert_equal(twin.state_dict(), state)
    assert (twin.anchor, state["built"]["at"]) == (7, 48)


def surrogate():
    kind = {"kernel": "matern52", "trend": False, "additive": False, "winsorize": False, "all_data": True}
    return Surrogate(np.zeros(1, dtype=bool), **kind, of=lambda data, n: data.at(slice(n)))


def test_a_point_that_the_atoms_do_not_represent_becomes_one_when_it_is_measured_again():
    """What a FITC model without it says of such a point does not depend on how often it was measured."""
    rng = np.random.default_rng(0)
    X = np.concatenate([np.linspace(0.0, 0.3, 30)[:, None], [[0.9]]])
    y = np.append(np.sin(20.0 * X[:30, 0]) + 0.3 * rng.normal(size=30), 2.0)
    model, members = surrogate(), np.arange(0, 30, 3)
    model.update_all(Data.of(X, y), members, partial(np.arange, 31), Noise(History(1)))
    state = model.state_dict()
    state["gp"]["theta"][:3] = np.log([1e4, 1.0, 0.1])  # a short lengthscale
    state["claimed_noise"] = 0.1
    state["overlay"] = {"rows": np.arange(31), "first_rows": 31, "anchor": -1, "built": {"at": 31}}
    model.restore(state, Data.of(X, y))
    assert model.mean_sd(X[30:])[1][0] > 0.8 * model.transform.scale
    for _ in range(6):
        X, y = np.append(X, X[30:31], axis=0), np.append(y, 2.0)
        model.update_all(Data.of(X, y), members, partial(np.arange, len(X)), Noise(History(1)))
    mean, std = model.mean_sd(X[30:31])
    assert mean[0] == pytest.approx(2.0, abs=0.3)
    assert std[0] < 0.3 * model.transform.scale
    again = surrogate()
    again.restore(copy.deepcopy(model.state_dict()), Data.of(X, y))
    for one, other in zip(again.mean_sd(X), model.mean_sd(X), strict=True):
        np.testing.assert_array_equal(one, other)
