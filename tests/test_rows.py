"""Equal rows are found as NumPy finds them, and interrupts get out as themselves."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from numbo._rows import distinct_rows, smallest

SHAPES = array_shapes(min_dims=2, max_dims=2, max_side=8)
MATRICES = arrays(np.float64, SHAPES, elements=st.sampled_from([-1.0, 0.0, 0.5]))


@given(MATRICES)
def test_as_numpy_finds_them(rows):
    first, kind = distinct_rows(rows)
    _, expected_first, expected_kind = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    np.testing.assert_array_equal(first, expected_first)
    np.testing.assert_array_equal(kind, expected_kind.reshape(-1))


def test_an_interrupt_anywhere_within_is_raised_as_itself():
    rows, lines = np.eye(3) > 0, 0

    def interrupt_after(count):
        def trace(frame, event, argument):
            nonlocal lines
            lines += 1
            if lines > count:
                raise KeyboardInterrupt
            return trace

        return trace

    for count in range(1000):
        lines, before = 0, sys.gettrace()
        try:
            sys.settrace(interrupt_after(count))
            distinct_rows(rows)
        except KeyboardInterrupt:
            continue
        finally:
            sys.settrace(before)
        break
    else:
        pytest.fail("the trace never ended")
    assert count > 5


@pytest.mark.parametrize("count", [0, 1, 7, 19, 20, 30])
def test_rows_of_the_smallest_values(count):
    values = np.random.default_rng(0).random(20)
    assert sorted(smallest(values, count)) == sorted(np.argsort(values)[:count])
