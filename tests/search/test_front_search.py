"""The local search of several objectives: a box that moves along the front, and shrinks where nothing is gained."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.runs import new_run, tell
from tests.search.searches import CUBE, global_search, local_search

from numbo.run.situation import GLOBAL
from numbo.search.engine import Origin
from numbo.search.front_search import PATIENCE, FrontSearch, ShrinkingRegion
from numbo.search.trust_region import INITIAL_LENGTH
from numbo.trials.front import isolation


def outputs(p):
    return p["x"], 1.0 - p["x"] ** 2 - (p["y"] - 0.5) ** 2


def started(n=40, noise=0.0, value=outputs, **settings):
    run, rng = new_run(CUBE, directions=("maximize", "maximize"), **settings), np.random.default_rng(0)
    search = local_search(run, global_search(run), FrontSearch)
    for x in rng.random((n, 3)):
        p = CUBE.decode(x)
        limits = {"constraints": {"c": 1.0 + p["x"]}} if settings else {}
        tell(run, p, tuple(np.array(value(p)) + noise * rng.normal(size=2)), **limits)
    return run, search


def test_the_box_shrinks_after_a_share_of_the_dimensions_in_turn_and_never_grows():
    region = ShrinkingRegion(12)
    patience = math.ceil(PATIENCE * 12)
    for _ in range(30):
        region.count(True, region.origin)
    assert region.length == INITIAL_LENGTH
    for k in range(patience):
        assert region.length == INITIAL_LENGTH
        region.count(False, region.origin)
        if k == 0:
            region.count(True, region.origin)  # which ends the run
            region.count(False, region.origin)
    assert region.length == INITIAL_LENGTH / 2
    for _ in range(3):
        region.count(False, region.origin, active=2)  # at least three
    assert region.length == INITIAL_LENGTH / 4
    region.count(False, GLOBAL)
    assert region.failures == 0


def test_a_box_that_has_become_too_short_starts_again_at_the_full_length():
    region = ShrinkingRegion(3)
    lengths = []
    while region.number == 0:
        region.count(False, region.origin)
        lengths.append(region.length)
    assert region.length == INITIAL_LENGTH
    assert min(lengths[:-1]) >= region.shortest


def test_centers_are_points_of_the_front_and_isolated_ones_more_often():
    run, search = started(80)
    front, drawn = run.history.front.rows, []
    for _ in range(300):
        search.update(run)
        drawn.append(search.trust_region.center)
    assert set(drawn) <= set(front.tolist())
    weights = dict(zip(front.tolist(), isolation(run.history.outputs(front)), strict=True))
    known = np.array(list(weights.values()))
    assert np.mean([weights[row] for row in drawn]) == pytest.approx(np.sum(known**2) / np.sum(known), rel=0.08)
    assert np.sum(known**2) / np.sum(known) > 1.2 * np.mean(known)  # not that of any point


def test_as_long_as_nothing_is_feasible_the_center_is_the_least_violated_point():
    run, search = started(constraints=("c",))
    search.update(run)
    assert search.trust_region.center == run.history.best == np.argmin(run.history.X[:, 0])


def test_it_never_scouts_and_has_a_point_as_soon_as_anything_is_known():
    run, search = started(8)
    assert not search.eager(run)
    suggestion = search.propose(run)
    corners = search.update(run)
    assert corners is not None
    assert Origin.of(suggestion.origin) == (0, search.trust_region.origin)


def test_half_of_the_candidates_differ_from_the_center_in_one_coordinate(monkeypatch):
    run, _ = started(30)
    everywhere, seen = global_search(run), []
    search = local_search(run, everywhere, FrontSearch)

    def spy(run, outputs, groups, corners, center):
        seen.append(groups[0])

    monkeypatch.setattr(everywhere.maximiser, "best", spy)
    search.propose(run)
    changed = (seen[0][1:] != run.history.X[search.trust_region.center]).sum(axis=1)
    assert set(changed[len(changed) // 2 :]) == {1}
    assert changed[: len(changed) // 2].min() == 3


@pytest.mark.parametrize(
    ("p", "joins"), [({"x": 0.95, "y": 0.5, "z": 0.1}, True), ({"x": 0.3, "y": 0.9, "z": 0.1}, False)]
)
def test_points_that_join_the_front_are_successes(p, joins):
    run, search = started(40)
    search.trust_region.failures = 1
    search.trust_region.center = int(run.history.front.rows[0])
    origin = Origin(0, search.trust_region.origin).packed
    i = tell(run, p, outputs(p), origin=origin)
    assert (i in run.history.front.rows) == joins
    search.tell(run, i, float(run.history.y[i]), origin)
    assert search.trust_region.failures == (0 if joins else 2)


def test_under_noise_results_say_nothing_of_the_box():
    run, search = started(60, noise=0.3)
    for i in (3, 7, 11):
        tell(run, run.history.params(i), tuple(run.history.trials.Y[i] + 0.4))
    assert any(noise.found for noise in run.noises)
    search.trust_region.failures = 2
    origin = Origin(0, search.trust_region.origin).packed
    i = tell(run, {"x": 0.1, "y": 0.9, "z": 0.5}, (-9.0, -9.0), origin=origin)
    search.tell(run, i, -9.0, origin)
    assert search.trust_region.failures == 2
