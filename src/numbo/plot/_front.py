"""The contents of the plots of several objectives as arrays, drawn by `numbo.plot` and `numbo.plot.matplotlib`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from numbo import _checks
from numbo._types import Array, Mask
from numbo.plot._axes import LARGEST, bounds_of, finite, reaching
from numbo.plot._data import Known, Subject
from numbo.trials.front import front_rows

#: Maximum number of points beyond the front that are shown.
EXPECTED = 20
FRONT = "front"
BEYOND_IT = "expected beyond it ± 1 sd"
#: Name of the front if values are noisy: its points are drawn at the values that the models expect.
EXPECTED_FRONT = "front, by expected values"
#: Numbers of objectives that a plot can show.
SHOWN = (2, 3)


@dataclass(frozen=True)
class Front:
    """The front of ``s`` objectives, in their units, the observations, and points expected beyond the front.

    Attributes:
        names: (s,) of the objectives.
        told, known: values (n, s) of the observations, and which of them are drawn alike.
        front, words: values (f, s) of the points of the front, the best of the first objective first, and the
            parameters of each.
        mean, std, hopes: means and standard deviations (e, s) of points expected beyond the front, and their
            parameters.
        label: the name of the front.
        bounds: the range of values to show of each objective; None if they do not differ.
        stairs: (2, k) the border of the region that the front of two objectives dominates; empty for three.
        title: of the plot.
    """

    names: list[str]
    told: Array
    known: Known
    front: Array
    words: list[str]
    mean: Array
    std: Array
    hopes: list[str]
    label: str
    bounds: list[tuple[float, float] | None]
    stairs: Array
    title: str


def front_of(subject: Subject, names: Sequence[str] | None, objectives: Sequence[int] | None) -> Front:
    """The front of some ``objectives``, as if there were no others; all by default."""
    snapshot = subject.whole
    called = subject.objective_names(names)
    kept = _kept(subject, objectives)
    minimize = [snapshot.directions[j] == "minimize" for j in kept]
    signs = np.where(minimize, -1.0, 1.0)
    found = snapshot.front()
    values = _column(found, 1, len(called))[:, kept]
    rows = front_rows(signs * values)
    told = snapshot.observations[1][:, kept]
    met = snapshot.met
    success = ~np.isnan(told).any(axis=1)
    told = told[success]
    met = met[success]
    title = f"{len(rows) or 'None'} of {len(told)} observations on the front"
    measured = {tuple(y) for y in told[met].tolist()}
    label = FRONT if all(tuple(y) in measured for y in values[rows].tolist()) else EXPECTED_FRONT
    rows = rows[_drawn(values[rows])]
    front = values[rows]
    beyond = [one for one in snapshot.beyond_front(EXPECTED, kept) if _drawn(np.array(one[1:])).all()]
    mean, std = (_column(beyond, place, len(called))[:, kept] for place in (1, 2))
    told = finite(told)
    usual = [bounds_of(told[:, j], minimize[j], front[:, j]) for j in range(len(kept))]
    lows = mean - std
    highs = mean + std
    bounds = [one and reaching(one, lows[:, j], highs[:, j]) for j, one in enumerate(usual)]
    return Front(
        names=[called[j] for j in kept],
        told=told,
        known=Known.outside_model(met),
        front=front,
        words=[subject.words(found[i][0]) for i in rows],
        mean=mean,
        std=std,
        hopes=[subject.words(point) for point, _, _ in beyond],
        label=label,
        bounds=bounds,
        stairs=_stairs(front, minimize, bounds),
        title=title,
    )


def _kept(subject: Subject, objectives: Sequence[int] | None) -> list[int]:
    """The objectives to show."""
    k = len(subject.whole.directions)
    if k == 1:
        raise ValueError("plot_front needs several objectives, and there is one.")
    if objectives is None:
        if k not in SHOWN:
            raise ValueError(
                f"plot_front shows two or three objectives, and there are {k}: choose them, by objectives=(0, 1)."
            )
        return list(range(k))
    given = list(objectives) if isinstance(objectives, Sequence) and not isinstance(objectives, str) else []
    valid = all(_checks.is_integer(j) and 0 <= j < k for j in given)
    if not valid or len(given) not in SHOWN or len(set(given)) < len(given):
        raise ValueError(f"objectives must be two or three different integers from 0 to {k - 1}, got {objectives!r}.")
    return [int(j) for j in given]


def _drawn(values: Array) -> Mask:
    """Which rows of ``values (m, s)`` are finite."""
    return np.asarray((np.abs(values) <= LARGEST).all(axis=1))


def _column(found: Sequence[tuple[Any, ...]], place: int, k: int) -> Array:
    """The entries of tuples at one ``place``, as an array (m, k)."""
    return np.array([one[place] for one in found], dtype=np.float64).reshape(-1, k)


def _stairs(front: Array, minimize: Sequence[bool], bounds: Sequence[tuple[float, float] | None]) -> Array:
    """The border (2, 2 f + 1) of the region that the ``front (f, 2)`` dominates, up to the ``bounds``."""
    if front.shape[1] != 2 or not len(front):
        return np.empty((2, 0))
    worst = [
        front[-1 if j == 0 else 0, j] if one is None else one[1 if minimize[j] else 0] for j, one in enumerate(bounds)
    ]
    x = np.concatenate([np.repeat(front[:, 0], 2), [worst[0]]])
    y = np.concatenate([[worst[1]], np.repeat(front[:, 1], 2)])
    return np.stack([x, y])


def hypervolumes_of(subject: Subject, reference: Sequence[float] | None) -> tuple[Array, str]:
    """The hypervolume (n,) after each trial, up to a ``reference``, by default the worst values so far; and a title."""
    snapshot = subject.whole
    k = len(snapshot.directions)
    if k == 1:
        raise ValueError("plot_hypervolume needs several objectives, and there is one.")
    at = _worst(subject) if reference is None else reference
    values = finite(snapshot.hypervolumes(at))
    where = "the worst values" if reference is None else "the reference"
    return values, f"Hypervolume up to {where}, ({', '.join(f'{float(y):.4g}' for y in at)})"


def _worst(subject: Subject) -> list[float]:
    """The worst finite value of each objective, of trials that meet all constraints and did not fail."""
    snapshot = subject.whole
    values = snapshot.observations[1]
    counted = snapshot.met & (np.abs(values) <= LARGEST).all(axis=1)
    if not counted.any():
        raise ValueError("reference must be given as long as no trial has finite values and meets all constraints.")
    worst = [max if direction == "minimize" else min for direction in snapshot.directions]
    return [float(one(values[counted, j])) for j, one in enumerate(worst)]
