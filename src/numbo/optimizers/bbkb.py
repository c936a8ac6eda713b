"""BBKB: batch budgeted kernelised bandits (Calandriello et al. 2020, algorithm 1), and BKB, its special case.

    1      the first points are a space-filling design (the paper: one uniform draw)
    4      the next point maximises u~ = mu~_fb + alpha_fb sqrt(var~)                    `_propose`
    5      the batch goes on while 1 + sum var~_fb(x_s) <= C~ (lemma 1), or by lemma 3   `_batch_is_over`
    7, 8   variances shrink, bounds are found lazily                                     `numbo.kernels.lazy`
    11-16  the dictionary is drawn by qbar var~_fb                                       `_resparsify`
    17, 18 feedback is taken in                                                          `_settle`

With C~ = 1 every batch has one point, which is BKB (Calandriello et al. 2019). With a perfect dictionary
(``qbar=inf``) it is GP-BUCB (Desautels et al. 2014) under the batch rule of lemma 1.

Nobody waits for a straggler: a batch ends by its rule, then whatever values have arrived are taken in, and what is
still out is hallucinated again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbo import _checks
from numbo.arms import Arms
from numbo.kernels.covariance import prior_variances
from numbo.models import SparseGP
from numbo.optimizers._budgeted import BudgetedOptimizer
from numbo.optimizers._frozen_model import FrozenModel
from numbo.optimizers._schedules import SCHEDULES, Confidence, information_of_arrivals
from numbo.space import Array, Space

Indices = NDArray[np.int64]

#: Values that a batch leaves out at most, unless the algorithm is taken literally (``resparsify=0``).
LONGEST = 16
STOPPING = ("global", "global-local")
#: alpha = (1 + epsilon) / (1 - epsilon) for epsilon = 1/2: how far ``var~`` may be off, either way (lemma 2).
ACCURACY = 3.0
#: Points of a large space at which lemma 3 is evaluated, beside the batch itself.
PROBES = 256


class BBKB(BudgetedOptimizer):
    """Batch budgeted kernelised bandits.

        opt = BBKB(arms=features, seed=0)
        batch = opt.next_batch()
        opt.tell(batch, [reward(arm) for arm in batch])

    Args:
        space: what is searched: a `numbo.Space`, or a mapping of names to `Float`, `Int` and `Categorical`; or
        arms: an explicit set of arms, an array (A, d) of features or `numbo.Arms`. Points are then row indices.
        direction: ``"minimize"`` or ``"maximize"``; by default spaces are minimised and arms are maximised.
        n_initial: number of points of the space-filling initial design: by default 1 under a fixed kernel, otherwise
            10.
        seed: anything that `numpy.random.default_rng` takes. Same seed and same history give the same suggestions.
        avoid_repeats: whether a point that was observed or is pending is never suggested again while others are left;
            by default in spaces, not of arms.
        learn_failures: whether failures depend on the parameters: ``True``, ``False``, or ``"auto"``, by the data.
        ratio_threshold: C~ >= 1, by how much variances may shrink inside a batch.
        stopping: ``"global"`` (lemma 1) or ``"global-local"`` (lemma 3 once lemma 1 fails: larger batches).
        beta: ``"paper"``, ``"reference"`` (the authors' code), or a multiplier of the standard deviation.
        min_batch: P. Uncertainty sampling until every ``var~ <= (C~ - 1) / (3 P)`` guarantees batches of at least P
            points while later dictionaries say at most three times as much (section 4 and appendix A.5); a third of P
            in the worst case of lemma 2. For arms and spaces that can be enumerated.
        kernel: ``"matern52"``, ``"matern32"`` or ``"rbf"``.
        lengthscale: of a fixed kernel, a number or (d,), in the units of the arms' features, or of the unit cube that
            a space is mapped to. The fixed kernel has unit variance, and values are taken as they are.
        noise_std: standard deviation of the noise under a fixed kernel, in the units of the objective, at least 1e-6;
            lambda is its square. Without both of them the kernel is learned from the data, on a schedule.
        norm_bound: F, a bound of the objective's RKHS norm under the kernel.
        delta: the probability with which confidence bounds may fail.
        qbar: oversampling of the dictionary. Infinity puts every observed point into it: the exact GP.
        max_dictionary: maximum number of atoms that are drawn, ``None`` for no limit; ``"auto"`` is 96 where the kernel
            is learned, and no limit under a fixed one.
        initial_dictionary: how the first dictionary is drawn from a history, ``"bless"`` or ``"rls"``.
        resparsify: the dictionary is drawn again when the history has grown by this share; in between, new points join
            it with their probability as feedback is taken in. 0 draws it at the end of every batch, as the papers do:
            the default under a fixed kernel. 0.1 by default where the kernel is learned.
        trend: whether a learned kernel has a linear and quadratic part.
        winsorize: whether outliers on the bad side are clipped under a learned kernel.

    Raises:
        ValueError: for a setting outside of what is described here.
        TypeError: for one that is not described here.
    """

    @_checks.settings_by_name
    def __init__(
        self,
        space: Space | Arms | Mapping[str, Any] | None = None,
        *,
        arms: Arms | ArrayLike | None = None,
        direction: str | None = None,
        n_initial: int | None = None,
        seed: _checks.Seed = None,
        avoid_repeats: bool | None = None,
        learn_failures: bool | str = "auto",
        ratio_threshold: float = 2.0,
        stopping: str = "global",
        beta: float | str = 2.0,
        min_batch: int = 1,
        kernel: str = "matern52",
        lengthscale: float | Sequence[float] | Array | None = None,
        noise_std: float | None = None,
        norm_bound: float = 1.0,
        delta: float = 0.1,
        qbar: float = 2.0,
        max_dictionary: int | str | None = "auto",
        initial_dictionary: str = "bless",
        resparsify: float | None = None,
        trend: bool = True,
        winsorize: bool = True,
    ) -> None:
        super().__init__(
            space,
            arms=arms,
            direction=direction,
            n_initial=n_initial,
            seed=seed,
            avoid_repeats=avoid_repeats,
            learn_failures=learn_failures,
            kernel=kernel,
            lengthscale=lengthscale,
            noise_std=noise_std,
            norm_bound=norm_bound,
            delta=delta,
            qbar=qbar,
            max_dictionary=max_dictionary,
            initial_dictionary=initial_dictionary,
            resparsify=resparsify,
            trend=trend,
            winsorize=winsorize,
        )
        self.ratio_threshold = _checks.number("ratio_threshold", ratio_threshold, 1.0)
        self.stopping = _checks.one_of("stopping", stopping, STOPPING)
        self.beta = _checks.number_or(SCHEDULES, "beta", beta)
        self.min_batch = _checks.integer("min_batch", min_batch, 1)
        if min_batch > 1 and ratio_threshold == 1.0:
            raise ValueError(f"min_batch={min_batch} needs a ratio_threshold above 1: at 1 every batch has one point.")
        if min_batch > 1 and self._arms is None:
            raise ValueError(f"min_batch={min_batch} needs arms or a space that can be enumerated, got {self.space!r}.")
        self._confidence = Confidence(self.norm_bound, self.delta)
        self._information_weight = 1.0 if beta == "reference" else 3.0
        self._exploring = self.min_batch > 1

    # -- line 4 ------------------------------------------------------------------------------------------------

    def next_batch(self, limit: int | None = None) -> list[Any]:
        """One whole batch by the rule of the paper, of at most ``limit`` points: to evaluate together, then tell.

        The first batch is the initial design; with ``min_batch``, the whole uncertainty sampling is part of the next.
        """
        return self._handing_out(lambda: self._choose_batch(limit))

    def _choose_batch(self, limit: int | None) -> list[Any]:
        design = self.n_initial - self._history.told - len(self._history.pending)
        batch = [self._hand_out(*self._suggest(None, None, None))]
        if design > 0 or self._model is None:
            wanted = design if limit is None else min(design, limit)
            return batch + [self._hand_out(*self._suggest(None, None, None)) for _ in range(wanted - 1)]
        x = self.space.encode(batch[0])
        while limit is None or len(batch) < limit:
            self._enter([self._pulls.number(x)])
            if self._batch_is_over():
                if not self._exploring:
                    break
                self._end_batch()
            with self._times.ask(self._history.n), self._times.phase("search"):
                x, origin = self._select()
            batch.append(self._hand_out(x, origin))
        return batch

    def _choose(self) -> int:
        assert self._arms is not None
        arm = super()._choose()
        if self._exploring and arm >= 0:
            largest = self._arms.variance(arm) / self._kernel.covariance.noise_variance
            # a batch ends when C~ - 1 <= sum var~' <= size max var~'; var~' <= 3 var~ gives P points, <= 9 var~ P / 3
            if largest <= (self.ratio_threshold - 1.0) / (ACCURACY * self.min_batch):
                self._exploring = False
                if len(self._extra):  # the model took pending points for observations; from now on values matter
                    self._resparsify()
                self._start(self._multiplier, by_variance=self._by_variance)
                arm = super()._choose()
        return arm

    @property
    def _by_variance(self) -> bool:
        return self._exploring

    # -- lines 5 to 8 ------------------------------------------------------------------------------------------

    def _batch_is_over(self) -> bool:
        """Whether the pulls since the last feedback might have shrunk some variance by more than C~.

        Late in a run, where variances are small, a batch would go on for hundreds of points. Where pending points are
        conditioned on exactly, at a cost that grows with them, it ends with `LONGEST` values that were not taken in.
        """
        assert self._model is not None
        if self.resparsify > 0.0 and self._history.n - self._fed_back >= LONGEST:
            return True
        if 1.0 + self._model.total <= self.ratio_threshold or not self._model.batch:
            return False
        return self.stopping == "global" or 1.0 + self._largest_ratio(self._model) > self.ratio_threshold

    def _largest_ratio(self, model: FrozenModel) -> float:
        """An upper bound of ``max_x sum_s k~_fb(x, x_s)^2 / var~_fb(x)`` over the batch, exact above C~ - 1.

        By Cauchy and Schwarz a pull adds at most its ``var~_fb`` to the sum at any ``x``: the sums are computed
        only when that could exceed the threshold.
        """
        if self._arms is None or self.resparsify > 0.0:
            probes = self.space.snap(self._starts.spread(PROBES, np.random.default_rng(self._design_seed)))
            pulled = self._pulls.X[model.batch]
            return float(model.ratios(np.concatenate([probes, pulled]), pulled).max())
        bound = float(np.max(model.ratio_sums)) + sum(model.variances[model.summed :])
        if 1.0 + bound > self.ratio_threshold:
            model.ratio_sums = model.ratio_sums + self._arms.ratios(self._rows()[model.batch[model.summed :]])
            model.summed, bound = len(model.batch), float(np.max(model.ratio_sums))
        return bound

    def _confidence_multiplier(self) -> float:
        if not isinstance(self.beta, str):
            return float(self.beta)
        return self._width(self.beta) / math.sqrt(self._kernel.covariance.noise_variance)

    def _width(self, schedule: str) -> float:
        """alpha_fb of a named schedule."""
        lam = self._kernel.covariance.noise_variance
        return self._confidence.bbkb(schedule, self._information, self.ratio_threshold, lam)

    def _carried(self, gp: SparseGP, arrivals: Indices) -> float:
        """The sum of theorem 2 over what was there before, in order of arrival; the authors' code has log det V."""
        if self.beta != "paper":
            return gp.log_determinant()
        residual = prior_variances(gp.covariance, gp.X) - np.einsum("ij,ij->i", gp.Z, gp.Z)
        return information_of_arrivals(gp.Z[arrivals], residual[arrivals], gp.regularization, self._information_weight)

    def _model_state(self) -> dict[str, Any]:
        return super()._model_state() | {"exploring": self._exploring}

    def _restore_model(self, state: dict[str, Any]) -> None:
        self._exploring = state["exploring"]
        super()._restore_model(state)
