"""GSSBO's dynamic buffer: when a model stops growing, and how large it is then."""

from __future__ import annotations

import numpy as np
import pytest

from numbo.optimizers.parts.buffer import DynamicBuffer, iteration_work


def test_the_paper_default_is_about_a_hundred_samples():
    assert 60 <= DynamicBuffer(20, 20, 4.0, "work").limit(10**4) <= 140


@pytest.mark.parametrize("d", [1, 3, 60])
@pytest.mark.parametrize("factor", [1.05, 1.5, 4.0])
def test_the_work_rule_switches_at_the_first_iteration_that_costs_so_many_initial_ones(d, factor):
    mean = np.mean([iteration_work(n, d) for n in range(11, 21)])
    expected = next(n for n in range(12, 10_000) if iteration_work(n, d) > factor * mean)
    buffer = DynamicBuffer(10, d, factor, "work")
    assert [buffer.limit(n) for n in range(1, expected + 5)] == [*range(1, expected), *[expected] * 5]
    buffer.record(expected + 9, 1e9)  # times have nothing to do with it
    assert (buffer.size, buffer.times) == (expected, [])


def test_the_time_rule_switches_at_the_first_slow_iteration():
    buffer = DynamicBuffer(n_initial=5, d=3, factor=4.0, rule="time")
    for n in range(6, 11):
        assert buffer.limit(n) == n
        buffer.record(n, 1.0)
    for n, seconds in ((11, 3.9), (12, 4.1)):
        assert buffer.limit(n) == n
        buffer.record(n, seconds)
    assert buffer.limit(13) == 12
    buffer.record(13, 100.0)
    assert buffer.limit(500) == 12


def test_a_long_history_is_not_taken_for_an_initial_iteration():
    buffer = DynamicBuffer(n_initial=5, d=3, factor=4.0, rule="time")
    assert buffer.limit(10_000) == DynamicBuffer(n_initial=5, d=3, factor=4.0, rule="work").limit(10_000)


def test_a_size_that_is_given_stays():
    buffer = DynamicBuffer(5, 3, 4.0, "time", size=30)
    for n in (6, 29, 31, 400):
        assert buffer.limit(n) == 30
        buffer.record(n, float(n))
    assert buffer.times == []
