"""Parts that name what they keep, their states, and copies of parts that refer to each other."""

from __future__ import annotations

import copy
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numbo._plain import Kept, Saved, copied, plain


class Pair(NamedTuple):
    one: int
    other: np.ndarray


@dataclass(frozen=True)
class Value:
    size: float
    at: np.ndarray


class Inner(Kept):
    _kept = ("_seen",)

    def __init__(self):
        self._seen = deque([1.5], maxlen=2)


class Outer(Kept):
    _kept = ("pair", "value", "inner", "others", "_counts", "nothing")
    later: Saved[Pair | None] = None
    values: Saved[list[Value]]

    def __init__(self):
        self.values = []
        self.pair = Pair(1, np.zeros(2))
        self.value = Value(2.0, np.ones(3))
        self.inner = Inner()
        self.others = (Inner(), Inner())
        self._counts = {"a": [1, 2], 3: None}
        self.nothing = None
        self.cache = "made from the rest"


def changed():
    one = Outer()
    one.pair = Pair(7, np.arange(2.0))
    one.value = Value(0.5, np.arange(3.0))
    one.inner._seen += [2.5, 3.5]
    one.others[1]._seen.append(9.0)
    one._counts["a"].append(3)
    one.later = Pair(2, np.ones(1))
    one.values.append(Value(4.0, np.zeros(1)))
    one.cache = "outdated"
    return one


def is_plain(value):
    if isinstance(value, dict):
        return type(value) is dict and all(is_plain(child) for child in value.values())
    if isinstance(value, list | tuple):
        return type(value) in (list, tuple) and all(is_plain(child) for child in value)
    return value is None or isinstance(value, int | float | str | np.ndarray)


def test_a_state_is_plain_and_makes_the_same_again_of_the_same_kinds():
    one, twin = changed(), Outer()
    state = one.state_dict()
    assert is_plain(state)
    assert state.keys() == {"pair", "value", "inner", "others", "counts", "nothing", "later", "values"}
    inner = twin.inner
    twin.restore(state)
    np.testing.assert_equal(twin.state_dict(), state)
    assert [type(twin.pair), type(twin.value), type(twin.others)] == [Pair, Value, tuple]
    assert twin.inner is inner  # in place: others may refer to it
    assert (twin.inner._seen, twin.inner._seen.maxlen) == (deque([2.5, 3.5]), 2)
    assert twin.cache == "made from the rest"
    assert [type(twin.later), *map(type, twin.values)] == [Pair, Value]  # as the class declares them


def test_annotations_may_be_evaluated_or_not():
    late = type("Late", (Kept,), {"__annotations__": {"x": Saved[int], "y": int, "z": "Saved[int]"}})
    assert late._kept == ("x", "z")


def test_what_follows_from_a_state_is_built_from_it_and_the_data():
    class Sum(Kept):
        _kept = ("count",)
        count = 0

        def _rebuild(self, state, data):
            self.total = sum(data[: state["count"]])

    part = Sum()
    part.restore({"count": 2}, [1, 2, 3])
    assert part.total == 3


def test_a_state_does_not_change_with_what_it_is_of():
    one, twin = changed(), Outer()
    state = one.state_dict()
    before = copy.deepcopy(state)
    twin.restore(state)
    for part in (one, twin):
        part.pair.other[0] = -1.0
        part.value.at[0] = -1.0
        part.inner._seen.append(8.0)
        part._counts["a"].append(8)
    np.testing.assert_equal(state, before)


def test_a_value_within_a_value_is_plain_too():
    assert is_plain(plain([Value(1.0, np.zeros(1)), (Pair(1, np.zeros(1)), Inner())]))


def test_a_copy_shares_what_it_does_not_own():
    one = changed()
    twin = copied(one)
    assert twin.inner is one.inner
    assert twin.pair is one.pair
    twin._counts["b"] = 1
    assert "b" not in one._counts
