"""The benchmark on beliefs: what guesses are, and how runs with them are compared with runs without."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from benchmarks.compare import beliefs
from benchmarks.problems import guesses
from numbo import Categorical, Float, Int


@pytest.fixture
def table(monkeypatch):
    """A table with one good row, and a column that says nothing."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(300), np.zeros(300), 10.0 * rng.random(300)])
    y = 1.0 - np.abs(X[:, 0] - 0.3) - np.abs(X[:, 2] - 6.0) / 10.0
    monkeypatch.setattr(guesses.hpob, "table", lambda name: (X, y))
    guesses.task.cache_clear()
    yield X, y
    guesses.task.cache_clear()


def test_guesses_are_known_points(table):
    found = guesses.task("hpob", "9_1")
    assert list(found.space) == ["x0", "x2"]
    assert (np.diff(found.values) >= 0.0).all()
    assert [found.value(point) for point in found.points] == found.values.tolist()
    assert found.prior("none", 0) == {}
    wrong = found.prior("wrong", 0)
    assert {name: one.best for name, one in wrong.items()} == found.points[-1]
    assert {one.confidence for one in wrong.values()} == {"medium"}
    weak = found.prior("weak", 2)
    assert found.value({name: one.best for name, one in weak.items()}) == pytest.approx(found.median, abs=0.02)
    assert {one.confidence for one in weak.values()} == {"low"}


def test_a_good_guess_errs_by_a_twentieth_of_the_range(table):
    found = guesses.task("hpob", "9_1")
    best = found.points[0]
    errors = [(found.prior("good", seed)["x2"].best - best["x2"]) / np.ptp(table[0][:, 2]) for seed in range(400)]
    assert np.std(errors) == pytest.approx(guesses.ERROR, rel=0.15)
    assert np.mean(errors) == pytest.approx(0.0, abs=4.0 * guesses.ERROR / 20.0)


def test_a_point_has_the_value_of_the_nearest_row(table):
    X, y = table
    found = guesses.task("hpob", "9_1")
    for point in ({"x0": 0.5, "x2": 2.0}, {"x0": 0.02, "x2": 9.5}):
        far = ((X[:, [0, 2]] - list(point.values())) / np.ptp(X[:, [0, 2]], axis=0)) ** 2
        assert found.value(point) == 1.0 - y[np.argmin(far.sum(axis=1))]


def test_tasks_are_put_aside(monkeypatch):
    monkeypatch.setattr(guesses.yahpo, "evenly", lambda variable, count: [str(k) for k in range(count)])
    for kind in guesses.KINDS:
        aside, others = (set(guesses.tasks(kind, aside=which)) for which in (True, False))
        assert aside
        assert others
        assert not aside & others
    assert {guesses.hpob.space_of(name) for name in guesses.tasks("hpob", aside=True)} == set(guesses.hpob.ASIDE)


def test_distributions_are_dimensions():
    given = [FloatDistribution(0.1, 2.0, log=True), IntDistribution(1, 9), CategoricalDistribution(["a", None])]
    expected = [Float(0.1, 2.0, log=True), Int(1, 9), Categorical(["a", None])]
    assert list(map(repr, map(guesses.dimension, given))) == list(map(repr, expected))


def row(task, seed, guess, best, told=None):
    return {
        "kind": "hpob", "task": task, "seed": seed, "guess": guess, "best": best, "known": [0.1, 1.1], "told": told
    }  # fmt: skip


def test_regrets_are_shares_of_that_of_the_median_point():
    rows = [row("a", 0, "none", [2.1, 0.6]), row("b", 0, "none", [1.1, 0.1]), row("a", 0, "good", [0.35, -0.9])]
    found = beliefs.regrets(rows, "hpob")
    assert found["none"]["a"][0] == pytest.approx([1.5, 0.75])
    assert found["good"]["a"][0] == pytest.approx([0.625, 0.0])
    assert found["none"]["b"][0] == pytest.approx([1.0, 0.0])
    assert beliefs.regrets(rows, "early") == {}


def test_ratios_are_of_pairs():
    mine = {"a": {0: np.array([0.2]), 1: np.array([0.8]), 2: np.array([9.0])}, "b": {0: np.array([0.0])}}
    its = {"a": {0: np.array([0.1]), 1: np.array([0.1])}, "b": {0: np.array([beliefs.FLOOR])}}
    found = beliefs.ratio(mine, its, 1, 1)
    assert found.mean == pytest.approx(2.0)  # of 4 for the one task, and 1 for the other
    assert found.over_tasks == pytest.approx(math.log(4.0) / 2.0)
    only = beliefs.ratio({"a": mine["a"]}, its, 1, 1)
    assert only.mean == pytest.approx(4.0)
    assert only.over_pairs == pytest.approx(math.log(4.0) / 2.0)


def test_runs_are_counted_and_reported(table, monkeypatch, tmp_path):
    monkeypatch.setattr(beliefs, "TRIALS", 6)
    monkeypatch.setattr(beliefs, "MARKS", (3, 6))
    monkeypatch.setattr(beliefs, "AHEAD", ((3, 6),))
    names = ("none", *guesses.GUESSES)
    rows = [beliefs.run_one("hpob", task, seed, guess) for task in ("1", "2") for seed in (0, 1) for guess in names]
    assert all(len(one["best"]) == 6 and one["best"] == sorted(one["best"], reverse=True) for one in rows)
    wrong = [one["best"][0] for one in rows if one["guess"] == "wrong"]
    found = guesses.task("hpob", "1")
    assert set(wrong) == {found.values[-1], found.values[-2]}  # the first point is the guess
    path = tmp_path / "beliefs.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    beliefs.write_report(path)
    text = path.with_suffix(".md").read_text()
    assert "| hpob, 2 | good | 2 | 0." in text
    assert "| hpob | none | " in text
