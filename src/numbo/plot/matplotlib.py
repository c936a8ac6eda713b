"""The plots of `numbo.plot`, drawn with Matplotlib; each function returns an array of `matplotlib.axes.Axes`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numbo.plot import __all__ as __all__
from numbo.plot._axes import Axis, levels
from numbo.plot._curves import ENDS, CurveGroup, curves_of
from numbo.plot._data import (
    BEST,
    BLUE,
    BORDER,
    COLUMNS,
    FAILED,
    FAINT,
    GRAY,
    INFEASIBLE,
    LOWER,
    ORANGE,
    SHADE,
    Contour,
    Known,
    Slice,
    Subject,
    acquisition_bounds,
)
from numbo.plot._front import BEYOND_IT, Front, front_of, hypervolumes_of
from numbo.plot._studies import PREDICTED, STUDIES, studies_of

try:
    from matplotlib import pyplot as plt
    from matplotlib.collections import PathCollection
    from matplotlib.colors import ListedColormap
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.ticker import MaxNLocator, NullFormatter
except ImportError as error:
    raise ImportError(
        "numbo.plot.matplotlib needs Matplotlib, which is not installed: pip install 'numbo[plot]'."
    ) from error

#: Largest number of columns of a legend.
MOST_COLUMNS = 5


def plot_posterior(source: Any, params: Sequence[str] | None = None, *, objective: int = 0) -> NDArray[np.object_]:
    """As `numbo.plot.plot_posterior`."""
    subject = Subject(source, objective)
    slices = subject.slices(params)
    bounds, failed_at = subject.scale([one.known for one in slices], slices)
    axes = _panels(slices, subject.label, bounds)
    for ax, one in zip(axes, slices, strict=False):
        x, x_of = _numbers(one.axis, one.x)
        _scatter(ax, x_of, one.known.y, one.known, bars=not one.axis.discrete)
        _mark_failures(ax, _numbers(one.axis, one.failed)[1], failed_at)
        if one.axis.discrete:
            ax.errorbar(x, one.mean, 2.0 * one.std, fmt="D", color=BLUE, capsize=4, label="mean ± 2 sd", zorder=4)
        else:
            ax.fill_between(x, one.low, one.high, color=BLUE, alpha=0.2, linewidth=0, label="± 2 sd", zorder=1)
            ax.plot(x, one.mean, color=BLUE, label="mean", zorder=4)
    return _finished(axes, subject.title("Posterior", slices))


def plot_acquisition(source: Any, params: Sequence[str] | None = None, *, objective: int = 0) -> NDArray[np.object_]:
    """As `numbo.plot.plot_acquisition`."""
    subject = Subject(source, objective)
    slices = subject.slices(params)
    bounds = acquisition_bounds(slices)
    axes = _panels(slices, subject.optimizer.acquisition_name, bounds)
    for ax, one in zip(axes, slices, strict=False):
        lower = one.lower(bounds)
        x, x_lower = _numbers(one.axis, lower)
        ax.plot(x, one.acquisition, "D" if one.axis.discrete else "-", color=BLUE)
        if bounds is not None and lower:
            ax.plot(x_lower, bounds[:1] * len(lower), "v", color=GRAY, label=LOWER, clip_on=False)
    return _finished(axes, subject.title("Acquisition function", slices))


def plot_contour(source: Any, params: Sequence[str] | None = None, *, objective: int = 0) -> NDArray[np.object_]:
    """As `numbo.plot.plot_contour`."""
    subject = Subject(source, objective)
    plane = subject.contour(subject.most_relevant_pair() if params is None else params)
    apart = ConstrainedLayoutEngine(wspace=0.1)  # the labels of the first bar are not those of the second panel
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), sharey=True, layout=apart)
    titles = f"mean of {subject.label}", "standard deviation"
    for ax, z, colours, title in zip(axes, (plane.mean, plane.std), ("viridis", "cividis"), titles, strict=True):
        x, x_of = _numbers(plane.first, plane.x)
        y, y_of = _numbers(plane.second, plane.y)
        if plane.cells:
            surface = ax.pcolormesh(plane.first.edges, plane.second.edges, z, cmap=colours)
        else:
            surface = ax.contourf(x, y, z, levels=levels(z), cmap=colours)
            surface.set_edgecolor("face")  # else the ground shines through between the levels
        figure.colorbar(surface, ax=ax)
        _draw_border(ax, x, y, plane)
        _scatter(ax, x_of, y_of, plane.known)
        _mark_failures(ax, _numbers(plane.first, plane.failed[0])[1], _numbers(plane.second, plane.failed[1])[1])
        plt.setp([points for points in ax.collections if isinstance(points, PathCollection)], clip_on=False)
        _set_axis(ax.xaxis, ax.set_xscale, plane.first)
        _set_axis(ax.yaxis, ax.set_yscale, plane.second)
        ax.set_title(title, parse_math=False)
    axes[1].set_ylabel("")
    return _finished(axes, subject.title("Posterior", [plane]))


def plot_relevance(source: Any, *, objective: int = 0) -> NDArray[np.object_]:
    """As `numbo.plot.plot_relevance`."""
    subject = Subject(source, objective)
    names, shares = subject.relevance()
    _, ax = plt.subplots(figsize=(7, 1.2 + 0.35 * len(names)), layout="constrained")
    ax.barh(range(len(names)), shares, color=BLUE)
    ax.set_yticks(range(len(names)), names, parse_math=False)
    ax.set_ylim(-0.6, len(names) - 0.4)
    ax.xaxis.set_major_formatter(lambda share, _: f"{100.0 * share:.3g}%")
    ax.set_xlabel("share of the variation of the mean")
    return _finished(np.array([ax]), subject.titled("Relevance of the parameters"))


def plot_studies(source: Any, *, objective: int = 0) -> NDArray[np.object_]:
    """As `numbo.plot.plot_studies`."""
    subject = Subject(source, objective)
    found = studies_of(subject)
    axes = _grid(len(found), subject.label, subject.scale([subject.history()])[0])
    for ax, (title, predicted, told) in zip(axes, found, strict=False):
        ax.plot(predicted, told, "o", color=BLUE, markersize=4)
        ax.set_title(title, parse_math=False)
        ax.set_xlabel(PREDICTED)
    return _finished(axes, subject.titled(STUDIES))


def plot_subset(source: Any, *, objective: int = 0) -> NDArray[np.object_]:
    """As `numbo.plot.plot_subset`."""
    subject = Subject(source, objective)
    known = subject.history()
    bounds, failed_at = subject.scale([known])
    ax = _panel("observation", subject.label)
    _scatter(ax, known.rows, known.y, known, bars=True)
    _mark_failures(ax, subject.failed, failed_at)
    ax.step(known.rows, subject.best_so_far(known), where="post", color=BLUE, linewidth=1, label=BEST, zorder=1)
    if bounds is not None:
        ax.set_ylim(bounds)
    title = f"The model rests on {known.in_model.sum()} of {len(known.y)} observations"
    return _finished(np.array([ax]), subject.titled(title))


def plot_curves(source: Any) -> NDArray[np.object_]:
    """As `numbo.plot.plot_curves`."""
    subject = Subject(source)
    found = curves_of(subject)
    _, ax = plt.subplots(figsize=(9, 5), layout="constrained")
    for group in found.groups:
        _draw_curves(ax, group)
    ax.set_xlabel("step")
    ax.set_ylabel(subject.label, parse_math=False)
    if found.ticks is not None:
        ax.set_xticks(found.ticks)
    if found.border is not None:
        ax.axvline(found.border, color=GRAY, linewidth=1)
    if found.bounds is not None:
        ax.set_ylim(*found.bounds)
    return _finished(np.array([ax]), found.title)


def plot_front(
    source: Any, names: Sequence[str] | None = None, objectives: Sequence[int] | None = None
) -> NDArray[np.object_]:
    """As `numbo.plot.plot_front`, but three objectives are shown in three panels, with two objectives each."""
    found = front_of(Subject(source), names, objectives)
    pairs = list(combinations(range(len(found.names)), 2))
    size = (1.0 + 3.8 * len(pairs), 4.4) if len(pairs) > 1 else (7, 5)
    _, axes = plt.subplots(1, len(pairs), figsize=size, squeeze=False, layout="constrained")
    for ax, (i, j) in zip(axes.flat, pairs, strict=True):
        _draw_front(ax, found, i, j)
    return _finished(axes.ravel(), found.title)


def plot_hypervolume(source: Any, reference: Sequence[float] | None = None) -> NDArray[np.object_]:
    """As `numbo.plot.plot_hypervolume`."""
    values, title = hypervolumes_of(Subject(source), reference)
    ax = _panel("trial", "hypervolume")
    ax.step(np.arange(1, len(values) + 1), values, where="post", color=BLUE)
    ax.set_ylim(bottom=0.0)
    return _finished(np.array([ax]), title)


def plot_ask_times(source: Any) -> NDArray[np.object_]:
    """As `numbo.plot.plot_ask_times`."""
    asked_at, milliseconds = Subject(source).times()
    ax = _panel("observations", "milliseconds")
    ax.semilogy(asked_at, milliseconds, ".", color=BLUE, markersize=4)
    return _finished(np.array([ax]), "Time of a suggestion")


def plot_batch_sizes(source: Any) -> NDArray[np.object_]:
    """As `numbo.plot.plot_batch_sizes`."""
    sizes = Subject(source).batch_sizes()
    ax = _panel("batch", "points")
    ax.bar(np.arange(1, len(sizes) + 1), sizes, color=BLUE)
    ax.yaxis.set_major_locator(MaxNLocator("auto", integer=True))
    return _finished(np.array([ax]), "Sizes of the batches")


def _panel(xlabel: str, ylabel: str) -> Any:
    """The only panel of a figure, with numbers of something along its first axis."""
    _, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel, parse_math=False)
    ax.xaxis.set_major_locator(_whole())
    return ax


def _grid(count: int, label: str, bounds: tuple[float, float] | None) -> NDArray[np.object_]:
    """So many panels with a shared y axis, in rows; those beyond them are not visible."""
    columns = min(COLUMNS, count)
    rows = -(-count // columns)
    size = (1.0 + 3.4 * columns, 0.8 + 2.8 * rows)
    _, axes = plt.subplots(rows, columns, figsize=size, sharey=True, squeeze=False, layout="constrained")
    for ax in axes[:, 0]:
        ax.set_ylabel(label, parse_math=False)
    for ax in axes.flat[count:]:
        ax.set_visible(False)
    if bounds is not None:
        axes[0, 0].set_ylim(bounds)
    return axes.ravel()


def _panels(slices: Sequence[Slice], label: str, bounds: tuple[float, float] | None) -> NDArray[np.object_]:
    """One panel per slice, with a shared y axis."""
    axes = _grid(len(slices), label, bounds)
    for ax, one in zip(axes, slices, strict=False):
        _set_axis(ax.xaxis, ax.set_xscale, one.axis)
        if one.axis.span is not None:
            ax.set_xlim(one.axis.span)
        ax.axvline(_numbers(one.axis, [one.at])[1][0], color=GRAY, linestyle=":", linewidth=1)
    return axes


def _draw_curves(ax: Any, group: CurveGroup) -> None:
    """All curves of one kind as one line, and the expected ends of some."""
    opacity, above = (0.8, 2.0) if group.width < 1.0 else (1.0, 3.0)
    look = {"color": group.colour, "linewidth": group.width, "alpha": opacity, "zorder": above}
    ax.plot(group.x, group.y, marker=".", markersize=3.0 + group.width, markevery=group.marks, label=group.kind, **look)
    if len(group.end):
        ax.plot(group.way_x, group.way_y, ":", color=group.colour, linewidth=0.8, alpha=0.6)
        look = {"color": group.colour, "elinewidth": 0.7 * group.width, "capsize": 2, "markersize": 4, "zorder": 4.0}
        ax.errorbar(group.at, group.end, 2.0 * group.std, fmt="o", label=ENDS, **look)


def _draw_front(ax: Any, found: Front, i: int, j: int) -> None:
    """Objectives ``i`` and ``j`` of the front, the observations, and points expected beyond the front."""
    x = found.told[:, i]
    y = found.told[:, j]
    _scatter(ax, x, y, found.known)
    ax.plot(*found.stairs, color=BLUE, linewidth=1.2, zorder=3)
    if len(found.front):
        ax.plot(found.front[:, i], found.front[:, j], "o", color=BLUE, markersize=5, label=found.label, zorder=4)
    if len(found.mean):
        look = {"color": ORANGE, "elinewidth": 0.8, "markersize": 5, "markerfacecolor": "none", "zorder": 5}
        std = {"xerr": found.std[:, i], "yerr": found.std[:, j]}
        ax.errorbar(found.mean[:, i], found.mean[:, j], fmt="o", label=BEYOND_IT, **std, **look)
    ax.set_xlabel(found.names[i], parse_math=False)
    ax.set_ylabel(found.names[j], parse_math=False)
    for set_range, bounds in ((ax.set_xlim, found.bounds[i]), (ax.set_ylim, found.bounds[j])):
        if bounds is not None:
            set_range(*bounds)


def _set_axis(which: Any, set_scale: Any, axis: Axis) -> None:
    """The name and the scale of an axis. Names are no formulas, whatever signs they have."""
    which.set_label_text(axis.title, parse_math=False)
    if axis.log:
        set_scale("log")
    if axis.ticks is not None:
        which.set_ticks(_numbers(axis, axis.ticks)[1], axis.labels, parse_math=False)
        which.set_minor_formatter(NullFormatter())
    elif axis.integers and not axis.log:
        which.set_major_locator(_whole())
    if axis.crowded and which.axis_name == "x":
        which.set_tick_params(rotation=90)


def _whole() -> MaxNLocator:
    """Labels at whole numbers only."""
    return MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True)


def _numbers(axis: Axis, shown: list[Any]) -> tuple[Any, Any]:
    """The axis and the values shown along it as numbers; categories by their position."""
    if not axis.categories:
        return axis.values, shown
    return np.arange(len(axis.values)), [axis.values.index(value) for value in shown]


def _draw_border(ax: Any, x: Any, y: Any, plane: Contour) -> None:
    """The part of the plane that is probably infeasible."""
    if not plane.pale.any():
        return
    red, green, blue, opacity = SHADE
    shade = red / 255.0, green / 255.0, blue / 255.0, opacity
    if plane.cells:
        pale = np.ma.masked_where(~plane.pale, plane.probability)
        edges = plane.first.edges, plane.second.edges
        ax.pcolormesh(*edges, pale, cmap=ListedColormap([shade]), zorder=1)
    else:
        inside = np.ma.masked_invalid(plane.probability)
        ax.contourf(x, y, inside, levels=[-1.0, 0.5], colors=[shade], zorder=1)
        if inside.max() > 0.5:
            ax.contour(x, y, inside, levels=[0.5], colors=BORDER, linestyles="--", linewidths=1.6, zorder=1.5)
    border = {"edgecolor": GRAY} if plane.cells else {"edgecolor": BORDER, "linestyle": "--"}
    ax.fill([], [], facecolor=shade, label=INFEASIBLE, **border)  # for the legend


def _scatter(ax: Any, x: Any, y: Any, known: Known, *, bars: bool = False) -> None:
    """The observations, those in the model above the others: pruned ones hollow, infeasible ones as crosses."""
    for one in known.marked():
        kept = one.in_model
        xs = [x[i] for i in one.rows]
        ys = [y[i] for i in one.rows]
        look = {"s": 8 + 10 * kept, "alpha": 0.6 + 0.3 * kept, "zorder": 2 + kept, "label": one.name}
        if one.symbol == "cross":
            look |= {"marker": "x", "s": 16 + 10 * kept, "color": one.colour}
        elif one.symbol == "open":
            look |= {"facecolors": "none", "edgecolors": one.colour, "linewidths": 0.8}
        else:
            look |= {"linewidths": 0, "color": one.colour}
        ax.scatter(xs, ys, **look)
        if bars and one.symbol == "open":
            std = 2.0 * known.std[one.rows]
            ax.errorbar(xs, ys, std, fmt="none", ecolor=one.colour, elinewidth=0.6, alpha=FAINT, zorder=1.5)


def _mark_failures(ax: Any, x: Any, y: Any) -> None:
    """Where trials failed."""
    if len(x):
        y = np.broadcast_to(y, len(x))
        ax.scatter(x, y, marker="+", s=36, color=BORDER, linewidths=1.2, zorder=3, label=FAILED)


def _finished(axes: NDArray[np.object_], title: str) -> NDArray[np.object_]:
    figure = axes[0].figure
    figure.suptitle(title, parse_math=False)
    labelled = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    for columns in range(min(MOST_COLUMNS, len(labelled)), 0, -1):
        look = {"loc": "outside lower center", "ncols": columns, "frameon": False}
        legend = figure.legend(list(labelled.values()), list(labelled), **look)
        if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
            break
        legend.remove()
    return axes
