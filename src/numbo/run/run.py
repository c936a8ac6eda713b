"""One run, shared by all parts of an optimizer: the space, the data, the random streams, and the clock."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from numbo._interrupts import raise_interrupt
from numbo._plain import copied, plain, restore, state_of
from numbo._types import Array
from numbo.kernels.acquisition import CERTAIN, Success, Term, success_probabilities
from numbo.models import Feasibility
from numbo.models.costs import Costs
from numbo.models.noise import Claims, Noise
from numbo.models.trust import believed
from numbo.run.availability import Availability
from numbo.run.candidates import DORMANT, best_where_active
from numbo.run.design import BLOCK, Design
from numbo.run.resolution import Resolution
from numbo.run.times import AskTimes
from numbo.spaces import Domain, named_space
from numbo.spaces.allowed import NoAnswer
from numbo.trials import Curve, Ends, Goal, History, Pending, own
from numbo.trials.pending import PendingPoints

T = TypeVar("T")

logger = logging.getLogger("numbo")

#: Origin of a point that no local search proposed.
GLOBAL = -1
#: Maximum number of points of the design among which a scout that is unlikely to fail is searched.
SCOUTED = 64


class Suggestion(NamedTuple):
    """A point ``x (d,)`` of the unit cube, and its origin: the part of the search that proposed it."""

    x: Array
    origin: int = GLOBAL


class Run:
    """The state that the parts of one optimizer share.

    Args:
        space, goal: the searched space, and the objectives.
        avoid_repeats: as `Availability`.
        learn_failures: whether failures depend on the point (`numbo.models.Feasibility`).
        rng: source of all random draws.
        ends: as `History`.
        budget: what all trials may cost together; None for no limit.

    Attributes:
        named_space: the space, if its coordinates are parameters with names; None for arms.
        history: the trials told, and the pending points.
        feasibility: the model of failures.
        costs: the model of what trials cost.
        noises: for each objective, whether its values are noisy, and how much.
        available: which points may be suggested.
        design: space-filling points.
        resolution: the distance within which points most likely have the same value.
        times: the times of asks.
        warned: whether a failure of a model was logged.
    """

    def __init__(
        self,
        space: Domain,
        goal: Goal,
        avoid_repeats: bool | str,
        learn_failures: bool | str,
        rng: np.random.Generator,
        ends: Callable[[], Ends] | None = None,
        budget: float | None = None,
    ) -> None:
        self.space = space
        self.named_space = named_space(space)
        self.goal = goal
        self.rng = rng
        self.history = History(space.d, len(goal.directions), len(goal.constraints), ends)
        self.feasibility = Feasibility(space.categorical, learn_failures, space.conditional, space.continuous)
        self.costs = Costs(space.categorical, space.conditional, budget)
        self.times = AskTimes()
        self._search_rng: np.random.Generator | int = rng
        self.warned = False
        self.noises = tuple(Noise(self.history, output=j) for j in range(self.history.k))
        self.available = Availability(space, self.history, self.feasibility, self.noises, avoid_repeats)
        self.design = Design(self.available, int(rng.integers(2**31)))
        self.resolution = Resolution(self.history, self.noise)

    @property
    def grid(self) -> Array | None:
        """All points (A, d) of a space that can be enumerated, otherwise None."""
        return self.available.grid

    @property
    def step(self) -> int:
        """Number of points that were told or are pending."""
        return self.history.step

    @property
    def turn(self) -> int:
        """Number of suggestions so far, by which rules take turns (`History.turn`)."""
        return self.history.turn

    @property
    def noise(self) -> Noise:
        """The noise of the first objective."""
        return self.noises[0]

    def listen(self, *models: Sequence[Claims], asks: bool = False) -> None:
        """Set the ``models`` of each objective that judge its noise; ``asks`` as in `numbo.models.noise.Noise`."""
        for j, noise in enumerate(self.noises):
            noise.listen(tuple(one[j] for one in models), asks=asks)

    def go_on_from(self, other: Run) -> None:
        """Adopt the trials, the design, the random stream and the clock of another run."""
        told = other.history
        self.history.take(told.trials, told.excluded, told.pending)
        self.design = Design(self.available, other.design.seed)
        self.rng = other.rng
        self.times = other.times
        self.warned = other.warned

    def quiet(self) -> Run:
        """A copy with nothing pending, for inspection: its random draws and updates do not change this run."""
        history = self.history.copy()
        history.pending = PendingPoints(self.space.d)
        noises = tuple(noise.of(history, j) for j, noise in enumerate(self.noises))
        twin = copied(self)
        twin.times = AskTimes()
        for name in ("rng", "_search_rng", "feasibility", "costs"):
            setattr(twin, name, copy.deepcopy(getattr(self, name)))
        pairs = ((self.history, history), (self.noises, noises), (self.noise, noises[0]))
        given = {id(old): new for old, new in (*pairs, (self.feasibility, twin.feasibility))}
        for name in ("available", "design", "resolution"):
            old = getattr(self, name)
            given[id(old)] = copied(old, given=given)
        return copied(twin, (), given)

    def of_output(self, output: int) -> Run:
        """The same run as if there were no other ``output``, for inspection."""
        twin = copy.copy(self)
        twin.goal = Goal((self.goal.directions[output],), self.goal.constraints)
        twin.history = self.history.of_output(output)
        twin.noises = (self.noises[output].of(twin.history, 0),)
        return twin

    def space_filling(self, position: int | None = None) -> Array:
        """The point (d,) at a ``position`` of the design, by default at the number of points so far."""
        return self.design.point(self.step if position is None else position)

    def first_point(self, n_initial: int, position: int | None = None) -> Array:
        """A point (d,) of the initial design of ``n_initial`` points, which goes on while nothing has succeeded.

        The first of several is the usual one. A single one differs from seed to seed. Where something is believed of
        good values, the second is what would be the first without, and the others are drawn from beliefs only while
        trials bear these out.
        """
        start = self.step if position is None else position
        if start == 0 and n_initial > 1 and (usual := self.design.usual()) is not None:
            return usual
        hedged = start == 1 and n_initial > 2 and self.space.beliefs is not None
        if hedged and (middle := self.design.usual(known=False)) is not None:
            return middle
        begun = -(-n_initial // BLOCK) * BLOCK
        position = start if start < begun else self.design.shuffled(start)
        return self.design.point(position, believed=self.prior() is not None)

    def scout(self, position: int | None = None) -> Array:
        """The next point (d,) of the design that is unlikely to fail; otherwise as `space_filling`."""
        first = self.step if position is None else position
        points = (self.space_filling(first + k) for k in range(SCOUTED))
        return next((x for x in points if self.may_succeed(x)), self.space_filling(first))

    def may_succeed(self, x: Array) -> bool:
        """Whether a point ``x (d,)`` is not too likely to fail, whatever its improvement, or to exceed the budget."""
        success = self.success()
        succeeds = success is CERTAIN or bool(success_probabilities(success, x[None])[0] >= success.threshold)
        return succeeds and bool(self.costs.fit(self.history, x[None])[0])

    def fork_search_rng(self) -> None:
        """Give the next search its own random stream, so that it does not depend on the number of draws by the
        model."""
        self._search_rng = int(self.rng.integers(2**63))

    @property
    def search_rng(self) -> np.random.Generator:
        """Source of the draws of one search, see `fork_search_rng`."""
        if isinstance(self._search_rng, int):  # a seed: most searches of arms draw nothing
            self._search_rng = np.random.default_rng(self._search_rng)
        return self._search_rng

    @search_rng.setter
    def search_rng(self, rng: np.random.Generator) -> None:
        self._search_rng = rng

    def success(self) -> Success:
        """The probability that a point can be evaluated, for acquisition functions."""
        return self.feasibility.update(self.history)

    def cost_terms(self) -> tuple[Term, ...]:
        """What costs add to the utility of a suggestion; nothing where they are not known, or are all equal."""
        return self.costs.terms(self.history)

    def candidates(self, elites: Array, lengthscales: Array, rng: np.random.Generator) -> list[Array]:
        """Points (c, d) around the ``elites (e, d)`` and anywhere, in groups, moved to where known constraints hold.

        As for a suggestion that keeps no given values (`numbo.run.candidates.Candidates.groups`).
        """
        groups = self.design.candidates.groups(elites, lengthscales, rng)
        return [self.available.fix_points(group, None) for group in groups]

    def prior(self) -> Array | None:
        """What is believed of good values, as the utility of a suggestion takes it into account; None for nothing.

        The functions (d, g) of each coordinate, at even places, whose sum is added.
        """
        beliefs = self.space.beliefs
        return None if beliefs is None else believed(beliefs, self.history)

    def hold(self, key: Hashable, params: Any, origin: int) -> None:
        """Make the user's point ``params`` pending under ``key``; earlier reports of its trial are kept."""
        point = self.pending_point(params, origin)
        before = self.history.pending.get(key)
        if before is not None and before.identity == point.identity:
            point = point.reporting(before.curve)
        self.history.pending[key] = point

    def pending_point(self, params: Any, origin: int, curve: Curve | None = None, cost: float | None = None) -> Pending:
        """The user's point ``params`` as a pending point."""
        return Pending.of(self.space.encode(params), params, origin, curve, cost)

    def curve(self, reports: Mapping[Any, Any] | None) -> Curve | None:
        """The curve of a trial's reports by step; None if curves are not used.

        Raises:
            ValueError: if ``reports`` are no mapping, or a step is no finite number.
        """
        curve = self.goal.curve(reports)
        return None if self.history.ends is None else curve

    def attempt(self, action: Callable[[], T], otherwise: Callable[[], T]) -> T:
        """The result of ``action``, or of ``otherwise`` if it fails; the reason is logged once.

        Raises:
            NoAnswer: if a user's function fails, of which parameters are allowed.
        """
        try:
            return action()
        except NoAnswer:
            raise
        except Exception as error:
            raise_interrupt(error)
            if not self.warned:
                reason = "No model could be fitted; a space-filling point is suggested instead."
                logger.warning(reason, exc_info=True)
                self.warned = True
            return otherwise()

    def dormant(self, rng: np.random.Generator) -> Array | None:
        """Values (m, d) for inactive coordinates, in case they become active: from the best points, and random ones.

        None if every coordinate is always active.
        """
        space = self.named_space
        if space is None or not space.conditional.any():
            return None
        return self.history.fact(best_where_active).filled(space.rounded(rng.random((DORMANT, space.d))))

    # -- state -------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """The data and the random stream, as plain data."""
        pending = self.history.pending.items()
        return state_of(self, ("feasibility", "costs")) | {
            "space": self.space,
            "history": self.history.state_dict(),
            "pending": [(key, own(p.params), p.origin, plain(p.curve)) for key, p in pending],
            "rng": self.rng.bit_generator.state,
            "design_seed": self.design.seed,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a `state_dict`."""
        self.history.restore(state["history"])
        self.design = Design(self.available, state["design_seed"])
        for key, params, origin, reported in state["pending"]:
            curve = None if reported is None else Curve(*reported)
            self.history.pending[key] = self.pending_point(params, origin, curve)
        self.rng = np.random.Generator(getattr(np.random, state["rng"]["bit_generator"])())
        self.rng.bit_generator.state = state["rng"]
        restore(self, ("feasibility", "costs"), state, self.history)
