"""The contents of the plot of learning curves as arrays, drawn by `numbo.plot` and `numbo.plot.matplotlib`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from numbo._types import Array, Indices
from numbo.optimizers import LearningCurve
from numbo.plot._axes import LARGEST, finite, reaching, round_numbers, usual_range
from numbo.plot._data import BLUE, GRAY, ORANGE, Subject

DARK = "#202124"
#: Kinds of learning curves in the order in which they are drawn: their colour and width.
KINDS = {"complete": (GRAY, 0.7), "pruned": (ORANGE, 0.9), "best": (DARK, 2.6), "running": (BLUE, 1.8)}
ENDS = "expected end ± 2 sd"
#: Maximum numbers of curves that are drawn (the newest), and of ends of pruned curves.
NEWEST = 500
PRUNED_ENDS = 12
#: Distances of the first expected end from the last step, between two ends, and between all, as shares of all steps.
FIRST_END = 0.04
NEXT_END = 0.016
ALL_ENDS = 0.25


@dataclass(frozen=True)
class CurveGroup:
    """The learning curves of one kind, one after another, and the expected ends of some.

    Attributes:
        kind, colour, width: their name and appearance.
        x, y: (k,) steps and values; NaN between two curves, and where a value is infinite.
        marks: positions (m,) in ``x`` of points to mark: where a trial was stopped or is now, and points by themselves.
        at, end, std: (e,) positions of expected ends along the axis of steps, their values, and standard deviations.
        way_x, way_y: (3 e,) lines from the last points of the curves to these ends, NaN between two.
    """

    kind: str
    colour: str
    width: float
    x: Array
    y: Array
    marks: Indices
    at: Array
    end: Array
    std: Array
    way_x: Array
    way_y: Array


@dataclass(frozen=True)
class Curves:
    """Learning curves, in the order in which they are drawn.

    Attributes:
        groups: one for each kind that occurs.
        border: expected ends are drawn right of this step; None if there are none.
        ticks: steps that have labels; None if any may have one.
        bounds: the range of values to show; None if they do not differ.
        title: of the plot.
    """

    groups: list[CurveGroup]
    border: float | None
    ticks: list[float] | None
    bounds: tuple[float, float] | None
    title: str


def curves_of(subject: Subject) -> Curves:
    """The newest learning curves and the best one, with the expected ends of some (`_ends_to_show`)."""
    known = subject.optimizer.curves()
    if not known:
        raise ValueError("There are no learning curves: no trial that did not fail has reported anything.")
    older = [curve for curve in known[:-NEWEST] if curve.kind == "best"]
    curves = [curve._replace(values=finite(curve.values)) for curve in older + known[-NEWEST:]]
    minimize = subject.optimizer.direction == "minimize"
    ends = _ends_to_show(curves, minimize)
    border, at = _places_of_ends(curves, len(ends))
    groups = []
    for kind in KINDS:
        own = [curve for curve in curves if curve.kind == kind]
        rows = [k for k, curve in enumerate(ends) if curve.kind == kind]
        if own:
            groups.append(_group(kind, own, [ends[k] for k in rows], at[rows]))
    bounds = usual_range(np.concatenate([np.concatenate([group.y, group.end]) for group in groups]), minimize)
    if bounds is not None:
        end, std = (np.concatenate([getattr(group, part) for group in groups]) for part in ("end", "std"))
        bounds = reaching(bounds, end - 2.0 * std, end + 2.0 * std)
    count = f"{len(known)} trials" if len(curves) == len(known) else f"the newest {NEWEST} of {len(known)} trials"
    title = f"Learning curves of {count}"
    if not ends:
        return Curves(groups, None, None, bounds, title)
    first, last = _steps(curves)
    return Curves(groups, border, round_numbers(first, last) if last - first >= 3.0 else None, bounds, title)


def _ends_to_show(curves: Sequence[LearningCurve], minimize: bool) -> list[LearningCurve]:
    """The curves whose expected ends are shown: those of running trials, and the best of the pruned ones."""
    known = [curve for curve in curves if abs(curve.end) <= LARGEST]
    running = [curve for curve in known if curve.kind == "running"]
    pruned = [curve for curve in known if curve.kind == "pruned"]
    pruned.sort(key=lambda curve: curve.end if minimize else -curve.end)
    return running + pruned[:PRUNED_ENDS]


def _steps(curves: Sequence[LearningCurve]) -> tuple[float, float]:
    """The first and the last step."""
    return float(min(curve.steps[0] for curve in curves)), float(max(curve.steps[-1] for curve in curves))


def _places_of_ends(curves: Sequence[LearningCurve], count: int) -> tuple[float, Array]:
    """A border after the last step, and where ``count`` ends are drawn beyond it (count,), side by side."""
    first, last = _steps(curves)
    span = last - first if last > first else 1.0
    places = FIRST_END + min(NEXT_END, ALL_ENDS / max(1, count)) * np.arange(count, dtype=np.float64)
    return last + 0.5 * FIRST_END * span, last + span * places


def _group(kind: str, curves: Sequence[LearningCurve], ends: Sequence[LearningCurve], at: Array) -> CurveGroup:
    """The ``curves`` of one kind, and the ``ends`` of some at the places ``at``."""
    x = np.concatenate([[*curve.steps, np.nan] for curve in curves])
    y = np.concatenate([[*curve.values, np.nan] for curve in curves])
    ways = [(*_last_point(curve), place, curve.end) for curve, place in zip(ends, at.tolist(), strict=True)]
    way_x = [x for x0, _, x1, _ in ways for x in (x0, x1, np.nan)]
    way_y = [y for _, y0, _, y1 in ways for y in (y0, y1, np.nan)]
    end = np.array([curve.end for curve in ends])
    std = np.array([curve.std for curve in ends])
    marks = _marks(y, kind in ("pruned", "running"))
    return CurveGroup(kind, *KINDS[kind], x, y, marks, at, end, std, np.array(way_x), np.array(way_y))


def _last_point(curve: LearningCurve) -> tuple[float, float]:
    """The last step with a finite value, and this value; NaN if there is none."""
    known = np.flatnonzero(~np.isnan(curve.values))
    return (float(curve.steps[known[-1]]), float(curve.values[known[-1]])) if len(known) else (np.nan, np.nan)


def _marks(y: Array, last: bool) -> Indices:
    """Positions of the points that have no neighbours, or, with ``last``, none after them."""
    gap = np.isnan(np.concatenate([[np.nan], y, [np.nan]]))
    return np.flatnonzero(~gap[1:-1] & gap[2:] & (last | gap[:-2]))
