"""The data of an optimizer: the trials told, the observations among them, and the pending points."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

import numpy as np

from numbo._plain import copied
from numbo._rows import extended
from numbo._types import Array, Mask, ObservationIndices, TrialPositions
from numbo.trials.data import Data, finite_range
from numbo.trials.ends import Ends
from numbo.trials.front import NonDominated, closeness
from numbo.trials.goal import Goal
from numbo.trials.pending import PendingPoints
from numbo.trials.points import point_key, point_keys
from numbo.trials.stated import stated
from numbo.trials.trials import ROOM, Trials, own
from numbo.trials.violations import Scales, scales_of, scored

S = TypeVar("S")

#: Origin of observations that no search asked for (`numbo.run.situation.Suggestion`).
UNASKED = -2


class History:
    """All `trials`, and the successful ones as observations ``X (n, d)``, ``y (n,)`` (larger is better).

    Observations, `first`, `best` and the like are derived from the trials. `refresh` recomputes them, so that an
    interrupt at any point loses nothing.

    Args:
        d, k, q: numbers of coordinates, outputs and constraints of a trial.
        ends: makes a model of the ends of stopped trials; without it, their last values count as final.

    Attributes:
        trials: everything told, in order.
        k, several: number of objectives, and whether it is more than one.
        constrained: whether there are constraints.
        n: number of observations.
        first: the first observation at each point, by its identity.
        again: for each observation that is not the first at its point, the index of the first and its own.
        failed_counts: how often a point failed, by its identity.
        failed_last: the position of its last failure among all trials.
        failed_again: how many trials failed at a point with an observation.
        told_again: how many trials that no search asked for are at a point that was told before.
        excluded: points without a result that must not be suggested.
        pending: points without a result yet, by their keys.
        best: index of the best observation, -1 before the first, by the first objective. Observations that meet all
            constraints come before others, final ones before stopped ones; if none meets all constraints, it is the
            one with the least violation.
        scales: the sizes of the constraints' values (`numbo.trials.violations.scales_of`).
        front: of several objectives, the final observations that meet all constraints and that no other one dominates.
        ends: the model of the ends.
    """

    def __init__(self, d: int, k: int = 1, q: int = 0, ends: Callable[[], Ends] | None = None) -> None:
        self._new_ends = ends
        self.trials = Trials(d, k, q)
        self.excluded: dict[bytes, Array] = {}
        self.pending = PendingPoints(d)
        self._derive()

    def state_dict(self) -> dict[str, Any]:
        """The trials told, as plain data; without pending points."""
        return self.trials.state_dict() | {"excluded": list(self.excluded.values())}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a `state_dict`."""
        self.take(Trials.of(state), {point_key(x): x for x in state["excluded"]}, self.pending)

    def take(self, trials: Trials, excluded: dict[bytes, Array], pending: PendingPoints) -> None:
        """Adopt what another history knows; all else follows from it."""
        self.trials = trials
        self.excluded = excluded
        self.pending = pending
        self.refresh()

    def copy(self) -> History:
        """An independent history with the same records, unaffected by later changes of this one."""
        # arrays are shared: records are only appended, beyond the copy's n
        twin = copied(self, (dict, list, Trials, PendingPoints))
        twin.ends = copy.copy(self.ends)
        return twin

    def fact(self, fold: Callable[..., S], *given: Any) -> S:
        """What follows from the trials by a ``fold``, of which the last value is remembered.

        ``fold(value, history, *given)`` returns the value for all trials of a history, from that for the first ones,
        which is None for none of them. A value never changes, so that copies of the history share it.
        """
        key = fold, given
        told, value = self._facts.get(key, (-1, None))
        if told != self.trials.n:
            value = fold(value, self, *given)
            self._facts[key] = self.trials.n, value
        return value

    # -- records -------------------------------------------------------------------------------------------------

    def add(self, x: Array, *told: Any, identity: bytes | None = None, **more: Any) -> int:
        """Append a trial as `Trials.add` does; returns the index of the observation, -1 if it failed.

        ``identity`` is the `point_key` of ``x (d,)``, if it is at hand.
        """
        return self._take(self.trials.add(x, *told, **more), point_key(x) if identity is None else identity)

    def exclude(self, x: Array) -> None:
        """Record that ``x (d,)`` must not be suggested."""
        self.excluded[point_key(x)] = x

    @property
    def told(self) -> int:
        """Number of trials told."""
        return self.trials.n

    @property
    def step(self) -> int:
        """Number of points that were told or are pending."""
        return self.told + len(self.pending)

    @property
    def turn(self) -> int:
        """As `step`, without values told once more: it grows by one for each suggestion, however often it is told."""
        return self.step - self.told_again

    # -- derived from the trials -----------------------------------------------------------------------------------

    def _derive(self) -> None:
        """Reset everything to the state without trials."""
        self.k = self.trials.Y.shape[1]
        self.several = self.k > 1
        self.constrained = self.trials.C.shape[1] > 0
        self.n = 0
        self.best = -1
        self.ends = None if self._new_ends is None else self._new_ends()
        self._facts: dict[Any, tuple[int, Any]] = {}
        self._X = np.empty((ROOM, self.trials.X.shape[1]))
        self._y = np.empty(ROOM)
        self._variance = np.empty(ROOM)
        self._positions = np.empty(ROOM, dtype=np.int64)
        #: Whether all of ``y (n,)`` are known to be finite, so that nobody has to look at them again.
        self._all_finite = True
        self.scales = Scales.of_none(self.trials.C.shape[1])
        self.front = NonDominated.of_none(self.k)
        self.first: dict[bytes, int] = {}
        self.again: list[tuple[int, int]] = []
        #: Observations of trials that were stopped after reports.
        self._stopped: list[int] = []
        self.failed_counts: Counter[bytes] = Counter()
        self.failed_last: dict[bytes, int] = {}
        self.failed_again = 0
        self.told_again = 0
        #: Positions of failures among all trials, and the identities of their points.
        self._failures: list[tuple[int, bytes]] = []

    def refresh(self) -> None:
        """Recompute everything that is derived from the trials."""
        self._derive()
        stopped = self.trials.were_stopped
        known = int(np.argmax(stopped)) if self.ends is not None and stopped.any() else self.trials.n
        self._take_first(known)
        for t in range(known, self.trials.n):
            self._take(t, point_key(self.trials.X[t]))

    def _take_first(self, count: int) -> None:
        """Add the first ``count`` trials at once; the result is that of `_take` for each.

        If there is a model of the ends, none of them was stopped.
        """
        trials = self.trials
        keys = point_keys(trials.X[:count])
        failed = trials.failed[:count]
        unasked = trials.origins[:count] == UNASKED
        for t, (key, *kind) in enumerate(zip(keys, failed.tolist(), unasked.tolist(), strict=True)):
            self._note(t, key, *kind)
        positions = np.flatnonzero(~failed)
        self._X = extended(self._X, 0, trials.X[positions])
        self._y = extended(self._y, 0, trials.Y[positions, 0])
        self._all_finite = bool(np.isfinite(trials.Y[positions, 0]).all())
        self._variance = extended(self._variance, 0, trials.variance[positions])
        self._positions = extended(self._positions, 0, positions)
        self._stopped = np.flatnonzero(trials.were_stopped[positions]).tolist()
        meets = self.meets(np.arange(self.n))
        if self.several:
            for i in np.flatnonzero(meets & trials.final[positions]).tolist():
                self.front = self.front.seeing(i, trials.Y[positions[i]])
        if self.n:
            self.best = self._best_of_all(meets)

    def _best_of_all(self, meets: Mask) -> int:
        """The best observation, while no end is only expected; ``meets (n,)`` as by `meets`."""
        if not meets.any():
            return int(np.argmax(scores_of(self)))
        known = meets & ~np.isnan(self.C).any(axis=1)
        rows = np.flatnonzero(known if known.any() else meets)
        return int(rows[np.argmax(self.y[rows])])

    def _take(self, t: int, key: bytes) -> int:
        """Add the trial at position ``t``, at a point with this ``key``; the observation's index, -1 for a failure."""
        y = float(self.trials.Y[t, 0])
        i = self.n
        if not self._note(t, key, math.isnan(y), int(self.trials.origins[t]) == UNASKED):
            return -1
        if i == len(self._y):
            for name in ("_X", "_y", "_variance", "_positions"):
                rows = getattr(self, name)
                setattr(self, name, extended(rows, i, rows))
        self._X[i] = self.trials.X[t]
        self._y[i] = y
        self._variance[i] = self.trials.variance[t]
        self._positions[i] = t
        self._all_finite = self._all_finite and math.isfinite(y)
        if self.trials.stopped(t):
            self._stopped.append(i)
        if self.ends is not None and self._stopped:
            self._expect(i)
        if self.several and self.feasible(i) and self.trials.final[t]:
            self.front = self.front.seeing(i, self.trials.Y[t])
        if self.constrained and not self.any_feasible:
            self.best = self._least_violated(i)
        elif self.best < 0 or self._rank(i) > self._rank(self.best):
            self.best = i
        return i

    def _note(self, t: int, key: bytes, failed: bool, unasked: bool) -> bool:
        """Count the trial at position ``t`` at the point with this ``key``; returns whether it is an observation."""
        self.told_again += unasked and (key in self.first or key in self.failed_counts)
        if failed:
            self._failures.append((t, key))
            self.failed_counts[key] += 1
            self.failed_last[key] = t
            self.failed_again += key in self.first
            return False
        first = self.first.setdefault(key, self.n)
        if first != self.n:
            self.again.append((first, self.n))
        self.n += 1
        return True

    def _expect(self, i: int) -> None:
        """Set the values of stopped observations to the values expected at their ends."""
        assert self.ends is not None
        rows = [i] if self._stopped[-1] == i else []
        if self.ends.see(self.trials, int(self._positions[i]) + 1):
            rows = self._stopped
            self._y = self._y.copy()  # copies of this history share the arrays
            self._variance = self._variance.copy()
        if rows:
            at = np.array(rows)
            curves = self.trials.curves_of(self.positions[at])
            expected = self.ends.expected(curves, self.trials, int(self._positions[i]) + 1)
            self._all_finite = False
            self._y[at] = expected.values
            self._variance[at] = expected.variances
            if len(rows) > 1 and self.best >= 0 and self.stopped(self.best):
                self.best = int(np.argmax(scores_of(self)[: self.n - 1]))

    def _least_violated(self, i: int) -> int:
        """The best observation, if none before ``i`` meets all constraints."""
        before = self.scales.updated_at
        scales_of(self, self.n)
        if self.scales.updated_at != before or self.best < 0:  # the scales of violations have changed
            return int(np.argmax(scores_of(self)))
        return int((self.best, i)[int(np.argmax(scores_of(self, np.array([self.best, i]))))])

    def _rank(self, i: int) -> tuple[bool, bool, bool, float]:
        """A key by which observation ``i`` is compared; larger is better."""
        return self.feasible(i), self._all_told(i), not self.stopped(i), float(self._y[i])

    def _all_told(self, i: int) -> bool:
        """Whether the values of all constraints are known at observation ``i``."""
        return not self.constrained or not np.isnan(self.trials.C[self._positions[i]]).any()

    def stopped(self, i: int) -> bool:
        """Whether observation ``i`` is of a trial that was stopped after it had reported something."""
        return self.ends is not None and self.trials.stopped(int(self._positions[i]))

    def were_stopped(self, rows: ObservationIndices) -> Mask:
        """Which of the observations ``rows (m,)`` are of trials that were stopped after a report."""
        return np.isin(rows, self._stopped) if self.ends is not None else np.zeros(len(rows), dtype=bool)

    def assured(self, i: int) -> float:
        """The score of observation ``i``; one standard deviation less if its end is only expected."""
        score = float(scores_of(self, np.array([i]))[0]) if self.constrained else float(self._y[i])
        return score - math.sqrt(self._variance[i]) if self.stopped(i) else score

    @property
    def C(self) -> Array:
        """The values of the constraints (n, q) of each observation, NaN where nothing was told."""
        return self.trials.C if self.n == self.told else self.trials.C[self.positions]

    def feasible(self, i: int) -> bool:
        """Whether observation ``i`` violates no constraint whose value is known."""
        return not self.constrained or not (self.trials.C[self._positions[i]] > 0.0).any()

    @property
    def any_feasible(self) -> bool:
        """Whether an observation meets all constraints."""
        return self.best >= 0 and self.feasible(self.best)

    def meets(self, rows: ObservationIndices) -> Mask:
        """Which of the observations ``rows (m,)`` violate no constraint whose value is known."""
        violated: Mask = self.trials.C[self._positions[rows]] > 0.0
        return np.asarray(~violated.any(axis=1))

    def outputs(self, rows: ObservationIndices | None = None) -> Array:
        """All outputs of some observations ``rows (m,)`` or of all, made finite for a model."""
        columns = [self.values(output=j) for j in range(self.k)]
        return np.stack([column if rows is None else column[rows] for column in columns], axis=1)

    @property
    def X(self) -> Array:
        return self._X[: self.n]

    @property
    def y(self) -> Array:
        return self._y[: self.n]

    @property
    def final(self) -> Mask:
        """Whether each observation (n,) is of a finished evaluation; other values may differ without noise."""
        return self.trials.final[self.positions]

    @property
    def all_final(self) -> bool:
        """Whether all observations are final."""
        return bool(self.trials.final.all()) or bool(self.final.all())

    def params(self, i: int) -> Any:
        """The parameters of observation ``i``, exactly as told."""
        return own(self.trials.params[self._positions[i]])

    @property
    def failed(self) -> dict[bytes, Array]:
        """Points that failed and never succeeded, by their identity."""
        return {key: self.trials.X[t] for t, key in self._failures if key not in self.first}

    def superseded(self) -> Mask:
        """Which of all trials told (told,) are failures at a point that has also succeeded."""
        out = np.zeros(self.told, dtype=bool)
        for t, key in self._failures:
            out[t] = key in self.first
        return out

    @property
    def positions(self) -> TrialPositions:
        """Position (n,) of each observation among all trials told."""
        return self._positions[: self.n]

    def best_of(self, goal: Goal) -> tuple[Any, float] | None:
        """The best point and its value, None before the first success that meets all constraints."""
        if self.several:
            raise ValueError(f"There is no best point of {self.k} objectives: see front().")
        return (self.params(self.best), goal.value(float(self.y[self.best]))) if self.any_feasible else None

    def data(self, n: int | None = None, output: int = 0) -> Data:
        """The first ``n`` observations of an ``output``, as models take them."""
        return Data(self.X[:n], self.values(n, output), self.variance[:n])

    @property
    def variance(self) -> Array:
        """The known variance of each of ``y (n,)``, in addition to the common noise.

        Less than was told where values contradict it (`numbo.trials.stated`).
        """
        known = self._variance[: self.n]
        halvings = self.halvings
        return np.where(self.final, 0.25**halvings, 1.0) * known if halvings else known

    @property
    def halvings(self) -> int:
        """How often known errors are halved, since values contradict them (`numbo.trials.stated`)."""
        return self.fact(stated).halvings if self._variance[: self.n].any() else 0

    def of_output(self, output: int) -> History:
        """A history of this ``output`` alone, with the same pending points."""
        trials = self.trials
        own = History(trials.X.shape[1], 1, trials.C.shape[1])
        own.take(trials.of_output(output), dict(self.excluded), self.pending.copy())
        return own

    def values(self, n: int | None = None, output: int = 0) -> Array:
        """The first ``n`` values of an ``output``, made finite for a model (`finite_range`)."""
        values = self.output(output)[:n]
        return values if output == 0 and self._all_finite else finite_range(values)

    def output(self, output: int) -> Array:
        """The values (n,) of an ``output``."""
        return self.y if output == 0 else self.trials.Y[self.positions, output]

    def key_of(self, x: Array) -> Hashable | None:
        """The key of the oldest pending point at ``x (d,)``, None if there is none."""
        return self.pending.key_of(point_key(x)) if self.pending else None

    def first_at(self, x: Array) -> int:
        """The first observation at ``x (d,)``, -1 if there is none."""
        return self.first.get(point_key(x), -1)

    def has_failed(self, x: Array) -> bool:
        """Whether ``x (d,)`` failed, and never succeeded."""
        key = point_key(x)
        return key in self.failed_counts and key not in self.first

    def pending_again(self) -> int:
        """Number of pending points that already have an observation."""
        return sum(p.identity in self.first for p in self.pending.values())


def scores_of(history: History, rows: ObservationIndices | None = None) -> Array:
    """Scores by which observations compare, some ``rows (m,)`` or all: their values, if they meet all constraints.

    With several objectives, the closeness to the front (`numbo.trials.front.closeness`), or to that of the ``rows`` if
    no observation is feasible. Observations that violate constraints have lower scores, by the sum of their violations
    in units of the constraints' sizes. Observations with unknown constraints come in between, once a fully known
    feasible one exists.
    """
    chosen = slice(None) if rows is None else rows
    if history.several:
        Y = history.outputs(rows)
        y = closeness(Y, history.outputs(history.front.rows) if len(history.front.rows) else Y)
    else:
        y = history.values()[chosen]
    if not history.constrained:
        return y
    trials = history.trials
    wary = history.any_feasible and not np.isnan(trials.C[history.positions[history.best]]).any()
    return scored(y, trials.C[history.positions[chosen]], scales_of(history, history.n), wary=wary)
