"""What a suggestion follows from, handed down to all parts: the space, the data, the random stream, the clock."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from numbo._interrupts import raise_interrupt
from numbo._plain import plain, state_of
from numbo._types import Array, Mask
from numbo.kernels.acquisition import CERTAIN, Success, Term, success_probabilities
from numbo.models import Feasibility
from numbo.models.costs import Costs
from numbo.models.noise import Claimed, Claims, Noise
from numbo.models.trust import believed
from numbo.run.availability import Availability, Places
from numbo.run.candidates import DORMANT, Candidates, best_where_active
from numbo.run.design import BLOCK, Design
from numbo.run.times import AskTimes
from numbo.spaces import Domain, Space, named_space
from numbo.spaces.allowed import NoAnswer
from numbo.trials import Curve, Ends, Goal, History, Pending, own
from numbo.trials.pending import PendingPoints

T = TypeVar("T")

logger = logging.getLogger("numbo")

#: The warning that a space-filling point has taken the place of a model's.
FALLBACK = "fallback"
#: Origin of a point that no local search proposed.
GLOBAL = -1
#: Maximum number of points of the design among which a scout that is unlikely to fail is searched.
SCOUTED = 64


class Suggestion(NamedTuple):
    """A point ``x (d,)`` of the unit cube, and its origin: the part of the search that proposed it."""

    x: Array
    origin: int = GLOBAL


def suggested(x: Array | None) -> Suggestion | None:
    """The suggestion of a point ``x (d,)`` that is not of a local search; None for None."""
    return None if x is None else Suggestion(x)


@dataclass(frozen=True)
class Situation:
    """What a suggestion follows from. The history grows and models are fitted, but no part is replaced by another.

    Another question is another value: with values that are fixed (``replace(run, fixed=...)``), or with nothing pending
    (`quiet`).

    Attributes:
        space, goal: the searched space, and the objectives.
        avoid_repeats: as `Availability`.
        history: the trials told, and the pending points.
        feasibility: the model of failures.
        costs: the model of what trials cost.
        rng: source of all random draws.
        places: the points of the space, if they can be enumerated.
        candidates: space-filling points, and starting points for searches of large spaces.
        times: the times of asks.
        claims: for each objective, the models that judge its noise.
        asks: as `Noise`.
        fixed: (d,) coordinates that the suggestion must keep, NaN for free ones; None for none.
        race: (A,) as `Availability`.
        forgiven: the identities of points that may be suggested though they have failed.
    """

    space: Domain
    goal: Goal
    avoid_repeats: bool | str
    history: History
    feasibility: Feasibility
    costs: Costs
    rng: np.random.Generator
    places: Places
    candidates: Candidates
    times: AskTimes
    claims: tuple[tuple[Claims, ...], ...]
    asks: bool = False
    fixed: Array | None = None
    race: Mask | None = None
    forgiven: set[bytes] = field(default_factory=set)

    @classmethod
    def begun(
        cls,
        space: Domain,
        goal: Goal,
        avoid_repeats: bool | str,
        learn_failures: bool | str,
        rng: np.random.Generator,
        ends: Callable[[], Ends] | None = None,
        budget: float | None = None,
    ) -> Situation:
        """The start of a run, without trials: ``learn_failures`` is for `Feasibility`, ``ends`` for `History`."""
        k = len(goal.directions)
        return cls(
            space,
            goal,
            avoid_repeats,
            History(space.d, k, len(goal.constraints), ends),
            Feasibility(space.categorical, learn_failures, space.conditional, space.continuous),
            Costs(space.categorical, space.conditional, budget),
            rng,
            Places.of(space),
            Candidates(space, int(rng.integers(2**31))),
            AskTimes(),
            ((),) * k,
        )

    @cached_property
    def named_space(self) -> Space | None:
        """The space, if its coordinates are parameters with names; None for arms."""
        return named_space(self.space)

    @cached_property
    def noises(self) -> tuple[Noise, ...]:
        """For each objective, whether its values are noisy, and how much."""
        return tuple(Noise(self.history, claims, self.asks, j) for j, claims in enumerate(self.claims))

    @cached_property
    def available(self) -> Availability:
        """Which points may be suggested."""
        known = self.places, self.history, self.feasibility, self.noises
        return Availability(*known, self.avoid_repeats, self.fixed, self.race, self.forgiven)

    @property
    def design(self) -> Design:
        """Space-filling points that may be suggested."""
        return Design(self.available, self.candidates)

    @property
    def grid(self) -> Array | None:
        """All points (A, d) of a space that can be enumerated, otherwise None."""
        return self.places.grid

    @property
    def noise(self) -> Noise:
        """The noise of the first objective."""
        return self.noises[0]

    @property
    def step(self) -> int:
        """Number of points that were told or are pending."""
        return self.history.told + len(self.history.pending)

    @property
    def turn(self) -> int:
        """Number of suggestions so far, by which rules take turns (`History.turn`)."""
        return self.history.turn

    @property
    def best(self) -> tuple[Any, float] | None:
        """The best point and its value, None before the first success that meets all constraints."""
        history = self.history
        if history.several:
            raise ValueError(f"There is no best point of {history.k} objectives: see front().")
        i = history.best
        return (history.params(i), self.goal.value(float(history.y[i]))) if history.any_feasible else None

    def following(self, other: Situation) -> Situation:
        """This run with the trials, the design, the random stream and the clock of another one."""
        told = other.history
        self.history.take(told.trials, told.excluded, told.pending)
        return replace(self, rng=other.rng, candidates=other.candidates, times=other.times)

    def keeping(self, fixed: Array | None) -> Situation:
        """The run for a suggestion that keeps ``fixed (d,)`` values, NaN for free ones; None for none."""
        return self if fixed is None else replace(self, fixed=fixed)

    def quiet(self) -> Situation:
        """The same with nothing pending, for inspection: draws and updates do not change this one, nor later claims."""
        history = self.history.copy()
        history.pending = PendingPoints(self.space.d)
        return replace(
            self,
            history=history,
            times=AskTimes(),
            claims=tuple((Claimed(noise.claimed),) for noise in self.noises),
            forgiven=set(self.forgiven),
            **{name: copy.deepcopy(getattr(self, name)) for name in ("rng", "feasibility", "costs")},
        )

    def of_output(self, output: int) -> Situation:
        """The same run as if there were no other ``output``, for inspection."""
        goal = Goal((self.goal.directions[output],), self.goal.constraints)
        return replace(self, goal=goal, history=self.history.of_output(output), claims=(self.claims[output],))

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

    def success(self) -> Success:
        """The probability that a point can be evaluated, for acquisition functions."""
        return self.feasibility.update(self.history)

    def cost_terms(self) -> tuple[Term, ...]:
        """What costs add to the utility of a suggestion; nothing where they are not known, or are all equal."""
        return self.costs.terms(self.history)

    def around(self, elites: Array, lengthscales: Array, rng: np.random.Generator) -> list[Array]:
        """Points (c, d) around the ``elites (e, d)`` and anywhere, in groups, moved to where known constraints hold.

        As for a suggestion that keeps no given values (`numbo.run.candidates.Candidates.groups`).
        """
        groups = self.candidates.groups(elites, lengthscales, rng)
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
            "design_seed": self.candidates.seed,
        }

    def restored(self, state: Mapping[str, Any]) -> Situation:
        """This run with a `state_dict`."""
        self.history.restore(state["history"])
        for key, params, origin, reported in state["pending"]:
            curve = None if reported is None else Curve(*reported)
            self.history.pending[key] = self.pending_point(params, origin, curve)
        rng = np.random.Generator(getattr(np.random, state["rng"]["bit_generator"])())
        rng.bit_generator.state = state["rng"]
        self.feasibility.restore(state["feasibility"], self.history)
        self.costs.restore(state["costs"], self.history)
        return replace(self, rng=rng, candidates=Candidates(self.space, state["design_seed"]))


def attempt(action: Callable[[], T], otherwise: Callable[[], T], warned_of: set[str]) -> T:
    """The result of ``action``, or of ``otherwise`` if it fails; the reason is logged if `FALLBACK` is no warning yet.

    Raises:
        NoAnswer: if a user's function fails, of which parameters are allowed.
    """
    try:
        return action()
    except NoAnswer:
        raise
    except Exception as error:
        raise_interrupt(error)
        if FALLBACK not in warned_of:
            reason = "No model could be fitted; a space-filling point is suggested instead."
            logger.warning(reason, exc_info=True)
            warned_of.add(FALLBACK)
        return otherwise()
