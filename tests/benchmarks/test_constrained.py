"""The benchmark of searches under constraints."""

from __future__ import annotations

import numpy as np
import optuna
import pytest

from benchmarks.compare import constrained
from benchmarks.problems.constrained import APART, PROBLEMS, problem

#: Published optima; constraints hold there up to the digits that are given.
KNOWN = {
    "pressure-vessel": {"shell": 13, "head": 7, "radius": 42.0984456, "length": 176.6365958},
    "welded-beam": {"h": 0.20573, "l": 3.470489, "t": 9.036624, "b": 0.20573},
    "spring": {"wire": 0.051689, "coil": 0.356718, "turns": 11.288966},
    "truss": {"outer": 0.788675, "middle": 0.408248},
}


@pytest.mark.parametrize("name", KNOWN)
def test_published_optima_are_those_of_the_formulas(name):
    value, limits = problem(name).evaluate(KNOWN[name])
    assert value == pytest.approx(problem(name).optimum, rel=1e-4)
    assert max(limits) < 1e-3


@pytest.mark.parametrize("name", [n for n in PROBLEMS | APART if n.startswith(("ball", "slabs"))])
def test_synthetic_problems_are_as_hard_as_they_say(name):
    of, share = problem(name), {"1": 0.01, "01": 0.001}[name.split("-")[2]]
    rng = np.random.default_rng(5)
    feasible = [
        max(of.evaluate(dict(zip(of.space, x, strict=True)))[1]) <= 0.0 for x in rng.random((4000, len(of.space)))
    ]
    assert 0.3 * share < np.mean(feasible) < 3.0 * share


def test_no_feasible_point_is_better_than_the_best_known_one():
    for name in ("gramacy", "ball-5-1", "nas-latency"):
        of = problem(name)
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        for _ in range(200):
            value, limits = of.evaluate(study.ask(of.space).params)
            assert value >= of.optimum or max(limits) > 0.0


def test_runs_are_recorded_and_reported(tmp_path):
    path = tmp_path / "constrained.jsonl"
    jobs = [(s, "gramacy", seed, 50) for s in ("GSSBO", "Random") for seed in range(2)]
    constrained.run(path, jobs, 1)
    before = path.read_text()
    constrained.run(path, jobs, 1)
    assert path.read_text() == before
    constrained.write_report(path)
    text = path.with_suffix(".md").read_text()
    assert "| GSSBO | 1.00 |" in text
    assert "| Random | 2.00 |" in text
    assert "| gramacy | GSSBO |" in text


def test_a_run_that_found_nothing_ranks_last():
    rows = [
        {"sampler": "GSSBO", "problem": "spring", "seed": 0, "best": [1.0], "first": 7},
        {"sampler": "Random", "problem": "spring", "seed": 0, "best": [None], "first": None},
    ]
    assert constrained.ranks(rows, ["spring"], 0) == {"GSSBO": 1.0, "Random": 2.0}
    assert constrained.ranks(rows, ["spring"], 1) == {}


def test_scbo_finds_the_edge_of_a_plane():
    pytest.importorskip("botorch")
    from benchmarks.samplers.scbo import SCBO

    peer, best = SCBO(2, 0), np.inf
    for _ in range(40):
        x = peer.ask()
        value, limit = float(x.sum()), float(0.8 - x.sum())
        peer.tell(x, value, (limit,))
        best = min(best, value if limit <= 0.0 else np.inf)
    assert best < 0.85
