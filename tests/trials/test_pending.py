"""Pending points: found by key and by identity, with arrays that follow every change."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from numbo.trials import SCOUT, Pending, point_key
from numbo.trials.pending import PendingPoints


def point(x, origin=0):
    return Pending.of(np.array([x, 0.5]), {"x": x}, origin)


def check(points, expected):
    """``expected``: the first coordinates and origins by key, oldest first."""
    assert list(points) == list(expected)
    np.testing.assert_array_equal(points.X, np.array([[x, 0.5] for x, _ in expected.values()]).reshape(-1, 2))
    np.testing.assert_array_equal(points.origins, [origin for _, origin in expected.values()])
    for x in {x for x, _ in expected.values()} | {0.99}:
        oldest = next((key for key, (other, _) in expected.items() if other == x), None)
        assert points.key_of(point_key(np.array([x, 0.5]))) == oldest


def test_what_is_computed_follows_every_change():
    points = PendingPoints(2)
    check(points, {})
    points["a"] = point(0.1)
    points["b"] = point(0.2, SCOUT)
    points[3] = point(0.1, 7)
    check(points, {"a": (0.1, 0), "b": (0.2, SCOUT), 3: (0.1, 7)})
    points["b"] = point(0.3)  # at the same place among them
    check(points, {"a": (0.1, 0), "b": (0.3, 0), 3: (0.1, 7)})
    twin = points.copy()
    del points["a"]
    check(points, {"b": (0.3, 0), 3: (0.1, 7)})
    check(twin, {"a": (0.1, 0), "b": (0.3, 0), 3: (0.1, 7)})
    assert points.pop("none", None) is None
    with pytest.raises(KeyError):
        del points["none"]
    check(points, {"b": (0.3, 0), 3: (0.1, 7)})
    other = copy.copy(twin)
    other["d"] = point(0.1)
    check(twin, {"a": (0.1, 0), "b": (0.3, 0), 3: (0.1, 7)})
    twin.clear()
    check(twin, {})
    check(PendingPoints(2, {"c": point(0.4)}), {"c": (0.4, 0)})


def test_as_long_as_points_are_only_added_the_generation_stays():
    points = PendingPoints(2)
    first = points.generation
    for i in range(4):
        points[i] = point(i / 10)
    assert points.generation is first
    assert [p.x[0] for p in points.after(1)] == [0.1, 0.2, 0.3]
    assert points.after(4) == []
    seen = [points.copy().generation, first]
    for change in (lambda: points.pop(0), lambda: points.update({1: point(0.7)}), points.clear):
        change()
        assert all(points.generation is not one for one in seen)
        seen.append(points.generation)
