"""What the next trial is expected to cost, and what is left of a budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from numbo.inspection.words import rounded
from numbo.models.view import ModelView
from numbo.run.candidates import elite_rows
from numbo.run.situation import Situation
from numbo.trials import scores_of


@dataclass(frozen=True)
class Spending:
    """What is spent next, and what is left.

    Attributes:
        cost: what the next trial is expected to cost, by the search over the whole space; None unless costs are known
            that differ.
        budget, left: what all trials may cost, and what is left of that, if pending trials cost what is expected; None
            without a budget.
    """

    cost: float | None = None
    budget: float | None = None
    left: float | None = None

    @classmethod
    def of(cls, run: Situation, view: ModelView) -> Spending:
        """The spending of a ``run``, whose model is that of the ``view``."""
        budget = run.costs.budget
        return cls(_next_cost(run, view), budget, None if budget is None else run.costs.left(run.history))

    def lines(self) -> list[tuple[str, str]]:
        """Each a label and words."""
        out = []
        if self.cost is not None:
            out.append(("cost", f"{rounded(self.cost, 3)} expected for the next trial"))
        if self.budget is not None and self.left is not None:
            words = f"{rounded(self.left, 3)} of {self.budget:.6g} left"
            out.append(("budget", words if self.left > 0.0 else f"nothing left of {self.budget:.6g}"))
        return out


def _next_cost(run: Situation, view: ModelView) -> float | None:
    """The expected cost of the candidate that the acquisition function rates best; None where costs do not count."""
    history = run.history
    if not run.costs.counts(history):
        return None
    points = run.grid
    if points is None:
        elites = history.X[elite_rows(history.X, scores_of(history))]
        groups = run.candidates.groups(elites, view.lengthscales, np.random.default_rng(0))
        points = np.concatenate(groups)
    best = points[np.argmax(view.acquire(points))]
    return float(run.costs.expected(history, best[None])[0])
