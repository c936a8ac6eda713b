"""The models of all objectives and constraints, on the same observations."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import make_points

from numbo.models.curves import Curves
from numbo.models.moments import moments
from numbo.models.outputs import CONSIDERED, EXPECTED, Outputs
from numbo.models.surrogate import Surrogate
from numbo.trials import Data, Goal, History, Pending
from numbo.trials.ends import Expected

X = make_points(25, 2)
Z = make_points(9, 2, seed=5)


def new_surrogate(**of):
    kind = {"kernel": "matern52", "trend": True, "additive": False, "winsorize": True, "warp": True}
    return Surrogate(np.zeros(2, dtype=bool), **kind, **of)


def goal(k, q):
    return Goal(("maximize",) * k, tuple(f"c{j}" for j in range(q)))


class Known(Curves):
    """The ends of running trials are 3.0, and of variance 0.01."""

    def anew(self):
        return Known()

    def running(self, curves, trials, n):
        return Expected(np.full(len(curves), 3.0), np.full(len(curves), 0.01))


def history_of(k=1, q=0, ends=None):
    history = History(2, k, q, None if ends is None else lambda: ends)
    for x in X:
        outputs = np.array([np.sin(4.0 * x[0]) + x[1], 3.0 * x[0] - x[1] ** 2])[:k]
        history.add(x, outputs, {}, -1, constraints=np.array([x[0] - 0.6, 0.3 - x[1]])[:q])
    return history


def fitted(history):
    models = Outputs(new_surrogate, new_surrogate, goal(history.k, history.C.shape[1]))
    for j, one in enumerate(models.objectives):
        one.update(history.data(output=j), np.arange(history.n))
    models.constraints.update(history, np.arange(history.n))
    return models


@pytest.mark.parametrize(("k", "q"), [(1, 0), (1, 2), (3, 1)])
def test_there_is_a_model_of_each_objective_and_constraint(k, q):
    models = Outputs(new_surrogate, new_surrogate, goal(k, q))
    assert len({id(one) for one in (*models.objectives, *models.constraints.surrogates)}) == k + q
    assert (len(models.objectives), len(models.constraints)) == (k, q)
    assert models.first is models.objectives[0]
    only = new_surrogate()
    assert Outputs.of_one(only).objectives == [only]
    assert len(Outputs.of_one(only).constraints) == 0


def test_distances_are_those_of_the_objective_or_of_the_mean_weights_of_several():
    one = fitted(history_of())
    np.testing.assert_array_equal(one.lengthscales, one.first.gp.lengthscales)
    two = fitted(history_of(2))
    first, second = (each.gp.lengthscales for each in two.objectives)
    np.testing.assert_allclose(two.lengthscales, ((first**-2 + second**-2) / 2.0) ** -0.5)
    assert not np.allclose(first, second)


def test_posteriors_are_those_of_the_objectives_in_order():
    models = fitted(history_of(2, 1))
    for posterior, one in zip(models.posteriors, models.objectives, strict=True):
        np.testing.assert_array_equal(moments(posterior, Z), moments(one.posterior, Z))


def test_pending_points_have_the_expected_value_of_the_first_objective_and_no_other():
    history = history_of(2, 1, Known())
    history.pending["started"] = Pending.of(Z[0], {}, -1, curve=object())
    history.pending["asked"] = Pending.of(Z[1], {}, -1)
    models = fitted(history)
    every = (*models.objectives, *models.constraints.surrogates)
    before = [moments(one.posterior, Z) for one in every]
    models.hallucinate(history, history.X[0])
    after = [moments(one.posterior, Z) for one in every]
    alone = fitted(history).first
    alone.hallucinate(Data(Z[:2], np.array([3.0, np.nan]), np.array([0.01, np.nan])))
    np.testing.assert_array_equal(after[0], moments(alone.posterior, Z))
    assert after[0].mean[0] > before[0].mean[0]
    for one, other in zip(before[1:], after[1:], strict=True):
        np.testing.assert_allclose(other.mean, one.mean, rtol=1e-7, atol=1e-9)
    for model, one, other in zip(every, before, after, strict=True):
        noise = model.gp.covariance.noise_variance
        left = one.variance * noise / (one.variance + noise)  # after another measurement there
        points = slice(1, 2) if model is models.first else slice(2)
        assert (other.variance[points] <= left[points] * (1.0 + 1e-4)).all()
        assert (other.variance <= one.variance * (1.0 + 1e-9)).all()
    models.release()
    for one, expected in zip(every, before, strict=True):
        np.testing.assert_array_equal(moments(one.posterior, Z), expected)


def test_of_very_many_pending_points_the_nearest_are_considered():
    history = history_of(1, 1, Known())
    points = make_points(CONSIDERED + EXPECTED + 100, 2, seed=8)
    for i, x in enumerate(points):
        history.pending[i] = Pending.of(x, {}, -1, curve=object() if i % 3 == 0 else None)
    models = fitted(history)
    around = np.array([0.2, 0.9])
    crowd = models.hallucinate(history, around)
    order = np.argsort((((points - around) / models.lengthscales) ** 2).sum(axis=1))
    reported = [i for i in order if i % 3 == 0][:EXPECTED]
    silent = [i for i in order if i not in reported][:CONSIDERED]
    np.testing.assert_array_equal(crowd, np.delete(points, reported, axis=0))
    np.testing.assert_array_equal(models.first.pending, points[sorted(reported + silent)])
    alone = fitted(history).first
    expected = np.array([3.0 if i in reported else np.nan for i in sorted(reported + silent)])
    alone.hallucinate(Data(models.first.pending, expected, np.where(np.isnan(expected), np.nan, 0.01)))
    np.testing.assert_array_equal(moments(models.first.posterior, Z), moments(alone.posterior, Z))


def test_of_many_expected_values_the_nearest_count():
    history = history_of(1, 0, Known())
    points = make_points(EXPECTED + 20, 2, seed=8)
    for i, x in enumerate(points):
        history.pending[i] = Pending.of(x, {}, -1, curve=object())
    models = fitted(history)
    known = models.first.posterior.n
    models.hallucinate(history, points[0])
    assert models.first.gp.posterior.n == known + EXPECTED
    assert models.first.posterior.n == known + EXPECTED + 20


def test_what_a_posterior_has_does_not_crowd_it():
    history = history_of(1, 0, Known())
    models = fitted(history)
    assert models.hallucinate(history, X[0]).shape == (0, 2)
    history.pending["started"] = Pending.of(Z[0], {}, -1, curve=object())
    history.pending["asked"] = Pending.of(Z[1], {}, -1)
    models.release()
    assert models.hallucinate(history, X[0]).shape == (0, 2)
    for i, x in enumerate(make_points(300, 2, seed=8)):
        history.pending[i] = Pending.of(x, {}, -1)
    models.release()
    np.testing.assert_array_equal(models.hallucinate(history, X[0]), history.pending.X[1:])


def test_of_a_single_objective_the_model_to_look_at_is_shown():
    history = History(2, 1, 1)
    y = np.sin(4.0 * X[:, 0]) + X[:, 1]
    y[::6] -= 1e3
    for x, value in zip(X, y, strict=True):
        history.add(x, value, {}, -1, constraints=x[:1] - 0.6)
    models = fitted(history)
    shown, expected = models.shown(history.data()), models.first.shown(history.data())
    assert expected is not models.first
    np.testing.assert_array_equal(shown.first.mean_sd(Z), expected.mean_sd(Z))
    assert shown.constraints is models.constraints
    assert shown.first is not models.first
    two = fitted(history_of(2))
    assert two.shown(history_of(2).data()) is two


def test_rows_of_the_front_meet_the_constraints_by_the_models_if_values_are_unknown():
    history = History(2, 2, 1)
    for i, x in enumerate(X):
        limits = np.array([x[0] - 0.5 if i % 2 else np.nan])
        history.add(x, np.array([x[0], -x[0] + 1e-3 * x[1]]), {}, -1, constraints=limits)
    models = fitted(history)
    found = models.front_rows(history)
    assert set(found) < set(history.front.rows)
    assert set(found) == {i for i in history.front.rows if X[i, 0] <= 0.5}
    free = history_of(2)
    np.testing.assert_array_equal(fitted(free).front_rows(free), free.front.rows)
    np.testing.assert_array_equal(fitted(free).meeting(free, np.array([3, 1])), [3, 1])


def test_restored_models_are_the_same_to_the_last_bit():
    history = history_of(2, 1)
    models = fitted(history)
    state = models.state_dict()
    history.add(Z[0], np.array([9.0, 9.0]), {}, -1, constraints=np.array([7.0]))
    twin = Outputs(new_surrogate, new_surrogate, goal(2, 1))
    twin.restore(state, history)
    for one, other in zip(models.objectives, twin.objectives, strict=True):
        np.testing.assert_array_equal(one.mean_sd(Z), other.mean_sd(Z))
    np.testing.assert_array_equal(twin.constraints.log_probability(Z), models.constraints.log_probability(Z))
