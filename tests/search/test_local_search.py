"""The local search: where it starts, the box it searches, and what it makes of observations, also of noisy ones."""

from __future__ import annotations

import copy
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from tests.runs import listen, new_run, tell
from tests.search.searches import CUBE, bowl, global_search, local_search, sampled

from numbo import Categorical, Float, Int, Space
from numbo.models.curves import Curves
from numbo.run.situation import GLOBAL
from numbo.search.engine import Origin
from numbo.search.local_search import LOCAL_CANDIDATES
from numbo.search.trust_region import INITIAL_LENGTH, SCOUTS
from numbo.spaces import INACTIVE
from numbo.trials import Curve


def observe(run, local, p, value, origin=GLOBAL, **others):
    """Tell a result, and let the search see it as an optimizer does."""
    i = tell(run, p, value, origin=origin, **others)
    local.tell(run, i, run.history.assured(i), origin)
    return i


def started(n=30, space=CUBE, value=bowl, noise=0.0, number=0, **settings):
    """A local search that has seen ``n`` random points: it has a center."""
    run, rng = new_run(space, **settings), np.random.default_rng(0)
    local = local_search(run, global_search(run), number=number)
    for x in space.snap(rng.random((n, space.d))):
        p = space.decode(x)
        observe(run, local, p, value(p) + noise * rng.normal() if noise else value(p))
    return run, local


# -- where it starts -------------------------------------------------------------------------------------------------


def test_the_global_model_scouts_for_the_first_region_and_the_best_scout_is_its_center():
    run, local = started(0)
    for k, x in enumerate(np.random.default_rng(0).random((SCOUTS, 3))):
        assert (local.propose(run), local.eager(run)) == (None, False)
        observe(run, local, CUBE.decode(x), float(k == 2))
    assert local.propose(run) is not None
    assert local.region(run.history).center == 2


def test_every_third_region_starts_among_points_that_fill_the_space():
    run, local = started(10)
    local.trust_region = local.new_region(3, number=2)
    assert local.eager(run)
    suggestion = local.propose(run)
    np.testing.assert_array_equal(suggestion.x, run.scout())
    assert suggestion.origin == GLOBAL
    kept = replace(run, fixed=np.array([0.5, np.nan, np.nan]))
    assert not local.eager(kept)


# -- what it proposes ------------------------------------------------------------------------------------------------


def test_points_lie_in_the_box_around_the_center_and_know_where_they_come_from():
    run, local = started(number=3)
    local.trust_region.length = 0.2
    corners = local.update(run)
    center = run.history.X[local.trust_region.center]
    assert corners.hold(center[None]).all()
    for _ in range(5):
        suggestion = local.propose(run)
        assert corners.hold(suggestion.x[None]).all()
        assert Origin.of(suggestion.origin) == (3, local.trust_region.origin)
        local.outputs.release()


def test_a_search_ends_at_the_optimum():
    run, local = started(20)
    for _ in range(40):
        found = local.propose(run)
        if found is None:
            break
        p = CUBE.decode(found.x)
        observe(run, local, p, bowl(p), found.origin)
    assert run.history.y.max() > -1e-4


def test_categories_are_free_and_what_is_inactive_may_wake():
    space = Space(
        {"kind": Categorical(list("abc")), "s": Float(0, 1, when={"kind": "b"}), "x": Float(0, 1), "n": Int(0, 5)}
    )

    def value(p):
        return -((p["x"] - 0.4) ** 2) - 0.1 * abs(p["n"] - 3) + (1.0 - (p["s"] - 0.5) ** 2 if "s" in p else 0.0)

    run, local = started(12, space, lambda p: value(p) - 1.2 * (p["kind"] == "b"))
    local.trust_region.length = 0.1
    corners = local.update(run)
    assert (corners.lower[0], corners.upper[0]) == (0.0, 1.0)
    center = run.history.X[local.trust_region.center]
    assert center[1] == INACTIVE
    kinds = set()
    for k in range(12):
        p = space.decode(local.propose(run).x)
        space.encode(p)
        kinds.add(p["kind"])
        run.hold(k, p, -1)
    assert len(kinds) > 1


def test_a_slice_that_does_not_meet_the_region_is_left_to_the_global_model():
    run, local = started()
    local.trust_region.length = 0.1
    center = run.history.X[local.trust_region.center]
    for inside in (True, False):
        fixed = np.array([center[0] if inside else (center[0] + 0.5) % 1.0, np.nan, np.nan])
        kept = replace(run, fixed=fixed)
        found = local.propose(kept)
        assert (found is not None) == inside
        assert not inside or found.x[0] == center[0]


def test_where_only_what_fails_is_left_the_region_is_left_to_the_global_model():
    """All points of the branch that works are known; those of the other one always fail."""
    space = Space({"kind": Categorical(["works", "fails"]), "a": Int(0, 4), "b": Int(0, 4)})
    run, local = started(0, space, learn_failures=True)
    for k, (a, b) in enumerate(itertools.product(range(5), repeat=2)):
        observe(run, local, {"kind": "works", "a": a, "b": b}, float(a + b))
        if k % 3 == 0:
            tell(run, {"kind": "fails", "a": a, "b": b}, None)
    assert local.trust_region.center >= 0
    assert not run.may_succeed(space.encode({"kind": "fails", "a": 1, "b": 1}))
    assert run.may_succeed(space.encode({"kind": "works", "a": 1, "b": 1}))
    assert local.propose(run) is None


@pytest.mark.parametrize("d", [3, 60])
def test_candidates_differ_from_the_center_in_twenty_coordinates_at_most_on_average(d, monkeypatch):
    run = sampled(Space({f"x{j}": Float(0.0, 1.0) for j in range(d)}), 12)
    search = global_search(run)
    local, seen = local_search(run, search), []
    for i in range(12):
        local.tell(run, i, float(run.history.y[i]), GLOBAL)

    def spy(run, outputs, groups, corners, center):
        seen.append((groups[0], corners))

    monkeypatch.setattr(search.maximiser, "best", spy)
    assert local.propose(run) is None
    ((points, corners),) = seen
    center = run.history.X[local.trust_region.center]
    np.testing.assert_array_equal(points[0], center)
    changed = (points[1:] != center).sum(axis=1)
    assert len(changed) == LOCAL_CANDIDATES
    assert changed.min() >= 1
    assert changed.mean() == pytest.approx(min(d, 20), rel=0.1)
    assert corners.hold(points).all()


# -- what it makes of observations -----------------------------------------------------------------------------------


def test_results_count_for_the_box_that_they_were_asked_from():
    run, local = started(number=1)
    region = local.trust_region
    asked = Origin(1, region.origin).packed
    for _ in range(3):
        observe(run, local, {"x": 0.9, "y": 0.9, "z": 0.9}, -5.0, asked)
    assert region.failures == 3
    for foreign in (GLOBAL, Origin(0, region.origin).packed):
        observe(run, local, {"x": 0.9, "y": 0.9, "z": 0.8}, -5.0, foreign)
    assert region.failures == 3
    observe(run, local, {"x": 0.4, "y": 0.4, "z": 0.4}, 1.0, asked)
    assert (region.failures, region.successes, region.best) == (0, 1, 1.0)


def test_a_run_of_failures_is_as_long_as_what_is_active_at_the_center():
    others = {f"x{j}": Float(0.0, 1.0, when={"kind": "b"}) for j in range(9)}
    space = Space({"kind": Categorical(list("ab")), "y": Float(0.0, 1.0), **others})
    for kind, length in (("a", 4), ("b", 11)):
        run, local = started(12, space, lambda p, kind=kind: float(p["kind"] == kind) + p["y"])
        for k in range(length):
            assert local.trust_region.length == INITIAL_LENGTH
            origin = Origin(0, local.trust_region.origin).packed
            p = space.decode(space.snap(np.random.default_rng(100 + k).random((1, space.d)))[0])
            observe(run, local, p, -9.0, origin)
        assert local.trust_region.length == INITIAL_LENGTH / 2


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_an_infinite_value_is_no_improvement(value):
    run, local = started()
    before = (local.trust_region.center, local.trust_region.best)
    observe(run, local, {"x": 0.1, "y": 0.2, "z": 0.3}, value, Origin(0, local.trust_region.origin).packed)
    assert (local.trust_region.center, local.trust_region.best) == before
    assert local.trust_region.failures == 1


def repeated(run, local, noise):
    """Repeats that show the noise."""
    for i in (3, 7, 11):
        p = run.history.params(i)
        observe(run, local, p, bowl(p) + noise * (-1.0) ** i)


def test_under_noise_the_region_waits_for_what_the_model_expects():
    run, local = started(60, noise=0.3)
    repeated(run, local, 0.5)
    local.update(run)
    assert local.surrogate.averages(run.noise)
    before = local.trust_region.seen
    observe(run, local, {"x": 0.9, "y": 0.9, "z": 0.9}, 3.0, Origin(0, local.trust_region.origin).packed)  # a lucky one
    assert local.trust_region.seen == before
    local.update(run)
    assert local.trust_region.seen == before + 1
    best = local.surrogate.rows[np.argmax(local.surrogate.means)]
    expected = local.surrogate.mean_sd(run.history.X[[best]])[0][0]
    assert (local.trust_region.center, local.trust_region.best) == (best, pytest.approx(expected))
    assert local.trust_region.best < 1.0  # a lucky value is no measure


def test_what_waits_survives_a_restore():
    run, local = started(60, noise=0.3)
    repeated(run, local, 0.5)
    local.update(run)
    observe(run, local, {"x": 0.9, "y": 0.9, "z": 0.9}, 3.0, Origin(0, local.trust_region.origin).packed)
    twin = local_search(run, global_search(run))
    twin.restore(copy.deepcopy(local.state_dict()), run.history)
    listen(run, local.outputs.objectives)
    for one in (local, twin):
        one.update(run)
    assert twin.trust_region == local.trust_region
    assert repr(twin.state_dict()) == repr(local.state_dict())


def test_what_is_expected_of_a_stopped_trial_at_the_center_may_change():
    run = new_run(CUBE, ends=Curves)
    local = local_search(run, global_search(run))
    rng = np.random.default_rng(0)
    for k, x in enumerate(rng.random((40, 3))):
        p, count = CUBE.decode(x), 3 if k % 3 == 0 else 9
        values = bowl(p) - np.exp(-0.4 * np.arange(1.0, 10.0)) - 0.2 * rng.random()
        curve = Curve(np.arange(1.0, count + 1.0), values[:count])
        x = run.space.encode(p)
        i = run.history.add(x, values[count - 1], p, GLOBAL, final=count == 9, curve=curve)
        local.tell(run, i, run.history.assured(i), GLOBAL)
        center = local.trust_region.center
        if center >= 0 and run.history.stopped[center]:
            assert local.trust_region.best == run.history.assured(center)


def test_where_constraints_are_violated_the_center_is_what_violates_them_least():
    run = new_run(CUBE, constraints=("c",))
    local = local_search(run, global_search(run))
    for x in np.random.default_rng(0).random((30, 3)):
        p = CUBE.decode(x)
        observe(run, local, p, bowl(p), constraints={"c": 0.5 + p["x"]})
    assert local.trust_region.center == run.history.best == np.argmin(run.history.X[:, 0])
    i = observe(run, local, {"x": 0.9, "y": 0.9, "z": 0.9}, -9.0, constraints={"c": -0.1})
    assert local.trust_region.center == i


def test_a_region_that_is_given_up_while_values_are_folded_in_proposes_nothing():
    run, local = started(60, noise=0.3)
    repeated(run, local, 0.5)
    local.update(run)
    local.trust_region.length = local.trust_region.shortest
    asked, number = Origin(0, local.trust_region.origin).packed, local.trust_region.number
    for k in range(4):
        observe(run, local, {"x": 0.9, "y": 0.9, "z": 0.1 * k}, -3.0, asked)
    assert local.propose(run) is None
    assert local.trust_region.number == number + 1


def test_under_noise_a_region_in_which_all_means_are_alike_is_given_up():
    run, local = started(60, noise=0.05)
    repeated(run, local, 0.05)
    region = local.trust_region
    assert local.propose(run) is not None
    number = region.number
    region.length = 2.0**-12
    assert local.propose(run) is None
    assert region.number == number + 1


def test_without_noise_a_region_is_searched_however_alike_its_means_are():
    run, local = started(60, value=lambda p: 1e-6 * p["x"])
    local.trust_region.length = 2.0**-12
    assert local.propose(run) is not None


def test_known_errors_hide_what_a_region_has():
    run, rng = new_run(CUBE), np.random.default_rng(0)
    local = local_search(run, global_search(run))
    for x in CUBE.snap(rng.random((60, 3))):
        p = CUBE.decode(x)
        i = run.history.add(x, bowl(p) + 0.1 * rng.normal(), p, GLOBAL, variance=0.01)
        local.tell(run, i, run.history.assured(i), GLOBAL)
    number = local.trust_region.number
    local.trust_region.length = 2.0**-12
    assert local.propose(run) is None
    assert local.trust_region.number == number + 1


def test_the_region_is_told_by_positions_among_all_trials():
    run, local = started(0)
    tell(run, {"x": 0.1, "y": 0.1, "z": 0.1}, None)  # a failure is no observation, and a trial
    assert local.region(run.history).center == -1
    for k in range(SCOUTS):
        observe(run, local, {"x": k / 9, "y": 0.4, "z": 0.4}, float(k == 3))
    region = local.region(run.history)
    assert (region.number, region.length, region.center) == (0, INITIAL_LENGTH, 4)


def test_models_are_those_of_the_observations_nearest_the_center():
    run, local = started(200)
    local.update(run)
    center = run.history.X[local.trust_region.center]
    members = local.surrogate.members
    assert len(members) == local.size == 64
    assert np.abs(run.history.X[members] - center).mean() < 0.8 * np.abs(run.history.X - center).mean()
    assert local.trust_region.center in members


def test_a_global_search_and_a_local_one_share_the_run():
    """Both claims of noise are heard."""
    run = sampled(CUBE, 5)
    search = global_search(run)
    local = local_search(run, search)
    search.surrogate.claimed_noise, local.surrogate.claimed_noise = 0.2, 0.6
    assert run.noise.claimed == 0.6
