"""The plots: what they show is what the model says, in the terms of the framework, by either library."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np
import optuna
import pytest
from matplotlib.text import Text
from tests.plot.shown import NAMES, SPACE

import numbo.plot
import numbo.plot.matplotlib
from numbo import BBKB, GSSBO, Categorical, Float, Int, Space
from numbo.optuna import BBKBSampler


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
    figure = numbo.plot.plot_posterior(study, ["x"])
    ax = numbo.plot.matplotlib.plot_posterior(study, ["x"])[0]
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


@pytest.mark.parametrize(("low", "high"), [(10.0, 15.0), (16.0, 256.0), (1e-6, 1.0)])
def test_logarithmic_axes_have_labels_that_do_not_overlap(low, high):
    opt = GSSBO(Space({"a": Float(low, high, log=True), "b": Float(low, high, log=True)}), seed=0, n_initial=4)
    for _ in range(6):
        p = opt.ask()
        opt.tell(p, p["a"] / p["b"])
    panel = numbo.plot.matplotlib.plot_posterior(opt)[0]
    plane = numbo.plot.matplotlib.plot_contour(opt, ["a", "b"])[0]
    for ax, axis in ((panel, panel.xaxis), (plane, plane.xaxis), (plane, plane.yaxis)):
        ax.figure.canvas.draw()
        labels = [label for label in axis.get_ticklabels(which="both") if label.get_text()]
        drawn = sorted((label.get_window_extent() for label in labels), key=lambda box: box.x0 + box.y0)
        visible = [box for box in drawn if ax.get_window_extent().padded(20).overlaps(box)]
        assert len(visible) >= 3
        assert not any(a.overlaps(b) for a, b in itertools.pairwise(visible))


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


def without(package, program):
    """What ``program`` does where a ``package`` is not installed."""
    command = [sys.executable, "-c", f"import sys; sys.modules[{package!r}] = None\n{program}"]
    environment = os.environ | {"MPLBACKEND": "agg"}
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_what_cannot_be_plotted_is_said(study, optimizer):
    with pytest.raises(ValueError, match=r"names of searched parameters.*got \['y'\]"):
        numbo.plot.plot_posterior(study, ["y"])
    with pytest.raises(TypeError, match="an optimizer of numbo, an Optuna study"):
        numbo.plot.plot_relevance(optuna.create_study())
    with pytest.raises(TypeError, match="got 3"):
        numbo.plot.plot_relevance(3)
    with pytest.raises(TypeError, match=r"an instance such as GSSBO\(\), got the class GSSBO\.$"):
        numbo.plot.plot_relevance(GSSBO)
    with pytest.raises(TypeError, match=r"got the class BBKBSampler as the sampler of a study\.$"):
        numbo.plot.plot_relevance(optuna.create_study(sampler=BBKBSampler))
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


@pytest.mark.parametrize(
    ("program", "module", "package"),
    [
        ("from numbo.plot import plot_front", "numbo.plot", "plotly"),
        ("import numbo.plot\nnumbo.plot.plot_front", "numbo.plot", "plotly"),
        ("import numbo.plot.matplotlib", "numbo.plot.matplotlib", "matplotlib"),
    ],
)
def test_a_missing_library_is_named(program, module, package):
    result = without(package, program)
    needed = f"ImportError: {module} needs {package.capitalize()}, which is not installed: pip install 'numbo[plot]'."
    assert result.stderr.strip().splitlines()[-1] == needed


def test_each_library_draws_without_the_other():
    told = "import numbo\nopt = numbo.GPUCB({'x': numbo.Float(0, 1)}, seed=0)\nopt.tell(opt.ask(), 1.0)\n"
    drawn = without("plotly", told + "import numbo.plot.matplotlib as plot\nprint(len(plot.plot_ask_times(opt)))")
    assert (drawn.stdout, drawn.stderr) == ("1\n", "")
    drawn = without("matplotlib", told + "import numbo.plot as plot\nprint(len(plot.plot_ask_times(opt).data))")
    assert (drawn.stdout, drawn.stderr) == ("1\n", "")


def test_what_is_no_plot_is_no_attribute():
    assert set(numbo.plot.__all__) <= set(dir(numbo.plot))
    with pytest.raises(AttributeError, match=r"^module 'numbo\.plot' has no attribute 'plot_nothing'$"):
        _ = numbo.plot.plot_nothing


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


@pytest.mark.parametrize("name", ["plot_posterior", "plot_contour", "plot_relevance"])
def test_names_and_categories_are_no_formulas(name):
    opt = GSSBO({"$a_$": Float(0.0, 1.0), "$^$": Categorical(["$_$", "b"])}, seed=0)
    for _ in range(4):
        params = opt.ask()
        opt.tell(params, params["$a_$"])
    figure = getattr(numbo.plot.matplotlib, name)(opt)[0].figure
    figure.canvas.draw()  # a formula that cannot be read is an error
    shown = {text.get_text() for text in figure.findobj(Text)}
    assert {"$a_$", "$^$"} <= shown
