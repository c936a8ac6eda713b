"""What runs spend until they reach a value, and the problems whose trials cost differently."""

from __future__ import annotations

import json
import math

import numpy as np
import optuna
import pytest

from benchmarks.compare import costs
from benchmarks.compare.costs import Progress
from benchmarks.problems import priced
from numbo.models.costs import WEIGHT


def outcomes(name, n=200):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    objective = priced.objective_of(name)
    return [objective(study.ask()) for _ in range(n)]


@pytest.mark.parametrize("family", ["corner", "branch"])
def test_cheap_trials_are_bad(family):
    found = outcomes(priced.problems()[family][0])
    values = np.array([one.value for one in found])
    prices = np.array([one.cost for one in found])
    assert (values > 0.0).all()
    assert prices.max() > 20.0 * prices.min()
    cheapest = np.argsort(prices)[:20]
    assert values[cheapest].min() > np.quantile(values, 0.05)


def test_problems_are_the_same_each_time():
    assert outcomes("corner-3", 5) == outcomes("corner-3", 5) != outcomes("corner-4", 5)


def test_what_is_spent_until_values_are_reached():
    run = [Progress(*step) for step in ((1.0, 5.0, 5.0), (3.0, 4.0, 4.0), (7.0, 2.0, 2.0), (9.0, 2.0, 3.0))]
    assert costs.until(iter(run), [], [4.0, 2.5], 100.0) == [3.0, 7.0]
    assert costs.until(iter(run[2:]), run[:2], [4.5, 2.5], 100.0) == [3.0, 7.0]
    assert costs.until(iter(run), [], [4.0, 1.0], 100.0) == [3.0, 100.0]
    assert costs.until(iter(run), [], [4.0, 1.0], 6.0) == [3.0, 6.0]
    assert costs.until(iter(run), [], [2.0, 2.0], 6.0) == [6.0, 6.0]


def test_last_digits_are_a_share_of_the_range():
    firsts = [[Progress(1.0, best, 1.0)] for best in (2.0, 3.0, 4.0)]
    assert costs.targets_of(firsts, [8.0, 12.0, 13.0]) == pytest.approx([3.0 + 10.0 * costs.CLOSE, 3.0])


def test_ratios_are_geometric_means():
    blind = [[4.0, 4.0], [1.0, 8.0]]
    own = [[1.0, 4.0], [8.0, 2.0]]
    row = {"family": "a", "aside": False, "limit": 8.0, "spent": {"without": blind, str(WEIGHT): own}}
    found = costs.ratio(row, str(WEIGHT))
    assert found.close == pytest.approx(math.sqrt(2.0))
    assert found.exact == pytest.approx(0.5)
    assert found.variance == pytest.approx((np.log(4.0) ** 2 + np.log(8.0) ** 2) / 4.0)
    other = row | {"aside": True, "spent": {"without": [[2.0, 2.0]] * 2, str(WEIGHT): [[1.0, 1.0]] * 2}}
    table = costs.table([row, other])
    error = f"{100.0 * math.sqrt(found.variance):.0f} %"
    assert table[1] == ["a", "1", str(WEIGHT), "1.41", error, "1.41", "0.50", "50 %", "0 %"]
    assert table[3] == ["a, put aside", "1", str(WEIGHT), "0.50", "0 %", "0.50", "0.50", "0 %", "0 %"]


def test_problems_that_are_left_out_change_no_places(monkeypatch):
    tasks = ["1", "40923", "5", "41216", "7", "9"]
    monkeypatch.setattr(priced.yahpo, "evenly", lambda variable, count: tasks if variable == "RBV2_XGBOOST" else [])
    found = priced.problems()["xgboost"]
    assert found == [f"xgboost-{task}" for task in ("1", "5", "7", "9")]
    assert [priced.aside(name) for name in found] == [False, False, False, True]


@pytest.mark.parametrize("weights", [[WEIGHT], [WEIGHT, 0.25]])
def test_a_problem_is_run_and_reported(weights, monkeypatch, tmp_path):
    monkeypatch.setattr(costs, "TRIALS", 6)
    monkeypatch.setattr(costs, "LONGEST", 9)
    row = costs.run_one("branch-1", 2, weights)
    assert set(row["spent"]) == {"without", *map(str, weights)}
    assert all(0.0 < close <= exact <= row["limit"] for found in row["spent"].values() for close, exact in found)
    path = tmp_path / "costs.jsonl"
    path.write_text(f"{json.dumps(row)}\n")
    costs.write_report(path)
    assert "branch, put aside" in path.with_suffix(".md").read_text()
