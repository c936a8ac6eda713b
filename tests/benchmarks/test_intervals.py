"""The check of confidence intervals draws what it says, counts what it says, resumes, and writes its table."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks.checks import intervals
from benchmarks.storage import load


@pytest.fixture
def few_arms(monkeypatch):
    monkeypatch.setattr(intervals, "ARMS", 60)
    monkeypatch.setattr(intervals, "MARKS", (12, 16))
    intervals.domain.cache_clear()
    yield
    intervals.domain.cache_clear()


@pytest.mark.parametrize("kernel", intervals.KERNELS)
def test_draws_have_the_covariance_of_the_kernel(kernel, few_arms):
    X, factor = intervals.domain(kernel, 2)
    K = intervals.covariance(kernel, X, intervals.LENGTHSCALES[2])
    np.testing.assert_allclose(factor @ factor.T, K, atol=1e-8)
    np.testing.assert_allclose(np.diag(K), 1.0)
    far = intervals.covariance(kernel, np.array([[0.0, 0.0], [100.0, 0.0]]), 1.0)
    assert far[0, 1] < 1e-12


@pytest.mark.parametrize("kernel", intervals.KERNELS)
def test_kernels_are_those_of_the_given_algorithm(kernel, few_arms):
    """The mean of BKB with the kernel of the draws is that of the exact process, as all points are atoms."""
    X, truth = intervals.drawn(kernel, 2, 0)
    settings = intervals.BKBSettings(kernel=kernel, lengthscale=intervals.LENGTHSCALES[2], noise_std=0.1, qbar=np.inf)
    optimizer = intervals.BKB(arms=X, seed=0, settings=settings)
    rows = list(range(20))
    optimizer.tell(rows, truth[rows].tolist())
    K = intervals.covariance(kernel, X, intervals.LENGTHSCALES[2])
    expected = K[:, :20] @ np.linalg.solve(K[:20, :20] + 0.01 * np.eye(20), truth[:20])
    np.testing.assert_allclose(optimizer.snapshot().predict(list(range(60)))[0], expected, atol=1e-6)


class Known:
    """A model with a known error and a stated standard deviation."""

    def __init__(self, error, std, beta):
        self.error = np.array(error)
        self.std = np.full(len(error), std)
        self.beta = beta

    def snapshot(self):
        return self

    def predict(self, arms):
        return self.error[arms], self.std

    def explain(self):
        return SimpleNamespace(beta=self.beta)


def test_shares_are_those_of_the_intervals():
    found = intervals.held(Known([0.0, 1.5, 1.9, -2.5], 1.0, 2.0), np.zeros(4))
    assert found == {"within": 0.75, "ninety": 0.5, "beta": 2.0, "half": 2.0}


def test_the_command_resumes_and_writes_its_table(few_arms, tmp_path, monkeypatch):
    def record(path, function, todo, jobs):
        lines = [json.dumps(function(*arguments)) for arguments in todo]
        path.write_text((path.read_text() if path.exists() else "") + "".join(f"{line}\n" for line in lines))

    monkeypatch.setattr(intervals, "RESULTS", tmp_path)
    monkeypatch.setattr(intervals, "KERNELS", ("rbf",))
    monkeypatch.setattr(intervals.processes, "record", record)
    for seeds in ("1", "2"):
        monkeypatch.setattr(sys, "argv", ["benchmarks", "intervals", "--algorithms", "BBKB", "--seeds", seeds])
        command.main()
    rows = load(tmp_path / "intervals.jsonl")
    assert len({(r["d"], r["beta"], r["seed"]) for r in rows}) == len(rows) == 2 * 2 * 2
    assert all(0.0 <= figures["within"] <= 1.0 for row in rows for figures in row["figures"].values())
    table = (tmp_path / "intervals.md").read_text()
    assert "## In 4 dimensions" in table
    assert "| BBKB | learned | paper | rbf | 2 |" in table
