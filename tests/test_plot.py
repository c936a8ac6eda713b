"""The plots: what they show is what the model says, in the terms of the framework, by either library."""

from __future__ import annotations

import math
import subprocess
import sys
import warnings

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest
from numbo.optuna import BBKBSampler, CurvePruner, GSSBOSampler
from numbo.ray import GSSBOSearch
from tests.configured import configured

import numbo.plot
import numbo.plot.matplotlib
import optuna
from numbo import BBKB, GSSBO, Categorical, Float, Int, Space
from ray import tune

SPACE = {"x": Float(1e-4, 1.0, log=True), "k": Int(1, 9), "act": Categorical(["relu", "tanh"])}
OTHERS = ("plot_batch_sizes", "plot_curves", "plot_front", "plot_hypervolume")
NAMES = [name for name in numbo.plot.__all__ if name not in OTHERS]


def objective(p):
    return (np.log10(p["x"]) + 2.0) ** 2 + 0.1 * p["k"] + 0.5 * (p["act"] == "tanh")


@pytest.fixture(scope="module")
def study():
    def trained(trial):
        x = trial.suggest_float("x", 1e-4, 1.0, log=True)
        if trial.number == 7:
            raise optuna.TrialPruned
        return objective(
            {"x": x, "k": trial.suggest_int("k", 1, 9), "act": trial.suggest_categorical("act", ["relu", "tanh"])}
        )

    study = optuna.create_study(sampler=GSSBOSampler(seed=0, buffer_size=20))
    study.optimize(trained, n_trials=50)
    return study


@pytest.fixture(scope="module")
def searcher():
    space = {
        "x": tune.loguniform(1e-4, 1.0),
        "net": {"k": tune.quniform(1, 9, 0.5), "act": tune.choice([np.tanh, None])},
    }
    searcher = GSSBOSearch(space, metric="loss", mode="min", seed=0)
    for i in range(30):
        config = searcher.suggest(str(i))
        searcher.on_trial_complete(str(i), {"loss": float(config["net"]["k"] + (config["net"]["act"] is None))})
    return searcher


@pytest.fixture(scope="module")
def optimizer():
    opt = GSSBO(SPACE, seed=0)
    for _ in range(30):
        p = opt.ask()
        opt.tell(p, objective(p))
    return opt


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("source", ["study", "searcher", "optimizer"])
@pytest.mark.parametrize("name", NAMES)
def test_every_plot_of_every_source_by_both_libraries(name, source, request):
    source = request.getfixturevalue(source)
    figure = getattr(numbo.plot, name)(source)
    assert figure.layout.title.text
    assert all(
        len(trace.y if trace.y is not None else trace.z) for trace in figure.data if trace.name != "observations"
    )
    assert figure.to_json()
    axes = getattr(numbo.plot.matplotlib, name)(source)
    axes[0].figure.canvas.draw()
    assert axes[0].figure.get_suptitle() == figure.layout.title.text


def test_the_posterior_along_a_parameter_is_that_of_the_model(study):
    figure = numbo.plot.plot_posterior(study, ["x"])
    mean = next(trace for trace in figure.data if trace.name == "mean")
    best, _ = study.sampler.best_predicted(study)
    expected, std = study.sampler.predict([best | {"x": float(x)} for x in mean.x], study)
    np.testing.assert_allclose(mean.y, expected)
    band = next(trace for trace in figure.data if trace.name == "± 2 sd")
    np.testing.assert_allclose(band.y[: len(expected)], expected + 2 * std)
    assert figure.layout.xaxis.type == "log"
    assert (min(mean.x), max(mean.x)) == (pytest.approx(1e-4), pytest.approx(1.0))


def test_both_libraries_draw_the_same(study):
    figure = numbo.plot.plot_posterior(study, ["k"])
    ax = numbo.plot.matplotlib.plot_posterior(study, ["k"])[0]
    mean = next(trace for trace in figure.data if trace.name == "mean")
    line = next(line for line in ax.get_lines() if line.get_label() == "mean")
    np.testing.assert_allclose(mean.x, line.get_xdata())
    np.testing.assert_allclose(mean.y, line.get_ydata())


def test_the_subset_is_marked(study):
    found = study.sampler.explain(study)
    figure = numbo.plot.plot_subset(study)
    marked = next(trace for trace in figure.data if trace.name == "in the model")
    rest = next(trace for trace in figure.data if trace.name == "observations")
    assert len(found.members) == 20
    assert set(marked.x) | set(rest.x) == set(range(50)) - {7}  # a failure has no value to show
    assert set(marked.x) == set(found.members.tolist()) - {7}
    complete = {t.number: t.value for t in study.trials if t.value is not None}
    assert all(y == complete[x] for x, y in zip(marked.x, marked.y, strict=True))


def test_categories_and_steps_are_shown_as_the_user_wrote_them(study, searcher):
    category = numbo.plot.plot_posterior(study, ["act"])
    assert next(t for t in category.data if t.name == "mean ± 2 sd").x == ("relu", "tanh")
    tuned = numbo.plot.plot_posterior(searcher, ["net/k", "net/act"])
    steps = next(t for t in tuned.data if t.name == "mean").x
    assert list(steps) == [1 + 0.5 * i for i in range(17)]
    assert next(t for t in tuned.data if t.name == "mean ± 2 sd").x == (str(np.tanh), "None")


def test_a_contour_takes_two_parameters_of_any_kind(study):
    figure = numbo.plot.plot_contour(study, ["act", "k"])
    surface = figure.data[0]
    assert list(surface.x) == ["relu", "tanh"]
    assert np.shape(surface.z) == (9, 2)
    best, _ = study.sampler.best_predicted(study)
    assert surface.z[3][1] == pytest.approx(study.sampler.predict(best | {"k": 4, "act": "tanh"}, study)[0])
    numbo.plot.matplotlib.plot_contour(study, ["act", "k"])[0].figure.canvas.draw()
    for names in (["x"], ["x", "x"], ["x", "k", "act"]):
        with pytest.raises(ValueError, match="two different parameters"):
            numbo.plot.plot_contour(study, names)


def test_awkward_parameters():
    choices = [1, "1", None, "None", *range(2, 50)]
    space = {"log": Int(1, 20, log=True), "many": Categorical(choices), "one": Float(2.0, 2.0), "x": Float(0, 1)}
    opt = GSSBO(space, seed=0)
    for _ in range(20):
        p = opt.ask()
        opt.tell(p, p["log"] + p["x"])
    shown = {axis.title.text: trace for axis, trace in zip(*panels(numbo.plot.plot_posterior(opt)), strict=True)}
    assert list(shown["log"].x) == list(range(1, 21))
    assert len(set(shown["many"].x)) == len(choices)
    for library in (numbo.plot, numbo.plot.matplotlib):
        library.plot_posterior(opt)
        library.plot_contour(opt)
        library.plot_contour(opt, ["many", "log"])
        with pytest.raises(ValueError, match="several values each"):
            library.plot_contour(opt, ["one", "x"])
        for wrong in ([], "x"):
            with pytest.raises(ValueError, match="must be a sequence of names"):
                library.plot_posterior(opt, wrong)


def panels(figure):
    """The axes of a figure's panels and the mean drawn in each."""
    means = [trace for trace in figure.data if trace.name in ("mean", "mean ± 2 sd")]
    return [figure.layout[trace.xaxis.replace("x", "xaxis")] for trace in means], means


def test_batches():
    study = optuna.create_study(sampler=BBKBSampler(seed=0))
    study.optimize(lambda t: t.suggest_float("x", 0, 1) ** 2, n_trials=25)
    figure = numbo.plot.plot_batch_sizes(study)
    assert tuple(figure.data[0].y) == study.sampler.explain().batch_sizes
    assert numbo.plot.matplotlib.plot_batch_sizes(study)[0].patches


def test_ask_times(study):
    figure = numbo.plot.plot_ask_times(study)
    assert len(figure.data[0].x) >= 45
    assert min(figure.data[0].y) > 0.0


def test_what_cannot_be_plotted_is_said(study, optimizer):
    with pytest.raises(ValueError, match=r"names of searched parameters.*got \['y'\]"):
        numbo.plot.plot_posterior(study, ["y"])
    with pytest.raises(TypeError, match="an optimizer of numbo, an Optuna study"):
        numbo.plot.plot_relevance(optuna.create_study())
    with pytest.raises(TypeError, match="got 3"):
        numbo.plot.plot_relevance(3)
    with pytest.raises(ValueError, match="No batch has ended"):
        numbo.plot.plot_batch_sizes(optimizer)
    with pytest.raises(ValueError, match="at least one successful observation"):
        numbo.plot.plot_relevance(GSSBO(Space(SPACE)))
    arms = BBKB(arms=np.random.default_rng(0).random((20, 2)), seed=0)
    for _ in range(5):
        arms.tell(arms.ask(), 1.0)
    assert numbo.plot.plot_relevance(arms).data
    with pytest.raises(ValueError, match="the rows of a table, and arms, have none"):
        numbo.plot.plot_posterior(arms)


@pytest.mark.parametrize(("module", "package"), [("numbo.plot", "plotly"), ("numbo.plot.matplotlib", "matplotlib")])
def test_a_missing_library_is_named(module, package):
    code = f"import sys; sys.modules[{package!r}] = None\nimport {module}"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stderr.strip().endswith("which is not installed: pip install 'numbo[plot]'.")
    assert result.stderr.strip().splitlines()[-1].lower().startswith(f"importerror: {module}".lower())


def test_a_sampler_inside_of_another_is_found(study):
    base = study.sampler
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.sampler = optuna.samplers.PartialFixedSampler({"k": 2}, base)
    try:
        axes = numbo.plot.matplotlib.plot_relevance(study)
    finally:
        study.sampler = base
    assert isinstance(axes, np.ndarray)
    plt.close(axes[0].figure)


@pytest.fixture(scope="module")
def branching():
    """A space of two branches, of which one has a branch that no observation has."""
    space = {
        "kind": Categorical(["a", "b"]),
        "rate": Float(0.0, 1.0),
        "slope": Float(0.0, 1.0, when={"kind": "a"}),
        "width": Int(1, 9, when={"kind": "b"}),
        "never": Float(0.0, 1.0, when={"width": 9, "kind": "a"}),
    }
    opt, rng = GSSBO(space, seed=0), np.random.default_rng(0)
    for x in opt.space.snap(rng.random((40, 5))):
        p = opt.space.decode(x)
        opt.tell(p, p["rate"] + (3.0 * (p["slope"] - 0.3) ** 2 if p["kind"] == "a" else 1.0 + 0.1 * p["width"]))
    return opt


def test_a_conditional_parameter_is_drawn_within_its_branch(branching):
    subject = numbo.plot._data.Subject(branching)
    shown = {one.axis.name: one for one in subject.slices(None)}
    assert list(shown) == ["kind", "rate", "slope", "width"]
    X, _ = branching.observations
    assert len(shown["width"].x) == np.sum(X[:, 3] >= 0.0) < 40
    for k, mean in zip(shown["width"].axis.values, shown["width"].mean, strict=True):
        best = branching.snapshot().best_predicted(["width"])[0]
        assert branching.predict(best | {"width": k})[0] == pytest.approx(mean)
    assert shown["slope"].mean[30] < shown["slope"].mean[-1]
    # the other branch is entered with the values that are known to be good there
    a, b = shown["kind"].mean
    assert a == pytest.approx(branching.best_predicted()[1], abs=0.2)
    assert b > 0.9


def test_a_contour_of_a_parameter_and_its_parent_has_no_value_where_it_is_inactive(branching):
    plane = numbo.plot._data.Subject(branching).contour(["kind", "slope"])
    np.testing.assert_array_equal(np.isnan(plane.mean), np.tile([False, True], (len(plane.second.values), 1)))
    assert numbo.plot.plot_contour(branching).data
    with pytest.raises(
        ValueError, match="some observation has, got \\['slope', 'width'\\]; slope is used where kind is a"
    ):
        numbo.plot.plot_contour(branching, ["slope", "width"])
    with pytest.raises(ValueError, match="never is used where width is 9 and kind is a"):
        numbo.plot.plot_posterior(branching, ["never"])


@pytest.mark.parametrize("name", NAMES)
def test_every_plot_of_a_space_that_branches(name, branching):
    if name != "plot_ask_times":
        assert getattr(numbo.plot, name)(branching).data
        getattr(numbo.plot.matplotlib, name)(branching)
        plt.close("all")


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
    assert figure.layout.yaxis.range[0] == pytest.approx(1.0, abs=0.1)
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


def test_curves_of_failures_are_left_out():
    opt = reporting([([2.0, 1.0], True), ([3.0, math.nan], True), ([2.0, 1.5], True)])
    traces = drawn_by_plotly(numbo.plot.plot_curves(opt))
    assert curves_in(traces["best"].x, traces["best"].y) == [[(0.0, 2.0), (1.0, 1.0)]]
    assert curves_in(traces["complete"].x, traces["complete"].y) == [[(0.0, 2.0), (1.0, 1.5)]]


def test_thousands_of_curves_are_few_traces():
    curves = [([2.0, 1.0 + k / 2000, 1.0 + k / 2000][: 3 - k % 2], k % 2 == 0) for k in range(2000)]
    opt = GSSBO({"x": Float(0.0, 1.0)}, seed=0)
    for k, (values, final) in enumerate(curves):  # nothing is asked for, and no model is fitted
        opt._run.history.add(
            np.array([k / 2000]),
            np.array([-values[-1]]),
            {"x": k / 2000},
            -2,
            final=final,
            curve=opt._run.goal.curve(dict(enumerate(values))),
        )
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


def limited(p):
    """A feasible region with a curved border, which the optimum is outside of."""
    return (p["x"] - 0.25) ** 2 + 1.4 * (p["y"] - 0.3) ** 2 - 0.13


def under_a_limit(trials, shift=0.0, **settings):
    opt = GSSBO({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}, seed=0, constraints=("c",), **settings)
    for _ in range(trials):
        p = opt.ask()
        opt.tell(p, (p["x"] - 0.8) ** 2 + (p["y"] - 0.7) ** 2, constraints={"c": limited(p) + shift})
    return opt


@pytest.fixture(scope="module")
def constrained():
    return under_a_limit(40, buffer_size=20)


@pytest.fixture(scope="module")
def infeasible():
    return under_a_limit(20, shift=1.0)


@pytest.mark.parametrize("source", ["constrained", "infeasible"])
@pytest.mark.parametrize("name", NAMES)
def test_every_plot_under_constraints(name, source, request):
    source = request.getfixturevalue(source)
    figure = getattr(numbo.plot, name)(source)
    assert figure.to_json()
    axes = getattr(numbo.plot.matplotlib, name)(source)
    axes[0].figure.canvas.draw()
    assert axes[0].figure.get_suptitle() == figure.layout.title.text


def test_a_contour_shows_where_constraints_hold(constrained):
    figure = numbo.plot.plot_contour(constrained, ["x", "y"])
    borders = [trace for trace in figure.data if trace.name == "infeasible: the pale side"]
    assert [trace.showlegend for trace in borders] == [True, False]
    border = borders[0]
    assert (border.contours.operation, border.contours.value) == (">", 0.5)  # Plotly shades what does not meet it
    for i, j in ((0, 0), (40, 40), (12, 10), (20, 30)):
        probability = constrained.predict_feasible({"x": float(border.x[j]), "y": float(border.y[i])})
        assert border.z[i][j] == pytest.approx(probability)
    assert border.z[12][10] > 0.5 > border.z[40][40]
    ax = numbo.plot.matplotlib.plot_contour(constrained, ["x", "y"])[0]
    dashed = [
        path.vertices
        for collection in ax.collections
        if collection.get_linestyle()[0][1] is not None
        for path in collection.get_paths()
    ]
    (line,) = [vertices for vertices in dashed if len(vertices)]
    found = constrained.predict_feasible([{"x": float(x), "y": float(y)} for x, y in line])
    assert np.median(np.abs(found - 0.5)) < 0.25  # between the points of the grid it is steep
    assert "infeasible: the pale side" in [text.get_text() for text in ax.figure.legends[0].get_texts()]


@pytest.mark.parametrize("name", ["plot_contour", "plot_posterior", "plot_subset"])
def test_what_violates_a_constraint_is_a_cross(name, constrained):
    X, y = constrained.observations
    violated = np.array([limited({"x": x, "y": y}) > 0.0 for x, y in X])
    np.testing.assert_array_equal(constrained.snapshot().met, ~violated)
    kept = np.isin(np.arange(40), constrained.explain().members)
    figure = getattr(numbo.plot, name)(constrained)
    for label, rows in (
        ("observations", ~kept & ~violated),
        ("observations, infeasible", ~kept & violated),
        ("in the model", kept & ~violated),
        ("in the model, infeasible", kept & violated),
    ):
        trace = next(trace for trace in figure.data if trace.name == label)
        assert trace.marker.symbol == ("x" if "infeasible" in label else "circle")
        shown = X[rows, 1] if name == "plot_contour" and figure.layout.yaxis.title.text == "y" else y[rows]
        if name != "plot_contour" or figure.layout.yaxis.title.text == "y":
            np.testing.assert_allclose(trace.y, shown)
    ax = getattr(numbo.plot.matplotlib, name)(constrained)[0]
    sizes = {one.get_label(): len(one.get_offsets()) for one in ax.collections if one.get_label() in GROUPED}
    assert sizes == {label: len(next(t for t in figure.data if t.name == label).x) for label in GROUPED}


GROUPED = ("observations", "observations, infeasible", "in the model", "in the model, infeasible")


def test_as_long_as_nothing_is_feasible_slices_go_through_the_least_violation(infeasible):
    snapshot = infeasible.snapshot()
    assert snapshot.best_predicted() is None
    nearest = snapshot.least_violated()
    points = [infeasible.space.decode(x) for x in infeasible.observations[0]]
    assert limited(nearest) == min(map(limited, points))
    for name, what in (("plot_posterior", "Posterior"), ("plot_acquisition", "Acquisition function")):
        figure = getattr(numbo.plot, name)(infeasible)
        assert figure.layout.title.text == f"{what} through the point of least violation: none is feasible"
        assert [line.x0 for line in figure.layout.shapes] == [nearest["x"], nearest["y"]]
    figure = numbo.plot.plot_contour(infeasible, ["y", "x"])
    assert figure.layout.title.text == "Posterior through the point of least violation: none is feasible"
    border = next(trace for trace in figure.data if trace.name == "infeasible: the pale side")
    assert np.max(border.z) < 0.5  # all of it is pale


def test_a_branch_where_nothing_is_feasible(branching):
    opt = GSSBO(branching.space, seed=0, constraints=("c",))
    for x, value in zip(*branching.observations, strict=True):
        p = opt.space.decode(x)
        opt.tell(p, value, constraints={"c": p["slope"] - 0.5 if p["kind"] == "a" else p["width"]})
    snapshot = opt.snapshot()
    assert snapshot.best_predicted(["width"]) is None
    assert snapshot.least_violated(["width"])["kind"] == "b"
    assert snapshot.least_violated(["never"]) is None
    expected = "Posterior through the best predicted point, or, where none is feasible, the least violation"
    assert numbo.plot.plot_posterior(opt).layout.title.text == expected
    plane = numbo.plot._data.Subject(opt).contour(["kind", "slope"])
    np.testing.assert_array_equal(np.isnan(plane.probability), np.isnan(plane.mean))
    assert numbo.plot.plot_contour(opt, ["kind", "slope"]).to_json()
    numbo.plot.matplotlib.plot_contour(opt, ["kind", "slope"])[0].figure.canvas.draw()
    with pytest.raises(ValueError, match="never is used where width is 9 and kind is a"):
        numbo.plot.plot_posterior(opt, ["never"])


def test_constraints_of_a_study_and_of_a_searcher_are_drawn():
    study = optuna.create_study(sampler=GSSBOSampler(seed=0, constraints_func=lambda t: [0.5 - t.params["x"]]))
    study.optimize(lambda t: t.suggest_float("x", 0.0, 1.0) + t.suggest_float("y", 0.0, 1.0), n_trials=20)
    space = {"x": tune.uniform(0.0, 1.0), "y": tune.uniform(0.0, 1.0)}
    searcher = GSSBOSearch(space, "loss", "min", seed=0, constraints={"loss": (">=", 0.5)})
    for i in range(20):
        config = searcher.suggest(str(i))
        searcher.on_trial_complete(str(i), {"loss": config["x"] + config["y"]})
    for source in (study, searcher):
        figure = numbo.plot.plot_contour(source)
        assert {"infeasible: the pale side", "in the model, infeasible"} <= {trace.name for trace in figure.data}


def test_without_constraints_nothing_is_said_of_them(optimizer):
    figure = numbo.plot.plot_contour(optimizer)
    assert not [trace for trace in figure.data if trace.name and "infeasible" in trace.name]
    assert optimizer.snapshot().constraints == ()
    assert optimizer.snapshot().met.all()
