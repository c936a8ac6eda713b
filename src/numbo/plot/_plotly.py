"""The plots of `numbo.plot`, drawn by Plotly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from numbo._types import Array
from numbo.plot._axes import Axis, levels
from numbo.plot._curves import ENDS, CurveGroup, curves_of
from numbo.plot._data import (
    BEST,
    BLUE,
    BORDER,
    COLUMNS,
    FAILED,
    FAINT,
    FEW_VALUES,
    GRAY,
    INFEASIBLE,
    LOWER,
    ORANGE,
    SHADE,
    Contour,
    Known,
    Marked,
    Slice,
    Subject,
    acquisition_bounds,
)
from numbo.plot._front import BEYOND_IT, Front, front_of, hypervolumes_of
from numbo.plot._studies import PREDICTED, STUDIES, studies_of

try:
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots
except ImportError as error:
    raise ImportError("numbo.plot needs Plotly, which is not installed: pip install 'numbo[plot]'.") from error

BAND = "rgba(31, 119, 180, 0.2)"
#: Height of a figure, of its margins together, and distances of a legend from the panel above it, in pixels.
HEIGHT = 450
MARGINS = 180
BELOW = 45
CROWDED = 140
LINE = 18
#: An axis goes this far beyond its ends, as a share of its length, since points outside are not drawn.
BEYOND = 1e-9
#: About so many decades of a logarithmic axis have labels.
DECADES = 5


def plot_posterior(source: Any, params: Sequence[str] | None = None, *, objective: int = 0) -> go.Figure:
    """Posterior mean and two standard deviations along each parameter, through the best predicted point.

    The observations are shown too, those in the model in colour. They are not in the slice: their other parameters
    differ. Those in another branch, with other conditional parameters, are pale. Pruned trials are hollow, at the
    values expected at their ends, with two standard deviations. Observations that violate a constraint are crosses.
    Failed trials are plus signs at the worse end of the axis. A dotted line is at the best predicted point; that of a
    conditional parameter is the best one that has it. While none is feasible, the slices go through the observation
    that violates the constraints least.

    The axis ends at the worst value that is at most 10 times as far from the best as the 95 % quantile, so that a few
    wild values do not hide the others. It reaches beyond the values for deviations of the model, by at most twice its
    length at each end. The rest is cut off.

    Args:
        source: a study, a searcher or an optimizer.
        params: names of parameters, all by default.
        objective: which one of several objectives, from 0.

    Raises:
        ValueError: before the first successful observation, or for an unknown parameter or objective.
    """
    subject = Subject(source, objective)
    slices = subject.slices(params)
    bounds, failed_at = subject.scale([one.known for one in slices], slices)
    figure = _panels(slices, subject.label, bounds)
    for k, one in enumerate(slices):
        cell = _cell(k)
        x = one.axis.values
        _add_observations(figure, one.x, one.known.y, one.known, cell, bars=not one.axis.discrete)
        _add_failures(figure, one.failed, [failed_at] * len(one.failed), cell)
        if one.axis.discrete:
            look = {"mode": "markers", "marker": DIAMOND, "name": "mean ± 2 sd"}
            figure.add_trace(go.Scatter(x=x, y=one.mean, error_y={"array": 2.0 * one.std}, **look), **cell)
        else:
            look = {"fill": "toself", "fillcolor": BAND, "line": {"width": 0}, "name": "± 2 sd", "hoverinfo": "skip"}
            edges = np.concatenate([one.high, one.low[::-1]])
            figure.add_trace(go.Scatter(x=[*x, *x[::-1]], y=edges, **look), **cell)
            figure.add_trace(go.Scatter(x=x, y=one.mean, mode="lines", line={"color": BLUE}, name="mean"), **cell)
    return _finished(figure, subject.title("Posterior", slices), below=[one.axis for one in slices])


def plot_acquisition(source: Any, params: Sequence[str] | None = None, *, objective: int = 0) -> go.Figure:
    """The acquisition function of the global model along each parameter; otherwise as `plot_posterior`.

    It is a bound on standardised values or a logarithm, as the label of its axis says; larger is better. Values more
    than 20 below the largest one are cut off; categories and few integers with such values are marked below. There is
    one acquisition function for all objectives; the slices go through the best predicted point of ``objective``.
    """
    subject = Subject(source, objective)
    slices = subject.slices(params)
    bounds = acquisition_bounds(slices)
    figure = _panels(slices, subject.optimizer.acquisition_name, bounds)
    for k, one in enumerate(slices):
        mode = "markers" if one.axis.discrete else "lines"
        trace = go.Scatter(x=one.axis.values, y=one.acquisition, mode=mode, marker=DIAMOND, showlegend=False)
        figure.add_trace(trace, **_cell(k))
        lower = one.lower(bounds)
        if bounds is not None and lower:
            look = {"mode": "markers", "marker": {"color": GRAY, "symbol": "triangle-down", "size": 9}, "name": LOWER}
            figure.add_trace(go.Scatter(x=lower, y=bounds[:1] * len(lower), cliponaxis=False, **look), **_cell(k))
    return _finished(figure, subject.title("Acquisition function", slices), below=[one.axis for one in slices])


def plot_contour(source: Any, params: Sequence[str] | None = None, *, objective: int = 0) -> go.Figure:
    """Posterior mean and standard deviation over two parameters, with the observations; otherwise as `plot_posterior`.

    Categories and few integers are cells. With constraints, the part where all of them hold with a probability below
    one half is paler; where there are no cells, a dashed line is around it.

    Args:
        source: a study, a searcher or an optimizer.
        params: names of two parameters; by default the two most relevant ones of which, if possible, neither decides
            whether the other is used.
        objective: as `plot_posterior`.
    """
    subject = Subject(source, objective)
    plane = subject.contour(subject.most_relevant_pair() if params is None else params)
    titles = [f"mean of {_words(subject.label)}", "standard deviation"]
    figure = make_subplots(rows=1, cols=2, subplot_titles=titles, horizontal_spacing=0.17, shared_yaxes=True)
    if plane.cells:  # between edges, or at categories
        x, y = (axis.values if axis.categories else axis.edges for axis in (plane.first, plane.second))
    else:
        x = plane.first.values
        y = plane.second.values
    for k, (z, colours) in enumerate(((plane.mean, "Viridis"), (plane.std, "Cividis"))):
        cell = _cell(k)
        bar = {"x": 0.42 if k == 0 else 1.0, "thickness": 12, "exponentformat": "power"}
        surface = go.Heatmap(x=x, y=y, z=z) if plane.cells else _contour(x, y, z)
        figure.add_trace(surface.update(colorscale=colours, colorbar=bar), **cell)
        _add_border(figure, plane, x, y, cell)
        _add_observations(figure, plane.x, plane.y, plane.known, cell)
        _add_failures(figure, *plane.failed, cell)
        for update, axis in ((figure.update_xaxes, plane.first), (figure.update_yaxes, plane.second)):
            _set_axis(update, axis, cell)
            ends = np.array(axis.edges if plane.cells else axis.values)[[0, -1]]
            update(range=_range(axis, ends), **cell)
    figure.update_yaxes(title=None, col=2)
    figure.update_traces(cliponaxis=False, selector={"mode": "markers"})
    return _finished(figure, subject.title("Posterior", [plane]), below=[plane.first])


def plot_relevance(source: Any, *, objective: int = 0) -> go.Figure:
    """Share of each parameter in the variation of the posterior mean (`numbo.optimizers.Explanation`).

    Parameters of which nothing is known, since they had the same value in all trials, are named as not varied.
    """
    subject = Subject(source, objective)
    names, shares = subject.relevance()
    figure = go.Figure(go.Bar(x=shares, y=[*map(_words, names)], orientation="h", marker={"color": BLUE}))
    figure.update_xaxes(title="share of the variation of the mean", tickformat=".3~%", rangemode="tozero")
    figure.update_yaxes(dtick=1).update_layout(height=max(HEIGHT, MARGINS + 20 * len(names)))
    return _finished(figure, subject.titled("Relevance of the parameters"))


def plot_studies(source: Any, *, objective: int = 0) -> go.Figure:
    """What each earlier study predicts at the trials (``earlier=``), against their values, with its expected weight.

    A study that helps predicts their order: its points rise, and fall where smaller values are better. At most twelve
    studies are shown, those with the largest weights.
    """
    subject = Subject(source, objective)
    found = studies_of(subject)
    columns = min(COLUMNS, len(found))
    rows = -(-len(found) // columns)
    titles = [_words(title) for title, _, _ in found]
    figure = make_subplots(rows, columns, shared_yaxes=True, subplot_titles=titles)
    for k, (_, predicted, told) in enumerate(found):
        points = go.Scatter(x=predicted, y=told, mode="markers", marker={"color": BLUE}, showlegend=False)
        figure.add_trace(points, **_cell(k))
        figure.update_xaxes(title=PREDICTED, **_cell(k))
    figure.update_yaxes(range=subject.scale([subject.history()])[0])
    figure.update_yaxes(title=_words(subject.label), col=1).update_layout(height=max(HEIGHT, 260 * rows))
    return _finished(figure, subject.titled(STUDIES))


def plot_subset(source: Any, *, objective: int = 0) -> go.Figure:
    """Which observations are in the model, among all observations in the order in which they were told.

    It should contain the good ones, and a few of all others (Wei et al., figure 7). Pruned and failed trials are drawn
    as by `plot_posterior`. A line is the best value so far, which is a lucky one if values are noisy.
    """
    subject = Subject(source, objective)
    known = subject.history()
    bounds, failed_at = subject.scale([known])
    figure = go.Figure()
    _add_observations(figure, known.rows, known.y, known, {}, bars=True)
    _add_failures(figure, subject.failed, [failed_at] * len(subject.failed), {})
    line = {"color": BLUE, "width": 1, "shape": "hv"}
    best = subject.best_so_far(known)
    figure.add_trace(go.Scatter(x=known.rows, y=best, mode="lines", line=line, name=BEST, hoverinfo="skip"))
    figure.update_xaxes(title="observation", **_whole(len(known.y) + len(subject.failed)))
    figure.update_yaxes(title=_words(subject.label), range=bounds)
    title = f"The model rests on {known.in_model.sum()} of {len(known.y)} observations"
    return _finished(figure, subject.titled(title))


def plot_curves(source: Any) -> go.Figure:
    """Learning curves: the reports of trials, and the predicted ends of running and pruned trials.

    Objective over step, for the newest 500 trials that have reported something and did not fail, and for the best
    complete one. A dot is where a trial was stopped, or is now. Right of the vertical line there are no steps, but the
    ends predicted by the model of curves, with two standard deviations: of the running trials, and of the pruned trials
    with the best predicted ends, at most 12. A dotted line leads from each curve to its end.

    The axis goes from the best value to the worst that is at most 1.2 times as far away as the 95 % quantile, so that
    diverging curves do not hide the others, and beyond by at most half of that for deviations. The rest is cut off.
    Infinite values are gaps.

    Args:
        source: a study, a searcher or an optimizer, by GSSBO or GP-UCB.

    Raises:
        ValueError: if no trial has reported anything, or the source does not use curves (``use_curves``).
    """
    subject = Subject(source)
    found = curves_of(subject)
    figure = go.Figure([_curves(group) for group in found.groups])
    for group in found.groups:
        if len(group.end):
            _add_ends(figure, group)
    if found.border is not None:
        figure.add_vline(x=found.border, line={"color": GRAY, "width": 1})
    figure.update_xaxes(title="step", tickvals=found.ticks)
    figure.update_yaxes(title=_words(subject.label), range=found.bounds)
    return _finished(figure, found.title)


def plot_front(source: Any, names: Sequence[str] | None = None, objectives: Sequence[int] | None = None) -> go.Figure:
    """The front of two or three objectives, all observations, and points that the models expect beyond the front.

    The line is the border of the region that the front of two objectives dominates. If values are noisy, the front is
    drawn at expected values, among luckier observations. Observations that violate a constraint are crosses. Hollow
    points, at most 20, are parameters without a trial, with one standard deviation: by the means of the models they lie
    beyond the front (`numbo.optimizers.Snapshot.beyond_front`). The parameters of the point at the pointer are shown.

    Axes go from the best values to the worst that are at most 1.2 times as far away as the 95 % quantile, and at least
    to the ends of the front. The rest is cut off.

    Args:
        source: a study, a searcher or an optimizer, by GSSBO or GP-UCB.
        names: of all objectives; by default the names in the study or the searcher, or the numbers of the objectives.
        objectives: two or three of more objectives, from 0; their front is shown as if there were no others.

    Raises:
        ValueError: before the first successful observation, if there is one objective, or more than three and none are
            chosen, and for wrong names or numbers.
    """
    found = front_of(Subject(source), names, objectives)
    if len(found.names) == 3:
        return _front_in_space(found)
    figure = go.Figure()
    for trace in _observations_of(found):
        figure.add_trace(go.Scatter(trace))
    line = {"color": BLUE, "width": 1.2}
    figure.add_trace(go.Scatter(x=found.stairs[0], y=found.stairs[1], mode="lines", line=line, showlegend=False))
    figure.update_traces(hoverinfo="skip", selector={"mode": "lines"})
    for trace in _on_and_beyond(found):
        figure.add_trace(go.Scatter(trace))
    figure.update_xaxes(title=_words(found.names[0]), range=found.bounds[0])
    figure.update_yaxes(title=_words(found.names[1]), range=found.bounds[1])
    return _finished(figure, found.title)


def plot_hypervolume(source: Any, reference: Sequence[float] | None = None) -> go.Figure:
    """The hypervolume of the front after each trial: the volume that it dominates, up to a reference point.

    It uses the values told. A trial that fails or violates a constraint adds nothing.

    Args:
        source: a study, a searcher or an optimizer, by GSSBO or GP-UCB.
        reference: a value of each objective; points that are worse in any of them do not count. By default the worst
            finite value of each objective, of trials that meet all constraints. To compare runs, give all the same.

    Raises:
        ValueError: before the first successful observation, if there is one objective, for a wrong ``reference``, or
            without one while no trial meets all constraints.
    """
    values, title = hypervolumes_of(Subject(source), reference)
    line = {"color": BLUE, "shape": "hv"}
    figure = go.Figure(go.Scatter(x=np.arange(1, len(values) + 1), y=values, mode="lines", line=line))
    figure.update_xaxes(title="trial", **_whole(len(values))).update_yaxes(title="hypervolume", rangemode="tozero")
    return _finished(figure, title)


def plot_ask_times(source: Any) -> go.Figure:
    """Time taken by each suggestion in this process, against the number of observations.

    Raises:
        ValueError: if no point was asked for in this process, as for a study that was loaded.
    """
    asked_at, milliseconds = Subject(source).times()
    figure = go.Figure(go.Scatter(x=asked_at, y=milliseconds, mode="markers", marker={"color": BLUE, "size": 4}))
    figure.update_xaxes(title="observations").update_yaxes(title="milliseconds", type="log", dtick=1)
    return _finished(figure, "Time of a suggestion")


def plot_batch_sizes(source: Any) -> go.Figure:
    """Number of points in each batch, for BBKB and S-BPE; batches grow as the model learns less from each point.

    Raises:
        ValueError: if no batch is complete, as for algorithms without batches.
    """
    sizes = Subject(source).batch_sizes()
    figure = go.Figure(go.Bar(x=np.arange(1, len(sizes) + 1), y=sizes, marker={"color": BLUE}))
    figure.update_xaxes(title="batch", **_whole(len(sizes))).update_yaxes(title="points", **_whole(max(sizes)))
    return _finished(figure, "Sizes of the batches")


_TEMPLATE = "plotly_white"
#: Plotly's names of the symbols of observations.
SYMBOLS = {"circle": "circle", "open": "circle-open", "cross": "x"}
DIAMOND = {"color": BLUE, "symbol": "diamond", "size": 8}


def _words(text: str) -> str:
    """A text that Plotly does not take for markup."""
    return escape(text, quote=False).replace("\n", "<br>")


def _finished(figure: go.Figure, title: str, *, below: Sequence[Axis] = ()) -> go.Figure:
    """The figure with a title, and a legend that has each name once, ``below`` some axes."""
    named: set[str | None] = {None}
    for trace in figure.data:
        if trace.showlegend is None:
            trace.update(legendgroup=trace.name, showlegend=trace.name not in named)
            named.add(trace.name)
    height = (figure.layout.height or HEIGHT) - MARGINS
    labels = ((CROWDED if axis.crowded else BELOW) + LINE * axis.title.count("\n") for axis in below)
    distance = max(labels, default=BELOW)
    legend = {"orientation": "h", "yanchor": "top", "y": -distance / height, "x": 0.0}
    return figure.update_layout(title=_words(title), legend=legend, template=_TEMPLATE)


def _cell(k: int) -> dict[str, int]:
    """The place of panel ``k``."""
    return {"row": k // COLUMNS + 1, "col": k % COLUMNS + 1}


def _whole(count: int) -> dict[str, int]:
    """Labels at whole numbers only, which few numbers would not have."""
    return {"dtick": 1} if count <= FEW_VALUES else {}


def _observations_of(found: Front) -> list[dict[str, Any]]:
    """Traces of the observations, and of the infeasible ones."""
    return [_along(found.told[one.rows]) | _look(one) for one in found.known.marked()]


def _on_and_beyond(found: Front) -> list[dict[str, Any]]:
    """Traces of the front, and of points expected beyond it."""
    out = []
    if len(found.front):
        look = {"mode": "markers", "name": found.label, "hovertext": [*map(_words, found.words)]}
        out.append(_along(found.front) | look | {"marker": {"color": BLUE, "size": 7}})
    if len(found.mean):
        look = {"mode": "markers", "name": BEYOND_IT, "hovertext": [*map(_words, found.hopes)]}
        error = {"type": "data", "thickness": 0.8, "width": 0, "color": ORANGE}
        errors = {f"error_{axis}": error | {"array": std} for axis, std in zip("xyz", found.std.T, strict=False)}
        marker = {"color": ORANGE, "size": 6, "symbol": "circle-open"}
        out.append(_along(found.mean) | look | errors | {"marker": marker})
    return out


def _along(values: Array) -> dict[str, Any]:
    """The coordinates of ``values (n, s)`` in a trace."""
    return dict(zip("xyz", values.T, strict=False))


def _front_in_space(found: Front) -> go.Figure:
    """The front of three objectives."""
    figure = go.Figure()
    for trace in (*_observations_of(found), *_on_and_beyond(found)):
        marker = trace["marker"] | {"size": 0.6 * trace["marker"]["size"]}
        figure.add_trace(go.Scatter3d(trace | {"marker": marker}))
    sides = zip("xyz", found.names, found.bounds, strict=True)
    figure.update_scenes({f"{axis}axis": {"title": _words(name), "range": bounds} for axis, name, bounds in sides})
    figure.update_scenes(camera={"eye": dict.fromkeys("xyz", 1.6)}).update_layout(height=1.5 * HEIGHT)
    return _finished(figure, found.title)


def _panels(slices: Sequence[Slice], label: str, bounds: tuple[float, float] | None) -> go.Figure:
    """One panel per slice, with a shared y axis."""
    columns = min(COLUMNS, len(slices))
    rows = -(-len(slices) // columns)
    crowded = any(one.axis.crowded for one in slices)
    spacing = (0.45 if crowded else 0.35) / rows
    figure = make_subplots(rows=rows, cols=columns, shared_yaxes="all", vertical_spacing=spacing)
    for k, one in enumerate(slices):
        cell = _cell(k)
        _set_axis(figure.update_xaxes, one.axis, cell)
        if one.axis.span is not None:
            figure.update_xaxes(range=_range(one.axis, np.array(one.axis.span)), **cell)
        figure.add_vline(
            x=one.at, line={"color": GRAY, "dash": "dot", "width": 1}, exclude_empty_subplots=False, **cell
        )
    figure.update_yaxes(range=bounds).update_yaxes(title=_words(label), col=1)
    return figure.update_layout(height=120 + (320 if crowded else 280) * rows)


def _set_axis(update: Any, axis: Axis, cell: dict[str, int]) -> None:
    kind = "category" if axis.categories else "log" if axis.log else "linear"
    update(title=_words(axis.title), type=kind, exponentformat="power", **cell)
    if axis.categories:
        update(categoryorder="array", categoryarray=axis.values, **cell)
    if axis.ticks is not None:
        update(tickvals=axis.ticks, ticktext=[*map(_words, axis.labels)], **cell)
    elif axis.log:
        low, high = np.log10(axis.values)[[0, -1]].round(9)
        powers = range(math.ceil(low), math.floor(high) + 1, math.ceil((high - low) / DECADES))
        labels = [f"10<sup>{power}</sup>" for power in powers]
        update(tickvals=[10.0**power for power in powers], ticktext=labels, **cell)


def _range(axis: Axis, ends: Array) -> Array:
    """The ends (2,) of an axis as Plotly takes them."""
    low, high = np.log10(ends) if axis.log else ends
    beyond = BEYOND * (high - low)
    return np.array([low - beyond, high + beyond])


def _contour(x: Any, y: Any, z: Array) -> go.Contour:
    """A surface with the levels that the other library has."""
    at = levels(z)
    limits = {"start": at[0], "end": at[-1], "size": at[1] - at[0]}
    return go.Contour(x=x, y=y, z=z, zmin=at[0], zmax=at[-1], contours=limits, line={"width": 0.3})


def _curves(group: CurveGroup) -> go.Scatter:
    """All curves of one kind as one trace."""
    sizes = np.zeros(len(group.x))
    sizes[group.marks] = 3.0 + group.width
    look = {"line": {"color": group.colour, "width": group.width}, "opacity": 0.8 if group.width < 1.0 else 1.0}
    marker = {"color": group.colour, "size": sizes, "opacity": 1.0, "line": {"width": 0}}
    return go.Scatter(x=group.x, y=group.y, mode="lines+markers", name=group.kind, marker=marker, **look)


def _add_ends(figure: go.Figure, group: CurveGroup) -> None:
    """The expected ends of some curves of one kind, and the lines to them."""
    line = {"color": group.colour, "width": 1, "dash": "dot"}
    way = go.Scatter(x=group.way_x, y=group.way_y, mode="lines", line=line, opacity=0.5)
    figure.add_trace(way.update(legendgroup=ENDS, showlegend=False, hoverinfo="skip"))
    error = {"type": "data", "array": 2.0 * group.std, "thickness": 0.7 * group.width, "width": 2}
    ends = go.Scatter(x=group.at, y=group.end, error_y=error, mode="markers", marker={"color": group.colour, "size": 6})
    figure.add_trace(ends.update(name=ENDS))


def _add_border(figure: go.Figure, plane: Contour, x: Any, y: Any, cell: dict[str, int]) -> None:
    """The part of the plane that is probably infeasible."""
    if not plane.pale.any():
        return
    colour = f"rgba{SHADE}"
    if plane.cells:
        pale = np.where(plane.pale, 1.0, np.nan)
        shade = go.Heatmap(x=x, y=y, z=pale, colorscale=[[0.0, colour], [1.0, colour]], showscale=False)
    else:
        limits = {"type": "constraint", "operation": ">", "value": 0.5}  # the rest is shaded
        line = {"color": BORDER, "width": 2, "dash": "dash"}
        shade = go.Contour(x=x, y=y, z=plane.probability, contours=limits, line=line, fillcolor=colour, name=INFEASIBLE)
    figure.add_trace(shade.update(hoverinfo="skip"), **cell)
    if plane.cells:  # in the legend
        marker = {"symbol": "square", "size": 10, "color": colour, "line": {"color": GRAY, "width": 1}}
        figure.add_trace(go.Scatter(x=[None], y=[None], mode="markers", marker=marker, name=INFEASIBLE), **cell)


def _add_observations(
    figure: go.Figure, x: Any, y: Any, known: Known, cell: dict[str, int], *, bars: bool = False
) -> None:
    """The observations, those in the model above the others."""
    for one in known.marked():
        points = {"x": [x[i] for i in one.rows], "y": [y[i] for i in one.rows]}
        trace = go.Scatter(points | _look(one))
        if bars and one.symbol == "open":
            faint = f"rgba({', '.join(str(int(one.colour[i : i + 2], 16)) for i in (1, 3, 5))}, {FAINT})"
            trace.error_y = {"array": 2.0 * known.std[one.rows], "thickness": 0.6, "width": 0, "color": faint}
        figure.add_trace(trace, **cell)


def _look(one: Marked) -> dict[str, Any]:
    """How observations are drawn."""
    marker = {"color": one.colour, "size": 4 + 2 * one.in_model, "opacity": 0.6 + 0.3 * one.in_model}
    return {"mode": "markers", "name": one.name, "marker": marker | {"symbol": SYMBOLS[one.symbol]}}


def _add_failures(figure: go.Figure, x: Any, y: Any, cell: dict[str, int]) -> None:
    """Where trials failed."""
    if len(x):
        marker = {"symbol": "cross-thin", "size": 7, "line": {"color": BORDER, "width": 1.5}}
        figure.add_trace(go.Scatter(x=x, y=y, mode="markers", marker=marker, name=FAILED), **cell)
