"""Points that the models of several objectives expect beyond a front: the front of the means, searched and found."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from tests.helpers import MOSTLY, make_points, over_seeds, seeded
from tests.runs import new_run, tell

from numbo import GSSBO, Arms, Float, Int, Space
from numbo.inspection.beyond import AHEAD, LIKELY, MOST, beyond
from numbo.kernels.acquisition import LOG_EI, Acquisition, Success
from numbo.kernels.covariance import RBF
from numbo.kernels.front import hypervolume
from numbo.models.constraints import Constraints
from numbo.models.gp import ExactGP
from numbo.models.surrogate import Surrogate
from numbo.models.transforms import OutputTransform
from numbo.models.view import ModelView
from numbo.trials.front import non_dominated

SPACE = {"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}
NUMERICAL = np.zeros(2, dtype=bool)


def trade_off(p):
    """The front is the line between two optima: ``x`` in [0.2, 0.8], ``y = 0.5``."""
    return (p["x"] - 0.2) ** 2 + (p["y"] - 0.5) ** 2, (p["x"] - 0.8) ** 2 + (p["y"] - 0.5) ** 2


def flipped(p):
    first, second = trade_off(p)
    return first, -second


def ideal():
    t = np.linspace(0.0, 0.6, 4001)
    values = np.stack([-(t**2), -((0.6 - t) ** 2)], axis=1)
    return hypervolume(values, np.array([-0.5, -0.5]))


def run(opt, objective, n):
    for _ in range(n):
        p = opt.ask()
        opt.tell(p, objective(p))
    return opt


def means(Z):
    """The outputs of `trade_off`, larger ones being better."""
    return -np.stack([(Z[:, 0] - 0.2) ** 2 + (Z[:, 1] - 0.5) ** 2, (Z[:, 0] - 0.8) ** 2 + (Z[:, 1] - 0.5) ** 2], axis=1)


def run_of(space, X):
    """A run with trials at the points ``X (n, d)``."""
    run = new_run(space, directions=("minimize",) * 2, constraints=("c",))
    for x in X:
        params = space.decode(x)
        tell(run, params, tuple(-means(x[None])[0]), constraints={"c": x[0] - 0.5})
    return run


def view_of(success=None, constraints=None):
    gp = ExactGP(NUMERICAL, trend=False)
    gp.condition(make_points(4, 2), np.zeros(4))
    acquisition = Acquisition(LOG_EI, 0.0) if success is None else Acquisition(LOG_EI, 0.0, success)
    limits = Constraints() if constraints is None else constraints
    transform = OutputTransform(0.0, 1.0)
    none = np.empty(0, dtype=np.int64)
    return ModelView(gp.posterior, transform, gp.posterior, acquisition, none, np.full(2, 0.3), 0.1, constraints=limits)


def limits(run):
    make = partial(Surrogate, NUMERICAL, kernel="matern52", trend=True, additive=False, winsorize=False)
    out = Constraints(make, 1)
    out.update(run.history, np.arange(run.history.n))
    return out


#: Points are likely to fail in the upper part of the space.
FAILING = Success(
    RBF,
    np.array([0.0, 9.0]),
    1.0,
    NUMERICAL,
    NUMERICAL,
    np.array([[0.5], [1.0]]),
    np.array([-1.0]),
    np.zeros(1),
    1.0,
    1.0,
    0.5,
)


def front_of(run):
    X = run.history.X
    values = means(X)
    rows = np.flatnonzero(non_dominated(values))
    return X[rows], values[rows]


def ahead(values, front):
    """Whether each of the ``values (n, k)`` is ahead of every row of a front by a share of its range."""
    least = front + AHEAD * np.ptp(front, axis=0)
    return (values[:, None] > least[None]).any(axis=2).all(axis=1)


def test_in_a_finite_space_it_is_the_front_of_all_points_without_a_trial():
    arms = Arms(make_points(400, 2, seed=3))
    grid = arms.grid()
    run = run_of(arms, grid[:20])
    X, values = front_of(run)
    found = beyond(run, view_of(), means, X, values)
    others = grid[20:]
    good = others[ahead(means(others), values)]
    expected = good[non_dominated(means(good))]
    assert len(expected) > 10
    assert {x.tobytes() for x in found} == {x.tobytes() for x in expected}
    assert len(found) == len(expected)


def test_of_very_many_points_some_are_considered():
    asked = []

    def counting(Z):
        asked.append(len(Z))
        return means(Z)

    arms = Arms(make_points(MOST + 500, 2, seed=3))
    grid = arms.grid()
    run = run_of(arms, grid[:5])
    assert len(beyond(run, view_of(), counting, *front_of(run)))
    assert asked == [pytest.approx(MOST, abs=5)]


@pytest.mark.parametrize("known", [0, 3, 30])
def test_in_a_large_space_it_comes_close_to_the_front_of_the_means(known):
    space = Space(SPACE)
    run = run_of(space, make_points(known, 2, seed=4))
    X, values = front_of(run) if known else (np.empty((0, 2)), np.empty((0, 2)))
    found = beyond(run, view_of(), means, X, values)
    assert non_dominated(means(found)).all()
    if known:
        assert ahead(means(found), values).all()
    both = np.concatenate([values, means(found)])
    assert hypervolume(both, np.array([-0.5, -0.5])) > 0.993 * ideal()  # 0.99 after one round
    np.testing.assert_array_equal(beyond(run, view_of(), means, X, values), found)


def test_points_with_a_trial_are_left_out_even_if_nothing_is_known_of_them():
    arms = Arms(make_points(50, 2, seed=3))
    grid = arms.grid()
    run = run_of(arms, grid[:20])
    none = np.empty((0, 2))
    found = beyond(run, view_of(), means, none, none)
    told = {x.tobytes() for x in grid[:20]}
    assert {x.tobytes() for x in grid[non_dominated(means(grid))]} & told
    assert not {x.tobytes() for x in found} & told


def test_points_are_likely_to_succeed_and_to_meet_the_constraints():
    run = run_of(Space(SPACE), make_points(12, 2, seed=4))
    X, values = front_of(run)
    constraints = limits(run)
    for view in (view_of(success=FAILING), view_of(constraints=constraints), view_of(FAILING, constraints)):
        found = beyond(run, view, means, X[:0], values[:0])
        assert len(found)
        if view.constraints is constraints:
            assert (constraints.log_probability(found) > LIKELY).all()
            assert found[:, 0].max() < 0.55
        if view.acquisition.success is FAILING:
            chance = 1.0 - np.exp(-4.5 * (found[:, 1] - 1.0) ** 2)
            assert (chance >= 0.5).all()
            assert found[:, 1].max() < 0.65
    free = beyond(run, view_of(), means, X[:0], values[:0])
    assert free[:, 0].max() > 0.7


@over_seeds()
def test_beyond_the_front_is_what_the_models_expect():
    """Nobody measured it, it is ahead of every point of the front, and it is the front of the means."""
    opt = run(GSSBO(SPACE, directions=("minimize", "maximize"), seed=seeded(0)), flipped, 25)
    snapshot = opt.snapshot()
    found = snapshot.beyond_front()
    front = np.array([y for _, y in opt.front()]) * [-1.0, 1.0]
    assert 10 <= len(found) <= 20, MOSTLY
    assert snapshot.beyond_front() == found
    points, mean, std = (list(column) for column in zip(*found, strict=True))
    expected, deviations = opt.predict(points)
    np.testing.assert_allclose(mean, expected)
    np.testing.assert_allclose(std, deviations)
    signed = expected * [-1.0, 1.0]
    assert non_dominated(signed).all()
    assert (np.diff(signed[:, 0]) < 0.0).all()
    span = np.ptp(front, axis=0)
    assert all(((one - y) > 0.01 * span).any() for one in signed for y in front)
    told = {tuple(p.values()) for p in map(opt.space.decode, opt.observations[0])}
    assert not told & {tuple(p.values()) for p in points}
    true = np.array([flipped(p) for p in points]) * [-1.0, 1.0]  # the model is right about this function
    gained = hypervolume(true, np.array([-0.5, -0.5]))
    assert gained > 0.95 * ideal(), MOSTLY
    # nothing of many other points is left behind by it
    others = [{"x": float(x), "y": float(y)} for x, y in np.random.default_rng(seeded(1)).random((2000, 2))]
    means = opt.predict(others)[0] * [-1.0, 1.0]
    everything = np.concatenate([front, np.array([m for _, m, _ in snapshot.beyond_front(500)]) * [-1.0, 1.0]])
    assert not [m for m in means if not ((everything >= m - 0.02).all(axis=1)).any()], MOSTLY


@over_seeds()
def test_beyond_the_front_is_likely_feasible_and_likely_to_succeed():
    opt = GSSBO(SPACE, directions=("minimize",) * 2, constraints=("c",), seed=seeded(0))
    for _ in range(30):
        p = opt.ask()
        opt.tell(p, None if p["y"] > 0.45 else trade_off(p), constraints={"c": p["x"] - 0.6})
    found = opt.snapshot().beyond_front()
    assert found, MOSTLY
    points = [p for p, _, _ in found]
    assert (opt.predict_feasible(points) >= 0.9).all()
    assert max(p["x"] for p in points) < 0.63, MOSTLY
    assert max(p["y"] for p in points) < 0.6, MOSTLY
    none = GSSBO(SPACE, directions=("minimize",) * 2, constraints=("c",), seed=seeded(0))
    for _ in range(12):
        p = none.ask()
        none.tell(p, trade_off(p), constraints={"c": 0.2 + p["x"]})
    assert none.front() == none.snapshot().beyond_front() == [], MOSTLY  # nothing is expected to be feasible


def test_beyond_the_front_of_finite_spaces_and_of_some_objectives():
    X = np.random.default_rng(0).random((300, 2))
    opt = GSSBO(arms=X, directions=("minimize",) * 3, seed=0)
    for _ in range(30):
        row = opt.ask()
        x, y = X[row]
        opt.tell(row, (*trade_off({"x": x, "y": y}), y))
    told = {opt.space.decode(x) for x in opt.observations[0]}
    for objectives in (None, (0, 1), (0, 2)):
        found = opt.snapshot().beyond_front(objectives=objectives)
        rows = [row for row, _, _ in found]
        assert not told & set(rows)
        assert len(set(rows)) == len(rows)
        kept = list(objectives or range(3))
        mean = np.array([m for _, m, _ in found])[:, kept]
        assert non_dominated(-mean).all()
    everything = GSSBO({"k": Int(0, 4)}, directions=("minimize",) * 2, seed=0)
    assert everything.front() == []
    for k in range(5):
        everything.tell({"k": k}, (k, -k))
    assert everything.snapshot().beyond_front() == []
    with pytest.raises(ValueError, match="beyond_front needs at least one successful observation"):
        GSSBO(SPACE, directions=("minimize",) * 2).snapshot().beyond_front()
    for wrong in (0, "3", 2.0):
        with pytest.raises(ValueError, match=r"^count must be an integer of at least 1, got"):
            everything.snapshot().beyond_front(wrong)
    for numbers in (3, (), (2,), (-1,), (0, 0), ("0",)):
        with pytest.raises(ValueError, match=r"^objectives must be different integers from 0 to 1, got"):
            everything.snapshot().beyond_front(objectives=numbers)


@pytest.mark.parametrize("wild", [math.inf, -math.inf, 1e308])
def test_beyond_a_front_with_wild_values(wild):
    opt = run(GSSBO(SPACE, directions=("minimize",) * 2, seed=0), trade_off, 12)
    opt.tell({"x": 0.5, "y": 0.5}, (wild, -1.0))
    for point, mean, std in opt.snapshot().beyond_front():
        assert all(SPACE[name].contains(value) for name, value in point.items())
        assert np.isfinite([mean, std]).all()
