"""The cost of a searcher to Ray Tune: simulated workers, and a small cluster that loses nodes."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest
import ray

from benchmarks.compare import ray_scale

ROOT = Path(__file__).parents[2]

RUN = """
from pathlib import Path
from benchmarks.compare.ray_scale import run_on_cluster
row = run_on_cluster("GSSBOSearch", 16, 2, nodes=2, seconds=1.0, pause=3.0)
print(row["trials"], row["lost"], row["alike"], row["nodes_removed"] > 0, 0.0 < row["searcher_share"] < 1.0)
"""

FAILS = """
from benchmarks.compare.ray_scale import cluster_of
import tempfile
with tempfile.TemporaryDirectory(prefix="ray") as folder, cluster_of(1, 1, folder):
    print(folder)
    raise RuntimeError("in mid-run")
"""


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(ray_scale, "SIZES", (8, 24))
    monkeypatch.setattr(ray_scale, "WINDOW", 8)


@pytest.mark.parametrize("workers", [1, 10])
def test_a_simulation(small, workers):
    rows = ray_scale.simulate("GSSBOSearch", 24, workers)
    assert [(row["workers"], row["trials"], row["alike"]) for row in rows] == [(workers, 8, 0), (workers, 24, 0)]
    assert all(0.0 < row["median_ms"] <= row["q90_ms"] for row in rows)


def test_no_completion_has_no_time(small):
    first, last = ray_scale.simulate("GSSBOSearch", 24, 10)
    assert not first["complete_ms"] > 0.0
    assert last["complete_ms"] > 0.0


def test_equal_suggestions_are_counted(small, monkeypatch):
    class Stubborn(ray_scale.Searcher):
        def set_search_properties(self, *args, **kwargs):
            return True

        def suggest(self, trial_id):
            return dict.fromkeys(ray_scale.SPACE, 0.0)

        def on_trial_complete(self, trial_id, result=None, error=False):
            pass

    monkeypatch.setitem(ray_scale.SEARCHERS, "stubborn", (Stubborn, 24))
    assert [row["alike"] for row in ray_scale.simulate("stubborn", 24, 10)] == [7, 23]


@pytest.mark.parametrize(("workers", "file"), [([64], "ray-scale.csv"), ([2, 10], "ray-workers.csv")])
def test_rows_carry_the_number_of_workers(tmp_path, small, workers, file):
    ray_scale.measure(tmp_path, ["GSSBOSearch"], 24, 0, 0, workers=workers, at_once=1)
    with (tmp_path / file).open() as rows:
        found = [(row["workers"], row["trials"]) for row in csv.DictReader(rows)]
    assert found == [(str(number), trials) for number in workers for trials in ("8", "24")]


def run(code: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: the tests' Ray is another."""
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=240)


@pytest.mark.slow
@pytest.mark.skipif(ray.__version__.startswith("2.41."), reason="it raises at the end of a run that has lost a node")
def test_no_trial_is_lost_with_a_node():
    done = run(RUN)
    assert "16 0 0 True True" in done.stdout.splitlines(), done.stderr


@pytest.mark.slow
def test_a_cluster_ends_with_an_error():
    done = run(FAILS)
    folder = Path(done.stdout.splitlines()[-1])
    assert "RuntimeError: in mid-run" in done.stderr
    assert not folder.exists()
    assert not [pid for pid in os.listdir("/proc") if pid.isdigit() and str(folder) in command(pid)]


def command(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:  # it has ended
        return ""
