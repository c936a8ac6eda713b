"""The calibration benchmark measures what it says, resumes, and writes its table."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks.checks import calibration
from benchmarks.storage import load
from numbo import Float, Space


class Known:
    """A model with a known error and a stated standard deviation."""

    space = Space({"x": Float(0.0, 1.0)})

    def __init__(self, error, std):
        self.error, self.std = error, std

    def predict(self, points):
        x = np.array([p["x"] for p in points])
        return x + self.error, np.full(len(x), self.std)


@pytest.mark.parametrize(("error", "std", "coverage"), [(1.6, 1.0, 1.0), (1.7, 1.0, 0.0), (0.0, 0.0, 1.0)])
def test_coverage_is_that_of_the_ninety_percent_interval(error, std, coverage):
    X = np.linspace(0.0, 1.0, 11)[:, None]
    found = calibration.asked(Known(error, std), X, X[:, 0], spread=2.0)
    assert found == {"coverage": coverage, "error": pytest.approx(error / 2.0), "std": std / 2.0}


@pytest.mark.parametrize("algorithm", calibration.ALGORITHMS)
def test_a_run_repeats_itself(algorithm):
    runs = [json.loads(json.dumps(calibration.run_one("bumps-2", algorithm, 0.1, 0, (12, 20)))) for _ in range(2)]
    assert runs[0] == runs[1]
    assert list(runs[0]["figures"]) == ["12", "20"]
    for figures in runs[0]["figures"].values():
        assert 0.0 <= figures["even"]["coverage"] <= 1.0
        assert min(figures["observed"], figures["recommended"]) >= 0.0


def test_the_command_resumes_and_writes_its_table(tmp_path, monkeypatch):
    monkeypatch.setattr(calibration, "RESULTS", tmp_path)
    only = ["--functions", "bumps-2", "--algorithms", "BBKB", "--seeds", "1", "--trials", "12", "--jobs", "1"]
    monkeypatch.setattr(sys, "argv", ["benchmarks", "calibration", *only])
    for _ in range(2):
        command.main()
        assert len(load(tmp_path / "calibration.jsonl")) == len(calibration.NOISES)
    table = (tmp_path / "calibration.md").read_text()
    assert "| BBKB | 0.0 | 12 |" in table
    assert "+0.0000 ± 0.0000" in table


def test_an_algorithm_that_is_not_known_is_named(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["benchmarks", "calibration", "--algorithms", "TPE"])
    with pytest.raises(SystemExit):
        command.main()
    assert "got 'TPE'" in capsys.readouterr().err
