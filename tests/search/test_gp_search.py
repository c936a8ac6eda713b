"""The search with a GP over the whole space: its candidates, and the view of its model."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
from tests.runs import listen, new_run, tell
from tests.search.searches import CUBE, bowl, everything, global_search, sampled

from numbo import Arms
from numbo.search.gp_search import ARMS
from numbo.search.maximiser import PERIOD
from numbo.spaces.arms import NEIGHBOURS


def suggested(search, run, members=None):
    return search.next_point(run, everything(run) if members is None else members)


# -- the model -------------------------------------------------------------------------------------------------------


def test_the_model_is_conditioned_on_the_members_and_knows_each_copy_once():
    run = sampled(CUBE, 30)
    search = global_search(run)
    members = np.arange(0, 30, 2)
    search.update(run, members)
    np.testing.assert_array_equal(search.surrogate.members, members)
    scores = search.scores(run, members, run.history.X)
    search.update(run, members)
    utility = search.maximiser.of_one(run, search.outputs, search.acquisition(run))
    np.testing.assert_array_equal(scores, utility.values(run.history.X))


def test_the_first_model_of_a_long_history_is_fitted_to_evenly_spaced_observations():
    run = sampled(CUBE, 300)
    search = global_search(run)
    surrogate = search.prepared(run, 40)
    np.testing.assert_array_equal(surrogate.members, np.linspace(0, 299, 40).astype(int))
    assert surrogate.fits.due(300)  # the next one of the members that are chosen by it
    search.update(run, np.arange(50))
    run.hold("a", {"x": 0.1, "y": 0.2, "z": 0.3}, -1)
    search.outputs.hallucinate(run.history, run.history.X[0])
    assert search.prepared(run, 40).posterior.n == 50  # as it is, with nothing pending


def test_a_copy_has_a_model_of_its_own():
    run = sampled(CUBE, 30)
    search = global_search(run)
    search.update(run, everything(run))
    before = copy.deepcopy(search.state_dict())
    twin = copy.deepcopy(search)
    tell(run, {"x": 0.9, "y": 0.9, "z": 0.9}, 5.0)
    twin.scores(run, everything(run), run.history.X)
    assert repr(search.state_dict()) == repr(before)
    assert len(twin.surrogate.members) == 31


@pytest.mark.parametrize("directions", [("maximize",), ("maximize", "minimize")])
def test_a_restored_search_goes_on_to_the_last_bit(directions):
    def value(p):
        return bowl(p) if len(directions) == 1 else (bowl(p), p["x"])

    run = sampled(CUBE, 30, value, directions=directions)
    search = global_search(run)
    suggested(search, run)
    twin = global_search(run)
    twin.restore(copy.deepcopy(search.state_dict()), run.history)
    twin_run = run.quiet()
    for one, other in ((search, run), (twin, twin_run)):
        tell(other, {"x": 0.2, "y": 0.3, "z": 0.9}, value({"x": 0.2, "y": 0.3, "z": 0.9}))
        listen(run, one.outputs.objectives)
    np.testing.assert_array_equal(suggested(search, run), suggested(twin, twin_run))


# -- what is suggested -----------------------------------------------------------------------------------------------


def test_a_suggestion_has_a_larger_acquisition_than_any_of_many_points():
    run = sampled(CUBE, 30)
    search = global_search(run, acquisition="ucb")
    x = suggested(search, run)
    others = np.random.default_rng(5).random((5000, 3))
    scores = search.scores(run, everything(run), np.vstack([x, others]))
    assert scores[0] >= scores[1:].max() - 1e-9


@pytest.mark.parametrize("A", [300, 3 * ARMS])
def test_of_few_arms_the_best_is_suggested_and_of_many_the_best_around(A):
    U = np.random.default_rng(0).random((A, 3))
    run = new_run(Arms(50.0 * U - 7.0), avoid_repeats=True)
    for row in range(25):
        tell(run, row, float(np.exp(-8.0 * np.sum((U[row] - 0.4) ** 2))))
    search = global_search(run)
    row = run.space.decode(suggested(search, run))
    grid = run.space.grid()
    scores = search.scores(run, everything(run), grid)
    assert row >= 25
    if A < ARMS:
        assert scores[row] == pytest.approx(scores[25:].max(), rel=1e-9)
    else:
        near = run.space.grid_index(run.space.neighbours(grid[[row]]).X)
        assert len(near) == NEIGHBOURS
        assert scores[row] >= scores[np.setdiff1d(near, np.arange(25))].max() - 1e-9


def test_fixed_values_are_kept_and_the_rest_is_chosen_for_them():
    run = sampled(CUBE, 60, lambda p: -((p["x"] - p["y"]) ** 2) - (p["z"] - 0.5) ** 2)
    search = global_search(run)
    for x in (0.05, 0.95):
        kept = replace(run, fixed=CUBE.partial({"x": x}))
        found = CUBE.decode(suggested(search, kept))
        assert found["x"] == x
        assert found["y"] == pytest.approx(x, abs=0.12)


def test_suggestions_on_lines_differ_from_the_best_point_in_one_coordinate():
    run = sampled(CUBE, 20)
    search = global_search(run)
    for _ in range(4 * PERIOD):
        x = search.next_point(run, everything(run), among=lambda: search.lines(run))
        best = run.history.X[search.surrogate.rows[np.argmax(search.surrogate.means)]]
        assert np.sum(x != best) == 1
        tell(run, CUBE.decode(x), bowl(CUBE.decode(x)))


# -- the view --------------------------------------------------------------------------------------------------------


def test_the_view_is_that_of_the_model_and_stays_as_it_is():
    run = sampled(CUBE, 40)
    search = global_search(run, acquisition="ucb", beta=1.3)
    view = copy.deepcopy(search).view(run.quiet(), everything(run), buffer_size=77)
    np.testing.assert_array_equal(view.members, everything(run))
    assert (view.beta, view.buffer_size, view.sparse, view.others) == (1.3, 77, None, ())
    X = np.random.default_rng(3).random((20, 3))
    np.testing.assert_allclose(view.acquire(X), search.scores(run, everything(run), X), rtol=1e-9)
    mean, _ = view.mean_sd(run.history.X)
    np.testing.assert_allclose(mean, run.history.y, atol=0.05 * np.std(run.history.y))
    assert global_search(run, acquisition="log_ei").view(run.quiet(), everything(run)).beta is None


def test_the_view_of_several_objectives_is_that_of_the_first_with_those_of_the_others():
    run = sampled(CUBE, 30, lambda p: (bowl(p), p["x"]), directions=("maximize", "maximize"))
    search = global_search(run)
    view = search.view(run.quiet(), everything(run))
    X = np.random.default_rng(3).random((20, 3))
    (other,) = view.others
    np.testing.assert_allclose(other.mean_sd(X)[0], X[:, 0], atol=0.05)
    np.testing.assert_allclose(view.mean_sd(X)[0], [bowl(CUBE.decode(x)) for x in X], atol=0.05)
    improving = search.maximiser.improving(run, search.outputs)
    np.testing.assert_allclose(view.acquire(X), improving.values(X), rtol=1e-9)


def test_models_of_constraints_clip_nothing():
    """It could move the border into what is feasible."""
    search = global_search(new_run(CUBE), kernel="rbf", trend=False)
    own, limit = search.new_surrogate(growth=0.3), search.new_surrogate(growth=0.3, winsorize=False)
    assert (own.targets.winsorize, limit.targets.winsorize) == (True, False)
    assert (own.gp.kernel, limit.gp.kernel, limit.gp.trend, limit.fits.growth) == ("rbf", "rbf", False, 0.3)
