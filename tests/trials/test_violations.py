"""Scores under constraints: violations in units of the typical sizes of their constraints."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numbo.trials.violations import INFEASIBLE, RESCALED, scales, scored

LIMITS = st.lists(
    st.tuples(st.floats(-5.0, 5.0), st.sampled_from([-1.0, 0.0, 0.5, 3.0, math.inf, math.nan]), st.integers(-20, 20)),
    min_size=1,
    max_size=10,
)


@given(LIMITS, st.booleans())
def test_scores_are_values_if_constraints_are_met_and_fall_with_the_violations_otherwise(rows, wary):
    y, C = np.array([row[0] for row in rows]), np.array([row[1:] for row in rows])
    sizes = np.array([2.0, 0.5])
    scores = scored(y, C, sizes, wary=wary)
    violations = [sum(max(c, 0.0) / size for c, size in zip(limits, sizes, strict=True) if c == c) for limits in C]
    for score, value, violation, limits in zip(scores, y, violations, C, strict=True):
        if violation > 0.0:
            assert 2.0 * INFEASIBLE <= score < INFEASIBLE
        else:
            assert score == (INFEASIBLE if wary and np.isnan(limits).any() else value)
    for i, one in enumerate(violations):
        for j, other in enumerate(violations):
            assert not (one > other * (1.0 + 1e-9) > 0.0) or scores[i] < scores[j]


def told(rows, n=None):
    C = np.array(rows)[:n]
    return SimpleNamespace(C=C, trials=SimpleNamespace(C=C), positions=np.arange(len(C)))


def test_units_of_a_constraint_do_not_matter():
    C = 0.5 + np.random.default_rng(0).random((30, 2))
    for unit in (1e-150, 1e6):
        scaled = C * [unit, 1.0]
        sizes = scales(None, told(scaled)).sizes
        expected = scored(np.zeros(30), C, scales(None, told(C)).sizes, wary=False)
        np.testing.assert_allclose(scored(np.zeros(30), scaled, sizes, wary=False), expected, rtol=1e-12)
        assert len(np.unique(expected)) == 30


def test_sizes_are_updated_when_a_tenth_is_new_from_the_medians_now_and_before():
    rng = np.random.default_rng(0)
    rows = [(size, 1.0) for size in 10.0 ** -np.arange(0.0, 4.0, 0.08) * np.exp(rng.normal(size=50))]
    found, sizes, largest, at = None, np.ones(2), np.full(2, np.nan), 0
    for n in range(1, 51):
        if n >= at + max(1, int(RESCALED * at)):
            at = n
            now = np.median(rows[:n], axis=0)
            largest = np.fmax(largest, now)
            sizes = np.sqrt(now * largest)
        found = scales(found, told(rows, n))
        np.testing.assert_allclose(found.sizes, sizes)
        assert found.updated_at == at


def test_sizes_are_those_of_finite_values_that_are_not_zero():
    rows = [(0.0, math.inf), (-3.0, math.nan), (0.0, 0.0), (1.0, 0.0), (5.0, 0.0)]
    medians = np.array([3.0, 1.0])  # of 3, 1 and 5; without any it is 1
    found = None
    for n in range(1, 6):
        found = scales(found, told(rows, n))
    np.testing.assert_allclose(found.sizes, np.sqrt(medians * [3.0, 1.0]))


def test_a_violation_that_is_lost_to_rounding_is_a_violation():
    scores = scored(np.array([2.0, 1.0]), np.array([[5e-324], [0.0]]), np.array([1e16]), wary=False)
    assert scores.tolist() == [INFEASIBLE, 1.0]
