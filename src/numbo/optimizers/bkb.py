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
from numbo._types import Array, AvoidRepeats, Direction, ScheduledBeta, Stopping
from numbo.models.feedback import FeedbackModel
from numbo.optimizers.bbkb import BBKB, BBKBSettings
from numbo.optimizers.parts.settings import names_checked
from numbo.spaces import Arms, Space


@dataclass(frozen=True, kw_only=True)
class BKBSettings(BBKBSettings):
    """Settings of `BKB`.

    Args:
        n_initial: number of points of the space-filling initial design: by default 1 under a fixed kernel, otherwise
            10.
        avoid_repeats: whether to avoid points that were observed or are pending while others are left. With ``"auto"``,
            the default for spaces, observed points may be measured again where values are noisy; False for arms.
        learn_failures: whether failures depend on the parameters: ``True`` weights points by their probability of
            success, ``False`` only never repeats a point that failed, ``"auto"`` lets the data decide between the two.
        beta: ``"paper"``, ``"reference"`` (the authors' code), or a multiplier of the standard deviation.
        kernel: ``"matern52"``, ``"matern32"`` or ``"rbf"``.
        lengthscale: a number or (d,), fixes the kernel; in the units of the arms' features, or of the unit cube that a
            space is mapped to. A fixed kernel has unit variance, and values are not standardised.
        noise_std: standard deviation of the noise under a fixed kernel, in the units of the objective, at least 1e-6;
            lambda is its square. Without these two, the kernel is learned from the data, on a schedule.
        norm_bound: F, a bound on the objective's RKHS norm under the kernel.
        delta: failure probability of the confidence bounds; by default 0.1.
        qbar: oversampling factor of the dictionary. With infinity every observed point is an atom: the exact GP.
        max_dictionary: maximum number of atoms in a draw, ``None`` for no limit; ``"auto"`` is 96 where the kernel
            is learned, and no limit under a fixed one.
        initial_dictionary: how the first dictionary is drawn from a history, ``"bless"`` or ``"rls"``.
        resparsify: the dictionary is drawn again when the history has grown by this share; in between, new points join
            it with their sampling probability as feedback is taken in. 0, the default under a fixed kernel, draws it at
            the end of every batch, as the papers do; the default where the kernel is learned is 0.1.
        trend: whether a learned kernel has a linear and quadratic part.
        winsorize: whether outliers on the bad side are clipped under a learned kernel.

    Raises:
        ValueError: for an unsupported value.
        TypeError: for an unknown setting.
    """

    ratio_threshold: float = field(default=1.0, init=False)
    stopping: Stopping = field(default="global", init=False)
    min_batch: int = field(default=1, init=False)


class BKB(BBKB):
    """Budgeted kernelised bandits: feedback after every point, a dictionary drawn by posterior variance.

    It is `BBKB` with batches of one point. Points that are asked for while others are pending are hallucinated.

        opt = BKB({"x": Float(-5, 5)}, beta="paper", seed=0)

    Args:
        space: what is searched: a `numbo.Space`, or a mapping of names to `Float`, `Int` and `Categorical`; or
        arms: an explicit set of arms, an array (A, d) of features or `numbo.Arms`. Points are then row indices.
        direction: ``"minimize"`` or ``"maximize"``; by default spaces are minimised and arms are maximised.
        n_initial: number of points of the space-filling initial design: by default 1 under a fixed kernel, otherwise
            10.
        seed: anything that `numpy.random.default_rng` takes. Same seed and same history give the same suggestions.
        avoid_repeats: whether to avoid points that were observed or are pending while others are left. With ``"auto"``,
            the default for spaces, observed points may be measured again where values are noisy; False for arms.
        beta: ``"paper"``, ``"reference"`` (the authors' code), or a multiplier of the standard deviation; by default 2.
        lengthscale: a number or (d,), fixes the kernel; in the units of the arms' features, or of the unit cube that a
            space is mapped to. A fixed kernel has unit variance, and values are not standardised.
        noise_std: standard deviation of the noise under a fixed kernel, in the units of the objective, at least 1e-6;
            lambda is its square. Without these two, the kernel is learned from the data, on a schedule.
        settings: all settings; settings given by name take precedence.

    Raises:
        ValueError: for an unsupported value.
        TypeError: for an unknown setting.
    """

    settings: BKBSettings
    settings_class = BKBSettings

    @names_checked(BKBSettings)
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
    ) -> None:
        super().__init__(
            space,
            arms=arms,
            direction=direction,
            n_initial=n_initial,
            seed=seed,
            avoid_repeats=avoid_repeats,
            beta=beta,
            lengthscale=lengthscale,
            noise_std=noise_std,
            settings=settings,
        )

    def _scheduled_width(self, schedule: str, model: FeedbackModel, lam: float) -> float:
        """beta_t of a named schedule."""
        kappa2 = model.kernel.largest_prior(self._run.grid)
        return self._confidence.bkb(schedule, model.effective_dimension, model.fed_back, kappa2, lam)
