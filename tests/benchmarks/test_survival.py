"""The experiment on S-BPE's race measures what it says, on runs short enough for a test."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.bandits import survival
from benchmarks.storage import load


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(survival, "HORIZON", 16)
    monkeypatch.setattr(survival, "ARMS", 40)
    monkeypatch.setattr(survival, "SIDE", 8)
    monkeypatch.setattr(survival, "PROBES", 256)


@pytest.mark.parametrize("domain", survival.DOMAINS)
@pytest.mark.parametrize("kernel", survival.KERNELS)
def test_a_run(domain, kernel):
    row = survival.run_one(domain, kernel, 0.1, 1)
    assert len(row["kept"]) == len(row["share"]) == 3  # 4, 8, 12
    assert all(0.0 <= share <= 1.0 for share in row["share"])
    assert row["regret"] >= -1e-9


@pytest.mark.parametrize("domain", survival.DOMAINS)
@pytest.mark.parametrize("seed", range(10))
def test_the_optimum_of_a_problem_is_its_best_point(domain, seed):
    problem = survival.Problem(domain, "learned", seed)
    values = problem.value(problem.X)
    assert problem.best >= values.max() - 1e-12
    assert values.std() == pytest.approx(1.0)
    assert ((problem.optimum >= 0.0) & (problem.optimum <= 1.0)).all()


def test_a_width_of_zero_loses_the_optimum():
    """Whether the optimum is in the race is really looked at."""
    kept = [survival.run_one("arms", "learned", 1.0, seed, beta=0.0)["kept"][-1] for seed in range(4)]
    assert not all(kept)


def test_samples_have_the_moments_of_the_process():
    x = np.array([[0.5, 0.5], [0.5, 0.6]])
    draws = np.array([survival.gp_sample(2, np.random.default_rng(s), 0.25)(x) for s in range(800)])
    r = np.sqrt(5.0) * 0.1 / 0.25
    np.testing.assert_allclose(np.mean(draws**2, axis=0), 1.0, atol=0.15)
    assert np.mean(draws[:, 0] * draws[:, 1]) == pytest.approx((1 + r + r**2 / 3) * np.exp(-r), abs=0.15)


def test_runs_are_resumed_and_reported(tmp_path):
    for seeds in (1, 2):
        survival.measure(tmp_path, "r", ["arms"], ["fixed"], [0.5], seeds)
    rows = load(tmp_path / "r.jsonl")
    assert [r["seed"] for r in rows] == [0, 1]
    assert "| arms | fixed | 50% | 2 |" in (tmp_path / "r.md").read_text()
