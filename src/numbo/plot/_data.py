"""What the plots show, as arrays; `numbo.plot` and `numbo.plot.matplotlib` draw it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numbo.optimizers import Explanation, Optimizer, Snapshot
from numbo.spaces import Categorical, Float, Int, Space

Array = NDArray[np.float64]

#: Points of a slice, and of each side of a contour.
RESOLUTION, SIDE = 101, 41
#: Panels in a row.
COLUMNS = 3
BLUE, ORANGE, GRAY = "#1f77b4", "#ff7f0e", "#9aa0a6"
#: Observations by whether the model rests on them, in the order in which they are drawn: their name and colour.
GROUPS = ((False, "observations", GRAY), (True, "in the model", ORANGE))


@dataclass(frozen=True)
class Axis:
    """A parameter along a plot's side: where it is cut, and how that is shown.

    Attributes:
        name: of the parameter.
        values: (k,) what is shown: numbers, or texts of categories.
        log: whether the axis is logarithmic.
        categories: whether the values have no order.
    """

    name: str
    values: list[Any]
    log: bool
    categories: bool


@dataclass(frozen=True)
class Slice:
    """Posterior along one parameter, the others being held at the best predicted point.

    Attributes:
        axis: the parameter, at ``k`` values.
        mean, std, acquisition: (k,) posterior in objective units, and what the next ask maximises.
        x, y: (n,) the successful observations; they do not lie in the slice.
        in_model: (n,) which of them the model rests on.
        at: the value at which the other slices are taken.
    """

    axis: Axis
    mean: Array
    std: Array
    acquisition: Array
    x: list[Any]
    y: Array
    in_model: NDArray[np.bool_]
    at: Any


@dataclass(frozen=True)
class Contour:
    """Posterior over two parameters, as `Slice`: ``mean`` and ``std`` are (k2, k1)."""

    first: Axis
    second: Axis
    mean: Array
    std: Array
    x: list[Any]
    y: list[Any]
    in_model: NDArray[np.bool_]


class Subject:
    """What is plotted: an optimizer, and how its parameters are shown.

    Args:
        source: an optimizer of `numbo` over a `Space`, an Optuna study whose sampler is one of numbo's, or a search
            algorithm of `numbo.ray`.

    Raises:
        TypeError: for anything else.
        ValueError: before the first successful observation, or for an optimizer over explicit arms.
    """

    def __init__(self, source: Any) -> None:
        sampler: Any = getattr(source, "sampler", None)
        while not hasattr(sampler, "inspected") and hasattr(sampler, "_base_sampler"):  # as of PartialFixedSampler
            sampler = sampler._base_sampler
        self._texts: dict[str, list[str]] = {}  # of the choices of a category
        self.optimizer: Snapshot
        self._shown: Callable[[str, Any], Any] = lambda name, value: value
        if isinstance(source, Optimizer | Snapshot):
            self.optimizer = source.snapshot() if isinstance(source, Optimizer) else source
        elif hasattr(sampler, "inspected"):
            self.optimizer, self._shown = sampler.inspected(source)
        elif hasattr(source, "inspected"):
            self.optimizer, self._shown = source.inspected()
        else:
            raise TypeError(
                "A plot takes an optimizer of numbo, an Optuna study whose sampler is one of numbo's, or a search "
                f"algorithm of numbo.ray; got {source!r}."
            )

    @cached_property
    def explanation(self) -> Explanation:
        return self.optimizer.explain()

    @property
    def space(self) -> Space:
        if not isinstance(self.optimizer.space, Space):
            raise ValueError("This plot needs a search space with named parameters, and the optimizer has arms.")
        return self.optimizer.space

    def names(self, params: Sequence[str] | None) -> list[str]:
        """The parameters to show, all of them by default."""
        known = list(self.space)
        if isinstance(params, str) or (params is not None and not len(params)):
            raise ValueError(f"params must be a sequence of names of searched parameters, {known}; got {params!r}.")
        unknown = sorted(set(params or ()) - set(known))
        if unknown:
            raise ValueError(f"params must be names of searched parameters, {known}; got {unknown}.")
        return known if params is None else list(params)

    def slices(self, params: Sequence[str] | None) -> list[Slice]:
        """The posterior along each of ``params``."""
        base, X, y, in_model = self._data()
        out = []
        for name in self.names(params):
            coordinates = self._coordinates(name, RESOLUTION)
            points = [base | {name: self.space[name].from_unit(u)} for u in coordinates]
            mean, std = self.optimizer.predict(points)
            acquisition = self.optimizer.acquisition_values(points)
            axis = self._axis(name, [p[name] for p in points])
            x = self._column(name, X)
            out.append(Slice(axis, mean, std, acquisition, x, y, in_model, self._label(name, base[name])))
        return out

    def contour(self, params: Sequence[str]) -> Contour:
        """The posterior over two parameters."""
        names = self.names(params)
        if len(names) != 2 or names[0] == names[1] or any(self.space[name].size < 2 for name in names):
            raise ValueError(f"params must name two different parameters with several values each, got {names}.")
        base, X, _, in_model = self._data()
        values = [[self.space[n].from_unit(u) for u in self._coordinates(n, SIDE)] for n in names]
        points = [base | {names[0]: a, names[1]: b} for b in values[1] for a in values[0]]
        mean, std = self.optimizer.predict(points)
        shape = len(values[1]), len(values[0])
        first, second = (self._axis(n, v) for n, v in zip(names, values, strict=True))
        columns = [self._column(n, X) for n in names]
        return Contour(first, second, mean.reshape(shape), std.reshape(shape), columns[0], columns[1], in_model)

    def history(self) -> tuple[NDArray[np.int64], Array, NDArray[np.bool_]]:
        """The successful observations (n,): which they are, their values, and whether the model rests on them."""
        _, y = self.optimizer.observations
        in_model = np.isin(np.arange(len(y)), self.explanation.members)
        success = np.flatnonzero(np.isfinite(y))
        return success, y[success], in_model[success]

    def batch_sizes(self) -> tuple[int, ...]:
        sizes = self.explanation.batch_sizes
        if not sizes:
            raise ValueError("No batch has ended; only BBKB, BKB and S-BPE work in batches.")
        return sizes

    def most_relevant(self, count: int) -> list[str]:
        """Names of parameters that can be varied, the most relevant ones first."""
        return [name for name in self.explanation.relevance if self.space[name].size > 1][:count]

    def _data(self) -> tuple[dict[str, Any], Array, Array, NDArray[np.bool_]]:
        """The point that slices go through, and the successful observations: places, values, whether in the model."""
        rows, y, in_model = self.history()
        best = self.optimizer.best_predicted()
        assert best is not None
        return best[0], self.optimizer.observations[0][rows], y, in_model

    def _coordinates(self, name: str, count: int) -> Array:
        """Coordinates at which a parameter is cut: all its values, or ``count`` of them where there are more."""
        dimension = self.space[name]
        if dimension.size > count and not isinstance(dimension, Categorical):
            return np.linspace(0.0, 1.0, count)
        values = Space({name: dimension}).grid()[:, 0]
        return values

    def _axis(self, name: str, values: list[Any]) -> Axis:
        dimension = self.space[name]
        log = isinstance(dimension, Float | Int) and dimension.log
        return Axis(name, [self._label(name, v) for v in values], log, isinstance(dimension, Categorical))

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
