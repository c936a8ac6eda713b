"""BKB: budgeted kernelised bandits (Calandriello et al. 2019, algorithm 1).

It is BBKB with C~ = 1: the batch is over after every pull, and the steps of the algorithm are those of `BBKB._turn`.

    choose     the point that maximises u~_t = mu~_t + beta_t sqrt(var~_t)
               over arms                                                                 `numbo.kernels.lazy.refresh`
               over a large space                                                        `BoxSearch.next_point`
    beta_t     theorem 4.1                                                               `Confidence.bkb`
    feedback   y_t is taken in                                                           `FeedbackModel.take_in`
    resample   each observed point is an atom with probability min(1, qbar c var~_t),    `DictionaryRule.draw`
               one draw for all c observations of a point

Points that are asked for while others are pending are hallucinated, as in a batch of BBKB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from numbo import _checks
from numbo._settings import handed_on
from numbo._types import Array, AvoidRepeats, Direction, ScheduledBeta, Stopping
from numbo.models.feedback import FeedbackModel
from numbo.optimizers.bbkb import BBKB, BBKBSettings
from numbo.spaces import Arms, Space


@dataclass(frozen=True, kw_only=True)
class BKBSettings(BBKBSettings):
    """Settings of `BKB`."""

    ratio_threshold: float = field(default=1.0, init=False)
    stopping: Stopping = field(default="global", init=False)
    min_batch: int = field(default=1, init=False)


class BKB(BBKB):
    """Budgeted kernelised bandits: feedback after every point, a dictionary drawn by posterior variance.

    It is `BBKB` with batches of one point. Points that are asked for while others are pending are hallucinated.

        opt = BKB({"x": Float(-5, 5)}, beta="paper", seed=0)
    """

    settings: BKBSettings
    settings_class = BKBSettings

    @handed_on(BKBSettings)
    def __init__(
        self,
        space: Space | Arms | Mapping[str, Any] | None = None,
        *,
        arms: Arms | ArrayLike | None = None,
        direction: Direction | None = None,
        n_initial: int | None = None,
        seed: _checks.Seed = None,
        avoid_repeats: AvoidRepeats | None = None,
        beta: ScheduledBeta | None = None,
        lengthscale: float | Sequence[float] | Array | None = None,
        noise_std: float | None = None,
        settings: BKBSettings | None = None,
    ) -> None: ...

    def _scheduled_width(self, schedule: str, model: FeedbackModel, lam: float) -> float:
        """beta_t of a named schedule."""
        kappa2 = model.kernel.largest_prior(self._run.grid)
        return self._confidence.bkb(schedule, model.effective_dimension, model.fed_back, kappa2, lam)
