"""The models of all outputs of a trial: its objectives and its constraints."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial

import numpy as np

from numbo._plain import Kept
from numbo._rows import smallest
from numbo._types import Array, ObservationIndices
from numbo.kernels.acquisition import Posterior
from numbo.kernels.covariance import Covariance, squared_distances
from numbo.models.constraints import Constraints
from numbo.models.surrogate import Surrogate
from numbo.trials import Data, Goal, History
from numbo.trials.ends import expected_pending

#: Of the pending points that have reported something, so many count as observations, with the values that are expected
#: at their ends; of all others, so many are considered. Not tuned.
EXPECTED = 64
CONSIDERED = 256


class Outputs(Kept):
    """A surrogate of each objective and of each constraint, on the same observations.

    ``make`` and ``make_constraint`` make those of an objective, and of a constraint.

    Attributes:
        objectives: a surrogate of each objective.
        constraints: the models of the constraints.
    """

    _kept = ("objectives", "constraints")

    def __init__(self, make: Callable[..., Surrogate], make_constraint: Callable[..., Surrogate], goal: Goal) -> None:
        self.objectives = [make(of=partial(History.data, output=j)) for j in range(len(goal.directions))]
        self.constraints = Constraints(make_constraint, len(goal.constraints))

    @classmethod
    def of_one(cls, surrogate: Surrogate) -> Outputs:
        """The models of a single objective without constraints."""
        return cls(lambda of: surrogate, lambda of: surrogate, Goal(("maximize",)))

    @property
    def first(self) -> Surrogate:
        """The model of the first objective."""
        return self.objectives[0]

    @property
    def metric(self) -> Covariance:
        """A covariance to measure distances: that of the objective, or with the mean weights of several objectives."""
        covariance = self.first.gp.covariance
        if len(self.objectives) == 1:
            return covariance
        weights = [one.gp.covariance.inverse_squared_lengthscales for one in self.objectives]
        return covariance._replace(inverse_squared_lengthscales=np.mean(weights, axis=0))

    @property
    def lengthscales(self) -> Array:
        """Lengthscales (d,) of the `metric`."""
        out: Array = 1.0 / np.sqrt(self.metric.inverse_squared_lengthscales)
        return out

    def shown(self, data: Data) -> Outputs:
        """The models with `Surrogate.shown` of a single objective in place of its surrogate."""
        if len(self.objectives) > 1:
            return self
        twin = copy.copy(self)
        twin.objectives = [self.first.shown(data)]
        return twin

    @property
    def posteriors(self) -> tuple[Posterior, ...]:
        """The posteriors of the objectives."""
        return tuple(one.posterior for one in self.objectives)

    def front_rows(self, history: History) -> ObservationIndices:
        """The observations (f,) on the front that meet all constraints, by the models if values are unknown."""
        return self.meeting(history, history.front.rows)

    def meeting(self, history: History, rows: ObservationIndices) -> ObservationIndices:
        """The observations among ``rows (m,)`` that meet all constraints (`Constraints.met`)."""
        return rows[self.constraints.met(history, rows)] if history.constrained else rows

    def hallucinate(self, history: History, around: Array) -> Array:
        """Add the pending points to the posteriors, until the next update.

        Of many, only those that are nearest the point ``around (d,)`` are considered.

        Returns:
            (q, d) the points that are not observations to the first model, if its posterior lacks some; else none.
        """
        pending, unknown = self._considered(expected_pending(history), around)
        whole = self.first.hallucinate(pending) == len(history.pending)
        for other in self.objectives[1:]:
            other.hallucinate(Data.unknown(pending.X))
        self.constraints.hallucinate(pending.X)
        return unknown[:0] if whole else unknown

    def _considered(self, pending: Data, around: Array) -> tuple[Data, Array]:
        """Those of the ``pending`` points that are considered, and all (q, d) that are not observations."""
        expected = np.flatnonzero(~np.isnan(pending.y))
        if len(expected) <= EXPECTED and pending.n <= CONSIDERED:
            return pending, pending.X[np.isnan(pending.y)]
        distances = squared_distances(self.metric, pending.X, around, np.inf)
        expected = expected[smallest(distances[expected], EXPECTED)]
        others = np.delete(np.arange(pending.n), expected)
        values = np.full(pending.n, np.nan)
        values[expected] = pending.y[expected]
        near = others[smallest(distances[others], CONSIDERED)]
        rows = np.sort(np.concatenate([expected, near]))
        return pending._replace(y=values).at(rows), pending.X[others]

    def release(self) -> None:
        """Forget the pending points."""
        for one in self.objectives:
            one.release()
        self.constraints.release()
