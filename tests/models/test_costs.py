"""What is learned of the costs of trials, and what it adds to the utility of a point."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from numbo.kernels.acquisition import LOG_PROBABILITY, MEAN, acquisition_values
from numbo.models.costs import LEAST, SIZE, WEIGHT, Costs
from numbo.models.curves import Curves
from numbo.models.moments import moments
from numbo.trials import Curve, History, Pending

KINDS = np.zeros(2, dtype=bool)


def cost_of(X):
    return np.exp(3.0 * X[:, 0] + np.sin(3.0 * X[:, 1]))


def history_of(X, costs, failed=(), ends=None):
    history = History(X.shape[1], ends=ends)
    for i, (x, cost) in enumerate(zip(X, costs, strict=True)):
        history.add(x, math.nan if i in failed else float(x[0]), {"i": i}, -1, cost=float(cost))
    return history


def points(n, seed=0):
    return np.random.default_rng(seed).random((n, 2))


def value_of(terms, X):
    return sum(acquisition_values(*term, X) for term in terms)


def test_expected_costs_are_right():
    X = points(40)
    history = history_of(X, cost_of(X))
    Z = points(100, 1)
    found = Costs(KINDS).expected(history, Z)
    assert np.abs(np.log(found / cost_of(Z))).max() < 0.3


def test_the_first_term_is_a_share_of_the_log_cost_up_to_a_constant():
    X = points(30)
    history = history_of(X, cost_of(X))
    costs = Costs(KINDS)
    (term,) = costs.terms(history)
    assert term.acquisition.kind == MEAN
    Z = points(20, 2)
    total = value_of((term,), Z) + WEIGHT * np.log(costs.expected(history, Z))
    np.testing.assert_allclose(total, total[0], atol=1e-9)


def test_with_a_budget_the_weight_falls_and_what_fits_is_likely():
    X = points(30)
    history = history_of(X, cost_of(X))
    spent = float(cost_of(X).sum())
    for left, weight in ((10.0 * spent, WEIGHT), (5.0, 5.0 / (spent + 5.0))):
        costs = Costs(KINDS, budget=spent + left)
        mean, fits = costs.terms(history)
        assert mean.acquisition.parameter == pytest.approx(weight * costs._surrogate.transform.scale)
        assert costs.left(history) == pytest.approx(left)
        assert fits.acquisition.kind == LOG_PROBABILITY
        Z = points(200, 3)
        p = np.exp(value_of((fits,), Z))
        expected = costs.expected(history, Z)
        assert (p[expected > 1.5 * left] < 0.1).all()
        assert (p[expected < left / 1.5] > 0.9).all()


def test_the_probability_that_a_trial_fits_is_that_of_a_normal_log_cost():
    X = points(12)
    history = history_of(X, cost_of(X))
    left = 4.0
    costs = Costs(KINDS, budget=float(cost_of(X).sum()) + left)
    fits = costs.terms(history)[1]
    transform = costs._surrogate.transform
    Z = points(20, 4)
    found = moments(fits.posterior, Z)
    margin = math.sqrt(fits.posterior.covariance.noise_variance)
    log_cost = -(found.mean - margin) * transform.scale - transform.location
    expected = stats.norm.logcdf((math.log(left) - log_cost) / (found.std * transform.scale))
    np.testing.assert_allclose(value_of((fits,), Z), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("case", ["none", "few", "equal", "failed"])
def test_costs_that_say_nothing_have_no_terms(case):
    X = points(20)
    costs = np.full(20, np.nan)
    if case == "few":
        costs[: LEAST - 1] = cost_of(X)[: LEAST - 1]
    elif case == "equal":
        costs[:] = 7.3
    elif case == "failed":
        costs[:10] = cost_of(X)[:10]
    history = history_of(X, costs, failed=range(10) if case == "failed" else ())
    assert Costs(KINDS).terms(history) == ()
    assert Costs(KINDS, budget=1e6).terms(history) == ()


def test_what_is_left_counts_failures_and_pending_trials():
    X = points(20)
    history = history_of(X, cost_of(X), failed=(3, 4))
    costs = Costs(KINDS, budget=1000.0)
    assert costs.left(history) == pytest.approx(1000.0 - cost_of(X).sum())
    x = np.array([0.5, 0.5])
    history.pending["a"] = Pending.of(x, {}, -1, None)
    assert costs.left(history) == pytest.approx(1000.0 - cost_of(X).sum() - costs.expected(history, x[None])[0])


def test_where_pending_trials_use_up_what_is_left_the_cheapest_fit():
    X = points(30)
    history = history_of(X, cost_of(X))
    spent = float(cost_of(X).sum())
    costs = Costs(KINDS, budget=spent + 4.0)
    history.pending["a"] = Pending.of(np.array([0.9, 0.5]), {}, -1)
    assert costs.left(history) < 0.0
    mean, fits = costs.terms(history)
    assert mean.acquisition.parameter == 0.0
    Z = points(200, 3)
    np.testing.assert_array_equal(costs.fit(history, Z), costs.expected(history, Z) <= cost_of(X).min() * (1 + 1e-12))
    p = value_of((fits,), Z)
    assert cost_of(Z[p.argmax()][None])[0] < np.quantile(cost_of(Z), 0.05)


def test_a_pending_trial_costs_what_it_says():
    X = points(20)
    history = history_of(X, cost_of(X))
    costs = Costs(KINDS, budget=1000.0)
    history.pending["a"] = Pending.of(np.array([0.5, 0.5]), {}, -1, cost=321.0)
    history.pending["b"] = Pending.of(np.array([0.2, 0.5]), {}, -1)
    expected = costs.expected(history, np.array([[0.2, 0.5]]))[0]
    assert costs.left(history) == pytest.approx(1000.0 - cost_of(X).sum() - 321.0 - expected)


@pytest.mark.parametrize("budget", [None, 1e4])
def test_time_is_a_budget_that_pending_trials_leave_alone(budget):
    X = points(30)
    history = history_of(X, cost_of(X))
    history.pending["a"] = Pending.of(np.array([0.5, 0.5]), {}, -1)
    limited = Costs(KINDS, budget=budget)
    limited.time = (20.0, 5.0)
    twin = Costs(KINDS, budget=20.0)
    ended = history_of(X, cost_of(X))
    twin._unspent = lambda history: 5.0
    Z = points(50, 3)
    assert value_of(limited.terms(history), Z).tobytes() == value_of(twin.terms(ended), Z).tobytes()
    np.testing.assert_array_equal(limited.fit(history, Z), limited.expected(history, Z) <= 5.0)
    limited.time = (20.0, 0.0)
    assert limited.terms(history) == ()
    assert limited.fit(history, Z).all()


def test_the_smaller_of_budget_and_time_counts():
    X = points(30)
    history = history_of(X, cost_of(X))
    spent = float(cost_of(X).sum())
    Z = points(50, 3)
    costs = Costs(KINDS, budget=spent + 3.0)
    alone = value_of(costs.terms(history), Z)
    costs.time = (100.0, 90.0)
    assert value_of(costs.terms(history), Z).tobytes() == alone.tobytes()


def test_before_costs_differ_pending_trials_cost_the_mean():
    X = points(3)
    history = history_of(X, [2.0, 4.0, np.nan])
    history.pending["a"] = Pending.of(np.array([0.5, 0.5]), {}, -1, None)
    assert Costs(KINDS, budget=20.0).left(history) == pytest.approx(20.0 - 6.0 - 3.0)


def test_failures_do_not_change_the_model():
    X = points(30)
    some = [i for i in range(30) if i % 5]
    known = cost_of(X)
    known[::5] = 1e-6  # crashed at once
    found = Costs(KINDS).expected(history_of(X, known, failed=range(0, 30, 5)), X)
    alone = Costs(KINDS).expected(history_of(X[some], known[some]), X)
    np.testing.assert_allclose(found, alone, rtol=1e-9)


def curve(n):
    steps = np.arange(1.0, n + 1.0)
    return Curve(steps, 1.0 / steps)


def test_a_stopped_trial_tells_its_share_of_the_cost():
    """Half of the trials are stopped after a third of the reports: the model is that of whole trials."""
    X = points(24)
    whole = history_of(X, cost_of(X))
    history = History(2, ends=Curves)
    for i, (x, cost) in enumerate(zip(X, cost_of(X).tolist(), strict=True)):
        stopped = i % 2 == 1
        steps = 3 if stopped else 9
        history.add(x, 1.0 / steps, {}, -1, final=not stopped, curve=curve(steps), cost=cost / 3.0 if stopped else cost)
    np.testing.assert_allclose(Costs(KINDS).expected(history, X), Costs(KINDS).expected(whole, X), rtol=1e-6)


def test_stopped_trials_without_reports_are_left_out_of_the_model():
    X = points(24)
    some = np.arange(24) % 2 == 0
    history = History(2)
    for x, cost, final in zip(X, cost_of(X).tolist(), some.tolist(), strict=True):
        history.add(x, 0.0, {}, -1, final=final, cost=cost if final else 1e-5)
    alone = history_of(X[some], cost_of(X)[some])
    np.testing.assert_allclose(Costs(KINDS).expected(history, X), Costs(KINDS).expected(alone, X), rtol=1e-9)
    assert Costs(KINDS, budget=1e4).left(history) == pytest.approx(1e4 - cost_of(X)[some].sum() - 12e-5)


def test_many_trials_are_chosen_by_location_and_the_best_is_among_them():
    X = points(4 * SIZE)
    history = history_of(X, cost_of(X))
    costs = Costs(KINDS)
    found = costs.expected(history, X)
    members = costs._surrogate.members
    assert len(members) == SIZE == len(np.unique(members))
    assert history.best in members
    assert np.median(np.abs(np.log(found / cost_of(X)))) < 0.1
    for x in points(20, 7):
        history.add(x, 0.0, {}, -1, cost=float(cost_of(x[None])[0]))
        costs.terms(history)
    assert len(costs._surrogate.members) == SIZE + 20


def test_a_restored_model_is_the_same_to_the_last_bit():
    X = points(60)
    history = History(2)
    costs = Costs(KINDS, budget=1e4)
    for x in X:
        history.add(x, float(x[0]), {}, -1, cost=float(cost_of(x[None])[0]))
        costs.terms(history)
    twin = Costs(KINDS, budget=1e4)
    twin.restore(costs.state_dict(), history)
    assert value_of(twin.terms(history), X).tobytes() == value_of(costs.terms(history), X).tobytes()


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_costs_of_any_size(scale):
    X = points(20)
    history = history_of(X, cost_of(X) * scale)
    costs = Costs(KINDS, budget=1e308)
    assert np.isfinite(value_of(costs.terms(history), X)).all()
    ratio = costs.expected(history, X) / (cost_of(X) * scale)
    assert np.abs(np.log(ratio)).max() < 0.3


def test_nothing_left_no_terms():
    X = points(20)
    history = history_of(X, cost_of(X))
    assert Costs(KINDS, budget=1.0).terms(history) == ()


def test_points_fit_that_are_expected_to_cost_no_more_than_is_left():
    X = points(30)
    history = history_of(X, cost_of(X))
    spent = float(cost_of(X).sum())
    costs = Costs(KINDS, budget=spent + 4.0)
    Z = points(100, 5)
    fits = costs.fit(history, Z)
    np.testing.assert_array_equal(fits, costs.expected(history, Z) <= costs.left(history))
    assert 0 < fits.sum() < 100
    assert Costs(KINDS, budget=spent - 1.0).fit(history, Z).all()
    assert Costs(KINDS).fit(history, Z).all()
