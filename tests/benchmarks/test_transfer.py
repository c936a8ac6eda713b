"""The benchmark on earlier studies, with small tables in place of those that are downloaded."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.compare import transfer
from benchmarks.problems import transfer as problems


@pytest.fixture
def tables(monkeypatch):
    """Three alike, and one that is turned around."""
    rng = np.random.default_rng(0)
    X = rng.random((150, 2))
    made = {f"9_{j}": (X, 1.0 - 2.0 * np.abs(X[:, 0] - 0.3 - 0.02 * j)) for j in range(3)}
    monkeypatch.setattr(problems, "_lcbench", lambda: made)
    monkeypatch.setattr(transfer, "TRIALS", 8)
    return made


def test_the_recorded_runs_are_those_of_the_tasks():
    names = problems.hpob.tasks()
    assert set(transfer.of_records(names)) == set(transfer.METHODS)
    fewer = [name for name in names if f"NAP/{name}" in problems.recorded()]
    assert len(fewer) == 20
    assert set(transfer.of_records(fewer)) == {*transfer.METHODS, *transfer.FEWER}
    assert all((np.diff(runs) >= 0.0).all() for runs in problems.recorded().values())


@pytest.mark.parametrize("known", problems.KNOWN)
def test_what_is_known(tables, known):
    found = problems.task("lcbench", "9_0", 0, known)
    assert len(found.start) == problems.START
    assert found.value(3) == tables["9_0"][1][3]
    assert len(found.studies) == {"none": 0, "one": 1}.get(known, 2)
    names = [study.name for study in found.studies]
    assert "9_0" not in names
    for i, study in enumerate(found.studies):
        own = dict(zip(map(tuple, tables[study.name][0]), tables[study.name][1], strict=True))
        same = [own[tuple(x)] == v for x, v in zip(study.points, study.values, strict=True)]
        mirrored = [own[tuple(x)] == -v for x, v in zip(study.points, study.values, strict=True)]
        shuffled = known == "shuffled" or (known == "one-good" and i > 0)
        assert all(same) == (not shuffled and known != "upside-down")
        assert all(mirrored) == (known == "upside-down")


def test_runs_are_counted_and_reported(tables, tmp_path, monkeypatch):
    monkeypatch.setattr(transfer, "MARKS", (1, 5, 8))
    rows = [transfer.run_one("lcbench", name, 0, known) for known in ("none", "all") for name in tables]
    assert all(len(row["best"]) == 9 and row["best"] == sorted(row["best"]) for row in rows)
    path = tmp_path / "transfer.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    transfer.write_report(path)
    text = path.with_suffix(".md").read_text()
    assert "| GSSBO, all | 1 | " in text
    assert "## lcbench, 3 tasks" in text


def test_searches_of_other_data_are_studies():
    found = problems.task("svm", "wine", 0, "all")
    assert [len(study.points) for study in found.studies] == [problems.LENGTH] * problems.SEARCHES
    assert "wine" not in {study.name for study in found.studies}
    grid = problems._svm()["wine"]
    for i, j in ((0, 0), (28, 28), (3, 17)):
        at = {name: d.from_unit(u / 28) for (name, d), u in zip(problems.SQUARE.items(), (i, j), strict=True)}
        assert found.value(at) == pytest.approx(grid[i, j], abs=1e-9)
    between = {name: d.from_unit(3.5 / 28) for name, d in problems.SQUARE.items()}
    assert found.value(between) == pytest.approx(grid[3:5, 3:5].mean(), abs=1e-9)


@pytest.mark.parametrize("known", transfer.OTHERS)
def test_what_people_do_instead(known, monkeypatch):
    monkeypatch.setattr(transfer, "TRIALS", 6)
    row = transfer.run_one("svm", "wine", 0, known)
    assert len(row["best"]) == 7
    assert row["best"] == sorted(row["best"])
    studies = problems.task("svm", "wine", 0, "all").studies
    value = problems.task("svm", "wine", 0, "none").value
    first = [value(one.points[int(np.argmax(one.values))]) for one in studies]
    if known == "best-first":
        assert row["best"][3] == pytest.approx(max(first), abs=1e-6)
