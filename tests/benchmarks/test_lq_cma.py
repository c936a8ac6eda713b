"""lq-CMA-ES as a peer: pycma's loop, asked and told."""

from __future__ import annotations

import math

import numpy as np
import optuna
import pytest
from tests.helpers import MOSTLY, over_seeds, seeded

pytest.importorskip("cma")
pytest.importorskip("greenlet")

from benchmarks.samplers.lq_cma import LqCMAES, LqCMAESSampler
from benchmarks.samplers.registry import SAMPLERS

CENTER = np.array([0.3, 0.6, 0.45, 0.7, 0.55])
#: The warning that pycma gives when it has converged.
pytestmark = pytest.mark.filterwarnings("ignore:x value already in Model")


def ellipsoid(x):
    return float(np.logspace(0.0, 4.0, len(x)) @ (x - CENTER[: len(x)]) ** 2)


def searched(search, count):
    """Points (count, d) that are asked for and told, and their values."""
    X = []
    for _ in range(count):
        X.append(search.ask())
        search.tell(X[-1], ellipsoid(X[-1]))
    return np.array(X), np.array([ellipsoid(x) for x in X])


@over_seeds()
def test_a_quadratic_function_is_solved_within_the_cube_in_few_evaluations():
    for seed in range(3):
        X, y = searched(LqCMAES(5, seeded(seed)), 200)
        assert y.min() < 1e-6, MOSTLY
        assert X.min() >= 0.0
        assert X.max() <= 1.0


def test_searches_are_those_of_their_seeds_and_leave_numpys_generator_alone():
    np.random.seed(3)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first, second, other = LqCMAES(5, 0), LqCMAES(5, 0), LqCMAES(5, 1)
    for _ in range(40):
        x, again, elsewhere = first.ask(), second.ask(), other.ask()
        assert np.array_equal(x, again)
        assert not np.array_equal(x, elsewhere)
        for search, point in ((first, x), (second, again), (other, elsewhere)):
            search.tell(point, ellipsoid(point))
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@over_seeds()
def test_a_search_that_has_converged_starts_again():
    X, _ = searched(LqCMAES(2, seeded(0)), 600)
    far = np.linalg.norm(X - CENTER[:2], axis=1) > 0.1
    converged = int(np.argmax(np.convolve(far, np.ones(20), "valid") == 0))
    assert converged < 300, MOSTLY
    assert far[converged:].any(), MOSTLY


@over_seeds()
def test_its_sampler_finds_more_than_random_points():
    best = {}
    for name in ("lq-CMA-ES", "Random"):
        study = optuna.create_study(sampler=SAMPLERS[name](seeded(0)))
        study.optimize(lambda t: ellipsoid(np.array([t.suggest_float(f"x{j}", 0.0, 1.0) for j in range(5)])), 150)
        best[name] = study.best_value
    assert best["lq-CMA-ES"] < 1e-3 < best["Random"], MOSTLY


@over_seeds()
def test_its_sampler_goes_on_with_pending_and_failed_trials():
    study = optuna.create_study(sampler=LqCMAESSampler(seeded(0)))
    space = {
        "x": optuna.distributions.FloatDistribution(1e-4, 1.0, log=True),
        "n": optuna.distributions.IntDistribution(1, 9),
        "kind": optuna.distributions.CategoricalDistribution(["a", "b"]),
        "fixed": optuna.distributions.FloatDistribution(2.0, 2.0),
    }
    for round_ in range(30):
        asked = [study.ask(space) for _ in range(2)]
        for number, trial in enumerate(reversed(asked)):
            value = abs(math.log10(trial.params["x"]) + 2.0) + trial.params["n"] + (trial.params["kind"] == "b")
            if round_ % 3 == number:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                study.tell(trial, value)
    assert len({tuple(trial.params.values()) for trial in study.trials}) > 40
    assert study.best_value < 3.0, MOSTLY
