"""The plots of `numbo.plot`, drawn by Plotly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numbo._types import Array
from numbo.plot._curves import ENDS, CurveGroup, curves_of
from numbo.plot._data import (
    BLUE,
    BORDER,
    COLUMNS,
    CROSSES,
    FAILED,
    GRAY,
    GROUPS,
    INFEASIBLE,
    ORANGE,
    SHADE,
    VIOLATING,
    Axis,
    Contour,
    Known,
    Slice,
    Subject,
    acquisition_bounds,
)
from numbo.plot._front import BEYOND_IT, Front, front_of, hypervolumes_of

try:
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots
except ImportError as error:
    raise ImportError("numbo.plot needs Plotly, which is not installed: pip install 'numbo[plot]'.") from error

BAND = "rgba(31, 119, 180, 0.2)"


def plot_posterior(source: Any, params: Sequence[str] | None = None, *, objective: int = 0) -> go.Figure:
    """Posterior mean and two standard deviations along each parameter, through the best predicted point.

    The observations are shown too, those in the model in colour. They are not in the slice: their other parameters
    differ. Pruned trials are hollow, at the values expected at their ends. Observations that violate a constraint are
    crosses, and failed trials are lines at the worst value. While none is feasible, the slices go through the
    observation that violates the constraints least.

    Args:
        source: a study, a searcher or an optimizer.
        params: names of parameters, all by default.
        objective: which one of several objectives, from 0.

    Raises:
        ValueError: before the first successful observation, or for an unknown parameter or objective.
    """
    subject = Subject(source, objective)
    slices = subject.slices(params)
    figure = _panels(slices, subject.label)
    kinds = [one.axis.discrete for one in slices]
    margin = subject.margin(subject.history())
    named: set[str] = set()
    for k, one in enumerate(slices):
        cell = {"row": k // COLUMNS + 1, "col": k % COLUMNS + 1}
        x = one.axis.values
        first = kinds.index(one.axis.discrete) == k
        _add_observations(figure, one.x, one.known.y, one.known, named, cell, bars=not one.axis.discrete)
        _add_failures(figure, one.failed, margin, named, cell)
        if one.axis.discrete:
            error = {"type": "data", "array": 2.0 * one.std}
            mean = go.Scatter(
                x=x, y=one.mean, error_y=error, mode="markers", marker={"color": BLUE, "symbol": "diamond"}
            )
            figure.add_trace(mean.update(name="mean ± 2 sd", showlegend=first), **cell)
        else:
            edges = np.concatenate([one.mean + 2.0 * one.std, (one.mean - 2.0 * one.std)[::-1]])
            band = go.Scatter(x=[*x, *x[::-1]], y=edges, fill="toself", fillcolor=BAND, line={"width": 0})
            figure.add_trace(band.update(name="± 2 sd", hoverinfo="skip", showlegend=first), **cell)
            mean = go.Scatter(x=x, y=one.mean, mode="lines", line={"color": BLUE}, name="mean")
            figure.add_trace(mean.update(showlegend=first), **cell)
    return figure.update_layout(title=subject.title("Posterior", slices))


def plot_acquisition(source: Any, params: Sequence[str] | None = None, *, objective: int = 0) -> go.Figure:
    """The acquisition function of the global model along each parameter; otherwise as `plot_posterior`.

    Values more than 50 below the largest one are cut off, since it may be a logarithm. There is one acquisition
    function for all objectives; the slices go through the best predicted point of ``objective``.
    """
    subject = Subject(source, objective)
    slices = subject.slices(params)
    figure = _panels(slices, subject.optimizer.acquisition_name)
    for k, one in enumerate(slices):
        mode = "markers" if one.axis.discrete else "lines"
        trace = go.Scatter(x=one.axis.values, y=one.acquisition, mode=mode, marker={"color": BLUE}, showlegend=False)
        figure.add_trace(trace, row=k // COLUMNS + 1, col=k % COLUMNS + 1)
    if (bounds := acquisition_bounds(slices)) is not None:
        figure.update_yaxes(range=bounds)
    return figure.update_layout(title=subject.title("Acquisition function", slices))


def plot_contour(source: Any, params: Sequence[str] | None = None, *, objective: int = 0) -> go.Figure:
    """Posterior mean and standard deviation over two parameters, with the observations; otherwise as `plot_posterior`.

    Categories and few integers are cells. With constraints, the part where all of them hold with a probability below
    one half is paler; where there are no cells, a dashed line is around it.

    Args:
        source: a study, a searcher or an optimizer.
        params: names of two parameters; by default the two most relevant ones.
        objective: as `plot_posterior`.
    """
    subject = Subject(source, objective)
    plane = subject.contour(subject.most_relevant_pair() if params is None else params)
    figure = make_subplots(rows=1, cols=2, subplot_titles=["mean", "standard deviation"], horizontal_spacing=0.17)
    named: set[str] = set()
    for k, (z, colours) in enumerate(((plane.mean, "Viridis"), (plane.std, "Cividis"))):
        bar = {"x": 0.42 if k == 0 else 1.0, "thickness": 12}
        cells = plane.first.discrete or plane.second.discrete
        surface = (go.Heatmap if cells else go.Contour)(x=plane.first.values, y=plane.second.values, z=z)
        figure.add_trace(surface.update(colorscale=colours, colorbar=bar), row=1, col=k + 1)
        _add_border(figure, plane, k == 0, {"row": 1, "col": k + 1})
        _add_observations(figure, plane.x, plane.y, plane.known, named, {"row": 1, "col": k + 1})
        _set_axis(figure.update_xaxes, plane.first, {"row": 1, "col": k + 1})
        _set_axis(figure.update_yaxes, plane.second, {"row": 1, "col": k + 1})
    return figure.update_layout(title=subject.title("Posterior", [plane]), legend=_BELOW, template=_TEMPLATE)


def plot_relevance(source: Any, *, objective: int = 0) -> go.Figure:
    """Share of each parameter in the variation of the posterior mean (`numbo.optimizers.Explanation`)."""
    subject = Subject(source, objective)
    relevance = subject.explanation.relevance
    names = list(relevance)[::-1]
    shares = list(relevance.values())[::-1]
    figure = go.Figure(go.Bar(x=shares, y=names, orientation="h", marker={"color": BLUE}))
    figure.update_xaxes(title="share of the variation of the mean", tickformat=".0%", rangemode="tozero")
    return figure.update_layout(title=subject.titled("Relevance of the parameters"), template=_TEMPLATE)


def plot_subset(source: Any, *, objective: int = 0) -> go.Figure:
    """Which observations are in the model, among all observations in the order in which they were told.

    It should contain the good ones, and a few of all others (Wei et al., figure 7). Pruned and failed trials are drawn
    as by `plot_posterior`.
    """
    subject = Subject(source, objective)
    known = subject.history()
    figure = go.Figure()
    named: set[str] = set()
    _add_observations(figure, list(known.rows), known.y, known, named, {}, bars=True)
    _add_failures(figure, list(subject.failed), subject.margin(known), named, {})
    figure.update_xaxes(title="observation").update_yaxes(title=subject.label)
    return figure.update_layout(
        title=subject.titled(f"The model rests on {known.in_model.sum()} of {len(known.y)} observations"),
        legend=_BELOW,
        template=_TEMPLATE,
    )


def plot_curves(source: Any) -> go.Figure:
    """Learning curves: the reports of trials, and the predicted ends of running and pruned trials.

    Objective over step, for the newest 500 trials that have reported something and did not fail, and for the best
    complete one. A dot is where a trial was stopped, or is now. Right of the vertical line there are no steps, but the
    ends predicted by the model of curves, with two standard deviations: of the running trials, and of the pruned trials
    with the best predicted ends, at most 12. A dotted line leads from each curve to its end.

    The axis goes from the best value to the worst, or 1.2 times as far as the 95 % quantile if that is less, so that
    diverging curves do not hide the others. The rest is cut off, including deviations. Infinite values are gaps.

    Args:
        source: a study, a searcher or an optimizer, by GSSBO or GP-UCB.

    Raises:
        ValueError: if no trial has reported anything, or the source does not use curves (``use_curves``).
    """
    found = curves_of(Subject(source))
    figure = go.Figure([_curves(group) for group in found.groups])
    for k, group in enumerate(group for group in found.groups if len(group.end)):
        _add_ends(figure, group, k == 0)
    if found.border is not None:
        figure.add_vline(x=found.border, line={"color": GRAY, "width": 1})
    figure.update_xaxes(title="step").update_yaxes(title="objective", range=found.bounds)
    return figure.update_layout(title=found.title, legend=_BELOW, template=_TEMPLATE)


def plot_front(source: Any, names: Sequence[str] | None = None, objectives: Sequence[int] | None = None) -> go.Figure:
    """The front of two or three objectives, all observations, and points that the models expect beyond the front.

    The line is the border of the region that the front of two objectives dominates. If values are noisy, the front is
    drawn at expected values, among luckier observations. Observations that violate a constraint are crosses. Hollow
    points, at most 20, are parameters without a trial, with one standard deviation: by the means of the models they lie
    beyond the front (`numbo.optimizers.Snapshot.beyond_front`). The parameters of the point at the pointer are shown.

    Axes go from the best values to the worst, or 1.2 times as far as the 95 % quantile of the values if that is less,
    but at least to the ends of the front. The rest is cut off.

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
    figure.update_xaxes(title=found.names[0], range=found.bounds[0])
    figure.update_yaxes(title=found.names[1], range=found.bounds[1])
    return figure.update_layout(title=found.title, legend=_BELOW, template=_TEMPLATE)


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
    found = hypervolumes_of(Subject(source), reference)
    line = {"color": BLUE, "shape": "hv"}
    figure = go.Figure(go.Scatter(x=np.arange(1, len(found.values) + 1), y=found.values, mode="lines", line=line))
    figure.update_xaxes(title="trial").update_yaxes(title=found.label, rangemode="tozero")
    return figure.update_layout(title=found.title, template=_TEMPLATE)


def plot_ask_times(source: Any) -> go.Figure:
    """Time taken by each suggestion in this process, against the number of observations."""
    found = Subject(source).explanation
    milliseconds = 1e3 * found.ask_seconds
    figure = go.Figure(go.Scatter(x=found.asked_at, y=milliseconds, mode="markers", marker={"color": BLUE, "size": 4}))
    figure.update_xaxes(title="observations").update_yaxes(title="milliseconds", type="log")
    return figure.update_layout(title="Time of a suggestion", template=_TEMPLATE)


def plot_batch_sizes(source: Any) -> go.Figure:
    """Number of points in each batch, for BBKB and S-BPE; batches grow as the model learns less from each point.

    Raises:
        ValueError: if no batch is complete, as for algorithms without batches.
    """
    sizes = Subject(source).batch_sizes()
    figure = go.Figure(go.Bar(x=np.arange(1, len(sizes) + 1), y=sizes, marker={"color": BLUE}))
    figure.update_xaxes(title="batch").update_yaxes(title="points")
    return figure.update_layout(title="Sizes of the batches", template=_TEMPLATE)


_TEMPLATE = "plotly_white"
#: Plotly's names of the symbols of observations.
SYMBOLS = {"circle": "circle", "open": "circle-open", "cross": "x"}
_BELOW = {"orientation": "h", "yanchor": "top", "y": -0.15, "x": 0.0}


def _observations_of(found: Front) -> list[dict[str, Any]]:
    """Traces of the observations, and of the infeasible ones."""
    ((_, name, colour),) = (group for group in GROUPS if not group[0])
    out = []
    for met, label, symbol, fill in ((True, name, "circle", colour), (False, name + VIOLATING, "x", CROSSES[colour])):
        if (found.met == met).any():
            marker = {"color": fill, "size": 4, "opacity": 0.6, "symbol": symbol}
            out.append(_along(found.told[found.met == met]) | {"mode": "markers", "name": label, "marker": marker})
    return out


def _on_and_beyond(found: Front) -> list[dict[str, Any]]:
    """Traces of the front, and of points expected beyond it."""
    out = []
    if len(found.front):
        look = {"mode": "markers", "name": found.label, "hovertext": found.words}
        out.append(_along(found.front) | look | {"marker": {"color": BLUE, "size": 7}})
    if len(found.mean):
        look = {"mode": "markers", "name": BEYOND_IT, "hovertext": found.hopes}
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
    figure.update_scenes({f"{axis}axis": {"title": name, "range": bounds} for axis, name, bounds in sides})
    return figure.update_layout(title=found.title, legend=_BELOW, template=_TEMPLATE)


def _panels(slices: Sequence[Slice], label: str) -> go.Figure:
    """One panel per slice."""
    columns = min(COLUMNS, len(slices))
    rows = -(-len(slices) // columns)
    figure = make_subplots(rows=rows, cols=columns, shared_yaxes=True, vertical_spacing=0.35 / rows)
    for k, one in enumerate(slices):
        cell = {"row": k // COLUMNS + 1, "col": k % COLUMNS + 1}
        _set_axis(figure.update_xaxes, one.axis, cell)
        if cell["col"] == 1:
            figure.update_yaxes(title=label, **cell)
        if not one.axis.categories:
            figure.add_vline(
                x=one.at, line={"color": GRAY, "dash": "dot", "width": 1}, exclude_empty_subplots=False, **cell
            )
    return figure.update_layout(height=120 + 280 * rows, legend=_BELOW | {"y": -0.4 / rows}, template=_TEMPLATE)


def _set_axis(update: Any, axis: Axis, cell: dict[str, int]) -> None:
    kind = "category" if axis.categories else "log" if axis.log else "linear"
    update(title=axis.name, type=kind, exponentformat="power", **cell)
    if axis.categories:
        update(categoryorder="array", categoryarray=axis.values, **cell)
    elif axis.discrete:
        update(tickvals=axis.values, **cell)


def _curves(group: CurveGroup) -> go.Scatter:
    """All curves of one kind as one trace."""
    sizes = np.zeros(len(group.x))
    sizes[group.marks] = 3.0 + group.width
    look = {"line": {"color": group.colour, "width": group.width}, "opacity": 0.8 if group.width < 1.0 else 1.0}
    marker = {"color": group.colour, "size": sizes, "opacity": 1.0, "line": {"width": 0}}
    return go.Scatter(x=group.x, y=group.y, mode="lines+markers", name=group.kind, marker=marker, **look)


def _add_ends(figure: go.Figure, group: CurveGroup, legend: bool) -> None:
    """The expected ends of some curves of one kind, and the lines to them."""
    line = {"color": group.colour, "width": 1, "dash": "dot"}
    way = go.Scatter(x=group.way_x, y=group.way_y, mode="lines", line=line, opacity=0.5)
    figure.add_trace(way.update(legendgroup=ENDS, showlegend=False, hoverinfo="skip"))
    error = {"type": "data", "array": 2.0 * group.std, "thickness": 0.7 * group.width, "width": 2}
    ends = go.Scatter(x=group.at, y=group.end, error_y=error, mode="markers", marker={"color": group.colour, "size": 6})
    figure.add_trace(ends.update(name=ENDS, legendgroup=ENDS, showlegend=legend))


def _add_border(figure: go.Figure, plane: Contour, legend: bool, cell: dict[str, int]) -> None:
    """The part of the plane that is probably infeasible."""
    if plane.probability is None:
        return
    colour = f"rgba{SHADE}"
    look = {"name": INFEASIBLE, "legendgroup": INFEASIBLE, "showlegend": legend, "hoverinfo": "skip"}
    if plane.first.discrete or plane.second.discrete:
        pale = np.where(plane.probability < 0.5, 1.0, np.nan)
        shade = go.Heatmap(z=pale, colorscale=[[0.0, colour], [1.0, colour]], showscale=False)
    else:
        limits = {"type": "constraint", "operation": ">", "value": 0.5}  # the rest is shaded
        line = {"color": BORDER, "width": 2, "dash": "dash"}
        shade = go.Contour(z=plane.probability, contours=limits, line=line, fillcolor=colour)
    figure.add_trace(shade.update(x=plane.first.values, y=plane.second.values, **look), **cell)


def _add_observations(
    figure: go.Figure,
    x: list[Any],
    y: Any,
    known: Known,
    named: set[str],
    cell: dict[str, int],
    *,
    bars: bool = False,
) -> None:
    """The observations, those in the model above the others; ``named`` are the names that are in the legend already."""
    for one in known.marked():
        points = {"x": [x[i] for i in one.rows], "y": [y[i] for i in one.rows]}
        marker = {"color": one.colour, "size": 4 + 2 * one.in_model, "opacity": 0.6 + 0.3 * one.in_model}
        marker["symbol"] = SYMBOLS[one.symbol]
        trace = go.Scatter(**points, mode="markers", marker=marker, name=one.name, legendgroup=one.name)
        if bars and one.symbol == "open":
            trace.error_y = {"array": 2.0 * known.std[one.rows], "thickness": 0.6, "width": 0}
        figure.add_trace(trace.update(showlegend=one.name not in named), **cell)
        named.add(one.name)


def _add_failures(figure: go.Figure, x: list[Any], at: float, named: set[str], cell: dict[str, int]) -> None:
    """Lines where trials failed."""
    if not x:
        return
    marker = {"color": BORDER, "symbol": "line-ns-open", "size": 9}
    trace = go.Scatter(x=x, y=[at] * len(x), mode="markers", marker=marker, name=FAILED, legendgroup=FAILED)
    figure.add_trace(trace.update(showlegend=FAILED not in named), **cell)
    named.add(FAILED)
