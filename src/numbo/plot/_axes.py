"""The axes of plots: where labels are, where cells end, and which values are shown."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from numbo._types import Array

#: Maximum number of labels on an axis of few numbers, and of letters in the labels of categories: longer ones lose the
#: middle. Labels with more letters together do not fit below a panel side by side.
LABELS = 8
LETTERS = 14
SIDE_BY_SIDE = 32
#: Letters in a line of the name of an axis: longer names have several lines.
LINE = 24
#: A contour plot has about so many levels.
LEVELS = 15
#: On a logarithmic axis of less than two decades, labels at powers of ten are too few.
DECADE = 10.0
FEW_DECADES = 100.0
#: The plot goes from the best value to the worst that is at most this many times as far away as this quantile: for
#: curves and fronts, and where values are beside a model.
QUANTILE = 0.95
BEYOND = 1.2
BESIDE_MODEL = 10.0
#: An axis reaches at most this far beyond values to show expected points or ends, at most this far to show deviations
#: of a model, and this far to show failures, as shares of its length.
REACH = 0.5
DEVIATIONS = 2.0
ROOM = 0.08
#: Share of an axis that is left free at each end.
MARGIN = 0.04
#: Larger values count as infinite ones.
LARGEST = 1e300


@dataclass(frozen=True)
class Axis:
    """A parameter along one side of a plot: the values at which it is evaluated, and how they are shown.

    Attributes:
        name: name of the parameter.
        values: (k,) values as shown: numbers, or labels of categories.
        log: whether the axis is logarithmic.
        categories: whether the values are unordered.
        discrete: whether there is nothing between two values: categories, or few integers.
        complete: whether these are all its values.
    """

    name: str
    values: list[Any]
    log: bool
    categories: bool
    discrete: bool
    complete: bool

    @property
    def title(self) -> str:
        """The name in lines that fit below a panel, broken between words."""
        lines = [""]
        for word in re.findall(r"[^\W_]+[\W_]*|[\W_]+", self.name):
            if lines[-1] and len(lines[-1] + word) > LINE:
                lines.append("")
            lines[-1] += word
        return "\n".join(lines)

    @property
    def integers(self) -> bool:
        """Whether there are no values between integers."""
        return not self.categories and all(isinstance(value, int) for value in self.values)

    @property
    def span(self) -> tuple[float, float] | None:
        """The ends of the axis of a slice: those of cells, or with a margin; None for a single value."""
        if len(self.values) == 1:
            return None
        if self.discrete:
            return float(self.edges[0]), float(self.edges[-1])
        low, high = np.log(self.values)[[0, -1]] if self.log else (self.values[0], self.values[-1])
        ends = with_margin(low, high)
        return (math.exp(ends[0]), math.exp(ends[1])) if self.log else ends

    @property
    def ticks(self) -> list[Any] | None:
        """The values that have labels; None if any may have one, on a logarithmic axis any power of ten."""
        if self.categories:
            return self.values
        low = self.values[0]
        high = self.values[-1]
        if self.log and DECADE < high / low < FEW_DECADES:
            powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
            round_ones = (float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5))
            return [x for x in round_ones if low <= x <= high]
        if self.discrete:
            return self.values[:: math.ceil(len(self.values) / LABELS)]
        return round_numbers(low, high) if self.log and high / low <= DECADE else None

    @property
    def labels(self) -> list[str]:
        """The labels of the ticks."""
        if not self.categories:
            return [f"{value:g}" if isinstance(value, float) else str(value) for value in self.ticks or ()]
        half = LETTERS // 2
        return [one if len(one) <= LETTERS else f"{one[:half]}…{one[1 - half :]}" for one in self.values]

    @property
    def crowded(self) -> bool:
        """Whether the labels of categories do not fit side by side."""
        return self.categories and sum(map(len, self.labels)) > SIDE_BY_SIDE

    @property
    def edges(self) -> Array:
        """The borders (k + 1,) of cells around the values; categories are at 0, 1 and so on."""
        centres = np.arange(len(self.values)) if self.categories else np.asarray(self.values, dtype=np.float64)
        if self.log:
            centres = np.log(centres)
        between = (centres[1:] + centres[:-1]) / 2.0
        ends = 2.0 * centres[[0, -1]] - between[[0, -1]] if self.complete else centres[[0, -1]]
        edges = np.concatenate([ends[:1], between, ends[1:]])
        edges = np.exp(edges) if self.log else edges
        if not self.complete:
            edges[[0, -1]] = self.values[0], self.values[-1]  # exactly: points at the ends are shown
        return edges


def round_numbers(low: float, high: float) -> list[float]:
    """At least three round numbers between two numbers."""
    power = 10.0 ** math.floor(math.log10((high - low) / 3.0))
    step = max(size * power for size in (1, 2, 5) if 3 * size * power <= high - low)
    return [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def levels(values: Array) -> Array:
    """About `LEVELS` round numbers (l,), evenly spaced, from below to above the ``values``; NaN does not count."""
    low = float(np.nanmin(values))
    high = float(np.nanmax(values))
    width = (high - low) / LEVELS or max(abs(low), 1.0)
    power = 10.0 ** math.floor(math.log10(width))
    step = next(size * power for size in (1, 2, 5, 10) if size == 10 or size * power >= width)
    first = math.floor(low / step)
    out: Array = step * np.arange(first, max(math.ceil(high / step), first + 1) + 1, dtype=np.float64)
    return out


def usual_range(values: Array, minimize: bool, beyond: float = BEYOND) -> tuple[float, float] | None:
    """The range of the values to show (`QUANTILE`)."""
    losses = np.sort((values if minimize else -values)[~np.isnan(values)])
    if not len(losses):
        return None
    best, usual = np.quantile(losses, [0.0, QUANTILE])
    worst = losses[losses <= best + beyond * (usual - best)][-1]
    if worst <= best:
        return None
    low, high = (best, worst) if minimize else (-worst, -best)
    return with_margin(low, high)


def with_margin(low: float, high: float) -> tuple[float, float]:
    margin = MARGIN * (high - low)
    return float(low - margin), float(high + margin)


def reaching(usual: tuple[float, float], lows: Array, highs: Array, share: float = REACH) -> tuple[float, float]:
    """The ``usual`` range of an axis, extended to ``lows (e,)`` and ``highs (e,)`` by at most a ``share`` of it."""
    room = share * (usual[1] - usual[0])
    margin = MARGIN * (usual[1] - usual[0])
    low = float(np.min(lows - margin, initial=usual[0]))
    high = float(np.max(highs + margin, initial=usual[1]))
    return max(usual[0] - room, low), min(usual[1] + room, high)


def bounds_of(values: Array, minimize: bool, shown: Array) -> tuple[float, float] | None:
    """The range of ``values`` to show, which has to contain all of ``shown``; NaN does not count."""
    known = shown[~np.isnan(shown)]
    around = list(usual_range(values, minimize) or ())
    if len(known):
        around += with_margin(known.min(), known.max())
    return (min(around), max(around)) if around and min(around) < max(around) else None


def finite(values: Array) -> Array:
    """The same with NaN for infinite values."""
    out: Array = np.where(np.abs(values) <= LARGEST, values, np.nan)
    return out
