"""What the parts of an optimizer share: copies for inspection, held points, fallbacks, and the state."""

from __future__ import annotations

import copy
from dataclasses import FrozenInstanceError, replace
from types import SimpleNamespace

import numpy as np
import pytest
from tests.runs import listen, new_run, tell

from numbo import Arms, Categorical, Float, Int, Space
from numbo.kernels.acquisition import CERTAIN, success_probabilities
from numbo.models.curves import Curves
from numbo.run.candidates import DORMANT
from numbo.run.situation import SCOUTED
from numbo.spaces import INACTIVE
from numbo.trials import Curve

SPACE = Space({"x": Float(0.0, 1.0), "k": Int(0, 9)})


def told(n=12, space=SPACE, fails=lambda p: False, **settings):
    run, rng = new_run(space, **settings), np.random.default_rng(0)
    for _ in range(n):
        p = space.decode(space.snap(rng.random((1, space.d)))[0])
        tell(run, p, None if fails(p) else float(rng.random()))
    return run


def test_there_is_no_best_of_several_objectives():
    run = new_run(SPACE, directions=("minimize",) * 3)
    with pytest.raises(ValueError, match=r"^There is no best point of 3 objectives: see front\(\)\.$"):
        _ = run.best
    assert new_run(SPACE).best is None
    found = told(directions=("minimize",))
    assert found.best == (found.history.params(found.history.best), -found.history.y.max())


def test_a_copy_for_inspection_has_nothing_pending_and_leaves_the_run_as_it_is():
    run = told()
    run.hold("a", {"x": 0.5, "k": 3}, 7)
    before = copy.deepcopy(run.state_dict())
    twin = run.quiet()
    assert (len(twin.history.pending), twin.times.asks) == (0, [])
    tell(twin, {"x": 0.1, "k": 1}, 5.0)
    twin.rng.random()
    twin.success()
    twin.history.exclude(SPACE.encode({"x": 0.2, "k": 2}))
    assert repr(run.state_dict()) == repr(before)
    x = SPACE.encode({"x": 0.1, "k": 1})
    assert (twin.available.taken(x), run.available.taken(x)) == (True, False)
    assert twin.noise is not run.noise


def test_values_that_are_fixed_make_another_situation():
    run = told()
    kept = replace(run, fixed=np.array([0.25, np.nan]))
    assert (kept.space_filling()[0], kept.history) == (0.25, run.history)
    assert run.space_filling()[0] != 0.25
    with pytest.raises(FrozenInstanceError):
        run.fixed = kept.fixed


def test_what_a_copy_knows_of_claims_is_frozen():
    """A model of the search may claim more later: a snapshot keeps to what was claimed when it was taken."""
    run, model = told(), SimpleNamespace(claimed_noise=0.1)
    listen(run, [model])
    twin = run.quiet()
    model.claimed_noise = 0.9
    assert (run.noise.claimed, twin.noise.claimed) == (0.9, 0.1)


def test_another_runs_history_is_known_as_if_it_had_been_told():
    space = Space({"a": Int(0, 5), "k": Int(0, 9)})
    run, other = told(20, space, avoid_repeats=True), new_run(space, avoid_repeats=True)
    listen(other, [SimpleNamespace(claimed_noise=0.3)], asks=True)
    other = other.following(run)
    for x in run.history.X:
        assert other.available.taken(x)
    assert not set(space.grid_index(run.history.X)) & set(other.available.rows())
    assert (other.noise.claimed, other.noise.asks) == (0.3, True)
    for position in (0, 30):
        np.testing.assert_array_equal(other.space_filling(position), run.space_filling(position))


def test_models_of_each_objective_are_heard():
    run = new_run(SPACE, directions=("minimize", "maximize"))
    exact, noisy, local = (SimpleNamespace(claimed_noise=share) for share in (0.0, 0.2, 0.4))
    listen(run, [exact, noisy], [local, exact])
    assert [noise.claimed for noise in run.noises] == [0.4, 0.2]


def test_points_that_fill_the_space_are_those_of_the_design_at_the_number_of_points():
    run = told(3)
    np.testing.assert_array_equal(run.space_filling(), run.design.point(3))
    run.hold("a", {"x": 0.5, "k": 3}, -1)
    np.testing.assert_array_equal(run.space_filling(), run.design.point(4))
    np.testing.assert_array_equal(run.space_filling(9), run.design.point(9))


def test_scouts_keep_away_from_where_trials_fail():
    run = told(60, fails=lambda p: p["x"] > 0.5, learn_failures=True)
    success = run.success()
    scouts = [run.scout(k) for k in range(100, 130)]
    assert min(success_probabilities(success, np.array(scouts))) >= success.threshold
    assert np.mean([x[0] > 0.5 for x in scouts]) < 0.1
    certain = told(10)
    assert certain.success() is CERTAIN
    np.testing.assert_array_equal(certain.scout(5), certain.space_filling(5))


def test_a_scout_is_found_even_if_all_are_likely_to_fail(monkeypatch):
    run = told(30, fails=lambda p: p["k"] > 4, learn_failures=True)
    impossible = run.success()._replace(threshold=2.0)
    monkeypatch.setattr(run.feasibility, "update", lambda history: impossible)
    np.testing.assert_array_equal(run.scout(40), run.space_filling(40))
    assert SCOUTED > 1


def test_what_was_reported_is_kept_when_a_point_is_held_again():
    run = new_run(SPACE)
    run.hold("a", {"x": 0.5, "k": 3}, 7)
    curve = Curve(np.array([1.0]), np.array([0.5]))
    run.history.pending["a"] = run.history.pending["a"].reporting(curve)
    run.hold("a", {"x": 0.5, "k": 3}, 8)
    assert (run.history.pending["a"].curve, run.history.pending["a"].origin) == (curve, 8)
    run.hold("a", {"x": 0.6, "k": 3}, 8)  # another point
    assert run.history.pending["a"].curve is None


def test_what_becomes_active_has_the_values_of_the_best_where_it_was_and_random_ones():
    space = Space({"kind": Categorical(list("ab")), "s": Float(0.0, 1.0, when={"kind": "a"}), "x": Float(0.0, 1.0)})
    run = new_run(space)
    values = [("a", 0.2, 1.0), ("b", None, 9.0), ("a", 0.7, 3.0), ("a", 0.4, 2.0)]
    for k, (kind, s, value) in enumerate(values):
        tell(run, {"kind": kind, "x": k / 10} | ({} if s is None else {"s": s}), value)
    found = run.dormant(np.random.default_rng(0))
    assert found.shape == (DORMANT, 3)
    np.testing.assert_allclose(found[: DORMANT - 1, 1], [0.7, 0.4])
    assert found[-1, 1] not in (0.2, 0.4, 0.7, INACTIVE)
    assert new_run(SPACE).dormant(np.random.default_rng(0)) is None
    assert new_run(Arms(np.eye(3))).dormant(np.random.default_rng(0)) is None


def test_under_constraints_the_best_where_active_meet_them():
    space = Space({"kind": Categorical(list("ab")), "s": Float(0.0, 1.0, when={"kind": "a"})})
    run = new_run(space, constraints=("c",))
    tell(run, {"kind": "a", "s": 0.2}, 9.0, constraints={"c": 1.0})
    tell(run, {"kind": "a", "s": 0.7}, 1.0, constraints={"c": -1.0})
    assert run.dormant(np.random.default_rng(0))[0, 1] == pytest.approx(0.7)


def test_a_restored_run_is_the_same_to_its_random_stream():
    run = told(30, fails=lambda p: p["k"] > 6, ends=Curves)
    run.rng.random(7)
    run.hold("a", {"x": 0.5, "k": 3}, 7)
    run.history.pending["a"] = run.history.pending["a"].reporting(Curve(np.array([1.0, 2.0]), np.array([0.5, 0.6])))
    run.success()
    state = copy.deepcopy(run.state_dict())
    twin = new_run(SPACE, ends=Curves, seed=99).restored(state)
    assert repr(twin.state_dict()) == repr(run.state_dict())
    assert twin.rng.random() == run.rng.random()
    np.testing.assert_array_equal(twin.scout(), run.scout())
