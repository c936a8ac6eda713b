"""Points asked for together: apart by what they tell, and improving on what the others are expected to bring."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import make_points

from numbo import GPUCB, GSSBO, Float, GSSBOSettings, Space
from numbo.kernels.acquisition import UCB, Acquisition, Term
from numbo.models import ExactGP
from numbo.run.run import GLOBAL
from numbo.search.maximize import Box, maximize
from numbo.search.utility import CROWDED, Utility, remaining_share
from numbo.spaces import Corners

SPACE = Space({name: Float(-2, 2) for name in "wxyz"})


def smooth(x):
    return float(np.sum((x - 0.4) ** 2))


def rippled(x):
    return float(np.sum((x - 0.4) ** 2 + 0.3 * (1.0 - np.cos(6.0 * (x - 0.4)))))


def told(opt, f, rounds, width):
    for _ in range(rounds):
        points = opt.ask(width)
        opt.tell(points, [f(np.array(list(p.values()))) for p in points])
    return opt


@pytest.mark.parametrize("optimizer", [GSSBO, GPUCB])
@pytest.mark.parametrize("f", [smooth, rippled])
def test_fifty_at_once_are_apart(optimizer, f, monkeypatch):
    """Every point that a model proposes keeps its share of the variance, given those that were asked before it."""
    opt = told(optimizer(SPACE, seed=0), f, rounds=2, width=50)
    filled = []
    original = opt._run.space_filling
    monkeypatch.setattr(opt._run, "space_filling", lambda *a: filled.append(1) or original(*a))
    checked = 0
    for _ in range(50):
        before = len(filled)
        opt.ask()
        asked = list(opt._run.history.pending.values())[-1]
        gp = (opt._search.surrogate if asked.origin == GLOBAL else opt._engines[0].surrogate).gp
        if len(filled) > before or opt._run.history.is_observed(asked.x):  # which is measured again to tell noise
            continue
        (_, given), pending = gp.mean_sd(asked.x[None]), gp._X[gp.known : gp.n].copy()
        gp.truncate(gp.known)
        _, alone = gp.mean_sd(asked.x[None])
        for x in pending:
            gp.append(x, None)
        assert given[0] ** 2 >= 0.999 * CROWDED * alone[0] ** 2
        checked += 1
    assert checked > 25


def fitted():
    gp = ExactGP(np.zeros(2, dtype=bool), trend=False)
    X = make_points(12, 2)
    gp.condition(X, np.sin(5 * X[:, 0]) + X[:, 1])
    return gp


def test_the_share_of_a_copy_is_noise_over_noise_and_variance():
    gp = fitted()
    x = np.array([0.31, 0.77])
    alone = gp.posterior
    variance = gp.mean_sd(x[None])[1][0] ** 2
    noise = gp.covariance.noise_variance
    gp.append(x, None)
    assert remaining_share(gp.posterior, alone, x[None])[0] == pytest.approx(noise / (variance + noise), rel=1e-6)
    far = np.array([[0.0, 0.0]])
    assert remaining_share(gp.posterior, alone, far)[0] > 0.5


def test_a_crowded_optimum_is_left_to_the_point_that_is_there():
    gp = fitted()
    space = Space({"x": Float(0, 1), "y": Float(0, 1)})
    mean_only = Acquisition(UCB, 0.0)

    def best(*alone):
        candidates = [make_points(200, 2, seed=3)]
        utility = Utility((Term(gp.posterior, mean_only),), alone)
        return maximize(utility, Box(space, Corners.of_cube(2)), candidates, lambda x: False, starts=2)

    alone = gp.posterior
    optimum = best()
    gp.append(optimum, None)
    np.testing.assert_allclose(best(), optimum, atol=1e-3)  # the mean does not move
    other = best(alone)
    assert remaining_share(gp.posterior, alone, other[None])[0] >= CROWDED
    assert remaining_share(gp.posterior, alone, optimum[None])[0] < CROWDED


def test_a_box_that_is_full_proposes_nothing():
    gp = fitted()
    space = Space({"x": Float(0, 1), "y": Float(0, 1)})
    alone, x = gp.posterior, np.array([0.31, 0.77])
    gp.append(x, None)
    near = [x + 1e-6 * make_points(20, 2)]
    lower, upper = x - 1e-6, x + 1e-6
    utility = Utility((Term(gp.posterior, Acquisition(UCB, 1.0)),), (alone,))
    found = maximize(utility, Box(space, Corners(lower, upper)), near, lambda x: False, starts=2)
    assert found is None


def test_improvement_is_counted_from_the_means_at_pending_points():
    opt = told(
        GSSBO(SPACE, seed=0, settings=GSSBOSettings(trust_region=False, acquisition="log_ei")),
        smooth,
        rounds=1,
        width=20,
    )
    ahead = 0
    for _ in range(10):
        opt.ask()
        gp = opt._search.surrogate.gp
        points = [p.x for p in opt._run.history.pending.values()][:-1]
        seen, _ = gp.mean_sd(opt._run.history.X)
        believed = [float(gp.mean_sd(x[None])[0][0]) for x in points]
        expected = max([seen.max(), *believed])
        assert opt._search.acquisition(opt._run).parameter == pytest.approx(expected, abs=1e-6)
        ahead += expected > seen.max() + 1e-3
    assert ahead > 0


def test_a_batch_goes_on_after_a_restore():
    opt = told(GSSBO(SPACE, seed=0), rippled, rounds=2, width=30)
    first = opt.ask(15)
    twin = GSSBO.from_state_dict(opt.state_dict())
    second, same = opt.ask(15), twin.ask(15)
    assert second == same
    for one in (opt, twin):
        points = [*first, *second]
        one.tell(points, [rippled(np.array(list(p.values()))) for p in points])
    assert opt._engines[0].trust_region == twin._engines[0].trust_region
    assert opt.ask(5) == twin.ask(5)
