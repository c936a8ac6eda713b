"""Fronts: which outputs no others dominate, how near others are, and the few that stand for many."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from numbo.trials import front
from numbo.trials.front import (
    AT_ONCE,
    BEYOND,
    NonDominated,
    beaten,
    closeness,
    extent,
    front_rows,
    is_below_median,
    isolation,
    joined,
    non_dominated,
    thinned,
)

#: So few levels that many outputs are equal.
LEVELS = st.sampled_from([-math.inf, -1.0, 0.0, 0.5, 1.0, 2.0])
OUTPUTS = st.integers(1, 4).flatmap(
    lambda k: arrays(np.float64, st.tuples(st.integers(1, 25), st.just(k)), elements=LEVELS)
)


def naive(Y):
    """Pair by pair: no other one is as good in all outputs, unless it is the same and comes later."""
    return [
        not any((z >= y).all() and ((z > y).any() or j < i) for j, z in enumerate(Y) if j != i) for i, y in enumerate(Y)
    ]


def spread(n, k, seed=0):
    """Points (n, k) on a sphere: no one dominates another."""
    Z = np.abs(np.random.default_rng(seed).normal(size=(n, k)))
    return Z / np.linalg.norm(Z, axis=1, keepdims=True)


@given(OUTPUTS)
def test_a_front_is_what_no_other_one_dominates(Y):
    assert non_dominated(Y).tolist() == naive(Y)
    seen = NonDominated.of_none(Y.shape[1])
    for i, y in enumerate(Y):
        seen = seen.seeing(i, y)
    assert seen.rows.tolist() == np.flatnonzero(naive(Y)).tolist()
    np.testing.assert_array_equal(seen.outputs, Y[seen.rows])


@pytest.mark.parametrize("k", [2, 3])
def test_many_points_are_compared_as_few_are(k, monkeypatch):
    Y = np.round(np.random.default_rng(k).normal(size=(AT_ONCE + 1, k)), 1)
    found = non_dominated(Y)
    monkeypatch.setattr(front, "AT_ONCE", len(Y))
    np.testing.assert_array_equal(found, non_dominated(Y))


@given(OUTPUTS)
def test_the_rows_of_a_front_begin_with_the_best_of_the_first_output(Y):
    rows = front_rows(Y)
    assert sorted(rows.tolist()) == np.flatnonzero(naive(Y)).tolist()
    first = [tuple(y) for y in Y[rows]]
    assert first == sorted(first, reverse=True)


@given(OUTPUTS, OUTPUTS)
def test_what_is_no_better_in_any_output_than_another_one_is_beaten(Y, others):
    others = others[:, :1].repeat(Y.shape[1], axis=1)
    assert beaten(Y, others).tolist() == [any((z >= y).all() for z in others) for y in Y]


@pytest.mark.parametrize(
    ("y", "below"),
    [
        ((1.0, 1.0), True),
        ((2.0, 1.0), True),
        ((2.0, 5.0), False),  # the median itself
        ((1.0, 6.0), False),
        ((-math.inf, 5.0), True),
    ],
)
def test_what_is_below_the_median_of_each_output(y, below):
    others = [np.array([value, 5.0 + value - 2.0]) for value in (3.0, 1.0, 2.0)]
    assert is_below_median(np.array(y), others) is below


def test_the_median_of_an_even_number_lies_between_the_middle_ones():
    others = [np.array([value]) for value in (0.0, 1.0, 2.0, 9.0)]
    assert is_below_median(np.array([1.4]), others)
    assert not is_below_median(np.array([1.5]), others)
    wide = [np.array([value]) for value in (-math.inf, math.inf)]
    assert not is_below_median(np.array([-1e300]), wide)  # nothing lies in the middle of an infinite gap


def test_an_extent_without_a_range_is_the_one_that_is_given():
    low, span = extent(np.array([[1.0, 5.0], [3.0, 5.0]]), np.array([7.0, 8.0]))
    assert (low.tolist(), span.tolist()) == ([1.0, 5.0], [2.0, 8.0])


@pytest.mark.parametrize("k", [2, 3, 5])
def test_points_of_the_front_are_closest_and_the_dominated_farther_the_more_they_lack(k):
    known = spread(30, k)
    assert closeness(known, known).max() == pytest.approx(1.0)
    for y in known[:5]:
        steps = [closeness(np.vstack([known, y - by]), known)[-1] for by in (0.0, 0.05, 0.2, 0.5)]
        assert steps == sorted(steps, reverse=True)
        assert steps[0] > steps[-1]
    assert closeness(known + 10.0, known).min() > 1.0  # what lies beyond the front


@pytest.mark.parametrize("unit", [1e-200, 1e150])
def test_closeness_does_not_depend_on_units(unit):
    Y = spread(40, 3)
    np.testing.assert_allclose(closeness(unit * Y, unit * Y[:9]), closeness(Y, Y[:9]), rtol=1e-9)


def test_closeness_is_the_largest_share_in_any_direction():
    """Of a front of one point, in units of the spread of all: by hand in two dimensions."""
    Y, best = np.array([[0.0, 0.0], [1.0, 2.0], [0.5, 1.0]]), np.array([[1.0, 2.0]])
    Z = (Y - best) / np.ptp(Y, axis=0) + BEYOND
    w = front._directions(2)
    expected = [max(min(z / v) / min(np.full(2, BEYOND) / v) for v in w) for z in Z]
    np.testing.assert_allclose(closeness(Y, best), expected)


def test_few_points_stand_for_a_front_from_end_to_end():
    points = spread(200, 2)
    kept = thinned(points, 12)
    assert len(set(kept.tolist())) == 12
    assert set(points.argmax(axis=0)) <= set(kept.tolist())
    gaps = np.linalg.norm(points[:, None] - points[kept][None], axis=2).min(axis=1)
    at_random = np.linalg.norm(points[:, None] - points[:12][None], axis=2).min(axis=1)
    assert gaps.max() < 0.15 < at_random.max()
    assert thinned(points, 200).tolist() == list(range(200))


def test_half_of_the_points_around_one_are_the_nearest_to_it():
    points = spread(100, 3)
    order = np.argsort(((points - points[7]) ** 2 / np.ptp(points, axis=0) ** 2).sum(axis=1))
    assert set(order[:8].tolist()) <= set(thinned(points, 16, points[7]).tolist())


@given(st.integers(2, 3), st.integers(4, 20), st.integers(0, 99))
def test_points_that_stand_for_others_are_as_good_as_all_of_these(k, size, seed):
    """Nothing that was left out is a gain over those that are kept."""
    points = spread(60, k, seed)
    few = joined(points, size)
    assert len(few) == size
    assert beaten(points, few).all()
    assert (few <= points.max(axis=0)).all()
    np.testing.assert_array_equal(joined(points, 60), points)


def test_isolation_is_the_distance_from_the_nearest_other_in_units_of_the_range():
    points = np.array([[0.0, 40.0], [0.1, 30.0], [0.6, 10.0], [1.0, 0.0]])
    Z = points / [1.0, 40.0]
    expected = [min(np.linalg.norm(z - other) for j, other in enumerate(Z) if j != i) for i, z in enumerate(Z)]
    np.testing.assert_allclose(isolation(points), expected)
