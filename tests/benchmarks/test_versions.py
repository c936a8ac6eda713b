"""The comparison of two versions: its problems have the minima they claim, its table the right figures."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import optuna
import pytest
from scipy.stats import binomtest

from benchmarks.compare import environments, versions, versions_report
from benchmarks.compare.versions import Side, Worker
from benchmarks.compare.versions_report import Pair
from benchmarks.problems import families, long, rough
from benchmarks.problems.families import FAMILIES

ROOT = Path(__file__).parents[2]
AT_ORIGIN = {
    "skewed-rastrigin": rough.skewed_rastrigin(6, 1),
    "skewed-schaffer": rough.skewed_schaffer(6, 1, 0.5),
    "ill-conditioned-schaffer": rough.skewed_schaffer(6, 1, 1.5),
    "step-ellipsoid": rough.step_ellipsoid(6, 1),
    "schwefel": rough.schwefel,
    "ripples": rough.ripples,
    "stairs": rough.stairs,
    "katsuura": rough.katsuura,
    "peaks": long.peaks(5, 3),
}
PROBLEMS = {f"{f}, {n}": maker for f, family in FAMILIES.items() for n, maker in family.problems.items()}


@pytest.mark.parametrize("name", AT_ORIGIN)
def test_rough_functions_are_smallest_at_the_origin(name):
    function, d = AT_ORIGIN[name], 5 if name == "peaks" else 6
    assert function(np.zeros(d)) == pytest.approx(0.0, abs=1e-9)
    rng = np.random.default_rng(0)
    for scale in (0.2, 1.0, 5.0):
        assert all(function(scale * rng.uniform(-1.0, 1.0, d)) > 1e-9 for _ in range(100))


@pytest.mark.parametrize("name", [n for n in AT_ORIGIN if n not in ("peaks", "stairs", "step-ellipsoid")])
def test_rough_functions_have_several_local_minima_along_a_line(name):
    direction = np.linspace(1.0, 0.7, 6)
    along = [AT_ORIGIN[name](t * direction) for t in np.linspace(-4.0, 4.0, 3000)]
    assert np.sum(np.diff(np.sign(np.diff(along))) > 0) >= 2


def test_steps_are_flat_between_their_edges():
    along = {AT_ORIGIN["step-ellipsoid"](np.full(6, t)) for t in np.linspace(2.0, 2.2, 200)}
    assert 1 < len(along) < 20


def test_transformations_keep_the_origin_and_the_order():
    x = np.linspace(-3.0, 3.0, 61)
    for change in (rough.oscillated, lambda x: np.array([rough.skewed(np.array([0.0, v]), 0.2)[1] for v in x])):
        y = change(x)
        assert y[30] == pytest.approx(0.0, abs=1e-9)
        assert np.all(np.diff(y) > 0.0)


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_value_is_below_the_minimum_and_instances_are_fixed(name):
    first, again = PROBLEMS[name](1), PROBLEMS[name](1)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    if name.startswith("real"):  # models are trained
        assert first.value(first.ask(study)) == again.function(study.trials[0].params) >= 0.0
        return
    for _ in range(10):
        trial = first.ask(study)
        value = first.value(trial)
        assert value > first.minimum - 1e-12
        if trial.params.keys() == dict(first.space).keys():
            assert again.function(trial.params) == value


def test_instances_differ_between_seeds():
    point = {f"x{i}": 0.5 for i in range(10)}
    assert len({FAMILIES["rough"].problems["rastrigin-10-rotated"](seed).function(point) for seed in range(4)}) == 4


@pytest.mark.parametrize("reals", [0, 2])
def test_a_lattice_contains_its_minimum(reals):
    problem = families.lattice(lambda x: float(np.sum(x**2)), 4, -5, 5, 0, reals)
    rng = np.random.default_rng(3000)
    center = rng.integers(-3, 4, 4).astype(float)
    center[4 - reals :] = rng.uniform(-3, 3, reals)
    params = {n: int(c) if float(c).is_integer() else c for n, c in zip(problem.space, center, strict=True)}
    assert problem.function(params) == 0.0


def test_outcomes_of_0_and_1_have_the_chance_of_their_point():
    problem = families.successes(0)
    center = np.random.default_rng(4000).integers(2, 13, 2)
    best = dict(zip("ab", map(int, center), strict=True))
    assert problem.function(best) == pytest.approx(problem.minimum) == pytest.approx(0.05)
    params, rng = {"a": int(center[0]) + 2, "b": int(center[1])}, np.random.default_rng(0)
    outcomes = [problem.told(params, rng) for _ in range(4000)]
    assert set(outcomes) == {0.0, 1.0}
    assert np.mean(outcomes) == pytest.approx(problem.function(params), abs=0.03)


def test_other_chances_are_highest_at_their_center():
    for make, names, seed in ((families.successes_3, "abc", 4100), (families.successes_5, "abcde", 4200)):
        center = np.random.default_rng(seed).uniform(0.2, 0.8, len(names))
        problem = make(0)
        assert problem.function(dict(zip(names, center, strict=True))) == pytest.approx(problem.minimum)
        assert 0.05 < problem.function(dict.fromkeys(names, 0.0)) < 1.0


def test_heavy_tails_are_told_but_not_judged():
    problem = FAMILIES["noisy"].problems["branin-2-heavy-tails"](0)
    rng, params = np.random.default_rng(0), {"x0": 1.0, "x1": 2.0}
    told = np.array([problem.told(params, rng) for _ in range(4000)]) - problem.function(params)
    assert np.median(told) == pytest.approx(0.0, abs=1.0)
    assert np.mean(np.abs(told) > 50.0) > 0.005  # of a normal distribution: 6e-7
    assert problem.recommended


def test_the_problems_are_independent_of_the_numbo_that_is_installed():
    code = "import sys, benchmarks.problems.families, benchmarks.compare.runner; print('numbo' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# -- the table ---------------------------------------------------------------------------------------------------------


def row(regret, spread=1.0, ask=10.0, extra=0):
    best = {"50": 1.0, "100": regret}
    figures = {"best": best, "spread": spread, "extra": extra, "deterministic": True}
    return figures | {"ask_ms_median": ask, "ask_ms_mean": 2.0 * ask}


def rows(*regrets, family="smooth"):
    """Made-up rows: for each problem, the regrets before and now of each seed."""
    return {
        Pair(family, f"p{i}", seed, 100): {"before": row(before), "now": row(now, ask=20.0, extra=i)}
        for i, seeds in enumerate(regrets)
        for seed, (before, now) in enumerate(seeds)
    }


def test_log_ratios_have_a_floor_and_ties():
    ratio = lambda a, b, spread=1.0: versions_report.log_ratio(row(a, spread), row(b, spread), 100, 1e-9)  # noqa: E731
    assert ratio(1.0, np.e) == pytest.approx(1.0)
    assert ratio(1.0, 1.0 + 1e-10) == 0.0
    assert ratio(1e-12, 0.0) == ratio(-1e-15, 0.0) == 0.0
    assert ratio(1.0, 0.0, spread=100.0) == pytest.approx(np.log(1e-7))
    assert ratio(1.0, None) is None
    assert versions_report.log_ratio({"error": "died"}, row(1.0), 100, 1e-9) is None


def test_a_summary_of_made_up_runs():
    found = rows([(1.0, 2.0)] * 3, [(1.0, 4.0), (1.0, 0.5), (1.0, 4.0)], [(1.0, 1.0)] * 3, [(2.0, 1.0)] * 3)
    s = versions_report.summary(versions_report.ratios(found, 100, 1e-9))
    assert (s.problems, s.wins, s.ties, s.losses) == (4, 1, 1, 2)
    assert s.mean == pytest.approx(np.log(2.0) * (1.0 + 1.0 + 0.0 - 1.0) / 4.0)
    assert s.low < s.mean < s.high
    assert s.p == pytest.approx(binomtest(5, 9).pvalue)
    assert not s.loses


def test_equal_runs_tie_and_a_single_problem_has_no_spread():
    s = versions_report.summary(versions_report.ratios(rows([(1.0, 1.0)] * 2), 100, 1e-9))
    assert (s.wins, s.ties, s.losses, s.mean, s.low, s.high, s.p) == (0, 1, 0, 0.0, 0.0, 0.0, 1.0)


def test_the_report_names_what_loses_and_what_failed(tmp_path, capsys):
    found = rows(*[[(1.0, 2.0), (1.0, 3.0)]] * 5)
    found |= rows(*[[(1.0, 1.0), (1.0, 1.0)]] * 5, family="rough")
    found[Pair("rough", "p0", 1, 100)]["now"] = {"error": "the process died"}
    told = versions_report.write_report(tmp_path / "compare-x.md", {"before": "abc", "now": "def"}, found)
    assert told == "Beyond chance, these lose: **smooth**. None wins beyond chance."
    text = (tmp_path / "compare-x.md").read_text()
    assert (
        "| smooth | 100 | 5 | 0 | 0 | 5 | +0.896 | +0.896 to +0.896 | 0.00195 | 2.00 | 2.00 | 0 | 4 | 0 | 0 |" in text
    )
    assert "| rough | 100 | 5 | 0 | 5 | 0 | +0.000 | +0.000 to +0.000 | 1 | 2.00 | 2.00 | 0 | 4 | 0 | 1 |" in text
    assert "| p0 | 1 | 2.5 | 0 | 0 | 2 | 1 | 3 | 0 | 0 |" in text
    assert "| p0 | 1 | 1 | 0 | 1 | 0 | 1 | 1 | 0 | 1 |" in text


# -- runs --------------------------------------------------------------------------------------------------------------


def test_seeds_vary_slowest_and_quick_runs_are_shorter():
    pairs = versions.chosen(["long", "smooth"], False, None)
    assert [p.seed for p in pairs] == sorted(p.seed for p in pairs)
    assert {p.trials for p in pairs} == {1000, 300}
    assert {p.seed for p in pairs if p.family == "long"} == {0, 1, 2}
    quick = versions.chosen(["long", "smooth"], True, None)
    assert {p.trials for p in quick} == {400, 100}
    assert {p.seed for p in quick if p.family == "long"} == {0}


def test_results_belong_to_the_files_that_made_them(tmp_path):
    git = lambda *words: subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)  # noqa: E731
    git("init")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("1")
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-m", "first")
    clean = environments.state(tmp_path, ("src",))
    (tmp_path / "notes.md").write_text("of no consequence")
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-m", "second")
    assert environments.state(tmp_path, ("src",)) == clean
    (tmp_path / "src" / "b.py").write_text("2")
    added = environments.state(tmp_path, ("src",))
    (tmp_path / "src" / "a.py").write_text("3")
    changed = environments.state(tmp_path, ("src",))
    assert len({clean, added, changed}) == 3
    assert added.startswith(f"{clean}+")


def side(sampler="GSSBO", **settings):
    return Side(Path(sys.executable), ROOT, "a state", sampler, settings)


def test_a_checkout_against_itself_is_equal_to_the_last_digit(monkeypatch):
    monkeypatch.setitem(versions.VARIABLES, "NUMBO_COMPARE_WARM", "0")
    found = []
    pairs = [Pair("smooth", "branin-2", 3, 50), Pair("rough", "no such problem", 0, 50)]
    monkeypatch.setitem(FAMILIES, "rough", dataclasses.replace(FAMILIES["rough"], problems={"no such problem": None}))
    hellos = versions.measure({"before": side(), "now": side()}, pairs, 1, found.append, "itself")
    assert hellos[0] == hellos[1]
    assert versions._differences(*hellos) == ""
    before, now = (next(r for r in found if r["problem"] == "branin-2" and r["side"] == s) for s in versions.SIDES)
    assert before["best"] == now["best"]
    assert set(now["best"]) == {"50"}
    assert now["extra"] == before["extra"] == 0
    assert now["ask_ms_mean"] > 0.0
    assert before["first"] != now["first"]
    assert ["KeyError" in r["error"] for r in found if r["family"] == "rough"] == [True, True]
    json.dumps(found)


def test_a_process_that_dies_is_reported_and_replaced(monkeypatch):
    monkeypatch.setitem(versions.VARIABLES, "NUMBO_COMPARE_WARM", "0")
    worker = Worker(side())
    try:
        worker.start()
        worker.process.kill()
        pair = Pair("noisy", "successes-grid", 0, 50)
        assert worker.run(pair)["error"].startswith("the process died with exit code -9")
        found = worker.run(pair)
        assert 0.0 <= found["best"]["50"] <= 0.95
        assert found["extra"] > 0
        assert not found["deterministic"]
    finally:
        worker.stop()


def test_numbo_from_elsewhere_is_refused(tmp_path):
    worker = Worker(dataclasses.replace(side(), root=tmp_path))
    assert "numbo should come from" in worker.run(Pair("smooth", "branin-2", 0, 50))["error"]
    assert worker.process is None
