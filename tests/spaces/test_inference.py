"""Conditions inferred from trials: right on programs, never in contradiction, and the same in whatever order."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numbo import Categorical, Float, Int, Space
from numbo.spaces import Record, Usage
from numbo.spaces.inference import CHANGED, _stage

DIMENSIONS = {
    "opt": Categorical(range(4)),
    "lr": Float(1e-5, 1.0, log=True),
    "mom": Float(0, 1),
    "nest": Categorical(range(2)),
    "damp": Float(0, 1),
    "decay": Float(0, 1),
    "n": Int(1, 6),
    **{f"w{i}": Int(8, 256, log=True) for i in range(1, 7)},
    "skip": Float(0, 1),
    "clip": Float(0, 1),
    "whim": Float(0, 1),
}
SPACE = Space(DIMENSIONS)


def program(values, rng):
    """The names that a trial with these values uses."""
    used = ["opt", "lr", "n"]
    if values["opt"] == 1:
        used += ["mom", "nest"] + ["damp"] * (values["nest"] == 0)
    used += ["decay"] * (values["opt"] in (1, 2))
    used += [f"w{i}" for i in range(1, 7) if i <= values["n"]]
    used += ["skip"] * (values["n"] > 3 and values["opt"] == 0)
    used += ["clip"] * (values["lr"] > 0.01)
    return used + ["whim"] * (rng.random() < 0.3)


def trials(n, seed=0):
    rng = np.random.default_rng(seed)
    for number in range(n):
        values = SPACE.decode(SPACE.snap(rng.random((1, SPACE.d)))[0])
        yield Record(number, {name: float(values[name]) for name in program(values, rng)}, True)


def found(records):
    usage = Usage()
    usage.add(list(records))
    return usage


@pytest.mark.parametrize("seed", range(3))
def test_programs_are_understood(seed):
    words = {name: str(c) for name, c in found(trials(200, seed)).conditions(DIMENSIONS).items()}
    clip = words.pop("clip")
    assert clip.startswith("lr >= ")
    assert float(clip[6:]) == pytest.approx(0.01, rel=0.3)
    assert words == {
        "mom": "opt is 1",
        "nest": "opt is 1",
        "damp": "nest is 0",
        "decay": "opt is 1 or 2",
        "skip": "opt is 0 and n >= 4",
        **{f"w{i}": f"n >= {i}" for i in range(2, 7)},
    }
    assert found(trials(200, seed)).optional == DIMENSIONS.keys() - {"opt", "lr", "n", "w1"}


def found_since(records):
    usage = found(records)
    usage.conditions(DIMENSIONS)
    return usage.since


def contradictions(records, conditions):
    """Trials in which a parameter was used against its condition, and complete ones in which it was not."""
    space = Space({n: _with(d, conditions.get(n)) for n, d in DIMENSIONS.items()}, optional=DIMENSIONS)
    for number, values, complete in records:
        x = space.partial({n: int(v) if isinstance(DIMENSIONS[n], Categorical) else v for n, v in values.items()})
        yield from ((number, name) for name in space.misfits(x) if complete or name in values)


def _with(dimension, condition):
    return type(dimension)(**{k: v for k, v in vars(dimension).items() if k != "when"}, when=condition)


NAMES = ["opt", "nest", "n", "lr", "mom", "w1"]


@st.composite
def histories(draw):
    """Any trials at all, by programs or by none."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    records = []
    for number in range(draw(st.integers(1, 25))):
        values = SPACE.decode(SPACE.snap(rng.random((1, SPACE.d)))[0])
        names = draw(st.sets(st.sampled_from(NAMES), min_size=1)) if draw(st.booleans()) else program(values, rng)
        records.append(Record(number, {name: float(values[name]) for name in names}, draw(st.booleans())))
    return records, draw(st.permutations(range(len(records))))


@settings(max_examples=150, deadline=None)
@given(histories())
def test_what_is_inferred_never_contradicts_a_trial_whatever_the_order(drawn):
    records, order = drawn
    conditions = found(records).conditions(DIMENSIONS)
    assert not list(contradictions(records, conditions))
    for _, values, complete in records:
        for name, condition in conditions.items():
            assert condition.met(values) == (name in values) or (condition.met(values) and not complete)
    since = found_since(records)
    for name, number in since.items():
        assert name not in conditions
        assert [name in values for n, values, complete in records if complete and n < number].count(True) == 0
        late = [name in values for n, values, complete in records if complete and n >= number]
        assert all(late)
        assert len(late) >= CHANGED
    one_by_one = Usage()
    for k in order:
        one_by_one.add([records[k]])
        one_by_one.conditions(DIMENSIONS)
    assert one_by_one.conditions(DIMENSIONS) == conditions
    assert one_by_one.since == since


def test_a_rule_is_given_up_when_a_trial_refutes_it():
    records = [Record(i, {"opt": float(i % 2)} | ({"mom": 0.5} if i % 2 else {}), True) for i in range(6)]
    usage = found(records)
    assert str(usage.conditions(DIMENSIONS)["mom"]) == "opt is 1"
    usage.add([Record(6, {"opt": 0.0, "mom": 0.5}, True)])
    assert usage.conditions(DIMENSIONS) == {}
    usage.add([Record(7, {"opt": 1.0, "n": 3.0}, False)])  # it ended before it used mom: that says nothing
    assert usage.conditions(DIMENSIONS) == {}


def day_two(number, rng, names):
    """A trial of a program that has more parameters from trial 40 on."""
    drawn = SPACE.decode(SPACE.snap(rng.random((1, SPACE.d)))[0])
    values = SPACE.completed(drawn)
    return Record(number, {name: float(values.get(name, 0.5)) for name in names}, True)


def test_a_parameter_that_was_added_to_the_program_has_no_condition():
    rng = np.random.default_rng(0)
    records = [day_two(i, rng, ["lr", "clip", "opt"]) for i in range(40)]
    for more in range(1, CHANGED + 3):
        records.append(day_two(39 + more, rng, ["lr", "clip", "opt", "whim"]))
        usage = found(records)
        assert not usage.conditions(DIMENSIONS)
        assert usage.since == ({"whim": 40} if more >= CHANGED else {})
        assert usage.optional == {"whim"}
    records.append(day_two(60, rng, ["lr", "clip", "opt"]))
    assert found_since(records) == {}


def test_a_parameter_that_was_removed_from_the_program_has_no_condition():
    rng = np.random.default_rng(0)
    records = [day_two(i, rng, ["lr", "clip", "opt", "whim"]) for i in range(40)]
    for more in range(1, CHANGED + 3):
        records.append(day_two(39 + more, rng, ["lr", "clip", "opt"]))
        usage = found(records)
        conditions = usage.conditions(DIMENSIONS)
        assert usage.removed == ({"whim": 39} if more >= CHANGED else {})
        assert not (usage.removed.keys() & conditions.keys())
    records.append(day_two(60, rng, ["lr", "clip", "opt", "whim"]))
    usage = found(records)
    usage.conditions(DIMENSIONS)
    assert usage.removed == {}


def test_what_later_trials_show_is_what_they_alone_would_show():
    records = list(trials(60))
    for first in (0, 7, 40):
        later = found(records).from_trial(first)
        alone = found([record for record in records if record.number >= first])
        assert later.conditions(DIMENSIONS) == alone.conditions(DIMENSIONS)
        assert later.optional == alone.optional
        assert later.names == alone.names


def test_a_simple_condition_is_a_better_reason_than_a_new_program():
    """All trials without the parameter come first, but a parent explains that, too."""
    records = [Record(i, {"opt": float(i >= 9)} | ({"mom": 0.5} if i >= 9 else {}), True) for i in range(20)]
    usage = found(records)
    assert str(usage.conditions(DIMENSIONS)["mom"]) == "opt is 1"
    assert usage.since == {}


def test_a_threshold_of_an_integer_is_a_better_reason_than_certain_values_of_another():
    """The widths of a first layer, which all networks have, may happen to tell the deeper ones from the others."""
    records = [
        Record(number, {"n": float(n), "w1": float(w1)} | ({"w2": 16.0} if n >= 2 else {}), True)
        for number, (n, w1) in enumerate([(1, 9), (3, 12), (2, 40), (1, 20), (1, 63), (4, 8)])
    ]
    words = {name: str(condition) for name, condition in found(records).conditions(DIMENSIONS).items()}
    assert words == {"w2": "n >= 2"}
    # as long as it is the only reason, it is one
    alone = [r._replace(values={name: v for name, v in r.values.items() if name != "n"}) for r in records]
    assert str(found(alone).conditions(DIMENSIONS)["w2"]) == "w1 is 8, 12 or 40"


def test_a_copy_goes_its_own_way():
    records = list(trials(60))
    usage = found(records[:40])
    before = usage.conditions(DIMENSIONS)
    twin = copy.copy(usage)
    others = list(trials(60, seed=1))[40:]  # which use other parameters than those that come here
    twin.add(others)
    assert twin.conditions(DIMENSIONS) == found(records[:40] + others).conditions(DIMENSIONS)
    assert usage.conditions(DIMENSIONS) == before
    usage.add(records[40:])
    assert usage.conditions(DIMENSIONS) == found(records).conditions(DIMENSIONS)


def test_integers_below_zero_are_told_apart():
    rng = np.random.default_rng(0)
    records = []
    for i, n in enumerate(rng.integers(-6, 7, 80)):
        records.append(Record(i, {"n": float(n)} | ({"x": 0.5} if n in (-4, 0, 3) else {}), True))
    assert str(found(records).conditions({"n": Int(-6, 6), "x": Float(0, 1)})["x"]) == "n is -4, 0 or 3"


def test_trees_are_grown_again_when_there_are_a_fifth_more_trials():
    assert [_stage(n) for n in (1, 50, 51, 60, 71, 72, 10**9)] == [1, 50, 50, 60, 60, 72, 2000]
