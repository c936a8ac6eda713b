"""A named set of dimensions, some of them conditional: user values <-> the unit cube, enumeration, neighbours.

A point is a row of coordinates in [0, 1]. Inactive coordinates are `INACTIVE`, so that points are equal if all their
active coordinates are.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from numbo._types import Array, Indices, Mask
from numbo.spaces.allowed import Allowed, constraints_of
from numbo.spaces.beliefs import Beliefs, beliefs_of, defaults_of
from numbo.spaces.conditions import INACTIVE, Activity, Condition
from numbo.spaces.dimensions import COUNTABLE, Categorical, Dimension, Float, Int, cells, middles
from numbo.spaces.domain import Corners, Derived
from numbo.spaces.ranges import Limits, RangeRule

NO_RANGES: Mapping[str, RangeRule] = MappingProxyType({})


def misfit(name: str, given: bool, condition: Condition | str | None) -> str:
    """Error message for a dimension that is ``given`` although it is inactive, or missing although it is active."""
    if given:
        return f"params must not name {name!r}, which is active only where {condition}."
    return f"params must name {name!r}" + (f", which is active where {condition}." if condition else ".")


class Space(Mapping[str, Dimension]):
    """A named set of dimensions, ``Space({"lr": Float(1e-6, 1.0, log=True), "act": Categorical([...])})``.

    A dimension with ``when`` is active only for some values of others, its parents, which must be active as well:

        Space({
            "optimizer": Categorical(["adam", "sgd"]),
            "momentum": Float(0, 1, when={"optimizer": "sgd"}),
            "layers": Int(1, 6),
            "width_5": Int(8, 256, log=True, when={"layers": (">=", 5)}),
        })

    A list of values means any of them, several names mean all of them, and a list of mappings means any of these.

    Args:
        dimensions: by name, in the order of the coordinates.
        optional: names of dimensions without a condition that may nevertheless be missing in a point.
        ranges: of dimensions whose range depends on the value of a finite one, within their full range.
        allowed: what is known of the parameters together, one or more of `Linear`, `Mixture`, `Order`, `Nonzero`, and
            functions of the active parameters, a mapping, that return whether they are allowed. All suggestions of
            GSSBO and GP-UCB meet them. Points that are told need not.
        prior: what is believed of good values, by name: a `Guess`, a function of the value that returns how likely it
            is to be good, on the scale of the parameter, or weights of all categories. GSSBO and GP-UCB start there,
            and believe it less with each trial.
        default: usual values by name, of all parameters or of some. GSSBO and GP-UCB start there, and change only what
            pays.

    Raises:
        ValueError: if there is no dimension, one is not a `Float`, `Int` or `Categorical`, a condition is invalid,
            nothing is allowed, or a belief or a default does not fit.
    """

    #: Ordinal dimensions with at most this many values are searched value by value, larger ones also by gradient.
    SMALL = 16
    #: Points and combinations of values of a conditional space are counted only up to this number.
    COUNTED = 10**5
    #: Branches that fit are remembered up to this number: to look at the conditions takes twice as long as the rest of
    #: `encode`, and ten thousand trials of a study come at once when it is opened.
    KNOWN_BRANCHES = 1024
    #: A space is not a set of arms.
    explicit: ClassVar[bool] = False
    #: What is known of the parameters together; None if nothing is.
    allowed: Allowed | None = None
    #: What is believed of good values; None if nothing is.
    beliefs: Beliefs | None = None
    #: (d,) the coordinates of default values, NaN for those without; None if there are none.
    default: Array | None = None

    def __init__(
        self,
        dimensions: Mapping[str, Dimension],
        *,
        optional: Collection[str] = (),
        ranges: Mapping[str, RangeRule] = NO_RANGES,
        allowed: Any = (),
        prior: Any = MappingProxyType({}),
        default: Any = MappingProxyType({}),
    ) -> None:
        if not isinstance(dimensions, Mapping):
            raise ValueError(f'A space must be a mapping such as {{"x": Float(0, 1)}}, got {dimensions!r}.')
        if not dimensions:
            raise ValueError("Space needs at least one dimension, got an empty mapping.")
        for name, dimension in dimensions.items():
            if not isinstance(dimension, Float | Int | Categorical):
                raise ValueError(f"Space dimension {name!r} must be a Float, Int or Categorical, got {dimension!r}.")
        self._dimensions = dict(dimensions)
        parts = list(self._dimensions.values())
        #: (d,) number of values of each dimension, ``inf`` for continuous ones.
        self.sizes: Array = np.array([float(p.size) for p in parts])
        #: (d,) what models expect (`numbo.models.priors`).
        self.usual_lengthscales: Array = np.array([p.usual_lengthscale for p in parts])
        #: (d,) which dimensions have no order.
        self.categorical: Mask = np.array([isinstance(p, Categorical) for p in parts])
        #: (d,) which dimensions gradient ascent moves.
        self.relaxed: Mask = ~self.categorical & (self.sizes > self.SMALL)
        #: (d,) which dimensions have at most `COUNTABLE` values, and which do not.
        self.discrete: Mask = self.sizes <= COUNTABLE
        self.continuous: Mask = ~self.discrete
        #: Conditions of the dimensions that have one, by name.
        self.conditions: dict[str, Condition] = {
            name: Condition.of(name, p.when, self._dimensions)
            for name, p in self._dimensions.items()
            if p.when is not None
        }
        #: (d,) which dimensions may be missing in a point without a condition, and which may be inactive.
        self.optional: Mask = np.array([name in optional and name not in self.conditions for name in self])
        self.conditional: Mask = self.optional | np.array([name in self.conditions for name in self])
        self._branching = bool(self.conditional.any())
        self._activity = Activity(self._dimensions, self.conditions, ranges) if self.conditions or ranges else None
        self._ranges = dict(ranges)
        at = {name: j for j, name in enumerate(self)}
        self._limits = [
            Limits(at[name], at[rule.parent], self[name], self[rule.parent], rule) for name, rule in ranges.items()
        ]
        self._rows: dict[bytes, int] | None = None
        #: Which dimensions conditions look at, and what is known to fit: which dimensions have no value, and the values
        #: of those.
        self._parents = [at[parent] for parent in sorted(self.parents)]
        self._fitting: set[bytes] = set()
        self._parts = parts
        self._discrete = np.flatnonzero(self.discrete).tolist()
        self._coarse = [j for j, p in enumerate(parts) if p.coarse]
        beliefs = beliefs_of(prior)
        self.beliefs = Beliefs(self._dimensions, beliefs) if beliefs else None
        self._default_values = defaults_of(default)
        for name, value in self._default_values.items():
            if name not in self:
                raise ValueError(f"default must name parameters of the space, {self.names}, got {name!r}.")
            if not self[name].contains(value):
                raise ValueError(f"default[{name!r}] must be a value of {self[name]}, got {value!r}.")
        self.default = self.partial(self._default_values) if self._default_values else None
        constraints = constraints_of(allowed)
        self.allowed = Allowed(self, constraints) if constraints else None

    def __getitem__(self, name: str) -> Dimension:
        return self._dimensions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._dimensions)

    def __len__(self) -> int:
        return len(self._dimensions)

    def __repr__(self) -> str:
        return f"Space({self._dimensions!r})"

    @property
    def d(self) -> int:
        """Number of dimensions."""
        return len(self._dimensions)

    @property
    def names(self) -> list[str]:
        """Names of the dimensions, in the order of the coordinates."""
        return list(self._dimensions)

    @property
    def permitted(self) -> Mask | None:
        """(A,) which points of the grid are allowed; None if all are, or there are too many."""
        return None if self.allowed is None else self.allowed.permitted

    @property
    def parents(self) -> set[str]:
        """Names of the dimensions that conditions look at."""
        return set().union(*(condition.parents for condition in self.conditions.values()))

    @property
    def cardinality(self) -> float:
        """Number of points, ``inf`` if an active dimension is continuous, or one is optional."""
        if self.optional.any() or (self.continuous & ~self.conditional).any():
            return math.inf
        if self._activity is None:
            return float(np.prod(self.sizes))
        listed = {j for j, name in enumerate(self) if name in self.parents} | {limits.q for limits in self._limits}
        _, counts = self._enumerated(listed)
        return float(counts.sum())

    def encode(self, params: Mapping[str, Any]) -> Array:
        """The point (d,) of user values of all active dimensions; optional ones may be missing.

        Raises:
            ValueError: if a name is missing or unknown, a dimension is inactive, a value is outside its dimension, or
                ``params`` are no mapping.
        """
        if not isinstance(params, Mapping):
            raise ValueError(f'params must be a mapping of names to values such as {{"x": 0.5}}, got {params!r}.')
        if not self._branching and params.keys() != self._dimensions.keys():
            missing = sorted(self.keys() - params.keys())
            unknown = sorted(params.keys() - self.keys())
            raise ValueError(f"params must name exactly the space's dimensions: missing {missing}, unknown {unknown}.")
        x = self.partial(params, snapped=False)
        if self._branching:
            absent = np.isnan(x)
            branch = absent.tobytes() + x[self._parents].tobytes()
            if branch not in self._fitting:
                if names := self.misfits(x):
                    raise ValueError(misfit(names[0], names[0] in params, self.conditions.get(names[0])))
                if len(self._fitting) < self.KNOWN_BRANCHES:
                    self._fitting.add(branch)
            x = np.where(absent, INACTIVE, x)
        for limits in self._limits:
            low, high = limits.of(x[None])
            if x[limits.j] < low[0] or x[limits.j] > high[0]:
                name = self.names[limits.j]
                parent = self.names[limits.q]
                raise ValueError(
                    f"params[{name!r}] = {params[name]!r} is out of range where {parent}={params[parent]!r}."
                )
        return x

    def misfits(self, x: Array) -> list[str]:
        """Names of inactive dimensions for which ``x (d,)`` has a coordinate, and of active ones for which it has none.

        Parents come first. A coordinate that is NaN or `INACTIVE` is none.
        """
        x = np.where(np.isnan(x), INACTIVE, x)
        wrong = (self.active(x[None])[0] | ~self.conditional) != (x != INACTIVE)
        order = range(self.d) if self._activity is None else self._activity.order
        return [self.names[j] for j in order if wrong[j]]

    def completed(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """``params`` without inactive parameters; missing conditional parameters are set to the middle of their range.

        Raises:
            ValueError: if a name is unknown, or a value is outside its dimension.
        """
        x = self.partial(params, snapped=False)
        middle = np.where(self.optional, INACTIVE, 0.5)
        whole = self.snap(np.where(np.isnan(x), INACTIVE, x)[None], middle[None])[0]
        return {
            name: params.get(name, value)
            for name, value in self.decode(whole).items()
            if name in params or name in self.conditions
        }

    def moved_into_ranges(self, params: Mapping[str, Any], free: Collection[str]) -> dict[str, Any]:
        """``params`` with values of the ``free`` dimensions wrapped into the ranges that other values determine.

        Raises:
            ValueError: if a name is unknown, or a value is outside its dimension.
        """
        x = self.partial(params, snapped=False)
        x = np.where(np.isnan(x), INACTIVE, x)
        out = dict(params)
        for limits in self._limits:
            name = self.names[limits.j]
            if name in free and name in params:
                moved = limits.wrap(x[None])[0]
                if moved[limits.j] != x[limits.j]:
                    out[name] = self._parts[limits.j].from_unit(float(moved[limits.j]))
                    x = moved
        return out

    def partial(self, params: Mapping[str, Any], *, snapped: bool = True) -> Array:
        """The coordinates (d,) of some of the parameters, each snapped as by `snap`, and NaN for the others.

        Raises:
            ValueError: if a name is unknown, or a value is outside its dimension.
        """
        if unknown := sorted(params.keys() - self._dimensions.keys()):
            raise ValueError(f"params must name dimensions of the space: {unknown} are unknown.")
        found = [math.nan] * self.d
        for j, (name, dimension) in enumerate(self._dimensions.items()):
            if name not in params:
                continue
            value = params[name]
            if not dimension.contains(value):
                raise ValueError(f"params[{name!r}] = {value!r} is not in {dimension}.")
            found[j] = dimension.to_unit(value)
        x = np.array(found)
        if not snapped:
            return x
        whole = self.rounded(np.where(np.isnan(x), 0.5, x)[None])[0]
        return np.where(np.isnan(x), x, whole)

    @property
    def middle(self) -> Array:
        """The middle (d,) of each range, on its scale, and the first category, as people list the usual one first."""
        return np.where(self.categorical, 0.0, 0.5)

    @property
    def usual(self) -> Array:
        """The default (d,); else what is believed best; else the `middle`."""
        found = self.middle
        for known in (None if self.beliefs is None else self.beliefs.mode, self.default):
            found = found if known is None else np.where(np.isnan(known), found, known)
        return found

    def decode(self, x: Array) -> dict[str, Any]:
        """User values of the active dimensions at the point ``x (d,)``."""
        found = {
            name: p.from_unit(float(u))
            for (name, p), u in zip(self._dimensions.items(), x, strict=True)
            if u != INACTIVE
        }
        if self.default is not None:  # to the last digit
            same = (name for name, one in zip(self, x == self.default, strict=True) if one)
            found |= {name: self._default_values[name] for name in same if name in found}
        for name, rule in self._ranges.items():
            if name in found and found.get(rule.parent) in rule.bounds:
                low, high = rule.bounds[found[rule.parent]]
                found[name] = min(max(found[name], low), high)  # rounding may lead out of it
        return found

    def representable(self, x: Array) -> Array:
        """The coordinates (d,) of the user values at ``x (d,)``; nearby coordinates may have the same user values."""
        if not self._coarse:
            return x
        x = x.copy()
        for j in self._coarse:
            if x[j] != INACTIVE:
                value: Any = self._parts[j].from_unit(float(x[j]))
                x[j] = self._parts[j].to_unit(value)
        return x

    def cells(self, X: Array) -> Indices:
        """Numbers (n, d), from 0, of the discrete values at ``X (n, d)``; 0 in continuous and inactive dimensions."""
        out = np.zeros(X.shape, dtype=np.int64)
        for j in self._discrete:
            out[:, j] = cells(self._parts[j], X[:, j])
        return out

    def active(self, X: Array) -> Mask:
        """Which coordinates (n, d) of ``X (n, d)`` are active; without a condition, if they are not `INACTIVE`."""
        return X != INACTIVE if self._activity is None else self._activity.of(X)

    def snap(self, X: Array, dormant: Array | None = None) -> Array:
        """A copy of ``X (n, d)`` with discrete coordinates at the midpoints of their cells, and inactive ones removed.

        Coordinates that are `INACTIVE` in ``X`` but become active have the values of the first row of
        ``dormant (m, d)``, which has values for inactive coordinates.
        """
        snapped = self.rounded(X)
        if dormant is not None:
            snapped = np.where(X == INACTIVE, dormant[0], snapped)
        return self._without_inactive(snapped)

    def limits(self, X: Array, corners: Corners) -> Corners:
        """The ``corners (d,)`` of a box within the ranges of the dimensions at ``X (n, d)``.

        They are (n, d), or the given ones if no range depends on another parameter.
        """
        if not self._limits:
            return corners
        low = np.broadcast_to(corners.lower, X.shape).copy()
        high = np.broadcast_to(corners.upper, X.shape).copy()
        for limits in self._limits:
            first, last = limits.of(X)
            low[:, limits.j] = np.maximum(low[:, limits.j], first)
            high[:, limits.j] = np.minimum(high[:, limits.j], last)
        return Corners(low, high)

    def rounded(self, X: Array) -> Array:
        """A copy of ``X (n, d)`` with each discrete coordinate at the midpoint of its cell, active or not."""
        X = np.clip(X, 0.0, 1.0)
        if self._discrete:
            numbers = self.cells(X)
            for j in self._discrete:
                X[:, j] = middles(self._parts[j], numbers[:, j])
        return X

    def grid(self) -> Array:
        """All points of a finite space, (cardinality, d); in lexicographic order unless it is conditional."""
        if self._activity is not None:
            return self._enumerated(set(range(self.d)))[0]
        rows = np.arange(int(self.cardinality))
        numbers = rows[:, None] // _strides(self.sizes) % self.sizes.astype(np.int64)
        return np.stack([middles(part, numbers[:, j]) for j, part in enumerate(self._parts)], axis=1)

    def grid_index(self, X: Array) -> Indices:
        """Row numbers in `grid` of the points ``X (n, d)`` of a finite space."""
        if self._activity is None:
            return self.cells(X) @ _strides(self.sizes)
        if self._rows is None:
            self._rows = {key: i for i, key in enumerate(_keys(self, self.grid()))}
        return np.array([self._rows[key] for key in _keys(self, X)], dtype=np.int64)

    def _enumerated(self, listed: set[int]) -> tuple[Array, Array]:
        """All combinations (n, d) of the ``listed`` coordinates, and the number of points (n,) that each represents.

        If there are more than `COUNTED`, the numbers are too small.
        """
        assert self._activity is not None
        X = np.full((1, self.d), INACTIVE)
        counts = np.ones(1)
        for j in self._activity.order:
            active = self._activity.at(j, X, X != INACTIVE)
            starts = np.zeros(len(X), dtype=np.int64)
            sizes = np.where(active, self.sizes[j], 1.0)
            for limits in self._limits:
                if limits.j == j and self.discrete[j]:
                    starts, within = limits.count(X)
                    sizes = np.where(active, within, 1.0)
            if j not in listed or sizes.sum() > self.COUNTED:
                counts = counts * sizes
                continue
            owner = np.repeat(np.arange(len(X)), sizes.astype(np.int64))
            numbers = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes - starts, sizes.astype(np.int64))
            X = X[owner]
            counts = counts[owner]
            X[:, j] = np.where(active[owner], middles(self._parts[j], numbers.astype(np.int64)), INACTIVE)
        return X, counts

    def neighbours(self, X: Array, dormant: Array | None = None) -> Derived:
        """Points (k, d) that differ from a row of ``X (n, d)`` in one discrete coordinate.

        Categorical and small ordinal dimensions take all other values; larger ones move by one step and by a tenth of
        their range, up and down. If this makes other coordinates active, there is one point for each row of
        ``dormant (m, d)``, with their values from it.
        """
        here = self.cells(X)
        points = [X[:0]]
        owners = [np.empty(0, dtype=np.int64)]
        for j in self._discrete:
            size = int(self.sizes[j])
            if self.relaxed[j]:
                jump = max(2, size // 10)
                values = here[:, j, None] + np.array([-jump, -1, 1, jump])
                keep = (values >= 0) & (values < size)
            else:
                values = np.broadcast_to(np.arange(size), (len(X), size))
                keep = values != here[:, j, None]
            if self._activity is not None:
                keep = keep & (X[:, j] != INACTIVE)[:, None]
            owner = np.nonzero(keep)[0]
            block = X[owner]
            block[:, j] = middles(self._parts[j], values[keep])
            points.append(block)
            owners.append(owner)
        found = np.concatenate(points)
        owner = np.concatenate(owners)
        if self._activity is None or dormant is None:
            return Derived(self._without_inactive(found), owner)
        awake = self.wake(found, dormant)
        return Derived(awake.X, owner[awake.rows])

    def wake(self, X: Array, dormant: Array | None) -> Derived:
        """``X (n, d)`` made to satisfy the conditions: inactive coordinates removed, newly active ones filled in.

        Their values are taken from each row of ``dormant (m, d)`` in turn, so that a point may become ``m`` points.
        Without ``dormant``, nothing becomes active.
        """
        if dormant is None:
            return Derived(self._without_inactive(X), np.arange(len(X)))
        asleep = X == INACTIVE
        found = self._without_inactive(np.where(asleep, dormant[0], X))
        wakes = np.flatnonzero((asleep & (found != INACTIVE)).any(axis=1))
        others = np.where(asleep[wakes], dormant[1:, None], X[wakes]).reshape(-1, self.d)
        rows = np.concatenate([np.arange(len(X)), np.tile(wakes, len(dormant) - 1)])
        return Derived(np.concatenate([found, self._without_inactive(others)]), rows)

    def _without_inactive(self, X: Array) -> Array:
        if self._activity is None:
            return X
        X = np.where(self._activity.of(X), X, INACTIVE)
        for limits in self._limits:
            X = limits.wrap(X)
        return X


def _keys(space: Space, X: Array) -> list[bytes]:
    """Keys (n,) of the points ``X (n, d)`` of a finite ``space``."""
    return [numbers.tobytes() for numbers in np.where(X == INACTIVE, -1, space.cells(X))]


def _strides(sizes: Array) -> Indices:
    """Distance in rows of a grid between neighbouring values of each dimension with so many values."""
    return np.append(np.cumprod(sizes.astype(np.int64)[:0:-1])[::-1], 1).astype(np.int64)
