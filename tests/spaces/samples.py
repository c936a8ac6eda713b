"""Dimensions and spaces of all kinds, for properties."""

from __future__ import annotations

from hypothesis import strategies as st

from numbo import Categorical, Float, Int, Space

FINITE = st.floats(-1e300, 1e300, allow_nan=False)


@st.composite
def floats(draw):
    low, high = sorted((draw(FINITE), draw(FINITE)))
    log = low > 0 and draw(st.booleans())
    step = None if log else draw(st.none() | st.floats(1e-3, 10.0))
    if step is not None:
        low = draw(st.floats(-1e3, 1e3))
        high = low + step * draw(st.integers(0, 1000))
    return Float(low, high, log=log, step=step)


@st.composite
def ints(draw):
    low, high = sorted((draw(st.integers(-(2**40), 2**40)), draw(st.integers(-(2**40), 2**40))))
    log = low > 0 and draw(st.booleans())
    return Int(low, high, log=log, step=1 if log else draw(st.integers(1, 7)))


CATEGORICALS = st.lists(st.none() | st.text(max_size=3) | st.integers(5, 9), min_size=1, max_size=6, unique=True).map(
    Categorical
)
WIDE = [
    Int(1, 2**64, log=True),
    Int(2**60, 2**60 + 10, log=True),
    Int(0, 2**64),
    Float(1e300, 1.0000000000000002e300, log=True),
    Float(0.0, 5e-324),
    Float(-1.7e308, 1.7e308),
]
SPACES = st.dictionaries(st.text(max_size=3), floats() | ints() | CATEGORICALS, min_size=1, max_size=5).map(Space)
