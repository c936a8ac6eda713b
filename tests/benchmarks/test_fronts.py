"""The benchmarks of several objectives."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from benchmarks.compare import biobj, fronts
from benchmarks.compare.searches import mean_ranks
from benchmarks.problems import network
from benchmarks.problems.fronts import (
    APART,
    GAPS,
    PROBLEMS,
    Problem,
    b_flat,
    b_param,
    dtlz,
    islands,
    noisy,
    nondominated,
    problem,
    r_nonsep,
    s_decept,
    s_linear,
    s_multi,
    wfg,
    zdt,
)
from benchmarks.problems.spaces import from_cube

pytest.importorskip("moocore")

FORMULAS = [name for name in PROBLEMS | APART | GAPS if name.startswith(("zdt", "dtlz", "wfg", "islands"))]
KNOWN_FRONTS = [name for name in PROBLEMS | APART | GAPS if name != "network"]


def at(of: Problem, *x: float) -> tuple[float, ...]:
    return of.evaluate(dict(zip(of.space, x, strict=True)))


def cube_volume(Y, far):
    """The volume that rows of Y dominate, counted cell by cell of the grid that their coordinates span."""
    Y = np.minimum(Y, far)
    edges = [np.unique(np.append(column, limit)) for column, limit in zip(Y.T, far, strict=True)]
    corners = np.stack(np.meshgrid(*[e[:-1] for e in edges], indexing="ij"), axis=-1)
    sizes = np.prod(np.stack(np.meshgrid(*[np.diff(e) for e in edges], indexing="ij"), axis=-1), axis=-1)
    counted = (Y[:, None] <= corners.reshape(1, -1, len(far))).all(axis=2).any(axis=0)
    return float(sizes.ravel() @ counted)


def test_formulas_have_the_values_that_are_found_by_hand():
    assert at(zdt(1, 3), 0.25, 0.0, 1.0) == pytest.approx((0.25, 5.5 * (1.0 - math.sqrt(0.25 / 5.5))))
    assert at(zdt(2, 3), 0.5, 0.0, 0.0) == pytest.approx((0.5, 0.75))
    assert at(zdt(3, 3), 0.25, 0.0, 0.0) == pytest.approx((0.25, 0.5 - 0.25))
    assert at(zdt(4, 3), 1.0, 0.5, 0.0) == pytest.approx((1.0, 1.25 - math.sqrt(1.25)))
    assert at(zdt(6, 3), 0.0, 0.0, 1.0) == pytest.approx((1.0, (g := 1.0 + 9.0 * 0.5**0.25) - 1.0 / g))
    assert at(dtlz(1, 3, 4), 0.5, 0.25, 0.5, 0.5) == pytest.approx((0.0625, 0.1875, 0.25))
    assert at(dtlz(1, 2, 2), 0.5, 0.55) == pytest.approx([0.25 * (1.0 + 100.0 * 2.0025)] * 2)
    assert at(dtlz(2, 3, 3), 1.0 / 3.0, 0.5, 1.0) == pytest.approx(
        (1.25 * math.cos(math.pi / 6) * math.sqrt(0.5), 1.25 * math.cos(math.pi / 6) * math.sqrt(0.5), 0.625)
    )
    assert at(dtlz(5, 3, 3), 0.5, 0.9, 0.5) == pytest.approx((0.5, 0.5, math.sqrt(0.5)))
    assert at(dtlz(7, 2, 3), 0.5, 0.0, 0.0) == pytest.approx((0.5, 2.0 * (2.0 - 0.25 * (1.0 - 1.0))))
    place = (1.0 + math.cos(122.0 * math.pi * (0.5 - 0.35 / 0.7)) + 10.0) / 12.0
    angle = 0.5 * math.pi * place
    found = at(wfg(4, 2, 4), 0.0, 0.0, 0.35 * 6, 0.35 * 8)
    assert found == pytest.approx((2.0 * math.sin(angle), 4.0 * math.cos(angle)))


def test_variants_of_formulas_have_the_values_that_are_found_by_hand():
    linked = zdt(1, 3, linked=True, scale=100.0)
    assert at(linked, 0.25, 0.25, 0.25) == pytest.approx((0.25, 50.0))
    g = 1.0 + 9.0 * 0.5 * 0.75**2
    assert at(linked, 0.25, 1.0, 0.25) == pytest.approx((0.25, 100.0 * g * (1.0 - math.sqrt(0.25 / g))))
    plain, inverted = at(dtlz(1, 3, 4), 0.5, 0.25, 0.5, 0.5), at(dtlz(1, 3, 4, inverted=True), 0.5, 0.25, 0.5, 0.5)
    assert np.add(plain, inverted) == pytest.approx([0.5] * 3)
    limited = dtlz(2, 3, 8, radius=0.4)
    Y = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 1.0], [math.sqrt(0.5), math.sqrt(0.5), 0.0]])
    assert (limited.limits(Y) <= 0.0).tolist() == [True, False, False]
    assert limited.limits(np.full((1, 3), math.sqrt(1.0 / 3.0)))[0] == pytest.approx(-0.16)
    assert limited.volume(Y[1:]) == 0.0 < limited.volume(Y)
    at_middle = 0.1 * np.ones(3) - 0.05 * 2.0 + np.array([0.3**2 + 0.2**2, 0.3**2 + 0.2**2, 0.35**2])
    assert at(islands(3), 0.5, 0.5, 0.5) == pytest.approx(at_middle)
    assert at(islands(3), 0.5, 0.5, 1.0) == pytest.approx(at_middle + 0.25)


def test_a_search_is_told_the_constraint_and_the_noise_of_a_problem():
    of, rng = noisy(dtlz(2, 3, 8, radius=0.4), 0.1), np.random.default_rng(0)
    told = [fronts._told(of, (0.5, 0.5, 0.9), rng) for _ in range(200)]
    assert {limit for _, limit in told} == {float(of.limits(np.array([[0.5, 0.5, 0.9]]))[0])}
    assert np.std([values for values, _ in told], axis=0) == pytest.approx([0.1] * 3, rel=0.2)
    assert fronts._told(dtlz(2, 3, 8), (0.5, 0.5, 0.9), rng) == ((0.5, 0.5, 0.9),)


def test_transformations_of_wfg_have_the_values_that_their_parameters_say():
    ends = np.array([0.0, 0.35, 1.0])
    assert s_linear(ends, 0.35) == pytest.approx([1.0, 0.0, 1.0])
    assert s_linear(np.array([0.675]), 0.35) == pytest.approx([0.5])
    assert s_multi(ends, 30.0, 10.0, 0.35) == pytest.approx([1.0, 0.0, 1.0])
    assert s_decept(ends, 0.35, 0.001, 0.05) == pytest.approx([0.05, 0.0, 0.05])
    assert s_decept(np.array([0.349]), 0.35, 0.001, 0.05) == pytest.approx([1.0])
    assert b_flat(np.array([0.0, 0.75, 0.8, 0.85, 1.0]), 0.8, 0.75, 0.85) == pytest.approx([0.0, 0.8, 0.8, 0.8, 1.0])
    assert b_flat(np.array([0.375]), 0.8, 0.75, 0.85) == pytest.approx([0.4])
    powers = b_param(np.full(2, 0.5), np.array([0.0, 1.0]), 0.98 / 49.98, 0.02, 50.0)
    assert powers == pytest.approx([0.5**0.02, 0.5**50.0])
    assert r_nonsep(np.array([0.2, 0.4]), 1) == pytest.approx(0.3)
    assert r_nonsep(np.array([0.0, 1.0]), 2) == pytest.approx(1.0)
    assert r_nonsep(np.ones(4), 4) == pytest.approx(4.0 / (2.0 * 5.0))


@pytest.mark.parametrize("number", [1, 4, 9])
def test_places_at_no_distance_are_on_the_front_of_wfg(number):
    of, d = wfg(number, 2, 6), 6
    rng = np.random.default_rng(0)
    for place in rng.random((20, 2)):
        y = np.array([*place, *[0.35] * 4])
        if number == 9:
            for i in range(d - 2, 1, -1):
                y[i] = 0.35 ** (1.0 / (0.02 + 1.96 * np.mean(y[i + 1 :])))
        first, second = at(of, *(y * 2.0 * np.arange(1, d + 1)))
        if number == 1:
            x = np.average(place**0.02, weights=[2.0, 4.0])
            waves = math.cos(10.0 * math.pi * x + 0.5 * math.pi) / (10.0 * math.pi)
            shapes = 2.0 * (1.0 - math.cos(0.5 * math.pi * x)), 4.0 * (1.0 - x - waves)
            assert first - second == pytest.approx(shapes[0] - shapes[1])
        else:
            assert (first / 2.0) ** 2 + (second / 4.0) ** 2 == pytest.approx(1.0)


@pytest.mark.parametrize("name", FORMULAS)
def test_no_random_point_dominates_the_front_of_a_formula(name):
    of, rng = problem(name), np.random.default_rng(3)
    Y = np.array([of.evaluate(from_cube(of.space, u)) for u in rng.random((300, len(of.space)))])
    front = of.front[:: max(1, len(of.front) // 2000)]
    for y in Y:
        assert not ((y <= front - 1e-12).all(axis=1) & (y < front - 1e-9).any(axis=1)).any()
    assert 0.0 < of.volume(Y) < of.volume(of.front)


@pytest.mark.parametrize("name", KNOWN_FRONTS)
def test_a_front_is_within_the_reference_point_and_has_no_dominated_points(name):
    of = problem(name)
    assert (of.front < of.far).all()
    assert (np.array(of.ideal) < of.half).all()
    assert len(nondominated(of.front)) == len(of.front)


def test_problems_put_aside_are_a_third_and_of_all_kinds():
    assert len(APART) == len(PROBLEMS) / 2
    assert not PROBLEMS.keys() & APART.keys()
    for kind in ("zdt", "dtlz", "wfg", "net"):
        assert any(name.startswith(kind) for name in PROBLEMS)
        assert any(name.startswith(kind) for name in APART)


def test_tables_are_told_as_they_are_and_their_front_is_complete():
    of, rng = problem("net-time"), np.random.default_rng(0)
    for u in rng.random((500, len(of.space))):
        y = np.array(of.evaluate(from_cube(of.space, u)))
        assert (of.front <= y).all(axis=1).any()


@pytest.mark.parametrize("k", [2, 3])
def test_volume_is_that_of_counted_cells_on_its_scale(k):
    rng = np.random.default_rng(k)
    of = Problem({}, lambda p: (), None, (1.0,) * k, (2.0,) * k, (9.0,) * k)
    Y = rng.uniform(0.5, 12.0, (15, k))
    scaled, far = np.log1p(np.maximum(Y - 1.0, 0.0)), np.full(k, math.log(9.0))
    assert of.volume(Y) == pytest.approx(cube_volume(scaled, far))
    assert of.volume([[9.0] * k]) == 0.0
    assert of.volume([[1.0] * k]) == pytest.approx(math.log(9.0) ** k)


def test_places_in_the_cube_are_those_of_the_parameters():
    space = {
        "f": FloatDistribution(-1.0, 3.0),
        "g": FloatDistribution(1e-4, 1.0, log=True),
        "i": IntDistribution(2, 6),
        "c": CategoricalDistribution(["a", "b", "c"]),
    }
    middle = from_cube(space, np.full(4, 0.5))
    assert middle == {"f": 1.0, "g": pytest.approx(1e-2), "i": 4, "c": "b"}
    assert from_cube(space, np.zeros(4)) == {"f": -1.0, "g": 1e-4, "i": 2, "c": "a"}
    assert from_cube(space, np.ones(4)) == {"f": 3.0, "g": 1.0, "i": 6, "c": "c"}


def test_a_network_has_one_error_and_counted_weights():
    params = from_cube(network.SPACE, np.full(len(network.SPACE), 0.4))
    error, size = network.train(params)
    assert network.train(params) == (error, size)
    assert 0.0 < error < 0.9
    u, v = params["units_0"], params["units_1"]
    assert params["layers"] == 1
    assert size == 64 * u + u + 10 * u + 10
    assert network.train(params | {"layers": 2})[1] == 64 * u + u + u * v + v + 10 * v + 10
    assert network.SMALLEST <= size <= network.LARGEST


def test_runs_are_recorded_resumed_and_reported(tmp_path):
    path = tmp_path / "fronts.jsonl"
    jobs = [(s, n, 0, 100) for n in ("nas-latency", "zdt2-10") for s in ("TPE", "Random")]
    fronts.run(path, jobs, 1)
    before = path.read_text()
    fronts.run(path, jobs, 1)
    assert path.read_text() == before
    for row in map(json.loads, before.splitlines()):
        of = problem(row["problem"])
        assert 0.0 < row["volume"][0] < of.volume(of.front)
        assert "front" not in row
    fronts.write_report(path)
    text = path.with_suffix(".md").read_text()
    assert "| nas-latency | TPE | 0." in text
    assert "| zdt2-10 | Random | 0." in text


def test_an_unknown_front_is_that_of_all_runs(tmp_path):
    of, far = problem("network"), problem("network").far
    ends = [[0.02, 5000.0], [0.1, 400.0]]
    rows = [
        {"sampler": "TPE", "problem": "network", "seed": 0, "trials": 100, "front": ends[:1], "ask_ms": 1.0},
        {"sampler": "Random", "problem": "network", "seed": 0, "trials": 100, "front": ends[1:], "ask_ms": 1.0},
        {"sampler": "NSGA-II", "problem": "network", "seed": 0, "trials": 100, "front": [list(far)], "ask_ms": 1.0},
    ]
    for row in rows:
        row["volume"] = [of.volume(row["front"])]
    assert fronts.best_volume(rows, "network") == pytest.approx(of.volume(ends))
    path = tmp_path / "fronts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    fronts.write_report(path)
    text = path.with_suffix(".md").read_text()
    assert "| network | NSGA-II | 1 |" in text
    shares = [1.0 - row["volume"][0] / of.volume(ends) for row in rows]
    assert f"| network | TPE | {shares[0]:.3g} |" in text
    assert shares[0] > shares[1] > 0.0
    assert fronts.ranks(rows, ["network"], 0) == {"Random": 1.0, "TPE": 2.0, "NSGA-II": 3.0}
    assert fronts.ranks(rows, ["network"], 1) == {}


def test_samplers_that_find_nothing_share_their_ranks():
    values = np.array([[[0.0]], [[0.0]], [[-1.0]], [[0.0]]])
    assert mean_ranks(values, ["a", "b", "c", "d"]) == {"a": 3.0, "b": 3.0, "c": 1.0, "d": 3.0}
    assert mean_ranks(np.array([[[1.0, np.nan]], [[2.0, 0.0]]]), ["a", "b"]) == {"a": 1.0, "b": 2.0}


def test_morbo_finds_more_than_random_points():
    pytest.importorskip("botorch")
    lost = {name: fronts.run_one(name, "dtlz2-5", 0, 100)["volume"][0] for name in ("MORBO", "Random")}
    assert lost["MORBO"] > 1.2 * lost["Random"]


def test_the_last_value_of_the_indicator_is_read(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "f01_d02_hyp.dat").write_text(
        "%\n% instance = 1, reference value = 8.3e-01\n% function evaluation | indicator value | target hit\n"
        "1\t5.9e-01\t6.3e-01\n40\t1.0e-01\t1.0e-01\n"
    )
    assert biobj.indicator(tmp_path) == pytest.approx(0.1)


def test_recorded_runs_of_coco_are_counted(tmp_path):
    run = {"sampler": "Random", "dimension": 2, "instance": 1, "budget": 20, "lacks": 0.5}
    rows = [run | {"function": 1, "hit": 0.25}, run | {"function": 2, "hit": 0.75}]
    assert biobj.hits(rows, "Random", 20) == {2: (0.5, 2)}
    path = tmp_path / "biobj.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    biobj.write_report(path)
    text = path.with_suffix(".md").read_text()
    assert "| Random | 0.500 (2) |  |  |  |  |" in text
    assert "| MOTPE, recorded | 0.170 (825) |" in text


def test_coco_measures_what_a_run_lacks():
    pytest.importorskip("cocoex")
    short, long = (biobj.run_one("Random", 2, 1, 1, budget) for budget in (1, 50))
    assert long["lacks"] <= short["lacks"]
    assert long["hit"] == pytest.approx(np.sum(long["lacks"] <= biobj.TARGETS) / 51.0, abs=1e-6)
    assert long["hit"] > 0.05
