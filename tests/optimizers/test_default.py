"""Few changes from a default: only what pays, and never at the expense of what is allowed or given."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from tests.helpers import MOSTLY, make_covariance, over_seeds, played, seeded
from tests.kernels.test_acquisition import conditioned

from numbo import GPUCB, GSSBO, Categorical, Float, Int, Linear, Space
from numbo.kernels.acquisition import LOG_EI, Acquisition, Term
from numbo.run.situation import Situation
from numbo.search.fewer import LOSS, changed, fewer_changes
from numbo.search.maximize import Box
from numbo.search.utility import Utility
from numbo.spaces import Corners
from numbo.trials import Goal

D = 12
DIMENSIONS = {f"x{j}": Float(0, 1) for j in range(D)}
DEFAULT = dict.fromkeys(DIMENSIONS, 0.3)


def loss(p):
    """Two of the parameters matter."""
    return 4.0 * (p["x1"] - 0.8) ** 2 + 3.0 * (p["x4"] - 0.6) ** 2


def run(opt, n, objective=loss):
    return played(opt, n, objective)


def moved(p):
    return {name for name in DEFAULT if p[name] != DEFAULT[name]}


@pytest.mark.parametrize("algorithm", [GSSBO, GPUCB])
@over_seeds()
def test_few_parameters_are_changed_where_few_matter(algorithm):
    opt = algorithm(Space(DIMENSIONS, default=DEFAULT), seed=seeded(0), n_initial=3)
    points = run(opt, 40)
    assert points[0] == DEFAULT
    assert np.mean([len(moved(p)) for p in points[-20:]]) < D / 2, MOSTLY
    best, value = opt.best
    assert value < 0.02, MOSTLY
    if algorithm is GSSBO:  # others explore more
        assert len(moved(best)) < D / 2, MOSTLY
    assert set(opt.explain().changed) == moved(opt.best_predicted()[0])


def test_branches_integers_and_what_has_no_default():
    dimensions = {
        "o": Categorical(["a", "b"]),
        "m": Float(0, 1, when={"o": "b"}),
        "k": Int(1, 500, log=True),
        "free": Float(0, 1),
    }
    opt = GSSBO(Space(dimensions, default={"o": "b", "m": 0.25, "k": 30}), seed=0)
    points = run(opt, 30, lambda p: abs(p["free"] - 0.7) + (p["o"] == "a"))
    assert points[0] == {"o": "b", "m": 0.25, "k": 30, "free": 0.5}
    assert sum(p["k"] == 30 for p in points) > 5
    assert sum(p["free"] == 0.5 for p in points) < 5
    assert "o" not in opt.explain().changed


def test_all_suggestions_are_allowed_and_keep_what_is_given():
    allowed = [Linear({"x0": 1, "x1": 1}, equal=1.0), lambda p: p["x2"] < 0.5]
    opt = GSSBO(Space(DIMENSIONS, default=DEFAULT, allowed=allowed), seed=0)
    points = run(opt, 25)
    assert all(abs(p["x0"] + p["x1"] - 1.0) < 1e-9 and p["x2"] < 0.5 for p in points)
    assert opt.space.decode(opt.suggest(fixed={"x3": 0.9})[0])["x3"] == 0.9


def test_a_restored_optimizer_goes_on_alike():
    opt = GSSBO(Space(DIMENSIONS, default=DEFAULT), seed=0)
    run(opt, 12)
    twin = GSSBO.from_state_dict(pickle.loads(pickle.dumps(opt.state_dict())))
    assert run(opt, 4) == run(twin, 4)


def test_each_step_loses_little_and_no_other_step_is_left():
    space = Space({f"x{j}": Float(0, 1) for j in range(4)}, default=dict.fromkeys(["x0", "x1", "x2"], 0.4))
    run = Situation.begun(space, Goal(("maximize",)), True, True, np.random.default_rng(0))
    posterior, _, _ = conditioned(make_covariance(0, 4, False), n=10, capacity=10)
    utility = Utility((Term(posterior, Acquisition(LOG_EI, 1.0)),))
    box = Box(run.available, Corners.of_cube(4))
    default = np.array([0.4, 0.4, 0.4, np.nan])
    for x in np.random.default_rng(1).random((20, 4)):
        found = fewer_changes(utility, box, x, lambda x: False)
        back = np.flatnonzero(found != x)
        np.testing.assert_array_equal(found[back], default[back])
        assert set(changed(space, found)) == {f"x{j}" for j in range(3) if j not in back}
        now = x.copy()
        left = set(range(3))
        while left:  # a naive twin
            trials = {j: np.where(np.arange(4) == j, default, now) for j in left}
            values = {j: float(utility.values(one[None])[0]) for j, one in trials.items()}
            j = max(values, key=values.get)
            if values[j] < float(utility.values(now[None])[0]) + math.log1p(-LOSS):
                break
            now = trials[j]
            left.remove(j)
        np.testing.assert_array_equal(now, found)
