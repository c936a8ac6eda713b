"""The axes of plots: labels, cells and ranges."""

from __future__ import annotations

import numpy as np
import pytest

import numbo.plot
import numbo.plot.matplotlib
from numbo import GSSBO, Categorical, Float, Int
from numbo.plot._axes import Axis

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
    np.testing.assert_allclose(figure.layout.xaxis.range, [1, 40])
    np.testing.assert_allclose(figure.layout.yaxis.range, [-4.0, 0.0], atol=1e-12)


def test_few_observations_have_whole_numbers():
    opt = GSSBO({"x": Float(0.0, 1.0)}, seed=0)
    for i in range(3):
        opt.tell({"x": i / 3}, i)
    assert numbo.plot.plot_subset(opt).layout.xaxis.dtick == 1
    ax = numbo.plot.matplotlib.plot_subset(opt)[0]
    assert all(float(tick).is_integer() for tick in ax.get_xticks())
