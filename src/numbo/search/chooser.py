"""The interface to choose points of BKB, BBKB and S-BPE by a `FeedbackModel`, for any domain."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from numbo._plain import Kept
from numbo._types import Array
from numbo.models.batch_model import Batch
from numbo.models.feedback import Change, FeedbackModel
from numbo.run.situation import Situation

#: Number of points at which lemma 3 is evaluated in addition to the batch, if pulls are not hallucinated one by one.
PROBES = 256


class Chooser(Kept, ABC):
    """Chooses points by a model, and follows its changes.

    A ``width`` is the multiplier of the standard deviation ``sqrt(lambda var~)`` in upper confidence bounds.

    Attributes:
        rng: source of the draws of a search; `fork` sets it.
    """

    def __init__(self) -> None:
        self._seed = 0
        self._rng: np.random.Generator | None = None
        self._ratio: tuple[Batch | None, int, float] = None, 0, 0.0  # of a batch with so many pulls (lemma 3)

    def fork(self, rng: np.random.Generator) -> None:
        """Let the next search have its own random stream, so that it does not depend on the number of draws of
        ``rng`` by the model."""
        self._seed = int(rng.integers(2**63))
        self._rng = None

    @property
    def rng(self) -> np.random.Generator:
        if self._rng is None:  # most searches of arms draw nothing
            self._rng = np.random.default_rng(self._seed)
        return self._rng

    @abstractmethod
    def next_point(self, run: Situation, model: FeedbackModel, width: float) -> Array | None:
        """The next point (d,), line 4 of the papers; None if none is left."""

    def follow(self, run: Situation, model: FeedbackModel, width: float, change: Change) -> None:
        """Follow a change that has just happened to the model, if searches do not look at it as it is then."""

    def start(self, run: Situation, model: FeedbackModel, width: float) -> None:
        """Start to choose from all points that may be suggested, by the present model, if searches do not anyway."""

    def largest_variance(self, run: Situation, model: FeedbackModel, width: float) -> float:
        """The largest ``lambda var~`` of a point that may be suggested, while points are chosen by variance alone.

        Where failures are learned it is that of the point which would be chosen, given its probability of success.
        Infinite if there is no such point, or if it cannot be found exactly.
        """
        return math.inf

    def largest_ratio(self, run: Situation, model: FeedbackModel, threshold: float) -> float:
        """``max_x sum_s k~_fb(x, x_s)^2 / var~_fb(x)`` over the pulls of the batch (lemma 3).

        It is exact if one plus it exceeds the ``threshold``; otherwise it may be too large, but not above the
        threshold. By default it is a lower bound: the maximum over probes and the points of the batch itself.
        """
        batch = model.batch
        if self._ratio[:2] != (batch, len(batch.pulls)):
            probes = run.space.snap(run.candidates.spread(PROBES, np.random.default_rng(run.candidates.seed)))
            pulled = model.pulls.X[batch.pulls]
            ratios = model.base.ratios(np.concatenate([probes, pulled]), pulled)
            self._ratio = batch, len(batch.pulls), float(ratios.max())
        return self._ratio[2]
