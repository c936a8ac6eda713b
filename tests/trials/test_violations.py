"""How observations compare that have to meet constraints."""

from __future__ import annotations

import numpy as np

from numbo.trials.violations import INFEASIBLE, Scales, scored


def test_what_meets_all_constraints_keeps_its_value_and_the_rest_comes_below_by_its_total_violation():
    y = np.array([3.0, -1e300, 9.0, 9.0, 9.0])
    C = np.array([[-1.0, -1.0], [0.0, -1.0], [2.0, -1.0], [2.0, 40.0], [np.inf, 0.0]])
    scores = scored(y, C, np.array([1.0, 10.0]), wary=False)
    assert scores[0] == 3.0
    assert scores[1] == INFEASIBLE
    assert INFEASIBLE > scores[2] > scores[3] > scores[4]


def test_what_is_not_told_is_doubted_only_where_that_is_asked_for():
    y = np.array([3.0, 2.0, 1.0])
    C = np.array([[-1.0, np.nan], [-1.0, -1.0], [1.0, np.nan]])
    assert scored(y, C, np.ones(2), wary=False).tolist()[:2] == [3.0, 2.0]
    wary = scored(y, C, np.ones(2), wary=True)
    assert wary[1] > wary[0] == INFEASIBLE > wary[2]


def test_sizes_of_fewer_observations_are_what_they_were_then():
    rng = np.random.default_rng(0)
    C = rng.normal(size=(60, 2)) * [1.0, 1e6]
    positions = rng.permutation(60)
    scales = Scales(2)
    seen = [scales.sizes(C, positions[:n]).copy() for n in range(61)]
    late = scales.copy()
    for n in (0, 7, 30, 60):
        np.testing.assert_array_equal(late.sizes(C, positions[:n]), seen[n])
    assert late.updated_at == scales.updated_at > 50
    assert seen[60][1] > 1e5 * seen[60][0]
