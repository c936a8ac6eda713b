"""Problems of several objectives, all of them minimised.

Formulas whose fronts are known, tables of networks whose fronts can be counted, and a network that is trained.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from optuna.distributions import BaseDistribution

from benchmarks.problems import network
from benchmarks.problems.problem import Array
from benchmarks.problems.spaces import floats, from_cube
from benchmarks.problems.tables import columns

Values: TypeAlias = tuple[float, ...]
#: Number of points in which a front of two objectives is sampled, and of each side of one of three.
CURVE = 10_001
SIDE = 401
#: Number of random points by which a problem's scale is set.
RANDOM = 1000


class Problem(NamedTuple):
    """What is searched, and how a front is measured.

    Random values of some problems lie hundreds of times as far from the front as it is wide: within a reference point
    near the front no early point would count, and within one that is far away all of the front would be a speck in a
    corner. So a front is measured on a scale that is linear near it and logarithmic far away: an objective f counts as
    log(1 + (f - ideal) / (half - ideal)). An increasing scale leaves alone which point dominates which.

    Attributes:
        space: what is searched.
        evaluate: takes a configuration; returns the objectives.
        front: points of the best front (n, k), or None where it is unknown.
        ideal: the least of each objective on the front.
        half: the median of each objective on the front.
        far: the reference point: what nine of ten random points do better in an objective, but at least a tenth of
            the front's width beyond it.
        limits: takes objectives (n, k); returns the value (n,) of a constraint, which holds up to 0. None if there is
            none.
        noise: standard deviation of the noise of each objective that a search is told.
    """

    space: dict[str, BaseDistribution]
    evaluate: Callable[[dict[str, Any]], Values]
    front: Array | None
    ideal: Values
    half: Values
    far: Values
    limits: Callable[[Array], Array] | None = None
    noise: float = 0.0

    def scaled(self, Y: Any) -> Array:
        """Objectives (n, k) on the scale that fronts are measured on."""
        ideal = np.array(self.ideal)
        away: Array = np.maximum(np.asarray(Y, dtype=float) - ideal, 0.0) / (np.array(self.half) - ideal)
        return np.log1p(away)

    def volume(self, Y: Any) -> float:
        """The volume that objectives (n, k) which meet the constraint dominate within the reference point."""
        import moocore

        Y = np.asarray(Y, dtype=float)
        if self.limits is not None:
            Y = Y[self.limits(Y) <= 0.0]
        return float(moocore.hypervolume(self.scaled(Y), ref=self.scaled([self.far])[0]))


def nondominated(Y: Array) -> Array:
    """The rows of (n, k) that no other row dominates; equal rows are kept once."""
    import moocore

    found: Array = Y[moocore.is_nondominated(Y)]
    return found


def _measured(
    space: dict[str, BaseDistribution],
    evaluate: Callable[[dict[str, Any]], Values],
    Y: Array,
    limits: Callable[[Array], Array] | None = None,
) -> Problem:
    """A problem whose front is that of the points (n, k)."""
    front = nondominated(Y if limits is None else Y[limits(Y) <= 0.0])
    rng = np.random.default_rng(0)
    random = np.array([evaluate(from_cube(space, u)) for u in rng.random((RANDOM, len(space)))])
    ideal = front.min(axis=0)
    nadir = front.max(axis=0)
    far = np.maximum(np.quantile(random, 0.9, axis=0), nadir + 0.1 * (nadir - ideal))
    half = np.median(front, axis=0)
    ideal_, half_, far_ = (tuple(row.tolist()) for row in (ideal, half, far))
    return Problem(space, evaluate, front, ideal_, half_, far_, limits)


def _cube(d: int) -> dict[str, BaseDistribution]:
    return floats(**{f"x{j}": (0.0, 1.0) for j in range(d)})


def _vector(p: dict[str, Any]) -> Array:
    return np.array(list(p.values()))


def _places(k: int) -> Array:
    """Points of the cube (n, k - 1) by which a front of k objectives is sampled."""
    if k == 2:
        return np.linspace(0.0, 1.0, CURVE)[:, None]
    side = np.linspace(0.0, 1.0, SIDE)
    return np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)


def _chained(a: Array, b: Array) -> Array:
    """Objectives (..., k): of factors (..., k - 1), objective m has the first k - m of a, and the next one of b."""
    ones = np.ones((*a.shape[:-1], 1))
    products = np.concatenate([ones, np.cumprod(a, axis=-1)], axis=-1)
    out: Array = products[..., ::-1] * np.concatenate([ones, b[..., ::-1]], axis=-1)
    return out


# -- Zitzler, Deb & Thiele 2000 --------------------------------------------------------------------------------------


def zdt(number: int, d: int, *, linked: bool = False, scale: float = 1.0) -> Problem:
    """ZDT1 to ZDT4 and ZDT6, of two objectives: the second is g h(f1 / g), where g is 1 on the front.

    If ``linked``, all numbers are equal on the front, which so lies on a diagonal (Zhang, Zhou & Jin 2008, F1). The
    second objective is multiplied by ``scale``.
    """

    def shape(first: Array, g: Any) -> Array:
        ratio = first / g
        if number in (1, 4):
            return 1.0 - np.sqrt(ratio)
        if number == 3:
            return 1.0 - np.sqrt(ratio) - ratio * np.sin(10.0 * math.pi * first)
        return 1.0 - ratio**2

    def first_of(x: Any) -> Any:
        return 1.0 - np.exp(-4.0 * x) * np.sin(6.0 * math.pi * x) ** 6 if number == 6 else x

    def evaluate(p: dict[str, Any]) -> Values:
        x = _vector(p)
        first = first_of(x[0])
        rest = (x[1:] - x[0]) ** 2 if linked else x[1:]
        if number == 4:
            g = 1.0 + 10.0 * len(rest) + float(np.sum(rest**2 - 10.0 * np.cos(4.0 * math.pi * rest)))
        elif number == 6:
            g = 1.0 + 9.0 * float(np.mean(rest)) ** 0.25
        else:
            g = 1.0 + 9.0 * float(np.mean(rest))
        return float(first), scale * g * float(shape(first, g))

    space = _cube(d)
    if number == 4:
        space |= floats(**{f"x{j}": (-5.0, 5.0) for j in range(1, d)})
    first = first_of(np.linspace(0.0, 1.0, CURVE))
    return _measured(space, evaluate, np.column_stack([first, scale * shape(first, 1.0)]))


# -- Deb, Thiele, Laumanns & Zitzler 2005 ----------------------------------------------------------------------------


def _ripples(rest: Array) -> float:
    """The distance of DTLZ1, with 11^len(rest) - 1 fronts that are not the best."""
    waves = np.sum((rest - 0.5) ** 2 - np.cos(20.0 * math.pi * (rest - 0.5)))
    return 100.0 * (len(rest) + float(waves))


def dtlz(number: int, k: int, d: int, *, inverted: bool = False, radius: float | None = None) -> Problem:
    """DTLZ1, DTLZ2, DTLZ5 and DTLZ7, of k objectives: the first k - 1 numbers are places on the front.

    DTLZ1 may be ``inverted``, and DTLZ2 have a constraint that leaves the parts within a ``radius`` of the ends and of
    the middle of the front (IDTLZ1 and C2-DTLZ2 of Jain & Deb 2014).
    """

    def objectives(x: Array, g: Any) -> Array:
        """Of places (..., k - 1) at a distance."""
        if number == 1:
            plane = 0.5 * (1.0 + g) * _chained(x, 1.0 - x)
            return 0.5 * (1.0 + g) - plane if inverted else plane
        if number == 7:
            h = k - np.sum(x / (1.0 + g) * (1.0 + np.sin(3.0 * math.pi * x)), axis=-1, keepdims=True)
            return np.concatenate([x, (1.0 + g) * h], axis=-1)
        if number == 5:
            x = np.concatenate([x[..., :1], (1.0 + 2.0 * g * x[..., 1:]) / (2.0 * (1.0 + g))], axis=-1)
        angles = 0.5 * math.pi * x
        return (1.0 + g) * _chained(np.cos(angles), np.sin(angles))

    def evaluate(p: dict[str, Any]) -> Values:
        x = _vector(p)
        rest = x[k - 1 :]
        if number == 1:
            g = _ripples(rest)
        else:
            g = 1.0 + 9.0 * float(np.mean(rest)) if number == 7 else float(np.sum((rest - 0.5) ** 2))
        return tuple(objectives(x[: k - 1], g).tolist())

    def away(Y: Array) -> Array:
        """The distance from the parts that are left, less their radius."""
        parts = np.concatenate([np.eye(k), np.full((1, k), 1.0 / math.sqrt(k))])
        distances: Array = ((Y[:, None] - parts) ** 2).sum(axis=2).min(axis=1)
        return distances - (radius or 0.0) ** 2

    places = _places(2 if number == 5 else k)
    if number == 5:
        places = np.concatenate([places, np.full((len(places), k - 2), 0.5)], axis=1)
    limits = None if radius is None else away
    return _measured(_cube(d), evaluate, objectives(places, 1.0 if number == 7 else 0.0), limits)


# -- Huband, Hingston, Barone & While 2006 ---------------------------------------------------------------------------


def s_linear(y: Array, a: float) -> Array:
    """Zero at a, one at both ends."""
    out: Array = np.abs(y - a) / np.abs(np.floor(a - y) + a)
    return out


def s_multi(y: Array, a: float, b: float, c: float) -> Array:
    """Zero at c, and a local minima of the height that b says on either side."""
    away = np.abs(y - c) / (2.0 * (np.floor(c - y) + c))
    out: Array = (1.0 + np.cos((4.0 * a + 2.0) * math.pi * (0.5 - away)) + 4.0 * b * away**2) / (b + 2.0)
    return out


def s_decept(y: Array, a: float, b: float, c: float) -> Array:
    """Zero within b of a; elsewhere it falls towards both ends, where it is c."""
    left = np.floor(y - a + b) * (1.0 - c + (a - b) / b) / (a - b)
    right = np.floor(a + b - y) * (1.0 - c + (1.0 - a - b) / b) / (1.0 - a - b)
    out: Array = 1.0 + (np.abs(y - a) - b) * (left + right + 1.0 / b)
    return out


def b_flat(y: Array, a: float, b: float, c: float) -> Array:
    """The value a between b and c."""
    below = np.minimum(0.0, np.floor(y - b)) * a * (b - y) / b
    above = np.minimum(0.0, np.floor(c - y)) * (1.0 - a) * (y - c) / (1.0 - c)
    out: Array = a + below - above
    return out


def b_param(y: Array, u: Array, a: float, b: float, c: float) -> Array:
    """A power of y between b and c that depends on u."""
    v = a - (1.0 - 2.0 * u) * np.abs(np.floor(0.5 - u) + a)
    out: Array = y ** (b + (c - b) * v)
    return out


def r_nonsep(y: Array, a: int) -> float:
    """A mean of y to which differences of a neighbours are added."""
    differences = sum(np.abs(y - np.roll(y, -j)) for j in range(1, a))
    half = math.ceil(a / 2)
    return float(np.sum(y + differences)) / (len(y) / a * half * (1.0 + 2.0 * a - 2.0 * half))


def _mixed(x: Array) -> Array:
    """Convex and concave in turn, five times."""
    waves = np.cos(10.0 * math.pi * x + 0.5 * math.pi) / (10.0 * math.pi)
    out: Array = 1.0 - x - waves
    return out


def wfg(number: int, k: int, d: int) -> Problem:
    """WFG1, WFG4 and WFG9, of k objectives; the first 2 (k - 1) numbers are places on the front."""
    front = 2 * (k - 1)
    ends = 2.0 * np.arange(1, d + 1, dtype=float)

    def reduced(y: Array, weights: Array) -> Array:
        """The places (k - 1) and the distance, as weighted means."""
        parts = [*np.split(np.arange(front), k - 1), np.arange(front, d)]
        return np.array([np.average(y[rows], weights=weights[rows]) for rows in parts])

    def reached(y: Array) -> Array:
        """The places (k - 1) and the distance, all within 0 and 1."""
        if number == 4:
            return reduced(s_multi(y, 30.0, 10.0, 0.35), np.ones(d))
        y = y.copy()
        if number == 1:
            y[front:] = b_flat(s_linear(y[front:], 0.35), 0.8, 0.75, 0.85)
            return reduced(np.maximum(y, 0.0) ** 0.02, ends)
        later = np.cumsum(y[::-1])[::-1][1:] / np.arange(d - 1, 0, -1)
        y[:-1] = b_param(y[:-1], later, 0.98 / 49.98, 0.02, 50.0)
        y[:front] = s_decept(y[:front], 0.35, 0.001, 0.05)
        y[front:] = s_multi(y[front:], 30.0, 95.0, 0.35)
        parts = np.split(y[:front], k - 1)
        return np.array([r_nonsep(part, len(part)) for part in (*parts, y[front:])])

    def objectives(x: Array, distance: Any) -> Array:
        """Of places (..., k - 1) at a distance."""
        angles = 0.5 * math.pi * x
        if number == 1:
            h = _chained(1.0 - np.cos(angles), 1.0 - np.sin(angles))
            h[..., -1] = _mixed(x[..., 0])
        else:
            h = _chained(np.sin(angles), np.cos(angles))
        out: Array = distance + 2.0 * np.arange(1, k + 1) * h
        return out

    def evaluate(p: dict[str, Any]) -> Values:
        t = np.clip(reached(_vector(p) / ends), 0.0, 1.0)
        return tuple(objectives(t[:-1], t[-1]).tolist())

    space = floats(**{f"z{j}": (0.0, end) for j, end in enumerate(ends.tolist())})
    return _measured(space, evaluate, objectives(_places(k), 0.0))


# -- of our own ------------------------------------------------------------------------------------------------------


def islands(d: int) -> Problem:
    """Distances from three corners, with waves that cut the front between them in pieces, turned by half a right angle.

    The first two numbers are places on the front, the others are 0.5 there.
    """
    corners = np.array([[-0.3, -0.2], [0.3, -0.2], [0.0, 0.35]])

    def objectives(x: Array, g: Any) -> Array:
        """Of places (..., 2) at a distance."""
        turned = np.stack([x[..., 0] + x[..., 1] - 1.0, x[..., 0] - x[..., 1]], axis=-1) * math.sqrt(0.5)
        waves = 0.05 * (2.0 - np.cos(8.0 * math.pi * turned).sum(axis=-1))
        near = ((turned[..., None, :] - corners) ** 2).sum(axis=-1)
        out: Array = near + waves[..., None] + g
        return out

    def evaluate(p: dict[str, Any]) -> Values:
        x = _vector(p)
        return tuple(objectives(x[:2], float(np.sum((x[2:] - 0.5) ** 2))).tolist())

    return _measured(_cube(d), evaluate, objectives(_places(3), 0.0))


def noisy(of: Problem, noise: float) -> Problem:
    """A problem whose search is told its objectives with noise."""
    return Problem(*of[:-1], noise)


# -- networks --------------------------------------------------------------------------------------------------------


def _table(benchmark: str, dataset: str, **metrics: Callable[[float], float]) -> Problem:
    """The means of some ``metrics`` of a table of networks, each as a function makes it smaller the better."""
    space, key_of, rows = columns(benchmark, dataset, list(metrics))
    values = {
        key: tuple(float(better(value)) for better, value in zip(metrics.values(), row, strict=True))
        for key, row in rows.items()
    }
    return _measured(space, lambda p: values[key_of(p)], np.array(list(values.values())))


def _error(accuracy: float) -> float:
    return 100.0 - accuracy


#: Error in percent and seconds of a prediction; logarithm of the loss and seconds of training; the same and weights.
_latency = partial(_table, "NASBench201", val_acc=_error, latency=float)
_time = partial(_table, "HPOLib", val_loss=math.log, train_time=float)
_three = partial(_table, "HPOLib", val_loss=math.log, train_time=float, model_size=float)


def digits() -> Problem:
    """A network that is trained: error and size. Its best front is that of all runs that there are."""
    smallest = float(network.SMALLEST)
    largest = float(network.LARGEST)
    return Problem(network.SPACE, network.train, None, (0.0, smallest), (0.05, 2000.0), (0.9, 1.1 * largest))


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "zdt1-30": partial(zdt, 1, 30),
    "zdt1-100": partial(zdt, 1, 100),
    "zdt2-10": partial(zdt, 2, 10),
    "zdt4-5": partial(zdt, 4, 5),
    "dtlz1-6": partial(dtlz, 1, 3, 6),
    "dtlz2-10": partial(dtlz, 2, 3, 10),
    "dtlz7-20": partial(dtlz, 7, 2, 20),
    "wfg1-6": partial(wfg, 1, 2, 6),
    "wfg4-10": partial(wfg, 4, 3, 10),
    "nas-latency": partial(_latency, "cifar100"),
    "net-time": partial(_time, "naval_propulsion"),
    "network": digits,
}
#: Problems on which no setting was chosen, but those of `numbo.rules.everywhere.Ends` on zdt3-20.
APART: dict[str, Callable[[], Problem]] = {
    "zdt3-20": partial(zdt, 3, 20),
    "zdt6-10": partial(zdt, 6, 10),
    "dtlz5-20": partial(dtlz, 5, 3, 20),
    "dtlz2-5": partial(dtlz, 2, 2, 5),
    "wfg9-30": partial(wfg, 9, 2, 30),
    "net-three": partial(_three, "protein_structure"),
}
#: Fronts in pieces, on diagonals, upside down, badly scaled, with a constraint and with noise, for short searches.
GAPS: dict[str, Callable[[], Problem]] = {
    "zdt3-20-short": partial(zdt, 3, 20),
    "zdt3-10": partial(zdt, 3, 10),
    "zdt3-10-noisy": lambda: noisy(zdt(3, 10), 0.02),
    "zdt3-10-linked": partial(zdt, 3, 10, linked=True),
    "zdt1-10-linked": partial(zdt, 1, 10, linked=True),
    "zdt1-10-scaled": partial(zdt, 1, 10, scale=1e5),
    "dtlz7-3-10": partial(dtlz, 7, 3, 10),
    "dtlz1-5-inverted": partial(dtlz, 1, 3, 5, inverted=True),
    "dtlz2-8-limited": partial(dtlz, 2, 3, 8, radius=0.4),
    "islands-6": partial(islands, 6),
}
KNOWN = PROBLEMS | APART | GAPS


@cache
def problem(name: str) -> Problem:
    """The problem of this name."""
    return KNOWN[name]()
