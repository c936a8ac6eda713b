"""How pruned and failed trials, categories and few numbers are drawn, and which pair of parameters."""

from __future__ import annotations

import numpy as np
import optuna
import pytest

import numbo.optuna
import numbo.plot
import numbo.plot.matplotlib
from numbo import GSSBO, Categorical, Float, Int
from numbo.optuna import GSSBOSampler
from numbo.plot._data import Subject


@pytest.fixture(scope="module")
def pruned():
    """A study with trials that were pruned, that failed, and that violate a constraint."""
    rng = np.random.default_rng(0)

    def train(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        size = trial.suggest_int("size", 1, 4)
        kind = trial.suggest_categorical("kind", ["z", "a", "m"])
        if kind == "m" and size == 4:
            raise ValueError
        trial.set_constraint("small", size - 3.5)
        for step in range(1, 9):
            trial.report((x - 0.4) ** 2 + (kind == "z") + 1.0 / step + 0.01 * rng.normal(), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return (x - 0.4) ** 2 + (kind == "z") + 1.0 / 8

    pruner = optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=2)
    study = optuna.create_study(sampler=GSSBOSampler(seed=0), pruner=pruner)
    study.enqueue_trial({"x": 0.1, "size": 4, "kind": "m"})
    study.optimize(train, n_trials=30, catch=ValueError)
    return study


def traces(figure, name):
    return [trace for trace in figure.data if trace.name and trace.name.endswith(name)]


def test_pruned_trials_are_drawn_where_they_are_expected_to_end(pruned):
    ends = sorted(curve.end for curve in Subject(pruned).optimizer.curves() if curve.kind == "pruned")
    assert len(ends) > 3
    (shown,) = traces(numbo.plot.plot_subset(pruned), "pruned: expected end")
    assert shown.marker.symbol == "circle-open"
    met = [t for t in pruned.trials if t.state.name == "PRUNED" and t.params["size"] < 4]
    assert sorted(shown.x) == [t.number for t in met]
    assert set(shown.y) <= set(ends)
    last = {t.number: t.intermediate_values[t.last_step] for t in met}
    assert all(end < last[number] for number, end in zip(shown.x, shown.y, strict=True))
    assert (np.array(shown.error_y.array) > 0.0).all()
    ax = numbo.plot.matplotlib.plot_subset(pruned)[0]
    (open_ones,) = (c for c in ax.collections if c.get_label().endswith("pruned: expected end"))
    np.testing.assert_allclose(open_ones.get_offsets(), np.transpose([shown.x, shown.y]))


def test_failed_trials_are_drawn_at_the_worst_value(pruned):
    failed = [t for t in pruned.trials if t.state.name == "FAIL"]
    shown = traces(numbo.plot.plot_posterior(pruned), "failed")
    assert [list(one.x) for one in shown] == [[t.params[name] for t in failed] for name in Subject(pruned).names(None)]
    known = Subject(pruned).history()
    assert {y for one in shown for y in one.y} == {known.y.max()}
    axes = numbo.plot.matplotlib.plot_posterior(pruned)
    assert all(any(c.get_label() == "failed" for c in ax.collections) for ax in axes)


def test_categories_are_in_the_order_of_the_choices_and_cells(pruned):
    figure = numbo.plot.plot_posterior(pruned, ["kind"])
    assert figure.layout.xaxis.categoryarray == ("z", "a", "m")
    ax = numbo.plot.matplotlib.plot_posterior(pruned, ["kind"])[0]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["z", "a", "m"]
    plane = Subject(pruned).contour(["kind", "x"])
    surface, shade = numbo.plot.plot_contour(pruned, ["kind", "x"]).data[:2]
    assert surface.type == shade.type == "heatmap"
    np.testing.assert_array_equal(surface.z, plane.mean)
    np.testing.assert_array_equal(np.isnan(shade.z), plane.probability >= 0.5)
    mesh = numbo.plot.matplotlib.plot_contour(pruned, ["kind", "x"])[0].collections[0]
    np.testing.assert_array_equal(mesh.get_array().reshape(plane.mean.shape), plane.mean)


def test_few_integers_have_a_tick_each_and_nothing_between(pruned):
    figure = numbo.plot.plot_posterior(pruned, ["size"])
    assert figure.layout.xaxis.tickvals == (1, 2, 3, 4)
    (mean,) = traces(figure, "mean ± 2 sd")
    assert mean.mode == "markers"
    ax = numbo.plot.matplotlib.plot_posterior(pruned, ["size"])[0]
    assert list(ax.get_xticks()) == [1, 2, 3, 4]


def test_cells_of_a_logarithmic_axis_touch_halfway_in_logarithms():
    opt = GSSBO({"n": Int(1, 8, log=True), "c": Categorical(["a", "b"])}, seed=0)
    for n in (1, 2, 4, 8):
        for c in "ab":
            opt.tell({"n": n, "c": c}, n + (c == "b"))
    mesh = numbo.plot.matplotlib.plot_contour(opt, ["n", "c"])[0].collections[0]
    edges = mesh.get_coordinates()[0, :, 0]
    np.testing.assert_allclose(edges[1:-1] ** 2, np.arange(1.0, 8.0) * np.arange(2.0, 9.0))
    assert edges[0] > 0.0


def test_a_parameter_is_not_drawn_over_its_parent_if_there_is_another():
    space = {"kind": Categorical(["a", "b"]), "x": Float(0.0, 1.0, when={"kind": "a"}), "y": Float(0.0, 1.0)}
    opt = GSSBO(space, seed=0)
    for i in range(20):
        p = {"kind": "ab"[i % 2], "y": (7 * i % 20) / 20} | ({"x": i / 20} if i % 2 == 0 else {})
        opt.tell(p, 9.0 * (p["kind"] == "b") + 5.0 * (p.get("x", 0.5) - 0.3) ** 2 + 0.1 * p["y"])
    relevance = list(opt.explain().relevance)
    assert relevance[:2] == ["kind", "x"]
    assert Subject(opt).most_relevant_pair() == ["kind", "y"]


def test_the_acquisition_function_is_named(pruned, two):
    figure = numbo.plot.plot_acquisition(pruned)
    assert figure.layout.yaxis.title.text in ("log improvement + log feasibility", "confidence bound + log feasibility")
    assert numbo.plot.plot_acquisition(two).layout.yaxis.title.text == "log hypervolume improvement"


@pytest.fixture
def two():
    opt = GSSBO({"x": Float(0.0, 1.0)}, seed=0, directions=["minimize", "minimize"])
    for _ in range(8):
        p = opt.ask()
        opt.tell(p, (p["x"], (1.0 - p["x"]) ** 2))
    return opt
