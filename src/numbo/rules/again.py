"""A category that has only failed, or a branch that was never tried, when it is due."""

from __future__ import annotations

from numbo.rules.everywhere import GlobalModel
from numbo.rules.rule import Circumstance, space_enumerated, values_fixed
from numbo.run.situation import Situation, Suggestion, suggested
from numbo.search.second_chance import SecondChance
from numbo.spaces import Space


class Again:
    """The category that is due by `SecondChance`, with other values by the global model."""

    silent_with: tuple[Circumstance, ...] = (values_fixed, space_enumerated)

    def __init__(self, model: GlobalModel, space: Space) -> None:
        self._model = model
        self._chance = SecondChance(space)

    def propose(self, run: Situation) -> Suggestion | None:
        points = self._chance.candidates(run)
        return None if points is None else suggested(self._model.best(run, points))
