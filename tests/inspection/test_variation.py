"""Parameters that were not varied: nothing is known of their effect, and inspection says so."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import configured

from numbo import BBKB, BKB, GPUCB, GSSBO, Categorical, Float, Int, Space
from numbo.inspection.variation import Variation

#: The only value that was tried, and another one, of a parameter of each kind.
KINDS = {
    "float": (Float(0, 1), 0.1, 0.9),
    "log": (Float(1e-4, 1, log=True), 2e-4, 0.7),
    "int": (Int(0, 10), 1, 9),
    "category": (Categorical(["a", "b", "c"]), "a", "c"),
}
MODELS = {
    "GSSBO": GSSBO,
    "GSSBO-plain": lambda space, **how: configured(GSSBO, space, trend=False, additive=False, **how),
    "GPUCB": GPUCB,
    "GPUCB-trend": lambda space, **how: configured(GPUCB, space, trend=True, additive=True, **how),
    "BKB": BKB,
    "BBKB": BBKB,
    "BBKB-plain": lambda space, **how: configured(BBKB, space, trend=False, **how),
}


def value(p):
    return 5.0 + 4.0 * (p["x"] - 0.3) ** 2 + 2.0 * (p["y"] - 0.6) ** 2


def told(opt, rest, n=30):
    """After ``n`` trials with the values ``rest(i)`` beside x and y, and the standard deviation of their values."""
    rng = np.random.default_rng(0)
    for i in range(n):
        p = {"x": rng.random(), "y": rng.random()} | rest(i)
        opt.tell(p, value(p))
    return opt, float(np.std(opt.observations[1]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", list(MODELS.values()), ids=list(MODELS))
def test_what_was_not_varied_is_not_known(make, kind):
    dimension, only, other = KINDS[kind]
    opt, spread = told(make({"x": Float(0, 1), "y": Float(0, 1), "m": dimension}, seed=0), lambda i: {"m": only})
    here, there = (opt.predict({"x": 0.3, "y": 0.6, "m": m})[1] for m in (only, other))
    assert here < 0.1 * spread
    assert there > 0.6 * spread
    found = opt.explain()
    assert found.unvaried == ("m",)
    assert found.relevance["m"] == 0.0
    assert sum(found.relevance.values()) == pytest.approx(1.0)
    assert found.relevance["x"] > 0.6
    assert "\nnot varied  m\n" in str(found)
    assert "m 0%" not in str(found)


def test_a_parameter_that_was_never_used_is_not_known():
    space = {
        "x": Float(0, 1),
        "y": Float(0, 1),
        "model": Categorical(["a", "b"]),
        "depth": Int(1, 9, when={"model": "b"}),
        "rate": Float(0, 1, when={"model": "a"}),
    }
    opt, spread = told(GSSBO(space, seed=0), lambda i: {"model": "a", "rate": 0.2})
    at = {"x": 0.3, "y": 0.6}
    assert opt.explain().unvaried == ("model", "depth", "rate")
    assert opt.predict(at | {"model": "a", "rate": 0.2})[1] < 0.1 * spread
    assert opt.predict(at | {"model": "a", "rate": 0.9})[1] > 0.6 * spread
    assert opt.predict(at | {"model": "b", "depth": 3})[1] > 0.6 * spread
    opt, spread = told(
        GSSBO(space, seed=0), lambda i: {"model": "b", "depth": 3} if i % 2 else {"model": "a", "rate": 0.2}
    )
    assert opt.explain().unvaried == ("depth", "rate")
    assert opt.predict(at | {"model": "b", "depth": 3})[1] < 0.1 * spread
    assert opt.predict(at | {"model": "b", "depth": 9})[1] > 0.4 * spread


def test_a_category_that_was_never_tried_is_less_known_the_fewer_were():
    space = {"x": Float(0, 1), "y": Float(0, 1), "m": Categorical(list("abcdefgh"))}
    stds = []
    for tried in ("a", "abc", "abcdefg"):
        opt, spread = told(GSSBO(space, seed=0), lambda i, tried=tried: {"m": tried[i % len(tried)]})
        stds.append(opt.predict({"x": 0.3, "y": 0.6, "m": "h"})[1] / spread)
        assert opt.explain().unvaried == (("m",) if tried == "a" else ())
    assert stds == sorted(stds, reverse=True)
    assert stds[0] > 0.6
    assert stds[2] > 0.2


def test_a_parameter_with_one_value_is_no_unknown():
    opt, _ = told(GSSBO({"x": Float(0, 1), "y": Float(0, 1), "m": Int(3, 3)}, seed=0), lambda i: {"m": 3})
    assert opt.explain().unvaried == ()
    assert opt.explain().relevance["m"] == 0.0


def test_of_one_observation_no_relevance_is_known():
    opt, _ = told(GSSBO({"x": Float(0, 1), "y": Float(0, 1)}, seed=0), lambda i: {}, n=1)
    found = opt.explain()
    assert set(found.relevance.values()) == {0.0}
    assert found.unvaried == ("x", "y")
    assert "relevance   not known\nnot varied  x, y" in str(found)


def test_features_of_arms():
    features = np.random.default_rng(0).random((40, 3))
    features[:20, 2] = 0.0
    features[:, 1] = 0.5
    opt = GSSBO(arms=features, seed=0)
    for arm in range(20):
        opt.tell(arm, features[arm, 0])
    assert opt.explain().unvaried == ("feature 2",)


def test_an_unchecked_point_is_not_recommended_where_nothing_was_tried():
    opt, _ = told(GSSBO({"x": Float(0, 1), "y": Float(0, 1), "m": Float(0, 1)}, seed=0), lambda i: {"m": 0.1})
    assert opt.best_predicted(anywhere=True)[0]["m"] == pytest.approx(0.1, abs=0.1)


def test_nothing_changes_where_everything_was_varied():
    space = Space({"x": Float(0, 1), "c": Categorical(["a", "b"]), "k": Int(0, 3)})
    X = space.snap(np.random.default_rng(0).random((40, 3)))
    variation = Variation(X, space)
    probes = space.snap(np.random.default_rng(1).random((200, 3)))
    assert not variation.unknown(probes).any()
    assert variation.held(probes) is probes
