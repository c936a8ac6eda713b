"""BBKB: batch budgeted kernelised bandits (Calandriello et al. 2020, algorithm 1).

    1       the first points are a space-filling design (the paper: one uniform draw)       `Situation.space_filling`
    2       before any feedback mu~ = 0 and var~ is the prior; as soon as there is some,    `Base.prior`,
            the points of the design are the first dictionary                               `DictionaryRule.first`
    4       the next point maximises u~ = mu~_fb + alpha_fb sqrt(var~)                      `BBKB._turn`
    5       the batch goes on while 1 + sum var~_fb(x_s) <= C~ (lemma 1),                   `BBKB._batch_is_over`
            or as lemma 3 has it                                                            `Chooser.largest_ratio`
    7       variances shrink by what was pulled                                             `FeedbackModel.sync`
    8       bounds are found lazily                              `ArmPosterior.choose`, `numbo.kernels.lazy`
    11, 12  the atoms are chosen among all points, told and pending                         `FeedbackModel.redraw`
    13-15   with probability min(1, qbar var~_fb), summed over the pulls of a point         `DictionaryRule.draw`
    16, 18  mu~ and var~ on that dictionary; on the same one and more points                `Base.taking_in`
    17      the values that have arrived are taken in                                       `FeedbackModel.take_in`
            alpha_fb, theorem 2                                                             `BBKB._alpha_fb`
            minimum batches, appendix A.5                                                   `BBKB._explored_enough`

`FeedbackModel` is in `numbo.models.feedback`, `Base` in `numbo.models.batch_model`, `DictionaryRule` in
`numbo.models.dictionaries`. `BBKB._turn` puts them together. It is called for one point, so it takes the steps that
follow the last point (7, 5, 11 to 18) before it chooses the next one (4). With C~ = 1 every batch has one point, which
is `numbo.BKB` (Calandriello et al. 2019) up to the multiplier. With a perfect dictionary (``qbar=inf``) the model is
the exact GP at the start of each batch; where pulls are hallucinated jointly and exactly (``resparsify`` above 0, and
spaces that cannot be enumerated), it is GP-BUCB (Desautels et al. 2014) under the batch rule of lemma 1.

Stragglers never block: a batch ends by its rule, then whatever values have arrived are taken in, and what is still
pending is hallucinated again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from numbo import _checks
from numbo._settings import checked, handed_on
from numbo._types import Array, AvoidRepeats, Direction, ScheduledBeta, Stopping
from numbo.models.confidence import SCHEDULES, Confidence, Information
from numbo.models.feedback import Change, FeedbackModel, NewBatch, SparseStatus
from numbo.models.view import ModelView
from numbo.optimizers.base import Optimizer
from numbo.optimizers.parts.sparse import SparseSettings, sparse_search
from numbo.rules import Loop, Probe, Rule
from numbo.run.situation import Situation, Suggestion, attempt
from numbo.spaces import Arms, Space

#: Maximum number of observations that a batch may leave out before they are taken in; no limit with ``resparsify=0``.
LONGEST = 16
STOPPING = ("global", "global-local")
#: (1 + epsilon) / (1 - epsilon) for epsilon = 1/2: how far ``var~`` may be off, either way (lemma 2).
ACCURACY = 3.0


@dataclass(frozen=True, kw_only=True)
class BBKBSettings(SparseSettings):
    """Settings of `BBKB`.

    Args:
        ratio_threshold: C~ >= 1, the factor by which variances may shrink inside a batch.
        stopping: ``"global"`` (lemma 1) or ``"global-local"`` (lemma 3 once lemma 1 fails: larger batches).
        beta: ``"paper"``, ``"reference"`` (the authors' code), or a multiplier of the standard deviation.
        min_batch: P. Uncertainty sampling until every ``var~ <= (C~ - 1) / (3 P)`` guarantees batches of at least P
            points as long as later dictionaries give at most three times that variance (section 4, appendix A.5), and
            of P / 3 in the worst case of lemma 2, and no failures are learned. For arms and spaces that can be
            enumerated.
        max_dictionary: maximum number of atoms in a draw, ``None`` for no limit; ``"auto"`` is 96 where the kernel
            is learned, and no limit under a fixed one.
    """

    ratio_threshold: float = checked(2.0, _checks.number, 1.0)
    stopping: Stopping = checked("global", _checks.one_of, STOPPING)
    beta: ScheduledBeta = checked(2.0, _checks.number_or, SCHEDULES)
    min_batch: int = checked(1, _checks.integer, 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.min_batch > 1 and self.ratio_threshold == 1.0:
            given = f"min_batch={self.min_batch}"
            raise ValueError(f"{given} needs a ratio_threshold above 1: at 1 every batch has one point.")


class BBKB(Optimizer):
    """Batch budgeted kernelised bandits.

        opt = BBKB(arms=features, seed=0)
        batch = opt.next_batch()
        opt.tell(batch, [reward(arm) for arm in batch])

    Args:
        beta: ``"paper"``, ``"reference"`` (the authors' code), or a multiplier of the standard deviation; by default 2.
    """

    _kept = ("_model", "_chooser", "_batch_sizes")
    settings: BBKBSettings
    settings_class: ClassVar[type[BBKBSettings]] = BBKBSettings

    @handed_on(BBKBSettings)
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
        settings: BBKBSettings | None = None,
    ) -> None: ...

    def _build(self) -> None:
        settings = self.settings
        if settings.min_batch > 1 and self._run.grid is None:
            given = f"min_batch={settings.min_batch}"
            raise ValueError(f"{given} needs arms or a space that can be enumerated, got {self.space!r}.")
        self._confidence = Confidence(settings.norm_bound, settings.failing)
        counting = Information(
            weight=1.0 if settings.beta == "reference" else ACCURACY, by_arrival=settings.beta == "paper"
        )
        self._model, self._chooser = sparse_search(self._run, settings, counting, by_variance=settings.min_batch > 1)
        self._run = replace(self._run, claims=((self._model.kernel,),))
        self._width = 0.0  # alpha_fb, as a multiplier of sqrt(lambda var~), from the first feedback on
        self._batch_sizes: list[int] = []

    @property
    def status(self) -> SparseStatus:
        """Effective dimension, sizes of the dictionary and of the batches, and beta."""
        return self._model.status(self._width, tuple(self._batch_sizes))

    def next_batch(self, limit: int | None = None) -> list[Any]:
        """One whole batch by the rule of the paper, of at most ``limit`` points: to evaluate together, then tell.

        The first batch is the initial design; with ``min_batch``, the whole uncertainty sampling is part of the next.

        Raises:
            ValueError: if ``limit`` is not an integer of at least 1.
        """
        if limit is not None:
            limit = _checks.integer("limit", limit, 1)
        with self._whole():
            return self._choose_batch(limit)

    # -- algorithm 1 -------------------------------------------------------------------------------------------

    def _new_rules(self) -> tuple[Rule, ...]:
        return Probe(), Loop(self._next)

    def _next(self, run: Situation) -> Suggestion:
        self._chooser.fork(run.rng)
        return self._turn(run)

    def _turn(self, run: Situation) -> Suggestion:
        """One turn of the loop: what follows the last point, and then the next one."""
        model = self._model
        history = run.history
        with run.times.phase("model"):
            self._follow(run, model.hallucinate(history, run.rng))  # lines 7 and 8, since the last turn
            if self._batch_is_over(run) and model.may_take_in(history):  # line 5
                if history.n > model.fed_back:
                    self._batch_sizes.append(history.n - model.fed_back)
                self._follow(run, model.take_in(history, run.rng))  # lines 11 to 18
        with run.times.phase("search"):
            if self._explored_enough(run):  # values matter from now on
                model.end_exploration(history)
                if model.assumes:
                    self._follow(run, model.redraw(history, run.rng))
                self._chooser.start(run, model, self._width)
            x = self._chooser.next_point(run, model, self._width)  # line 4
        return Suggestion(run.space_filling() if x is None else x)

    def _choose_batch(self, limit: int | None) -> list[Any]:
        """Points until the batch is over, all by turns of the same loop."""
        design = self.n_initial - self._run.step
        batch = [self._hand_out(self._suggest(propose=self._next))]  # no repeat that probes for noise
        if design > 0:
            wanted = design if limit is None else min(design, limit)
            return batch + [self._hand_out() for _ in range(wanted - 1)]
        while (limit is None or len(batch) < limit) and attempt(self._goes_on, lambda: False, self._warned_of):
            batch.append(self._hand_out(self._suggest(propose=self._turn)))
        return batch

    def _goes_on(self) -> bool:
        """Whether the batch goes on after its last point; exploration for a minimum batch is no batch of its own."""
        if self._model.empty:
            return False
        self._follow(self._run, self._model.hallucinate(self._run.history, self._run.rng))
        return self._model.by_variance or not self._batch_is_over(self._run)

    # -- lines 7 and 8 -----------------------------------------------------------------------------------------

    def _follow(self, run: Situation, change: Change) -> None:
        """Let the bounds follow the model: alpha_fb is that of the last feedback."""
        if isinstance(change, NewBatch):
            self._width = self._alpha_fb(self._model)
        self._chooser.follow(run, self._model, self._width, change)

    # -- section 4, appendix A.5: uncertainty sampling for a minimum batch -------------------------------------

    def _explored_enough(self, run: Situation) -> bool:
        """Whether all variances are so small that batches will have `min_batch` points, and values may matter.

        A batch ends when ``C~ - 1 <= sum var~' <= size max var~'``. Later dictionaries have ``var~' <= 3 var~``, which
        gives P points, or ``9 var~`` in the worst case, which gives P / 3.
        """
        model = self._model
        if not model.by_variance:
            return False
        largest = self._chooser.largest_variance(run, model, self._width) / model.kernel.covariance.noise_variance
        return largest <= (self.settings.ratio_threshold - 1.0) / (ACCURACY * self.settings.min_batch)

    # -- line 5 ------------------------------------------------------------------------------------------------

    def _batch_is_over(self, run: Situation) -> bool:
        """Whether the pulls since the last feedback might have shrunk some variance by more than C~.

        Late in a run, where variances are small, a batch would go on for hundreds of points. Where pending points are
        conditioned on jointly, at a cost that grows with them, it ends with `LONGEST` observations not yet taken in.
        """
        model = self._model
        longest = max(LONGEST, self.settings.min_batch)
        if model.resparsify > 0.0 and run.history.n - model.fed_back >= longest:
            return True
        if 1.0 + model.batch.total <= self.settings.ratio_threshold:  # lemma 1
            return False
        if self.settings.stopping == "global":
            return True
        ratio = self._chooser.largest_ratio(run, model, self.settings.ratio_threshold)
        return 1.0 + ratio > self.settings.ratio_threshold  # lemma 3

    # -- alpha_fb, theorem 2 -----------------------------------------------------------------------------------

    def _alpha_fb(self, model: FeedbackModel) -> float:
        """alpha_fb of a model, as a multiplier of ``sqrt(lambda var~)`` until the next feedback."""
        if not isinstance(self.settings.beta, str):
            return float(self.settings.beta)
        lam = model.kernel.covariance.noise_variance
        return self._scheduled_width(self.settings.beta, model, lam) / math.sqrt(lam)

    def _scheduled_width(self, schedule: str, model: FeedbackModel, lam: float) -> float:
        """alpha_fb of a named schedule (theorem 2)."""
        return self._confidence.bbkb(schedule, model.information, self.settings.ratio_threshold, lam)

    # -- looking inside, state -----------------------------------------------------------------------------------

    def _view(self, run: Situation) -> ModelView:
        success = run.success()
        model = self._model.settled(run.history, run.rng)
        return model.view(run.history, run.rng, success, self._alpha_fb(model), tuple(self._batch_sizes))

    def _rebuild(self, state: Mapping[str, Any], data: Any) -> None:
        self._follow(self._run, self._model.begin_again())
