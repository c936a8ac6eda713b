"""Which points may be suggested: by a twin that looks at every point, and rule by rule."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numbo import Arms, Categorical, Float, Int, Space
from numbo.models.noise import NOISY
from numbo.run.availability import AGAIN, AT_ODDS, ENUMERABLE, PROBED, SOON, WAITING, Availability, Places
from numbo.spaces import INACTIVE, Corners
from numbo.trials import History, Pending, point_key

GRID = Space({"a": Int(0, 3), "b": Categorical(list("xyz"))})
CUBE = Space({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)})


def noise(found=False, **others):
    """What is known of noise; no repeats, and none asked for."""
    known = {
        "found": found,
        "claimed": 0.5 if found else None,
        "shown": found,
        "checks": 0,
        "unsettled": False,
        "refuted": False,
        "plausible": lambda claimed: found,
        "repeats": SimpleNamespace(asked={}),
    }
    return SimpleNamespace(**(known | others))


class Known:
    """An availability with its history, which hears of every observation."""

    def __init__(self, space=GRID, avoid=True, noises=None, patience=1, k=1):
        self.space = space
        self.history = History(space.d, k)
        feasibility = SimpleNamespace(patience=patience, learn="auto")
        self.available = Availability(Places.of(space), self.history, feasibility, noises or [noise()], avoid)

    def tell(self, x, *values):
        self.history.add(x, np.array(values or (1.0,)), {}, -1)

    def hold(self, x):
        self.history.pending[len(self.history.pending)] = Pending.of(x, {}, -1)

    def row(self, row):
        return self.space.grid()[row]


EVENTS = st.lists(st.tuples(st.sampled_from(["tell", "fail", "hold", "exclude"]), st.integers(0, 11)), max_size=20)


def played(events, avoid, patience=1):
    known = Known(avoid=avoid, patience=patience)
    for event, row in events:
        x = known.row(row)
        if event == "exclude":
            known.history.exclude(x)
        elif event == "hold":
            known.hold(x)
        else:
            known.tell(x, 1.0 if event == "tell" else np.nan)
    return known


def barred(events, row, patience):
    """Excluded, or failed and never succeeded: too often and not long ago, or while some point is tried by nobody."""
    tried = {other for _, other in events}
    failures = events.count(("fail", row))
    if ("exclude", row) in events or not failures or ("tell", row) in events:
        return ("exclude", row) in events
    told = [event for event in events if event[0] in ("tell", "fail")]
    waited = told[::-1].index(("fail", row)) + 1
    return len(tried) < 12 or (failures >= patience and waited <= WAITING * 2**failures)


@given(EVENTS, st.booleans(), st.integers(1, 2))
def test_points_are_free_unless_they_are_barred_or_would_be_repeats_that_are_avoided(events, avoid, patience):
    known = played(events, avoid, patience)
    out = [barred(events, row, patience) for row in range(12)]
    again = [("tell", row) in events or ("hold", row) in events for row in range(12)]
    free = [not out[row] and not (avoid and again[row]) for row in range(12)]
    available = known.available
    assert [not available.taken(known.row(row)) for row in range(12)] == free
    assert available.rows().tolist() == [row for row in range(12) if free[row]]
    assert available.rows(anyhow=True).tolist() == [row for row in range(12) if not out[row]]
    assert available.exhausted == (avoid and not any(free))
    excluded = available.excluded()
    assert (np.zeros(12, dtype=bool) if excluded is None else excluded).tolist() == [not one for one in free]


@given(EVENTS, st.sets(st.integers(0, 11), min_size=1))
def test_points_outside_of_a_race_are_never_suggested_and_its_own_are_repeated_once_all_are_taken(events, racing):
    known = played(events, avoid=True)
    race = np.isin(np.arange(12), list(racing))
    known.available = replace(known.available, race=race)
    out = np.array([barred(events, row, 1) for row in range(12)])
    again = np.array([("tell", row) in events or ("hold", row) in events for row in range(12)])
    new = race & ~out & ~again
    expected = new if new.any() else race & ~out
    assert (~known.available.excluded()).tolist() == expected.tolist()
    for row in sorted(racing):
        assert known.available.taken(known.row(row)) == (not expected[row])


def test_a_failed_point_comes_again_when_no_other_is_left_unless_it_is_given_up():
    known = Known(patience=2)
    known.tell(known.row(3), np.nan)
    for row in range(12):
        assert known.available.taken(known.row(3))
        if row not in (3, 7):
            known.tell(known.row(row))
    known.hold(known.row(7))
    assert not known.available.taken(known.row(3))
    assert known.available.rows().tolist() == [3]
    known.tell(known.row(3), np.nan)
    for _ in range(WAITING * 2**2 - 1):
        assert known.available.taken(known.row(3))
        assert known.available.exhausted
        known.tell(known.row(4))
    known.tell(known.row(4))
    assert known.available.rows().tolist() == [3]


def test_in_a_space_without_end_a_failed_point_never_comes_again():
    known = Known(CUBE, patience=5)
    failed = np.array([0.25, 0.75])
    known.tell(failed, np.nan)
    assert known.available.taken(failed)
    known.tell(failed)  # it was run again by somebody, and has succeeded
    assert not known.available.barred(failed)


def test_a_space_that_cannot_be_enumerated_has_no_grid():
    assert Known(CUBE).available.grid is None
    large = Space({"a": Int(1, ENUMERABLE), "b": Int(0, 1)})
    assert Known(large).available.grid is None
    assert len(Known(Space({"a": Int(1, ENUMERABLE)})).available.grid) == ENUMERABLE


def test_in_a_continuous_space_points_are_taken_one_by_one():
    known = Known(CUBE)
    observed, pending, failed, excluded, new = np.random.default_rng(0).random((5, 2))
    known.tell(observed)
    known.hold(pending)
    known.tell(failed, np.nan)
    known.history.exclude(excluded)
    taken = known.available.taken
    assert [taken(x) for x in (observed, pending, failed, excluded, new)] == [True, True, True, True, False]
    assert taken(observed + 1e-14)  # the same point but for rounding
    assert not known.available.exhausted


def test_equal_arms_are_one():
    X = np.random.default_rng(0).random((4, 2))
    known = Known(Arms(np.concatenate([X, X])))
    assert known.available.rows().tolist() == [0, 1, 2, 3]
    known.tell(known.row(5))
    assert known.available.rows().tolist() == [0, 2, 3]


# -- noisy values ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("checks", [SOON, SOON + 3])
def test_where_values_are_noisy_one_suggestion_in_some_may_repeat_a_point(checks):
    known = Known(CUBE, "auto", [noise(found=True, checks=checks)])
    repeating = []
    for x in np.random.default_rng(0).random((3 * AGAIN, 2)):
        repeating.append(known.available.repeating)
        known.tell(x)
        assert known.available.taken(x) == (not known.available.repeating)
    assert repeating == [step % AGAIN == AGAIN - 1 for step in range(3 * AGAIN)]


def test_the_first_repeats_come_at_any_time_and_pending_ones_count():
    known = Known(CUBE, "auto", [noise(found=True)])
    x, z = np.random.default_rng(0).random((2, 2))
    known.tell(x)
    known.tell(z)
    assert known.available.repeating
    known.hold(x)
    assert known.available.repeating
    known.hold(z)
    assert not known.available.repeating  # SOON repeats are on their way, and it is no turn
    assert (SOON, known.history.turn % AGAIN) == (2, 0)


@pytest.mark.parametrize(
    ("known", "repeats"),
    [
        (noise(found=True, checks=SOON), True),
        (noise(plausible=lambda claimed: True), True),  # claimed, but nobody has looked
        (noise(), False),
    ],
)
def test_once_no_new_point_is_left_any_may_be_repeated_where_noise_is_plausible(known, repeats):
    run = Known(GRID, "auto", [known])
    for row in range(10):
        run.tell(run.row(row))
    assert not run.available.repeating
    run.tell(run.row(10))
    run.tell(run.row(11))
    assert run.available.repeating == repeats
    assert run.history.turn % AGAIN < AGAIN - 1  # it is no turn
    assert run.available.exhausted == (not repeats)
    assert len(run.available.rows()) == 12 * repeats


def test_of_repeats_those_that_are_pending_come_last():
    run = Known(GRID, False)
    for row in range(12):
        run.tell(run.row(row))
    assert len(run.available.rows()) == 12
    auto = Known(GRID, "auto", [noise(found=True, checks=SOON)])
    for row in range(12):
        auto.tell(auto.row(row))
    for row in range(11):
        auto.hold(auto.row(row))
    assert auto.available.rows().tolist() == [11]
    auto.hold(auto.row(11))
    assert len(auto.available.rows()) == 12


def test_the_most_claimed_noise_of_several_objectives_counts():
    quiet, loud = noise(claimed=0.01), noise(found=True, checks=SOON, claimed=0.4)
    for noises in ([quiet, loud], [loud, quiet]):
        known = Known(CUBE, "auto", noises)
        for x in np.random.default_rng(0).random((AGAIN - 1, 2)):
            known.tell(x)
        assert known.available.repeating


# -- the best point is measured again --------------------------------------------------------------------------------


def told(space=CUBE, n=PROBED, **settings):
    known = Known(space, "auto", **settings)
    for i, x in enumerate(space.snap(np.random.default_rng(0).random((n, space.d)))):
        known.tell(x, float(i))
    return known


def test_the_best_point_is_measured_again_where_only_that_tells_noise():
    known = told(noises=[noise(unsettled=True)])
    best = known.history.X[-1]
    np.testing.assert_array_equal(known.available.probe(), best)
    assert not known.available.taken(best)
    assert known.available.taken(known.history.X[3])
    assert told(n=PROBED - 1, noises=[noise(unsettled=True)]).available.probe() is None
    assert told(noises=[noise()]).available.probe() is None


def test_no_point_is_probed_while_it_is_pending_or_cannot_be():
    for change in ("pending", "excluded", "asked", "fixed", "race", "avoid"):
        asked = SimpleNamespace(asked=range(100) if change == "asked" else ())
        known = told(noises=[noise(unsettled=True, repeats=asked)])
        best = known.history.X[-1]
        if change == "pending":
            known.hold(best)
        elif change == "excluded":
            known.history.exclude(best)
        elif change == "race":
            known.available = replace(known.available, race=np.ones(3, dtype=bool))
        elif change == "fixed":
            known.available = replace(known.available, fixed=np.array([0.5, np.nan]))
        elif change == "avoid":
            known.available = replace(known.available, avoid_repeats=True)
        assert known.available.probe() is None, change


def test_no_point_is_probed_that_may_be_evaluated_with_another_value():
    """Where a coordinate is inactive by no known rule, its results come from elsewhere: there is no end to asking."""
    space = Space({"x": Float(0, 1), "k": Int(1, 5)}, optional=["k"])
    known = told(space, noises=[noise(unsettled=True)])
    assert known.available.probe() is not None
    known.tell(np.array([0.5, INACTIVE]), float(PROBED + 1))
    assert known.available.probe() is None


def test_of_equal_best_points_the_first_free_one_is_probed():
    known = told(noises=[noise(unsettled=True)])
    known.tell(np.array([0.5, 0.5]), float(PROBED - 1))
    known.hold(known.history.X[PROBED - 1])
    np.testing.assert_array_equal(known.available.probe(), [0.5, 0.5])


def test_categories_are_probed_as_long_as_nothing_was_measured_again():
    space = Space({name: Categorical(list("pqrs")) for name in "abcdef"})
    assert told(space, noises=[noise()]).available.probe() is not None
    assert told(space, noises=[noise(checks=1)]).available.probe() is None
    assert told(CUBE, noises=[noise()]).available.probe() is None


def test_an_objective_that_few_repeats_take_for_exact_while_others_are_noisy_is_looked_at_again():
    noisy = noise(found=True, claimed=0.5 * NOISY, checks=AT_ODDS - 1)
    for claimed, other, probed in (
        (2.0 * NOISY, noisy, True),
        (0.9 * NOISY, noisy, False),  # its model finds none
        (2.0 * NOISY, noise(), False),
    ):
        exact = noise(refuted=True, claimed=claimed, checks=AT_ODDS - 1)
        known = Known(CUBE, "auto", [exact, other], k=2)
        for i, x in enumerate(np.random.default_rng(0).random((PROBED, 2))):
            known.tell(x, float(i), -float(i))
        assert (known.available.probe() is not None) == probed


# -- fixed values ----------------------------------------------------------------------------------------------------


def test_fixed_values_hold_within_a_suggestion_only():
    known = Known()
    fixed = GRID.partial({"b": "y"})
    available, points = known.available, np.array([[0.1, 0.2]])
    kept = replace(available, fixed=fixed)
    assert {GRID.decode(known.row(row))["b"] for row in kept.rows()} == {"y"}
    np.testing.assert_array_equal(kept.fix(points), [[0.1, fixed[1]]])
    box = kept.fix_corners(Corners.of_cube(2))
    assert (box.lower.tolist(), box.upper.tolist()) == ([0.0, fixed[1]], [1.0, fixed[1]])
    assert len(available.rows()) == 12
    np.testing.assert_array_equal(available.fix(points), points)


def test_fixed_values_wake_what_depends_on_them():
    space = Space({"kind": Categorical(list("ab")), "x": Float(0.0, 1.0), "s": Float(0.0, 1.0, when={"kind": "b"})})
    available = Known(space).available
    points, dormant = space.snap(np.array([[0.1, 0.3, 0.9]])), np.array([[0.2, 0.4, 0.6]])
    assert points[0, 2] == INACTIVE
    np.testing.assert_array_equal(available.fix_points(points, dormant), points)
    kept = replace(available, fixed=space.partial({"kind": "b"}))
    np.testing.assert_allclose(kept.fix_points(points, dormant), [[0.75, 0.3, 0.6]])
    kept = replace(available, fixed=space.partial({"kind": "a", "x": 0.5}))
    np.testing.assert_allclose(kept.fix_points(points, dormant), [[0.25, 0.5, INACTIVE]])


# -- copies ----------------------------------------------------------------------------------------------------------


def test_a_copy_for_another_history_goes_its_own_way():
    known = Known()
    known.tell(known.row(3))
    history = known.history.copy()
    twin = replace(known.available, history=history)
    known.tell(known.row(4))
    assert 4 in twin.rows()
    assert 3 not in twin.rows()
    history.exclude(known.row(5))
    assert 5 not in twin.rows()
    assert 5 in known.available.rows()
    assert point_key(known.row(5)) not in known.history.excluded
