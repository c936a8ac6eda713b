"""How pruned and failed trials, categories and few numbers are drawn, and which pair of parameters."""

from __future__ import annotations

import numpy as np
import optuna
import pytest
from matplotlib.collections import LineCollection
from tests.harness.programs import constrain

import numbo.optuna
import numbo.plot
import numbo.plot.matplotlib
from numbo import GSSBO, Categorical, Float, Int
from numbo.optimizers import Snapshot
from numbo.optuna import GSSBOSampler
from numbo.plot._data import Subject

MARKS = ("observations", "in the model")


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
        constrain(trial, "small", size - 3.5)
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


def test_the_bars_of_pruned_trials_are_faint(pruned):
    (shown,) = traces(numbo.plot.plot_subset(pruned), "pruned: expected end")
    assert shown.error_y.color == "rgba(255, 127, 14, 0.25)"
    ax = numbo.plot.matplotlib.plot_subset(pruned)[0]
    (bars,) = (lines for lines in ax.collections if isinstance(lines, LineCollection))
    assert bars.get_alpha() == 0.25
    assert bars.get_zorder() < min(points.get_zorder() for points in ax.collections if points.get_label() in MARKS)


def test_the_best_so_far_is_of_complete_and_feasible_trials(pruned):
    best, values = float("inf"), []
    numbers = [t.number for t in pruned.trials if t.state.name != "FAIL"]
    for number in numbers:
        trial = pruned.trials[number]
        if trial.state.name == "COMPLETE" and trial.params["size"] < 4:
            best = min(best, trial.value)
        values.append(best)
    expected = [np.nan if value == float("inf") else value for value in values]
    (line,) = traces(numbo.plot.plot_subset(pruned), "best so far")
    assert list(line.x) == numbers
    np.testing.assert_array_equal(line.y, expected)
    assert line.line.shape == "hv"
    ax = numbo.plot.matplotlib.plot_subset(pruned)[0]
    (drawn,) = (line for line in ax.get_lines() if line.get_label() == "best so far")
    assert drawn.get_drawstyle() == "steps-post"
    np.testing.assert_array_equal(drawn.get_ydata(), expected)
    largest = GSSBO({"x": Float(0.0, 1.0)}, seed=0, direction="maximize")
    for i, value in enumerate((1.0, 3.0, None, 2.0, float("inf"), 4.0)):
        largest.tell({"x": i / 6}, value)
    (line,) = traces(numbo.plot.plot_subset(largest), "best so far")
    assert np.nan_to_num(line.y[-1]) == 4.0


def test_failed_trials_are_drawn_beyond_the_worst_value(pruned):
    failed = [t for t in pruned.trials if t.state.name == "FAIL"]
    figure = numbo.plot.plot_posterior(pruned)
    shown = traces(figure, "failed")
    assert [list(one.x) for one in shown] == [[t.params[name] for t in failed] for name in Subject(pruned).names(None)]
    (height,) = {y for one in shown for y in one.y}
    assert Subject(pruned).history().y.max() < height < figure.layout.yaxis.range[1]
    axes = numbo.plot.matplotlib.plot_posterior(pruned)
    assert all(any(c.get_label() == "failed" for c in ax.collections) for ax in axes)
    assert axes[0].get_ylim() == figure.layout.yaxis.range


def test_failed_trials_are_drawn_over_two_parameters(pruned):
    failed = [t.params for t in pruned.trials if t.state.name == "FAIL"]
    for one in traces(numbo.plot.plot_contour(pruned, ["size", "x"]), "failed"):
        assert (list(one.x), list(one.y)) == ([p["size"] for p in failed], [p["x"] for p in failed])
    for ax in numbo.plot.matplotlib.plot_contour(pruned, ["size", "x"]):
        (points,) = (c for c in ax.collections if c.get_label() == "failed")
        np.testing.assert_allclose(points.get_offsets(), [[p["size"], p["x"]] for p in failed])


def test_bars_of_pruned_trials_do_not_stretch_the_axis(pruned):
    known = Subject(pruned).history()
    low, high = numbo.plot.plot_subset(pruned).layout.yaxis.range
    assert low < known.y.min() < known.y.max() < high < 1.3 * known.y.max()
    assert (known.y - 2.0 * known.std).min() < low


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_value_that_is_far_worse_does_not_flatten_the_others(direction):
    sign = 1.0 if direction == "minimize" else -1.0
    opt = GSSBO({"x": Float(0.0, 1.0)}, seed=0, direction=direction)
    for i in range(30):
        opt.tell({"x": i / 30}, sign * (1e6 if i == 20 else (i / 30 - 0.4) ** 2))
    opt.tell({"x": 0.99}, None)
    worst = (29 / 30 - 0.4) ** 2
    for name in ("plot_posterior", "plot_subset"):
        figure = getattr(numbo.plot, name)(opt)
        low, high = sorted(sign * np.array(figure.layout.yaxis.range))
        assert low < 0.0
        assert worst < high < 3.0
        (failed,) = traces(figure, "failed")
        assert worst < sign * failed.y[0] < high


def test_observations_in_another_branch_are_pale(branching):
    figure = numbo.plot.plot_posterior(branching)
    assert figure.layout.title.text == "Posterior through the best predicted point of each branch"
    assert branching.best_predicted()[0]["kind"] == "a"
    X, _ = branching.observations
    (pale,) = traces(figure, "in another branch")  # all have a kind, and slopes and widths are in a branch each
    assert sorted(pale.x) == sorted(branching.space.decode(x)["rate"] for x in X if x[2] < 0.0)
    rate = [trace for trace in figure.data if trace.xaxis == pale.xaxis and trace.mode == "markers"]
    assert sum(len(trace.x) for trace in rate) == len(X)
    ax = numbo.plot.matplotlib.plot_posterior(branching, ["rate"])[0]
    (points,) = (c for c in ax.collections if c.get_label() == "in another branch")
    assert len(points.get_offsets()) == len(pale.x)


def test_a_legend_has_each_name_once(pruned):
    for name in ("plot_posterior", "plot_contour", "plot_subset", "plot_curves"):
        figure = getattr(numbo.plot, name)(pruned)
        named = [trace.name for trace in figure.data if trace.showlegend and trace.name]
        assert sorted(set(named)) == sorted(named)
        assert set(named) == {trace.name for trace in figure.data if trace.name}


def test_where_nothing_is_pale_the_legend_does_not_say_so(pruned):
    plane = Subject(pruned).contour(["x", "kind"])
    assert not plane.pale.any()
    assert not traces(numbo.plot.plot_contour(pruned, ["x", "kind"]), "the pale side")
    for pair, there in ((["x", "kind"], False), (["x", "size"], True)):
        ax = numbo.plot.matplotlib.plot_contour(pruned, pair)[0]
        shown = [text.get_text() for text in ax.figure.legends[0].get_texts()]
        assert ("infeasible: the pale side" in shown) == there


def test_categories_are_in_the_order_of_the_choices_and_cells(pruned):
    figure = numbo.plot.plot_posterior(pruned, ["kind"])
    assert figure.layout.xaxis.categoryarray == ("z", "a", "m")
    ax = numbo.plot.matplotlib.plot_posterior(pruned, ["kind"])[0]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["z", "a", "m"]
    plane = Subject(pruned).contour(["kind", "x"])
    surface = numbo.plot.plot_contour(pruned, ["kind", "x"]).data[0]
    assert surface.type == "heatmap"
    np.testing.assert_array_equal(surface.z, plane.mean)
    shade = numbo.plot.plot_contour(pruned, ["kind", "size"]).data[1]
    assert shade.type == "heatmap"
    np.testing.assert_array_equal(np.isnan(shade.z), Subject(pruned).contour(["kind", "size"]).probability >= 0.5)
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


def test_a_parameter_is_not_drawn_over_a_parent_of_its_parent():
    space = {
        "y": Float(0.0, 1.0),
        "deep": Float(0.0, 1.0, when={"inner": True}),
        "inner": Categorical([True, False], when={"kind": "a"}),
        "kind": Categorical(["a", "b"]),
    }
    opt = GSSBO(space, seed=0)
    for i in range(24):
        p = {"kind": "ab"[i % 2], "y": (7 * i % 24) / 24}
        p |= {"inner": i % 4 == 0} if i % 2 == 0 else {}
        p |= {"deep": i / 24} if i % 4 == 0 else {}
        opt.tell(p, 9.0 * (p["kind"] == "b") + 50.0 * (p.get("deep", 0.5) - 0.5) ** 2 + 0.1 * p["y"])
    assert list(opt.explain().relevance)[:2] == ["kind", "deep"]
    assert Subject(opt).most_relevant_pair() == ["y", "kind"]  # in the order of the space


def test_the_acquisition_function_is_named(pruned, two):
    figure = numbo.plot.plot_acquisition(pruned)
    assert figure.layout.yaxis.title.text in ("log improvement + log feasibility", "confidence bound + log feasibility")
    assert numbo.plot.plot_acquisition(two).layout.yaxis.title.text == "log hypervolume improvement"


def test_values_of_the_acquisition_function_below_the_axis_are_marked(pruned, monkeypatch):
    def acquired(self, points):
        return np.array([-np.inf if p["size"] == 4 else -p["x"] for p in points])

    monkeypatch.setattr(Snapshot, "acquisition_values", acquired)
    figure = numbo.plot.plot_acquisition(pruned, ["size", "x"])
    (lower,) = traces(figure, "lower than shown")
    assert (list(lower.x), list(lower.y)) == ([4], [figure.layout.yaxis.range[0]])
    ax = numbo.plot.matplotlib.plot_acquisition(pruned, ["size", "x"])[0]
    (marks,) = (line for line in ax.get_lines() if line.get_label() == "lower than shown")
    assert list(marks.get_xdata()) == [4]


def test_what_did_not_vary_is_named():
    opt = GSSBO({"x": Float(0.0, 1.0), "same": Float(0.0, 1.0)}, seed=0)
    for i in range(10):
        opt.tell({"x": i / 10, "same": 0.5}, i / 10)
    assert list(numbo.plot.plot_relevance(opt).data[0].y) == ["same (not varied)", "x"]


def test_without_a_suggestion_there_are_no_times():
    opt = GSSBO({"x": Float(0.0, 1.0)}, seed=0)
    opt.tell({"x": 0.5}, 1.0)
    for library in (numbo.plot, numbo.plot.matplotlib):
        with pytest.raises(ValueError, match="no point was asked for in this process"):
            library.plot_ask_times(opt)


@pytest.fixture
def two():
    opt = GSSBO({"x": Float(0.0, 1.0)}, seed=0, directions=["minimize", "minimize"])
    for _ in range(8):
        p = opt.ask()
        opt.tell(p, (p["x"], (1.0 - p["x"]) ** 2))
    return opt


def test_few_values_are_all_within_the_axis():
    opt = GSSBO({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}, seed=0)
    for i in range(3):
        opt.tell({"x": i / 2, "y": 0.5}, 40.0 + i)
    for ax in numbo.plot.matplotlib.plot_acquisition(opt):
        low, high = ax.get_ylim()
        (line,) = (line for line in ax.get_lines() if len(line.get_xdata()) > 2)
        assert low <= np.min(line.get_ydata())
        assert np.max(line.get_ydata()) <= high
    equal = GSSBO({"x": Float(0.0, 1.0)}, seed=0)
    for i in range(3):
        equal.tell({"x": i / 2}, 40.0)
    low, high = numbo.plot.matplotlib.plot_subset(equal)[0].get_ylim()
    assert low < 40.0 < high
