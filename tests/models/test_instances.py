"""Values of trials that saw some instances only."""

from __future__ import annotations

import numpy as np
import pytest

from numbo.models.instances import GROWN, Instances


def value_of(known: Instances, reports: dict[int, float], *, value: float | None = None, pruned: bool = False):
    """As the trial returns its mean, unless it returns another ``value`` or is pruned."""
    mean = float(np.mean(list(reports.values()))) if reports else None
    return known.value(mean if value is None else value, reports, complete=not pruned)


def naive(trials: list[dict[int, float]]) -> list[float]:
    """Values of the trials by least squares on values and effects together, with effects of zero in the mean."""
    instances = sorted({step for reports in trials for step in reports})
    rows, values = [], []
    for k, reports in enumerate(trials):
        for step, y in reports.items():
            row = np.zeros(len(trials) + len(instances))
            row[k] = 1.0
            row[len(trials) + instances.index(step)] = 1.0
            rows.append(row)
            values.append(y)
    of_effects = np.r_[np.zeros(len(trials)), np.ones(len(instances))]
    found = np.linalg.lstsq(np.array([*rows, of_effects]), np.array([*values, 0.0]), rcond=None)[0]
    return found[: len(trials)].tolist()


def some(rng: np.random.Generator, instances: int, seen: int, value: float) -> dict[int, float]:
    steps = rng.permutation(instances)[:seen]
    return {int(step): value + 3.0 * float(step) + 0.1 * rng.normal() for step in steps}


def test_values_are_those_of_least_squares_over_trials_and_instances():
    rng = np.random.default_rng(0)
    reports = [some(rng, 8, 8, 1.0), *(some(rng, 8, int(rng.integers(1, 8)), rng.normal()) for _ in range(12))]
    assert (1.0 + GROWN) * (len(reports) - 1) <= len(reports)  # effects are computed with each trial
    known = Instances()
    values = [value_of(known, one) for one in reports]
    for k in range(1, len(reports) + 1):
        assert values[k - 1] == pytest.approx(naive(reports[:k])[-1], abs=1e-4)


def test_a_trial_that_saw_few_instances_has_the_value_of_its_parameters():
    """The mean of what it saw is up to 28 away from it."""
    rng = np.random.default_rng(1)
    known = Instances()
    for value in (1.0, 2.0, 0.0):
        value_of(known, some(rng, 20, 20, value))
    for value in rng.normal(size=30):
        found = value_of(known, some(rng, 20, 3, value))
        assert found == pytest.approx(value + 3.0 * 9.5, abs=0.5)


def test_it_does_not_matter_whether_a_stopped_trial_returns_its_mean_or_is_pruned():
    rng = np.random.default_rng(2)
    whole, part = some(rng, 5, 5, 1.0), some(rng, 5, 2, 2.0)
    returned, pruned = Instances(), Instances()
    for known in (returned, pruned):
        value_of(known, whole)
    assert value_of(returned, part) == value_of(pruned, part, pruned=True)


def test_values_that_no_instance_explains_are_as_told():
    known = Instances()
    whole = {0: 1.0, 1: 4.0, 2: 7.0}
    assert value_of(known, whole) == 4.0
    assert value_of(known, {0: 2.0}, value=17.0) == 17.0, "not the mean of its reports"
    assert value_of(known, {}, value=3.0) == 3.0
    assert value_of(known, {0: 1e300, 1: -1e300}, value=0.0) == 0.0
    assert value_of(known, {0: float("nan"), 1: float("inf")}, value=3.0) == 3.0
    assert value_of(known, {}, pruned=True) is None
    assert value_of(known, {0: 2.0}) == pytest.approx(2.0 + 3.0, abs=1e-4)
