"""Values of one dimension for a point that is fixed otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from numbo import Categorical, Float, Int, Space
from numbo.spaces import INACTIVE
from numbo.spaces.completion import COMPLETIONS, completions

SPACE = Space(
    {
        "x": Float(0.0, 10.0),
        "k": Int(0, 9),
        "act": Categorical(["relu", "tanh"]),
        "slope": Float(0.0, 1.0, when={"act": "relu"}),
    }
)
KNOWN = SPACE.partial({"act": "relu"})


def completed(name, among, x=KNOWN):
    return completions(SPACE, x, name, among, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("name", "among", "values"),
    [
        ("act", Categorical(["tanh", "relu"]), ["tanh", "relu"]),
        ("k", Int(3, 6), [3, 4, 5, 6]),
        ("k", Int(0, 49), list(range(50))),
        ("k", Int(0, 20, step=10), [0, 10, 20]),
        ("x", Float(1.0, 1.0), [1.0]),
    ],
)
def test_all_values_of_a_small_dimension(name, among, values):
    found, X = completed(name, among)
    assert found == values
    column = SPACE.names.index(name)
    low, high = (SPACE[name].low, SPACE[name].high) if name != "act" else (None, None)
    inside = [value if low is None else min(max(value, low), high) for value in values]
    np.testing.assert_array_equal(X[:, column], [SPACE[name].to_unit(value) for value in inside])


@pytest.mark.parametrize(
    ("name", "among"), [("x", Float(2.0, 7.0)), ("x", Float(1e-3, 10.0, log=True)), ("k", Int(0, 10**6))]
)
def test_values_of_a_large_dimension_come_from_all_parts_of_its_range(name, among):
    found, X = completed(name, among)
    assert len(found) == len(X) == COMPLETIONS
    places = np.sort([among.to_unit(value) for value in found])
    np.testing.assert_array_equal(np.floor(COMPLETIONS * places), np.arange(COMPLETIONS))


def test_what_is_known_stays_and_what_is_not_is_left_out_or_in_the_middle():
    _, X = completed("k", Int(0, 9))
    x, _, act, slope = (X[:, j] for j in range(4))
    assert set(x) == {0.5}
    assert set(act) == {SPACE["act"].to_unit("relu")}
    assert set(slope) == {INACTIVE}
