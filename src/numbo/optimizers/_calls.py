"""What calls of all optimizers have in common: what is told is checked, calls are whole, and warnings are given once.

After an interrupt, or an error, anything that a call has changed may be half done, except the trials: each was told, or
was not (`numbo.trials.Trials`). So everything else is built again from them before the next call, and the optimizer
continues as if the call had been complete, where its trial was told, or else as if it had never been made, but with
models that are fitted anew.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numbo import _checks
from numbo._interrupts import interrupts_get_out
from numbo._settings import INITIAL
from numbo._types import Array
from numbo.models.curves import LARGEST_STD
from numbo.models.trust import contradicted, disagreement
from numbo.run.failures import Trouble
from numbo.run.situation import Situation
from numbo.spaces import Domain
from numbo.trials import Curve, Goal, History, point_key
from numbo.trials.record import Record
from numbo.trials.stated import too_large

if TYPE_CHECKING:
    from typing_extensions import Self

#: A warning says that others than the points asked for are told, after this number in a row. Not tuned.
STRANGERS = 20


@dataclass(frozen=True)
class Capabilities:
    """What an algorithm takes.

    Attributes:
        objectives: largest number of objectives.
        constraints: whether there may be constraints.
        std: whether values may have known standard deviations.
        costs: whether trials may have costs.
        known: whether it takes what is known of the parameters: which points are allowed, beliefs, and a default.
        usual_initial: number of points of the initial design in studies of the frameworks; None if the settings say it.
    """

    objectives: int = 1
    constraints: bool = False
    std: bool = False
    costs: bool = False
    known: bool = False
    usual_initial: int | None = INITIAL


@dataclass(frozen=True)
class Intake:
    """Checks what is told of trials.

    Attributes:
        algorithm: its name.
        capabilities: what it takes.
        space, goal: of the trials.
        reports: whether reports are kept.
    """

    algorithm: str
    capabilities: Capabilities
    space: Domain
    goal: Goal
    reports: bool

    def record(
        self,
        params: Any,
        value: Any,
        std: Any = None,
        constraints: Any = None,
        reports: Mapping[Any, Any] | None = None,
        cost: Any = None,
    ) -> Record:
        """The checked data of one trial; raises as `Optimizer.tell`."""
        x = self.space.encode(params)
        outputs = self.goal.outputs(value)
        variance = 0.0 if std is None else self._deviation(std) ** 2
        limits = self.goal.constrained(constraints)
        curve = self.curve(reports)
        paid = math.nan if cost is None else self._cost(cost)
        return Record(params, x, outputs, variance, limits, curve, paid)

    def records(self, params: Sequence[Any], value: Any, std: Any, constraints: Any, cost: Any) -> list[Record]:
        """The checked data of several trials."""
        values = list(value) if isinstance(value, Iterable) else [value]
        stds = list(std) if isinstance(std, Iterable) else [std] * len(values)
        limits = [None] * len(values) if constraints is None else list(constraints)
        costs = list(cost) if isinstance(cost, Iterable) else [cost] * len(values)
        if not len(params) == len(values) == len(stds) == len(limits) == len(costs):
            given = f"{len(params)} points and {len(values)} values" + f" and {len(stds)} std" * (std is not None)
            given += f" and {len(limits)} constraints" * (constraints is not None)
            given += f" and {len(costs)} cost" * (cost is not None)
            raise ValueError(f"tell got {given}; they must match.")
        rows = zip(params, values, stds, limits, costs, strict=True)
        return [self.record(p, y, std, limit, None, paid) for p, y, std, limit, paid in rows]

    def curve(self, reports: Mapping[Any, Any] | None) -> Curve | None:
        """The curve of a trial's reports by step; None if reports are not kept. Raises as `Optimizer.tell`."""
        curve = self.goal.curve(reports)
        return curve if self.reports else None

    def _deviation(self, std: Any) -> float:
        if not self.capabilities.std:
            raise ValueError(f"std is not supported by {self.algorithm}: GSSBO and GPUCB take it; got {std!r}.")
        if (k := len(self.goal.directions)) > 1:
            raise ValueError(f"std is that of one objective, and there are {k}; got {std!r}.")
        return min(_checks.number("std", std, 0.0), LARGEST_STD)

    def _cost(self, cost: Any) -> float:
        if not self.capabilities.costs:
            raise ValueError(f"cost is not supported by {self.algorithm}: GSSBO and GPUCB take it; got {cost!r}.")
        return _checks.number("cost", cost, 0.0, above=True)


def same_point(history: History, key: Hashable, x: Array, params: Any) -> None:
    """Raise a `ValueError` if another point than ``params``, which is ``x (d,)``, is pending under ``key``."""
    pending = history.pending.get(key)
    if pending is not None and pending.identity != point_key(x):
        known = f"the point that is pending under key {key!r}, which is {pending.params!r}"
        raise ValueError(f"params must be {known}; got {params!r}.")


def pending_key(history: History, space: Domain, params: Any, key: Hashable | None) -> Hashable:
    """The key of a pending point, by default of the oldest one that is equal to ``params``."""
    if key is not None and key not in history.pending:
        raise ValueError(f"key must be that of a pending point, got {key!r}.")
    x = space.encode(params)
    if key is not None:
        same_point(history, key, x, params)
        return key
    key = history.key_of(x)
    if key is None:
        raise ValueError(f"params must be pending: asked for, or held, and not told yet; got {params!r}.")
    return key


class Warned(set[str]):
    """The kinds of warnings that were given. Each is given once.

    Attributes:
        handed_out: whether a point was handed out since one was told.
        strangers: how many in a row were told then that are not pending.
    """

    handed_out = False
    strangers = 0

    def of_contradictions(self, run: Situation) -> None:
        """Warn if the data contradict what is believed of good values, and for the errors of values."""
        if "prior" not in self and (names := contradicted(run.space.beliefs, run.history)):
            self.add("prior")
            warnings.warn(disagreement(names), stacklevel=4)
        if "std" not in self and (halvings := run.history.halvings):
            self.add("std")
            warnings.warn(too_large(halvings), stacklevel=4)

    def of_strangers(self, pending: int, *, known: bool) -> None:
        """Warn if points are asked for and others are told, again and again; it was told of one, ``known`` or not."""
        self.strangers = 0 if known else self.strangers + self.handed_out
        self.handed_out = False
        if self.strangers == STRANGERS:
            warnings.warn(
                f"The last {STRANGERS} points that were told are none of those that were asked for, of which "
                f"{pending} are pending: tell points exactly as ask() returned them, without "
                "rounding, or give those up that will not be evaluated by withdraw(params).",
                stacklevel=4,
            )

    def of_trouble(self, trouble: Trouble | None) -> None:
        """Warn for each kind of place where trials fail again and again."""
        if trouble is not None and trouble.kind not in self:
            self.add(trouble.kind)
            warnings.warn(str(trouble), stacklevel=3)


class Transaction:
    """Knows what the present call may leave to be repaired; the optimizer has one of them for all of its calls.

    Attributes:
        asked: number of points that were handed out, by calls that were complete.
        telling: the key under which the point is pending whose trial the present call tells; None if it is not.
        outdated: whether everything is to be built again, although the present call is complete.
    """

    def __init__(self, asked: int = 0) -> None:
        self.asked = asked
        self.telling: Hashable | None = None
        self.outdated = False
        self._numbered = asked
        #: Number of trials told before the last call, if that is still to be repaired.
        self._told: int | None = None

    @contextmanager
    def whole(self, told: int) -> Iterator[Self]:
        """A call that begins with so many trials ``told``; unless its block comes to the end, it has to be repaired."""
        self.telling = None
        self.outdated = False
        self._told = told
        with interrupts_get_out():
            yield self
        self.telling = None
        self.asked = self._numbered
        self._told = told if self.outdated else None

    def next_key(self) -> Hashable:
        """The key of the next point that the present call hands out."""
        self._numbered += 1
        return "asked", self._numbered - 1

    def repair(self, history: History, build: Callable[[], None]) -> None:
        """Make the trials and pending points of a ``history`` what they are after a whole call or before it.

        What follows from them has to be ``build``, where a call was not whole.

        This may be interrupted as well, and is then done again.
        """
        if self._told is None:
            return
        with interrupts_get_out():
            if history.told > self._told:
                history.pending.pop(self.telling, None)
            for number in range(self.asked, self._numbered):
                history.pending.pop(("asked", number), None)  # chosen, but never handed out
            build()
        self._numbered = self.asked
        self._told = None
