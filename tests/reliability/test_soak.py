"""The long runs in short: what they measure, and what must not grow."""

from __future__ import annotations

import dataclasses
import gc
import json
import tracemalloc

import optuna
import pytest
from tests.harness import faults, reliability, soak

from benchmarks import processes
from benchmarks.samplers.registry import SAMPLERS


@pytest.fixture(autouse=True)
def quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def test_the_report_holds_what_was_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(soak, "WINDOW", 20)
    monkeypatch.setattr(processes, "alone", lambda task, *arguments: task(*arguments))  # with the smaller window
    monkeypatch.setattr(reliability, "SOAK", {"GSSBO": 40})
    monkeypatch.setattr(reliability, "FEED", (400,))
    monkeypatch.setattr(reliability, "RUNS", [("journal", 1, 12, 0)])
    for _ in range(2):  # the second time everything is there
        reliability.measure(tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "reliability.jsonl").read_text().splitlines()]
    assert len(rows) == 2
    assert {f.name for f in dataclasses.fields(faults.Outcome)} <= rows[0].keys()
    assert rows[0]["lost"] == rows[0]["duplicates"] == 0
    assert rows[1]["trials at once"] == 400
    assert len((tmp_path / "soak.csv").read_text().splitlines()) == 2
    report = (tmp_path / "reliability.md").read_text()
    assert "| journal | 1 | 0 | 12 | 0 | 0 |" in report
    assert (tmp_path / "soak.png").stat().st_size > 10_000


def test_memory_does_not_grow_by_more_than_the_history():
    study = optuna.create_study(sampler=SAMPLERS["GSSBO"](0))

    def play(n):
        for _ in range(n):
            trial = study.ask(fixed_distributions=soak.SPACE)
            study.tell(trial, soak.value(trial.params))

    tracemalloc.start()
    try:
        play(135)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        play(35)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    # per trial: Optuna's own record, a point and its key; no factor, no candidates
    assert grown < 35 * 12_000
