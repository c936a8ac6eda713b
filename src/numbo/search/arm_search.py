"""The search of a domain that can be enumerated: every point is an arm, and the best one is found exactly."""

from __future__ import annotations

import math

import numpy as np

from numbo._types import ArmIndices, Array, Mask
from numbo.kernels.acquisition import CERTAIN, success_probabilities
from numbo.models import ArmPosterior
from numbo.models.feedback import Change, FeedbackModel, NewBatch
from numbo.run.situation import Situation
from numbo.search.chooser import Chooser
from numbo.spaces import Domain

#: Probabilities of success of all arms are computed again when the history has grown by this factor.
WEIGHED_AGAIN = 1.1


class ArmSearch(Chooser):
    """Chooses that of the arms ``grid (A, d)`` with the largest upper confidence bound, lazily (`ArmPosterior`)."""

    _kept = ("_success", "_weighed")

    def __init__(self, space: Domain, grid: Array) -> None:
        super().__init__()
        self._space = space
        self.grid = grid
        self._posterior = ArmPosterior(grid)
        self._arm_of: ArmIndices = np.empty(0, dtype=np.int64)  # by the number of a distinct point
        self._success: Array | float = 1.0
        self._weighed = 0, 0  # failures, and all that was told, when it was computed
        self._sliced = False
        self._repeating = False
        self._ratio_sums: Array | float = 0.0  # of lemma 3 at all arms, over the first pulls of the batch
        self._summed = 0  # how many these are

    # -- choosing ----------------------------------------------------------------------------------------------

    def next_point(self, run: Situation, model: FeedbackModel, width: float) -> Array | None:
        """The next arm (d,), line 4 of the papers; None if none is left."""
        arm = self._best(run, model, width)
        return None if arm < 0 else self.grid[arm]

    def largest_variance(self, run: Situation, model: FeedbackModel, width: float) -> float:
        arm = self._best(run, model, width)
        return math.inf if arm < 0 else self._posterior.variance(arm)

    def _best(self, run: Situation, model: FeedbackModel, width: float) -> int:
        """The arm with the largest bound, -1 if none is left."""
        changed = self._sliced or self._repeating != run.available.repeating
        if self._weigh(run) or run.available.fixed is not None or changed:
            self.start(run, model, width)
        arm = self._posterior.choose()
        if arm < 0 and run.available.race is not None:  # the last free arm of the race has entered the batch
            self.start(run, model, width)
            arm = self._posterior.choose()
        return arm

    def start(self, run: Situation, model: FeedbackModel, width: float) -> None:
        """Choose from all arms that may be suggested, with what is known of failures."""
        self._sliced = run.available.fixed is not None
        self._repeating = run.available.repeating
        self._posterior.start(
            width,
            run.available.excluded(),
            by_variance=model.by_variance,
            success=self._success,
            worst=0.0 if isinstance(self._success, float) else model.worst(run.history),
        )

    def _weigh(self, run: Situation) -> bool:
        """Find the arms' probabilities of success; returns whether it did.

        This is due after every failure, and whenever the history has grown by `WEIGHED_AGAIN`.
        """
        told = run.history.told
        failures = run.history.told - run.history.n
        if failures == 0 or (failures == self._weighed[0] and told < WEIGHED_AGAIN * self._weighed[1]):
            return False
        success = run.success()
        self._weighed = (failures, told)
        self._success = 1.0 if success is CERTAIN else success_probabilities(success, self.grid)
        return True

    # -- the model changes -------------------------------------------------------------------------------------

    def follow(self, run: Situation, model: FeedbackModel, width: float, change: Change) -> None:
        """Lines 7 and 8: variances shrink by what was pulled, the mean stays until the next feedback."""
        pulled = change.pulled if isinstance(change, NewBatch) else change
        if isinstance(change, NewBatch):
            self._ratio_sums = 0.0
            self._summed = 0
            self._condition(run, model, width, change.certain)
        elif pulled.numbers and not model.one_by_one:
            self._condition(run, model, width)
        for number, direction in zip(pulled.numbers, pulled.directions, strict=False):
            self._posterior.observe(direction)
            if run.available.avoid_repeats:
                self._posterior.exclude(int(self._rows(model)[number]))

    def _condition(self, run: Situation, model: FeedbackModel, width: float, certain: Mask | None = None) -> None:
        """Take the posterior of the model; ``certain (m,)`` are the atoms that were drawn with probability 1."""
        base = model.base
        rows = self._rows(model)
        posterior = base.gp.posterior
        stands_for = base.atoms
        lasting = np.zeros(len(stands_for), dtype=bool) if certain is None else certain
        if not model.one_by_one:
            posterior, pulls = model.given_batch()
            stands_for = np.concatenate([stands_for, pulls])
            lasting = np.arange(len(stands_for)) < len(base.atoms)  # until the next draw, atoms only come
        self._posterior.condition(base.gp, rows[base.points], rows[stands_for], lasting, posterior)
        self.start(run, model, width)

    def _rows(self, model: FeedbackModel) -> ArmIndices:
        """The arms (numbers,) that the distinct points are."""
        known = len(self._arm_of)
        if known < model.pulls.u:
            self._arm_of = np.append(self._arm_of, self._space.grid_index(model.pulls.X[known:]))
        return self._arm_of

    def largest_ratio(self, run: Situation, model: FeedbackModel, threshold: float) -> float:
        """As `Chooser.largest_ratio`, at all arms where pulls are hallucinated one by one.

        By Cauchy and Schwarz a pull adds at most its ``var~_fb`` to the sum at any arm: the sums are computed only when
        that could exceed the threshold.
        """
        if not model.one_by_one:
            return super().largest_ratio(run, model, threshold)
        batch = model.batch
        bound = float(np.max(self._ratio_sums)) + sum(batch.variances[self._summed :])
        if 1.0 + bound > threshold:
            arms = self._rows(model)[batch.pulls[self._summed :]]
            self._ratio_sums = self._ratio_sums + self._posterior.ratios(arms)
            self._summed = len(batch.pulls)
            bound = float(np.max(self._ratio_sums))
        return bound
