"""Where values tie, how far the flat places reach."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers import MOSTLY, over_seeds, seeded

from numbo import GSSBO, Float, GSSBOSettings, Int, Space
from numbo.models import ExactGP
from numbo.models.noise import LEVELS, Noise
from numbo.run.resolution import LATEST, SHARE, TIES, Tied, reach, tied_by_chance
from numbo.run.resolution import resolution as radius_of
from numbo.run.resolution import tied as ties
from numbo.spaces import Categorical
from numbo.trials import History

D = 2


def told(points, values):
    history = History(len(points[0]))
    for x, y in zip(points, values, strict=True):
        history.add(np.asarray(x, dtype=float), y, {}, 0)
    return history


def resolution(history, noise=None):
    return lambda covariance: radius_of(history, Noise(history) if noise is None else noise, covariance)


def metric(d=D):
    return ExactGP(np.zeros(d, dtype=bool)).covariance


def stairs(x, steps=5):
    return float(np.floor(steps * x[0]) + 10 * np.floor(steps * x[1]))


def naive(history, covariance):
    """The reach, pair by pair."""
    w, X, y = covariance.inverse_squared_lengthscales, history.X[-LATEST:], history.y[-LATEST:]
    pairs = []
    for i in range(1, len(X)):
        gaps = [(float(np.sum(w * (X[i] - X[k]) ** 2)), k) for k in range(i) if not np.array_equal(X[i], X[k])]
        if gaps:
            gap, k = min(gaps)
            pairs.append((gap, y[i] == y[k]))
    chance = np.mean([y[i] == y[k] for i in range(len(y)) for k in range(len(y)) if i != k])
    pairs.sort(key=lambda pair: pair[0])
    needed, best = 1.0 - (1.0 - SHARE) * (1.0 - chance), 0.0
    for m, (gap, tied) in enumerate(pairs, start=1):
        ties = sum(tie for _, tie in pairs[:m])
        if tied and ties >= TIES and ties >= needed * m:
            best = gap
    return best


@pytest.mark.parametrize("n", [20, 60, LATEST + 40])
@pytest.mark.parametrize("steps", [3, 8])
def test_the_radius_is_that_of_all_pairs(n, steps):
    rng = np.random.default_rng(n + steps)
    X = rng.random((n, D))
    history = told(X, [stairs(x, steps) for x in X])
    covariance = metric()
    assert resolution(history)(covariance) == pytest.approx(naive(history, covariance))


def test_most_points_within_the_radius_tie():
    rng = np.random.default_rng(0)
    X = rng.random((120, D))
    history, covariance = told(X, [stairs(x) for x in X]), metric()
    radius = resolution(history)(covariance)
    assert radius > 0.0
    w, ties = covariance.inverse_squared_lengthscales, []
    for x in rng.random((2000, D)):
        gaps = np.sum(w * (X - x) ** 2, axis=1)
        if gaps.min() < radius:
            ties.append(stairs(x) == history.y[np.argmin(gaps)])
    assert np.mean(ties) > 0.6


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60, unique=True), st.integers(0, 99))
def test_distinct_values_have_none(values, seed):
    X = np.random.default_rng(seed).random((len(values), D))
    assert resolution(told(X, values))(metric()) == 0.0


def test_copies_are_no_neighbours():
    X = np.random.default_rng(0).random((8, D))
    history = told(np.repeat(X, 4, axis=0), np.repeat(np.arange(8.0), 4))
    assert resolution(history)(metric()) == 0.0


def test_outcomes_of_few_kinds_say_nothing():
    rng = np.random.default_rng(0)
    X = rng.random((100, D))
    assert resolution(told(X, (rng.random(100) < 0.9).astype(float)))(metric()) == 0.0
    assert resolution(told(X, np.floor(LEVELS * X[:, 0])))(metric()) == 0.0
    assert resolution(told(X, np.floor((LEVELS + 2) * X[:, 0])))(metric()) > 0.0
    assert resolution(told(X, np.zeros(100)))(metric()) > 0.0


def test_values_that_tie_anywhere_say_little():
    """Of ten outcomes that come at random, neighbours share one as often as others do."""
    rng = np.random.default_rng(0)
    X, radii = rng.random((100, D)), []
    for _ in range(20):
        radii.append(resolution(told(X, rng.integers(10, size=100) * 1.0))(metric()))
    gaps = [np.sort(np.sum(metric().inverse_squared_lengthscales * (X - x) ** 2, axis=1))[1] for x in X]
    assert np.median(radii) < np.quantile(gaps, 0.1)


def test_under_noise_ties_say_nothing():
    rng = np.random.default_rng(0)
    X = rng.random((60, D))
    history = told(X, [stairs(x) for x in X])
    assert resolution(history)(metric()) > 0.0
    history.add(X[0], stairs(X[0]) + 0.37, {}, 0)
    history.add(X[1], stairs(X[1]) - 0.21, {}, 0)
    noisy = Noise(history, (SimpleNamespace(claimed_noise=0.3),))
    assert noisy.found
    assert resolution(history, noisy)(metric()) == 0.0


def test_a_copy_does_not_count_what_was_told_later():
    """They share what they had in common, which grows."""
    X = np.random.default_rng(0).random((12, D))
    one = told(X[:6], np.arange(6.0))
    assert one.fact(ties).pairs == 0
    one.add(X[6], 7.0, {}, 0)
    copy = one.copy()
    for x in X[7:10]:
        one.add(x, 7.0, {}, 0)
    one.add(X[10], 8.0, {}, 0)
    assert one.fact(ties).pairs == 3
    assert copy.fact(ties) == Tied(7, 0, {float(k): k for k in range(6)} | {7.0: 6}, 7)


def test_shares_of_ties():
    assert tied_by_chance(np.array([1])) == 0.0
    assert tied_by_chance(np.array([2, 1])) == pytest.approx(1 / 3)
    assert reach(np.array([3.0, 1.0, 2.0, 4.0]), np.array([True, True, True, False]), 0.0) == 3.0
    assert reach(np.array([1.0, 2.0]), np.array([True, True]), 0.0) == 0.0  # too few
    assert reach(np.arange(8.0), np.array([True] * 3 + [False] + [True] * 4), 0.9) == 2.0


def staircase(params):
    """Steps of a tenth of each range."""
    return np.floor(10 * abs(params["x"] - 0.61)) + np.floor(10 * abs(params["y"] - 0.27))


def steps_seen(avoid_ties):
    """How many steps a search of sixty points looks at."""
    opt, seen = (
        GSSBO({"x": Float(0, 1), "y": Float(0, 1)}, seed=seeded(0), settings=GSSBOSettings(avoid_ties=avoid_ties)),
        set(),
    )
    for _ in range(60):
        p = opt.ask()
        opt.tell(p, staircase(p))
        seen.add((np.floor(10 * abs(p["x"] - 0.61)), np.floor(10 * abs(p["y"] - 0.27))))
    return len(seen)


@over_seeds()
def test_a_search_does_not_stay_on_a_step():
    assert steps_seen(True) > 1.2 * steps_seen(False), MOSTLY


@pytest.mark.parametrize("seed", range(3))
def test_without_ties_suggestions_are_the_same(seed):
    space = Space({"x": Float(-1, 1), "k": Int(0, 9), "c": Categorical(list("abc"))})
    runs = []
    for avoid in (True, False):
        opt = GSSBO(space, seed=seed, settings=GSSBOSettings(avoid_ties=avoid))
        points = []
        for _ in range(40):
            p = opt.ask()
            opt.tell(p, p["x"] ** 2 + 0.1 * p["k"] * p["x"] + 0.3 * "abc".index(p["c"]))
            points.append(p)
        runs.append(points)
    assert runs[0] == runs[1]


@over_seeds(0.98, of=24)
def test_a_flat_floor_is_filled():
    """Everything ties but a bump, which no model can see from the floor."""

    def bump(p):
        return max(0.0, 1.0 - sum(((p[name] - 0.72) / 0.12) ** 2 for name in "xy"))

    opt = GSSBO({"x": Float(0, 1), "y": Float(0, 1)}, seed=seeded(0), direction="maximize")
    for _ in range(60):
        p = opt.ask()
        opt.tell(p, bump(p))
    assert opt.best[1] > 0.0, MOSTLY  # of 60 seeds 20 never leave the floor otherwise
