"""The best point of a box: by comparison with all points, or with many."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import make_points
from tests.runs import new_run
from tests.search.searches import fitted

from numbo import Categorical, Float, Int, Space
from numbo.kernels.acquisition import UCB, Acquisition, Term
from numbo.kernels.pending import shares_left
from numbo.models import ExactGP
from numbo.search.maximize import Box, maximize
from numbo.search.utility import CROWDED, Utility
from numbo.spaces import INACTIVE, Corners

PLANE = Space({"x": Float(0, 1), "y": Float(0, 1)})
MEAN = Acquisition(UCB, 0.0)


def free(x):
    return False


def model():
    X = make_points(12, 2)
    return fitted(X, np.sin(5 * X[:, 0]) + X[:, 1])


def box(space, lower=0.0, upper=1.0, dormant=None):
    return Box(new_run(space).available, Corners(np.full(space.d, lower), np.full(space.d, upper)), dormant)


def on(space, n=30, seed=0, value=None):
    """A model of values at some points of a space."""
    X = space.snap(np.random.default_rng(seed).random((n, space.d)))
    gp = ExactGP(space.categorical, space.conditional)
    gp.condition(X, np.sin(6 * X).sum(axis=1) if value is None else value(X))
    return Utility((Term(gp.posterior, Acquisition(UCB, 0.5)),))


@pytest.mark.parametrize(("lower", "upper"), [(0.0, 1.0), (0.3, 0.6)])
def test_the_maximum_in_a_box_is_found(lower, upper):
    utility = Utility((Term(model().posterior, Acquisition(UCB, 0.5)),))
    candidates = [lower + (upper - lower) * make_points(50, 2, seed=seed) for seed in (3, 4)]
    found = maximize(utility, box(PLANE, lower, upper), candidates, free, starts=3)
    side = np.linspace(lower, upper, 120)
    everywhere = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    assert utility.values(found[None])[0] >= utility.values(everywhere).max() - 1e-6
    assert ((found >= lower) & (found <= upper)).all()


FINITE = Space({"a": Int(0, 6), "b": Categorical(list("wxyz")), "c": Int(0, 4)})


def test_neighbours_lead_to_the_best_point_of_a_finite_space():
    """From one candidate of hundred and forty; what is not within the box is no neighbour."""
    utility, grid = on(FINITE), FINITE.grid()
    values = utility.values(grid)
    reached = [maximize(utility, box(FINITE), [grid[[row]]], free, starts=1).tolist() for row in range(0, len(grid), 7)]
    best = grid[np.argmax(values)].tolist()
    assert reached.count(best) > 0.5 * len(reached)
    lower = np.array([0.0, 0.0, best[2] + 0.1])  # a box without it
    inside = grid[:, 2] >= lower[2]
    part = box(FINITE)._replace(corners=Corners(lower, np.ones(3)))
    found = maximize(utility, part, [grid[inside][::5]], free, starts=8)
    assert utility.values(found[None])[0] == pytest.approx(values[inside].max())


def test_candidates_of_each_group_are_improved():
    """The highest peak is narrow, and near one candidate only, of the second group."""
    X = make_points(40, 2)
    peak = np.array([0.8, 0.2])
    gp = fitted(np.vstack([X, peak]), np.append(-np.sum((X - [0.2, 0.7]) ** 2, axis=1), 2.0))
    utility = Utility((Term(gp.posterior, MEAN),))
    broad = [0.2, 0.7] + 0.1 * (make_points(9, 2, seed=1) - 0.5)
    flat = [0.9, 0.9] + 0.05 * (make_points(9, 2, seed=2) - 0.5)
    near = peak + 0.05
    found = maximize(utility, box(PLANE), [broad, np.vstack([flat, near])], free, starts=1)
    side = np.linspace(-0.1, 0.1, 80)
    around = peak + np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    assert utility.values(found[None])[0] >= utility.values(around).max() - 1e-6


def test_steps_and_gradients_take_turns():
    """The optimum has another category and other numbers than the only candidate."""
    space = Space({"x": Float(0, 1), "n": Int(0, 200), "c": Categorical(list("xyz"))})

    def value(X):
        return -((X[:, 0] - 0.2 - 0.6 * (X[:, 2] > 0.6)) ** 2) - (X[:, 1] - 0.2) ** 2 + (X[:, 2] > 0.6)

    utility = on(space, 80, value=value)
    start = space.snap(np.array([[0.1, 0.9, 0.1]]))
    found = maximize(utility, box(space), [start], free, starts=1)
    np.testing.assert_array_equal(space.snap(found[None])[0], found)
    many = space.snap(np.random.default_rng(1).random((20_000, 3)))
    assert utility.values(found[None])[0] >= utility.values(many).max() - 1e-3
    assert found[2] > 0.6


def test_what_a_step_makes_active_has_each_of_the_dormant_values():
    """Of two rows of values, the second one is better; none of them is reached by steps from the other."""
    when = {"kind": "b"}
    space = Space(
        {"kind": Categorical(list("ab")), "s": Categorical(list("pqrst"), when=when), "t": Int(0, 3, when=when)}
    )
    utility = on(space, 80, value=lambda X: np.where((X[:, 0] > 0.5) & (X[:, 1] > 0.6) & (X[:, 2] > 0.6), 1.0, 0.0))
    start = space.snap(np.array([[0.1, 0.5, 0.5]]))
    dormant = space.rounded(np.array([[0.9, 0.1, 0.1], [0.9, 0.7, 0.7]]))
    found = maximize(utility, box(space, dormant=dormant), [start], free, starts=1)
    assert space.decode(found)["kind"] == "b"
    assert min(found[1], found[2]) > 0.6


def test_what_becomes_active_has_the_values_of_the_dormant_points():
    space = Space({"kind": Categorical(list("ab")), "s": Float(0, 1, when={"kind": "b"}), "x": Float(0, 1)})
    utility = on(space, 60, value=lambda X: np.where(X[:, 0] > 0.5, 1.0 - (X[:, 1] - 0.8) ** 2, 0.0) + 0.1 * X[:, 2])
    start = space.snap(np.array([[0.1, 0.5, 0.3]]))
    assert start[0, 1] == INACTIVE
    dormant = np.array([[0.5, 0.75, 0.5], [0.5, 0.1, 0.5]])
    found = maximize(utility, box(space, dormant=dormant), [start], free, starts=1)
    assert found[1] == pytest.approx(0.8, abs=0.1)
    assert space.decode(found)["kind"] == "b"


def test_without_starts_the_best_candidate_is_taken_as_it_is():
    utility = Utility((Term(model().posterior, MEAN),))
    candidates = make_points(40, 2, seed=3)
    found = maximize(utility, box(PLANE), [candidates[:15], candidates[15:]], free, starts=0)
    np.testing.assert_array_equal(found, candidates[np.argmax(utility.values(candidates))])


def test_the_best_point_that_is_not_taken_is_next():
    utility = Utility((Term(model().posterior, MEAN),))
    candidates, out = make_points(40, 2, seed=3), []
    order = candidates[np.argsort(-utility.values(candidates))]
    for expected in order[:5]:
        found = maximize(utility, box(PLANE), [candidates], lambda x: x.tolist() in out, starts=0)
        np.testing.assert_array_equal(found, expected)
        out.append(found.tolist())
    assert maximize(utility, box(PLANE), [candidates], lambda x: True, starts=2) is None


def test_a_crowded_optimum_is_left_to_the_point_that_is_there():
    gp = model()

    def best(posterior, *alone):
        candidates = [make_points(200, 2, seed=3)]
        utility = Utility((Term(posterior, MEAN),), alone)
        return maximize(utility, box(PLANE), candidates, free, starts=2)

    alone = gp.posterior
    optimum = best(alone)
    given = gp.extended(optimum[None])
    np.testing.assert_allclose(best(given), optimum, atol=1e-3)  # the mean does not move
    other = best(given, alone)
    assert shares_left(given, alone, other[None])[0] >= CROWDED
    assert shares_left(given, alone, optimum[None])[0] < CROWDED


def test_a_box_that_is_full_proposes_nothing():
    gp = model()
    alone, x = gp.posterior, np.array([0.31, 0.77])
    given = gp.extended(x[None])
    near = [x + 1e-6 * make_points(20, 2)]
    utility = Utility((Term(given, Acquisition(UCB, 1.0)),), (alone,))
    found = maximize(utility, box(PLANE, x - 1e-6, x + 1e-6), near, free, starts=2)
    assert found is None
