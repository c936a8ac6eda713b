"""The benchmark on COCO's noiseless functions: what is recorded of a run, and what is made of it."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from benchmarks.compare import bbob, bbob_report
from benchmarks.compare.bbob import summary
from benchmarks.compare.bbob_report import expected_time, longest, median_at, middle, ratio, reached, run_times
from benchmarks.problems.bbob import (
    CHECKPOINTS,
    FUNCTIONS,
    GROUPS,
    TARGETS,
    TIMED,
    problem,
    recorded_medians,
    recorded_times,
)


def row(best, budget=100, **changed):
    """A recorded run on function 1 in 10 dimensions, of which ``best`` values are given."""
    names = {"sampler": "GSSBO", "dimension": 10, "function": 1, "instance": 1, "ask_ms": 1.0}
    return names | summary(best, 10, budget) | changed


def test_recorded_times_are_those_of_two_algorithms_on_all_functions():
    times = recorded_times()
    assert set(times) == {(a, d, f) for a in ("lq-CMA-ES", "CMA-ES") for d in (10, 20, 40) for f in FUNCTIONS}
    assert list(times["lq-CMA-ES", 20, 8].values()) == [2855, 5419, 6060, 6222, 6328, 6556, 6726]
    assert times["CMA-ES", 10, 1][10.0] == 79.0
    assert math.isinf(times["lq-CMA-ES", 20, 22][0.1])
    assert all(set(found) == set(TIMED) for found in times.values())


def test_the_table_of_targets_counts_functions_beside_their_recorded_times(monkeypatch):
    known = {("lq-CMA-ES", 10, f): dict.fromkeys(TIMED, time) for f, time in [(1, 10.0), (2, 40.0), (3, 400.0)]}
    known["lq-CMA-ES", 10, 4] = dict.fromkeys(TIMED, math.inf)
    monkeypatch.setattr(bbob_report, "recorded_times", lambda: known)
    good = [*[99.0] * 11, 1e-9]  # reaches all targets after 12 evaluations
    rows = [row(good, function=f) for f in (1, 2, 3, 4)]
    lines = bbob_report.target_table(rows, 10)
    assert len(lines) == 2 + len(TIMED)
    # 1.2, 0.3 and 0.03 times as many; the last recorded one is beyond a run of 100
    assert lines[2] == "| 10 | 3 | 3 | 3 | 2 | 2 | 1.20 |"
    never = [row([99.0] * 100, function=f) for f in (1, 2, 3, 4)]
    assert bbob_report.target_table(never, 10)[2] == "| 10 | 3 | 0 | 0 | 2 | 0 | inf |"


def test_recorded_medians_are_of_all_functions():
    medians = recorded_medians()
    assert [medians["DTS-CMA-ES", 10, 1, n] for n in (100, 250, 500)] == pytest.approx([9.8, 0.35, 0.038], rel=0.02)
    for name, dimension, evaluations in {(a, d, n) for a, d, _, n in medians}:
        assert all((name, dimension, f, evaluations) in medians for f in FUNCTIONS)


def test_groups_share_the_functions():
    assert [f for group in GROUPS.values() for f in group] == list(FUNCTIONS)


def test_a_summary_has_first_hits_and_the_best_values_at_multiples_of_the_dimension():
    best = [2000.0, 1000.0, 50.0, *[9.0] * 21, 0.5, *[0.25] * 30]
    found = summary(best, 1, 55)
    assert found["hits"] == [2, 3, 4, 25, None, None, None, None, None]
    assert found["best"] == {"10": 9.0, "25": 0.5, "50": 0.25}
    assert found["evaluations"] == found["budget"] == 55
    assert found["end"] == 0.25


def test_a_run_that_has_reached_all_targets_keeps_its_last_value():
    found = summary([5.0, 1e-9], 1, 30)
    assert found["hits"] == [1, 1, 1, *[2] * 6]
    assert found["best"] == {str(n): 1e-9 for n in CHECKPOINTS}
    assert found["evaluations"] == 2


def test_expected_times_count_all_evaluations_by_successes():
    runs = [row([50.0] * 9 + [5.0]), row([50.0] * 100), row([50.0] * 19 + [5.0] + [1.0])]
    assert expected_time(runs, 10.0) == (10 + 100 + 20) / 2
    assert expected_time(runs, 1.0) == 10 + 100 + 21
    assert expected_time(runs, 100.0) == 1.0
    assert math.isinf(expected_time(runs, 0.1))


def test_ratios_of_times_that_are_not_known():
    assert ratio(50.0, 100.0) == 0.5
    assert ratio(50.0, math.inf) == 0.0
    assert math.isinf(ratio(math.inf, 100.0))
    assert math.isnan(ratio(math.inf, math.inf))
    assert middle([math.nan, 0.5, math.inf, 0.25]) == 0.5
    assert math.isinf(middle([0.5, math.inf]))
    assert math.isnan(middle([math.nan]))


def test_a_median_needs_runs_of_that_length():
    runs = [row([3.0] * 100), row([1.0] * 100), row([2.0] * 250, budget=250)]
    assert median_at(runs, 100) == 2.0
    assert median_at(runs, 250) is None
    assert median_at([*runs[2:], row([5.0, 1e-9])], 250) == pytest.approx(1.0)


def test_the_longest_run_counts_or_else_one_that_has_reached_all_targets():
    short, long = row([3.0] * 20, budget=20), row([3.0] * 50, budget=50)
    other = row([3.0] * 20, budget=20, instance=2)
    ended = row([1e-9], budget=10, instance=2)
    found = longest([long, ended, short, other])
    assert sorted(r["budget"] for r in found) == [10, 50]


def test_steps_of_a_distribution_count_what_is_not_reached():
    x, y = reached([30.0, math.inf, 10.0, 500.0], 100)
    assert x == [1.0, 10.0, 30.0, 100]
    assert y == [0.0, 0.25, 0.5, 0.5]
    times = run_times([row([5.0] * 4 + [0.5]), row([5.0], function=9)], "GSSBO", range(1, 6))
    assert times == [1.0, 5.0, *[math.inf] * 5]


class Halving:
    """A search that comes nearer to the origin."""

    def __init__(self, names):
        self.names, self.x, self.told = names, 4.0, []

    def ask(self):
        self.x /= 2.0
        return dict.fromkeys(self.names, self.x)

    def tell(self, values):
        self.told += values


def _sphere(function, dimension, instance):
    return lambda x: 7.0 + float(x @ x), 7.0


def test_a_run_ends_with_the_last_target(monkeypatch):
    made = []
    monkeypatch.setattr(bbob, "problem", _sphere)
    monkeypatch.setattr(bbob, "search", lambda sampler, space, seed: made.append(Halving(list(space))) or made[-1])
    found = bbob.run_one("GSSBO", 2, 3, 4, 50)
    gaps = np.array(made[0].told) - 7.0
    assert len(gaps) == found["evaluations"] < 50
    assert gaps[-1] <= 1e-7 < gaps[-2]
    assert found["hits"] == [int(np.argmax(gaps <= target)) + 1 for target in TARGETS]
    assert (found["function"], found["instance"], found["budget"]) == (3, 4, 50)


@pytest.mark.parametrize("sampler", ["GSSBO", "Random"])
def test_samplers_are_asked_in_the_box(monkeypatch, sampler):
    points = []

    def kept(function, dimension, instance):
        return lambda x: points.append(x) or float(np.sum((x - 1.5) ** 2)), 0.0

    monkeypatch.setattr(bbob, "problem", kept)
    found = bbob.run_one(sampler, 3, 1, 1, 12)
    assert np.shape(points) == (12, 3)
    assert 1.0 < np.abs(points).max() <= 5.0
    assert found["end"] == pytest.approx(min(float(np.sum((x - 1.5) ** 2)) for x in points), rel=1e-5)


def test_only_missing_runs_are_made(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(bbob.processes, "record", lambda path, one, todo, jobs, **also: asked.extend(todo))
    path = tmp_path / "bbob.jsonl"
    rows = [row([3.0] * 100), row([1e-9], budget=20, instance=2), row([3.0] * 50, budget=50, instance=3)]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows) + '{"sampler": "GSSBO", "dim')
    bbob.run(path, bbob.jobs(["GSSBO"], [10], [1], 4, 100), 1)
    assert asked == [("GSSBO", 10, 1, 3, 100), ("GSSBO", 10, 1, 4, 100)]


def test_the_report_sets_times_and_medians_beside_those_recorded(tmp_path):
    path = tmp_path / "bbob.jsonl"
    rows = [row([50.0] * 32 + [5.0] * 67), row([50.0] * 100, instance=2)]
    rows += [row([50.0] * 100, function=8, sampler="Random"), row([2.0] * 10, dimension=2)]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    bbob_report.write_report(path)
    lines = path.with_suffix(".md").read_text().splitlines()
    assert "| 1 | 33 | 79 | 133 (1/2) | 4.03 | 1.68 |  |  |  |" in lines
    assert "| 8 | 359 | 619 |  |  |  | - (0/1) | inf | inf |" in lines
    assert "| 1 | 10 (1/1) |" not in lines
    assert "| 1 | 1 (1/1) |" in lines  # nothing is recorded in two dimensions
    assert any(line.startswith("| 1 | 9.8 / 0.35 / 0.038 / 0.00095 / - / - |") for line in lines)
    assert any(line.endswith("| 28 / - / - / - / - / - |  |") for line in lines)
    assert path.with_name("bbob-2.png").exists()
    assert path.with_name("bbob-10.png").exists()


def test_an_optimum_is_what_coco_says():
    pytest.importorskip("cocoex")
    value, smallest = problem(1, 10, 1)
    assert smallest == 79.48
    rng = np.random.default_rng(0)
    for function in FUNCTIONS:
        value, smallest = problem(function, 5, 3)
        assert all(value(x) > smallest for x in rng.uniform(-5.0, 5.0, (50, 5)))


def test_coco_functions_are_searched():
    pytest.importorskip("cocoex")
    found = bbob.run_one("Random", 10, 1, 1, 300)
    assert found["hits"][0] == 1
    assert 1.0 < found["end"] < found["best"]["100"] < 200.0
