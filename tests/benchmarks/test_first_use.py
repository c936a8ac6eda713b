"""The first-use benchmark measures what it says, and writes its table."""

from __future__ import annotations

import sys

from benchmarks import __main__ as command
from benchmarks.checks import first_use


def test_versions_are_measured_with_an_empty_and_a_warm_cache(tmp_path, monkeypatch):
    seen = []

    def run_one(home, cache, duration, ahead):
        assert (home / "numbo" / "optimizers" / "gssbo.py").exists()
        assert (home / "numbo" / "ray" / "__init__.py").exists()
        state = "warm" if (cache / "kernels").exists() else "empty"
        (cache / "kernels").touch()
        seen.append((duration, ahead, state))
        waited = 10.0 if state == "empty" else 1.0
        return {"total": waited + duration, "waiting": waited, "longest": waited / 2}

    monkeypatch.setattr(first_use, "run_one", run_one)
    monkeypatch.setattr(first_use, "RESULTS", tmp_path)
    before = ["--before", str(first_use.ROOT)]
    monkeypatch.setattr(sys, "argv", ["benchmarks", "first-use", *before, "--repeats", "2"])
    command.main()
    assert len(seen) == 2 * 2 * 3 * 2
    assert seen.count((1.0, True, "empty")) == 4
    table = [line for line in (tmp_path / "first-use.md").read_text().splitlines() if line.startswith("| ")]
    assert len(table) == 1 + 3 * 2 * 2
    ten = "10.00 (10.00 - 10.00)"
    assert table[1] == f"| before | 0 s | empty | {ten} | {ten} | 5.00 (5.00 - 5.00) |"


def test_a_run_waits_less_than_it_lasts(tmp_path, monkeypatch):
    monkeypatch.setattr(first_use, "TRIALS", 3)
    (tmp_path / "home").mkdir()
    home = first_use.package(first_use.ROOT, tmp_path / "home")
    found = first_use.run_one(home, tmp_path / "cache", 0.01, False)
    assert 0.0 < found["longest"] <= found["waiting"] <= found["total"] - 0.03
