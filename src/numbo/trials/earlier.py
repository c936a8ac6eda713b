"""Earlier studies: trials of other tasks, from which a new one learns."""

from __future__ import annotations

import copy
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from numbo import _checks
from numbo._types import Array
from numbo.trials.goal import Goal


@dataclass(frozen=True, eq=False)
class EarlierStudy:
    """The trials of an earlier study: of other data, of a smaller model, of another customer.

    Its parameters need not be those of the new study. A parameter that one of them lacks is unknown there; values
    outside of a range, or on another scale, count where they lie; other categories count as different from all. Only
    the order of its values matters, so that they may be on any scale.

    Args:
        points: the parameters of each trial, mappings of names to values; indices of rows if arms are searched.
        values: the objective of each trial, or a sequence of all objectives; None or NaN for a failure, which counts
            as worse than all others.
        std: known standard deviation of the error of each value; only of one objective.
        directions: ``"minimize"`` or ``"maximize"`` for each objective; by default those of the new study.
        name: what `explain` and warnings call it.

    Raises:
        ValueError: if there are not as many values as points, or a value or direction is none.
    """

    points: Sequence[Any]
    values: Sequence[Any]
    std: Sequence[float] | None = None
    directions: Sequence[str] | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        points = _listed("points", self.points)
        values = _listed("values", self.values)
        if len(points) != len(values):
            raise ValueError(f"earlier got {len(points)} points and {len(values)} values; they must match.")
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "values", values)
        if self.std is not None:
            std = [_checks.number("std", one, 0.0) for one in _listed("std", self.std)]
            if len(std) != len(points):
                raise ValueError(f"earlier got {len(points)} points and {len(std)} std; they must match.")
            object.__setattr__(self, "std", std)
        if self.directions is not None:
            object.__setattr__(self, "directions", _checks.directions(None, self.directions, "minimize"))

    def outputs(self, goal: Goal) -> Array:
        """The outputs (n, k) of the trials, larger ones better; NaN for failures.

        Raises:
            ValueError: if the study has another number of objectives than the ``goal``.
        """
        own = Goal(tuple(goal.directions if self.directions is None else self.directions))
        if len(own.directions) != len(goal.directions):
            raise ValueError(f"it has {len(own.directions)} objectives, and the new one {len(goal.directions)}.")
        return np.array([own.outputs(value) for value in self.values]).reshape(len(self.values), len(own.directions))

    def __repr__(self) -> str:
        return f"EarlierStudy(<{len(self.points)} trials>, name={self.name!r})"

    def best_point(self, goal: Goal) -> Mapping[str, Any]:
        """The parameters of the best trial by the first objective; empty without a success, or for arms.

        It is empty, too, for a study of another number of objectives than the ``goal``, which is not used.
        """
        try:
            values = self.outputs(goal)[:, 0]
        except ValueError:
            return {}
        if np.isnan(values).all():
            return {}
        point = self.points[int(np.nanargmax(values))]
        return point if isinstance(point, Mapping) else {}

    def state_dict(self) -> dict[str, Any]:
        """The arguments of the constructor, as plain data."""
        return {name: copy.copy(value) for name, value in vars(self).items()}


def _listed(name: str, given: Any) -> list[Any]:
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise ValueError(f"{name} of an earlier study must be a sequence, one for each trial; got {given!r}.")
    return list(given)


def earlier_studies(given: Any) -> tuple[EarlierStudy, ...]:
    """The studies of an argument ``earlier``: each an `EarlierStudy`, or ``(points, values)``, or with std.

    Raises:
        ValueError: if it is no sequence of these.
    """
    if isinstance(given, str | Mapping | EarlierStudy) or not isinstance(given, Iterable):
        raise ValueError(f"earlier must be a sequence of studies such as [(points, values), ...]; got {given!r}.")
    found = []
    for number, one in enumerate(given):
        if isinstance(one, Mapping) and set(one) <= {field.name for field in fields(EarlierStudy)}:
            one = EarlierStudy(**one)
        if not isinstance(one, EarlierStudy):
            if not (isinstance(one, tuple | list) and len(one) in (2, 3)):
                got = reprlib.repr(one)
                raise ValueError(
                    f"earlier must have an EarlierStudy, or a pair of points and values, for each study; got {got}."
                )
            one = EarlierStudy(*one)
        found.append(one if one.name is not None else replace(one, name=f"study {number}"))
    return _told_apart(found)


def _told_apart(studies: list[EarlierStudy]) -> tuple[EarlierStudy, ...]:
    """The ``studies``; of those with the same name, all but the first have a number, too."""
    found: dict[str, EarlierStudy] = {}
    for study in studies:
        name = str(study.name)
        number = 1
        while name in found:
            number += 1
            name = f"{study.name} ({number})"
        found[name] = study if name == study.name else replace(study, name=name)
    return tuple(found.values())
