"""The plot of learning curves: what was reported, and the ends that are expected."""

from __future__ import annotations

import math

import numpy as np
import optuna
import pytest
from tests.helpers import configured
from tests.plot.shown import SPACE

import numbo.plot
import numbo.plot.matplotlib
from numbo import BBKB, GSSBO, Float, Space
from numbo.optuna import CurvePruner, GSSBOSampler

STEPS, RUNNING = 12, (2, 5, 9)


def trained(trial, sign=1.0, steps=STEPS, *, prune=True):
    """A loss that decays; with ``sign=-1`` a score that rises."""
    x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
    for step in range(steps):
        value = sign * ((x - 0.3) ** 2 + (y - 0.6) ** 2 + math.exp(-0.4 * step))
        trial.report(value, step)
        if prune and trial.should_prune():
            raise optuna.TrialPruned
    return value


def pruning(sign):
    """A study with complete and pruned trials, and three that run."""
    direction = "minimize" if sign > 0.0 else "maximize"
    study = optuna.create_study(sampler=GSSBOSampler(seed=0), pruner=CurvePruner(), direction=direction)
    study.optimize(lambda trial: trained(trial, sign), n_trials=40)
    for steps in RUNNING:
        trained(study.ask(), sign, steps, prune=False)
    return study


@pytest.fixture(scope="module", params=[1.0, -1.0], ids=["minimize", "maximize"])
def pruned_study(request):
    return pruning(request.param)


def curves_in(x, y):
    """The curves of a trace, which NaN separates, as sets of pairs."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    parts = np.split(np.arange(len(x)), np.flatnonzero(np.isnan(x)) + 1)
    pairs = [[(float(x[i]), float(y[i])) for i in part if not np.isnan(x[i])] for part in parts]
    return [curve for curve in pairs if curve]


def drawn_by_plotly(figure):
    return {trace.name: trace for trace in figure.data if trace.name}


def test_curves_are_those_that_were_reported(pruned_study):
    traces = drawn_by_plotly(numbo.plot.plot_curves(pruned_study))
    assert set(traces) == {"complete", "pruned", "best", "running", "expected end ± 2 sd"}
    states = optuna.trial.TrialState
    reported = {
        state: [sorted(t.intermediate_values.items()) for t in pruned_study.get_trials(states=(state,))]
        for state in (states.COMPLETE, states.PRUNED, states.RUNNING)
    }
    found = {kind: curves_in(traces[kind].x, traces[kind].y) for kind in ("complete", "pruned", "best", "running")}
    assert all(reported.values())
    assert sorted(found["complete"] + found["best"]) == sorted(reported[states.COMPLETE])
    assert found["best"] == [sorted(pruned_study.best_trial.intermediate_values.items())]
    assert sorted(found["pruned"]) == sorted(reported[states.PRUNED])
    assert found["running"] == reported[states.RUNNING]
    # where they were stopped, or are now
    running = traces["running"]
    assert [running.x[i] for i in np.flatnonzero(running.marker.size)] == [steps - 1 for steps in RUNNING]
    assert np.count_nonzero(traces["pruned"].marker.size) == len(reported[states.PRUNED])
    assert not np.any(traces["complete"].marker.size)


def test_expected_ends_are_those_of_the_model(pruned_study):
    figure = numbo.plot.plot_curves(pruned_study)
    pruned, running = (trace for trace in figure.data if trace.name == "expected end ± 2 sd")
    known = pruned_study.sampler.inspected(pruned_study)[0].curves()
    expected = [curve for curve in known if curve.kind == "running"]
    np.testing.assert_array_equal(running.y, [curve.end for curve in expected])
    np.testing.assert_array_equal(running.error_y.array, [2.0 * curve.std for curve in expected])
    for trial, end in zip(pruned_study.trials[-len(RUNNING) :], running.y, strict=True):  # by the last fit and by all
        value, std = pruned_study.sampler.predict_end(trial, pruned_study)
        assert abs(value - end) < std
    sign = 1.0 if pruned_study.direction == optuna.study.StudyDirection.MINIMIZE else -1.0
    best = sorted((curve.end for curve in known if curve.kind == "pruned"), key=lambda end: sign * end)[:12]
    np.testing.assert_array_equal(pruned.y, best)
    at = [*running.x, *pruned.x]
    assert min(at) > STEPS - 1
    assert len(set(at)) == len(at)
    for ends, colour in ((running, "running"), (pruned, "pruned")):
        ways = [trace for trace in figure.data if trace.line.dash and trace.line.color == ends.marker.color]
        assert [way[-1] for way in curves_in(ways[0].x, ways[0].y)] == list(zip(ends.x, ends.y, strict=True))
        lasts = [curve[-1] for curve in curves_in(*(drawn_by_plotly(figure)[colour][axis] for axis in "xy"))]
        assert {way[0] for way in curves_in(ways[0].x, ways[0].y)} <= set(lasts)


def test_both_libraries_draw_the_same_curves(pruned_study):
    figure = numbo.plot.plot_curves(pruned_study)
    ax = numbo.plot.matplotlib.plot_curves(pruned_study)[0]
    ax.figure.canvas.draw()
    assert (ax.get_xlabel(), ax.get_ylabel()) == (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("step", "objective")
    assert ax.figure.get_suptitle() == figure.layout.title.text == "Learning curves of 43 trials"
    assert ax.get_ylim() == figure.layout.yaxis.range
    lines = {line.get_label(): line for line in ax.get_lines()}
    traces = drawn_by_plotly(figure)
    for kind in ("complete", "pruned", "best", "running"):
        np.testing.assert_array_equal(lines[kind].get_xdata(), traces[kind].x)
        np.testing.assert_array_equal(lines[kind].get_ydata(), traces[kind].y)
        np.testing.assert_array_equal(lines[kind].get_markevery(), np.flatnonzero(traces[kind].marker.size))
    bars = [bar for bar in ax.containers if bar.get_label() == "expected end ± 2 sd"]
    ends = [trace for trace in figure.data if trace.name == "expected end ± 2 sd"]
    for bar, trace in zip(bars, ends, strict=True):
        np.testing.assert_array_equal(bar.lines[0].get_xdata(), trace.x)
        np.testing.assert_array_equal(bar.lines[0].get_ydata(), trace.y)
        heights = [np.ptp(segment[:, 1]) for segment in bar.lines[2][0].get_segments()]
        np.testing.assert_allclose(heights, 2.0 * np.asarray(trace.error_y.array))
    shown = [text.get_text() for text in ax.figure.legends[0].get_texts()]
    assert shown == [trace.name for trace in figure.data if trace.name and trace.showlegend is not False]


def reporting(curves, **settings):
    """An optimizer that was told these curves at points side by side: the values by step, and whether it is final."""
    opt = configured(GSSBO, {"x": Float(0.0, 1.0)}, seed=0, **settings)
    for k, (values, final) in enumerate(curves):
        p = {"x": (k + 0.5) / len(curves)}
        opt.tell(p, values[-1], partial=not final, reports=dict(enumerate(values)))
    return opt


def test_infinite_and_large_values_do_not_hide_the_others():
    curves = [([2.0, 1.5, 1.0 + 0.01 * k, 1.0], True) for k in range(40)]
    curves += [([3.0, math.inf, 2.0, 2.0], True), ([1e9, math.inf], False), ([math.inf, math.inf], False)]
    curves += [([2.0, 1e12, 1e308, 1.0], True)]
    opt = reporting(curves)
    figure = numbo.plot.plot_curves(opt)
    assert 0.0 < figure.layout.yaxis.range[0] < 1.0  # with some of the deviations of expected ends
    assert 2.0 < figure.layout.yaxis.range[1] < 3.0
    for trace in figure.data:
        assert not np.isinf(np.asarray(trace.y, dtype=float)).any()
    complete = drawn_by_plotly(figure)["complete"]
    assert [value for value in complete.y if value == 3.0] == [3.0]
    alone = np.flatnonzero(complete.marker.size)  # a value between two gaps
    assert [complete.y[i] for i in alone] == [3.0, 1.0]
    assert figure.to_json()
    numbo.plot.matplotlib.plot_curves(opt)[0].figure.canvas.draw()


@pytest.mark.parametrize("value", [1.0, math.inf])
def test_curves_that_say_nothing_are_drawn(value):
    opt = reporting([([value, value], True), ([value], False)])
    assert numbo.plot.plot_curves(opt).layout.yaxis.range is None
    numbo.plot.matplotlib.plot_curves(opt)[0].figure.canvas.draw()


def test_trials_that_run_are_drawn_before_any_has_ended():
    opt = GSSBO({"x": Float(0.0, 1.0)}, seed=0)
    opt.report(opt.ask(), 1, 0.5)
    figure = numbo.plot.plot_curves(opt)
    assert [trace.name for trace in figure.data] == ["running"]  # nothing is known of its end
    assert (list(figure.data[0].x)[:1], list(figure.data[0].y)[:1]) == ([1.0], [0.5])
    numbo.plot.matplotlib.plot_curves(opt)[0].figure.canvas.draw()


def test_there_are_no_steps_beyond_the_last(pruned_study):
    ticks = numbo.plot.plot_curves(pruned_study).layout.xaxis.tickvals
    assert ticks == (0, 2, 4, 6, 8, 10)
    assert list(numbo.plot.matplotlib.plot_curves(pruned_study)[0].get_xticks()) == list(ticks)


def test_curves_of_failures_are_left_out():
    opt = reporting([([2.0, 1.0], True), ([3.0, math.nan], True), ([2.0, 1.5], True)])
    traces = drawn_by_plotly(numbo.plot.plot_curves(opt))
    assert curves_in(traces["best"].x, traces["best"].y) == [[(0.0, 2.0), (1.0, 1.0)]]
    assert curves_in(traces["complete"].x, traces["complete"].y) == [[(0.0, 2.0), (1.0, 1.5)]]


def test_thousands_of_curves_are_few_traces():
    curves = [([2.0, 1.0 + k / 2000, 1.0 + k / 2000][: 3 - k % 2], k % 2 == 0) for k in range(2000)]
    opt = GSSBO({"x": Float(0.0, 1.0)}, seed=0)
    for k, (values, final) in enumerate(curves):  # nothing is asked for, and no model is fitted
        opt.tell({"x": k / 2000}, values[-1], partial=not final, reports=dict(enumerate(values)))
    figure = numbo.plot.plot_curves(opt)
    assert len(figure.data) <= 6
    traces = drawn_by_plotly(figure)
    assert figure.layout.title.text == "Learning curves of the newest 500 of 2000 trials"
    assert sum(len(curves_in(traces[kind].x, traces[kind].y)) for kind in ("complete", "pruned")) == 500
    assert curves_in(traces["best"].x, traces["best"].y) == [[(0.0, 2.0), (1.0, 1.0), (2.0, 1.0)]]  # the first one
    assert min(value for kind in ("complete", "pruned") for value in traces[kind].y if not math.isnan(value)) == 1.75
    ax = numbo.plot.matplotlib.plot_curves(opt)[0]
    assert len(ax.get_lines()) <= 12
    assert len(traces["expected end ± 2 sd"].y) == 12


def test_without_curves_there_is_nothing_to_draw(study, optimizer):
    for library in (numbo.plot, numbo.plot.matplotlib):
        for source in (study, optimizer, GSSBO(Space(SPACE))):
            with pytest.raises(ValueError, match=r"no trial that did not fail has reported anything\."):
                library.plot_curves(source)
        for opt in (reporting([([2.0, 1.0], True)], use_curves=False), BBKB(SPACE, seed=0)):
            with pytest.raises(ValueError, match="does not use the curves of trials"):
                library.plot_curves(opt)


def test_curves_of_a_searcher():
    tune = pytest.importorskip("ray.tune", reason="Ray Tune is not installed: pip install 'numbo[ray]'")
    from numbo.ray import GSSBOSearch

    searcher = GSSBOSearch({"x": tune.uniform(0.0, 1.0)}, metric="score", mode="max", seed=0)
    for i in range(4):
        x = searcher.suggest(str(i))["x"]
        for step in range(1, 4):
            result = {"score": x - 1.0 / step, "training_iteration": step}
            searcher.on_trial_result(str(i), result)
        if i < 3:
            searcher.on_trial_complete(str(i), result)
    traces = drawn_by_plotly(numbo.plot.plot_curves(searcher))
    assert curves_in(traces["running"].x, traces["running"].y)[0] == [
        (s, pytest.approx(x - 1.0 / s)) for s in (1, 2, 3)
    ]
    assert len(curves_in(traces["complete"].x, traces["complete"].y)) == 2
    numbo.plot.matplotlib.plot_curves(searcher)
