"""The harness measures what it says, resumes, and survives a torn results file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks import report, runner, storage
from benchmarks.problems import PROBLEMS

ROOT = Path(__file__).parents[1]
OPTIMA = {
    "eggholder-2": np.array([512.0, 404.2319]),
    "hartmann-6": np.array([0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573]),
    "levy-20": np.ones(20),
    "powell-48": np.zeros(48),
    "rastrigin-100": np.zeros(100),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_minima_are_where_the_literature_has_them(name):
    problem = PROBLEMS[name]
    assert problem.function(OPTIMA[name]) == pytest.approx(problem.minimum, abs=2e-4)
    rng = np.random.default_rng(0)
    assert all(
        problem.function(rng.uniform(problem.low, problem.high, problem.d)) > problem.minimum for _ in range(200)
    )


def test_a_run_is_recorded_once_and_resumed(tmp_path):
    command = [sys.executable, "-c"]
    code = f"""
import pathlib
from benchmarks import runner
if __name__ == "__main__":
    runner.run(pathlib.Path({str(tmp_path / "r.jsonl")!r}), ["eggholder-2"], ["Random", "GSSBO"], 2, 100, 2)
"""
    script = tmp_path / "script.py"
    script.write_text(code)
    for _ in range(2):
        subprocess.run([command[0], str(script)], cwd=ROOT, env=_environment(), check=True, capture_output=True)
        rows = storage.load(tmp_path / "r.jsonl")
        assert {(r["sampler"], r["seed"]) for r in rows} == {(s, i) for s in ("Random", "GSSBO") for i in range(2)}
        assert len(rows) == 4
    with (tmp_path / "r.jsonl").open("a") as file:
        file.write('{"problem": "egg')
    assert len(storage.load(tmp_path / "r.jsonl")) == 4
    report.write_report(tmp_path, "r")
    text = (tmp_path / "r.md").read_text()
    assert "eggholder-2 | 100" in text
    assert (tmp_path / "r.png").stat().st_size > 5000


def _environment():
    import os

    return os.environ | {"PYTHONPATH": str(ROOT)}


def test_figures_of_a_run():
    row = json.loads(json.dumps(runner.run_one("hartmann-6", "Random", 3, 100)))
    curve = [v for _, v in row["curve"]]
    assert curve == sorted(curve, reverse=True)
    assert row["best"]["100"] == curve[-1] > 0
    assert row["mean_regret"]["100"] >= row["best"]["100"]
    assert row["ask_ms"]["100"] > 0
    assert runner.run_one("hartmann-6", "Random", 3, 100)["best"] == row["best"]


def test_mean_ranks():
    def runs(**medians):
        return {("levy-20", s): [{"best": {"100": v}}] for s, v in medians.items()}

    lines = report.mean_ranks(runs(a=1.0, b=3.0, c=3.0), ["a", "b", "c"], ["levy-20"]).splitlines()
    assert lines[-1] == "| 100 | 1 | 1.00 | 2.50 | 2.50 |"
