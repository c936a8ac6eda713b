"""The search of a domain that can be enumerated: every point is an arm, and the best one is found exactly."""

from __future__ import annotations

from typing import Any

import numpy as np

from numbo._types import ArmIndices, Array, Mask
from numbo.kernels.acquisition import CERTAIN, success_probabilities
from numbo.models import ArmPosterior
from numbo.models.feedback import Chooser, FeedbackModel
from numbo.run.run import Run

#: Probabilities of success of all arms are computed again when the history has grown by this factor.
WEIGHED_AGAIN = 1.1


class ArmSearch(Chooser):
    """Chooses the arm with the largest upper confidence bound, lazily (`numbo.models.ArmPosterior`).

    Args:
        run: what is known; its `grid` holds the arms.
        grid: the arms (A, d).
        one_by_one: whether pulls are hallucinated one by one, as in the papers.
    """

    def __init__(self, run: Run, grid: Array, *, one_by_one: bool) -> None:
        self._run = run
        self._grid = grid
        self.one_by_one = one_by_one
        self._posterior = ArmPosterior(grid)
        self._arm_of: ArmIndices = np.empty(0, dtype=np.int64)  # by the number of a distinct point
        self._success: Array | float = 1.0
        self._weighed = 0, 0  # failures, and all that was told, when it was computed
        self._sliced = False
        self._repeating = False
        self._chosen = -1

    # -- choosing ----------------------------------------------------------------------------------------------

    def next_point(self, model: FeedbackModel) -> Array | None:
        """The next arm (d,), line 4 of the papers; None if none is left."""
        changed = self._sliced or self._repeating != self._run.available.repeating
        if self._weigh() or self._run.available.fixed is not None or changed:
            self.start(model)
        arm = self._posterior.choose()
        if arm < 0 and self._run.available.race is not None:  # the last free arm of the race has entered the batch
            self.start(model)
            arm = self._posterior.choose()
        self._chosen = arm
        return None if arm < 0 else self._grid[arm]

    @property
    def variance(self) -> float:
        """``lambda var~`` of the arm that was chosen last."""
        return self._posterior.variance(self._chosen)

    def start(self, model: FeedbackModel) -> None:
        """Choose from all arms that may be suggested, with what is known of failures."""
        worst = float(model.kernel.transform.forward(self._run.history.values()).min())
        self._sliced = self._run.available.fixed is not None
        self._repeating = self._run.available.repeating
        self._posterior.start(
            model.multiplier,
            self._run.available.excluded(),
            by_variance=model.by_variance,
            success=self._success,
            worst=worst,
        )

    def _weigh(self) -> bool:
        """Find the arms' probabilities of success; returns whether it did.

        This is due after every failure, and whenever the history has grown by `WEIGHED_AGAIN`.
        """
        told = self._run.history.told
        failures = self._run.history.told - self._run.history.n
        if failures == 0 or (failures == self._weighed[0] and told < WEIGHED_AGAIN * self._weighed[1]):
            return False
        success = self._run.success()
        self._weighed = (failures, told)
        self._success = 1.0 if success is CERTAIN else success_probabilities(success, self._grid)
        return True

    # -- the model changes -------------------------------------------------------------------------------------

    def show(self, model: FeedbackModel, certain: Mask | None = None) -> None:
        base = model.base
        rows = self._rows(model)
        together = [] if self.one_by_one else model.batch.pulls
        stands_for = np.concatenate([base.atoms, np.array(together, dtype=np.int64)])
        lasting = np.zeros(len(stands_for), dtype=bool)
        if not self.one_by_one:
            lasting[: len(base.atoms)] = True  # until the next draw, atoms only come
        elif certain is not None:
            lasting[: len(base.atoms)] = certain
        posterior = base.gp.extended(model.pulls.X[together])
        self._posterior.condition(base.gp, rows[base.points], rows[stands_for], lasting, posterior)
        self.start(model)

    def pull(self, model: FeedbackModel, number: int) -> None:
        """Lines 7 and 8: pull the arm of the point ``number``; variances shrink, the mean stays."""
        arm = int(self._rows(model)[number])
        self._posterior.observe(model.batch.pull(number, model.pulls.X[number]))
        if self._run.available.avoid_repeats:
            self._posterior.exclude(arm)

    def _rows(self, model: FeedbackModel) -> ArmIndices:
        """The arms (numbers,) that the distinct points are."""
        known = len(self._arm_of)
        if known < model.pulls.u:
            self._arm_of = np.append(self._arm_of, self._run.space.grid_index(model.pulls.X[known:]))
        return self._arm_of

    def ratios(self, model: FeedbackModel, numbers: list[int]) -> Array:
        """``sum_s k~_fb(x, x_s)^2 / var~_fb(x)`` over the pulls ``numbers``, at all arms (lemma 3)."""
        return self._posterior.ratios(self._rows(model)[numbers])

    # -- state -------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        return {"success": np.copy(self._success), "weighed": self._weighed}

    def restore(self, state: dict[str, Any]) -> None:
        """Take in a `state_dict`, before the model takes in its own."""
        success = state["success"]
        self._weighed = state["weighed"]
        self._success = success.copy() if success.ndim else float(success)
