"""Where searches start in spaces that branch: what becomes active with which value, and which points are best."""

from __future__ import annotations

import numpy as np
import pytest

from numbo import Categorical, Float, Int, Space
from numbo.run.candidates import BRANCHES, DORMANT, ELITES, ON_LINES, BestWhereActive, Candidates, elite_rows
from numbo.spaces import INACTIVE


def observations(n, seed):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, 5)) < [0.0, 0.3, 0.9, 0.99, 1.0], INACTIVE, rng.random((n, 5)))
    return X, rng.integers(-5, 5, n).astype(float)


@pytest.mark.parametrize("seed", range(5))
def test_the_best_where_active_are_those_of_all_observations_however_they_come(seed):
    X, y = observations(60, seed)
    others = np.random.default_rng(seed).random((DORMANT, 5))
    expected = others.copy()
    for j in range(5):
        rows = [i for i in np.argsort(-y, kind="stable") if X[i, j] != INACTIVE][: DORMANT - 1]
        expected[: len(rows), j] = X[rows, j]
    best = BestWhereActive.of_none(5)
    for n in (0, 1, 2, 2, 30, 31, 60):
        best = best.seeing(X[:n], y[:n])
    np.testing.assert_array_equal(best.filled(others), expected)


def test_the_best_where_active_may_be_no_number():
    X, y = np.array([[0.1], [0.2], [0.3], [INACTIVE]]), np.array([-np.inf, np.nan, np.inf, 1.0])
    filled = BestWhereActive.of_none(1).seeing(X, y).filled(np.full((DORMANT, 1), 0.9))
    assert filled[:, 0].tolist() == [0.3, 0.1, 0.9]


def test_elites_are_the_best_points_and_the_best_of_other_branches():
    X, y = observations(200, 0)
    order = np.argsort(-y, kind="stable").tolist()
    bests: dict[bytes, int] = {}
    for i in order:
        bests.setdefault((X[i] == INACTIVE).tobytes(), i)
    assert set(elite_rows(X, y)) == {*order[:ELITES], *list(bests.values())[:BRANCHES]}
    np.testing.assert_array_equal(elite_rows(np.abs(X), y), order[:ELITES])


def test_lines_run_through_a_point_and_fill_their_coordinates_evenly():
    space, x = Space({f"x{i}": Float(0.0, 1.0) for i in range(7)}), np.linspace(0.1, 0.9, 7)
    points = Candidates(space, 0).lines(x, np.random.default_rng(0))
    differs = points != x
    assert (differs.sum(axis=1) <= 1).all()
    assert len(points) >= ON_LINES
    for j in range(7):
        on_line = np.sort(points[differs[:, j], j])
        assert len(on_line) >= ON_LINES // 7
        assert np.diff(on_line, prepend=0.0, append=1.0).max() < 2.1 / len(on_line)


def test_lines_through_a_mixed_point_lie_in_the_space_and_change_what_is_active():
    when = {"kind": ["a"]}
    space = Space({"kind": Categorical(list("ab")), "deep": Int(0, 9, when=when), "x": Float(0.0, 1.0), "n": Int(0, 3)})
    params = {"kind": "b", "x": 0.5, "n": 1}
    points = Candidates(space, 0).lines(space.encode(params), np.random.default_rng(0))
    seen = [space.decode(u) for u in points]
    for found in seen:
        space.encode(found)
        assert sum(found[name] != value for name, value in params.items()) <= 1
        assert ("deep" in found) == (found["kind"] == "a")
    assert {found["n"] for found in seen} == {0, 1, 2, 3}
    assert any(found["kind"] == "a" for found in seen)
