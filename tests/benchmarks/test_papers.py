"""The experiments on the papers measure what they say, on cases short enough for a test."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from benchmarks.compare import places
from benchmarks.papers import bkb, exact, gssbo, gssbo_runs, plots, runner, sbpe, tables
from benchmarks.papers.experiment import Experiment
from benchmarks.storage import load


def toy(seed: int, scale: float) -> dict:
    return {"size": scale * (seed + 1), "holds": seed > 0, "_curve": [1.0, 2.0]}


TOY = {"toy": Experiment("What is claimed.", toy, {"a=1": {"scale": 1.0}, "a=2": {"scale": 2.0}}, seeds=3)}


def test_the_exact_gp_is_that_of_a_solve():
    rng = np.random.default_rng(0)
    X = rng.random((12, 2))
    K = exact.gaussian(X, X, 0.3)
    gp = exact.ExactGP(K, 0.04)
    arms = [3, 3, 7, 0, 3]
    for arm in arms:
        gp.pull(arm)
    played = K[np.ix_(arms, arms)]
    solved = np.diag(K - K[:, arms] @ np.linalg.solve(played + 0.04 * np.eye(5), K[arms])) / 0.04
    np.testing.assert_allclose(gp.variance, solved, rtol=1e-8)
    assert gp.information == pytest.approx(np.linalg.slogdet(played / 0.04 + np.eye(5))[1])
    assert gp.effective_dimension == pytest.approx(np.trace(played @ np.linalg.inv(played + 0.04 * np.eye(5))))


def test_a_function_has_its_norm():
    X = np.random.default_rng(0).random((40, 1))
    f = exact.rkhs_function(X, 0.5, np.random.default_rng(1), norm=2.0)
    K = exact.gaussian(X, X, 0.5)
    assert f @ np.linalg.lstsq(K, f, rcond=1e-12)[0] == pytest.approx(4.0, rel=0.01)  # X nearly determines f


def test_every_case_can_be_named_on_a_page():
    parts = (bkb.EXPERIMENTS, sbpe.EXPERIMENTS, gssbo.EXPERIMENTS, gssbo_runs.EXPERIMENTS)
    assert len(runner.EXPERIMENTS) == sum(map(len, parts))
    for experiment in runner.EXPERIMENTS.values():
        assert all(not set(" <>") & set(case) for case in experiment.cases)


SHORT = {
    "starvation": "rate=50,lambda=0.01,t=6",
    "information": "lambda=1,n=10",
    "projection": "lambda=1,qbar=10",
    "ratios": "lambda=1",
    "uncertainty": "lambda=1,T=5",
    "identities": "tau=1,atoms=5",
    "intervals": "laplace,d=1,delta=0.5",
    "prediction": "n=20",
    "elimination": "beta=2,N=100",
    "subset-error": "nystrom,lambda=1,M=25",
    "approximation": "M=10",
    "columns": "lengthscale=0.15",
    "on-draws": "beta=2,lambda=1,sign",
    "illustration": "sign",
}


@pytest.mark.parametrize(("name", "case"), SHORT.items())
def test_a_case(name, case):
    row = runner.run_one(name, case, 1, None)
    assert (row["experiment"], row["case"], row["seed"]) == (name, case, 1)
    numbers = [value for key, value in row["figures"].items() if not key.startswith("_")]
    assert all(math.isfinite(value) for value in numbers)


def test_runs_beside_the_exact_gp():
    found = bkb.accuracy(0, "BBKB", 1e-2, math.inf, T=60)
    assert found["smallest-ratio"] == pytest.approx(1.0, abs=1e-4)  # a perfect dictionary
    assert found["largest-ratio"] == pytest.approx(1.0, abs=1e-4)
    assert found["atoms"] == found["points"]
    assert bkb.accuracy(0, "BKB", 1.0, 2, T=60)["largest-ratio"] > 1.001
    assert not bkb.coverage(0, "BKB", 0.01, 1e-2, 40)["covered"]
    assert bkb.coverage(0, "BKB", "paper", 1e-2, 40)["covered"]
    assert bkb.batch_sizes(0, "BBKB", 1e-2, T=200)["largest"] > 1
    assert bkb.growth(0, 2.0, (5, 10))["seconds-10"] > 0.0


def test_a_narrow_bound_drops_the_optimum():
    """Whether it is in the race is really looked at."""
    assert not all(sbpe.elimination(seed, 0.0, 100)["kept"] for seed in range(4))


def test_a_subset_of_all_samples_is_exact():
    X = exact.unit_arms(30, 2, np.random.default_rng(0))
    K = gssbo.matern(X, X)
    np.testing.assert_allclose(gssbo.low_rank(K, np.arange(30)), K, atol=1e-9)
    assert gssbo.outside(K, np.arange(30), np.eye(30)) == pytest.approx(0.0, abs=1e-6)
    assert gssbo.norm(K - gssbo.low_rank(K, np.arange(10))) > 0.01


def test_the_greedy_rule_takes_the_longest_column_that_is_left():
    columns = np.array([[3.0, 2.9, 0.0], [0.0, 0.1, 2.0], [0.0, 0.0, 0.0]])
    assert gssbo.greedy(columns, 2).tolist() == [0, 2]


def test_runs_of_gssbo(monkeypatch):
    monkeypatch.setattr(gssbo_runs, "compiled", lambda: None)
    found = gssbo_runs.cumulative(0, "hartmann-6", trials=130)
    assert found["_regret-sign"][:3] == found["_regret-random"][:3]  # before the switch
    assert len({found[criterion] for criterion in ("sign", "random", "nystrom")}) == 3
    assert gssbo_runs.subset_size(6) < 130
    assert found["sign-over-random"] == pytest.approx(found["sign"] / found["random"])
    assert found["GP-UCB"] > found["_regret-GP-UCB"][0][1] > 0.0  # from the suite
    kept = gssbo_runs.kept(0, trials=60, size=40)
    assert kept["random-expected"] == pytest.approx(19 / 39)
    assert all(0.0 <= kept[f"free-{criterion}"] <= 1.0 for criterion in ("sign", "nystrom"))


def test_embeddings_are_those_of_their_papers():
    rng = np.random.default_rng(0)
    sketch = gssbo_runs.embedding("HeSBO", 40, 5, rng)
    np.testing.assert_array_equal(np.abs(sketch).sum(axis=1), np.ones(40))  # one coordinate each, and a sign
    assert set(np.unique(sketch)) == {-1.0, 0.0, 1.0}
    assert np.linalg.matrix_rank(gssbo_runs.embedding("REMBO", 40, 5, rng)) == 5


def test_growth_is_an_exponent():
    assert gssbo_runs.growth(8.0, 4.0) == pytest.approx(1.0)
    assert gssbo_runs.growth(8.0, 8.0) == pytest.approx(0.0)


def test_times_are_summed_over_a_run():
    assert gssbo_runs.over_a_run([2.0] * len(gssbo_runs.SIZES)) == pytest.approx(2.0 * 980)
    rising = [float(n) for n in gssbo_runs.SIZES]
    assert gssbo_runs.over_a_run(rising, most=50) < 51 * 980 < gssbo_runs.over_a_run(rising)


def test_runs_are_resumed_and_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "EXPERIMENTS", TOY)

    def record(path, function, todo, jobs):
        with path.open("a") as file:
            file.writelines(json.dumps(function(*arguments)) + "\n" for arguments in todo)

    monkeypatch.setattr(runner.processes, "record", record)
    path = tmp_path / "papers.jsonl"
    runner.run(path, ["toy"], 1, 1, None)
    assert len(load(path)) == 2
    runner.run(path, ["toy"], None, 1, None)
    assert [(row["case"], row["seed"]) for row in load(path)] == [
        ("a=1", 0), ("a=2", 0), ("a=1", 1), ("a=2", 1), ("a=1", 2), ("a=2", 2),
    ]  # fmt: skip
    tables.write_report(path, TOY)
    text = path.with_suffix(".md").read_text()
    assert "| case | seeds | size | holds |" in text
    assert "| a=2 | 3 | 4 (2 - 6) | 67% |" in text
    monkeypatch.setattr(places, "RESULTS", tmp_path)
    places._paper.cache_clear()
    try:
        assert [places.paper("toy", "a=2", "size", *how) for how in ((), ("max",), ("min",))] == ["4", "6", "2"]
        assert places.paper("toy", "a=2", "holds") == "67%"
        assert "| a = 1 | 2 | 3 |" in places.paper_table("toy", "a=1", "size", "size:max")
        assert "a = 2" not in places.paper_table("toy", "a=1", "size")
    finally:
        places._paper.cache_clear()


PLOTS = ("starvation.svg", "regret-ratios.svg", "cumulative-regret.svg", "gssbo-time.svg")


def test_the_plots_are_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(plots, "IMAGES", tmp_path)
    plots.draw(load(places.RESULTS / "papers.jsonl"))
    assert all((tmp_path / name).stat().st_size > 10_000 for name in PLOTS)
