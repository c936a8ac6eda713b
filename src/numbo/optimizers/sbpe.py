"""S-BPE: sparse batched pure exploration (Vakili et al. 2022, algorithm 1).

    1      all points are in the race, N_0 = 1                                            `race_of`
    2, 3   batch i has N_i = ceil(sqrt(N N_{i-1})) points                                 `SBPE._next_size`
    4      it starts without observations, on an empty dictionary                         `FeedbackModel.forget`
    6, 7   its model knows the points of the batch alone, on a dictionary of them that    `FeedbackModel.take_in`
           is drawn again when variances may have halved (the paper: for every point)
    8      the next point is the most uncertain one of those still in the race            `Race.next_point`
    9      it counts as observed at once: variances shrink                                `FeedbackModel.hallucinate`
    10     n is counted by the history                                                    `Situation.step`
    11-13  left out: after N points batches go on, with about N points each
    14     values are told as they arrive; none matters before line 16                    `SBPE.tell`
    16     at its end, mean and variance by a dictionary of recursive RLS                 `SBPE._final_model`
    17     whatever cannot be the maximum within its confidence bounds drops out          `SBPE._eliminate`

That is what happens under a fixed kernel: which points a batch has does not depend on its values, as theorem 3.5 asks,
and what dropped out stays out. A learned kernel depends on all values, so there is no such independence to protect.
Then the kernel is learned at the end of each batch before points are eliminated, models know all observations, and
which points remain in the race is decided again from scratch: an earlier kernel that was wrong does not have the last
word.

A batch ends when as many values have arrived as it has points. One that arrives later counts towards the next batch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from numbo import _checks
from numbo._settings import checked, handed_on
from numbo._types import Array, Direction, Mask, PhaseBeta
from numbo.models import SparseGP
from numbo.models.confidence import sparse_confidence, uniform_confidence, union_bound
from numbo.models.dictionaries import recursive_rls
from numbo.models.feedback import Change, SparseStatus
from numbo.models.view import ModelView
from numbo.optimizers.base import Optimizer
from numbo.optimizers.parts.race import WIDTH, Filter, lambda_max, race_of
from numbo.optimizers.parts.sparse import SparseSettings, sparse_search
from numbo.rules import Loop, Probe, Rule
from numbo.run.availability import ENUMERABLE
from numbo.run.situation import Situation, Suggestion
from numbo.spaces import Arms, Space

#: N, unless it is set.
HORIZON = 1000
#: Within a batch the dictionary is drawn again when variances may have shrunk by this factor, as in BBKB.
RATIO_THRESHOLD = 2.0
BETAS = ("union", "paper")


@dataclass(frozen=True, kw_only=True)
class SBPESettings(SparseSettings):
    """Settings of `SBPE`.

    Args:
        horizon: N, the expected number of evaluations, by default 1000; it determines the sizes of the batches.
        beta: multiplier of the standard deviation in the bounds. ``"union"`` is ``sqrt(2 log(4 B |X| / delta))``: with
            probability ``1 - delta``, a draw from the model is within its bounds at all points and after each of the B
            batches (Srinivas et al. 2010, lemma 5.1); a space too large to be enumerated counts as the largest one that
            can be. ``"paper"`` is theorem 3.5, or corollary 3.7 in a continuous space, for an objective within
            `norm_bound`. Or a number.
        max_dictionary: maximum number of atoms in a draw, ``None`` for no limit; ``"auto"`` is 256 where the kernel
            is learned, and no limit under a fixed one.
    """

    #: Judging needs a model that is nearly exact: with too few atoms, bounds stay so wide that nothing is eliminated.
    LEARNED_DICTIONARY: ClassVar[int] = 256

    horizon: int | None = checked(None, _checks.integer, 1)
    beta: PhaseBeta = checked("union", _checks.number_or, BETAS)


class SBPE(Optimizer):
    """Sparse batched pure exploration.

    It explores evenly whatever may still be the optimum, and rules out the rest with confidence: for noisy objectives
    and large budgets. Arms, and the points of a space that can be enumerated, are all in the race at first; in larger
    spaces membership is decided point by point. Under a learned kernel a point that was ruled out may return.

        opt = SBPE(arms=features, horizon=2000, seed=0)

    Args:
        beta: multiplier of the standard deviation in the bounds: ``"union"``, the default, ``"paper"``, or a number
            (`SBPESettings`).
    """

    _kept = ("_race", "_model", "_chooser", "_size", "_batch_start", "_batch_sizes")
    settings: SBPESettings
    settings_class = SBPESettings

    @handed_on(SBPESettings)
    def __init__(
        self,
        space: Space | Arms | Mapping[str, Any] | None = None,
        *,
        arms: Arms | ArrayLike | None = None,
        direction: Direction | None = None,
        n_initial: int | None = None,
        seed: _checks.Seed = None,
        horizon: int | None = None,
        beta: PhaseBeta | None = None,
        lengthscale: float | Sequence[float] | Array | None = None,
        noise_std: float | None = None,
        settings: SBPESettings | None = None,
    ) -> None: ...

    def _build(self) -> None:
        settings = self.settings
        self._model, self._chooser = sparse_search(self._run, settings, by_variance=True, on_schedule=False)
        self._race = race_of(self.space, self._chooser)
        self._run = replace(self._run, claims=((self._model.kernel,),), race=self._race.left)
        self._size = self._next_size(1)
        self._batch_start = 0
        self._batch_sizes: list[int] = []

    @property
    def horizon(self) -> int:
        """N, the expected number of evaluations."""
        return HORIZON if self.settings.horizon is None else self.settings.horizon

    @property
    def status(self) -> SparseStatus:
        """Effective dimension, sizes of the dictionary and of the batches, and beta."""
        return self._model.status(WIDTH if self._model.draws else 0.0, tuple(self._batch_sizes))

    def _next_size(self, size: int) -> int:
        return max(1, math.ceil(math.sqrt(self.horizon * size)))

    @property
    def n_batches(self) -> int:
        """B, the number of batches within the horizon."""
        size = 1
        total = 0
        count = 0
        while total < self.horizon:
            size = self._next_size(size)
            total = total + size
            count = count + 1
        return count

    @property
    def racing(self) -> Mask | None:
        """Which arms (A,) may still be the optimum; None in a space that is too large to be enumerated."""
        return None if self._race.left is None else self._race.left.copy()

    def next_batch(self, limit: int | None = None) -> list[Any]:
        """The points still missing from the current batch, at most ``limit``: to evaluate together, then tell.

        Raises:
            ValueError: if ``limit`` is not an integer of at least 1.
        """
        if limit is not None:
            limit = _checks.integer("limit", limit, 1)
        history = self._run.history
        missing = self._size - (history.n - self._batch_start) - len(history.pending)
        if missing <= 0:
            missing = self._next_size(self._size)
        return self.ask(missing if limit is None else min(missing, limit))

    # -- algorithm 1 -------------------------------------------------------------------------------------------

    def _new_rules(self) -> tuple[Rule, ...]:
        return Probe(), Loop(self._next)

    def _next(self, run: Situation) -> Suggestion:
        model = self._model
        with run.times.phase("selection"):
            self._close_batches(run)  # lines 3, 16 and 17
        run = replace(run, race=self._race.left)
        if len(model.told(run.history)) + len(run.history.pending) == 0:
            x = self._race.first_point(run, model)
            return Suggestion(run.space_filling() if x is None else x)
        self._chooser.fork(run.rng)
        with run.times.phase("model"):
            self._follow(run, model.hallucinate(run.history, run.rng))  # lines 7 and 9, since the last call
            shrunk = 1.0 + model.batch.total > RATIO_THRESHOLD
            if shrunk and model.may_take_in(run.history):
                self._follow(run, model.take_in(run.history, run.rng))  # lines 6 and 7
        with run.times.phase("search"):
            x = self._race.next_point(run, model)  # line 8
        return Suggestion(run.space_filling() if x is None else x)

    def _follow(self, run: Situation, change: Change) -> None:
        """Let the search follow the model."""
        self._chooser.follow(run, self._model, WIDTH, change)

    def _close_batches(self, run: Situation) -> None:
        """End every batch whose values have arrived, and start the next one with an empty dictionary."""
        kernel = self._model.kernel
        open_since = self._batch_start
        while run.history.n - self._batch_start >= self._size:
            start = self._batch_start
            self._batch_start += self._size
            self._batch_sizes.append(self._size)
            self._size = self._next_size(self._size)  # line 3
            if kernel.fixed:  # each batch alone
                self._eliminate(run, start, self._batch_start)
        if self._batch_start == open_since:
            return
        if not kernel.fixed:  # all observations together, by what they say about the kernel
            end = self._batch_start
            kernel.learn(run.history.X[:end], run.history.values(end), run.rng)
            self._race.start_again()
            self._eliminate(run, 0, end)
        self._model.forget(self._batch_start if kernel.fixed else 0)  # line 4
        self._run = replace(self._run, race=self._race.left)

    # -- lines 16 and 17 ---------------------------------------------------------------------------------------

    def _final_model(self, start: int, end: int) -> SparseGP:
        """Line 16: the model of observations ``start`` to ``end`` on a dictionary of recursive RLS.

        A dictionary of lemma 3.8 fails with probability ``delta / 2B``, so all batches together use half of ``delta``;
        the confidence bounds use the rest. The lemma needs less than 1/32.
        """
        history = self._run.history
        pulls = self._model.pulls
        kernel = self._model.kernel
        values = kernel.fit_transform(history.values(end))[start:end]
        told = pulls.told(history, end)[start:]
        counts = pulls.counts(told)
        points = np.flatnonzero(counts)
        X = np.ascontiguousarray(pulls.X[points])
        delta = min(self.settings.failing / (2.0 * self.n_batches), 1.0 / 33.0)
        limit = self.settings.dictionary
        chosen = recursive_rls(kernel.covariance, X, self._run.rng, delta=delta, limit=limit)
        gp = SparseGP.over(kernel.covariance, X, counts[points].astype(np.float64), chosen)
        gp.set_values(np.bincount(told, values, pulls.u)[points].astype(np.float64))
        return gp

    def _eliminate(self, run: Situation, start: int, end: int) -> None:
        """Line 17: only points whose upper bound is at least the best lower bound stay in the race."""
        gp = self._final_model(start, end)
        self._race.eliminate(run, self._filter(gp, end - start), self._model, gp.X)

    def _filter(self, gp: SparseGP, n: int) -> Filter:
        """The confidence bounds of a batch of ``n`` observations."""
        delta = self.settings.failing
        grid = self._run.grid
        if self.settings.beta == "union":
            points = ENUMERABLE if grid is None else len(grid)
            return Filter(gp.posterior, union_bound(delta, self.n_batches, points), 0.0, 0.0)
        if self.settings.beta != "paper":
            return Filter(gp.posterior, float(self.settings.beta), 0.0, 0.0)
        tau = math.sqrt(gp.regularization)
        top = lambda_max(gp)
        share = delta / (4.0 * self.n_batches)
        bound = self.settings.norm_bound
        if grid is not None:
            beta = sparse_confidence(share / len(grid), top, tau, bound, tau)
            return Filter(gp.posterior, beta, 0.0, 0.0)
        kappa2 = self._model.kernel.largest_prior(grid)
        beta = uniform_confidence(share, top, tau, bound, tau, n, self.space.d, kappa2)
        return Filter(gp.posterior, beta, 2.0 / n, 2.0 / math.sqrt(n))

    # -- looking inside, state -----------------------------------------------------------------------------------

    def _view(self, run: Situation) -> ModelView:
        """By a model of all observations, not of the present batch alone."""
        success = run.success()
        model = self._model.settled(run.history, run.rng)
        return model.view(run.history, run.rng, success, WIDTH, tuple(self._batch_sizes))

    def _rebuild(self, state: Mapping[str, Any], data: Any) -> None:
        self._run = replace(self._run, race=self._race.left)
        self._follow(self._run, self._model.begin_again())
