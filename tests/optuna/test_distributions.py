"""Optuna's distributions and parameters as numbo's spaces and points, and the space that a study is found to have."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from numbo.optuna._distributions import (
    KnownSpace,
    Searched,
    declared,
    internal_point,
    to_dimension,
    to_external,
    to_internal,
    to_space,
)
from numbo.spaces import Categorical, Condition, Float, Int, Space, Table
from numbo.spaces.ranges import RangeRule

# -- one distribution --------------------------------------------------------------------------------------------------

IS_ONE = Condition.of("y", {"k": 1}, {"k": Int(1, 3), "y": Float(0, 1)})
ACTS = CategoricalDistribution(("relu", None, 3, True))
DIMENSIONS = [
    (FloatDistribution(-1.0, 2.0), Float(-1.0, 2.0)),
    (FloatDistribution(1e-5, 1e-1, log=True), Float(1e-5, 1e-1, log=True)),
    (FloatDistribution(0.0, 1.0, step=0.25), Float(0.0, 1.0, step=0.25)),
    (IntDistribution(-3, 5), Int(-3, 5)),
    (IntDistribution(1, 64, log=True), Int(1, 64, log=True)),
    (IntDistribution(0, 9, step=3), Int(0, 9, step=3)),
    (ACTS, Categorical(range(4))),
]


@pytest.mark.parametrize(("distribution", "dimension"), DIMENSIONS, ids=lambda one: str(one))
def test_a_distribution_is_a_dimension(distribution, dimension):
    assert to_dimension(distribution) == dimension
    assert to_dimension(distribution, IS_ONE).when == IS_ONE


def test_another_kind_of_distribution_is_refused():
    with pytest.raises(ValueError, match=r"^Unknown distribution 'normal'; numbo supports Float, Int and Cat\w+\.$"):
        to_dimension("normal")


# -- parameters --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("index", "choice"), list(enumerate(ACTS.choices)))
def test_choices_are_their_indices_inside(index, choice):
    inside = to_internal({"act": choice, "stranger": 7}, {"act": ACTS, "x": FloatDistribution(0, 1)})
    assert inside == {"act": index}
    assert to_external(inside, {"act": ACTS})["act"] is choice


@pytest.mark.parametrize(
    ("choices", "places"),
    [
        (["a", "b", "a", "c", "d"], [0, 1, 3, 4]),
        ([1, 1.0, "1", True], [0, 2]),
        ([0, False, None, 2], [0, 2, 3]),
        ([float("nan"), 1.0, float("nan")], [0, 1]),
        ([[1], [1], [2]], [0, 2]),  # without a hash
        (["b", "b"], [0]),
    ],
    ids=str,
)
def test_equal_choices_are_one_category(choices, places):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # Optuna's, of lists
        distribution = CategoricalDistribution(choices)
    assert to_dimension(distribution) == Categorical(places)
    space = to_space(declared({"c": distribution, "x": FloatDistribution(0, 1)}))
    for place in places:
        inside = to_internal({"c": choices[place]}, {"c": distribution})
        assert inside == {"c": place}
        assert space["c"].contains(place)
        assert to_external(inside, {"c": distribution})["c"] is distribution.choices[place]


def test_numbers_are_those_of_python_outside():
    distributions = {"x": FloatDistribution(0, 9), "k": IntDistribution(0, 9)}
    found = to_external({"x": np.float32(0.5), "k": np.int64(3)}, distributions)
    assert found == {"x": 0.5, "k": 3}
    assert [type(value) for value in found.values()] == [float, int]


def test_choices_are_checked_and_ranges_are_not():
    assert to_internal({"x": 7.0}, {"x": FloatDistribution(0, 1)}) == {"x": 7.0}
    with pytest.raises(ValueError, match="gelu"):
        to_internal({"act": "gelu"}, {"act": ACTS})


def test_a_point_is_checked_against_the_space():
    searched = declared({"act": ACTS, "x": FloatDistribution(0, 1)})
    space = to_space(searched)
    assert internal_point({"act": None, "x": 0.5, "stranger": 1}, searched, space) == {"act": 1, "x": 0.5}
    words = r"^params must hold \['act', 'x'\] with values in their ranges, got "
    with pytest.raises(ValueError, match=words):
        internal_point(3, searched, space)
    with pytest.raises(ValueError, match=r"^params\['act'\] = 'gelu' is not in CategoricalDistribution\(choices="):
        internal_point({"act": "gelu", "x": 0.5}, searched, space)
    with pytest.raises(ValueError, match=words + r"\{'x': 0.5\} without \['act'\]\.$"):
        internal_point({"x": 0.5}, searched, space)
    with pytest.raises(ValueError, match=r" without \['act'\]; \['Act'\] are not in the search space\.$"):
        internal_point({"x": 0.5, "Act": None}, searched, space)
    with pytest.raises(ValueError, match=r"7\.0 is not in"):
        internal_point({"act": None, "x": 7.0}, searched, space)


# -- what is searched --------------------------------------------------------------------------------------------------

NESTED = {
    "opt": CategoricalDistribution(["sgd", "adam"]),
    "one": IntDistribution(4, 4),
    "momentum": (FloatDistribution(0, 1), {"opt": "sgd"}),
}


def test_a_declaration_holds_conditions_by_indices_and_says_them_by_choices():
    searched = declared(NESTED)
    assert searched.distributions.keys() == NESTED.keys()
    assert str(searched.conditions["momentum"]) == "opt is 0"
    assert searched.words() == {"momentum": "opt is sgd"}
    space = to_space(searched)
    lacking = (
        r"^params must name 'momentum', which is active where opt is sgd; \['Momentum'\] are not in the search space"
    )
    with pytest.raises(ValueError, match=lacking):
        internal_point({"opt": "sgd", "one": 4, "Momentum": 0.5}, searched, space)
    assert isinstance(space, Space)
    assert space.conditions.keys() == {"momentum"}


def test_a_table_is_one_parameter_and_its_own_space():
    table = Table({"x": [0.1, 0.5, 0.9]})
    searched = declared(table)
    assert searched.distributions == {"row": IntDistribution(0, 2)}
    assert to_space(searched) is table
    assert searched.without_single().table is table


def test_what_has_one_value_is_left_out_unless_others_depend_on_it():
    assert declared(NESTED).without_single().distributions.keys() == {"opt", "momentum"}
    only = CategoricalDistribution(["sgd"])
    kept = declared({"opt": only, "momentum": (FloatDistribution(0, 1), {"opt": "sgd"})}).without_single()
    assert kept.distributions.keys() == {"opt", "momentum"}
    assert kept.conditions.keys() == {"momentum"}


def test_without_its_parent_a_parameter_has_neither_condition_nor_rule():
    distributions = {"k": IntDistribution(1, 3), "x": FloatDistribution(0, 9), "y": FloatDistribution(0, 1)}
    searched = Searched(distributions, {"y": IS_ONE}, frozenset("xy"), {"x": RangeRule("k", {0: (0.0, 1.0)})})
    assert searched.only("kxy") == searched
    left = searched.only("xz")
    assert left == Searched({"x": distributions["x"]}, {}, frozenset("x"), {})
    assert left.words() == {"x": "a trial asks for it, by no known rule"}


# -- what a study is found to have -------------------------------------------------------------------------------------

XY = {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}


def trial(number, distributions, **params):
    """A complete trial; without ``params`` with the first value of each distribution."""
    first = {
        name: d.choices[0] if isinstance(d, CategoricalDistribution) else d.low for name, d in distributions.items()
    }
    found = create_trial(params=first | params, distributions=distributions, value=0.0)
    found.number = number
    return found


def test_the_space_is_inferred_again_only_after_a_trial_with_other_parameters():
    space = KnownSpace()
    space.add([trial(0, XY)])
    first = space.searched()
    space.add([])
    space.add([create_trial(state=TrialState.COMPLETE, value=1.0)])  # without parameters
    space.add([trial(2, XY), trial(3, XY)])
    assert space.searched() is first
    space.add([trial(1, XY | {"k": IntDistribution(0, 3)})])
    assert set(space.searched().distributions) == {"x", "y", "k"}


def test_running_trials_count_anew_where_ranges_follow_from_values():
    space = KnownSpace()
    kind = CategoricalDistribution(["a", "b", "c"])
    for number in range(8):
        distributions = {"kind": kind, "x": FloatDistribution(0, 1 + number % 2)}
        space.add([trial(number, distributions, kind="ab"[number % 2])])
    assert len(space.searched().ranges["x"].bounds) == 2
    wide = {"kind": kind, "x": FloatDistribution(0, 9)}
    running = create_trial(params={"kind": "c", "x": 0.5}, distributions=wide, state=TrialState.RUNNING)
    assert len(space.searched([running]).ranges["x"].bounds) == 3
    assert len(space.searched().ranges["x"].bounds) == 2


def known(*spaces):
    """The space of trials with these distributions, in this order."""
    space = KnownSpace()
    space.add([trial(number, distributions) for number, distributions in enumerate(spaces)])
    return space


def test_without_parameters_nothing_is_known():
    assert not known().known
    assert not known({}, {}).known
    assert known().searched() == Searched({})
    assert known(XY).known


def test_the_latest_range_is_searched_in_whatever_order_trials_come():
    old, new = FloatDistribution(0, 1), FloatDistribution(0, 5)
    space = KnownSpace()
    space.add([trial(1, {"x": new})])
    space.add([trial(0, {"x": old})])
    assert space.searched().distributions == {"x": new}
    assert space.undecided("x", new)  # it may depend on something
    assert not space.undecided("x", old)
    space.add(trial(number, {"x": new}) for number in range(2, 9))
    assert not space.undecided("x", new)


@pytest.mark.parametrize("seed", range(20))
def test_the_space_is_the_same_whether_trials_come_one_by_one_or_at_once(seed):
    rng = np.random.default_rng(seed)
    wider = FloatDistribution(-1, 2)
    others = [{**XY, "x": wider}, {"x": XY["x"]}, {**XY, "act": ACTS}, XY]
    given = [XY] * int(rng.integers(1, 8)) + [others[rng.integers(4)] for _ in range(int(rng.integers(8)))]
    trials = [trial(number, distributions) for number, distributions in enumerate(given)]
    for one in trials:
        one.state = rng.choice([TrialState.COMPLETE, TrialState.PRUNED])
    one_by_one = KnownSpace()
    for k, one in enumerate(trials, start=1):
        one_by_one.add([one])
        at_once = KnownSpace()
        at_once.add(trials[:k])
        assert one_by_one.searched() == at_once.searched()
        for name, distribution in (("x", XY["x"]), ("x", wider), ("y", XY["y"])):
            assert one_by_one.undecided(name, distribution) == at_once.undecided(name, distribution)


@pytest.mark.parametrize(
    ("ranges", "widest"),
    [
        ((FloatDistribution(0, 1), FloatDistribution(-2, 0.5)), FloatDistribution(-2, 1)),
        ((FloatDistribution(0, 1, step=0.5), FloatDistribution(0, 2, step=0.5)), FloatDistribution(0, 2, step=0.5)),
        ((FloatDistribution(0, 1, step=0.5), FloatDistribution(0, 1, step=0.25)), FloatDistribution(0, 1)),
        ((FloatDistribution(0, 1, step=0.5), FloatDistribution(0.25, 1.25, step=0.5)), FloatDistribution(0, 1.25)),
        ((IntDistribution(0, 9, step=3), IntDistribution(-4, 4, step=4)), IntDistribution(-4, 9, step=1)),
        ((IntDistribution(0, 8, step=4), IntDistribution(2, 10, step=4)), IntDistribution(0, 10, step=2)),
        ((IntDistribution(1, 8, log=True), IntDistribution(4, 64, log=True)), IntDistribution(1, 64, log=True)),
    ],
    ids=str,
)
def test_a_range_that_keeps_changing_is_searched_in_all_that_it_has_covered(ranges, widest):
    space = known(*({"x": ranges[number % 2]} for number in range(24)))
    assert space.searched().distributions == {"x": widest}
    assert not space.searched().ranges
    assert not space.undecided("x", ranges[1])


def test_a_parameter_of_two_kinds_is_not_searched():
    assert known(XY, {"x": IntDistribution(0, 9)}, XY).searched().distributions.keys() == {"y"}
    other = CategoricalDistribution(["b", "c"])
    assert not known({"c": CategoricalDistribution(["a", "b"])}, {"c": other}).searched().distributions


def test_a_parameter_that_recent_trials_do_not_have_is_dropped():
    extra = XY | {"once": FloatDistribution(0, 1)}
    recent = KnownSpace.RECENT
    assert "once" in known(extra, *[XY] * (recent - 1)).searched().distributions
    assert "once" not in known(extra, *[XY] * recent).searched().distributions


def test_a_range_that_follows_an_integer_is_known_between_its_values():
    spaces = [{"k": IntDistribution(0, 8), "x": FloatDistribution(0, 1 + 2 * (n % 2))} for n in range(8)]
    space = KnownSpace()
    for number, distributions in enumerate(spaces):
        space.add([trial(number, distributions, k=4 * (number % 2))])
    (rule,) = space.searched().ranges.values()
    assert rule.parent == "k"
    assert rule.bounds == {0: (0, 1), 1: (0, 3), 2: (0, 3), 3: (0, 3), 4: (0, 3)}
    assert space.searched().distributions["x"] == FloatDistribution(0, 3)


def test_ranges_on_different_grids_follow_no_rule():
    kind = CategoricalDistribution(["a", "b"])
    space = KnownSpace()
    for number in range(8):
        distributions = {"kind": kind, "k": IntDistribution(number % 2, 8 + number % 2, step=2)}
        found = create_trial(
            params={"kind": "ab"[number % 2], "k": 4 + number % 2}, distributions=distributions, value=0.0
        )
        found.number = number
        space.add([found])
    assert not space.searched().ranges
    assert space.searched().distributions["k"] == IntDistribution(0, 9)
