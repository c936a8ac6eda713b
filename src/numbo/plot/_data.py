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
from numbo.plot._axes import (
    BESIDE_MODEL,
    DEVIATIONS,
    ROOM,
    Axis,
    finite,
    reaching,
    usual_range,
    with_margin,
)
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
PALE = "#b9bec5"
#: Observations outside and in the model, in the order in which they are drawn: their name and colour.
GROUPS = ((False, "observations", GRAY), (True, "in the model", ORANGE))
#: Suffixes of the names of pruned trials, which are drawn where they are expected to end, and of observations that
#: violate a constraint; the colours of the latter are visible on pale areas.
PRUNED = ", pruned: expected end"
VIOLATING = ", infeasible"
FAILED = "failed"
BEST = "best so far"
#: Opacity of the bars of pruned trials, which are many and long.
FAINT = 0.25
#: Observations whose conditional parameters are others than those of the slice.
ELSEWHERE = "in another branch"
CROSSES = {GRAY: "#5f6368", ORANGE: "#e8710a"}
#: The part where constraints hold with a probability below one half: its name, and the colours of border and shade.
INFEASIBLE = "infeasible: the pale side"
BORDER = "#d62728"
SHADE = (255, 255, 255, 0.5)
#: An acquisition function, which may be a logarithm, is shown down to this much below its largest value.
DEPTH = 20.0
LOWER = "lower than shown"


class Known(NamedTuple):
    """Successful observations.

    Attributes:
        rows: (n,) their indices among all.
        y, std: (n,) their values; of pruned trials the expected ones, with a standard deviation.
        in_model, met: (n,) which of them are in the model, and which violate no constraint.
        here: (n,) which of them are in the branch that is shown.
    """

    rows: Indices
    y: Array
    std: Array
    in_model: Mask
    met: Mask
    here: Mask

    @classmethod
    def outside_model(cls, met: Mask) -> Known:
        """Observations of several models, of which those that are ``met (n,)`` violate no constraint."""
        n = len(met)
        return cls(np.arange(n), np.zeros(n), np.zeros(n), np.zeros(n, dtype=bool), met, np.ones(n, dtype=bool))

    def at(self, there: Mask | Indices) -> Known:
        """Those that are ``there (n,)``."""
        return Known._make(part[there] for part in self)

    def marked(self) -> list[Marked]:
        """The groups that are drawn alike; those that are in the model last, above the others."""
        pruned = self.std > 0.0
        out = [Marked(np.flatnonzero(~self.here), ELSEWHERE, PALE, "circle", False)]
        for kept, name, colour in GROUPS:
            group = self.here & (self.in_model == kept)
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
        base: the best predicted point, which the slice goes through.
        at: value of the parameter there.
        feasible: whether there is such a point; otherwise slices go through the point with the least violation.
    """

    axis: Axis
    mean: Array
    std: Array
    acquisition: Array
    x: list[Any]
    known: Known
    failed: list[Any]
    base: dict[str, Any]
    at: Any
    feasible: bool

    @property
    def low(self) -> Array:
        """The mean less two standard deviations."""
        return self.mean - 2.0 * self.std

    @property
    def high(self) -> Array:
        """The mean and two standard deviations."""
        return self.mean + 2.0 * self.std

    def lower(self, bounds: tuple[float, float] | None) -> list[Any]:
        """The values of a discrete parameter at which the acquisition function is below the ``bounds`` of its axis."""
        if bounds is None or not self.axis.discrete:
            return []
        return [value for value, height in zip(self.axis.values, self.acquisition, strict=True) if height < bounds[0]]


@dataclass(frozen=True)
class Contour:
    """Posterior over two parameters, otherwise as `Slice`: ``mean`` and ``std`` are (k2, k1).

    Attributes:
        probability: (k2, k1) that all constraints hold; NaN without constraints.
        x, y: (n,) values of the two parameters of the observations.
        failed: the same (f,) where trials failed.
    """

    first: Axis
    second: Axis
    mean: Array
    std: Array
    probability: Array
    x: list[Any]
    y: list[Any]
    known: Known
    failed: tuple[list[Any], list[Any]]
    base: dict[str, Any]
    feasible: bool

    @property
    def cells(self) -> bool:
        """Whether there is nothing between the values of one of the axes."""
        return self.first.discrete or self.second.discrete

    @property
    def pale(self) -> Mask:
        """Which points (k2, k1) are probably infeasible."""
        return self.probability < 0.5


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
        for given in (source, sampler):
            if isinstance(given, type):
                what = f"an instance such as {given.__name__}(), got the class {given.__name__}"
                raise TypeError(f"A plot takes {what}{' as the sampler of a study' * (given is sampler)}.")
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
        names = [named] if isinstance(named, str) else named
        self._called = list(names) if isinstance(names, list | tuple) else []

    def title(self, what: str, shown: Sequence[Slice | Contour]) -> str:
        """The title of a plot of ``what``, with the point that it goes through."""
        if not any(one.feasible for one in shown):
            return self.titled(f"{what} through the point of least violation: none is feasible")
        several = any(one.base != shown[0].base for one in shown)
        point = "best predicted point" + " of each branch" * several
        otherwise = ", or, where none is feasible, the least violation"
        return self.titled(f"{what} through the {point}{otherwise * (not all(one.feasible for one in shown))}")

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
        return self.objective_names(None)[self._objective]

    def titled(self, title: str) -> str:
        """The ``title`` of a plot of one objective; with several objectives it names the objective."""
        return f"{title}: {self.label}" if self.several else title

    def objective_names(self, names: Sequence[str] | None) -> list[str]:
        """The names of all objectives: ``names``, or those in the study or the searcher, or their numbers."""
        k = len(self.whole.directions)
        if names is None:
            numbered = ["objective"] if k == 1 else [f"objective {j}" for j in range(k)]
            return list(map(str, self._called)) if len(self._called) == k else numbered
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
        for name in self.names(params):
            if params is None and self._through([name]) is None:
                continue
            base, feasible = self._found_through([name])
            points = self._moved(base, {name: self._coordinates(name, RESOLUTION)})
            mean, std = self.optimizer.predict(points)
            acquisition = self.optimizer.acquisition_values(points)
            axis = self._axis(name, [p[name] for p in points])
            known, (x,), (failed,) = self._data([name], points)
            at = self._label(name, base[name])
            out.append(Slice(axis, mean, std, acquisition, x, known, failed, base, at, feasible))
        return out

    def scale(self, shown: Sequence[Known], slices: Sequence[Slice] = ()) -> tuple[tuple[float, float] | None, float]:
        """The range of the axis of values, None for the whole one, and where on it failures are drawn.

        It is that of the values ``shown``, of which few that are far worse are left out, and of ``slices``.
        """
        y = finite(np.concatenate([known.y[known.here] for known in shown]))
        minimize = self.optimizer.direction == "minimize"
        bounds = usual_range(y, minimize, BESIDE_MODEL)
        if slices:
            lows = np.concatenate([one.low for one in slices])
            highs = np.concatenate([one.high for one in slices])
            bounds = reaching(bounds, lows, highs, DEVIATIONS) if bounds else (float(lows.min()), float(highs.max()))
        if bounds is None or bounds[0] >= bounds[1]:
            return None, float(np.append(y[~np.isnan(y)], 0.0)[0])
        low, high = bounds
        room = ROOM * (high - low) if len(self.failed) else 0.0
        return ((low, high + room), high) if minimize else ((low - room, high), low)

    def contour(self, params: Sequence[str]) -> Contour:
        """The posterior over two parameters."""
        names = self.names(params)
        if len(names) != 2 or names[0] == names[1] or any(self.space[name].size < 2 for name in names):
            raise ValueError(f"params must name two different parameters with several values each, got {names}.")
        base, feasible = self._found_through(names)
        sides = [self._coordinates(n, SIDE) for n in names]
        grid = np.meshgrid(*sides)
        points = self._moved(base, dict(zip(names, map(np.ravel, grid), strict=True)))
        there = np.array([set(names) <= p.keys() for p in points])  # one parameter may make the other inactive
        mean, std, probability = np.full((3, len(points)), np.nan)
        shown = [p for p, t in zip(points, there, strict=True) if t]
        mean[there], std[there] = self.optimizer.predict(shown)
        if self.optimizer.constraints:
            probability[there] = self.optimizer.predict_feasible(shown)
        known, (x, y), (failed_x, failed_y) = self._data(names, shown)
        first, second = (
            self._axis(n, [self.space[n].from_unit(float(u)) for u in side])
            for n, side in zip(names, sides, strict=True)
        )
        mean, std, probability = (z.reshape(grid[0].shape) for z in (mean, std, probability))
        return Contour(first, second, mean, std, probability, x, y, known, (failed_x, failed_y), base, feasible)

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
        every = np.ones(len(y), dtype=bool)
        return Known(np.arange(len(y)), y, std, in_model, self.optimizer.met, every).at(success)

    def best_so_far(self, known: Known) -> Array:
        """The best value (n,) up to each observation: of those that were not pruned and meet all constraints.

        NaN before the first, and for infinite values.
        """
        counted = known.met & (known.std == 0.0)
        best = np.fmin if self.optimizer.direction == "minimize" else np.fmax
        return np.asarray(best.accumulate(np.where(counted, finite(known.y), np.nan)))

    @property
    def failed(self) -> Indices:
        """The observations (f,) that failed."""
        return np.flatnonzero(np.isnan(self.optimizer.observations[1]))

    def relevance(self) -> tuple[list[str], list[float]]:
        """The parameters, and their shares in the variation of the mean, the largest last."""
        found = dict(reversed(self.explanation.relevance.items()))
        unvaried = self.explanation.unvaried
        return [f"{name} (not varied)" if name in unvaried else name for name in found], list(found.values())

    def times(self) -> tuple[Indices, Array]:
        """Numbers of observations (a,) at which points were asked for, and the milliseconds (a,) that this took."""
        found = self.explanation
        if not len(found.asked_at):
            raise ValueError("There are no times: no point was asked for in this process.")
        return found.asked_at, 1e3 * found.ask_seconds

    def batch_sizes(self) -> tuple[int, ...]:
        sizes = self.explanation.batch_sizes
        if not sizes:
            raise ValueError("No batch has ended; only BBKB, BKB and S-BPE work in batches.")
        return sizes

    def most_relevant_pair(self) -> list[str]:
        """The most relevant pair of names of parameters that can vary and that some observation has together.

        If possible, neither decides whether the other is used: most of their plane would be empty. They are in the
        order of the space.
        """
        names = [name for name in self.explanation.relevance if self.space[name].size > 1]
        pairs = [[a, b] for a, b in combinations(names, 2) if self._through([a, b]) is not None]
        parents = {name: condition.parents for name, condition in self.optimizer.conditions.items()}

        def above(name: str) -> set[str]:
            own = parents.get(name, set())
            return own.union(*map(above, own))

        apart = (p for p in pairs if p[0] not in above(p[1]) and p[1] not in above(p[0]))
        return sorted(next(apart, pairs[0] if pairs else names[:2]), key=list(self.space).index)

    def _through(self, having: Sequence[str]) -> tuple[dict[str, Any], bool] | None:
        """The point that slices along some parameters go through, and whether it is feasible.

        It is the best predicted point, or the point that violates the constraints least. None if no observation has the
        parameters.
        """
        if (best := self.optimizer.best_predicted(having)) is not None:
            return best[0], True
        nearest = self.optimizer.least_violated(having)
        return None if nearest is None else (nearest, False)

    def _found_through(self, having: Sequence[str]) -> tuple[dict[str, Any], bool]:
        """The same, and an error if no observation has the parameters."""
        through = self._through(having)
        if through is None:
            conditions = {n: c.translated(self._shown) for n, c in self.optimizer.conditions.items() if n in having}
            where = "".join(f"; {name} is used where {condition}" for name, condition in conditions.items())
            raise ValueError(f"params must name parameters that some observation has, got {list(having)}{where}.")
        return through

    def _data(
        self, having: Sequence[str], points: Sequence[dict[str, Any]]
    ) -> tuple[Known, list[list[Any]], list[list[Any]]]:
        """The observations that have some parameters, and the values of each of these, there and where trials failed.

        The observations that are `Known.here` have the conditional parameters that one of the ``points`` has.
        """
        X = self.optimizer.observations[0]
        known = self.history()
        known = known.at(self._active(having, X[known.rows]))
        failed = self.failed[self._active(having, X[self.failed])]
        conditional = list(self.optimizer.conditions)
        branches = {tuple(name in point for name in conditional) for point in points}
        columns = [list(self.space).index(name) for name in conditional]
        active = (X[known.rows][:, columns] != INACTIVE).tolist()
        here = np.array([tuple(row) in branches for row in active], dtype=bool)
        x, x_failed = ([self._column(name, X[rows]) for name in having] for rows in (known.rows, failed))
        return known._replace(here=here), x, x_failed

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
        shown = [self._label(name, value) for value in values]
        return Axis(name, shown, log, categories, discrete, dimension.size <= len(values))

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


def acquisition_bounds(slices: Sequence[Slice]) -> tuple[float, float] | None:
    """The range of acquisition functions to show; None for the whole range."""
    values = np.concatenate([one.acquisition for one in slices])
    known = values[np.isfinite(values)]
    if not len(known) or known.max() - values.min() <= DEPTH:
        return None
    return with_margin(known.max() - DEPTH, known.max())
