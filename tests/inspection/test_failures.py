"""Failures in an explanation: how many, whether they are learned, and where they lie."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import configured

from numbo import BBKB, GPUCB, GSSBO, Categorical, Float, Int
from numbo.spaces import Condition

SPACE = {
    "x": Float(0, 1),
    "units": Int(1, 200),
    "model": Categorical(["svm", "gbm", "mlp"]),
    "layers": Int(1, 5, when={"model": "mlp"}),
    "dropout": Float(0, 1, when=[{"model": "mlp"}, {"model": "gbm"}]),
}
PLACES = {
    "model is gbm": lambda p: p["model"] == "gbm",
    "units >= ": lambda p: p["units"] > 150,
    "x <= ": lambda p: p["x"] < 0.2,
    "layers >= 4": lambda p: p.get("layers", 0) >= 4,
    "model is mlp, or model is gbm": lambda p: "dropout" in p,
}


def told(fails, make=GSSBO, n=80, space=SPACE):
    opt = make(space, seed=0)
    rng = np.random.default_rng(1)
    for u in rng.random((n, opt.space.d)):
        p = opt.space.decode(opt.space.snap(u[None])[0])
        opt.tell(p, None if fails(p) else p["x"] + 0.01 * p["units"])
    return opt


@pytest.mark.filterwarnings("ignore:The last .* all failed")
@pytest.mark.parametrize("make", [GSSBO, GPUCB, BBKB])
@pytest.mark.parametrize("words", PLACES)
def test_where_trials_fail(words, make):
    opt = told(PLACES[words], make)
    found = opt.explain()
    _, values = opt.observations
    assert found.n_failed == np.isnan(values).sum() > 0
    assert isinstance(found.failing, Condition)
    assert str(found.failing).startswith(words)
    assert found.failure_trust > 0.9
    assert found.success > 0.8
    line = next(line for line in str(found).splitlines() if line.startswith("failures"))
    assert line.startswith(f"failures    {found.n_failed} of 80, mostly where {words}")


@pytest.mark.filterwarnings("ignore:The last .* all failed")
def test_a_place_can_be_translated():
    found = told(PLACES["model is gbm"]).explain().failing
    assert str(found.translated(lambda name, value: f"{name}:{value}")) == "model is model:gbm"


@pytest.mark.filterwarnings("ignore:The last .* all failed")
def test_accidents_have_no_place():
    draws = iter(np.random.default_rng(5).random(80))
    found = told(lambda p: next(draws) < 0.2).explain()
    assert found.n_failed > 5
    assert found.failing is None
    assert "mostly" not in str(found)
    assert found.success == pytest.approx(1 - found.n_failed / 80, abs=0.1)


@pytest.mark.filterwarnings("ignore:The last .* all failed")
def test_two_failures_are_not_enough():
    counts = iter(range(80))
    found = told(lambda p: next(counts) < 30 and p["units"] > 185).explain()
    assert 0 < found.n_failed <= 3
    assert found.failing is None


@pytest.mark.filterwarnings("ignore:The last .* all failed")
def test_what_is_not_learned_is_told_as_well():
    opt = told(PLACES["model is gbm"], lambda space, **how: configured(GSSBO, space, learn_failures=False, **how))
    found = opt.explain()
    assert found.failure_trust == 0.0
    assert str(found.failing) == "model is gbm"
    assert found.success == pytest.approx(1 - found.n_failed / 80)
    assert "; not learned;" in str(found)


@pytest.mark.filterwarnings("ignore:The last .* all failed")
def test_failures_over_arms_have_no_name():
    features = np.random.default_rng(0).random((60, 3))
    opt = GSSBO(arms=features, seed=0)
    for arm in range(50):
        opt.tell(arm, None if features[arm, 0] > 0.7 else features[arm, 1])
    found = opt.explain()
    assert found.n_failed > 5
    assert found.failing is None


def test_without_failures_nothing_is_said():
    found = told(lambda p: False).explain()
    assert (found.n_failed, found.failing, found.success) == (0, None, 1.0)
    assert "fail" not in str(found)
