"""What an optimizer has seen: observations in growing arrays, failures, and pending points."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from numbo._types import Array, Indices, Mask, ObservationIndices, TrialPositions
from numbo.trials.goal import Goal

#: Origin of an observation that no search asked for (`numbo.search.run.Suggestion`).
UNASKED = -2


def point_key(x: Array) -> bytes:
    """Identity of a unit-cube point, equal for points that differ only by rounding."""
    return np.rint(x * 1e12).astype(np.int64).tobytes()


def own(params: Any) -> Any:
    """A private copy of a user point: a dict of values, or the index of an arm."""
    return dict(params) if isinstance(params, Mapping) else int(params)


def finite_range(y: Array) -> Array:
    """``y (n,)`` with non-finite values replaced: inf by the best finite value, -inf and NaN by the worst.

    Larger is better here. If no value is finite, all become 0.
    """
    finite = np.isfinite(y)
    if finite.all():
        return y
    if not finite.any():
        return np.zeros_like(y)
    low, high = y[finite].min(), y[finite].max()
    return np.clip(np.nan_to_num(y, nan=low, posinf=high, neginf=low), low, high)


@dataclass(frozen=True)
class Pending:
    """A point that was suggested, and the part of the search that proposed it (`numbo.search.run.Suggestion`)."""

    x: Array
    params: Any
    origin: int
    identity: bytes

    @classmethod
    def of(cls, x: Array, params: Any, origin: int) -> Pending:
        return cls(x, own(params), origin, point_key(x))


class History:
    """Observations ``X (n, d)``, ``y (n,)`` (larger is better), failures, and pending points by key.

    A single assignment or `list.append` makes a record part of the history. What is derived from the records
    (`first`, `best` and the like) can be recomputed by `refresh`, so that an interrupt at any point loses nothing.

    Attributes:
        n: number of observations.
        origins: (n,) which part of the search proposed each of them (`numbo.search.run.Suggestion`).
        first: the first observation at each point, by its identity.
        again: of each observation that is not the first at its point, the index of the first and its own.
        final: (n,) whether the values are final; two that are not may differ without noise.
        excluded: points without a result that must not be suggested.
        best: index of the best observation, -1 before the first.
    """

    def __init__(self, d: int) -> None:
        self.n = 0
        self._X, self._y, self._origins = np.empty((64, d)), np.empty(64), np.empty(64, dtype=np.int64)
        self._final = np.empty(64, dtype=bool)
        self._failed: list[tuple[int, Array, bytes]] = []
        self.failed_counts: Counter[bytes] = Counter()
        self.excluded: dict[bytes, Array] = {}
        self.first: dict[bytes, int] = {}
        self.again: list[tuple[int, int]] = []
        self.pending: dict[Hashable, Pending] = {}
        self.best = -1
        self._params: list[Any] = []

    @classmethod
    def of(
        cls, X: Array, y: Array, origins: Indices, final: Mask, excluded: Iterable[Array], params: Sequence[Any]
    ) -> History:
        """A history of what was told, ordered as by `in_order`; the other arrays are of the observations (n,)."""
        self, observed = cls(X.shape[1]), zip(params, origins.tolist(), final.tolist(), strict=True)
        for x, value in zip(X, y.tolist(), strict=True):
            if np.isnan(value):
                self.fail(x)
            else:
                params_of, origin, is_final = next(observed)
                self.add(x, value, params_of, origin, final=is_final)
        for x in excluded:
            self.exclude(x)
        return self

    def copy(self) -> History:
        """An independent history with the same records; what is told to this one later does not affect it."""
        twin = copy.copy(self)  # arrays are shared: records are only appended, beyond the copy's n
        twin._failed, twin.excluded, twin.pending = list(self._failed), dict(self.excluded), dict(self.pending)
        twin.failed_counts, twin.first, twin.again = self.failed_counts.copy(), dict(self.first), list(self.again)
        return twin

    @property
    def X(self) -> Array:
        return self._X[: self.n]

    @property
    def y(self) -> Array:
        return self._y[: self.n]

    @property
    def origins(self) -> Indices:
        return self._origins[: self.n]

    @property
    def final(self) -> Mask:
        return self._final[: self.n]

    @property
    def params(self) -> list[Any]:
        """The parameters (n,) of the observations, exactly as told."""
        return self._params[: self.n]

    @property
    def told(self) -> int:
        """Number of observations and failures."""
        return self.n + len(self._failed)

    @property
    def step(self) -> int:
        """Number of points that were told or are pending."""
        return self.told + len(self.pending)

    def add(self, x: Array, y: float, params: Any, origin: int, *, final: bool = True) -> int:
        """Append an observation; returns its index. ``params`` are kept exactly as told."""
        i = self.n
        if i == len(self._origins):
            self._X = np.concatenate([self._X, np.empty_like(self._X)])
            self._y = np.concatenate([self._y, np.empty_like(self._y)])
            self._origins = np.concatenate([self._origins, np.empty_like(self._origins)])
            self._final = np.concatenate([self._final, np.empty_like(self._final)])
        self._X[i], self._y[i], self._origins[i], self._final[i] = x, y, origin, final
        self._params[i:] = [own(params)]
        self.n = i + 1
        self._place(i)
        if self.best < 0 or y > self._y[self.best]:
            self.best = i
        return i

    def _place(self, i: int) -> None:
        """Note whether observation ``i`` is the first at its point."""
        first = self.first.setdefault(point_key(self._X[i]), i)
        if first != i:
            self.again.append((first, i))

    def fail(self, x: Array) -> None:
        """Append a failure."""
        key = point_key(x)
        self._failed.append((self.n, x, key))
        self.failed_counts[key] += 1

    def exclude(self, x: Array) -> None:
        """Record that ``x (d,)`` must not be suggested."""
        self.excluded[point_key(x)] = x

    def refresh(self) -> None:
        """Recompute what is derived from the records."""
        self.first, self.again = {}, []
        for i in range(self.n):
            self._place(i)
        self.failed_counts = Counter(key for _, _, key in self._failed)
        self.best = int(np.argmax(self.y)) if self.n else -1

    @property
    def failed(self) -> dict[bytes, Array]:
        """Points that failed and never succeeded, by their identity."""
        return {key: x for _, x, key in self._failed if key not in self.first}

    def superseded(self) -> Mask:
        """Which of all trials told (told,) are failures at a point that has also succeeded."""
        out = np.zeros(self.told, dtype=bool)
        for j, (position, _, key) in enumerate(self._failed):
            out[position + j] = key in self.first
        return out

    def in_order(self) -> tuple[Array, Array]:
        """All trials in the order told: points (told, d) and values (told,), NaN for a failure."""
        at = [position for position, _, _ in self._failed]
        if not at:
            return self.X.copy(), self.y.copy()
        return np.insert(self.X, at, [x for _, x, _ in self._failed], axis=0), np.insert(self.y, at, np.nan)

    def order_of(self, observations: ObservationIndices) -> TrialPositions:
        """Positions (m,) of the ``observations (m,)`` among all trials told."""
        at = np.array([position for position, _, _ in self._failed], dtype=np.int64)
        return observations + np.searchsorted(at, observations, side="right")

    def best_of(self, goal: Goal) -> tuple[Any, float] | None:
        """The best point and its value, None before the first success."""
        return None if self.best < 0 else (own(self._params[self.best]), goal.value(float(self.y[self.best])))

    def values(self, n: int | None = None) -> Array:
        """The first ``n`` of ``y``, made finite for a model (`finite_range`)."""
        return finite_range(self.y[:n])

    def pending_points(self) -> Array:
        """Pending points (p, d), oldest first."""
        points = [p.x for p in self.pending.values()]
        return np.array(points) if points else np.empty((0, self._X.shape[1]))

    def key_of(self, x: Array) -> Hashable | None:
        """The key of the oldest pending point at ``x (d,)``, None if there is none."""
        if not self.pending:
            return None
        wanted = point_key(x)
        return next((key for key, p in self.pending.items() if p.identity == wanted), None)

    def was_told_since(self, x: Array, known: int) -> bool:
        """Whether a result at ``x (d,)`` is among those that were told after the first ``known``."""
        wanted = point_key(x)
        return any(point_key(other) == wanted for other in self.in_order()[0][known:])

    def is_observed(self, x: Array) -> bool:
        """Whether there is an observation at ``x (d,)``."""
        return point_key(x) in self.first

    def is_pending(self, x: Array) -> bool:
        """Whether ``x (d,)`` is pending."""
        return self.key_of(x) is not None

    def pending_again(self) -> int:
        """How many points that were observed are pending."""
        return sum(p.identity in self.first for p in self.pending.values())
