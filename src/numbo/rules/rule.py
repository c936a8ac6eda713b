"""A rule, the circumstances in which it is silent, and the list of rules of an algorithm.

A circumstance is a function of the run, asked when it matters: models that are fitted while one suggestion is made may
find noise, or find that there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from numbo.run.situation import Situation, Suggestion

Circumstance = Callable[[Situation], bool]


def values_fixed(run: Situation) -> bool:
    """Whether the suggestion must keep some given values."""
    return run.available.fixed is not None


def several_objectives(run: Situation) -> bool:
    return run.history.several


def noise_found(run: Situation) -> bool:
    return run.noise.found


def space_enumerated(run: Situation) -> bool:
    """Whether the points of the space are kept as a list."""
    return run.grid is not None


class Rule(Protocol):
    """One way to come to the next suggestion.

    Attributes:
        silent_with: circumstances, each of which silences it.
    """

    @property
    def silent_with(self) -> tuple[Circumstance, ...]: ...

    def propose(self, run: Situation) -> Suggestion | None:
        """The next point; None if it has none, or if it is not its turn."""


@dataclass(frozen=True)
class Loop:
    """The loop of a paper, which always has a next point."""

    turn: Callable[[Situation], Suggestion]
    silent_with: tuple[Circumstance, ...] = ()

    def propose(self, run: Situation) -> Suggestion:
        return self.turn(run)


def silent(rule: Rule, run: Situation) -> bool:
    """Whether a circumstance silences a rule."""
    return any(holds(run) for holds in rule.silent_with)


def first_of(rules: Iterable[Rule], run: Situation) -> Suggestion:
    """The suggestion of the first of the ``rules`` that has one; the last always has."""
    found = (rule.propose(run) for rule in rules if not silent(rule, run))
    for suggestion in found:
        if suggestion is not None:
            return suggestion
    raise LookupError("No rule has a suggestion; the last one must always have one.")


def is_turn(step: int, every: int) -> bool:
    """Whether a suggestion is among those of which there is one in ``every``, by the number of those before it."""
    return step % every == 0
