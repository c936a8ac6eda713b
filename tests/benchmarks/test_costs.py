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


def test_what_is_spent_until_a_value_is_reached():
    run = [Progress(1.0, 5.0), Progress(3.0, 4.0), Progress(7.0, 2.0), Progress(9.0, 2.0)]
    assert costs.until(iter(run), [], 4.0, 100.0) == 3.0
    assert costs.until(iter(run[2:]), run[:2], 2.5, 100.0) == 7.0
    assert costs.until(iter(run), [], 1.0, 100.0) == 100.0
    assert costs.until(iter(run), [], 1.0, 6.0) == 6.0
    assert costs.until(iter(run), [], 2.0, 6.0) == 6.0


def test_ratios_are_geometric_means():
    row = {"family": "a", "aside": False, "limit": 8.0, "spent": {"without": [4.0, 1.0], str(WEIGHT): [1.0, 8.0]}}
    other = row | {"aside": True, "spent": {"without": [2.0, 2.0], str(WEIGHT): [1.0, 1.0]}}
    assert costs.ratio(row, str(WEIGHT)) == pytest.approx(math.sqrt(2.0))
    found = costs.table([row, other])
    assert found[1] == ["a", "1", "0.5", "1.41", "1.41", "50 %", "0 %"]
    assert found[3] == ["a, put aside", "1", "0.5", "0.50", "0.50", "0 %", "0 %"]


@pytest.mark.parametrize("aside", [True, False])
def test_a_problem_is_run_and_reported(aside, monkeypatch, tmp_path):
    monkeypatch.setattr(costs, "TRIALS", 6)
    monkeypatch.setattr(costs, "LONGEST", 9)
    row = costs.run_one("branch-0", 2, aside)
    assert set(row["spent"]) == {"without", "0.5"} | (set() if aside else {"0.25", "1.0"})
    assert all(0.0 < spent <= row["limit"] for found in row["spent"].values() for spent in found)
    path = tmp_path / "costs.jsonl"
    path.write_text(f"{json.dumps(row)}\n")
    costs.write_report(path)
    assert ("branch, put aside" in path.with_suffix(".md").read_text()) == aside
