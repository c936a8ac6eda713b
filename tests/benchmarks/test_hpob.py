"""The benchmark on recorded searches, with small tables in place of those that are downloaded."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.helpers import MOSTLY, over_seeds, seeded

from benchmarks.compare import hpob
from benchmarks.problems.hpob import ASIDE, METHODS, recorded, space_of, table, tasks


def test_the_recorded_runs_are_those_of_51_tasks_of_ten_spaces():
    names = tasks()
    assert len(names) == 51
    spaces = sorted({space_of(task) for task in names})
    assert len(spaces) == 10
    assert tuple(spaces[2::3]) == ASIDE
    assert all(values.shape == (5, 101) for values in recorded().values())
    assert all(np.all(np.diff(values) >= 0.0) for values in recorded().values())
    assert {key.split("/")[0] for key in recorded()} == set(METHODS)


@pytest.fixture
def tables(tmp_path):
    """Two tables whose last column is the value."""
    rng, path = np.random.default_rng(0), tmp_path / "tables.npz"
    X = rng.random((300, 2))
    np.savez(
        path, **{task: np.column_stack([X, 3.0 - 10.0 * (X[:, j] - 0.3) ** 2]) for j, task in enumerate(["a_0", "a_1"])}
    )
    return path


def test_a_table_goes_from_0_to_1(tables):
    X, y = table("a_1", tables)
    assert X.shape == (300, 2)
    assert (y.min(), y.max()) == (0.0, 1.0)
    assert abs(X[np.argmax(y), 1] - 0.3) < 0.02


@over_seeds()
def test_a_run_starts_from_five_and_is_counted(tables, monkeypatch):
    original = table
    monkeypatch.setattr(hpob, "table", lambda task: original(task, tables))
    monkeypatch.setattr(hpob, "TRIALS", 20)
    row = hpob.run_one("GSSBO", {}, "a_0", seeded(3))
    _, y = original("a_0", tables)
    started = np.random.default_rng([seeded(3), 7]).choice(300, 5, replace=False)
    assert row["best"][0] == pytest.approx(y[started].max(), abs=1e-6)
    assert len(row["best"]) == 21
    assert row["best"] == sorted(row["best"])
    assert row["best"][-1] > 0.999, MOSTLY
    assert 0 <= row["again"] <= 3, MOSTLY


def test_the_report_compares_those_who_did_all_tasks(tmp_path):
    path = tmp_path / "hpob.jsonl"
    curve = np.linspace(0.9, 1.0, 101).tolist()
    rows = [{"optimizer": "GSSBO", "task": task, "seed": s, "best": curve} for task in tasks() for s in (0, 1)]
    rows += [{"optimizer": "BKB", "task": tasks()[0], "seed": 0, "best": curve}]
    rest = {"ask_ms": 2.0, "mean_ask_ms": 3.0, "again": 1}
    path.write_text("\n".join(json.dumps(row | rest) for row in rows))
    found = hpob.regrets(path)
    assert list(found) == ["GSSBO", *METHODS]
    mean, low, high = hpob.mean_regret(found["GSSBO"], tasks(), 20)
    assert (mean, low, high) == pytest.approx((0.08, 0.08, 0.08))
    mean, low, high = hpob.mean_regret(found["GP"], tasks(), 50)
    assert low < mean < high
    ranks = hpob.mean_rank(found, tasks(), 100)
    assert sum(ranks.values()) == pytest.approx(15.0)
    hpob.write_report(path)
    report = path.with_suffix(".md").read_text()
    assert "## Spaces put aside, 19" in report
    assert "| BKB | 2.0 | 3.0 | 1.0 | 1 |" in report
