"""The contents of the plots as arrays, drawn by `numbo.plot` and `numbo.plot.matplotlib`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from numbo._types import Array, Indices, Mask
from numbo.optimizers import Explanation, Optimizer, Snapshot
from numbo.spaces import INACTIVE, Categorical, Float, Int, Space
from numbo.spaces.dimensions import middles

#: Number of points along a slice, and along each side of a contour.
RESOLUTION = 101
SIDE = 41
#: So few numbers are drawn one by one.
FEW_VALUES = 12
#: Number of panels in a row.
COLUMNS = 3
BLUE = "#1f77b4"
ORANGE = "#ff7f0e"
GRAY = "#9aa0a6"
#: Observations outside and in the model, in the order in which they are drawn: their name and colour.
GROUPS = ((False, "observations", GRAY), (True, "in the model", ORANGE))
#: Suffixes of the names of pruned trials, which are drawn where they are expected to end, and of observations that
#: violate a constraint; the colours of the latter are visible on pale areas.
PRUNED = ", pruned: expected end"
VIOLATING = ", infeasible"
FAILED = "failed"
CROSSES = {GRAY: "#5f6368", ORANGE: "#e8710a"}
#: The part where constraints hold with a probability below one half: its name, and the colours of border and shade.
INFEASIBLE = "infeasible: the pale side"
BORDER = "#d62728"
SHADE = (255, 255, 255, 0.5)
#: The plot goes from the best value to the worst, or, if that is less, this many times as far as this quantile.
QUANTILE = 0.95
BEYOND = 1.2
#: An acquisition function, which may be a logarithm, is shown down to this much below its largest value.
DEPTH = 50.0
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
    """

    name: str
    values: list[Any]
    log: bool
    categories: bool
    discrete: bool


class Known(NamedTuple):
    """Successful observations.

    Attributes:
        rows: (n,) their indices among all.
        y, std: (n,) their values; of pruned trials the expected ones, with a standard deviation.
        in_model, met: (n,) which of them are in the model, and which violate no constraint.
    """

    rows: Indices
    y: Array
    std: Array
    in_model: Mask
    met: Mask

    def at(self, there: Mask) -> Known:
        """Those that are ``there (n,)``."""
        return Known(self.rows[there], self.y[there], self.std[there], self.in_model[there], self.met[there])

    def marked(self) -> list[Marked]:
        """The groups that are drawn alike; those that are in the model last, above the others."""
        pruned = self.std > 0.0
        out = []
        for kept, name, colour in GROUPS:
            group = self.in_model == kept
            out += [
                Marked(np.flatnonzero(group & self.met & ~pruned), name, colour, "circle", kept),
                Marked(np.flatnonzero(group & self.met & pruned), name + PRUNED, colour, "open", kept),
                Marked(np.flatnonzero(group & ~self.met), name + VIOLATING, CROSSES[colour], "cross", kept),
            ]
        return [one for one in out if len(one.rows)]


class Marked(NamedTuple):
    """Observations that are drawn alike: which of the known ones (m,), and how."""

    rows: Indices
    name: str
    colour: str
    symbol: str
    in_model: bool


@dataclass(frozen=True)
class Slice:
    """Posterior along one parameter, with the others fixed at the best predicted point.

    Attributes:
        axis: the parameter, at ``k`` values.
        mean, std, acquisition: (k,) posterior in units of the objective, and the acquisition function.
        x: (n,) values of the parameter of the successful observations, which are not in the slice.
        known: these observations.
        failed: (f,) values of the parameter where trials failed.
        at: value of the parameter at the best predicted point, where the other slices are taken.
        feasible: whether there is such a point; otherwise slices go through the point with the least violation.
    """

    axis: Axis
    mean: Array
    std: Array
    acquisition: Array
    x: list[Any]
    known: Known
    failed: list[Any]
    at: Any
    feasible: bool


@dataclass(frozen=True)
class Contour:
    """Posterior over two parameters, otherwise as `Slice`: ``mean`` and ``std`` are (k2, k1).

    Attributes:
        probability: (k2, k1) that all constraints hold; None without constraints.
        x, y: (n,) values of the two parameters of the observations.
    """

    first: Axis
    second: Axis
    mean: Array
    std: Array
    probability: Array | None
    x: list[Any]
    y: list[Any]
    known: Known
    feasible: bool


class Subject:
    """The subject of a plot: an optimizer, and how its parameters are shown.

    Args:
        source: an optimizer of `numbo`, an Optuna study with a numbo sampler, or a search algorithm of `numbo.ray`.
        objective: which one of several objectives is shown, from 0.

    Attributes:
        whole: a snapshot of the optimizer.
        optimizer: the snapshot for this objective.

    Raises:
        TypeError: for anything else.
        ValueError: before the first successful observation; for slices and contours, also for explicit arms; if
            ``objective`` is too large.
    """

    def __init__(self, source: Any, objective: int = 0) -> None:
        sampler: Any = getattr(source, "sampler", None)
        while not hasattr(sampler, "inspected") and hasattr(sampler, "_base_sampler"):  # such as PartialFixedSampler's
            sampler = sampler._base_sampler
        self._texts: dict[str, list[str]] = {}  # labels of the choices of a categorical parameter
        self.whole: Snapshot
        self._shown: Callable[[str, Any], Any] = lambda name, value: value
        if isinstance(source, Optimizer | Snapshot):
            self.whole = source.snapshot() if isinstance(source, Optimizer) else source
        elif hasattr(sampler, "inspected"):
            self.whole, self._shown = sampler.inspected(source)
        elif hasattr(source, "inspected"):
            self.whole, self._shown = source.inspected()
        else:
            raise TypeError(
                "A plot takes an optimizer of numbo, an Optuna study with a numbo sampler, or a search algorithm of "
                f"numbo.ray; got {source!r}."
            )
        self.optimizer = self.whole.objective(objective)
        self._objective = objective
        named = getattr(source, "metric_names", None) or getattr(source, "metric", None)  # of a study, of a searcher
        self._called = list(named) if isinstance(named, list | tuple) else None

    def title(self, what: str, shown: Sequence[Slice | Contour]) -> str:
        """The title of a plot of ``what``, with the point that it goes through."""
        if all(one.feasible for one in shown):
            return self.titled(f"{what} through the best predicted point")
        if any(one.feasible for one in shown):
            return self.titled(
                f"{what} through the best predicted point, or, where none is feasible, the least violation"
            )
        return self.titled(f"{what} through the point of least violation: none is feasible")

    @cached_property
    def explanation(self) -> Explanation:
        return self.optimizer.explain()

    @property
    def several(self) -> bool:
        """Whether there are several objectives."""
        return len(self.whole.directions) > 1

    @property
    def label(self) -> str:
        """The name of the objective."""
        return self.objective_names(None)[self._objective] if self.several else "objective"

    def titled(self, title: str) -> str:
        """The ``title`` of a plot of one objective; with several objectives it names the objective."""
        return f"{title} ({self.label})" if self.several else title

    def objective_names(self, names: Sequence[str] | None) -> list[str]:
        """The names of all objectives: ``names``, or those in the study or the searcher, or their numbers."""
        k = len(self.whole.directions)
        if names is None:
            known = self._called is not None and len(self._called) == k
            return list(map(str, self._called or ())) if known else [f"objective {j}" for j in range(k)]
        if not isinstance(names, Sequence) or isinstance(names, str) or len(names) != k:
            raise ValueError(f"names must be {k} names, one an objective; got {names!r}.")
        return list(map(str, names))

    def words(self, point: Any) -> str:
        """The text that shows the parameters of a point."""
        if not isinstance(point, Mapping):
            return f"row {point}"
        return ", ".join(f"{name} {_short(self._label(name, value))}" for name, value in point.items())

    @property
    def space(self) -> Space:
        if not isinstance(self.optimizer.space, Space):
            raise ValueError(
                "This plot needs a search space with named parameters: the rows of a table, and arms, have none."
            )
        return self.optimizer.space

    def names(self, params: Sequence[str] | None) -> list[str]:
        """The parameters to show, all by default."""
        known = list(self.space)
        if isinstance(params, str) or (params is not None and not len(params)):
            raise ValueError(f"params must be a sequence of names of searched parameters, {known}; got {params!r}.")
        unknown = sorted(set(params or ()) - set(known))
        if unknown:
            raise ValueError(f"params must be names of searched parameters, {known}; got {unknown}.")
        return known if params is None else list(params)

    def slices(self, params: Sequence[str] | None) -> list[Slice]:
        """The posterior along each of ``params``, by default all parameters that some observation has."""
        out = []
        lost = self.optimizer.observations[0][self.failed]
        for name in self.names(params):
            if params is None and self._through([name]) is None:
                continue
            base, feasible, X, known = self._data([name])
            points = self._moved(base, {name: self._coordinates(name, RESOLUTION)})
            mean, std = self.optimizer.predict(points)
            acquisition = self.optimizer.acquisition_values(points)
            axis = self._axis(name, [p[name] for p in points])
            x = self._column(name, X)
            at = self._label(name, base[name])
            failed = self._column(name, lost[self._active([name], lost)])
            out.append(Slice(axis, mean, std, acquisition, x, known, failed, at, feasible))
        return out

    def contour(self, params: Sequence[str]) -> Contour:
        """The posterior over two parameters."""
        names = self.names(params)
        if len(names) != 2 or names[0] == names[1] or any(self.space[name].size < 2 for name in names):
            raise ValueError(f"params must name two different parameters with several values each, got {names}.")
        base, feasible, X, known = self._data(names)
        sides = [self._coordinates(n, SIDE) for n in names]
        grid = np.meshgrid(*sides)
        points = self._moved(base, dict(zip(names, map(np.ravel, grid), strict=True)))
        there = np.array([set(names) <= p.keys() for p in points])  # one parameter may make the other inactive
        mean, std, probability = np.full((3, len(points)), np.nan)
        shown = [p for p, t in zip(points, there, strict=True) if t]
        mean[there], std[there] = self.optimizer.predict(shown)
        if self.optimizer.constraints:
            probability[there] = self.optimizer.predict_feasible(shown)
        first, second = (
            self._axis(n, [self.space[n].from_unit(float(u)) for u in side])
            for n, side in zip(names, sides, strict=True)
        )
        x, y = (self._column(n, X) for n in names)
        mean, std, probability = (z.reshape(grid[0].shape) for z in (mean, std, probability))
        limits = probability if self.optimizer.constraints else None
        return Contour(first, second, mean, std, limits, x, y, known, feasible)

    def _moved(self, base: dict[str, Any], coordinates: dict[str, Array]) -> list[dict[str, Any]]:
        """The points with these coordinates, and the values of ``base`` in all others."""
        names = list(self.space)
        X = np.tile(self.space.encode(base), (len(next(iter(coordinates.values()))), 1))
        for name, values in coordinates.items():
            X[:, names.index(name)] = values
        if not self.space.conditional.any():
            return [
                base | {name: self.space[name].from_unit(float(values[i])) for name, values in coordinates.items()}
                for i in range(len(X))
            ]
        return [self.space.decode(x) for x in self.optimizer.woken(X)]

    def history(self) -> Known:
        """The successful observations."""
        y, std = self.optimizer.expected
        in_model = np.isin(np.arange(len(y)), self.explanation.members)
        success = np.flatnonzero(np.isfinite(y))
        return Known(success, y[success], std[success], in_model[success], self.optimizer.met[success])

    @property
    def failed(self) -> Indices:
        """The observations (f,) that failed."""
        return np.flatnonzero(np.isnan(self.optimizer.observations[1]))

    def margin(self, known: Known) -> float:
        """The worst value of the ``known`` observations, where failures are drawn."""
        y = known.y[np.abs(known.y) <= LARGEST]
        return float(y.max() if self.optimizer.direction == "minimize" else y.min()) if len(y) else 0.0

    def batch_sizes(self) -> tuple[int, ...]:
        sizes = self.explanation.batch_sizes
        if not sizes:
            raise ValueError("No batch has ended; only BBKB, BKB and S-BPE work in batches.")
        return sizes

    def most_relevant_pair(self) -> list[str]:
        """The most relevant pair of names of parameters that can vary and that some observation has together.

        If possible, neither decides whether the other is used: most of their plane would be empty.
        """
        names = [name for name in self.explanation.relevance if self.space[name].size > 1]
        pairs = [[a, b] for a, b in combinations(names, 2) if self._through([a, b]) is not None]
        parents = {name: condition.parents for name, condition in self.optimizer.conditions.items()}
        apart = (p for p in pairs if not (p[0] in parents.get(p[1], ()) or p[1] in parents.get(p[0], ())))
        return next(apart, pairs[0] if pairs else names[:2])

    def _through(self, having: Sequence[str]) -> tuple[dict[str, Any], bool] | None:
        """The point that slices along some parameters go through, and whether it is feasible.

        It is the best predicted point, or the point that violates the constraints least. None if no observation has the
        parameters.
        """
        if (best := self.optimizer.best_predicted(having)) is not None:
            return best[0], True
        nearest = self.optimizer.least_violated(having)
        return None if nearest is None else (nearest, False)

    def _data(self, having: Sequence[str]) -> tuple[dict[str, Any], bool, Array, Known]:
        """The point that slices along some parameters go through, and the observations that have these parameters.

        Returns:
            the point; whether it is feasible (`_through`); and the points and other data of the observations.
        """
        through = self._through(having)
        if through is None:
            conditions = {n: c.translated(self._shown) for n, c in self.optimizer.conditions.items() if n in having}
            where = "".join(f"; {name} is used where {condition}" for name, condition in conditions.items())
            raise ValueError(f"params must name parameters that some observation has, got {list(having)}{where}.")
        known = self.history()
        X = self.optimizer.observations[0][known.rows]
        there = self._active(having, X)
        return *through, X[there], known.at(there)

    def _active(self, having: Sequence[str], X: Array) -> Mask:
        """Which of the points ``X (n, d)`` have these parameters."""
        out: Mask = (X[:, [list(self.space).index(name) for name in having]] != INACTIVE).all(axis=1)
        return out

    def _coordinates(self, name: str, count: int) -> Array:
        """Coordinates at which a parameter is evaluated: all its values, or ``count`` points if it has more values."""
        dimension = self.space[name]
        if dimension.size > count and not isinstance(dimension, Categorical):
            return np.linspace(0.0, 1.0, count)
        return middles(dimension, np.arange(int(dimension.size)))

    def _axis(self, name: str, values: list[Any]) -> Axis:
        dimension = self.space[name]
        log = isinstance(dimension, Float | Int) and dimension.log
        categories = isinstance(dimension, Categorical)
        discrete = categories or dimension.size <= FEW_VALUES
        return Axis(name, [self._label(name, v) for v in values], log, categories, discrete)

    def _column(self, name: str, X: Array) -> list[Any]:
        """The values (n,) of a parameter at points ``X (n, d)``, as they are shown."""
        j = list(self.space).index(name)
        return [self._label(name, self.space[name].from_unit(float(u))) for u in X[:, j]]

    def _label(self, name: str, value: Any) -> Any:
        dimension = self.space[name]
        if not isinstance(dimension, Categorical):
            return self._shown(name, value)
        if name not in self._texts:
            shown = [self._shown(name, choice) for choice in dimension.choices]
            count = Counter(map(str, shown))
            self._texts[name] = [str(v) if count[str(v)] == 1 else f"{v!r} (#{i})" for i, v in enumerate(shown)]
        return self._texts[name][dimension.index(value)]


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def usual_range(values: Array, minimize: bool) -> tuple[float, float] | None:
    """The range of the values to show (`QUANTILE`)."""
    losses = np.sort((values if minimize else -values)[~np.isnan(values)])
    if not len(losses):
        return None
    best, usual = np.quantile(losses, [0.0, QUANTILE])
    worst = min(losses[-1], best + BEYOND * (usual - best))
    if worst <= best:
        return None
    low, high = (best, worst) if minimize else (-worst, -best)
    return _with_margin(low, high)


def _with_margin(low: float, high: float) -> tuple[float, float]:
    margin = MARGIN * (high - low)
    return float(low - margin), float(high + margin)


def acquisition_bounds(slices: Sequence[Slice]) -> tuple[float, float] | None:
    """The range of acquisition functions to show; None for the whole range."""
    values = np.concatenate([one.acquisition for one in slices])
    known = values[np.isfinite(values)]
    if not len(known) or known.max() - values.min() <= DEPTH:
        return None
    return _with_margin(known.max() - DEPTH, known.max())


def bounds_of(values: Array, minimize: bool, shown: Array) -> tuple[float, float] | None:
    """The range of ``values`` to show, which has to contain all of ``shown``; NaN does not count."""
    known = shown[~np.isnan(shown)]
    around = list(usual_range(values, minimize) or ())
    if len(known):
        around += _with_margin(known.min(), known.max())
    return (min(around), max(around)) if around and min(around) < max(around) else None


def finite(values: Array) -> Array:
    """The same with NaN for infinite values."""
    out: Array = np.where(np.abs(values) <= LARGEST, values, np.nan)
    return out
