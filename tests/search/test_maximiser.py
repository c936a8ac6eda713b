"""Which acquisition function the global model is searched with, and what an improvement has to improve on."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.runs import new_run, tell
from tests.search.searches import CUBE, bowl, everything, global_search, sampled

from numbo import Categorical, Float, Int, Space
from numbo.kernels.acquisition import LOG_EI, UCB, mean_variance
from numbo.kernels.covariance import squared_distances
from numbo.kernels.front import front_of
from numbo.run.resolution import resolution
from numbo.search.maximiser import BETTER, FRONT_POINTS, GAP, PERIOD, STARTS, STRONG_NOISE
from numbo.spaces import Corners
from numbo.trials.front import BEYOND, non_dominated

EVERYWHERE = Corners.of_cube(3)


def updated(run, **settings):
    search = global_search(run, **settings)
    search.update(run, everything(run))
    return search


def best(search, run, count=200, corners=EVERYWHERE, **settings):
    candidates = run.space.snap(np.random.default_rng(7).random((count, run.space.d)))
    return search.maximiser.best(run, search.outputs, [candidates], corners, **settings)


# -- one objective ---------------------------------------------------------------------------------------------------


def test_exploring_and_exploiting_take_turns_of_the_same_length():
    run = new_run(CUBE)
    search, turns = global_search(run), []
    for k in range(4 * PERIOD):
        turns.append(search.maximiser.exploring(run))
        run.hold(k, {"x": 0.1, "y": 0.1, "z": k / 20}, -1)
    assert turns == ([True] * PERIOD + [False] * PERIOD) * 2
    run.history.pending.clear()
    kept = replace(run, fixed=np.array([0.5, np.nan, np.nan]))
    assert not search.maximiser.exploring(kept)
    assert not global_search(run, acquisition="ucb").maximiser.exploring(run)


@pytest.mark.parametrize(
    ("acquisition", "exploring", "kind"),
    [
        ("ucb", False, UCB),
        ("log_ei", True, LOG_EI),
        ("alternate", True, UCB),
        ("alternate", False, LOG_EI),
    ],
)
def test_the_kind_is_the_one_that_was_chosen_or_that_of_the_turn(acquisition, exploring, kind):
    run = sampled(CUBE, 20)
    search = updated(run, acquisition=acquisition, beta=1.7)
    found = search.maximiser.acquisition(run, search.outputs, exploring=exploring)
    assert found.kind == kind
    if kind == UCB:
        assert found.parameter == 1.7
        assert found.worst == search.surrogate.means.min()  # what a failure counts as
    else:
        assert found.parameter == search.surrogate.best_mean


def test_the_multiplier_grows_with_the_logarithm_of_the_observations():
    for n in (10, 40):
        run = sampled(CUBE, n)
        search = updated(run, acquisition="ucb", beta="log")
        found = search.maximiser.acquisition(run, search.outputs)
        assert found.parameter == pytest.approx(math.sqrt(0.2 * 3 * math.log(2 * n)))


def test_under_strong_noise_no_improvement_is_pursued():
    for noise, kind in ((0.0, LOG_EI), (0.5, UCB)):
        run = sampled(CUBE, 80, noise=noise)
        for i in (3, 7, 11):  # repeats that show it
            tell(run, run.history.params(i), bowl(run.history.params(i)) + noise * (-1.0) ** i)
        search = updated(run)
        assert (search.surrogate.claimed_noise > STRONG_NOISE) == (kind == UCB)
        assert search.maximiser.acquisition(run, search.outputs, exploring=False).kind == kind
        kept = replace(run, fixed=np.array([0.5, np.nan, np.nan]))
        assert search.maximiser.acquisition(kept, search.outputs).kind == LOG_EI


def test_improvement_counts_from_the_best_posterior_mean_and_not_from_the_luckiest_value():
    run, rng = new_run(CUBE), np.random.default_rng(0)
    for x in rng.random((100, 3)):
        p = CUBE.decode(x)
        tell(run, p, p["x"] + 0.3 * float(rng.normal()))
    search = updated(run, acquisition="log_ei")
    incumbent = search.maximiser.acquisition(run, search.outputs).parameter
    luckiest = search.surrogate.transform.forward(np.array([run.history.y.max()]))[0]
    assert incumbent < luckiest - 0.5
    means = mean_variance(search.surrogate.posterior, run.history.X)[0]
    assert incumbent == pytest.approx(means.max(), abs=1e-6)


def test_improvement_is_counted_from_the_means_at_pending_points():
    """A batch would go to the expected optimum again and again otherwise."""
    run = sampled(CUBE, 20)
    search, ahead = updated(run, acquisition="log_ei"), 0
    for k in range(10):
        x = best(search, run)
        expected = [mean_variance(search.surrogate.posterior, X)[0] for X in (run.history.X, run.history.pending.X)]
        incumbent = search.maximiser.acquisition(run, search.outputs).parameter
        assert incumbent == pytest.approx(max(expected[0].max(), expected[1].max(initial=-np.inf)), abs=1e-6)
        ahead += incumbent > expected[0].max() + 1e-3
        search.outputs.release()
        run.hold(k, CUBE.decode(x), -1)
    assert ahead > 0


def test_within_a_slice_improvement_is_counted_from_its_best_point():
    """The slice is far from the optimum: next to nothing in it would improve on that."""
    run = sampled(CUBE, 40)
    search = updated(run, acquisition="log_ei")
    kept = replace(run, fixed=np.array([1.0, np.nan, np.nan]))
    x = best(search, kept)
    assert x[0] == 1.0
    assert np.hypot(*(x[1:] - 0.4)) < 0.15


def test_the_best_point_lies_in_the_box_and_is_better_than_all_candidates():
    run = sampled(CUBE, 30)
    search = updated(run, acquisition="ucb")
    corners = Corners(np.array([0.1, 0.5, 0.0]), np.array([0.3, 0.9, 0.2]))
    candidates = corners.lower + (corners.upper - corners.lower) * np.random.default_rng(1).random((100, 3))
    x = search.maximiser.best(run, search.outputs, [candidates], corners)
    assert corners.hold(x[None]).all()
    values = search.scores(run, everything(run), np.vstack([x, candidates]))
    assert values[0] >= values[1:].max() - 1e-9


def test_pending_points_stay_in_the_models_until_their_next_update():
    run = sampled(CUBE, 20)
    search = updated(run)
    run.hold("a", CUBE.decode(best(search, run)), -1)
    alone = search.surrogate.posterior.n
    assert best(search, run) is not None
    assert search.surrogate.posterior.n == alone + 1
    search.update(run, everything(run))
    assert search.surrogate.posterior.n == alone


def test_points_that_most_likely_tie_with_a_known_one_are_left_out():
    """On stairs, a box around a known point has nothing but its value."""
    plane = Space({"x": Float(0, 1), "y": Float(0, 1)})
    run = sampled(plane, 60, lambda p: -sum(np.floor(10 * abs(p[name] - 0.6)) for name in "xy"))
    known = run.history.X[run.history.best]
    around = Corners(known - 1e-3, known + 1e-3)
    candidates = [known + 1e-3 * (2.0 * np.random.default_rng(0).random((50, 2)) - 1.0)]
    for avoid in (True, False):
        search = updated(run, acquisition="log_ei", avoid_ties=avoid)
        covariance = search.surrogate.gp.covariance
        radius = resolution(run.history, run.noise, covariance)
        assert squared_distances(covariance, candidates[0], known, np.inf).max() < radius
        found = search.maximiser.best(run, search.outputs, candidates, around)
        assert (found is None) == avoid
        kept = replace(run, fixed=np.array([known[0], np.nan]))  # a slice may have no other points
        assert search.maximiser.best(kept, search.outputs, candidates, around) is not None


def test_where_repeats_are_due_the_best_known_points_are_candidates_of_a_discrete_space():
    space = Space({"a": Int(0, 400), "b": Int(0, 400)})
    for repeating in (True, False):
        run = sampled(space, 40, lambda p: -abs(p["a"] - 100) - abs(p["b"] - 300), avoid_repeats=not repeating)
        search = updated(run, acquisition="ucb", beta=0.0)
        known = run.history.X[np.argsort(-search.surrogate.means)[:STARTS]]
        far = [space.snap(np.array([[0.99, 0.01]]))]
        x = search.maximiser.best(run, search.outputs, far, Corners.of_cube(2), starts=0)
        assert (x.tolist() in known.tolist()) == repeating


# -- constraints -----------------------------------------------------------------------------------------------------


def limited(n=60, feasible=True):
    """The optimum violates the constraint, whose border is at x = 0.3; or all do."""
    run = new_run(CUBE, constraints=("c",))
    for x in np.random.default_rng(0).random((n, 3)):
        p = CUBE.decode(x)
        tell(run, p, bowl(p), constraints={"c": p["x"] - 0.3 + (not feasible)})
    return run


def test_what_has_to_be_improved_on_meets_all_constraints():
    run = limited()
    search = updated(run, acquisition="log_ei")
    met = run.history.met[everything(run)]
    expected = search.surrogate.means[met].max()
    assert search.maximiser.acquisition(run, search.outputs).parameter == pytest.approx(expected)
    assert expected < search.surrogate.best_mean
    run.hold("a", {"x": 0.28, "y": 0.4, "z": 0.4}, -1)
    run.hold("b", {"x": 0.45, "y": 0.4, "z": 0.4}, -1)  # which most likely violates it
    search.outputs.hallucinate(run.history, run.history.X[0])
    mean = mean_variance(search.surrogate.posterior, run.history.pending.X)[0]
    assert search.maximiser.acquisition(run, search.outputs).parameter == pytest.approx(max(expected, mean[0]))


def test_as_long_as_nothing_is_feasible_the_probability_that_constraints_hold_is_maximised():
    run = limited(feasible=False)
    search = updated(run, acquisition="log_ei")
    Z = np.random.default_rng(1).random((50, 3))
    utility = search.maximiser.of_one(run, search.outputs, search.acquisition(run))
    np.testing.assert_allclose(utility.values(Z), search.outputs.constraints.log_probability(Z), rtol=1e-9, atol=1e-12)
    assert best(search, run)[0] < 0.1


# -- several objectives ----------------------------------------------------------------------------------------------


def trade_off(n, noise=0.0, **settings):
    run, rng = new_run(CUBE, directions=("minimize", "maximize"), **settings), np.random.default_rng(0)
    for x in rng.random((n, 3)):
        p = CUBE.decode(x)
        limits = {"constraints": {"c": 0.3 - p["y"]}} if settings else {}
        values = np.array([p["x"] ** 2, 1.0 - (p["x"] - 1.0) ** 2 - (p["y"] - 0.5) ** 2]) + noise * rng.normal(size=2)
        tell(run, p, tuple(values), **limits)
    return run


def transformed(search, run):
    """All outputs in the units of the models."""
    values = [run.history.values(output=j) for j in range(2)]
    return np.stack(
        [one.transform.forward(y) for one, y in zip(search.outputs.objectives, values, strict=True)], axis=1
    )


def test_what_has_to_be_improved_on_is_the_front_above_a_point_below_its_worst_values():
    run = trade_off(40)
    search = updated(run)
    Y = transformed(search, run)
    points = Y[non_dominated(Y)]
    low, high = points.min(axis=0), points.max(axis=0)
    reference = low - BEYOND * (high - low) - np.ptp(Y, axis=0) / len(points)
    found = search.maximiser.improving(run, search.outputs).front
    expected = front_of(points, reference)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other)
    assert len(points) < FRONT_POINTS[2]


def test_what_is_expected_of_pending_points_is_part_of_the_front():
    run = trade_off(40)
    search = updated(run)
    x = best(search, run)
    before = search.maximiser.improving(run, search.outputs).values(x[None])[0]
    run.hold("a", CUBE.decode(x), -1)
    search.outputs.hallucinate(run.history, run.history.X[0])
    after = search.maximiser.improving(run, search.outputs).values(x[None])[0]
    assert after < before - 2.0


def test_of_noisy_objectives_what_the_models_expect_counts():
    run = trade_off(60, noise=0.2)
    for i in (3, 7, 11):  # repeats that show it
        tell(run, run.history.params(i), tuple(run.goal.values_of(run.history.outputs(np.array([i])))[0] + 0.3))
    search = updated(run)
    assert run.noises[0].found
    bounds = search.maximiser.improving(run, search.outputs).front.bounds
    told = transformed(search, run).max(axis=0)
    assert (np.max(bounds[:, :-1], axis=1) < told - 0.1).any()


def optimistic_gain(search, run, x):
    """By how much of its width the front has to move in all objectives to be as good as ``x``, at its luckiest."""
    means, variances = zip(*(mean_variance(one.posterior, x[None]) for one in search.outputs.objectives), strict=True)
    lucky = [float(mean[0]) + BETTER * math.sqrt(variance[0]) for mean, variance in zip(means, variances, strict=True)]
    Y = transformed(search, run)[run.history.front.rows]
    width = Y.max(axis=0) - Y.min(axis=0)
    return min(max((lucky[j] - y[j]) / width[j] for j in range(2)) for y in Y)


def test_along_a_front_the_point_is_looked_at_that_would_move_it_farthest():
    run = trade_off(12)
    search = updated(run)
    Z = np.random.default_rng(2).random((50, 3))
    gains = [optimistic_gain(search, run, x) for x in Z]
    x = search.maximiser.beyond(run, search.outputs, Z)
    np.testing.assert_array_equal(x, Z[np.argmax(gains)])
    run.hold("a", CUBE.decode(x), -1)
    other = search.maximiser.beyond(run, search.outputs, Z)
    assert other is not None
    assert not np.array_equal(other, x)
    search.outputs.release()
    run.history.pending.clear()
    known = Z[np.array(gains) <= GAP]
    assert len(known) == 0 or search.maximiser.beyond(run, search.outputs, known) is None


def test_along_a_front_nothing_is_looked_at_that_is_known_well():
    run = trade_off(120)
    search = updated(run)
    assert search.maximiser.beyond(run, search.outputs, run.history.X[::7] + 1e-4) is None


def test_along_a_front_points_that_most_likely_violate_a_constraint_are_worth_less():
    run = trade_off(12, constraints=("c",))
    search = updated(run)
    Z = np.random.default_rng(2).random((50, 3))
    gains = np.array([optimistic_gain(search, run, x) for x in Z])
    worth = np.log(np.maximum(gains, GAP)) + search.outputs.constraints.log_probability(Z)
    assert np.argmax(worth) != np.argmax(gains)
    np.testing.assert_array_equal(search.maximiser.beyond(run, search.outputs, Z), Z[np.argmax(worth)])


def test_points_that_may_violate_a_constraint_are_worth_less():
    run = trade_off(60, constraints=("c",))
    search = updated(run)
    utility = search.maximiser.improving(run, search.outputs)
    free = utility._replace(terms=utility.terms[:2])
    Z = np.random.default_rng(3).random((200, 3))
    lost = utility.values(Z) - free.values(Z)
    np.testing.assert_allclose(lost, search.outputs.constraints.log_probability(Z), rtol=1e-6, atol=1e-9)
    assert lost[Z[:, 1] < 0.1].max() < lost[Z[:, 1] > 0.6].min()


def test_a_space_of_categories_is_searched_too():
    space = Space({name: Categorical(list("pqrs")) for name in "abcdefg"})
    run = sampled(space, 40, lambda p: sum(value == "p" for value in p.values()))
    search = updated(run)
    x = best(search, run, 300, Corners.of_cube(7))
    assert sum(value == "p" for value in space.decode(x).values()) >= 4
