"""The harness measures what it says, resumes, and survives a torn results file."""

from __future__ import annotations

import dataclasses
import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import optuna
import pytest
from tests.helpers import MOSTLY, over_seeds, seeded

from benchmarks import storage
from benchmarks.compare import pairs, ranks, report, runner
from benchmarks.problems import functions, long, noisy
from benchmarks.problems.mixed import categories
from benchmarks.problems.suites import COMPARED, PROBLEMS, SUITES, make

ROOT = Path(__file__).parents[2]
OPTIMA = {
    "eggholder-2": np.array([512.0, 404.2319]),
    "hartmann-6": np.array([0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573]),
    "levy-20": np.ones(20),
    "powell-48": np.zeros(48),
    "rastrigin-100": np.zeros(100),
    "powell-20": np.zeros(20),
    "rastrigin-20": np.zeros(20),
    "rosenbrock-8": np.ones(8),
    "branin-2": np.array([np.pi, 2.275]),
    "schwefel-5": np.full(5, 420.968746),
    "styblinski-tang-12": np.full(12, -2.903534),
    "beale-2": np.array([3.0, 0.5]),
    "goldstein-price-2": np.array([0.0, -1.0]),
    "shekel-4": np.array([4.000747, 3.99951, 4.00075, 3.99951]),
    "rosenbrock-3": np.ones(3),
    "trid-6": np.array([6.0, 10.0, 12.0, 12.0, 10.0, 6.0]),
}
#: Models are trained there, for an error that cannot be negative.
TRAINED = ("diabetes-4", "pipeline-wine", "pipeline-cancer", "pipeline-digits", "regression", "network")
TRAINED += ("diabetes-4-once", "sgd-digits", "weighted-svm-66")
TRAINED += ("svm-wine", "svm-digits", "boosting-diabetes", "forest-cancer", "network-wine", "elastic-diabetes")
EARLY = (*SUITES["early"], *SUITES["early-aside"])
TRAINED += EARLY
#: Functions of long runs, whose minimum is 0 at the origin.
AT_ORIGIN = [
    long.ill_conditioned,
    long.discus,
    long.cigar,
    long.different_powers,
    long.sharp_ridge,
    long.steps,
    long.schaffer_f7,
    long.griewank_rosenbrock,
    long.two_funnels,
    long.weierstrass,
    long.peaks(10, 0),
]
#: Of the programs that branch, with known optima.
BRANCHING_OPTIMA = {
    "jenatton": {"b1": 0, "b2": 0, "x4": 0.0, "r8": 0.0},
    "layers": {"layers": 4}
    | {f"width_{i}": 2 ** (7 - i) for i in range(4)}
    | {f"dropout_{i}": 0.1 * (i + 1) for i in range(4)},
    "training": {"optimizer": "sgd", "rate": 0.1, "momentum": 0.9, "nesterov": True}
    | {"schedule": "cosine", "warmup": 17, "regulariser": "decay", "decay": 1e-4},
    "stages": {f"heat_{i}": 0.2 + 0.12 * i for i in range(5)} | {f"time_{i}": 0.7 - 0.1 * i for i in range(5)},
}
MIXED_OPTIMA = {
    "ackley-mixed-13": {f"s{i}": ["off", "on"][b] for i, b in enumerate([1, 0, 0, 1, 1, 0, 1, 0, 1, 1])}
    | {"x0": 0.31, "x1": -0.42, "x2": 0.13},
    "training-12": {
        "rate": 10.0 ** (-3.1 + 0.5 * 3 * np.log10(2.0)),
        "decay": 1e-4,
        "dropout": 0.2,
        "momentum": 0.9,
        "smoothing": 0.1,
        "layers": 4,
        "width": 512,
        "batch": 512,
        "warmup": 5,
        "optimizer": "adam",
        "activation": "gelu",
        "schedule": "cosine",
    },
}


def drawn(problem, count):
    """Parameters of random trials."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    return [study.ask(fixed_distributions=dict(problem.space)).params for _ in range(count)]


@pytest.mark.parametrize("name", OPTIMA)
def test_minima_are_where_the_literature_has_them(name):
    problem = make(name)
    assert problem.function(dict(zip(problem.space, OPTIMA[name], strict=True))) == pytest.approx(
        problem.minimum, abs=2e-4
    )


@pytest.mark.parametrize("name", MIXED_OPTIMA)
def test_minima_of_mixed_problems(name):
    assert make(name).function(MIXED_OPTIMA[name]) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_value_is_below_the_minimum(name):
    problem = make(name)
    count = 20 if name not in TRAINED else 1 if name in EARLY or problem.recommended else 3
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    assert all(problem.value(problem.ask(study)) > problem.minimum - 1e-12 for _ in range(count))


@pytest.mark.parametrize("name", BRANCHING_OPTIMA)
def test_minima_of_programs(name):
    problem = make(name)
    assert problem.value(optuna.trial.FixedTrial(BRANCHING_OPTIMA[name])) == pytest.approx(problem.minimum, abs=1e-9)


def test_the_minimum_of_pairwise_choices():
    problem = categories(3, 4, 3)
    choices = [f"v{j}" for j in range(3)]
    values = [problem.function(dict(zip(problem.space, c, strict=True))) for c in itertools.product(choices, repeat=4)]
    assert min(values) == pytest.approx(problem.minimum)


@pytest.mark.parametrize("function", [functions.salomon, functions.alpine, functions.schaffer])
def test_ripples_around_a_minimum_at_the_origin(function):
    assert function(np.zeros(6)) == 0.0
    along = [function(np.full(6, r)) for r in np.linspace(0.01, 9.0, 2000)]
    assert min(along) > 0.0
    assert np.sum(np.diff(np.sign(np.diff(along))) > 0) >= 2  # local minima on the way


@pytest.mark.parametrize("function", AT_ORIGIN)
def test_functions_of_long_runs_are_smallest_at_the_origin(function):
    assert function(np.zeros(10)) == pytest.approx(0.0, abs=1e-9)
    rng = np.random.default_rng(0)
    for scale in (0.2, 1.0, 5.0):
        assert all(function(scale * rng.uniform(-1.0, 1.0, 10)) > 1e-9 for _ in range(100))


def test_two_funnels_are_about_as_deep_and_the_other_one_is_wider():
    across = np.array([long.two_funnels(np.full(20, t)) for t in range(-8, 5)])  # where the cosines vanish
    bottoms = np.flatnonzero((across[1:-1] < across[:-2]) & (across[1:-1] < across[2:])) - 7
    assert bottoms.tolist() == [-5, 0]
    assert 0.0 < across[3] < 0.1 * across.max()


def test_a_rover_pays_for_obstacles_and_for_missing_its_ends():
    straight = np.linspace(0.05, 0.95, 30).repeat(2)
    around = np.concatenate([[0.05, 0.05], np.tile([0.05, 0.95], 14), [0.95, 0.95]])
    assert long.rover(straight + np.where(np.arange(60) < 2, 0.04, 0.0)) > long.rover(straight) + 0.5
    assert long.rover(straight) > 1.0
    assert long.rover(around) > 0.05 * 1.8


def test_a_cart_that_does_nothing_drops_its_poles_sooner_than_some():
    rng = np.random.default_rng(0)
    others = [long.two_poles(rng.uniform(-1.0, 1.0, 40)) for _ in range(100)]
    assert min(others) < long.two_poles(np.zeros(40)) - 0.05
    assert 1.0 < min(others) < max(others) < 2.0


def test_problems_that_were_put_aside_are_a_third():
    for name in ("few", "early", "long"):
        aside = len(SUITES[f"{name}-aside"])
        assert 3 * aside >= len(SUITES[name]) + aside


def test_a_repeat_drawn_at_random_is_what_a_sampler_is_told(monkeypatch):
    seen = []
    problem = make("hpobench-car-once")
    told = lambda params, rng: seen.append(problem.told(params, rng)) or seen[-1]  # noqa: E731
    monkeypatch.setattr(runner, "make", lambda name: dataclasses.replace(problem, told=told))
    row = runner.run_one("hpobench-car-once", "Random", 0, 10)
    assert len(seen) == 10
    assert row["best"]["10"] >= 0.0


def test_ripples_are_in_no_rank():
    others = {"ripples", "failures", "branching", "noisy", "few", "few-aside", "early", "early-aside"}
    others |= {"long", "long-aside", "noisy-aside"}
    assert set(SUITES) - set(COMPARED) == others
    assert sum(map(len, COMPARED.values())) == 30


def test_suites_are_disjoint_and_known():
    names = [p for suite in SUITES.values() for p in suite]
    assert len(names) == len(set(names))
    assert set(names) == set(PROBLEMS)


def test_a_run_is_recorded_once_and_resumed(tmp_path):
    command = [sys.executable, "-c"]
    code = f"""
import pathlib
from benchmarks.compare import runner
if __name__ == "__main__":
    runner.run(pathlib.Path({str(tmp_path / "r.jsonl")!r}), ["eggholder-2"], ["Random", "GSSBO"], 1, 100, 2)
"""
    script = tmp_path / "script.py"
    script.write_text(code)
    for _ in range(2):
        subprocess.run([command[0], str(script)], cwd=ROOT, env=_environment(), check=True, capture_output=True)
        rows = storage.load(tmp_path / "r.jsonl")
        assert sorted((r["sampler"], r["seed"]) for r in rows) == [("GSSBO", 0), ("Random", 0)]
    with (tmp_path / "r.jsonl").open("a") as file:
        file.write('{"problem": "egg')
    assert len(storage.load(tmp_path / "r.jsonl")) == 2
    report.write_report(tmp_path, "r")
    text = (tmp_path / "r.md").read_text()
    assert "eggholder-2 | 100" in text
    assert "## Pairs of runs" in text
    assert "| Random | 100 | 1 | 1 | " in text
    assert (tmp_path / "r.png").stat().st_size > 5000


def _environment():
    import os

    return os.environ | {"PYTHONPATH": str(ROOT)}


def test_a_run_that_fails_is_reported_and_leaves_the_others_alone(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(f"""
import pathlib
from benchmarks.compare import runner
from benchmarks.samplers import registry
registry.SAMPLERS["broken"] = lambda seed: 1 / 0
if __name__ == "__main__":
    runner.run(pathlib.Path({str(tmp_path / "r.jsonl")!r}), ["eggholder-2"], ["broken", "Random"], 1, 100, 1)
""")
    done = subprocess.run([sys.executable, str(script)], cwd=ROOT, env=_environment(), check=True, capture_output=True)
    assert b"('eggholder-2', 'broken', 0, 100) failed: ZeroDivisionError" in done.stdout + done.stderr
    assert [r["sampler"] for r in storage.load(tmp_path / "r.jsonl")] == ["Random"]


def test_figures_of_a_run():
    row = json.loads(json.dumps(runner.run_one("hartmann-6", "Random", 3, 100)))
    curve = [v for _, v in row["curve"]]
    assert curve == sorted(curve, reverse=True)
    assert row["best"]["100"] == curve[-1] > 0
    assert row["mean_regret"]["100"] >= row["best"]["100"]
    assert row["ask_ms"]["100"] > 0
    assert runner.run_one("hartmann-6", "Random", 3, 100)["best"] == row["best"]


def test_the_best_regret_of_a_noisy_problem_is_that_of_the_best_told():
    row = runner.run_one("hartmann-6-noisy", "Random", 0, 100)
    curve = [v for _, v in row["curve"]]
    assert curve != sorted(curve, reverse=True)
    assert min(curve) > 0


def test_mean_ranks():
    def runs(**bests):
        return {("levy-20", s): [{"best": {"100": v}, "trials": 100} for v in values] for s, values in bests.items()}

    table = ranks.mean_ranks(runs(a=[1.0, 2.0], b=[3.0], c=[3.0], d=[]), ["a", "b", "c", "d"], ["levy-20"])
    assert table.splitlines()[2:] == [
        "| 100 | a | 1 | 1.00 | 1.00 - 1.00 | 1 | - |",
        "| 100 | b | 1 | 2.50 | 2.50 - 2.50 | 2.5 | levy-20 |",
        "| 100 | c | 1 | 2.50 | 2.50 - 2.50 | 2.5 | levy-20 |",
    ]


def test_ranks_on_the_problems_that_all_finished():
    row = {"best": {"100": 1.0}, "trials": 100}
    runs = {("levy-20", "a"): [row], ("levy-20", "b"): [row], ("eggholder-2", "a"): [row]}
    problems = ["levy-20", "eggholder-2"]
    assert ranks.mean_ranks(runs, ["a", "b"], problems).splitlines()[2:] == []
    table = ranks.mean_ranks(runs, ["a", "b"], problems, common=True).splitlines()[2:]
    assert [line.split("|")[2:5] for line in table] == [[" a ", " 1 ", " 1.50 "], [" b ", " 1 ", " 1.50 "]]


def test_problems_that_are_looked_at_after_other_numbers_of_trials_are_not_ranked_together():
    late = {"best": {"100": 1.0, "300": 1.0}, "trials": 300}
    soon = {"best": {"10": 1.0, "100": 1.0}, "trials": 300}
    runs = {(problem, s): [row] for problem, row in (("levy-20", late), ("trid-6", soon)) for s in ("a", "b")}
    assert ranks.finished(runs, ["a", "b"], ["levy-20", "trid-6"], 100) == ["a", "b"]
    table = ranks.mean_ranks(runs, ["a", "b"], ["levy-20", "trid-6"]).splitlines()[2:]
    assert [line.split("|")[1] for line in table] == [" 100 ", " 100 "]


def test_pairs_have_the_same_problem_and_seed():
    def some(problem, **by_seed):
        return [
            {"problem": problem, "seed": int(seed[1:]), "best": best, "ask_ms": dict.fromkeys(best, 2e3)}
            for seed, best in by_seed.items()
        ]

    runs = {
        ("levy-20", "a"): some("levy-20", s0={"10": 1.0, "20": 1.0}, s1={"10": 3.0}, s2={"10": 0.0}),
        ("levy-20", "b"): some("levy-20", s0={"10": 2.0, "20": 1.0}, s1={"10": 2.0}, s3={"10": 1.0}),
        ("eggholder-2", "a"): some("eggholder-2", s1={"10": 4.0}),
        ("eggholder-2", "b"): some("eggholder-2", s0={"10": 4.0}, s1={"10": 5.0}),
        ("trid-6", "b"): some("trid-6", s0={"10": 1.0}),
    }
    lines = pairs.table(runs, "a", ["b", "c"]).splitlines()[2:]
    assert lines == ["| b | 10 | 2 | 3 | 2 | 1 | 0 | 2 | 2 |", "| b | 20 | 1 | 1 | 0 | 0 | 1 | 2 | 2 |"]


@pytest.mark.parametrize("level", [1, 10, 30])
def test_noise_is_a_share_of_the_spread(level):
    problem = make(f"branin-2-noise-{level}%")
    values = [problem.function({"x0": x, "x1": y}) for x in np.linspace(-5, 15, 60) for y in np.linspace(-5, 15, 60)]
    assert problem.noise == pytest.approx(level / 100 * np.std(values), rel=0.1)


def test_repeats_of_a_table_are_drawn_around_its_value():
    problem, rng = make("hpobench-vehicle-once"), np.random.default_rng(0)
    params = dict.fromkeys(problem.space, 0)
    told = {problem.told(params, rng) for _ in range(100)}
    assert 2 <= len(told) <= 5
    assert min(told) < problem.function(params) < max(told)


@pytest.mark.parametrize("sampler", ["GSSBO", "Random"])
@over_seeds()
def test_a_recommendation_is_judged_without_noise(sampler):
    row = runner.run_one("branin-2-noise-30%", sampler, seeded(0), 50)
    assert set(row["best"]) == set(row["by_gp"]) == set(row["ask_ms"]) == {"50"}
    assert row["curve"] == [[50, row["best"]["50"]]]
    assert row == row | runner.run_one("branin-2-noise-30%", sampler, seeded(0), 50) | {
        name: row[name] for name in ("seconds", "ask_ms", "ask_seconds")
    }
    problem = make("branin-2-noise-30%")
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seeded(0)))
    rng = np.random.default_rng((seeded(0), 1))
    for _ in range(50):
        trial = study.ask(fixed_distributions=dict(problem.space))
        study.tell(trial.number, problem.function(trial.params) + problem.noise * rng.normal())
    luckiest = problem.function(study.best_params) - problem.minimum
    if sampler == "Random":
        assert row["best"]["50"] == pytest.approx(luckiest)
    else:
        assert 0.5 < row["covered"]["50"] <= 1.0, MOSTLY
    assert row["best"]["50"] >= 0.0


def test_a_report_on_noisy_problems_has_ranks_by_level_and_calibration(tmp_path):
    problems, marks = ["branin-2-noise-30%", "levy-6-noise-1%", "sgd-digits"], ["50", "100"]
    for problem in problems:
        for sampler, regret in (("GSSBO", 1.0), ("Random", 2.0)):
            figures = {name: dict.fromkeys(marks, regret) for name in ("best", "by_gp", "ask_ms")}
            row = {
                "problem": problem,
                "sampler": sampler,
                "seed": 0,
                "trials": 100,
                "curve": [[50, regret], [100, regret]],
            }
            row |= figures | ({"covered": dict.fromkeys(marks, 0.9)} if sampler == "GSSBO" else {})
            with (tmp_path / "some.jsonl").open("a") as file:
                file.write(json.dumps(row) + "\n")
    report.write_report(tmp_path, "some")
    text = (tmp_path / "some.md").read_text()
    for title in ("noise of 1 %", "noise of 30 %", "real"):
        assert f"## Mean rank, {title}\n\n| trials" in text
    spread = noisy.spread(make("branin-2-noise-30%"))
    assert f"| 30 % | 100 | {1.0 / spread:.4f} | {2.0 / spread:.4f} |" in text
    assert "| GSSBO | 0.90 (0.90 - 0.90) | 0.90 (0.90 - 0.90) |" in text


def test_in_a_report_on_some_noisy_problems_these_stand_apart(tmp_path):
    for problem, figure in (("branin-2-noise-30%", "by_gp"), ("eggholder-2", "mean_regret")):
        figures = {name: {"50": 1.0} for name in ("best", "ask_ms", figure)}
        row = {"problem": problem, "sampler": "Random", "seed": 0, "trials": 50, "curve": [[50, 1.0]]}
        with (tmp_path / "some.jsonl").open("a") as file:
            file.write(json.dumps(row | figures) + "\n")
    report.write_report(tmp_path, "some")
    text = (tmp_path / "some.md").read_text()
    assert "## Mean rank, noise of 30 %" in text
    assert "## Mean rank, real" not in text
    assert (
        "## Mean regret of all trials so far\n\n| problem | trials | Random |\n|---|---|---|\n| eggholder-2 | 50"
        in text
    )
