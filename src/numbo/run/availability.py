"""Which points may be suggested: not barred, no repeats while these are avoided, and with the fixed coordinates.

Availability does not change the data it reads. Algorithms and adapters ask it about a point (`taken`), about all points
of a space that can be enumerated (`rows`, `excluded`), or whether any point is left (`exhausted`).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

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


def unseen_of(known: tuple[int, Mask] | None, history: History, *, space: Domain, new: Mask) -> tuple[int, Mask]:
    """The fold of the number of observations, and of those of the ``new (A,)`` points of a grid that have none."""
    n, unseen = (0, new) if known is None else known
    if n < history.n:
        unseen = unseen.copy()
        unseen[space.grid_index(history.X[n:])] = False
    return history.n, unseen


@dataclass(frozen=True)
class Places:
    """The points of a space, if they can be enumerated.

    Attributes:
        space: the searched space.
        grid: (A, d) all points of a space that can be enumerated, otherwise None.
        permitted: (A,) which of them are allowed by what is known of the parameters together; None for all.
        fold: the fold `unseen_of` the points of the grid that may be suggested by themselves.
    """

    space: Domain
    grid: Array | None
    permitted: Mask | None
    fold: Callable[..., tuple[int, Mask]]

    @classmethod
    def of(cls, space: Domain) -> Places:
        grid = space.grid() if space.cardinality <= ENUMERABLE or space.explicit else None
        permitted = space.permitted
        if grid is not None and permitted is None and space.allowed is not None:
            permitted = space.allowed.rows(grid)
        new = np.ones(0 if grid is None else len(grid), dtype=bool)
        if isinstance(space, Arms):
            new &= space.first
        if permitted is not None and grid is not None:
            new &= permitted
        return cls(space, grid, permitted, partial(unseen_of, space=space, new=new))

    def without(self, rows: Mask, points: Sequence[Array] | Array) -> Mask:
        """The ``rows (A,)`` of the grid without these ``points``; changed in place."""
        if len(points):
            rows[self.space.grid_index(np.asarray(points))] = False
        return rows


@dataclass(frozen=True)
class Availability:
    """Which points the next suggestion may be.

    Args:
        places: the points of the searched space.
        history, feasibility, noises: the data, the model of failures, and the noise of each objective.
        avoid_repeats: whether observed and pending points may not be suggested again; with ``"auto"``, observed points
            may if values are noisy.
        fixed: (d,) coordinates that the suggestion must keep, NaN for free ones; None for none.
        race: (A,) which points of the grid an algorithm still considers, None for all. Points outside the race are
            never suggested. When all points in it are taken, they are repeated.
        forgiven: the identities of points that may be suggested though they have failed.
    """

    places: Places
    history: History
    feasibility: Feasibility
    noises: Sequence[Noise]
    avoid_repeats: bool | str
    fixed: Array | None = None
    race: Mask | None = None
    forgiven: Collection[bytes] = ()

    @property
    def space(self) -> Domain:
        """The searched space."""
        return self.places.space

    @property
    def grid(self) -> Array | None:
        """All points (A, d) of a space that can be enumerated, otherwise None."""
        return self.places.grid

    @property
    def _noise(self) -> Noise:
        """The noise of the objective whose models find most noise."""
        return max(self.noises, key=lambda noise: noise.claimed or 0.0)

    @property
    def _unseen(self) -> Mask:
        """Which points (A,) of the grid may be suggested by themselves and have no observation; not to be changed."""
        return self.history.fact(self.places.fold)[1]

    # -- coordinates that are fixed ------------------------------------------------------------------------------

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
            return self.places.permitted is None or bool(self.places.permitted[self.space.grid_index(x[None])[0]])
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
            assert self.places.permitted is not None
            rows = np.flatnonzero(self._with_fixed(self.places.permitted.copy()))
            if len(rows):
                nearest: Array = self.grid[rows[int(np.argmin(np.sum((self.grid[rows] - x) ** 2, axis=1)))]]
                return nearest
        elif allowed is not None and (found := allowed.near(x, self.fixed)) is not None:
            return found
        if self.held is not None:
            names = [name for name, one in zip(self.space.names, self.held, strict=True) if one]
            reason = f"The values that are given for {names} allow no values of the other parameters that meet allowed="
        else:
            reason = "allowed= has a function that does not always say the same of the same parameters"
        warnings.warn(f"{reason}, or none was found: the suggestion does not meet it.", stacklevel=2)
        return x

    # -- one point -----------------------------------------------------------------------------------------------

    def taken(self, x: Array) -> bool:
        """Whether ``x (d,)`` should not be suggested: it is barred, or it is a repeat and repeats are avoided."""
        x = self.space.representable(x)
        return self._taken(x, point_key(x)) or not self.permits(x)

    def _taken(self, x: Array, key: bytes) -> bool:
        """`taken`, whether it is allowed or not: to ask for that takes longer."""
        if self._given_up_on(key):
            return True
        if not self.avoid_repeats:
            return False
        observed = key in self.history.visits.first
        if observed and (wanted := self.probe()) is not None and point_key(wanted) == key:
            return False
        if self.history.pending.key_of(key) is not None:
            if self.grid is None or (self.race is None and not self.repeating):
                return True
            free = self._free_in(self.race)
            return bool(free.any()) and not bool(free[self.space.grid_index(x[None])[0]])
        return observed and not self.repeating and (self.race is None or bool(self._free_in(self.race).any()))

    def barred(self, x: Array) -> bool:
        """Whether ``x (d,)`` is excluded, is not allowed, or has failed and never succeeded.

        A point that failed less often than is allowed comes again once no other point is left.
        """
        return self._given_up_on(point_key(x)) or not self.permits(x)

    def _given_up_on(self, key: bytes) -> bool:
        if key in self.history.excluded:
            return True
        if key in self.forgiven or not self.history.visits.only_failed(key):
            return False
        return self._given_up(key) or self.grid is None or bool(self._fresh().any())

    def _given_up(self, key: bytes) -> bool:
        """Whether a point that only failed did too often; in a list, until it has waited as long as a category would.

        Otherwise a few failures by chance, early in a run, would leave only repeats of what succeeded.
        """
        failures = self.history.visits.failures[key]
        if len(failures) < self.feasibility.patience:
            return False
        if self.grid is None or self.feasibility.learn != "auto":
            return True
        return self.history.told - failures[-1] <= WAITING * 2.0 ** len(failures)

    def _fresh(self) -> Mask:
        """The points (A,) of the grid, in the race if there is one, that nobody tries or has tried, and that may be
        suggested."""
        rows = self._unseen.copy() if self.race is None else self._unseen & self.race
        return self._not_pending(self._without(rows, list(self.history.visits.failed.values())))

    # -- repeats -------------------------------------------------------------------------------------------------

    @property
    def repeating(self) -> bool:
        """Whether the present suggestion may be an observed point.

        With ``avoid_repeats="auto"`` and noisy values, one suggestion in `AGAIN` may; so may all until there are `SOON`
        repeats, or if no other point is left.
        """
        if self.avoid_repeats != "auto":
            return not self.avoid_repeats
        history = self.history
        noise = self._noise
        if not (history.final.all() or noise.shown):
            return False
        if not noise.found:
            return self.grid is not None and noise.plausible(noise.claimed) and self.left == 0.0
        few = noise.checks + history.visits.observed(history.pending.values()) < SOON
        in_turn = history.turn % AGAIN == AGAIN - 1 and noise.checks >= SOON
        return self.race is not None or in_turn or few or self.left == 0.0

    def probe(self) -> Array | None:
        """One of the best points (d,), to be measured again if only a repeat can show noise; None if there is no need.

        This is so if a model finds noise and there are no repeats yet. It is also so with categorical parameters only:
        no point informs another, so without repeats the model cannot separate noise from signal.
        """
        history = self.history
        noise = self._noise
        if self.avoid_repeats != "auto" or self.fixed is not None or self.race is not None:
            return None
        if history.n < PROBED:
            return None
        unmeasured = not noise.checks and not history.visits.observed(history.pending.values())
        categories = bool(np.all(self.space.categorical)) and unmeasured
        if not (any(one.unsettled for one in self.noises) or categories or self._at_odds()):
            return None
        several = history.front.rows if history.several else np.flatnonzero(history.y == history.y[history.best])
        best = (history.X[i] for i in several)
        # who evaluates a coordinate that is inactive without a condition may give it a value
        sure = (x for x in best if not np.any((x == INACTIVE) & self.space.optional))
        asked = (x for x in sure if history.visits.first[point_key(x)] not in noise.repeats.asked)
        return next((x for x in asked if not self.barred(x) and history.key_of(x) is None), None)

    def _at_odds(self) -> bool:
        """Whether few repeats show no noise in an objective, but its model finds some, and other objectives are
        noisy."""
        doubtful = any(one.refuted and (one.claimed or 0.0) > NOISY for one in self.noises)
        return doubtful and any(one.found for one in self.noises) and self._noise.checks < AT_ODDS

    # -- all points of a space that can be enumerated --------------------------------------------------------------

    def rows(self, *, anyhow: bool = False) -> ArmIndices:
        """Rows of the grid that may be suggested; with ``anyhow``, also as repeats."""
        return np.flatnonzero(self._free(anyhow=anyhow))

    def excluded(self) -> Mask | None:
        """Which points (A,) of the grid must not be suggested; None if all may be."""
        if self.race is not None:
            free = self._free_in(self.race)
            return ~free if free.any() else ~(self.race & self._free(anyhow=True))
        history = self.history
        anything = self.avoid_repeats or history.visits.failed or history.excluded or self.fixed is not None
        anything = anything or self.places.permitted is not None
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

    def _not_pending(self, rows: Mask) -> Mask:
        """The ``rows (A,)`` of the grid without pending points."""
        return self.places.without(rows.copy(), self.history.pending.X)

    def _open(self, rows: Mask) -> Mask:
        """The ``rows (A,)`` of the grid that are not barred and have the fixed values; changed in place."""
        failed = self.history.visits.failed
        if self.places.permitted is not None:
            rows &= self.places.permitted
        everywhere = bool(failed) and bool(self._fresh().any())
        return self._without(rows, [t for key, t in failed.items() if everywhere or self._given_up(key)])

    def _without(self, rows: Mask, failures: list[int]) -> Mask:
        """The ``rows (A,)`` of the grid that have the fixed values, without excluded points and these ``failures``.

        These are positions among all trials. The rows are changed in place.
        """
        rows = self.places.without(rows, [*self.history.excluded.values(), *self.history.trials.X[failures]])
        return self._with_fixed(rows)

    def _with_fixed(self, rows: Mask) -> Mask:
        """The ``rows (A,)`` of the grid that have the fixed values; changed in place."""
        if self.fixed is not None:
            assert self.grid is not None
            rows &= np.all(self.fix(self.grid) == self.grid, axis=1)
        return rows
