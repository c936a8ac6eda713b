"""The benchmark on scikit-learn's models: its problems are those that were recorded, and its scores are right."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest

from benchmarks.compare import bayesmark
from benchmarks.problems import bayesmark as problems

RUN = {"ask_ms": 2.0, "mean_ask_ms": 3.0, "seconds": 1.0, "failed": 0}


def test_the_problems_are_those_whose_data_and_models_are_left():
    names = problems.problems()
    assert len(names) == 82
    assert "ada_diabetes_mae" in names
    assert not {"ada_iris_acc", "SVM_boston_mse"} & set(names)
    for record in problems.recorded().values():
        assert record["best"] < record["mean"][-1] <= record["mean"][0] <= record["clip"]
        assert len(record["mean"]) == bayesmark.ROUNDS


@pytest.mark.parametrize(
    "problem",
    ["kNN_iris_nll", "kNN_wine_acc", "kNN_diabetes_mse", "SVM_wine_acc", "SVM_diabetes_mae", "linear_diabetes_mse"],
)
def test_losses_are_those_recorded_where_a_model_has_no_randomness(problem):
    np.testing.assert_allclose(problems.signature(problem), problems.recorded()[problem]["signature"], rtol=1e-5)


@pytest.mark.parametrize("problem", ["DT_digits_nll", "MLP-adam_wine_acc", "lasso_diabetes_mae", "linear_iris_acc"])
def test_points_lie_in_their_spaces_with_ends_of_half_the_weight(problem):
    space = problems.space_of(problem)
    assert list(space) == sorted(space)
    points = problems.drawn(space, np.random.default_rng(0), 300)
    for name, parameter in space.items():
        values = [point[name] for point in points]
        assert parameter.low <= min(values) < max(values) <= parameter.high
        assert all(isinstance(value, int) for value in values) == parameter.whole
        assert parameter.off_scale(parameter.on_scale(parameter.low)) == pytest.approx(parameter.low)
    if problem == "DT_digits_nll":
        depths = np.array([point["max_depth"] for point in problems.drawn(space, np.random.default_rng(1), 4000)])
        assert np.mean(depths == 1) == pytest.approx(0.5 / 14.0, abs=0.012)
        assert np.mean(depths == 2) == pytest.approx(1.0 / 14.0, abs=0.015)


def test_folds_are_runs_of_rows_of_each_class():
    y = np.array([0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0])
    np.testing.assert_array_equal(problems.folds(y, True), [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    np.testing.assert_array_equal(problems.folds(y, False), [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    np.testing.assert_array_equal(problems.folds(np.repeat([0, 1], 5), True), [0, 1, 2, 3, 4] * 2)


def test_a_probability_of_zero_costs_a_finite_loss():
    loss = problems.log_loss(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([1, 0]))
    assert loss == pytest.approx((-np.log(1e-15) + np.log(2.0)) / 2.0, rel=1e-6)


@pytest.mark.parametrize("count", [1, 3, 6])
def test_the_expected_smallest_of_some_values(count):
    values = np.random.default_rng(0).random(6)
    exact = np.mean([min(chosen) for chosen in combinations(values, count)])
    assert bayesmark.expected_smallest(values, count) == pytest.approx(exact)


@pytest.fixture
def record(monkeypatch):
    """Two problems with a best loss of 1 and a median of 3."""
    one = {"best": 1.0, "clip": 3.0, "mean": [1.44] * 15 + [1.2], "signature": [0.0] * 5}
    for module in (bayesmark, problems):
        monkeypatch.setattr(module, "recorded", lambda: {"DT_iris_acc": one, "kNN_wine_nll": one})


def test_scores_by_hand(record, tmp_path):
    path = tmp_path / "bayesmark.jsonl"
    rng = np.random.default_rng(0)
    ends = {"GSSBO": (1.0, 2.0), "TPE": (1.5, 9.0), "Random": (-9.0, None)}
    rows = []
    for name, values in ends.items():
        for problem, end in zip(problems.recorded(), values, strict=True):
            row = {"optimizer": name, "problem": problem, "seed": 0, "best": [None] + [end] * 15}
            rows.append(row | RUN | ({"losses": rng.uniform(1.0, 5.0, 128).tolist()} if name == "Random" else {}))
    path.write_text("\n".join(json.dumps(row) for row in [*rows, rows[0] | {"seed": 1}]))
    found = bayesmark.curves(path)
    assert list(found) == ["GSSBO", "TPE", "Random"]
    scores = {name: [float(runs[p][0][-1]) for p in problems.recorded()] for name, runs in found.items()}
    assert scores == {"GSSBO": [0.0, 0.5], "TPE": [0.25, 1.0], "Random": [-1.0, 1.0]}
    assert bayesmark.score(scores["GSSBO"]) == 75.0
    low, high = bayesmark.interval(np.array(scores["TPE"]))
    assert (low, high) == (0.0, 75.0)
    names = list(problems.recorded())
    ours, _, _, recorded = bayesmark._score_table(found, names)[1:]
    assert ours[-3:] == ["75.00", "75.00", "1"]
    assert recorded[1:4] == ["78.00"] * 3
    assert recorded[4].startswith("90.00")
    assert bayesmark._against_first(found, names)[1] == ["TPE", "37.50 (25.00 to 50.00)", "2", "0", "0"]


def test_problems_count_only_where_random_search_agrees(record, tmp_path):
    rng = np.random.default_rng(0)
    good, bad = rng.uniform(1.0, 5.0, 128), rng.uniform(1.0, 3.5, 128)
    one = bayesmark.agreement("DT_iris_acc", good)
    assert one.there == pytest.approx(0.22)
    assert one.here == pytest.approx(0.22, abs=0.06)
    assert one.below == one.at_most == pytest.approx(0.5, abs=0.15)
    assert one.holds
    assert not bayesmark.agreement("kNN_wine_nll", bad).holds
    path = tmp_path / "bayesmark.jsonl"
    row = {"optimizer": "Random", "seed": 0, "best": [2.0] * 16} | RUN
    rows = [{"problem": p, "losses": v.tolist()} | row for p, v in (("DT_iris_acc", good), ("kNN_wine_nll", bad))]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    bayesmark.write_report(path)
    text = path.with_suffix(".md").read_text()
    assert "## Scores, 1 of 108 problems" in text
    assert text.count("| **no** |") == text.count("| yes |") == 1


@pytest.mark.parametrize("optimizer", bayesmark.OPTIMIZERS)
@pytest.mark.parametrize("problem", ["lasso_diabetes_mse", "DT_wine_nll"])
def test_a_run(optimizer, problem, monkeypatch):
    monkeypatch.setattr(bayesmark, "ROUNDS", 3)
    row = json.loads(json.dumps(bayesmark.run_one(optimizer, problem, 0)))
    assert row["best"] == sorted(row["best"], reverse=True)
    assert len(row["best"]) == 3
    assert len(row.get("losses", [])) == (24 if optimizer == "Random" else 0)


@pytest.mark.parametrize("optimizer", bayesmark.OPTIMIZERS)
def test_losses_that_are_not_finite_are_failures(optimizer, monkeypatch):
    monkeypatch.setattr(bayesmark, "ROUNDS", 2)
    monkeypatch.setattr(bayesmark, "loss", lambda problem, params, rng: float("inf"))
    row = json.loads(json.dumps(bayesmark.run_one(optimizer, "kNN_iris_acc", 0)))
    assert row["best"] == [None, None]
    assert row["failed"] == 16
