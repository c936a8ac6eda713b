"""The plots of several objectives: the front, what is expected beyond it, hypervolumes, and one of them at a time."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from tests.helpers import configured

import numbo.plot
import numbo.plot.matplotlib
from numbo import BBKB, GPUCB, GSSBO, Categorical, Float
from numbo.trials.front import non_dominated

SPACE = {"x": Float(0.0, 1.0), "y": Float(0.0, 1.0), "act": Categorical(["relu", "tanh"])}
BOTH = (numbo.plot, numbo.plot.matplotlib)
BEYOND = "expected beyond it ± 1 sd"


def values(p, k=2):
    """Small is good of the first, and large of the second; each further one is small elsewhere."""
    waste = (p["y"] - 0.4) ** 2 + 0.1 * (p["act"] == "tanh")
    return (100.0 * (p["x"] + waste), math.sqrt(p["x"]) - waste, *((p["x"] - 0.3 * j) ** 2 for j in range(k - 2)))


DIRECTIONS = ("minimize", "maximize", "minimize", "minimize", "minimize")


def searched(trials, k=2, cls=GSSBO, noise=0.0, **settings):
    opt, rng = configured(cls, SPACE, directions=DIRECTIONS[:k], seed=0, **settings), np.random.default_rng(0)
    for _ in range(trials):
        p = opt.ask()
        limits = {"constraints": {"c": 0.3 - p["x"]}} if settings.get("constraints") else {}
        scale = np.array([20.0, 0.2, *[0.1] * (k - 2)])
        opt.tell(p, values(p, k) + noise * scale * rng.normal(size=k), **limits)
    return opt


@pytest.fixture(scope="module")
def two():
    return searched(20)


@pytest.fixture(scope="module")
def three():
    return searched(25, 3)


@pytest.fixture(scope="module")
def five():
    return searched(20, 5)


@pytest.fixture(scope="module")
def noisy():
    return searched(70, noise=1.0)


@pytest.fixture(scope="module")
def limited():
    return searched(30, constraints=("c",))


def traces(figure):
    return {trace.name: trace for trace in figure.data if trace.name}


def points(trace):
    axes = "xyz" if trace.type == "scatter3d" else "xy"
    return np.stack([getattr(trace, axis) for axis in axes], axis=1)


@pytest.mark.parametrize("source", ["two", "three", "noisy", "limited"])
@pytest.mark.parametrize("name", ["plot_front", "plot_hypervolume"])
def test_both_libraries_draw(name, source, request):
    source = request.getfixturevalue(source)
    figure = getattr(numbo.plot, name)(source)
    assert figure.to_json()
    axes = getattr(numbo.plot.matplotlib, name)(source)
    axes[0].figure.canvas.draw()
    assert axes[0].figure.get_suptitle() == figure.layout.title.text
    shown = [text.get_text() for legend in axes[0].figure.legends for text in legend.get_texts()]
    assert shown == list(traces(figure))


def test_the_front_is_that_of_the_optimizer(two):
    figure = numbo.plot.plot_front(two)
    found = traces(figure)
    assert set(found) == {"observations", "front", BEYOND}
    np.testing.assert_array_equal(points(found["front"]), [y for _, y in two.front()])
    np.testing.assert_array_equal(points(found["observations"]), two.observations[1])
    expected = two.snapshot().beyond_front(20)
    np.testing.assert_array_equal(points(found[BEYOND]), [mean for _, mean, _ in expected])
    for axis, std in zip("xy", np.array([std for _, _, std in expected]).T, strict=True):
        np.testing.assert_array_equal(found[BEYOND][f"error_{axis}"].array, std)
    assert figure.layout.title.text == f"{len(two.front())} of 20 observations on the front"
    p, _ = two.front()[0]
    assert found["front"].hovertext[0] == f"x {p['x']:.4g}, y {p['y']:.4g}, act {p['act']}"
    assert len(found[BEYOND].hovertext) == len(expected)


def test_the_stairs_are_the_border_of_what_is_dominated(two):
    """Just below and right of the line something dominates a point, and just beyond it nothing does."""
    figure = numbo.plot.plot_front(two)
    (stairs,) = (trace for trace in figure.data if trace.mode == "lines")
    line, signs = points(stairs), np.array([-1.0, 1.0])
    front = signs * points(traces(figure)["front"])
    tiny = 1e-9 * np.ptp(line, axis=0)
    for a, b in pairwise(line):
        assert (a == b).tolist() in ([True, False], [False, True])
        middle = signs * (a + b) / 2.0
        assert (front >= middle - tiny).all(axis=1).any()
        assert not (front >= middle + tiny).all(axis=1).any()
    (low, high), (bottom, top) = figure.layout.xaxis.range, figure.layout.yaxis.range
    assert tuple(line[0]) == (front[0, 0] * -1.0, bottom)
    assert tuple(line[-1]) == (high, front[-1, 1])
    assert low < line[:, 0].min()
    assert line[:, 1].max() < top


def test_both_libraries_draw_the_same_front(two):
    figure, ax = (
        numbo.plot.plot_front(two, names=["size", "score"]),
        numbo.plot.matplotlib.plot_front(two, ("size", "score"))[0],
    )
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("size", "score")
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == ("size", "score")
    assert (ax.get_xlim(), ax.get_ylim()) == (figure.layout.xaxis.range, figure.layout.yaxis.range)
    found = traces(figure)
    lines = {line.get_label(): line for line in ax.get_lines()}
    np.testing.assert_array_equal(np.stack(lines["front"].get_data(), axis=1), points(found["front"]))
    (bars,) = (bar for bar in ax.containers if bar.get_label() == BEYOND)
    np.testing.assert_array_equal(np.stack(bars.lines[0].get_data(), axis=1), points(found[BEYOND]))
    widths = [np.ptp(segment[:, 0]) for segment in bars.lines[2][0].get_segments()]
    np.testing.assert_allclose(widths, 2.0 * np.asarray(found[BEYOND].error_x.array), atol=1e-9)
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), points(found["observations"]))


def test_three_objectives_are_in_space_and_in_pairs(three):
    figure, axes = numbo.plot.plot_front(three), numbo.plot.matplotlib.plot_front(three)
    front = np.array([y for _, y in three.front()])
    np.testing.assert_array_equal(points(traces(figure)["front"]), front)
    assert figure.layout.scene.zaxis.title.text == "objective 2"
    assert len(axes) == 3
    for ax, (i, j) in zip(axes, ((0, 1), (0, 2), (1, 2)), strict=True):
        assert (ax.get_xlabel(), ax.get_ylabel()) == (f"objective {i}", f"objective {j}")
        (line,) = (line for line in ax.get_lines() if line.get_label() == "front")
        np.testing.assert_array_equal(np.stack(line.get_data(), axis=1), front[:, [i, j]])


def test_some_objectives_of_more_are_shown_as_if_there_were_no_others(five):
    told = five.observations[1]
    figure = numbo.plot.plot_front(five, objectives=(1, 2), names=list("abcde"))
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == ("b", "c")
    own = told[:, [1, 2]]
    expected = own[non_dominated(own * [1.0, -1.0])]
    shown = points(traces(figure)["front"])
    np.testing.assert_array_equal(shown, expected[np.argsort(-expected[:, 0])])
    assert len(shown) < len(five.front())
    for library in BOTH:
        assert len(traces(numbo.plot.plot_front(five, objectives=[0, 3, 4]))) == 3
        with pytest.raises(ValueError, match=r"^plot_front shows two or three objectives, and there are 5: choose"):
            library.plot_front(five)
        for wrong in ((0,), (0, 0), (0, 5), (0, -1), "01", 3, (0.0, 1.0), (0, 1, 2, 3), (True, False)):
            with pytest.raises(ValueError, match=r"^objectives must be two or three different integers from 0 to 4, g"):
                library.plot_front(five, objectives=wrong)
        for wrong in (["a"], "abcde", 5):
            with pytest.raises(ValueError, match=r"^names must be 5 names, one an objective; got "):
                library.plot_front(five, wrong, (0, 1))


def test_where_values_are_noisy_the_front_lies_where_it_is_expected(noisy):
    found = traces(numbo.plot.plot_front(noisy))
    front = found["front, by expected values"]
    np.testing.assert_array_equal(points(front), [y for _, y in noisy.front()])
    told, signs = points(found["observations"]), np.array([-1.0, 1.0])
    luckier = [y for y in told * signs if not (points(front) * signs >= y).all(axis=1).any()]
    assert luckier


def test_what_violates_a_constraint_is_a_cross(limited):
    found = traces(numbo.plot.plot_front(limited))
    X, told = limited.observations
    np.testing.assert_array_equal(points(found["observations, infeasible"]), told[X[:, 0] < 0.3])
    np.testing.assert_array_equal(points(found["observations"]), told[X[:, 0] >= 0.3])
    assert found["observations, infeasible"].marker.symbol == "x"
    ax = numbo.plot.matplotlib.plot_front(limited)[0]
    sizes = {one.get_label(): len(one.get_offsets()) for one in ax.collections if "observ" in one.get_label()}
    assert sizes == {name: len(found[name].x) for name in ("observations", "observations, infeasible")}


@pytest.mark.parametrize("source", ["two", "noisy", "limited"])
def test_a_legend_fits_into_its_figure(source, request):
    ax = numbo.plot.matplotlib.plot_front(request.getfixturevalue(source))[0]
    ax.figure.canvas.draw()
    (legend,) = (one.get_window_extent() for one in ax.figure.legends)
    assert 0.0 <= legend.x0 < legend.x1 <= ax.figure.bbox.x1


def test_as_long_as_nothing_is_feasible_there_is_no_front():
    opt = GSSBO(SPACE, directions=DIRECTIONS[:2], constraints=("c",), seed=0)
    for _ in range(12):
        p = opt.ask()
        opt.tell(p, values(p), constraints={"c": 1.0 + p["x"]})
    for library in BOTH:
        library.plot_front(opt)
        with pytest.raises(
            ValueError, match=r"^reference must be given as long as no trial has finite values and meets"
        ):
            library.plot_hypervolume(opt)
    assert numbo.plot.plot_front(opt).layout.title.text == "None of 12 observations on the front"
    assert not np.any(numbo.plot.plot_hypervolume(opt, (100.0, 0.0)).data[0].y)


@pytest.mark.parametrize("wild", [math.inf, -math.inf, 1e308, -1e12])
def test_wild_values_do_not_hide_the_others(wild):
    opt = searched(25)
    opt.tell({"x": 0.5, "y": 0.9, "act": "tanh"}, (40.0, wild))
    opt.tell({"x": 0.6, "y": 0.9, "act": "tanh"}, None)
    figure = numbo.plot.plot_front(opt)
    assert figure.to_json()
    numbo.plot.matplotlib.plot_front(opt)[0].figure.canvas.draw()
    assert np.ptp(figure.layout.yaxis.range) < 10.0
    numbo.plot.matplotlib.plot_hypervolume(opt)[0].figure.canvas.draw()


def test_few_observations_are_drawn():
    opt = GSSBO(SPACE, directions=DIRECTIONS[:2], seed=0)
    for library in BOTH:
        for name in ("plot_front", "plot_hypervolume"):
            with pytest.raises(ValueError, match=r"at least one successful observation|no trial has finite values"):
                getattr(library, name)(opt)
    opt.tell(opt.ask(), None)
    for told in ((1.0, 1.0), (1.0, 1.0), (2.0, 1.0)):
        opt.tell(opt.ask(), told)
        for library in BOTH:
            library.plot_front(opt)
            library.plot_hypervolume(opt)


def test_hypervolumes_are_those_of_the_optimizer(two):
    told = two.observations[1]
    worst = (told[:, 0].max(), told[:, 1].min())
    for reference in (None, (60.0, 0.3)):
        figure = numbo.plot.plot_hypervolume(two, reference)
        np.testing.assert_array_equal(figure.data[0].y, two.hypervolumes(reference or worst))
        np.testing.assert_array_equal(figure.data[0].x, np.arange(1, 21))
        line = numbo.plot.matplotlib.plot_hypervolume(two, reference)[0].get_lines()[0]
        np.testing.assert_array_equal(line.get_ydata(), figure.data[0].y)
    assert figure.layout.title.text == "Hypervolume up to the reference, (60, 0.3)"
    default = numbo.plot.plot_hypervolume(two).layout.title.text
    assert default == f"Hypervolume up to the worst values, ({worst[0]:.4g}, {worst[1]:.4g})"
    with pytest.raises(ValueError, match=r"^reference must be 2 finite numbers, one an objective; got \(1\.0,\)"):
        numbo.plot.plot_hypervolume(two, (1.0,))


def test_the_worst_values_are_those_of_feasible_trials(limited):
    X, told = limited.observations
    kept = told[X[:, 0] >= 0.3]
    title = numbo.plot.plot_hypervolume(limited).layout.title.text
    assert title == f"Hypervolume up to the worst values, ({kept[:, 0].max():.4g}, {kept[:, 1].min():.4g})"


def test_one_objective_has_no_front():
    opt = BBKB(SPACE, seed=0)
    for _ in range(3):
        opt.tell(opt.ask(), 1.0)
    for library in BOTH:
        for name in ("plot_front", "plot_hypervolume"):
            with pytest.raises(ValueError, match=rf"^{name} needs several objectives, and there is one\."):
                getattr(library, name)(opt)


ONE = ("plot_posterior", "plot_contour", "plot_acquisition", "plot_relevance", "plot_subset")


@pytest.mark.parametrize("cls", [GSSBO, GPUCB])
@pytest.mark.parametrize("name", ONE)
def test_plots_of_one_objective_show_the_first_or_the_one_that_is_chosen(name, cls):
    opt = searched(14, cls=cls)
    for library in BOTH:
        plot = getattr(library, name)
        for j, shown in ((0, plot(opt)), (1, plot(opt, objective=1))):
            title = shown.layout.title.text if library is numbo.plot else shown[0].figure.get_suptitle()
            assert title.endswith(f": objective {j}")
        with pytest.raises(ValueError, match=r"^objective must be an integer from 0 to 1, got 2"):
            plot(opt, objective=2)
    for name in ("plot_ask_times",):
        assert "objective" not in getattr(numbo.plot, name)(opt).layout.title.text


def test_what_is_shown_of_one_objective_is_its_model(two):
    for j in range(2):
        figure = numbo.plot.plot_posterior(two, ["x"], objective=j)
        best, _ = two.snapshot().objective(j).best_predicted()
        mean = next(trace for trace in figure.data if trace.name == "mean")
        expected = two.predict([best | {"x": float(x)} for x in mean.x])[0][:, j]
        np.testing.assert_allclose(mean.y, expected)
        assert figure.layout.yaxis.title.text == f"objective {j}"
        told = numbo.plot.plot_subset(two, objective=j)
        points = (trace for trace in told.data if trace.mode == "markers")
        shown = np.concatenate([np.asarray(trace.y, dtype=float) for trace in points])
        assert sorted(shown) == sorted(two.observations[1][:, j])
        relevance = numbo.plot.plot_relevance(two, objective=j).data[0]
        assert dict(zip(relevance.y, relevance.x, strict=True)) == two.explain(j).relevance


def test_an_acquisition_function_is_shown_where_it_matters(two):
    figure = numbo.plot.plot_acquisition(two)
    shown = np.concatenate([trace.y for trace in figure.data])
    low, high = figure.layout.yaxis.range or (shown.min(), shown.max())
    assert high >= shown.max()
    assert high - low <= 60.0
    ax = numbo.plot.matplotlib.plot_acquisition(two)[0]
    if figure.layout.yaxis.range:
        assert ax.get_ylim() == (low, high)


class Named:
    """A source that has names for its objectives, as studies and searchers do."""

    def __init__(self, opt, **names):
        self.__dict__.update(names)
        self.opt = opt

    def inspected(self):
        return self.opt.snapshot(), lambda name, value: value


@pytest.mark.parametrize("names", [{"metric_names": ["size", "score"]}, {"metric": ["size", "score"]}])
def test_names_are_those_of_the_source(two, names):
    source = Named(two, **names)
    figure = numbo.plot.plot_front(source)
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == ("size", "score")
    assert numbo.plot.plot_front(source, ["a", "b"]).layout.xaxis.title.text == "a"
    assert numbo.plot.plot_relevance(source, objective=1).layout.title.text.endswith(": score")
    nameless = Named(two, metric_names=None, metric="loss")
    assert numbo.plot.plot_front(nameless).layout.xaxis.title.text == "objective 0"


@pytest.mark.parametrize("names", [{"metric_names": ["loss"]}, {"metric": "loss"}])
def test_the_only_objective_has_its_name_too(names):
    opt = GSSBO({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}, seed=0)
    for i in range(8):
        opt.tell({"x": i / 8, "y": (3 * i % 8) / 8}, i)
    source = Named(opt, **names)
    for name in ("plot_posterior", "plot_subset"):
        assert getattr(numbo.plot, name)(source).layout.yaxis.title.text == "loss"
        assert getattr(numbo.plot.matplotlib, name)(source)[0].get_ylabel() == "loss"
        assert "loss" not in getattr(numbo.plot, name)(source).layout.title.text
    assert numbo.plot.plot_contour(source).layout.annotations[0].text == "mean of loss"
    assert numbo.plot.matplotlib.plot_contour(source)[0].get_title() == "mean of loss"
    assert numbo.plot.plot_subset(opt).layout.yaxis.title.text == "objective"
