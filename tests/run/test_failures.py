"""Trouble: failures in a row, and where."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from numbo import BBKB, GPUCB, GSSBO, SBPE, Categorical, Float, Int, Space
from numbo.run.failures import IN_A_ROW, Trouble

SPACE = Space(
    {
        "x": Float(0, 1),
        "units": Int(1, 200),
        "model": Categorical(["svm", "GBM", "mlp"]),
        "layers": Int(1, 5, when={"model": "mlp"}),
    }
)


def points(n, seed=1):
    rng = np.random.default_rng(seed)
    return [SPACE.decode(SPACE.snap(u[None])[0]) for u in rng.random((n, SPACE.d))]


def warned(opt, trials, fails):
    """The warnings of telling the ``trials``, each with the number of trials told."""
    found = []
    for p in trials:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            opt.tell(p, None if fails(p) else p["x"])
        found += [(opt.n_told, str(one.message)) for one in caught]
    return found


@pytest.mark.parametrize("make", [GSSBO, GPUCB, BBKB, lambda *a, **k: SBPE(*a, horizon=100, **k)])
def test_a_category_that_always_fails_is_warned_of_once(make):
    trials = points(60)
    found = warned(make(SPACE, seed=0), trials, lambda p: p["model"] == "GBM")
    fifth = [t for t, p in enumerate(trials, start=1) if p["model"] == "GBM"][IN_A_ROW - 1]
    assert found == [(fifth, "The last 5 trials where model is GBM all failed: look for an error in the objective.")]


def test_a_success_there_ends_the_row():
    trials = [p for p in points(200) if p["model"] == "GBM"][:12] + [p for p in points(200) if p["model"] != "GBM"][:12]
    order = np.random.default_rng(0).permutation(len(trials))
    trials = [trials[i] for i in order]
    counts = iter(range(12))
    assert warned(GSSBO(SPACE, seed=0), trials, lambda p: p["model"] == "GBM" and next(counts) % 5 != 4) == []


def test_a_threshold_and_a_condition():
    (found,) = warned(GSSBO(SPACE, seed=0), points(60), lambda p: p["units"] > 120)
    assert found[1].startswith("The last 5 trials where units >= 1")
    found = warned(GSSBO(SPACE, seed=0), points(100), lambda p: p.get("layers", 9) <= 2)
    assert [words[:36] for _, words in found] == ["The last 5 trials where layers <= 2 "]
    (found,) = warned(GSSBO(SPACE, seed=0), points(100), lambda p: "layers" in p)
    assert found[1].startswith("The last 5 trials where model is mlp all")


def test_where_nothing_distinguishes_them_all_trials_fail():
    found = warned(GSSBO(SPACE, seed=0), points(30), lambda p: True)
    assert found == [(IN_A_ROW, "The last 5 trials all failed: look for an error in the objective.")]
    features = np.random.default_rng(0).random((60, 3))
    opt = GSSBO(arms=features, seed=0)
    with pytest.warns(UserWarning, match=r"^The last 6 trials all failed:"):
        opt.tell(range(6), [None] * 6)
    assert opt.trouble == Trouble(6, None)


def test_accidents_are_no_trouble():
    draws = iter(np.random.default_rng(3).random(400))
    assert warned(GSSBO(SPACE, seed=0), points(400), lambda p: next(draws) < 0.15) == []


@pytest.mark.parametrize("rate", [0.3, 0.4, 0.5])
def test_frequent_accidents_are_seldom_trouble(rate):
    """Each failure is another chance to see a row: without counting them, a third of these runs were told, and more."""
    told = 0
    for seed in range(20):
        draws = iter(np.random.default_rng(seed).random(150))
        told += bool(warned(GSSBO(SPACE, seed=0), points(150), lambda p, draws=draws: next(draws) < rate))
    assert told <= 5


def test_a_framework_asks_for_it_and_translates_it():
    opt = GSSBO(SPACE, seed=0)
    assert opt.trouble is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i, p in enumerate(sorted(points(60), key=lambda p: p["model"] == "GBM")):
            opt.learn(p, None if p["model"] == "GBM" else 1.0, origin=-1, key=i)
    trouble = opt.trouble
    assert trouble.failures >= IN_A_ROW
    assert str(trouble.translated(lambda name, value: value.lower())).startswith(
        f"The last {trouble.failures} trials where model is gbm all failed"
    )
    opt.tell(p, 1.0)
    assert opt.trouble is None
