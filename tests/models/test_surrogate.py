from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from numbo.models.gp import Frame
from numbo.models.moments import moments
from numbo.models.noise import Claimed, Noise
from numbo.models.surrogate import QUARTER, SETTLED, SMALL, Surrogate
from numbo.search.near import frame
from numbo.trials import Data, History

#: Nothing was measured again.
UNKNOWN = Noise(History(4))


def first(data, n):
    return data.at(slice(n))


def surrogate(winsorize=True, d=4, **options):
    return Surrogate(
        np.zeros(d, dtype=bool), kernel="matern52", trend=True, additive=True, winsorize=winsorize, of=first, **options
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
    model.update(Data.of(X, y), np.arange(60))
    assert model.targets.kind == ("winsorize" if clips else "plain")
    assert np.isfinite(model.transform.floor) == clips
    raw = surrogate(winsorize=False)
    raw.update(Data.of(X, y), np.arange(60))
    Z = np.random.default_rng(2).random((200, 4))
    truth = function(Z)
    inner = truth > np.quantile(truth, 0.2)
    errors = [np.abs(m.mean_sd(Z)[0] - truth)[inner].mean() for m in (model, raw)]
    assert errors[0] <= errors[1] * (0.1 if clips else 1.0 + 1e-9)


def test_without_outliers_there_is_nothing_to_decide():
    X = np.random.default_rng(1).random((30, 4))
    plain, clipping = surrogate(winsorize=False), surrogate()
    for model in (plain, clipping):
        model.update(Data.of(X, X[:, 0]), np.arange(30))
    np.testing.assert_array_equal(plain.gp.theta, clipping.gp.theta)
    assert (clipping.targets.kind, plain.targets.kind) == ("winsorize", "plain")


def wave(X):
    return np.sin(3.0 * X[:, 0] + X[:, 1]) + X[:, 2]


def spike(X):
    """The gap to the optimum spans orders of magnitude."""
    return -np.exp(6.0 * wave(X))


@pytest.mark.parametrize(("function", "kind"), [(wave, "plain"), (spike, "log")])
def test_values_are_warped_where_that_predicts_better(function, kind):
    X, Z = np.random.default_rng(1).random((80, 4)), np.random.default_rng(2).random((200, 4))
    model, raw = surrogate(warp=True, winsorize=False), surrogate(winsorize=False)
    for one in (model, raw):
        one.update(Data.of(X, function(X)), np.arange(80))
    assert model.targets.kind == kind
    truth = function(Z)
    inner = truth > np.quantile(truth, 0.2)
    errors = [np.abs(m.mean_sd(Z)[0] - truth)[inner].mean() for m in (model, raw)]
    assert errors[0] <= errors[1] * (0.5 if kind == "log" else 1.0 + 1e-9)


@pytest.mark.parametrize("warp", [False, True])
def test_a_restored_surrogate_predicts_to_the_last_bit(warp):
    X = np.random.default_rng(1).random((40, 4))
    y = bowl(X)
    model = surrogate(growth=1.0, warp=warp)
    for n in (20, 27, 31):
        model.update(Data.of(X[:n], y[:n]), np.arange(n), Frame(np.full(4, 0.4), 0.3))
    twin = surrogate(growth=1.0, warp=warp)
    twin.restore(model.state_dict(), Data.of(X, y))
    assert twin.targets.kind == model.targets.kind
    for a, b in zip(model.mean_sd(X[31:]), twin.mean_sd(X[31:]), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("n", [20, 200])
def test_of_many_pending_points_a_posterior_takes_in_a_few(n):
    rng = np.random.default_rng(1)
    X = rng.random((n, 4))
    model = surrogate()
    model.update(Data.of(X, bowl(X)), np.arange(n))
    Z = rng.random((300, 4))
    before = moments(model.posterior, Z)
    model.hallucinate(Data(Z, np.full(300, np.nan), np.full(300, np.nan)))
    assert model.posterior.n == max(SMALL, n + n // QUARTER)
    given = moments(model.posterior, Z)
    np.testing.assert_allclose(given.mean, before.mean, rtol=1e-7, atol=1e-9)
    assert (given.variance <= before.variance * (1.0 + 1e-9)).all()
    # all pending points count for the best mean, whether they are taken in or not
    assert model.best_mean == pytest.approx(max(model.means.max(), before.mean.max()))
    few = Data(Z[:30], np.full(30, np.nan), np.full(30, np.nan))
    model.release()
    assert model.posterior.n == n
    model.hallucinate(few)
    assert model.posterior.n == n + 30


def test_the_frame_of_a_local_search_holds_its_points():
    X = 0.6 + 1e-4 * np.random.default_rng(3).random((30, 4))
    numerical = np.zeros(4, dtype=bool)
    center, radius = frame(X, numerical)
    assert np.abs(X - center).max() == pytest.approx(radius)
    assert frame(X[:1], numerical)[1] == 0.5


def test_the_model_to_look_at_knows_the_bad_values_too():
    """Late in a search most values are nearly the best, and those that are not look like outliers to it."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.random((30, 4)), 0.35 + 1e-3 * rng.normal(size=(60, 4))])
    y = bowl(X)
    model = surrogate(warp=True)
    model.update(Data.of(X, y), np.arange(90))
    assert model.targets.kind != "plain"
    Z = np.random.default_rng(2).random((200, 4))
    errors = [np.abs(m.mean_sd(Z)[0] - bowl(Z)).mean() for m in (model.shown(Data.of(X, y)), model)]
    assert errors[0] < 0.01 * np.abs(bowl(Z)).mean()
    assert errors[0] < 0.1 * errors[1]


def test_the_model_to_look_at_clips_what_cannot_be_predicted():
    X = np.random.default_rng(1).random((60, 4))
    y = spikes(X)
    model = surrogate(warp=True)
    model.update(Data.of(X, y), np.arange(60))
    assert model.shown(Data.of(X, y)).targets.kind == "soft"


def test_the_model_to_look_at_clips_nothing_where_that_is_switched_off():
    X = np.random.default_rng(1).random((60, 4))
    y = spikes(X)
    model = surrogate(winsorize=False, warp=True)
    model.update(Data.of(X, y), np.arange(60))
    shown = model.shown(Data.of(X, y))
    assert shown.targets.kind == "plain"
    assert shown.transform.floor == -np.inf
    assert not shown.transform.warped


def test_a_model_of_the_values_themselves_is_the_one_to_look_at():
    X = np.random.default_rng(1).random((30, 4))
    model = surrogate()
    model.update(Data.of(X, X[:, 0]), np.arange(30))
    assert model.shown(Data.of(X, X[:, 0])) is model


def noisy_wave(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4))
    return X, wave(X) + 0.3 * rng.normal(size=n)


def test_under_noise_the_posterior_stands_on_all_rows_and_without_it_on_the_members():
    X, y = noisy_wave(600)
    members, rows, Z = np.arange(100), np.arange(600), np.random.default_rng(3).random((300, 4))
    truth, errors = wave(Z), {}
    for name, values, among in (("all", y, rows), ("members", y, members), ("noise-free", wave(X), rows)):
        model = surrogate(all_data=True)
        model.update_all(Data.of(X, values), members, partial(np.array, among), UNKNOWN)
        errors[name] = np.abs(model.mean_sd(Z)[0] - truth).mean()
        np.testing.assert_array_equal(model.rows, rows if name == "all" else members)
        assert model.averages(UNKNOWN) == (name != "noise-free")
        assert model.best_mean == pytest.approx(model.means.max())
    assert errors["all"] < 0.7 * errors["members"]


@pytest.mark.parametrize(
    ("n", "noisy", "settled"),
    [(SETTLED - 1, False, False), (SETTLED, False, True), (SETTLED, True, False)],
)
def test_fits_are_short_late_in_a_run_without_noise(monkeypatch, n, noisy, settled):
    X = np.random.default_rng(1).random((n, 4))
    model = surrogate()
    asked = []
    fit = model.targets.fit
    monkeypatch.setattr(
        model.targets, "fit", lambda *data, settled: asked.append(settled) or fit(*data, settled=settled)
    )
    model.update(Data.of(X, spikes(X)), np.arange(60), noisy=noisy)
    assert asked == [settled]


@pytest.mark.parametrize("anchor", [-1, 0])
def test_members_that_lie_anywhere_have_the_noise_that_repeats_show(anchor):
    """Alone, they are fitted without noise."""
    rng = np.random.default_rng(0)
    history = History(4)
    points = rng.random((200, 4))
    for x in np.concatenate([points, points[:40]]):
        history.add(x, float(wave(x[None])[0] + 0.3 * rng.normal()), {}, -1)
    noise = Noise(history, (Claimed(0.5),))
    exact = history.data()._replace(y=wave(history.X))
    model = surrogate(all_data=True)
    model.claimed_noise = 0.5
    model.update_all(exact, np.arange(60), partial(np.arange, 240), noise, anchor=anchor)
    assert (model.noise_std > 0.45 * noise.deviation) == (anchor < 0)


def test_rows_are_looked_for_under_noise_only():
    X, y = noisy_wave(600)
    calls = []

    def rows():
        calls.append(len(calls))
        return np.arange(600)

    model = surrogate(all_data=True)
    model.update_all(Data.of(X, wave(X)), np.arange(100), rows, UNKNOWN)
    assert not calls
    model = surrogate(all_data=True)
    model.update_all(Data.of(X, y), np.arange(100), rows, UNKNOWN)
    assert len(calls) == 1
    np.testing.assert_array_equal(model.rows, np.arange(600))


def test_what_is_new_is_added_until_much_is_new_or_the_anchor_changes():
    X, y = noisy_wave(320)
    model, members = surrogate(longest=100, all_data=True), np.arange(100)
    model.update_all(Data.of(X[:300], y[:300]), members, partial(np.arange, 300), UNKNOWN, anchor=1)
    model.update_all(Data.of(X[:304], y[:304]), members + 1, partial(np.arange, 304), UNKNOWN, anchor=1)
    np.testing.assert_array_equal(model.members, members)
    np.testing.assert_array_equal(model.rows, np.arange(304))
    again = surrogate(longest=100, all_data=True)
    again.restore(model.state_dict(), Data.of(X, y))
    Z = np.random.default_rng(4).random((50, 4))
    for found, expected in zip(again.mean_sd(Z), model.mean_sd(Z), strict=True):
        np.testing.assert_array_equal(found, expected)
    model.update_all(Data.of(X[:305], y[:305]), members + 1, partial(np.arange, 305), UNKNOWN, anchor=2)
    np.testing.assert_array_equal(model.members, members + 1)
    model.update_all(Data.of(X, y), members + 2, partial(np.arange, 320), UNKNOWN, anchor=2)
    np.testing.assert_array_equal(model.members, members + 2)


@pytest.mark.parametrize("kind", ["plain", "soft"])
def test_the_noise_is_in_the_units_of_the_values(kind):
    rng = np.random.default_rng(0)
    X = rng.random((80, 4))
    y = np.sin(6.0 * X[:, 0]) + 0.2 * rng.normal(size=80)
    y[::8] -= 10.0 * (kind == "soft")  # a tail
    model = surrogate()
    model.targets.kind = kind
    targets = model.targets.of(Data.of(X, y))
    assert model.transform.warped == (kind == "soft")
    model.gp.fit(*targets)
    model.gp.condition(*targets)
    noise = np.sqrt(model.gp.covariance.noise_variance)
    near = [
        model.transform.backward(np.array([z]), np.array([noise])).std[0] for z in np.quantile(targets.y, [0.4, 0.6])
    ]
    assert near[0] == pytest.approx(model.noise_std, rel=0.3) == near[1]
    assert model.noise_std > 0.1
