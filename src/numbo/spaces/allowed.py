"""Which points a user allows: linear constraints, mixtures, orders, few parameters that differ from 0, and predicates.

A linear constraint is one of the values of the parameters; one that is inactive counts as 0. Where no parameter of a
constraint is active, it does not apply.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from numbo import _checks
from numbo._types import Array, Mask
from numbo.kernels.polytope import Polytope, holding, repaired
from numbo.spaces.conditions import INACTIVE
from numbo.spaces.dimensions import Categorical, Dimension, Int

if TYPE_CHECKING:
    from numbo.spaces.space import Space

#: Largest finite space of which all points are looked at.
LISTED = 50_000
#: So many allowed points are known, from which others start.
ANCHORS = 128
#: Number of points that are tried for them in a block; in all, if some are allowed; and before it is an error.
BLOCK = 512
TRIED = 8192
MOST = 65536
#: If fewer are allowed than this share, a warning says so.
RARE = 1e-3
#: Steps of a walk among the anchors, which begin at the bounds of the constraints, and how often one is shortened.
STEPS = 12
SHORTENED = 5
#: By which share of its terms a sum may differ from a bound that it meets.
SLACK = 1e-9
#: How often a line to an allowed point is halved.
HALVINGS = 5
#: Number of points that are drawn to find one with some given coordinates.
DRAWN = 256


@dataclass(frozen=True)
class Linear:
    """A sum of ``weights`` times values, by names: at ``least``, at ``most``, or ``equal`` to numbers.

        Linear({"cores": 1, "gpus": 4}, most=64)

    Inactive parameters count as 0. Where none of them is active, the constraint does not apply.

    Raises:
        ValueError: if a weight or bound is no finite number, all weights are 0, or no bound is given.
    """

    weights: Mapping[str, float]
    least: float | None = None
    most: float | None = None
    equal: float | None = None

    def __post_init__(self) -> None:
        valid = isinstance(self.weights, Mapping) and all(isinstance(name, str) for name in self.weights)
        if not valid or not all(map(_checks.is_finite, self.weights.values())) or not any(self.weights.values()):
            raise ValueError(
                f'weights of Linear must be numbers by names such as {{"a": 1, "b": 2}}, got {self.weights!r}.'
            )
        bounds = {"least": self.least, "most": self.most, "equal": self.equal}
        given = {
            name: _checks.finite(f"{name} of Linear", value) for name, value in bounds.items() if value is not None
        }
        if not given or ("equal" in given and len(given) > 1):
            raise ValueError(f"Linear takes least, most, or both, or equal alone; got {given}.")
        if "least" in given and "most" in given and given["least"] > given["most"]:
            raise ValueError(f"Linear needs least <= most, got least={self.least!r}, most={self.most!r}.")

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest sum."""
        if self.equal is not None:
            return self.equal, self.equal
        return (-math.inf if self.least is None else self.least), (math.inf if self.most is None else self.most)


@dataclass(frozen=True)
class Mixture:
    """Values that sum to a ``total``, such as the shares of ingredients; with ``most``, at most so many of them not 0.

        Mixture(["water", "oil", "salt"])
        Mixture(names, total=100, most=4)

    Raises:
        ValueError: if there are fewer than two different ``names``, or a number is not accepted.
    """

    names: Sequence[str]
    total: float = 1.0
    most: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", _names("Mixture", self.names))
        _checks.finite("total of Mixture", self.total)
        if self.most is not None:
            _checks.integer("most of Mixture", self.most, 1)


@dataclass(frozen=True)
class Order:
    """Values that do not fall, ``a <= b <= c``: `Order(["a", "b", "c"])`. Inactive parameters are left out.

    Raises:
        ValueError: if there are fewer than two different ``names``.
    """

    names: Sequence[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", _names("Order", self.names))


@dataclass(frozen=True)
class Nonzero:
    """At ``most`` so many of the values differ from 0: `Nonzero(names, most=3)`.

    Raises:
        ValueError: if there are fewer than two different ``names``, or ``most`` is no integer of at least 0.
    """

    names: Sequence[str]
    most: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", _names("Nonzero", self.names))
        _checks.integer("most of Nonzero", self.most, 0)


#: A function of the active parameters, by name, that says whether they are allowed together. Where it asks for one that
#: is inactive, it does not apply.
Predicate: TypeAlias = Callable[[dict[str, Any]], Any]
Constraint: TypeAlias = Linear | Mixture | Order | Nonzero | Predicate


def constraints_of(given: Any) -> tuple[Constraint, ...]:
    """The constraints of an argument ``allowed``: one, or a sequence.

    Raises:
        ValueError: if one is none of these.
    """
    several = isinstance(given, Iterable) and not isinstance(given, str | Mapping)
    found = tuple(given) if several else (given,)
    for one in found:
        if not isinstance(one, Linear | Mixture | Order | Nonzero) and (isinstance(one, type) or not callable(one)):
            raise ValueError(
                "allowed must hold Linear, Mixture, Order or Nonzero, or functions of the parameters such as "
                f'lambda p: p["a"] < p["b"]; got {one!r}.'
            )
    return found


def names_in(constraint: Constraint) -> tuple[str, ...]:
    """The names of the parameters in a constraint; none for a function, which does not say."""
    if isinstance(constraint, Linear):
        return tuple(constraint.weights)
    return tuple(constraint.names) if isinstance(constraint, Mixture | Order | Nonzero) else ()


def restricted(constraint: Constraint, names: Collection[str]) -> Constraint | None:
    """A constraint where no other parameters than those ``names`` are active; None if it does not apply there."""
    own = names_in(constraint)
    left = [name for name in own if name in names]
    if not own or len(left) == len(own):
        return constraint
    if isinstance(constraint, Linear):
        weights = {name: constraint.weights[name] for name in left}
        return replace(constraint, weights=weights) if any(weights.values()) else None
    if isinstance(constraint, Mixture) and len(left) == 1:
        return Linear(dict.fromkeys(left, 1.0), equal=constraint.total)
    several = len(left) > 1 and isinstance(constraint, Mixture | Order | Nonzero)
    return replace(constraint, names=left) if several else None  # type: ignore[type-var]


def parts_of(constraint: Constraint) -> Sequence[Linear | Order | Nonzero | Predicate]:
    """What a constraint consists of: a mixture is a sum, and a group if few of it may differ from 0."""
    if not isinstance(constraint, Mixture):
        return (constraint,)
    total = Linear(dict.fromkeys(constraint.names, 1.0), equal=constraint.total)
    return (total,) if constraint.most is None else (total, Nonzero(constraint.names, constraint.most))


def _names(kind: str, names: Any) -> tuple[str, ...]:
    found = tuple(names) if isinstance(names, Iterable) and not isinstance(names, str | Mapping) else ()
    if len(found) < 2 or not all(isinstance(name, str) for name in found) or len(set(found)) < len(found):
        raise ValueError(f'names of {kind} must be two or more different names such as ["a", "b"], got {names!r}.')
    return found


class Allowed:
    """The constraints of a space, in its coordinates.

    Args:
        space: the space.
        constraints: what is allowed there.

    Raises:
        ValueError: if a constraint names a parameter that the space does not have or that is no number, or a group of
            which few may differ from 0 has one that cannot be 0; or if no allowed point is found.

    Warns:
        UserWarning: if allowed points are rare.

    Attributes:
        anchors: (a, d) some allowed points.
        permitted: (A,) which points of the grid of a finite space are allowed; None if there are too many.
        share: which share of the points that were tried is allowed by the functions.
    """

    def __init__(self, space: Space, constraints: Sequence[Constraint]) -> None:
        self._space = space
        self.constraints = tuple(constraints)
        self.predicates: tuple[Predicate, ...] = tuple(
            one for one in self.constraints if not isinstance(one, Linear | Mixture | Order | Nonzero)
        )
        self.polytope = polytope_of(space, self.constraints)
        #: Whether there is more than predicates.
        self.linear = len(self.polytope.low) + len(self.polytope.groups) > 0
        self.share = 1.0
        self.permitted: Mask | None = None
        self.anchors = np.empty((0, space.d))
        self.anchors = self._listed() if space.cardinality <= LISTED else self._found()

    # -- points ------------------------------------------------------------------------------------------------------

    def holds(self, x: Array) -> bool:
        """Whether the point ``x (d,)`` is allowed."""
        return (not self.linear or bool(holding(self.polytope, x[None])[0])) and self._permits(x)

    def holds_nearly(self, x: Array) -> bool:
        """Whether the values at ``x (d,)`` are allowed, up to rounding: some of them are given."""
        params = self._space.decode(x)
        return all(met(one, params, self._space) for one in self.constraints)

    def rows(self, X: Array) -> Mask:
        """Which of the points ``X (n, d)`` are allowed."""
        out = holding(self.polytope, X)
        if self.predicates:
            for i in np.flatnonzero(out):
                out[i] = self._permits(X[i])
        return out

    def _permits(self, x: Array) -> bool:
        """Whether the functions allow ``x (d,)``."""
        if not self.predicates:
            return True
        params = self._space.decode(x)
        return all(_asked(predicate, params, self._space) for predicate in self.predicates)

    def mended(self, X: Array, held: Mask | None = None) -> tuple[Array, Mask]:
        """Points ``X (n, d)`` moved to where linear constraints hold, and where (n,) they do.

        Coordinates that are ``held (d,)`` or (n, d) stay. Without such, they hold everywhere.
        """
        if not self.linear:
            return X, np.ones(len(X), dtype=bool)
        fixed = np.zeros(X.shape, dtype=bool) if held is None else np.broadcast_to(held, X.shape)
        anchors = self.anchors if held is None else self.anchors[:0]
        moved, fine = repaired(self.polytope, np.ascontiguousarray(X), np.ascontiguousarray(fixed), anchors)
        return moved, fine

    def at_zero(self, X: Array) -> Mask:
        """Which coordinates (n, d) are 0 at ``X (n, d)``, in groups of which few may differ from it."""
        out: Mask = self.polytope.groups.any(axis=0) & (self.polytope.zero == X)
        return out

    def pulled(self, x: Array, base: Array, held: Mask | None = None) -> Array:
        """``x (d,)``, or what is allowed and nearest to it on the line to an allowed point ``base (d,)``."""
        if self.holds(x):
            return x
        if ((x == INACTIVE) != (base == INACTIVE)).any():
            return base
        ordered = ~self._space.categorical & (x != INACTIVE)
        best = base
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            share = 0.5 * (low + high)
            between = self._space.rounded((base + share * (x - base))[None])
            point, fine = self.mended(np.where(ordered, between, base), held)
            if fine[0] and self.holds(point[0]):
                low, best = share, point[0]
            else:
                high = share
        return best

    def nearest(self, x: Array) -> Array:
        """The known allowed point (d,) nearest to ``x (d,)``."""
        out: Array = self.anchors[int(np.argmin(np.sum((self.anchors - x) ** 2, axis=1)))]
        return out

    def near(self, x: Array, given: Array | None = None) -> Array | None:
        """An allowed point near ``x (d,)``: ``x`` moved, a known point, or one of some drawn; None if none is found.

        It has the coordinates that are ``given (d,)``, NaN for others; then it is allowed up to rounding.
        """
        held = None if given is None else ~np.isnan(given)
        known = self.nearest(x) if given is None else np.where(np.isnan(given), self.nearest(x), given)
        known = self._space.snap(known[None])
        drawn = self.spread(DRAWN, np.random.default_rng(0), given)
        points = np.concatenate([self.mended(x[None], held)[0], self.mended(known, held)[0], drawn])
        fits = self.holds if given is None else self.holds_nearly
        return next((point for point in points if fits(point)), None)

    def spread(self, count: int, rng: np.random.Generator, held: Array | None = None) -> Array:
        """Up to ``count`` points (c, d) around and between known ones, which predicates may not allow.

        With ``held (d,)``, coordinates that stay, NaN for others.
        """
        known = self.anchors
        base = known[rng.integers(len(known), size=count)]
        return self._stepped(base, rng.uniform(-1.0, 1.0, (count, 1)), rng, held)

    def _stepped(self, base: Array, lengths: Array, rng: np.random.Generator, held: Array | None = None) -> Array:
        """The points ``base (c, d)`` moved by ``lengths (c, 1)`` along the difference of two known points."""
        known = self.anchors
        first, second = (known[rng.integers(len(known), size=len(base))] for _ in range(2))
        there = (base != INACTIVE) & (first != INACTIVE) & (second != INACTIVE) & ~self._space.categorical
        steps = np.where(there, first - second, 0.0)
        points = self._space.snap(np.where(there, base + lengths * steps, base))
        if not self.linear or held is not None:
            rest = np.zeros(0, dtype=np.int64)
        else:
            rest = np.flatnonzero(~holding(self.polytope, points))
        for _ in range(SHORTENED):
            if not len(rest):
                break
            lengths = 0.5 * lengths
            points[rest] = self._space.snap(np.where(there, base + lengths * steps, base)[rest])
            rest = rest[~holding(self.polytope, points[rest])]
        if held is None:
            return self.mended(points)[0]
        keep = ~np.isnan(held)
        points, fine = self.mended(np.where(keep, held, points), keep)
        return points[fine]

    # -- known points ------------------------------------------------------------------------------------------------

    def _listed(self) -> Array:
        """Allowed points of a finite space."""
        grid = self._space.grid()
        self.permitted = self.rows(grid)
        known = np.flatnonzero(self.permitted)
        if not len(known):
            raise ValueError(_nothing("all", len(grid), self.constraints))
        return grid[known[np.linspace(0, len(known) - 1, min(ANCHORS, len(known))).astype(np.int64)]]

    def _found(self) -> Array:
        """Allowed points: those of a Sobol set, or near the few of them that are allowed; then a walk from each."""
        from scipy.stats import qmc

        space = self._space
        rng = np.random.default_rng(0)
        sobol = qmc.Sobol(space.d, scramble=True, rng=rng)
        known: list[Array] = []
        tried = 0
        while len(known) < ANCHORS and tried < (TRIED if known else MOST):
            X = space.snap(sobol.random(BLOCK))
            X, fine = self.mended(np.concatenate([space.snap(space.usual[None]), X]) if tried == 0 else X)
            if not fine.any() and tried >= TRIED:
                break
            known += [x for x in X[fine] if self._permits(x)][: ANCHORS - len(known)]
            tried += BLOCK
            if not self.predicates and tried >= TRIED:
                break
        if not known:
            raise ValueError(_nothing("none", tried, self.constraints))
        self.share = len(known) / tried if len(known) < ANCHORS else 1.0
        if self.predicates and self.share < RARE:
            warnings.warn(
                f"allowed leaves little: {len(known)} of {tried} points that were tried are allowed by "
                f"{', '.join(map(described, self.constraints))}. Points far from them may not be found; narrower "
                "ranges help.",
                stacklevel=4,
            )
        self.anchors = self._grown(np.array(known), rng)
        return self._walked(rng) if self.linear else self.anchors

    def _grown(self, known: Array, rng: np.random.Generator) -> Array:
        """Allowed points (a, d), with new ones near the few that are ``known (k, d)``, so far away as some succeed."""
        space = self._space
        scale = 0.1
        for _ in range(TRIED // BLOCK):
            if len(known) >= ANCHORS or not self.predicates:
                break
            base = known[rng.integers(len(known), size=BLOCK // 4)]
            steps = scale * rng.normal(size=base.shape)
            moved = (base != INACTIVE) & ~space.categorical
            X, fine = self.mended(space.snap(np.where(moved, base + steps, base)))
            new = [x for x, b in zip(X, fine, strict=True) if b and self._permits(x)]
            scale *= 1.5 if len(new) > BLOCK // 16 else 0.5
            known = np.concatenate([known, np.array(new[: ANCHORS - len(known)]).reshape(-1, space.d)])
        return known

    def _walked(self, rng: np.random.Generator) -> Array:
        """The anchors, every second one moved to the inside: moved points lie on the bounds of the constraints."""
        known = self.anchors.copy()
        inner = np.arange(1, len(known), 2)
        for _ in range(STEPS if len(inner) else 0):
            lengths = rng.uniform(-1.0, 1.0, (len(inner), 1))
            moved = self._stepped(known[inner], lengths, rng)
            for i, x in zip(inner, moved, strict=True):
                if self._permits(x):
                    known[i] = x
            self.anchors = known
        return known


def met(constraint: Constraint, params: Mapping[str, Any], names: Collection[str] = ()) -> bool:
    """Whether a constraint holds for the values of the active parameters of those ``names``, up to rounding."""
    return all(_part_met(one, params, names) for one in parts_of(constraint))


def _part_met(part: Linear | Order | Nonzero | Predicate, params: Mapping[str, Any], names: Collection[str]) -> bool:
    if isinstance(part, Linear):
        low, high = part.bounds
        terms = [weight * params[name] for name, weight in part.weights.items() if name in params]
        slack = SLACK * max(sum(map(abs, terms)), abs(low) if math.isfinite(low) else 0.0)
        return not terms or low - slack <= math.fsum(terms) <= high + slack
    if isinstance(part, Order):
        values = [params[name] for name in part.names if name in params]
        return all(a <= b for a, b in pairwise(values))
    if isinstance(part, Nonzero):
        return sum(params.get(name, 0) != 0 for name in part.names) <= part.most
    return _asked(part, params, names)


class NoAnswer(ValueError):
    """A user's function of parameters does not say whether they are allowed."""


def _asked(predicate: Predicate, params: Mapping[str, Any], names: Collection[str] = ()) -> bool:
    """What a user's function says of ``params``; it allows them where one of the ``names`` is missing."""
    try:
        found = predicate(dict(params))
    except KeyError as error:
        if error.args and error.args[0] in names:
            return True
        unknown = f"{error.args[0]!r}, which is none of {list(names)}" if error.args else "an unknown parameter"
        raise NoAnswer(f"allowed={described(predicate)} asked for {unknown}.") from error
    except Exception as error:
        raise NoAnswer(
            f"allowed={described(predicate)} must return True or False for all parameters; for "
            f"{_shown(predicate, params)} it raised {type(error).__name__}: {error}"
        ) from error
    if not isinstance(found, bool | np.bool_):
        raise NoAnswer(
            f"allowed={described(predicate)} must return True or False for all parameters; for "
            f"{_shown(predicate, params)} it returned {found!r}."
        )
    return bool(found)


def _shown(predicate: Predicate, params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Parameters as the user knows them: the function may be that of an adapter (``shown``)."""
    translate: Callable[[Mapping[str, Any]], Mapping[str, Any]] = getattr(predicate, "shown", dict)
    return translate(params)


def _nothing(found: str, count: int, constraints: Sequence[Constraint]) -> str:
    """Error message if no allowed point is known."""
    tried = f"its {count} points" if found == "all" else f"{count} points that were tried"
    names = ", ".join(map(described, constraints))
    return f"allowed must leave points of the space: none of {tried} meets {names}."


def described(constraint: Constraint) -> str:
    """A constraint in words: the name of a function."""
    name = getattr(constraint, "__name__", None)
    return repr(constraint) if name is None else str(name)


# -- constraints in coordinates ----------------------------------------------------------------------------------------


def polytope_of(space: Mapping[str, Dimension], constraints: Sequence[Constraint]) -> Polytope:
    """The linear constraints and groups of a space in its coordinates."""
    names = list(space)
    conditional = getattr(space, "conditions", {})
    rows: list[tuple[dict[str, float], float, float, bool]] = []
    groups: list[tuple[Sequence[str], int]] = []
    for one in constraints:
        for name in names_in(one):
            if name not in space:
                raise ValueError(f"allowed must name parameters of the space, {names}: {name!r} in {one!r} is unknown.")
            if isinstance(space[name], Categorical):
                raise ValueError(f"allowed can only bound numbers: {name!r} in {one!r} is categorical.")
        for part in parts_of(one):
            if isinstance(part, Linear):
                rows.append((dict(part.weights), *part.bounds, False))
            elif isinstance(part, Nonzero):
                groups.append((part.names, part.most))
            elif isinstance(part, Order):
                rows += _ordered(part.names, conditional)
    d = len(names)
    first, span, log, sizes = np.zeros(d), np.zeros(d), np.zeros(d, dtype=bool), np.zeros(d, dtype=np.int64)
    involved = {name for weights, *_ in rows for name in weights} | {name for group, _ in groups for name in group}
    for j, name in enumerate(names):
        if name in involved:
            first[j], span[j], log[j], sizes[j] = _scale(space[name])
    weights, columns = [], []
    scale = np.ones(len(rows))
    for i, (row, *_) in enumerate(rows):
        ends = [max(abs(float(space[n].from_unit(0.0))), abs(float(space[n].from_unit(1.0)))) for n in row]
        scale[i] = max(sum(abs(w) * end for w, end in zip(row.values(), ends, strict=True)), 1e-300)
        weights += list(row.values())
        columns += [names.index(name) for name in row]
    members = np.zeros((len(groups), d), dtype=bool)
    zero = np.full(d, -2.0)
    for q, (group, _) in enumerate(groups):
        for name in group:
            members[q, names.index(name)] = True
            zero[names.index(name)] = _zero(name, space[name])
    return Polytope(
        np.array(weights, dtype=np.float64),
        np.array(columns, dtype=np.int64),
        np.cumsum([0, *(len(row) for row, *_ in rows)]).astype(np.int64),
        np.array([row[1] for row in rows], dtype=np.float64),
        np.array([row[2] for row in rows], dtype=np.float64),
        scale,
        np.array([any(sizes[names.index(name)] for name in row[0]) for row in rows], dtype=bool),
        np.array([row[3] for row in rows], dtype=bool),
        first,
        span,
        log,
        sizes,
        members,
        np.array([most for _, most in groups], dtype=np.int64),
        zero,
    )


def _ordered(names: Sequence[str], conditional: Mapping[str, Any]) -> list[tuple[dict[str, float], float, float, bool]]:
    """Each name with the next one, and beyond those that may be inactive."""
    out = []
    for a, low in enumerate(names):
        for high in names[a + 1 :]:
            out.append(({low: 1.0, high: -1.0}, -math.inf, 0.0, True))
            if high not in conditional:
                break
    return out


def _scale(dimension: Any) -> tuple[float, float, bool, int]:
    """Where the values of a dimension begin, their span, whether they are exponentials, and how many there are."""
    size = dimension.size
    if size == 1:
        return float(dimension.low), 0.0, False, 0
    discrete = 0 if math.isinf(size) or size > 2**53 else int(size)
    if isinstance(dimension, Int) and dimension.log_bounds is not None:
        low, high = dimension.log_bounds
        return low, high - low, True, discrete
    if dimension.log and not discrete:
        low, high = math.log(dimension.low), math.log(dimension.high)
        return low, high - low, True, 0
    if discrete:
        step = float(dimension.step)
        return float(dimension.low) - 0.5 * step, size * step, False, discrete
    return float(dimension.low), float(dimension.high) - float(dimension.low), False, 0


def _zero(name: str, dimension: Any) -> float:
    """The coordinate of the value 0."""
    if not dimension.contains(0) or dimension.from_unit(dimension.to_unit(0)) != 0:
        raise ValueError(
            f"allowed can only count parameters that can be 0 exactly, such as Float(0, 1): {name!r} is {dimension}."
        )
    return float(dimension.to_unit(0))
