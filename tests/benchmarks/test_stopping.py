"""Forecasts are judged by what came, and rules by what they lose."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.compare import stopping
from benchmarks.compare import stopping_runs as problems
from benchmarks.compare.stopping_runs import Run


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setattr(problems, "KEPT", tmp_path)
    monkeypatch.setattr(problems, "LONGEST", 14)
    monkeypatch.setattr(problems, "TRIALS", {"noisy": 16})
    monkeypatch.setattr(problems, "MARKS", (6, 8))
    monkeypatch.setattr(stopping, "MARKS", (6, 8))
    return tmp_path


def test_runs_are_made_once(kept):
    found = problems.run("made-up", "waves-2", 0)
    assert len(found.values) == 14
    (file,) = kept.rglob("*.npz")
    file.unlink()
    again = problems.run("made-up", "waves-2", 0)
    np.testing.assert_array_equal(found.values, again.values)
    np.savez(next(kept.rglob("*.npz")), values=np.zeros(3), true=np.zeros(3), points=np.inf)
    assert len(problems.run("made-up", "waves-2", 0).values) == 3


@pytest.mark.parametrize("name", problems.KINDS["made-up"])
def test_functions_are_those_of_their_seed(name):
    space, function = problems.made_up(name, 1)
    rng = np.random.default_rng(0)
    point = {key: d.from_unit(rng.random()) for key, d in space.items()}
    assert np.isfinite(function(point))
    assert function(point) == problems.made_up(name, 1)[1](point)
    assert function(point) != problems.made_up(name, 2)[1](point)


def test_noisy_runs_have_expected_values(kept):
    found = problems.run("noisy", "branin-2-noise-10%", 0)
    assert set(found.expected) == {6, 8, 9, 12, 16}
    assert all(len(values) == n for n, values in found.expected.items())
    assert (found.true <= 0.0).all()


def test_what_came_is_compared_with_what_was_stated():
    run = Run(np.r_[np.arange(30.0), np.full(30, 29.0)], {}, np.r_[np.arange(30.0), np.full(30, 29.0)])
    came = stopping._stated(run, 20, 10, 20.0)
    assert came["came"] == 1.0
    assert came["below"] <= came["at_most"]
    stays = stopping._stated(run, 30, 30, 20.0)
    assert stays["came"] == 0.0
    assert stays["below"] == 0.0


def test_gains_within_quantiles():
    assert stopping._within({"below": 0.2, "at_most": 0.2}, 0.5) == 1.0
    assert stopping._within({"below": 0.7, "at_most": 0.7}, 0.5) == 0.0
    assert stopping._within({"below": 0.0, "at_most": 0.4}, 0.1) == pytest.approx(0.25)


def test_rules():
    values = np.r_[np.arange(20.0), np.full(80, 19.0)]
    assert stopping._patience(values, 0.0) == 50
    assert stopping._patience(np.arange(100.0), 0.0) == 100
    assert stopping._window(values, 0.0) == 24
    assert stopping._hindsight(values, 0.5) == 20
    assert stopping._numbo(values, 1e9) == stopping.STARTUP + stopping.PATIENCE - 1
    found = stopping._stops(Run(values, {}, values), 20.0)
    assert found["all"] == [100, 0.0]
    assert found["hindsight"] == [20, 0.0]


def test_the_report(kept):
    rows = [stopping.run_one("made-up", name, 0) for name in ("waves-2", "steps-3")]
    rows.append(stopping.run_one("noisy", "branin-2-noise-10%", 0))
    path = kept / "stopping.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    stopping.write_report(path)
    text = path.with_suffix(".md").read_text()
    assert "| made-up | 6 | 4 |" in text
    assert "| made-up | hindsight | 2 |" in text
    assert "| noisy | all | 4 |" in text
    assert "| noisy | hindsight" not in text
