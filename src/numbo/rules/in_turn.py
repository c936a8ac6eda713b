"""Searches that take turns with the global model."""

from __future__ import annotations

from dataclasses import dataclass

from numbo.rules.rule import Circumstance, is_turn
from numbo.run.situation import Situation, Suggestion
from numbo.search.engine import Engine


@dataclass(frozen=True)
class InTurn:
    """Engines, one after the other; an eager one comes first, even if it is not their turn.

    Args:
        turn: one suggestion in this many is left to the rules that follow.
    """

    engines: tuple[Engine, ...]
    turn: int
    silent_with: tuple[Circumstance, ...] = ()

    def propose(self, run: Situation) -> Suggestion | None:
        first = of_engines(run.turn, self.turn) % len(self.engines)
        in_turn = self.engines[first:] + self.engines[:first]
        eager = [engine for engine in in_turn if engine.eager(run)]
        others = [] if is_turn(run.turn, self.turn) else [engine for engine in in_turn if engine not in eager]
        found = (engine.propose(run) for engine in eager + others)
        return next((suggestion for suggestion in found if suggestion is not None), None)


def of_engines(step: int, turn: int) -> int:
    """The number of the engines' suggestions, of which one in ``turn`` is missing, before a ``step``."""
    return step - step // turn
