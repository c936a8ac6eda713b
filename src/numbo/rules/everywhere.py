"""The global model: the best point of the whole space, or of the points that a rule restricts it to."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from numbo._types import Array, ObservationIndices
from numbo.models.view import ModelView
from numbo.rules.rule import Circumstance, is_turn, noise_found, several_objectives, space_enumerated, values_fixed
from numbo.run.situation import Situation, Suggestion, suggested
from numbo.search.gp_search import GPSearch
from numbo.search.local_search import LocalSearch

#: In spaces of fewer dimensions, or under noise, the global model looks everywhere. With lines in all spaces:
#: ``benchmarks/results/compare-lines-everywhere.md``; as they are: ``benchmarks/results/compare-population.md``.
LINES_FROM = 12
#: The global model is updated at the latest when it lacks more than this number of observations. In turns it is so far
#: sooner, but for processes that share trials and take strict turns themselves: three of four had models of ten points.
STALE = 32
#: With earlier studies, engines are silent up to so many observations (`benchmarks/results/compare-earlier.md`).
RECALLED = 12
#: With several objectives, one suggestion in `TURN_OF_END` looks for more of the front, from so many observations on.
#: Before, the front is short everywhere. What that is worth: ``benchmarks/results/compare-beyond.md``.
TURN_OF_END = 8
ENDS_FROM = 50


class Members(Protocol):
    """Chooses the observations that the global model is conditioned on."""

    @property
    def size(self) -> int | None:
        """The number of observations in a chosen subset; None as long as there is no limit."""
        return None

    def members(self, run: Situation, search: GPSearch) -> ObservationIndices: ...

    def record(self, n: int, seconds: float) -> None:
        """Learn how many ``seconds`` a suggestion has taken with ``n`` observations."""


@dataclass(frozen=True)
class GlobalModel:
    """A search over the whole space, and the observations that its model is conditioned on."""

    search: GPSearch
    chosen: Members

    def best(self, run: Situation, among: Callable[[], Array] | None = None, *, ends: bool = False) -> Array | None:
        """The best point (d,) by `GPSearch.next_point`."""
        started = time.perf_counter()
        x = self.search.next_point(run, self.chosen.members(run, self.search), among=among, ends=ends)
        self.chosen.record(run.history.n, time.perf_counter() - started)
        return x

    def beyond(self, run: Situation) -> Array | None:
        """A point (d,) along the front, between and beyond its pieces; None if none may be worth it."""
        started = time.perf_counter()
        x = self.search.beyond(run, self.chosen.members(run, self.search))
        self.chosen.record(run.history.n, time.perf_counter() - started)
        return x

    def scores(self, run: Situation, X: Array) -> Array:
        """The acquisition function (c,) at points ``X (c, d)``."""
        return self.search.scores(run, self.chosen.members(run, self.search), X)

    def view(self, run: Situation) -> ModelView:
        """The view of the model after an update; nothing may be pending in ``run``."""
        members = self.chosen.members(run, self.search)
        return self.search.view(run, members, self.chosen.size)

    def update(self, run: Situation) -> None:
        self.search.update(run, self.chosen.members(run, self.search))


@dataclass(frozen=True)
class Recalling:
    """The best point of the whole space, as long as trials are few: only of algorithms that learn from earlier studies.

    A local search would leave what they know unused.
    """

    model: GlobalModel
    silent_with: tuple[Circumstance, ...] = (values_fixed,)

    def propose(self, run: Situation) -> Suggestion | None:
        if run.history.n >= RECALLED:
            return None
        return suggested(self.model.best(run))


@dataclass(frozen=True)
class Rebuilt:
    """No suggestion: a global model that knows too few of the observations is updated before others ask it.

    That is the model of an optimizer that was rebuilt from its trials, or whose global turns went to other processes.

    It is updated from the ``least`` number of observations on, from which it would have been.
    """

    model: GlobalModel
    least: int
    silent_with: tuple[Circumstance, ...] = ()

    def propose(self, run: Situation) -> None:
        known = self.model.search.surrogate.updated_at
        n = run.history.n
        if n >= self.least and (known == 0 or n - known > STALE):
            self.model.update(run)


@dataclass(frozen=True)
class Lines:
    """In many dimensions, once a local search has narrowed down: what differs from the best point in one coordinate.

    A point that differs in every coordinate is rarely an improvement (coordinate LineBO, Kirschner et al. 2019).
    """

    model: GlobalModel
    local: LocalSearch
    silent_with: tuple[Circumstance, ...] = (noise_found, several_objectives, values_fixed)

    def propose(self, run: Situation) -> Suggestion | None:
        if run.space.d < LINES_FROM or not self.local.trust_region.narrow:
            return None
        return suggested(self.model.best(run, lambda: self.model.search.lines(run)))


@dataclass(frozen=True)
class Ends:
    """Of several objectives, in turns, where it is worth it: a piece of the front beyond a gap.

    What is better than all of the front in one objective lies outside of the box that the known front spans, so there
    is no hypervolume that it could add. First comes what lies along the front, where models are too certain that there
    is nothing, and then the best of one objective alone.
    """

    model: GlobalModel
    silent_with: tuple[Circumstance, ...] = (values_fixed, space_enumerated)

    def propose(self, run: Situation) -> Suggestion | None:
        history = run.history
        if not (history.several and history.any_feasible and is_turn(run.turn, TURN_OF_END)) or history.n < ENDS_FROM:
            return None
        x = self.model.beyond(run)
        return suggested(self.model.best(run, ends=True) if x is None else x)


@dataclass(frozen=True)
class Everywhere:
    """The best point of the whole space, or a space-filling one if none is left."""

    model: GlobalModel
    silent_with: tuple[Circumstance, ...] = ()

    def propose(self, run: Situation) -> Suggestion:
        x = self.model.best(run)
        return Suggestion(run.space_filling() if x is None else x)
