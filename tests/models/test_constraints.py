"""Models of constraints: margins, the probability that they hold, and which observations meet them."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy import stats
from tests.helpers import make_points

from numbo.kernels.acquisition import LOG_EI, Acquisition, Term, acquisition_values
from numbo.models.constraints import MOST, TERMS, Constraints
from numbo.models.gp import Frame
from numbo.models.moments import moments
from numbo.models.surrogate import Surrogate
from numbo.trials import History
from numbo.trials.violations import scales_of

X = make_points(30, 2)
Z = make_points(12, 2, seed=5)


def new_surrogate(**of):
    return Surrogate(np.zeros(2, dtype=bool), kernel="matern52", trend=True, additive=False, winsorize=False, **of)


def history_of(C, X=X):
    history = History(2, q=C.shape[1])
    for x, limits in zip(X, C, strict=True):
        history.add(x, 0.0, {}, -1, constraints=limits)
    return history


def fitted(C):
    history = history_of(C)
    constraints = Constraints(new_surrogate, C.shape[1])
    constraints.update(history, np.arange(len(C)))
    return constraints, history


def planes(q=2):
    """Values of constraints that each hold on one side of a line."""
    turns = np.linspace(0.0, 2.0, q)
    return np.stack([np.cos(turn) * X[:, 0] + np.sin(turn) * X[:, 1] - 0.6 for turn in turns], axis=1)


def bilog(scaled):
    return np.array([-math.copysign(math.log(1.0 + abs(c)), c) if c else 0.0 for c in scaled])


def modelled(constraints, j=0):
    """The margins that the ``j``-th model is conditioned on."""
    one = constraints.surrogates[j]
    return one.transform.backward(one.gp.values, np.zeros(len(one.gp.values))).mean


def test_margins_are_the_bilog_of_values_in_units_of_their_sizes():
    C = planes()
    constraints, history = fitted(C)
    for j in range(2):
        np.testing.assert_allclose(modelled(constraints, j), bilog(C[:, j] / scales_of(history, 30)[j]), atol=1e-12)


def test_infinite_margins_are_the_best_and_worst_finite_ones():
    C = planes(1)
    C[3], C[5] = math.inf, -math.inf
    constraints, _ = fitted(C)
    margins = modelled(constraints)
    finite = np.delete(margins, [3, 5])
    assert margins[3] == pytest.approx(min(finite.min(), -math.log(2.0)))
    assert margins[5] == pytest.approx(max(finite.max(), math.log(2.0)))


def test_many_zeros_mean_that_only_violations_are_measured():
    C = np.maximum(planes(1), 0.0)
    constraints, _ = fitted(C)
    np.testing.assert_allclose(modelled(constraints)[C[:, 0] == 0.0], math.log(2.0))
    few = planes(1)
    few[0] = 0.0
    constraints, _ = fitted(few)
    assert modelled(constraints)[0] == pytest.approx(0.0, abs=1e-12)


def test_the_log_probability_is_the_sum_over_the_models_that_each_margin_is_positive():
    constraints, _ = fitted(planes())
    expected = np.zeros(12)
    for one in constraints.surrogates:
        mean, std = one.mean_sd(Z)
        expected += stats.norm.logsf(0.0, loc=mean, scale=std)
    np.testing.assert_allclose(constraints.log_probability(Z), expected, rtol=1e-6, atol=1e-12)


def test_values_of_any_size_are_margins_without_a_warning():
    C = planes(2)
    C[:3, 0] = 1e300, -1e300, 5e-324
    C[:, 1] = np.where(np.arange(30) < 28, 1e-300, 1e300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        constraints, _ = fitted(C)
        assert np.isfinite(constraints.log_probability(Z)).all()
    margins = modelled(constraints)
    assert np.isfinite(margins).all()
    assert margins.argmin() == 0
    assert margins.argmax() == 1


def test_without_constraints_everything_is_certain():
    none = Constraints()
    assert len(none) == 0
    np.testing.assert_array_equal(none.log_probability(Z), 0.0)
    assert none.padded() == none.terms() == ()
    assert none.met(history_of(np.empty((30, 0))), np.arange(30)).all()


@pytest.mark.parametrize("column", [np.full(30, 0.5), np.where(np.arange(30) == 4, 0.5, np.nan), np.full(30, np.nan)])
def test_a_constraint_of_less_than_two_different_values_has_no_model(column):
    C = planes()
    C[:, 1] = column
    constraints, history = fitted(C)
    assert len(constraints.terms()) == 1
    alone, _ = fitted(C[:, :1])
    np.testing.assert_array_equal(constraints.log_probability(Z), alone.log_probability(Z))
    known, _ = fitted(planes())
    known.update(history, np.arange(30))
    assert len(known.terms()) == 1  # it had one


def test_models_stand_on_the_members_with_known_values():
    C = planes()
    C[::3, 1] = np.nan
    constraints, history = fitted(C)
    constraints.update(history, np.arange(20))
    first, second = constraints.surrogates
    np.testing.assert_array_equal(first.members, np.arange(20))
    np.testing.assert_array_equal(second.members, [i for i in range(20) if i % 3])


def test_the_frame_is_asked_for_when_a_fit_is_due():
    C, asked = planes(1), []

    def frame():
        asked.append(1)
        return Frame(np.full(2, 0.3), 0.2)

    constraints, history = Constraints(new_surrogate, 1), history_of(C)
    constraints.update(history, np.arange(30), frame)
    constraints.update(history, np.arange(29), frame)
    assert len(asked) == 1
    assert constraints.surrogates[0].gp.radius == 0.2


def test_many_constraints_are_modelled_in_groups_by_their_largest_value():
    rng = np.random.default_rng(0)
    C = rng.normal(size=(30, 30)) + X[:, :1]
    C[rng.random(C.shape) < 0.3] = np.nan
    constraints, history = fitted(C)
    assert len(constraints) == MOST
    groups = np.array_split(np.arange(30), MOST)
    for j, group in enumerate(groups):
        largest = np.fmax.reduce((C / scales_of(history, 30))[:, group], axis=1)
        rows = np.flatnonzero(~np.isnan(largest))
        np.testing.assert_array_equal(constraints.surrogates[j].members, rows)
        np.testing.assert_allclose(modelled(constraints, j), bilog(largest[rows]), atol=1e-12)


def objective():
    one = new_surrogate()
    one.update(fitted_data(), np.arange(30))
    return Term(one.posterior, Acquisition(LOG_EI, 0.5))


def fitted_data():
    history = History(2)
    for x in X:
        history.add(x, float(np.sin(5.0 * x[0]) + x[1]), {}, -1)
    return history.data()


@pytest.mark.parametrize("q", [1, 2, 3, 4, 6, 8, 12, 20])
@pytest.mark.parametrize("feasible", [True, False])
def test_what_is_maximised_is_padded_to_few_numbers_of_terms_and_means_the_same(q, feasible):
    constraints, _ = fitted(planes(q))
    first = objective()
    terms = constraints.weigh(first, feasible=feasible)
    assert len(terms) in TERMS
    total = sum(acquisition_values(term.posterior, term.acquisition, Z) for term in terms)
    expected = constraints.log_probability(Z)
    if feasible:
        expected += acquisition_values(first.posterior, first.acquisition, Z)
    np.testing.assert_allclose(total, expected, rtol=1e-9)
    assert len(constraints.padded()) == len(terms) - 1


def test_without_models_the_objective_is_maximised_alone():
    first = objective()
    assert Constraints(new_surrogate, 2).weigh(first, feasible=False) == (first,)


def test_pending_points_are_certain_until_they_are_released():
    constraints, _ = fitted(planes())
    before = [moments(one.posterior, Z) for one in constraints.surrogates]
    constraints.hallucinate(Z[:3])
    for one, (mean, variance) in zip(constraints.surrogates, before, strict=True):
        found = moments(one.posterior, Z)
        np.testing.assert_allclose(found.mean, mean, rtol=1e-7, atol=1e-10)
        assert (found.variance[:3] < 0.6 * variance[:3]).all()
    constraints.release()
    for one, expected in zip(constraints.surrogates, before, strict=True):
        np.testing.assert_array_equal(moments(one.posterior, Z), expected)


def test_exact_constraints_are_met_by_what_was_told():
    C = planes()
    constraints, history = fitted(C)
    rows = np.arange(30)[::-2]
    np.testing.assert_array_equal(constraints.met(history, rows), (C[rows] <= 0.0).all(axis=1))


def test_the_model_says_whether_unknown_constraints_are_met():
    C = planes()
    truth = C[:, 1].copy()
    C[::3, 1] = np.nan
    constraints, history = fitted(C)
    met = constraints.met(history, np.arange(30))
    clear = np.abs(truth) > 0.05
    np.testing.assert_array_equal(met[clear], ((C[:, 0] <= 0.0) & (truth <= 0.0))[clear])
    assert (np.isnan(C[:, 1]) & (C[:, 0] <= 0.0) & (truth > 0.05)).any()


def test_of_noisy_constraints_the_mean_less_a_deviation_has_to_agree_unless_none_is_left():
    C = planes(1) + 0.2 * np.random.default_rng(0).normal(size=(30, 1))
    constraints, history = fitted(C)
    (one,) = constraints.surrogates
    mean, std = one.mean_sd(X)
    met = constraints.met(history, np.arange(30))
    np.testing.assert_array_equal(met, (C[:, 0] <= 0.0) & (mean - std >= 0.0))
    lucky = np.flatnonzero((C[:, 0] <= 0.0) & (mean - std < 0.0))
    assert len(lucky)
    assert constraints.met(history, lucky).all()


def test_restored_models_are_the_same_to_the_last_bit_although_more_was_told():
    constraints, history = Constraints(new_surrogate, 2), history_of(planes()[:20], X[:20])
    constraints.update(history, np.arange(20))
    state = constraints.state_dict()
    for x, limits in zip(X[20:], 100.0 * planes()[20:], strict=True):
        history.add(x, 0.0, {}, -1, constraints=limits)
    twin = Constraints(new_surrogate, 2)
    twin.restore(state, history)
    np.testing.assert_array_equal(twin.log_probability(Z), constraints.log_probability(Z))
    for one in (constraints, twin):
        one.update(history, np.arange(30))
    np.testing.assert_array_equal(twin.log_probability(Z), constraints.log_probability(Z))
