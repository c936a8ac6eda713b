"""The axes of plots: labels, cells and ranges."""

from __future__ import annotations

import numpy as np
import pytest

import numbo.plot
import numbo.plot.matplotlib
from numbo import GSSBO, Categorical, Float, Int
from numbo.plot._axes import Axis, levels

NAMES = ["none", *(f"a rather long name {i}" for i in range(9))]


def numbers(values, *, log=False, discrete=False):
    return Axis("x", values, log, False, discrete, discrete)


@pytest.mark.parametrize(
    ("axis", "labels"),
    [
        (numbers([1, 2, 3, 4], discrete=True), ["1", "2", "3", "4"]),
        (numbers(list(range(12)), discrete=True), ["0", "2", "4", "6", "8", "10"]),
        (numbers([0.5, 1.0, 1.5], discrete=True), ["0.5", "1", "1.5"]),
        (numbers([2.0, 8.0, 32.0], log=True), ["2", "5", "10", "20"]),
        (numbers([0.02, 0.1, 1.0], log=True), ["0.02", "0.05", "0.1", "0.2", "0.5", "1"]),
        (numbers([0.025, 0.05, 0.077], log=True), ["0.03", "0.04", "0.05", "0.06", "0.07"]),
        (numbers([1e-5, 1e-3, 1.0], log=True), []),
        (numbers([0.0, 0.5, 1.0]), []),
    ],
)
def test_labels_are_round_and_few(axis, labels):
    assert axis.labels == labels
    assert (axis.ticks is None) == (not labels)


def test_names_of_categories_are_told_apart_where_they_are_short():
    axis = Axis("c", NAMES, False, True, True, True)
    assert axis.labels[:2] == ["none", "a rathe… name 0"[:7] + "…" + " name 0"[-6:]]
    assert len(set(axis.labels)) == len(NAMES)
    assert axis.crowded
    assert not Axis("c", ["a", "b"], False, True, True, True).crowded


def test_cells_end_where_the_parameter_does():
    assert numbers([1, 2, 3], discrete=True).edges.tolist() == [0.5, 1.5, 2.5, 3.5]
    assert numbers([0.0, 1.0, 2.0]).edges.tolist() == [0.0, 0.5, 1.5, 2.0]
    np.testing.assert_allclose(numbers([1.0, 4.0, 16.0], log=True).edges, [1.0, 2.0, 8.0, 16.0])


@pytest.fixture(scope="module")
def long():
    opt = GSSBO({"c": Categorical(NAMES), "k": Int(1, 40), "x": Float(1e-4, 1.0, log=True)}, seed=0)
    for i in range(20):
        opt.tell({"c": NAMES[i % len(NAMES)], "k": 2 * i + 1, "x": 10.0 ** (-i / 5)}, i % 7)
    return opt


def test_long_names_are_upright_below_a_panel_only(long):
    first = numbo.plot.matplotlib.plot_contour(long, ["c", "x"])[0]
    second = numbo.plot.matplotlib.plot_contour(long, ["x", "c"])[0]
    assert {label.get_rotation() for label in first.get_xticklabels()} == {90.0}
    assert {label.get_rotation() for label in second.get_yticklabels()} == {0.0}
    plotted = numbo.plot.plot_contour(long, ["c", "x"])
    assert plotted.layout.legend.y < numbo.plot.plot_contour(long, ["x", "c"]).layout.legend.y
    assert list(plotted.data[0].x) == NAMES
    assert len(plotted.layout.xaxis.ticktext[1]) < len(NAMES[1])


def test_two_parameters_fill_their_panel(long):
    figure = numbo.plot.plot_contour(long, ["k", "x"])
    (left, right), (low, high) = figure.layout.xaxis.range, figure.layout.yaxis.range
    np.testing.assert_allclose([left, right, low, high], [1, 40, -4.0, 0.0], rtol=1e-6, atol=1e-6)
    assert left < 1 < 40 < right  # a point at an end that is rounded is within
    assert low < -4.0 < 0.0 < high


def test_both_libraries_show_the_same_part_of_each_parameter(long):
    names = list(long.space)
    figure = numbo.plot.plot_posterior(long, names)
    axes = numbo.plot.matplotlib.plot_posterior(long, names)
    drawn = [figure.layout[f"xaxis{k or ''}"] for k in ("", 2, 3)]
    for name, ax, axis in zip(names, axes, drawn, strict=False):
        ends = np.power(10.0, axis.range) if axis.type == "log" else np.array(axis.range)
        np.testing.assert_allclose(ends, ax.get_xlim(), rtol=1e-6)
        inside = {"c": [0, len(NAMES) - 1], "k": [1, 40], "x": [1e-4, 1.0]}[name]
        assert ends[0] < inside[0] < inside[1] < ends[1]


def test_integers_have_labels_at_integers_only():
    opt = GSSBO({"k": Int(2, 20), "x": Float(0.0, 1.0)}, seed=0)
    for k in range(2, 21):
        opt.tell({"k": k, "x": (5 * k % 19) / 19}, k)
    for axis in (
        numbo.plot.matplotlib.plot_posterior(opt, ["k"])[0].xaxis,
        numbo.plot.matplotlib.plot_contour(opt, ["x", "k"])[0].yaxis,
    ):
        assert len(axis.get_ticklocs()) >= 3
        assert all(float(tick).is_integer() for tick in axis.get_ticklocs())


LONG = "encoder.layers_of_attention/dropout-rate"


def test_a_long_name_has_several_lines_and_every_letter():
    axis = Axis(LONG, [0.0, 1.0], False, False, False, False)
    lines = axis.title.split("\n")
    assert "".join(lines) == LONG
    assert len(lines) == 2
    assert all(0 < len(line) <= 24 for line in lines)
    assert Axis("short", [0.0, 1.0], False, False, False, False).title == "short"
    assert Axis("x" * 60, [0.0, 1.0], False, False, False, False).title == "x" * 60
    opt = GSSBO({LONG: Float(0.0, 1.0), "short": Float(0.0, 1.0)}, seed=0)
    for i in range(5):
        opt.tell({LONG: i / 5, "short": (2 * i % 5) / 5}, i)
    figure = numbo.plot.plot_posterior(opt)
    assert figure.layout.xaxis.title.text == axis.title.replace("\n", "<br>")
    assert figure.layout.legend.y < numbo.plot.plot_posterior(opt, ["short"]).layout.legend.y
    assert numbo.plot.matplotlib.plot_posterior(opt)[0].get_xlabel() == axis.title


def test_names_are_no_markup():
    opt = GSSBO({"<b>a</b>": Float(0.0, 1.0), "c": Categorical(["<i>", "&lt;"])}, seed=0)
    for i in range(6):
        opt.tell({"<b>a</b>": i / 6, "c": ["<i>", "&lt;"][i % 2]}, i)
    figure = numbo.plot.plot_posterior(opt)
    assert figure.layout.xaxis.title.text == "&lt;b&gt;a&lt;/b&gt;"
    assert figure.layout.xaxis2.ticktext == ("&lt;i&gt;", "&amp;lt;")
    assert "&lt;b&gt;a&lt;/b&gt;" in numbo.plot.plot_relevance(opt).data[0].y
    contour = numbo.plot.plot_contour(opt)
    assert contour.layout.xaxis.title.text == "&lt;b&gt;a&lt;/b&gt;"


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 1.0), (-3.0, 1e4), (0.1, 0.1), (0.0, 0.0), (1e-9, 1.1e-9), (-5.0, -4.9)]
)
def test_levels_are_round_and_around_all_values(low, high):
    found = levels(np.array([[low, np.nan], [high, low]]))
    assert found[0] <= low
    assert found[-1] >= high - 1e-12 * abs(high)
    assert 2 <= len(found) <= 18
    step = found[1] - found[0]
    np.testing.assert_allclose(np.diff(found), step)
    assert f"{step:.3e}"[:5] in ("1.000", "2.000", "5.000")


def test_both_libraries_draw_the_same_levels():
    opt = GSSBO({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}, seed=0)
    for i in range(12):
        opt.tell({"x": i / 12, "y": (5 * i % 12) / 12}, (i - 4.0) ** 2)
    drawn = numbo.plot.matplotlib.plot_contour(opt)
    surfaces = [trace for trace in numbo.plot.plot_contour(opt).data if trace.type == "contour"]
    for ax, surface in zip(drawn, surfaces, strict=False):
        at = ax.collections[0].levels
        limits = surface.contours
        np.testing.assert_allclose(at, np.arange(limits.start, limits.end + limits.size / 2, limits.size))
        assert (surface.zmin, surface.zmax) == (at[0], at[-1])


def test_few_observations_have_whole_numbers():
    opt = GSSBO({"x": Float(0.0, 1.0)}, seed=0)
    for i in range(3):
        opt.tell({"x": i / 3}, i)
    assert numbo.plot.plot_subset(opt).layout.xaxis.dtick == 1
    ax = numbo.plot.matplotlib.plot_subset(opt)[0]
    assert all(float(tick).is_integer() for tick in ax.get_xticks())
