"""Which points may be suggested: not barred, no repeats while these are avoided, and with the fixed coordinates.

Availability does not change the data it reads. Algorithms and adapters ask it about a point (`taken`), about all points
of a space that can be enumerated (`rows`, `excluded`), or whether any point is left (`exhausted`).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from numbo._types import ArmIndices, Array, Mask
from numbo.models import Feasibility
from numbo.models.noise import NOISY, Noise
from numbo.spaces import INACTIVE, Arms, Corners, Domain
from numbo.trials import History, point_key

#: Largest finite space whose points are kept as a list.
ENUMERABLE = 50_000
#: If values are noisy, one suggestion in `AGAIN` may measure a point again. At a higher rate, more runs got stuck at a
#: local optimum.
AGAIN = 4
#: If values are noisy, the first repeats, up to this number, need not wait for their turn.
SOON = 2
#: From this number of observations on, the best point may be measured again to find out whether values are noisy.
PROBED = 20
#: A point of a list that is given up after k failures is tried again, if no other is left, after `WAITING` times two to
#: the power of k trials. Not tuned.
WAITING = 2
#: While other objectives are noisy, fewer repeats than this are not enough to treat an objective as exact.
AT_ODDS = 3


class Unseen(NamedTuple):
    """The points (A,) of a grid that may be suggested by themselves, and are not among ``n`` observations."""

    n: int
    rows: Mask


def unseen_of(known: Unseen | None, history: History, *, space: Domain, new: Mask) -> Unseen:
    """The fold of `Unseen` for a grid of points that may be suggested at first if they are ``new`` (A,)."""
    known = Unseen(0, new) if known is None else known
    if known.n == history.n:
        return known
    rows = known.rows.copy()
    rows[space.grid_index(history.X[known.n :])] = False
    return Unseen(history.n, rows)


class Availability:
    """Which points the next suggestion may be.

    Args:
        space: the searched space.
        history, feasibility, noises: the data, the model of failures, and the noise of each objective.
        avoid_repeats: whether observed and pending points may not be suggested again; with ``"auto"``, observed points
            may if values are noisy.

    Attributes:
        grid: (A, d) all points of a space that can be enumerated, otherwise None.
        race: (A,) which of them an algorithm still considers, None for all. Points outside the race are never
            suggested. When all points in it are taken, they are repeated.
        forgiven: the identities of points that may be suggested though they have failed.
        fixed: (d,) coordinates that the present suggestion must keep, NaN for free ones; None for none.
    """

    def __init__(
        self,
        space: Domain,
        history: History,
        feasibility: Feasibility,
        noises: Sequence[Noise],
        avoid_repeats: bool | str,
    ) -> None:
        self.space = space
        self.avoid_repeats = avoid_repeats
        self._history = history
        self._feasibility = feasibility
        self._noises = noises
        self.forgiven: frozenset[bytes] = frozenset()
        self.fixed: Array | None = None
        self.grid: Array | None = space.grid() if space.cardinality <= ENUMERABLE or space.explicit else None
        self.race: Mask | None = None
        new = np.ones(0 if self.grid is None else len(self.grid), dtype=bool)
        self._permitted = space.permitted
        if self.grid is not None and self._permitted is None and space.allowed is not None:
            self._permitted = space.allowed.rows(self.grid)
        if isinstance(space, Arms):
            new &= space.first
        if self._permitted is not None and self.grid is not None:
            new &= self._permitted
        self._fold = partial(unseen_of, space=space, new=new)

    @property
    def _noise(self) -> Noise:
        """The noise of the objective whose models find most noise."""
        return max(self._noises, key=lambda noise: noise.claimed or 0.0)

    def restrict(self, race: Mask) -> None:
        """Restrict suggestions to the points ``race (A,)`` of the grid."""
        self.race = race

    @property
    def _unseen(self) -> Mask:
        """Which points (A,) of the grid are `Unseen`; not to be changed."""
        return self._history.fact(self._fold).rows

    # -- coordinates that are fixed ------------------------------------------------------------------------------

    def fixing(self, coordinates: Array | None) -> _Fixing:
        """A context in which suggestions keep ``coordinates (d,)``, NaN for free ones; None for none."""
        return _Fixing(self, coordinates)

    def fix(self, points: Array) -> Array:
        """``points (..., d)`` with the coordinates that the present suggestion must keep."""
        return points if self.fixed is None else np.where(np.isnan(self.fixed), points, self.fixed)

    def fix_corners(self, corners: Corners) -> Corners:
        """The part of a box in which the fixed coordinates have their values."""
        return Corners(self.fix(corners.lower), self.fix(corners.upper))

    def fix_points(self, points: Array, dormant: Array | None) -> Array:
        """``points (c, d)`` with the fixed coordinates applied, except those that become inactive (`Domain.wake`).

        They are moved to where linear constraints hold; points that cannot be are left out, if others can.
        """
        points = points if self.fixed is None else self.space.wake(self.fix(points), dormant).X
        if self.space.allowed is None or self.grid is not None:
            return points
        moved, fine = self.space.allowed.mended(points, self.held)
        return moved[fine] if fine.any() else points

    @property
    def held(self) -> Mask | None:
        """(d,) which coordinates the present suggestion must keep; None for none."""
        return None if self.fixed is None else ~np.isnan(self.fixed)

    # -- what is allowed -----------------------------------------------------------------------------------------

    def permits(self, x: Array) -> bool:
        """Whether ``x (d,)`` is allowed by what is known of the parameters together."""
        if self.grid is not None:
            return self._permitted is None or bool(self._permitted[self.space.grid_index(x[None])[0]])
        allowed = self.space.allowed
        return allowed is None or (allowed.holds(x) if self.fixed is None else allowed.holds_nearly(x))

    def pulled(self, x: Array, base: Array) -> Array:
        """``x (d,)``, or what is allowed and nearest to it on the line to an allowed ``base (d,)``."""
        assert self.space.allowed is not None
        return self.space.allowed.pulled(x, base, self.held)

    def settled(self, x: Array) -> Array:
        """``x (d,)`` if it is allowed, or a point near it that is; ``x`` itself, with a warning, if none is found.

        That may be so if values are fixed which allow no others.
        """
        allowed = self.space.allowed
        if self.permits(x):
            return x
        if self.grid is not None:
            assert self._permitted is not None
            rows = np.flatnonzero(self._with_fixed(self._permitted.copy()))
            if len(rows):
                nearest: Array = self.grid[rows[int(np.argmin(np.sum((self.grid[rows] - x) ** 2, axis=1)))]]
                return nearest
        elif allowed is not None and (found := allowed.near(x, self.fixed)) is not None:
            return found
        if held := self._names_held():
            reason = f"The values that are given for {held} allow no values of the other parameters that meet allowed="
        else:
            reason = "allowed= has a function that does not always say the same of the same parameters"
        warnings.warn(f"{reason}, or none was found: the suggestion does not meet it.", stacklevel=2)
        return x

    def _names_held(self) -> list[str]:
        held = self.held
        return [] if held is None else [name for name, one in zip(self.space.names, held, strict=True) if one]

    # -- one point -----------------------------------------------------------------------------------------------

    def taken(self, x: Array) -> bool:
        """Whether ``x (d,)`` should not be suggested: it is barred, or it is a repeat and repeats are avoided."""
        x = self.space.representable(x)
        return self._taken(x) or not self.permits(x)

    def _taken(self, x: Array) -> bool:
        """`taken`, whether it is allowed or not: to ask for that takes longer."""
        if self._given_up_on(x):
            return True
        history = self._history
        if not self.avoid_repeats or self._probes(x):
            return False
        if history.is_pending(x):
            if self.grid is None or (self.race is None and not self.repeating):
                return True
            free = self._free_in(self.race)
            return bool(free.any()) and not bool(free[self.space.grid_index(x[None])[0]])
        repeated = history.is_observed(x) and not self.repeating
        return repeated and (self.race is None or bool(self._free_in(self.race).any()))

    def barred(self, x: Array) -> bool:
        """Whether ``x (d,)`` is excluded, is not allowed, or has failed and never succeeded.

        A point that failed less often than is allowed comes again once no other point is left.
        """
        return self._given_up_on(x) or not self.permits(x)

    def _given_up_on(self, x: Array) -> bool:
        key = point_key(x)
        if key in self._history.excluded:
            return True
        if key in self.forgiven:
            return False
        return self._history.has_failed(x) and (self._given_up(key) or self.grid is None or bool(self._fresh().any()))

    def _given_up(self, key: bytes) -> bool:
        """Whether a point has failed too often; of a list of points, until it has waited as long as a category would.

        Otherwise a few failures by chance, early in a run, would leave only repeats of what succeeded.
        """
        history = self._history
        count = history.failed_counts[key]
        if count < self._feasibility.patience or key in history.first:
            return False
        if self.grid is None or self._feasibility.learn != "auto":
            return True
        return history.told - history.failed_last[key] <= WAITING * 2.0**count

    def _fresh(self) -> Mask:
        """The points (A,) of the grid, in the race if there is one, that nobody tries or has tried, and that may be
        suggested."""
        history = self._history
        rows = self._unseen.copy() if self.race is None else self._unseen & self.race
        tried = [*history.excluded.values(), *history.failed.values()]
        return self._not_pending(self._with_fixed(self._without(rows, tried)))

    # -- repeats -------------------------------------------------------------------------------------------------

    @property
    def repeating(self) -> bool:
        """Whether the present suggestion may be an observed point.

        With ``avoid_repeats="auto"`` and noisy values, one suggestion in `AGAIN` may; so may all until there are `SOON`
        repeats, or if no other point is left.
        """
        if self.avoid_repeats != "auto":
            return not self.avoid_repeats
        history = self._history
        noise = self._noise
        if not (history.all_final or noise.shown):
            return False
        if not noise.found:
            return self.grid is not None and noise.plausible(noise.claimed) and not self._anything_new()
        checks = noise.checks
        few = checks < SOON and checks + history.pending_again() < SOON
        in_turn = history.turn % AGAIN == AGAIN - 1 and checks >= SOON
        return self.race is not None or in_turn or few or not self._anything_new()

    def probe(self) -> Array | None:
        """One of the best points (d,), to be measured again if only a repeat can show noise; None if there is no need.

        This is so if a model finds noise and there are no repeats yet. It is also so with categorical parameters only:
        no point informs another, so without repeats the model cannot separate noise from signal.
        """
        history = self._history
        noise = self._noise
        if self.avoid_repeats != "auto" or self.fixed is not None or self.race is not None:
            return None
        if history.n < PROBED or history.best < 0:
            return None
        categories = bool(np.all(self.space.categorical)) and noise.unmeasured
        if not (any(one.unsettled for one in self._noises) or categories or self._at_odds()):
            return None
        several = history.front.rows if history.several else np.flatnonzero(history.y == history.y[history.best])
        best = (history.X[i] for i in several)
        asked = (x for x in best if not (self._unsure(x) or noise.asked_again(history.first[point_key(x)])))
        return next((x for x in asked if not (self.barred(x) or history.is_pending(x))), None)

    def _unsure(self, x: Array) -> bool:
        """Whether a coordinate of ``x (d,)`` is inactive without a condition: who evaluates it may give it a value."""
        return bool(np.any((x == INACTIVE) & self.space.optional))

    def _at_odds(self) -> bool:
        """Whether few repeats show no noise in an objective, but its model finds some, and other objectives are
        noisy."""
        doubtful = any(one.refuted and (one.claimed or 0.0) > NOISY for one in self._noises)
        return doubtful and any(one.found for one in self._noises) and self._noise.checks < AT_ODDS

    def _probes(self, x: Array) -> bool:
        """Whether ``x (d,)`` is the point that `probe` returns."""
        if not self._history.is_observed(x):
            return False
        wanted = self.probe()
        return wanted is not None and point_key(wanted) == point_key(x)

    # -- all points of a space that can be enumerated --------------------------------------------------------------

    def rows(self, *, anyhow: bool = False) -> ArmIndices:
        """Rows of the grid that may be suggested; with ``anyhow``, also as repeats."""
        return np.flatnonzero(self._free(anyhow=anyhow))

    def excluded(self) -> Mask | None:
        """Which points (A,) of the grid must not be suggested; None if all may be."""
        if self.race is not None:
            free = self._free_in(self.race)
            return ~free if free.any() else ~(self.race & self._free(anyhow=True))
        history = self._history
        anything = self.avoid_repeats or history.failed or history.excluded or self.fixed is not None
        anything = anything or self._permitted is not None
        return ~self._free() if anything else None

    @property
    def exhausted(self) -> bool:
        """Whether every point of a finite space was told or is pending, and repeats are avoided."""
        return self.grid is not None and not self.repeating and not self._free().any()

    @property
    def left(self) -> float:
        """Number of the points that may be suggested and are neither observed nor pending; infinite if not known."""
        return math.inf if self.grid is None else float(self._not_pending(self._open(self._unseen.copy())).sum())

    def _free(self, *, anyhow: bool = False) -> Mask:
        """Which points (A,) of the grid may be suggested; with ``anyhow``, also as repeats."""
        assert self.grid is not None
        repeating = anyhow or self.repeating
        free = self._open(np.ones(len(self.grid), dtype=bool) if repeating else self._unseen.copy())
        if self.avoid_repeats and not anyhow:
            alone = self._not_pending(free)
            free = alone if alone.any() or not repeating else free
        return free

    def _free_in(self, race: Mask | None) -> Mask:
        return self._free() if race is None else race & self._free()

    def _anything_new(self) -> bool:
        """Whether there is a point that may be suggested and is neither observed nor pending."""
        return self.left > 0.0

    def _not_pending(self, rows: Mask) -> Mask:
        """The ``rows (A,)`` of the grid without pending points."""
        return self._without(rows.copy(), self._history.pending.X)

    def _open(self, rows: Mask) -> Mask:
        """The ``rows (A,)`` of the grid that are not barred and have the fixed values; changed in place."""
        history = self._history
        failed = history.failed
        if self._permitted is not None:
            rows &= self._permitted
        out = [*history.excluded.values(), *(x for key, x in failed.items() if self._given_up(key))]
        rows = self._with_fixed(self._without(rows, out))
        return self._without(rows, list(failed.values())) if failed and self._fresh().any() else rows

    def _without(self, rows: Mask, points: Sequence[Array] | Array) -> Mask:
        """The ``rows (A,)`` of the grid without these ``points``; changed in place."""
        if len(points):
            rows[self.space.grid_index(np.asarray(points))] = False
        return rows

    def _with_fixed(self, rows: Mask) -> Mask:
        """The ``rows (A,)`` of the grid that have the fixed values; changed in place."""
        if self.fixed is not None:
            assert self.grid is not None
            rows &= np.all(self.fix(self.grid) == self.grid, axis=1)
        return rows


class _Fixing:
    """The block of `Availability.fixing`."""

    def __init__(self, available: Availability, coordinates: Array | None) -> None:
        self._available = available
        self._coordinates = coordinates

    def __enter__(self) -> None:
        self._available.fixed = self._coordinates

    def __exit__(self, *error: object) -> None:
        self._available.fixed = None
