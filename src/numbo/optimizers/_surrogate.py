"""An exact GP on some members of the history, kept up to date at the lowest cost that is exact."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from numbo.models import ExactGP, OutputTransform

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class Surrogate:
    """A GP, the output transform of its members, and the hyperparameter schedule.

    Args:
        categorical, kernel, trend: as `numbo.models.ExactGP`.
        winsorize: as `numbo.models.OutputTransform.fit`.
        growth: hyperparameters are refitted when the number of observations has grown by this share, and
        longest: after at most so many new observations.
    """

    def __init__(
        self,
        categorical: NDArray[np.bool_],
        *,
        kernel: str,
        trend: bool,
        winsorize: bool,
        growth: float = 0.1,
        longest: int | None = None,
    ) -> None:
        self.gp = ExactGP(categorical, kernel=kernel, trend=trend)
        self.winsorize, self.growth, self.longest = winsorize, growth, longest
        self.transform = OutputTransform(0.0, 1.0, -np.inf)
        self.members: Indices = np.empty(0, dtype=np.int64)
        self.fitted_at = 0

    def refit_due(self, n: int) -> bool:
        """Whether the schedule asks for a fit when ``n`` observations are known."""
        wait = max(1, int(self.growth * self.fitted_at))
        return n - self.fitted_at >= min(wait, self.longest or wait)

    def update(self, X: Array, y: Array, members: Indices) -> None:
        """Condition on ``X[members]``, ``y[members]``; appends where the members only grew and no fit is due."""
        values = y[members]
        self.transform = OutputTransform.fit(values, self.winsorize)
        targets = self.transform.forward(values)
        gp, old = self.gp, self.members
        refit = self.refit_due(len(y))
        if refit:
            gp.fit(X[members], targets)
            self.fitted_at = len(y)
        if not refit and 0 < len(old) <= len(members) and np.array_equal(members[: len(old)], old):
            gp.truncate(len(old))
            grown = all(gp.append(X[members[i]], targets[i]) for i in range(len(old), len(members)))
            if grown:
                gp.set_values(targets)
                self.members = members
                return
        gp.condition(X[members], targets, spare=max(16, len(members) // 4))
        self.members = members

    def hold(self, points: Array) -> None:
        """Hallucinate pending ``points (p, d)`` until the next update."""
        for x in points:
            self.gp.append(x, None)

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Mean and standard deviation (c,) in the units of the history's values."""
        return self.transform.backward(*self.gp.predict(X))

    def state_dict(self) -> dict[str, Any]:
        return {"theta": self.gp.theta.copy(), "fitted_at": self.fitted_at, "members": self.members.copy()}

    def restore(self, state: dict[str, Any], X: Array, y: Array) -> None:
        """Take in `state_dict` of a surrogate of the history ``X``, ``y``."""
        self.gp.theta, self.fitted_at = state["theta"].copy(), state["fitted_at"]
        if len(state["members"]):
            schedule, self.growth = self.growth, np.inf
            self.update(X, y, state["members"])
            self.growth = schedule
