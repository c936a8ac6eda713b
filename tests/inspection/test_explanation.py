"""`explain`: what the model is made of, which parameters matter to it, and where the time goes."""

from __future__ import annotations

import copy
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.helpers import MOSTLY, over_seeds, seeded
from tests.inspection.runs import ALGORITHMS, ARMS, SPACE, algorithms, objective, run

from numbo import BBKB, GPUCB, GSSBO, BBKBSettings, Categorical, Float, Space
from numbo.inspection import relevance


@algorithms
@over_seeds()
def test_explanation(make):
    opt = run(make, 40, noise=0.05)
    opt.ask()
    found = opt.explain()
    assert found.algorithm == type(opt).__name__
    assert (found.n_told, found.n_pending) == (40, 1)
    assert len(np.unique(found.members)) == len(found.members) <= 40
    assert 0 <= found.members.min() <= found.members.max() < 40
    assert set(found.relevance) == set(found.lengthscales) == set(SPACE)
    assert sum(found.relevance.values()) == pytest.approx(1.0)
    assert next(iter(found.relevance)) == "x", MOSTLY
    assert list(found.relevance.values()) == sorted(found.relevance.values(), reverse=True)
    assert len(found.asked_at) == len(found.ask_seconds) == 41
    assert found.asked_at.tolist() == list(range(41))
    assert set(found.phases) <= {"selection", "model", "search"}
    assert 0.0 < sum(found.phases.values()) <= found.ask_seconds[-1]
    assert found.algorithm in str(found)
    assert "x " in str(found)


@over_seeds()
def test_noise_is_found_in_the_units_of_the_objective():
    opt = run(ALGORITHMS["GPUCB"], 120, noise=0.2)
    assert 0.1 < opt.explain().noise_std < 0.4, MOSTLY
    opt = GPUCB(SPACE, seed=seeded(0))
    rng = np.random.default_rng(seeded(0))
    for _ in range(120):
        p = opt.ask()
        opt.tell(p, 1000.0 * (objective(p) + 0.2 * rng.normal()))
    assert 100 < opt.explain().noise_std < 400, MOSTLY


def test_relevance_is_that_of_the_variation_and_not_of_the_speed():
    rng = np.random.default_rng(0)
    opt = GPUCB({"large": Float(0, 1), "small": Float(0, 1), "none": Float(0, 1)}, seed=0)
    for x in rng.random((80, 3)):
        opt.tell(opt.space.decode(x), 5.0 * x[0] + np.sin(9.0 * x[1]))
    relevance = opt.explain().relevance
    variance = {"large": 25 / 12, "small": 0.5}
    share = variance["large"] / sum(variance.values())
    assert relevance["large"] == pytest.approx(share, abs=0.08)
    assert relevance["none"] < 0.03


def test_gssbo_tells_its_buffer_and_region():
    opt = run(ALGORITHMS["GSSBO-subset"], 60)
    found = opt.explain()
    assert found.buffer_size == len(found.members) == 20
    assert found.region.length > 0.0
    assert run(ALGORITHMS["paper"], 30).explain().buffer_size is None  # the dynamic buffer has not switched yet
    switched = GSSBO(SPACE, preset="paper", seed=0, n_initial=5)
    for x in np.random.default_rng(0).random((300, 3)):
        p = switched.space.decode(x)
        switched.tell(p, objective(p))
    switched.ask()
    assert switched.explain().buffer_size == len(switched.explain().members)


def test_batches_are_those_that_ended():
    opt = run(ALGORITHMS["BBKB"], 40)
    assert opt.explain().batch_sizes == opt.status.batch_sizes
    assert sum(opt.explain().batch_sizes) <= 40
    assert 0.0 < opt.explain().effective_dimension <= opt.n_told


@over_seeds()
def test_arms_have_features_in_the_place_of_names():
    X = np.random.default_rng(seeded(0)).random((50, 3))
    opt = BBKB(arms=X, seed=seeded(0))
    for _ in range(20):
        i = opt.ask()
        opt.tell(i, float(X[i, 1]))
    assert next(iter(opt.explain().relevance)) == "feature 1", MOSTLY
    row, value = opt.best_predicted()
    assert value == X[row, 1] > 0.9, MOSTLY


def test_ask_times_do_not_travel_with_the_state():
    opt = run(ALGORITHMS["GSSBO"], 15)
    restored = GSSBO.from_state_dict(copy.deepcopy(opt.state_dict()))
    assert len(restored.explain().asked_at) == 0
    assert restored.explain().relevance == opt.explain().relevance


def test_asks_in_batches_are_timed_too():
    opt = BBKB(arms=ARMS, seed=0, settings=BBKBSettings(ratio_threshold=50.0))
    while opt.n_told < 40:
        rows = opt.next_batch(limit=8)
        opt.tell(rows, ARMS[rows, 0])
    assert len(opt.explain().asked_at) == opt.n_told


def test_looking_leaves_the_dynamic_buffer_alone():
    opt = GSSBO(SPACE, preset="paper", seed=0)
    for x in np.random.default_rng(0).random((300, 3)):
        p = opt.space.decode(x)
        opt.tell(p, objective(p))
    before = opt.state_dict()["model"]["subset"]["buffer"]
    opt.explain()
    assert opt.state_dict()["model"]["subset"]["buffer"] == before


def test_conditions_are_listed_in_words_and_parameters_count_where_they_are_active():
    space = {
        "kind": Categorical(list("abcdefgh")),
        "rate": Float(0.0, 1.0),
        "slope": Float(0.0, 1.0, when={"kind": "a"}),
    }
    opt, rng = GSSBO(space, seed=0), np.random.default_rng(0)
    for x in opt.space.snap(rng.random((120, 3))):
        p = opt.space.decode(x)
        opt.tell(p, p["rate"] + p.get("slope", 0.5))
    explained = opt.explain()
    assert explained.conditions == {"slope": "kind is a"}
    assert not explained.inferred
    assert "conditions  slope where kind is a" in str(explained)
    assert explained.relevance["slope"] == pytest.approx(explained.relevance["rate"], rel=0.5)
    with pytest.raises(ValueError, match="must not name 'slope', which is active only where kind is a"):
        opt.predict({"kind": "b", "rate": 0.1, "slope": 0.3})
    assert np.isfinite(opt.predict({"kind": "b", "rate": 0.1})).all()


def test_relevance_in_rare_branches_is_that_of_the_effect_where_it_is_active():
    dimensions = {"kind": Categorical(range(40))} | {f"x{k}": Float(0, 1, when={"kind": k}) for k in range(40)}
    shares = relevance(lambda X: X[:, 1:].max(axis=1), Space(dimensions))
    leaves = np.array([shares[f"x{k}"] for k in range(40)])
    assert leaves.mean() == pytest.approx(1 / 41, rel=0.1)  # all leaves vary alike, and kind by drawing a leaf again
    assert leaves.max() < 1.6 * leaves.min()


@algorithms
def test_explain_sets_the_noise_against_the_spread(make):
    opt = run(make, 60, 0.5)
    found, values = opt.explain(), opt.observations[1]
    assert found.noise_share == pytest.approx(min(1.0, found.noise_std**2 / np.var(values)))
    grid = [SPACE.decode(SPACE.snap(x[None])[0]) for x in np.random.default_rng(5).random((2000, 3))]
    assert found.spread_std == pytest.approx(np.std(opt.predict(grid)[0]), rel=0.2)
    assert f"{found.noise_share:.0%} of the variance told" in str(found)


def test_explain_says_whether_the_noise_of_the_model_is_confirmed():
    told = run(ALGORITHMS["GSSBO"], 20).explain()
    words = " in the model, not confirmed, 40% of the variance told"
    assert words in str(replace(told, noise_share=0.4, noisy=False))
    assert "confirmed" not in str(replace(told, noise_share=0.4, noisy=True))
    assert "confirmed" not in str(replace(told, noise_share=0.001, noisy=False))


def test_explain_says_whether_all_observations_take_part():
    plain = run(ALGORITHMS["GSSBO-subset"], 60).explain()
    noisy = run(ALGORITHMS["GSSBO-subset"], 60, 0.5).explain()
    assert (plain.noisy, noisy.noisy) == (False, True)
    assert not plain.all_data
    assert "model on 20" in str(plain)
    assert noisy.all_data
    assert "model on all through 20" in str(noisy)


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e300])
def test_explain_takes_values_of_any_size(size):
    opt = GSSBO({"x": Float(0.0, 1.0)}, direction="maximize", seed=0)
    for k, value in enumerate([0.0, 0.0, 0.0, 0.0, -1.0, -1.0, 0.0, 0.0]):
        opt.tell({"x": k / 8.0}, size * value)
        found = opt.explain()
        assert 0.0 <= found.noise_share <= 1.0
        assert np.isfinite(found.noise_std)


def test_a_notebook_shows_the_same_lines_as_a_table():
    opt = GSSBO({"<b>": Float(0, 1), "y & z": Float(0, 1)}, seed=0)
    for _ in range(8):
        p = opt.ask()
        opt.tell(p, p["<b>"])
    found = opt.explain()
    head, *lines = str(found).splitlines()
    shown = ElementTree.fromstring(found._repr_html_())
    assert shown.find("caption").text == head
    rows = [[cell.text for cell in row] for row in shown.iter("tr")]
    assert [f"{label:<12}{words}" for label, words in rows] == lines
    assert "<b> " in dict(rows)["relevance"]
