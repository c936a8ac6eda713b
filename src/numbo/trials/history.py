"""The data of an optimizer: the trials told, the observations among them, and the pending points."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from numbo._plain import copied
from numbo._rows import extended
from numbo._types import Array, Indices, Mask, ObservationIndices, TrialPositions
from numbo.trials.data import Data, finite_range
from numbo.trials.ends import Ends
from numbo.trials.front import NonDominated, closeness
from numbo.trials.pending import PendingPoints
from numbo.trials.points import Visits, point_key, point_keys
from numbo.trials.stated import stated
from numbo.trials.trials import ROOM, Trials, column, own
from numbo.trials.violations import scales, scales_of, scored

S = TypeVar("S")

#: Origin of observations that no search asked for (`numbo.run.situation.Suggestion`).
UNASKED = -2
#: All observations, where some may be chosen.
EVERY = slice(None)


class History:
    """All `trials`, and the successful ones as observations.

    Everything about observations is derived from the trials. `refresh` recomputes it, so that an interrupt at any point
    loses nothing.

    Args:
        d, k, q: numbers of coordinates, outputs and constraints of a trial.
        ends: makes a model of the ends of stopped trials; without it, their last values count as final.

    Attributes:
        trials: everything told, in order.
        excluded: points without a result that must not be suggested.
        pending: points without a result yet, by their keys.
        visits: which points were told, by their identity.
        k, several: number of objectives, and whether it is more than one.
        constrained: whether there are constraints.
        n: number of observations.
        X: points (n, d) of the observations.
        y: the first output (n,) of each, larger ones being better; the value expected at the end of stopped trials.
        positions: position (n,) of each observation among all trials.
        ends: the model of the ends.
        expected_at: the number of trials when the expected ends of several of them changed last.
    """

    X: Array = column("X")
    y: Array = column("y")
    positions: TrialPositions = column("positions")
    #: Copies share the arrays: records are only appended, beyond the copy's n.
    copy = copied

    def __init__(self, d: int, k: int = 1, q: int = 0, ends: Callable[[], Ends] | None = None) -> None:
        self._new_ends = ends
        self.take(Trials(d, k, q), {}, PendingPoints(d))

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

    def of_output(self, output: int) -> History:
        """A history of this ``output`` alone, with the same pending points."""
        own = History(self.trials.X.shape[1], 1, self.trials.C.shape[1])
        own.take(self.trials.of_output(output), dict(self.excluded), self.pending.copy())
        return own

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
    def turn(self) -> int:
        """Number of suggestions so far, however often each was told, by which rules take turns."""
        return self.told + len(self.pending) - self.visits.told_again

    def key_of(self, x: Array) -> Hashable | None:
        """The key of the oldest pending point at ``x (d,)``, None if there is none."""
        return self.pending.key_of(point_key(x))

    # -- observations ----------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Recompute everything that is derived from the trials."""
        trials = self.trials
        self.k = trials.Y.shape[1]
        self.several = self.k > 1
        self.constrained = trials.C.shape[1] > 0
        self._facts: dict[Any, tuple[int, Any]] = {}
        self.visits = Visits()
        self.ends = None if self._new_ends is None else self._new_ends()
        self.expected_at = 0
        self._stopped: list[int] = []
        keys = point_keys(trials.X)
        stopped = trials.stopped if self.ends is not None else np.zeros(trials.n, dtype=bool)
        plain = int(np.argmax(stopped)) if stopped.any() else trials.n
        failed = trials.failed[:plain]
        before: Indices = np.cumsum(~failed) - (~failed).astype(np.int64)
        unasked = trials.origins[:plain] == UNASKED
        marks = zip(keys[:plain], before.tolist(), failed.tolist(), unasked.tolist(), strict=True)
        for t, (key, i, has_failed, is_unasked) in enumerate(marks):
            self.visits.add(key, i, t, failed=has_failed, unasked=is_unasked)
        told = np.flatnonzero(~failed)
        self.n: int = len(told)
        columns = {"X": trials.X[told], "y": trials.Y[told, 0], "variance": trials.variance[told], "positions": told}
        self._rows: dict[str, Any] = {
            name: extended(np.empty((ROOM, *rows.shape[1:]), dtype=rows.dtype), 0, rows)
            for name, rows in columns.items()
        }
        for t in range(plain, trials.n):
            self._take(t, keys[t])

    def _take(self, t: int, key: bytes) -> int:
        """Add the trial at position ``t``, at a point with this ``key``; the observation's index, -1 for a failure."""
        trials = self.trials
        y = float(trials.Y[t, 0])
        i = self.n
        failed = math.isnan(y)
        self.visits.add(key, i, t, failed=failed, unasked=int(trials.origins[t]) == UNASKED)
        if failed:
            return -1
        rows = self._rows
        if i == len(rows["y"]):
            rows = {name: extended(filled, i, filled) for name, filled in rows.items()}
            self._rows = rows
        rows["X"][i] = trials.X[t]
        rows["y"][i] = y
        rows["variance"][i] = trials.variance[t]
        rows["positions"][i] = t
        self.n = i + 1
        if self.ends is not None and trials.stopped[t]:
            self._stopped.append(i)
        if self.ends is not None and self._stopped:
            self._expect(self.ends, i)
        return i

    def _expect(self, ends: Ends, i: int) -> None:
        """Set values of stopped observations to those expected at their ends, as of the newest observation ``i``."""
        told = int(self.positions[i]) + 1
        rows = self._stopped[-1:] if self._stopped[-1] == i else []
        if ends.see(self.trials, told):
            rows = self._stopped
            self.expected_at = told
            self._rows = self._rows | {name: self._rows[name].copy() for name in ("y", "variance")}  # copies share them
        if rows:
            expected = ends.expected(self.trials.curves_of(self.positions[rows]), self.trials, told)
            self._rows["y"][rows] = expected.values
            self._rows["variance"][rows] = expected.variances

    @property
    def stopped(self) -> Mask:
        """Which observations (n,) are of trials that were stopped after they had reported something."""
        return _observed(self, self.trials.stopped)

    @property
    def final(self) -> Mask:
        """Whether each observation (n,) is of a finished evaluation; other values may differ without noise."""
        return _observed(self, self.trials.final)

    @property
    def C(self) -> Array:
        """The values of the constraints (n, q) of each observation, NaN where nothing was told."""
        return _observed(self, self.trials.C)

    @property
    def met(self) -> Mask:
        """Which observations (n,) violate no constraint whose value is known."""
        return _observed(self, self.trials.met)

    def params(self, i: int) -> Any:
        """The parameters of observation ``i``, exactly as told."""
        return own(self.trials.params[self.positions[i]])

    @property
    def variance(self) -> Array:
        """The known variance of each of ``y (n,)``, in addition to the common noise.

        Less than was told where values contradict it (`numbo.trials.stated`).
        """
        known: Array = self._rows["variance"][: self.n]
        halvings = self.halvings
        return np.where(self.final, 0.25**halvings, 1.0) * known if halvings else known

    @property
    def halvings(self) -> int:
        """How often known errors are halved, since values contradict them (`numbo.trials.stated`)."""
        return self.fact(stated).halvings if self._rows["variance"][: self.n].any() else 0

    def output(self, output: int) -> Array:
        """The values (n,) of an ``output``."""
        return self.y if output == 0 else self.trials.Y[self.positions, output]

    def values(self, n: int | None = None, output: int = 0) -> Array:
        """The first ``n`` values of an ``output``, made finite for a model (`finite_range`)."""
        return finite_range(self.output(output)[:n])

    def outputs(self, rows: ObservationIndices | slice = EVERY) -> Array:
        """All outputs of some observations ``rows (m,)`` or of all, made finite for a model."""
        return np.stack([self.values(output=j)[rows] for j in range(self.k)], axis=1)

    def data(self, n: int | None = None, output: int = 0) -> Data:
        """The first ``n`` observations of an ``output``, as models take them."""
        return Data(self.X[:n], self.values(n, output), self.variance[:n])

    # -- comparison of observations --------------------------------------------------------------------------------

    @property
    def best(self) -> int:
        """Index of the `Best` observation, -1 before the first."""
        return self.fact(best).row

    @property
    def any_feasible(self) -> bool:
        """Whether an observation meets all constraints."""
        return self.fact(best).meets

    @property
    def front(self) -> NonDominated:
        """Of several objectives, the final observations that meet all constraints and that no other one dominates.

        It is empty for one objective.
        """
        return self.fact(front)[1]

    def assured(self, i: int) -> float:
        """The score of observation ``i``; one standard deviation less if its end is only expected."""
        score = float(scores_of(self, np.array([i]))[0]) if self.constrained else float(self.y[i])
        return score - math.sqrt(self._rows["variance"][i]) if self._stopped and self.stopped[i] else score


def _observed(history: History, told: Any) -> Any:
    """The rows (n, ...) of the observations among those of all trials ``told``."""
    return told if history.n == history.told else told[history.positions]


def front(known: tuple[int, NonDominated] | None, history: History) -> tuple[int, NonDominated]:
    """The fold of `History.front`, and of the number of observations seen."""
    n, found = (0, NonDominated.of_none(history.k)) if known is None else known
    trials = history.trials
    for i, t in enumerate(history.positions[n:].tolist() if history.several else (), n):
        if trials.final[t] and trials.met[t]:
            found = found.seeing(i, trials.Y[t])
    return history.n, found


class Best(NamedTuple):
    """The best observation, by the first objective.

    Observations that meet all constraints come before others, then those whose constraints are all known, then final
    ones before stopped ones. If none meets all constraints, it is the one with the least violation.

    Attributes:
        row: its index, -1 before the first observation.
        meets: whether it violates no constraint whose value is known.
        sure: whether, in addition, the values of all constraints are known.
        n: number of observations seen.
        expected_at, scaled_at: when expected ends, and the scales of violations, had changed last.
    """

    row: int = -1
    meets: bool = False
    sure: bool = False
    n: int = 0
    expected_at: int = 0
    scaled_at: int = 0


def best(known: Best | None, history: History) -> Best:
    """The fold of `Best`."""
    known = Best() if known is None else known
    scaled_at = history.fact(scales).updated_at if history.constrained else 0
    same = known.expected_at == history.expected_at if known.meets else known.scaled_at == scaled_at
    rows = [known.row, *range(known.n, history.n)] if known.n and same else range(history.n)
    if not rows:
        return known
    y = history.y
    C = history.C
    met = history.met
    stopped = history.stopped

    def rank(i: int) -> tuple[bool, bool, bool, float]:
        return bool(met[i]), not (history.constrained and np.isnan(C[i]).any()), not stopped[i], float(y[i])

    (meets, sure, _, _), place = max((rank(i), -i) for i in rows)
    row = -place
    if not meets:
        scores = scored(y[rows], C[rows], scales_of(history, history.n), wary=False)
        row = rows[int(np.argmax(scores))]
    return Best(row, meets, meets and sure, history.n, history.expected_at, scaled_at)


def scores_of(history: History, rows: ObservationIndices | slice = EVERY) -> Array:
    """Scores by which observations compare, some ``rows (m,)`` or all: their values, if they meet all constraints.

    With several objectives, the closeness to the front (`numbo.trials.front.closeness`), or to that of the ``rows`` if
    no observation is feasible. Observations that violate constraints have lower scores, by the sum of their violations
    in units of the constraints' sizes. Observations with unknown constraints come in between, once a fully known
    feasible one exists.
    """
    if history.several:
        Y = history.outputs(rows)
        y = closeness(Y, history.outputs(history.front.rows) if len(history.front.rows) else Y)
    else:
        y = history.values()[rows]
    if not history.constrained:
        return y
    return scored(y, history.C[rows], scales_of(history, history.n), wary=history.fact(best).sure)
