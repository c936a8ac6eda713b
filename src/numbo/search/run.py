"""One run, as every part of an optimizer sees it: what is searched, what is known, and what may be suggested."""

from __future__ import annotations

import copy
import logging
import math
from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from numbo._interrupts import raise_interrupt
from numbo._types import ArmIndices, Array, Mask
from numbo.kernels.acquisition import Success
from numbo.models import Feasibility
from numbo.models.noise import Noise
from numbo.search.candidates import DORMANT, BestWhereActive, Candidates
from numbo.search.times import AskTimes
from numbo.spaces import Domain
from numbo.trials import History, Pending, own, point_key

T = TypeVar("T")

logger = logging.getLogger("numbo")

#: Largest finite space whose points are kept as a list.
ENUMERABLE = 50_000
#: Length of the space-filling sequence from which random points are drawn.
ANYWHERE = 4096
#: Number of points of the sequence searched for a free one.
WINDOW = 64
#: Where values are noisy, one suggestion in `AGAIN` may measure a point again: more stay on a hill that is not the
#: highest.
AGAIN = 4
#: Where values are noisy, as many repeats come as soon as they are worth more than other points.
SOON = 2
#: Origin of a point that no local search proposed.
GLOBAL = -1


class Suggestion(NamedTuple):
    """A point ``x (d,)`` of the unit cube, and its origin: the part of the search that proposed it."""

    x: Array
    origin: int = GLOBAL


class Run:
    """The state that the parts of one optimizer share.

    Args:
        space: what is searched.
        avoid_repeats: whether points that are observed or pending may not be suggested again; with ``"auto"``, observed
            ones may be where values are noisy.
        learn_failures: what failures say (`numbo.models.Feasibility`).
        rng: source of all random draws.
        probed_from: number of observations from which the best point may be measured again to see if values are noisy.

    Attributes:
        history: what was told, and what is pending.
        feasibility: the model of failures.
        starts: candidates for searches of large spaces.
        grid: (A, d) all points of a space that can be enumerated, otherwise None.
        race: (A,) which of them an algorithm still considers, None for all. Once all of these are taken, repeating them
            is better than leaving the race.
        pinned: (d,) coordinates that the present suggestion must keep fixed, NaN where it is free; None for none.
        noise: whether values are noisy, and how much.
        times: how long asks take.
        search_rng: source of the draws of one search, see `fork_search_rng`.
        warned: whether a failure of a model was logged.
    """

    def __init__(
        self,
        space: Domain,
        avoid_repeats: bool | str,
        learn_failures: bool | str,
        rng: np.random.Generator,
        probed_from: int,
    ) -> None:
        self.space: Any = space
        self.avoid_repeats, self.rng = avoid_repeats, rng
        self.history = History(space.d)
        self._awake = BestWhereActive.of_none(space.d)
        continuous = getattr(space, "continuous", None)
        self.feasibility = Feasibility(space.categorical, learn_failures, space.conditional, continuous)
        self.times = AskTimes()
        self.search_rng = rng
        self.warned = False
        self.noise = Noise(self.history)
        self._probed_from = probed_from
        self.pinned: Array | None = None
        self.grid: Array | None = space.grid() if space.cardinality <= ENUMERABLE or space.explicit else None
        self.race: Mask | None = None
        self._unseen = np.ones(0 if self.grid is None else len(self.grid), dtype=bool)
        self.set_design(int(rng.integers(2**31)))

    def set_design(self, seed: int) -> None:
        """Use the space-filling sequences of ``seed``."""
        self.design_seed = seed
        self.starts = Candidates(self.space, seed)
        self._design: Array | None = None

    def adopt(self, history: History, design_seed: int) -> None:
        """Adopt another run's history and design."""
        self.history, self._awake = history, BestWhereActive.of_none(self.space.d)
        self.noise = self.noise.anew(history)
        self.set_design(design_seed)
        self.see(history.X)

    def quiet(self) -> Run:
        """The same run with nothing pending, for inspection: random draws and updates leave this one as it is."""
        twin = copy.copy(self)
        twin.rng, twin.feasibility = copy.deepcopy((self.rng, self.feasibility))
        twin.history, twin.times = self.history.copy(), AskTimes()
        twin.history.pending.clear()
        twin.noise = self.noise.of(twin.history)
        return twin

    @property
    def step(self) -> int:
        """Number of points that were told or are pending."""
        return self.history.told + len(self.history.pending)

    def fork_search_rng(self) -> None:
        """Give the next search its own random stream, so that its draws do not depend on how many the model used."""
        self.search_rng = np.random.default_rng(int(self.rng.integers(2**63)))

    def success(self) -> Success:
        """The probability that a point can be evaluated, for acquisition functions."""
        return self.feasibility.update(self.history)

    def hold(self, key: Hashable, params: Any, origin: int) -> None:
        """Make the user's point ``params`` pending under ``key``."""
        self.history.pending[key] = Pending.of(self.space.encode(params), params, origin)

    def attempt(self, action: Callable[[], T], otherwise: Callable[[], T]) -> T:
        """What ``action`` returns, or ``otherwise`` if the data make it fail, for which the reason is logged once."""
        try:
            return action()
        except Exception as error:
            raise_interrupt(error)
            if not self.warned:
                reason = "No model could be fitted; a space-filling point is suggested instead."
                logger.warning(reason, exc_info=True)
                self.warned = True
            return otherwise()

    # -- what may be suggested ---------------------------------------------------------------------------------

    def see(self, X: Array) -> None:
        """Take note that the points ``X (n, d)`` were observed."""
        if self.grid is not None and len(X):
            self._unseen[self.space.grid_index(X)] = False

    def taken(self, x: Array) -> bool:
        """Whether ``x (d,)`` should not be suggested: it is barred, or repeats are avoided and it would be one."""
        if self.barred(x):
            return True
        history = self.history
        if not self.avoid_repeats or self._probes(x):
            return False
        if history.is_pending(x):
            if self.grid is None or (self.race is None and not self.repeating):
                return True
            free = self._free_in(self.race)
            return bool(free.any()) and not bool(free[self.space.grid_index(x[None])[0]])
        repeated = history.is_observed(x) and not self.repeating
        return repeated and (self.race is None or bool(self._free_in(self.race).any()))

    @property
    def repeating(self) -> bool:
        """Whether the present suggestion may be a point that was observed.

        With ``avoid_repeats="auto"``, one in `AGAIN` may where values are noisy, and any until there are `SOON` repeats
        or if no other point is left.
        """
        if self.avoid_repeats != "auto":
            return not self.avoid_repeats
        if not self.noise.repeatable:
            return False
        if not self.noise.found:
            return self.grid is not None and self.noise.plausible(self.noise.claimed) and not self._anything_new()
        measured = self.noise.measured
        few = measured + self.history.pending_again() < SOON
        in_turn = self.step % AGAIN == AGAIN - 1 and measured >= SOON
        return self.race is not None or in_turn or few or not self._anything_new()

    def probe(self) -> Array | None:
        """The best point (d,), to be measured again, where only that tells noise; None if there is no need.

        It does where a model claims noise and repeats say nothing yet, and in spaces of categories alone: there no
        point says anything about others, and a model without repeats takes all noise for signal.
        """
        history, noise = self.history, self.noise
        if self.avoid_repeats != "auto" or self.pinned is not None or self.race is not None:
            return None
        if history.n < self._probed_from or history.best < 0:
            return None
        if not noise.unsettled and not (bool(np.all(self.space.categorical)) and noise.unmeasured):
            return None
        x = history.X[history.best]
        known = history.first[point_key(x)]
        if self.barred(x) or history.is_pending(x) or any(first == known for first, _ in history.again):
            return None
        return x

    def _probes(self, x: Array) -> bool:
        """Whether ``x (d,)`` is what `probe` wants."""
        if not self.history.is_observed(x):
            return False
        wanted = self.probe()
        return wanted is not None and point_key(wanted) == point_key(x)

    def barred(self, x: Array) -> bool:
        """Whether ``x (d,)`` is excluded, or failed as often as allowed and never succeeded."""
        key = point_key(x)
        return key in self.history.excluded or self._given_up(key)

    def _given_up(self, key: bytes) -> bool:
        history = self.history
        return history.failed_counts[key] >= self.feasibility.patience and key not in history.first

    def pin(self, points: Array) -> Array:
        """``points (..., d)`` with the coordinates that the present suggestion must keep fixed."""
        return points if self.pinned is None else np.where(np.isnan(self.pinned), points, self.pinned)

    def pin_points(self, points: Array, dormant: Array | None) -> Array:
        """Points ``(c, d)`` of the space with fixed coordinates, unless these are inactive then (`Space.wake`)."""
        if self.pinned is None or dormant is None:
            return self.pin(points)
        return self.space.wake(self.pin(points), dormant)[0]

    def dormant(self, rng: np.random.Generator) -> Array | None:
        """Values (m, d) for coordinates that become active: those of the best points where they were, and random ones.

        None where every coordinate is always active.
        """
        if not self.space.conditional.any():
            return None
        self._awake = self._awake.seeing(self.history.X, self.history.y)
        return self._awake.filled(self.space.rounded(rng.random((DORMANT, self.space.d))))

    def free_rows(self, *, anyhow: bool = False) -> ArmIndices:
        """Rows of the grid that may be suggested; ``anyhow``, also as repeats."""
        return np.flatnonzero(self._free(anyhow=anyhow))

    def _free(self, *, anyhow: bool = False) -> Mask:
        """Which points (A,) of the grid may be suggested; ``anyhow``, also as repeats."""
        assert self.grid is not None
        repeating = anyhow or self.repeating
        free = self._open(np.ones(len(self.grid), dtype=bool) if repeating else self._unseen.copy())
        if self.avoid_repeats and not anyhow:
            alone = self._not_pending(free)
            free = alone if alone.any() or not repeating else free
        return free

    def _not_pending(self, rows: Mask) -> Mask:
        """The ``rows (A,)`` of the grid without pending points."""
        if not self.history.pending:
            return rows
        alone = rows.copy()
        alone[self.space.grid_index(self.history.pending_points())] = False
        return alone

    def _open(self, rows: Mask) -> Mask:
        """The ``rows (A,)`` of the grid without those that are barred or lack the fixed values; changed in place."""
        assert self.grid is not None
        history = self.history
        out = [*history.excluded.values(), *(x for key, x in history.failed.items() if self._given_up(key))]
        if out:
            rows[self.space.grid_index(np.array(out))] = False
        if self.pinned is not None:
            rows &= np.all(self.pin(self.grid) == self.grid, axis=1)
        return rows

    def _anything_new(self) -> bool:
        """Whether there is a point that may be suggested and is neither observed nor pending."""
        if self.grid is None:
            return True
        return bool(self._not_pending(self._open(self._unseen.copy())).any())

    def _free_in(self, race: Mask | None) -> Mask:
        return self._free() if race is None else race & self._free()

    def excluded(self) -> Mask | None:
        """Which points (A,) of the grid must not be suggested; None if all may be."""
        if self.race is not None:
            free = self._free_in(self.race)
            return ~free if free.any() else ~(self.race & self._free(anyhow=True))
        history = self.history
        anything = self.avoid_repeats or history.failed or history.excluded or self.pinned is not None
        return ~self._free() if anything else None

    @property
    def exhausted(self) -> bool:
        """Whether every point of a finite space was told or is pending, and repeats are avoided."""
        return self.grid is not None and not self.repeating and not self._free().any()

    # -- space-filling points ----------------------------------------------------------------------------------

    def space_filling(self, start: int | None = None) -> Array:
        """The next point (d,) of a scrambled Sobol sequence, from position ``start`` on, that is not taken."""
        start = self.step if start is None else start
        if self._design is None or start + WINDOW > len(self._design):
            from scipy.stats import qmc

            size = 2 ** math.ceil(math.log2(start + 2 * WINDOW))
            self._design = qmc.Sobol(self.space.d, scramble=True, rng=self.design_seed).random(size)
        points = self.space.snap(self.pin(self._design[start : start + WINDOW]))
        free = next((x for x in points if not self.taken(x)), None)
        if free is None and self.grid is not None and len(rows := self.free_rows()):
            return self.grid[rows[start % len(rows)]]
        return points[0] if free is None else free

    def anywhere(self, seed: object) -> Array:
        """A random point (d,) of the sequence."""
        return self.space_filling(int(np.random.default_rng(seed).integers(ANYWHERE)))  # type: ignore[arg-type]

    # -- state -------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """What is known, and the random stream, as plain data."""
        history = self.history
        X, y = history.in_order()
        return {
            "space": self.space,
            "X": X,
            "y": y,
            "origins": history.origins.copy(),
            "excluded": list(history.excluded.values()),
            "params": [own(params) for params in history.params],
            "pending": [(key, own(p.params), p.origin) for key, p in history.pending.items()],
            "rng": self.rng.bit_generator.state,
            "design_seed": self.design_seed,
            "feasibility": self.feasibility.state_dict(),
            "partial": history.partial,
        }

    @staticmethod
    def history_of(state: Mapping[str, Any]) -> History:
        """What was told, from a `state_dict`."""
        history = History.of(state["X"], state["y"], state["origins"], state["excluded"], state["params"])
        history.partial = state.get("partial", False)
        return history

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take in the rest of a `state_dict`; the history is known already."""
        for key, params, origin in state["pending"]:
            self.hold(key, params, origin)
        self.rng = np.random.Generator(getattr(np.random, state["rng"]["bit_generator"])())
        self.rng.bit_generator.state = state["rng"]
        self.feasibility.restore(state["feasibility"], self.history)
