"""All trials told, in order: one row per trial, including failed and stopped ones."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

from numbo._plain import copied, state_of
from numbo._rows import extended
from numbo._types import Array, Indices, Mask
from numbo.trials.curve import Curve

#: Initial number of rows.
ROOM = 64
#: The arrays, and their types: points, outputs and constraints have several columns.
COLUMNS: dict[str, type] = {
    "X": float,
    "Y": float,
    "C": float,
    "origins": np.int64,
    "final": bool,
    "variance": float,
    "cost": float,
    "stopped": bool,
    "met": bool,
}
#: Those that follow from the others.
DERIVED = ("stopped", "met")


def column(name: str) -> Any:
    """A property: the array of this name among ``_rows``, as far as it is filled."""
    return property(lambda part: part._rows[name][: part.n])


def own(params: Any) -> Any:
    """A private copy of a user point: a dict of values, or the index of an arm."""
    return dict(params) if isinstance(params, Mapping) else int(params)


class Trials:
    """Points, outputs and origins in growing arrays.

    A record becomes part of the trials by the assignment of `n`, so that an interrupt never leaves half a record.
    Copies share arrays and lists: only one of them may get further trials, which the others do not see.

    Args:
        d, k, q: number of coordinates, of outputs, and of constraints.

    Attributes:
        n: number of trials.
        X: points (n, d).
        Y: outputs (n, k), larger ones being better; NaN for a failure.
        C: values of the constraints (n, q), which hold up to 0; NaN if unknown.
        origins: which part of the search proposed each (n,) (`numbo.run.situation.Suggestion`).
        final: whether the outputs of each (n,) are those of a finished evaluation.
        variance: of the first output of each (n,), in addition to the common noise; 0 if unknown.
        cost: what each (n,) has cost; NaN if unknown.
        params: the parameters (n,), exactly as told.
        curves: (n,) None for trials without reports or whose reports do not count.
        stopped: which trials (n,) were stopped after they had reported something.
        met: which trials (n,) violate no constraint whose value is known.
    """

    __copy__ = copied
    X: Array = column("X")
    Y: Array = column("Y")
    C: Array = column("C")
    origins: Indices = column("origins")
    final: Mask = column("final")
    variance: Array = column("variance")
    cost: Array = column("cost")
    params: list[Any] = column("params")
    curves: list[Curve | None] = column("curves")
    stopped: Mask = column("stopped")
    met: Mask = column("met")

    def __init__(self, d: int, k: int = 1, q: int = 0) -> None:
        self.n = 0
        shapes = {"X": (d,), "Y": (k,), "C": (q,)}
        self._rows: dict[str, Any] = {"params": [], "curves": []}
        for name, kind in COLUMNS.items():
            self._rows[name] = np.empty((ROOM, *shapes.get(name, ())), dtype=kind)

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> Trials:
        """Trials from their `state_dict`."""
        self = cls(*(state[name].shape[1] for name in ("X", "Y", "C")))
        curves = [None if reported is None else Curve(*reported) for reported in state["curves"]]
        reported = np.array([curve is not None for curve in curves], dtype=bool)
        derived = {"stopped": reported & ~state["final"], "met": ~(state["C"] > 0.0).any(axis=1)}
        for name in COLUMNS:
            self._rows[name] = extended(self._rows[name], 0, {**state, **derived}[name])
        self._rows["params"] = [own(params) for params in state["params"]]
        self._rows["curves"] = curves
        self.n = len(state["X"])
        return self

    def curves_of(self, rows: Indices) -> list[Curve]:
        """The curves of the ``rows (m,)``, all of which have reports."""
        curves = self._rows["curves"]
        return [curve for t in rows if (curve := curves[t]) is not None]

    def reported(self, t: int) -> int:
        """How often the trial at position ``t`` has reported, at least 1."""
        curve = self._rows["curves"][t]
        return 1 if curve is None else len(curve.steps)

    def agree(self, s: int, t: int) -> bool:
        """Whether two trials have the same value, at the last common step if one was stopped."""
        one, other = self._rows["curves"][s], self._rows["curves"][t]
        if one is None or other is None or (self.final[s] and self.final[t]):
            return bool((self.Y[s] == self.Y[t]).all())
        last = min(one.steps[-1], other.steps[-1])
        return bool(one.at(last) == other.at(last))

    @property
    def failed(self) -> Mask:
        """Which trials (n,) failed."""
        return np.isnan(self.Y[:, 0])

    def add(
        self,
        x: Array,
        outputs: Array | float,
        params: Any,
        origin: int,
        *,
        final: bool = True,
        variance: float = 0.0,
        curve: Curve | None = None,
        constraints: Array | None = None,
        cost: float = np.nan,
    ) -> int:
        """Append a trial with ``outputs (k,)``, NaN for a failure; returns its position.

        ``params`` are kept exactly as told. ``final`` says whether the evaluation was finished. ``variance`` is that of
        its first output, in addition to the common noise. ``curve`` has its reports, ``constraints (q,)`` the values of
        the constraints; ``cost`` is NaN if unknown.
        """
        t = self.n
        rows = self._rows
        if t == len(rows["X"]):
            rows = rows | {name: extended(rows[name], t, rows[name]) for name in COLUMNS}
            self._rows = rows
        rows["X"][t] = x
        rows["Y"][t] = outputs
        rows["origins"][t] = origin
        rows["final"][t] = final
        rows["variance"][t] = variance
        rows["cost"][t] = cost
        rows["C"][t] = np.nan if constraints is None else constraints
        rows["params"][t:] = [own(params)]
        rows["curves"][t:] = [curve]
        rows["stopped"][t] = curve is not None and not final
        rows["met"][t] = constraints is None or not (constraints > 0.0).any()
        self.n = t + 1
        return t

    def of_output(self, output: int) -> Trials:
        """The trials as if there were no other ``output``, without curves and known variances."""
        own = copy.copy(self)
        lost = {name: np.zeros_like(self._rows[name]) for name in ("variance", "stopped")}
        own._rows = self._rows | lost | {"Y": self._rows["Y"][:, [output]], "curves": [None] * self.n}
        return own

    def state_dict(self) -> dict[str, Any]:
        """The trials as plain data."""
        kept = (name for name in (*COLUMNS, "curves") if name not in DERIVED)
        return state_of(self, kept) | {"params": [own(params) for params in self.params]}
