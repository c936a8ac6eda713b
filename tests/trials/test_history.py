"""The history: copies that stay as they are, and what is derived from its records."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers import restored_history

from numbo.models.curves import Curves
from numbo.models.noise import alike, evidence
from numbo.rules.opening import blind
from numbo.trials import SCOUT, UNASKED, Curve, History, Pending, point_key, scores_of
from numbo.trials.effort import effort, pending_scouts
from numbo.trials.ends import expected_pending
from numbo.trials.front import closeness, front_rows
from numbo.trials.violations import INFEASIBLE


def filled():
    history = History(2)
    history.add(np.array([0.1, 0.2]), 1.0, {"a": 1}, -1)
    history.add(np.array([0.3, 0.4]), np.nan, {"a": 5}, 2)
    history.exclude(np.array([0.9, 0.9]))
    history.pending["k"] = Pending.of(np.array([0.5, 0.5]), {"a": 2}, 3)
    return history


def test_what_is_told_after_a_copy_does_not_reach_it():
    history = filled()
    copy = history.copy()
    X, Y = copy.trials.X.copy(), copy.trials.Y.copy()
    for i in range(100):  # more than there was room for
        history.add(np.array([0.1, 0.2]), float(i), {"a": i}, -1)
        history.add(np.array([0.6, 0.6]), np.nan, {}, -1)
    history.exclude(np.array([0.7, 0.7]))
    history.pending.clear()
    assert (copy.n, copy.told, len(copy.excluded), list(copy.pending)) == (1, 2, 1, ["k"])
    np.testing.assert_array_equal(copy.trials.X, X)
    np.testing.assert_array_equal(copy.trials.Y, Y)
    assert (copy.best, copy.any_feasible, copy.params(copy.best)) == (0, True, {"a": 1})
    assert len(copy.visits.first) == len(copy.visits.failures) == 1


def test_what_is_told_to_a_copy_does_not_reach_the_original():
    history = filled()
    copy = history.copy()
    copy.add(np.array([0.6, 0.6]), np.nan, {}, -1)
    copy.pending.clear()
    copy.exclude(np.array([0.7, 0.7]))
    assert (history.told, len(history.excluded), list(history.pending)) == (2, 1, ["k"])


def test_the_oldest_pending_point_at_a_place_is_found_by_it():
    history = filled()
    assert history.pending.key_of(point_key(np.array([0.5, 0.5]))) == "k"
    assert history.pending.key_of(point_key(np.array([0.5, 0.6]))) is None


def naive(told):
    """Observations, failures and what is derived from them, one trial after the other."""
    observed = [(t, x, y) for t, (x, y) in enumerate(told) if not np.isnan(y)]
    first = {}
    again = [(first[x], i) for i, (_, x, _) in enumerate(observed) if first.setdefault(x, i) != i]
    lost = [x for x, y in told if np.isnan(y)]
    return observed, first, again, lost


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([math.nan, 0.0, 1.0, math.inf])), max_size=150))
def test_observations_are_the_trials_that_succeeded(told):
    history = History(1, 2)
    for t, (x, y) in enumerate(told):
        history.add(np.array([x / 8]), np.array([y, -y]), {"x": x}, t, final=x > 0)
    observed, first, again, lost = naive(told)
    interrupted = history.copy()
    interrupted.refresh()
    for known in (history, interrupted, restored_history(history.state_dict())):
        assert (known.n, known.told) == (len(observed), len(told))
        np.testing.assert_array_equal(known.X[:, 0], [x / 8 for _, x, _ in observed])
        np.testing.assert_array_equal(known.y, [y for _, _, y in observed])
        np.testing.assert_array_equal(known.trials.origins[known.positions], [t for t, _, _ in observed])
        np.testing.assert_array_equal(known.positions, [t for t, _, _ in observed])
        np.testing.assert_array_equal(known.trials.Y[:, 1], [-y for _, y in told])
        assert known.visits.first == {point_key(np.array([x / 8])): i for x, i in first.items()}
        assert known.visits.again == again
        assert {float(x[0] * 8) for x in known.trials.X[list(known.visits.failed.values())]} == set(lost) - set(first)
        assert known.visits.superseded(len(told)).tolist() == [bool(np.isnan(y)) and x in first for x, y in told]
        assert known.final.all() == all(x > 0 for _, x, _ in observed)
        if observed:
            assert known.params(known.best) == {"x": observed[int(np.argmax(known.y))][1]}


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=25))
def test_failures_at_points_that_have_succeeded_are_counted(events):
    history = History(1)
    expected = 0
    fine = set()
    for point, succeeds in events:
        history.add(np.array([point / 4]), 1.0 if succeeds else np.nan, {}, -1)
        expected += point in fine and not succeeds
        fine |= {point} if succeeds else set()
    assert history.visits.failed_again == expected
    history.refresh()  # all at once
    assert history.visits.failed_again == expected


def test_what_is_pending_is_counted_by_what_it_is():
    history = filled()
    history.pending["again"] = Pending.of(np.array([0.1, 0.2]), {"a": 1}, 3)
    history.pending["scout"] = Pending.of(np.array([0.2, 0.2]), {"a": 1}, SCOUT)
    assert (history.turn, pending_scouts(history), history.visits.observed(history.pending.values())) == (5, 1, 1)
    np.testing.assert_array_equal(history.pending.X, [[0.5, 0.5], [0.1, 0.2], [0.2, 0.2]])
    one, other, scout = map(point_key, np.array([[0.1, 0.2], [0.3, 0.4], [0.2, 0.2]]))
    assert (history.pending.key_of(scout), history.pending.key_of(other)) == ("scout", None)
    assert (history.visits.first, list(history.visits.failed)) == ({one: 0}, [other])
    assert (history.visits.only_failed(one), history.visits.only_failed(other)) == (False, True)


def test_values_of_models_are_finite_and_those_of_observations_are_what_was_told():
    history = History(1, 2)
    for value in (math.inf, 3.0, -math.inf, 1.0):
        history.add(np.array([0.5]), np.array([value, -value]), {}, -1)
    assert history.output(1).tolist() == [-math.inf, -3.0, math.inf, -1.0]
    assert history.values(output=1).tolist() == [-3.0, -3.0, -1.0, -1.0]
    assert history.data(2, output=0).y.tolist() == [3.0, 3.0]
    np.testing.assert_array_equal(history.outputs(np.array([2, 1])), [[1.0, -1.0], [3.0, -3.0]])


# -- constraints -----------------------------------------------------------------------------------------------------

CONSTRAINED = st.lists(
    st.tuples(
        st.integers(-2, 2).map(float),
        st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0, math.inf, math.nan]), min_size=2, max_size=2),
    ),
    min_size=1,
    max_size=12,
)


def constrained(told):
    history = History(1, 1, 2)
    for i, (y, limits) in enumerate(told):
        history.add(np.array([i / 50]), y, {"i": i}, -1, constraints=np.array(limits))
    return history


def met(limits):
    return not any(limit > 0.0 for limit in limits)


@given(CONSTRAINED)
def test_the_best_meets_all_constraints_or_violates_them_least(told):
    """Of what meets them, whatever says everything comes first."""
    history = constrained(told)
    feasible = [i for i, (_, limits) in enumerate(told) if met(limits)]
    np.testing.assert_array_equal(np.flatnonzero(history.met), feasible)
    assert history.any_feasible == bool(feasible)
    if feasible:
        ranks = [(not any(map(math.isnan, told[i][1])), told[i][0], -i) for i in feasible]
        assert history.best == -max(ranks)[2]
    else:
        assert scores_of(history)[history.best] == scores_of(history).max()
    interrupted = history.copy()
    interrupted.refresh()
    for again in (interrupted, restored_history(history.state_dict())):
        assert (again.best, again.fact(effort)) == (history.best, history.fact(effort))
        np.testing.assert_array_equal(scores_of(again), scores_of(history))


@given(CONSTRAINED)
def test_scores_are_values_where_constraints_hold_and_below_all_values_elsewhere(told):
    history = constrained(told)
    scores, rows = scores_of(history), np.arange(len(told))
    everything = any(met(limits) and not any(map(math.isnan, limits)) for _, limits in told)
    for i, (y, limits) in enumerate(told):
        if not met(limits):
            assert scores[i] < INFEASIBLE
        elif everything and any(map(math.isnan, limits)):
            assert scores[i] == INFEASIBLE  # below what is known to be feasible
        else:
            assert scores[i] == y
    np.testing.assert_array_equal(scores_of(history, rows[::2]), scores[::2])


def test_a_search_is_blind_as_long_as_all_violate_by_the_same():
    history = History(1, 1, 2)
    assert blind(history)
    history.add(np.array([0.1]), 1.0, {}, -1, constraints=np.array([1.0, -1.0]))
    history.add(np.array([0.2]), 1.0, {}, -1, constraints=np.array([1.0, -2.0]))
    assert blind(history)  # the second one holds
    history.add(np.array([0.3]), 1.0, {}, -1, constraints=np.array([1.0, 2.0]))
    assert not blind(history)


# -- several objectives ----------------------------------------------------------------------------------------------


def several(n, seed=0):
    history, rng = History(2, 3, 1), np.random.default_rng(seed)
    for _ in range(n):
        limit = rng.choice([-1.0, 1.0], p=[0.7, 0.3])
        history.add(
            rng.random(2), rng.normal(size=3), {}, -1, final=bool(rng.random() < 0.8), constraints=np.array([limit])
        )
    return history


def test_the_front_is_of_final_observations_that_meet_all_constraints():
    history = several(60)
    counted = np.flatnonzero(history.trials.final & (history.C[:, 0] <= 0.0))
    expected = counted[front_rows(history.trials.Y[counted])]
    assert sorted(history.front.rows.tolist()) == sorted(expected.tolist())
    scores, feasible = scores_of(history), history.C[:, 0] <= 0.0
    near = closeness(history.outputs(), history.outputs(history.front.rows))
    np.testing.assert_array_equal(scores[feasible], near[feasible])
    assert (scores[~feasible] < INFEASIBLE).all()


def test_a_history_of_one_output_has_the_others_records():
    history = several(40)
    history.pending["k"] = Pending.of(np.array([0.5, 0.5]), {"a": 2}, 3)
    own = history.of_output(2)
    np.testing.assert_array_equal(own.y, history.trials.Y[:, 2])
    np.testing.assert_array_equal(own.X, history.X)
    np.testing.assert_array_equal(own.C, history.C)
    assert (own.k, list(own.pending), own.final.all()) == (1, ["k"], history.final.all())


def test_observations_are_alike_if_all_their_outputs_are():
    history = History(1, 2)
    for outputs in ((1.0, 2.0), (1.0, 2.0), (1.0, 3.0), (0.0, 2.0)):
        history.add(np.array([0.5]), np.array(outputs), {}, -1)
    assert [alike(history, 0, i) for i in (1, 2, 3)] == [True, False, False]


# -- trials that were stopped ----------------------------------------------------------------------------------------


def decaying(n, seed=0, last=12):
    """Curves (n, last) that decay to different ends, larger values being better."""
    rng = np.random.default_rng(seed)
    ends = rng.gamma(2.0, 0.2, n)
    return -(ends[:, None] + (2.0 - ends[:, None]) * np.exp(-0.3 * np.arange(1, last + 1)))


def reporting(n, every=3, seed=0):
    """A history in which all but one trial in ``every``, or all, were stopped after four steps."""
    history = History(1, ends=Curves)
    for i, values in enumerate(decaying(n, seed)):
        count = len(values) if every and i % every == 0 else 4
        curve = Curve(np.arange(1.0, count + 1.0), values[:count])
        history.add(np.array([i / n]), values[count - 1], {}, -1, final=count == len(values), curve=curve)
    return history


def test_values_of_trials_that_were_stopped_are_those_expected_at_their_ends():
    history, truth = reporting(60), decaying(60)[:, -1]
    stopped = history.stopped
    assert stopped.tolist() == [i % 3 > 0 for i in range(60)]
    np.testing.assert_array_equal(history.y[~stopped], truth[~stopped])
    last = history.trials.Y[:, 0]
    errors = [np.abs(values - truth)[stopped].mean() for values in (history.y, last)]
    assert errors[0] < 0.5 * errors[1]
    assert (history.variance[stopped] > 0.0).all()
    assert not history.variance[~stopped].any()
    for i in (0, 1):
        assert history.assured(i) == history.y[i] - math.sqrt(history.variance[i])


def test_the_best_of_trials_that_were_all_stopped_is_the_one_that_is_expected_to_be():
    """An early lead is lost as soon as others show that it does not last."""
    history, rng, best = History(1, ends=Curves), np.random.default_rng(0), []
    early, steady = [10.0], [8.0] * 6
    falling = [[10.0 + e, *(10.0 - np.arange(1.0, 6.0) * 2.0 + 0.1 * rng.normal(size=5))] for e in rng.normal(size=20)]
    for i, values in enumerate([early, steady, *falling]):
        curve = Curve(np.arange(1.0, len(values) + 1.0), np.array(values))
        history.add(np.array([i / 60]), values[-1], {}, -1, final=False, curve=curve)
        assert history.y[history.best] == history.y.max()
        best.append(history.best)
    assert (best[0], best[-1]) == (0, 1)


def test_a_copy_keeps_what_was_expected_and_a_rebuilt_history_expects_the_same():
    """Later trials change what is expected of earlier ones, in the history that they are told to."""
    history = reporting(30)
    copy, y, variance = history.copy(), history.y.copy(), history.variance.copy()
    for i, values in enumerate(decaying(30, seed=5)):
        curve = Curve(np.arange(1.0, 13.0 if i % 2 else 5.0), values[: 12 if i % 2 else 4])
        history.add(np.array([i / 30]), values[-1], {}, -1, final=bool(i % 2), curve=curve)
    np.testing.assert_array_equal(copy.y, y)
    np.testing.assert_array_equal(copy.variance, variance)
    assert (history.y[:30] != y).any()
    rebuilt = restored_history(history.state_dict(), Curves)
    np.testing.assert_array_equal(rebuilt.y, history.y)
    np.testing.assert_array_equal(rebuilt.variance, history.variance)


def test_pending_points_are_expected_to_end_where_their_reports_lead():
    history = reporting(40)
    values = decaying(3, seed=9)
    for k, count in enumerate((0, 3, 6)):
        curve = Curve(np.arange(1.0, count + 1.0), values[k, :count]) if count else None
        history.pending[k] = Pending.of(np.array([k / 3]), {}, -1, curve)
    expected = expected_pending(history)
    assert np.isnan(expected.y).tolist() == np.isnan(expected.variance).tolist() == [True, False, False]
    assert (np.abs(expected.y - values[:, -1])[1:] < 3.0 * np.sqrt(expected.variance[1:])).all()


def test_scouts_are_due_only_where_trials_are_stopped():
    history = reporting(40)
    assert history.fact(effort).scout_is_due(0.5, 0)
    whole = History(1, ends=Curves)
    for i, values in enumerate(decaying(40)):  # some are short, but all have ended
        curve = Curve(np.arange(1.0, 13.0), values) if i % 9 == 0 else Curve(np.ones(1), values[:1])
        whole.add(np.array([i / 40]), values[-1], {}, -1, curve=curve)
    assert not whole.fact(effort).scout_is_due(0.5, 0)


def newest(known, history, most):
    """The fold of the newest outputs, at most so many."""
    seen = () if known is None else known
    return (*seen, *history.trials.Y[len(seen) :, 0].tolist())[:most]


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), max_size=40))
def test_a_fact_is_the_same_whenever_it_was_asked_for_and_wherever(told):
    often, once = History(1), History(1)
    copies = []
    for k, (x, asked, failed) in enumerate(told):
        for history in (often, once):
            history.add(np.array([x / 4]), math.nan if failed else float(k % 5), {}, -1 if asked else UNASKED)
        if asked:
            often.fact(evidence, 0)
            copies.append((often.copy(), often.fact(newest, 100)))
    assert often.fact(evidence, 0) == once.fact(evidence, 0) == restored_history(once.state_dict()).fact(evidence, 0)
    np.testing.assert_equal(often.fact(newest, 100), once.fact(newest, 100))
    assert len(once.fact(newest, 3)) == min(3, len(told))  # another fact
    for copy, known in copies:
        np.testing.assert_equal(copy.fact(newest, 100), known)
