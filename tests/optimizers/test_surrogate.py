from __future__ import annotations

import numpy as np
import pytest

from numbo.optimizers._local_search import LocalSearch
from numbo.optimizers._surrogate import Surrogate
from numbo.space import Float, Space


def surrogate(winsorize=True, d=4, **schedule):
    return Surrogate(
        np.zeros(d, dtype=bool), kernel="matern52", trend=True, additive=True, winsorize=winsorize, **schedule
    )


def bowl(X):
    turned = (X - 0.35) @ np.random.default_rng(5).normal(size=(4, 4))
    return -np.sum(turned**2 * [1.0, 30.0, 300.0, 3000.0], axis=1)


def spikes(X):
    y = np.sin(6.0 * X[:, 0]) + X[:, 1]
    y[::9] -= 1e6 * np.random.default_rng(0).random(len(y[::9]))
    return y


@pytest.mark.parametrize(("function", "clips"), [(bowl, False), (spikes, True)])
def test_outliers_are_clipped_where_that_predicts_better(function, clips):
    X = np.random.default_rng(1).random((60, 4))
    y = function(X)
    model = surrogate()
    model.update(X, y, np.arange(60))
    assert model.clips is clips
    assert np.isfinite(model.transform.floor) == clips
    raw = surrogate(winsorize=False)
    raw.update(X, y, np.arange(60))
    Z = np.random.default_rng(2).random((200, 4))
    truth = function(Z)
    inner = truth > np.quantile(truth, 0.2)
    errors = [np.abs(m.predict(Z)[0] - truth)[inner].mean() for m in (model, raw)]
    assert errors[0] <= errors[1] * (0.1 if clips else 1.0 + 1e-9)


def test_without_outliers_there_is_nothing_to_decide():
    X = np.random.default_rng(1).random((30, 4))
    plain, clipping = surrogate(winsorize=False), surrogate()
    for model in (plain, clipping):
        model.update(X, X[:, 0], np.arange(30))
    np.testing.assert_array_equal(plain.gp.theta, clipping.gp.theta)
    assert clipping.clips
    assert not plain.clips


def test_a_restored_surrogate_predicts_to_the_last_bit():
    X = np.random.default_rng(1).random((40, 4))
    y = bowl(X)
    model = surrogate(growth=1.0)
    for n in (20, 27, 31):
        model.update(X[:n], y[:n], np.arange(n), (np.full(4, 0.4), 0.3))
    twin = surrogate(growth=1.0)
    twin.restore(model.state_dict(), X[:31], y[:31])
    for a, b in zip(model.predict(X[31:]), twin.predict(X[31:]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_frame_of_a_local_search_holds_its_points():
    local = LocalSearch(Space({f"x{i}": Float(0.0, 1.0) for i in range(4)}), surrogate(), 30)
    X = 0.6 + 1e-4 * np.random.default_rng(3).random((30, 4))
    center, radius = local._frame(X)
    assert np.abs(X - center).max() == pytest.approx(radius)
    assert local._frame(X[:1])[1] == 0.5
