"""The benchmark of wide batches measures what it says, and resumes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.compare import batches
from benchmarks.problems import functions
from benchmarks.problems.batches import PROBLEMS, bowl, mixed
from benchmarks.problems.suites import PROBLEMS as SUITE

OPTIMA = {
    "camel-2": np.array([0.0898420131, -0.7126564030]),
    "hartmann-3": np.array([0.114614, 0.555649, 0.852547]),
}


@pytest.mark.parametrize("name", OPTIMA)
def test_minima_are_where_the_literature_has_them(name):
    problem = PROBLEMS[name]()
    params = dict(zip(problem.space, OPTIMA[name], strict=True))
    assert problem.function(params) == pytest.approx(problem.minimum, abs=1e-5)


@pytest.mark.parametrize("function", [functions.zakharov, functions.dixon_price, bowl])
def test_minima_at_the_origin(function):
    assert function(np.zeros(10)) == pytest.approx(0.0, abs=1e-20)
    rng = np.random.default_rng(0)
    assert all(function(1e-3 * rng.normal(size=10)) > 0.0 for _ in range(20))


def test_the_minimum_of_the_mixed_problem():
    best = {"x0": 1.1, "x1": -0.7, "x2": 0.4, "k0": 6, "k1": 11, "k2": 15, "kind": "a", "extra": "no"}
    assert mixed().function(best) == pytest.approx(0.0, abs=1e-20)


def test_problems_are_in_no_suite():
    assert set(PROBLEMS).isdisjoint(SUITE)


@pytest.mark.parametrize("search", batches.SEARCHES)
def test_a_run_in_rounds(search):
    row = json.loads(json.dumps(batches.run_one("mixed-8", search, 8, 0, evaluations=30)))
    curve = [v for _, v in row["curve"]]
    assert curve == sorted(curve, reverse=True)
    assert curve[-1] == row["best"] > 0.0


def test_a_report_says_how_far_a_batch_is_behind(tmp_path):
    path = tmp_path / "b.jsonl"
    rows = [("GSSBO", 1, 1e-12), ("GSSBO", 50, 1e-7), ("TPE", 50, 1.0)]
    with path.open("w") as file:
        for problem in PROBLEMS:
            for search, width, best in rows:
                row = {"problem": problem, "search": search, "width": width, "seed": 0, "best": best}
                file.write(json.dumps(row) + "\n")
    batches.write_report(path)
    text = path.with_suffix(".md").read_text()
    assert "| camel-2 | -9.00 | -7.00 | 0.00 |" in text
    assert "| behind GSSBO one at a time, median | 0.00 | 2.00 | 9.00 |" in text


def test_asynchronous_trials_end_one_by_one():
    row = batches.run_one("camel-2", "GSSBO", 4, 0, evaluations=20, asynchronous=True)
    assert row["asynchronous"]
    assert row["best"] == row["curve"][-1][1] > 0.0


def test_runs_of_other_lengths_and_modes_are_made_as_well(tmp_path, monkeypatch):
    path = tmp_path / "b.jsonl"
    made = []
    monkeypatch.setattr(batches.processes, "record", lambda path, one, todo, jobs, **also: made.append((one, todo)))
    old = {"problem": "camel-2", "search": "GSSBO", "width": 4, "seed": 0, "best": 1.0}
    path.write_text(json.dumps(old) + "\n")
    batches.run(path, ["GSSBO", "TuRBO-1"], (1, 4), 1, 1, batches.EVALUATIONS, [False, True])
    batches.run(path, ["GSSBO"], (4,), 1, 1, 500, [False])
    todo = made[0][1]
    assert ("camel-2", "GSSBO", 4, 0, False) not in todo
    assert ("camel-2", "GSSBO", 4, 0, True) in todo
    assert not any(a and (w == 1 or s == "TuRBO-1") for _, s, w, _, a in todo)
    assert ("camel-2", "GSSBO", 4, 0, False) in made[1][1]
    assert made[1][0](*("camel-2", "Random", 4, 0, False))["evaluations"] == 500
