"""Everything that a run may be made of, each with the algorithms that take it: what the fingerprints go through.

A situation is a space and a program over it. The program returns what is told: values, known deviations, constraints,
reports, failures. `benchmarks.checks.digests` runs each by itself and, where they take it, through both adapters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from numbo import Arms, Categorical, EarlierStudy, Float, Int, Space

Params = Any
#: Algorithms by what they take.
EXACT = ("GSSBO", "GPUCB")
ALL = ("GSSBO", "GSSBO-small", "GPUCB", "BKB", "BBKB", "SBPE")


@dataclass(frozen=True)
class Told:
    """The arguments of `numbo.GSSBO.tell` for one trial, and its reports by step; a value of None is a failure."""

    value: Any
    std: float | None = None
    constraints: Mapping[str, float] | None = None
    reports: Mapping[int, float] | None = None
    stopped: bool = False


@dataclass(frozen=True)
class Situation:
    """A space, or arms, and what is told of its points.

    Attributes:
        program: makes what is told of the point (d,) in the unit cube, of its parameters, and of a random stream.
        arguments: of the constructor, such as ``directions``.
        algorithms: names of `benchmarks.checks.digests.ALGORITHMS`.
        steps: number of trials.
        workers: number of trials that run at a time.
        fixed: values that every fifth suggestion has to keep.
        losses: every so many trials one is withdrawn, and one is told after it was withdrawn; 0 for none.
        optuna, ray: whether it runs through the adapter, too.
    """

    space: Any
    program: Callable[[np.ndarray, Params, np.random.Generator], Told]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    algorithms: tuple[str, ...] = EXACT
    steps: int = 70
    workers: int = 1
    fixed: Mapping[str, Any] | None = None
    losses: int = 0
    optuna: bool = False
    ray: bool = False


def value(x: np.ndarray) -> float:
    """The objective at a point ``x (d,)`` of the unit cube; inactive coordinates count as 0.5."""
    u = np.where((x >= 0.0) & (x <= 1.0), x, 0.5)
    return float(np.sum((u - 0.37) ** 2) + 0.3 * np.sum(np.cos(9.0 * u)) / len(u) + u[0])


def plain(x: np.ndarray, params: Params, rng: np.random.Generator) -> Told:
    return Told(value(x))


def noisy(x: np.ndarray, params: Params, rng: np.random.Generator) -> Told:
    return Told(value(x) + 0.2 * rng.normal())


def of_known_error(x: np.ndarray, params: Params, rng: np.random.Generator) -> Told:
    std = float(rng.choice([0.0, 0.05, 0.3]))
    return Told(value(x) + std * rng.normal(), std=std)


def tied(x: np.ndarray, params: Params, rng: np.random.Generator) -> Told:
    return Told(round(value(x), 1))


def yes_or_no(x: np.ndarray, params: Params, rng: np.random.Generator) -> Told:
    return Told(float(rng.random() < 1.0 / (1.0 + np.exp(4.0 - 6.0 * value(x)))))


def failing(x: np.ndarray, params: Params, rng: np.random.Generator) -> Told:
    broken = params.get("optimizer") == "lbfgs" if isinstance(params, Mapping) else False
    return Told(None if broken or x[0] > 0.8 or rng.random() < 0.1 else value(x))


def wild(x: np.ndarray, params: Params, rng: np.random.Generator) -> Told:
    worst = float(rng.choice([np.inf, -1e300, 1e12]))
    return Told(worst if rng.random() < 0.15 and worst > 0 else np.exp(8.0 * value(x)))


def reporting(x: np.ndarray, params: Params, rng: np.random.Generator) -> Told:
    """A learning curve of eight steps, and a pruner that stops six of ten trials after one to three."""
    end = value(x)
    stopped = bool(rng.random() < 0.6)
    last = int(rng.integers(1, 4)) if stopped else 8
    reports = {step: end + 1.0 / step + 0.01 * rng.normal() for step in range(1, last + 1)}
    return Told(reports[last], reports=reports, stopped=stopped)


def untidy(x: np.ndarray, params: Params, rng: np.random.Generator) -> Told:
    """One trial of ten fails, and one of seven is stopped at its first report."""
    end = value(x)
    if rng.random() < 0.1:
        return Told(None)
    stopped = bool(rng.random() < 1.0 / 7.0)
    return Told(end, reports={1: end} if stopped else None, stopped=stopped)


def several(k: int, *, noise: float = 0.0, limited: bool = False) -> Callable[..., Told]:
    """``k`` objectives that contradict each other, with a constraint if ``limited``."""

    def program(x: np.ndarray, params: Params, rng: np.random.Generator) -> Told:
        values = [float(value(np.roll(x, j)) + (x[-1] - j / k) ** 2 + noise * rng.normal()) for j in range(k)]
        return Told(values, constraints={"limit": float(0.3 - x[-1])} if limited else None)

    return program


def limited(m: int) -> Callable[..., Told]:
    """``m`` constraints; some values are missing, and some are NaN."""

    def program(x: np.ndarray, params: Params, rng: np.random.Generator) -> Told:
        met = {f"c{j}": float(0.2 - np.roll(x, j)[0] + 0.1 * j / m) for j in range(m)}
        if m > 1 and rng.random() < 0.1:
            met["c1"] = np.nan
        if m > 1 and rng.random() < 0.1:
            del met["c0"]
        return Told(value(x), constraints=met)

    return program


def box(d: int) -> dict[str, Any]:
    return {f"x{j}": Float(0, 1) for j in range(d)}


BRANCHES: dict[str, Any] = {
    "optimizer": Categorical(["sgd", "adam", "lbfgs"]),
    "lr": Float(1e-4, 1.0, log=True),
    "momentum": Float(0, 0.99, when={"optimizer": "sgd"}),
    "beta": Float(0.8, 0.999, when={"optimizer": "adam"}),
    "layers": Int(1, 4),
    "width": Int(4, 256, log=True, when={"layers": (">=", 2)}),
    "more": Int(4, 64, when={"layers": (">=", 3), "optimizer": ("sgd", "adam")}),
}
CATEGORIES: dict[str, Any] = {
    "a": Categorical(["p", "q", "r"]),
    "b": Categorical([None, True, 2, "x"]),
    "c": Categorical(["on", "off"]),
    "x": Float(-1, 1),
    "k": Int(0, 9),
}
TWO = {"directions": ("minimize", "maximize")}
THREE = {"directions": ("minimize", "minimize", "maximize")}
LIMITS = tuple(f"c{j}" for j in range(14))
MIXED: dict[str, Any] = {
    "x": Float(-2, 3),
    "i": Int(1, 512, log=True),
    "k": Int(0, 6),
    "c": Categorical(["a", "b", None, 3]),
}
_table = np.random.default_rng(11).random((180, 4))
#: A table has rows twice, and a column that says nothing.
TABLE = np.vstack([_table, _table[:20]])
TABLE[:, 3] = 0.5


def earlier(space: dict[str, Any], k: int = 1) -> list[Any]:
    """Two studies of a space: one with values that are shifted, one of half of the parameters that is upside down."""
    whole = Space(space)
    rng = np.random.default_rng(5)
    X = whole.snap(rng.random((60, whole.d)))
    points = [whole.decode(x) for x in X]
    values = [[value(np.roll(x, j)) for j in range(k)] for x in X]
    known = list(space)[: -(-len(space) // 2)]
    fewer = [{name: point[name] for name in known if name in point} for point in points]
    told = [row[0] if k == 1 else row for row in values]
    other = [-row[0] if k == 1 else [-v for v in row] for row in values]
    return [EarlierStudy(points, told, name="alike"), EarlierStudy(fewer, other, name="upside down")]


SITUATIONS: dict[str, Situation] = {
    "plain": Situation(box(4), plain, algorithms=ALL, steps=90, optuna=True, ray=True),
    "two objectives": Situation(box(4), several(2), TWO, steps=60, optuna=True, ray=True),
    "two noisy objectives": Situation(box(3), several(2, noise=0.1), TWO, steps=60, workers=3),
    "three objectives": Situation(box(4), several(3), THREE, steps=36),
    "two objectives, a limit": Situation(
        box(3), several(2, limited=True), {**TWO, "constraints": ("limit",)}, steps=50, workers=4, optuna=True, ray=True
    ),
    "branches, two objectives": Situation(BRANCHES, several(2), TWO, steps=50, optuna=True),
    "a constraint": Situation(
        box(4), limited(1), {"constraints": LIMITS[:1]}, steps=70, workers=3, optuna=True, ray=True
    ),
    "fourteen constraints": Situation(box(5), limited(14), {"constraints": LIMITS}, steps=34),
    "known errors": Situation(box(3), of_known_error, steps=90),
    "curves": Situation(box(4), reporting, steps=90, workers=4, optuna=True, ray=True),
    "curves of branches": Situation(
        BRANCHES, reporting, algorithms=("GSSBO", "GPUCB", "BKB"), steps=70, workers=3, optuna=True
    ),
    "branches": Situation(BRANCHES, plain, algorithms=ALL, steps=80, optuna=True),
    "branches that fail": Situation(BRANCHES, failing, algorithms=ALL, steps=70, workers=4, optuna=True),
    "categories": Situation(CATEGORIES, plain, algorithms=ALL, steps=90, optuna=True, ray=True),
    "categories, noise": Situation(CATEGORIES, noisy, algorithms=ALL, steps=70, workers=3),
    "fifteen dimensions": Situation(box(15), plain, algorithms=("GSSBO", "GSSBO-small", "GPUCB", "BBKB"), steps=130),
    "ties": Situation(box(3), tied, algorithms=ALL, steps=80),
    "noise": Situation(box(2), noisy, algorithms=ALL, steps=120, optuna=True, ray=True),
    "outcomes of 0 or 1": Situation(box(3), yes_or_no, steps=90),
    "failures": Situation(box(4), failing, algorithms=ALL, steps=80, workers=5, optuna=True, ray=True),
    "wild values": Situation(box(3), wild, algorithms=ALL, steps=70),
    "few integers": Situation({"i": Int(1, 4), "j": Int(0, 5), "x": Categorical(["a", "b"])}, plain, {}, ALL, 60),
    "a table": Situation(Arms(TABLE), plain, {"direction": "minimize"}, ALL, 60),
    "a noisy table": Situation(Arms(TABLE), noisy, {"direction": "maximize"}, ALL, 60, workers=4),
    "a mixed space": Situation(
        MIXED, untidy, algorithms=ALL, steps=300, workers=5, fixed={"x": 0.5, "i": 3}, optuna=True, ray=True
    ),
    "fixed values": Situation(
        CATEGORIES | box(2), plain, algorithms=ALL, steps=70, fixed={"x": 0.4, "a": "q"}, optuna=True
    ),
    "losses": Situation(box(3), plain, algorithms=ALL, steps=80, workers=8, losses=7),
    "earlier studies": Situation(MIXED, untidy, {"earlier": earlier(MIXED)}, steps=50, workers=3),
    "earlier studies of branches": Situation(BRANCHES, failing, {"earlier": earlier(BRANCHES)}, steps=40, workers=2),
    "earlier studies, noise": Situation(box(2), noisy, {"earlier": earlier(box(2))}, steps=60, workers=3),
    "earlier studies, two objectives, a limit": Situation(
        box(3),
        several(2, limited=True),
        {**TWO, "constraints": ("limit",), "earlier": earlier(box(3), 2)},
        steps=36,
        workers=3,
    ),
}
