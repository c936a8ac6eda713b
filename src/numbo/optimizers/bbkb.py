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

import copy
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numbo.models import SparseGP
from numbo.optimizers._base import GLOBAL
from numbo.optimizers._frozen_model import FrozenModel
from numbo.optimizers._schedules import Confidence, check_beta
from numbo.optimizers._sparse_optimizer import SparseOptimizer

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

STOPPING = ("global", "global-local")
#: Between two draws a dictionary may outgrow `max_dictionary` by this factor.
OVERGROWTH = 1.25
#: Points of a large space at which lemma 3 is evaluated, beside the batch itself.
PROBES = 256


@dataclass(frozen=True)
class SparseStatus:
    """What the model of a sparse optimizer looks like now.

    Attributes:
        effective_dimension: ``sum var~(x_s)`` over the observations, when the dictionary was last drawn.
        dictionary_size: number of atoms.
        batch_size: pulls since the last feedback.
        batch_sizes: of the batches that ended.
        beta: multiplier of the standard deviation ``sqrt(var~)`` in the upper confidence bound.
        resparsifications: how often a dictionary was drawn.
    """

    effective_dimension: float
    dictionary_size: int
    batch_size: int
    batch_sizes: tuple[int, ...]
    beta: float
    resparsifications: int


class BBKB(SparseOptimizer):
    """Batch budgeted kernelised bandits.

    Args:
        ratio_threshold: C~ >= 1, by how much variances may shrink inside a batch.
        stopping: ``"global"`` (lemma 1) or ``"global-local"`` (lemma 3 once lemma 1 fails: larger batches).
        beta: ``"paper"``, ``"reference"`` (the authors' code), or a multiplier of the standard deviation.
        min_batch: P. Uncertainty sampling until every ``var~ <= 1/P`` guarantees batches of at least P points
            (section 4). For arms and spaces that can be enumerated.
        resparsify: the dictionary is drawn anew when the history has grown by this share; in between, new points
            join it with their probability as feedback is taken in. 0 draws it at the end of every batch, as the
            paper does: the default under a fixed kernel. 0.1 by default where the kernel is learned.
        options: those of `SparseOptimizer`.

    Raises:
        ValueError: for settings outside of what is described here.
    """

    def __init__(
        self,
        space: Any = None,
        *,
        ratio_threshold: float = 2.0,
        stopping: str = "global",
        beta: float | str = 2.0,
        min_batch: int = 1,
        resparsify: float | None = None,
        **options: Any,
    ) -> None:
        super().__init__(space, **options)
        if not (isinstance(ratio_threshold, int | float) and 1.0 <= ratio_threshold < math.inf):
            raise ValueError(f"ratio_threshold must be a number of at least 1, got {ratio_threshold!r}.")
        if stopping not in STOPPING:
            raise ValueError(f"stopping must be one of {STOPPING}, got {stopping!r}.")
        if not (isinstance(min_batch, int | np.integer) and min_batch >= 1):
            raise ValueError(f"min_batch must be a positive integer, got {min_batch!r}.")
        if min_batch > 1 and self._arms is None:
            raise ValueError(f"min_batch={min_batch} needs arms or a space that can be enumerated, got {self.space!r}.")
        resparsify = (0.0 if self._kernel.fixed else 0.1) if resparsify is None else resparsify
        if not 0.0 <= resparsify < math.inf:
            raise ValueError(f"resparsify must be a non-negative number, got {resparsify!r}.")
        self.ratio_threshold, self.stopping = float(ratio_threshold), stopping
        self.beta, self.min_batch, self.resparsify = check_beta(beta), int(min_batch), float(resparsify)
        self._confidence = Confidence(self.norm_bound, self.delta)
        self._model: FrozenModel | None = None
        self._drawn: Indices = np.empty(0, dtype=np.int64)
        self._fed_back = self._drawn_at = self._draws = 0
        self._multiplier = self._information = self._effective_dimension = 0.0
        self._batch_sizes: list[int] = []
        self._exploring = self.min_batch > 1
        self._ratios: tuple[Array, int] | None = None

    @property
    def status(self) -> SparseStatus:
        """Effective dimension, sizes of the dictionary and of the batches, and beta."""
        model = self._model
        return SparseStatus(
            effective_dimension=self._effective_dimension,
            dictionary_size=0 if model is None else model.gp.m,
            batch_size=0 if model is None else len(model.batch),
            batch_sizes=tuple(self._batch_sizes),
            beta=self._multiplier * math.sqrt(self._kernel.covariance.noise_variance),
            resparsifications=self._draws,
        )

    # -- line 4 ------------------------------------------------------------------------------------------------

    def next_batch(self, limit: int | None = None) -> list[Any]:
        """One whole batch by the rule of the paper, of at most ``limit`` points: to evaluate together, then tell.

        The first batch is the initial design; with ``min_batch``, the whole uncertainty sampling is part of the next.
        """
        design = self.n_initial - self._history.n - len(self._history.pending)
        batch = [self.ask()]
        if design > 0 or self._model is None:
            wanted = design if limit is None else min(design, limit)
            return batch + [self.ask() for _ in range(wanted - 1)]
        x = self.space.encode(batch[0])
        while limit is None or len(batch) < limit:
            self._hallucinate(self._pulls.number(x))
            if self._batch_is_over():
                if not self._exploring:
                    break
                self._end_batch()
            x, origin = self._select()
            batch.append(self._hand_out(x, origin))
        return batch

    def _propose(self) -> tuple[Array, int]:
        self._catch_up()
        if self._batch_is_over():
            self._end_batch()
        return self._select()

    def _select(self) -> tuple[Array, int]:
        assert self._model is not None
        if self._arms is None:
            elites = self._elites(self._history.values())
            return self._maximize(self._model.gp, self._multiplier, elites), GLOBAL
        assert self._grid is not None
        arm = self._arms.choose()
        if self._exploring and arm >= 0:
            largest = self._arms.variance(arm) / self._kernel.covariance.noise_variance
            if largest <= 1.0 / self.min_batch:
                self._exploring = False
                self._arms.start(self._multiplier, self._excluded())
                arm = self._arms.choose()
        return (self._space_filling() if arm < 0 else self._grid[arm]), GLOBAL

    # -- lines 5 to 8 ------------------------------------------------------------------------------------------

    def _batch_is_over(self) -> bool:
        """Whether the pulls since the last feedback might have shrunk some variance by more than C~."""
        assert self._model is not None
        total = sum(self._model.variances)
        if 1.0 + total <= self.ratio_threshold or not self._model.batch:
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
        ratios, included = (0.0, 0) if self._ratios is None else self._ratios
        bound = float(np.max(ratios)) + sum(model.variances[included:])
        if 1.0 + bound > self.ratio_threshold:
            ratios = ratios + self._arms.ratios(self._rows()[model.batch[included:]])
            self._ratios, bound = (ratios, len(model.batch)), float(np.max(ratios))
        return bound

    def _catch_up(self) -> None:
        """Hallucinate what was pulled since the model was last looked at; make a model if there is none."""
        told, pending = self._pulls.told(self._history), self._pending()
        if self._model is None:
            self._resparsify()
            return
        wanted = self._pulls.counts(np.concatenate([told, pending]))
        missing = wanted - self._entered()
        if (missing < 0).any():  # a point was released: what it did to the variances cannot be taken back alone
            self._model.thaw()
            missing = wanted - self._entered()
            self._show()
        for number in np.repeat(np.flatnonzero(missing), missing[missing > 0]).tolist():
            self._hallucinate(number)

    def _pending(self) -> Indices:
        return self._pulls.pending(self._history.pending.values())

    def _entered(self) -> Indices:
        """How often each point (numbers,) entered the model."""
        assert self._model is not None
        batch = np.array(self._model.batch, dtype=np.int64)
        return self._pulls.counts(np.concatenate([self._pulls.told(self._history, self._fed_back), batch]))

    def _hallucinate(self, number: int, grow: bool | None = None) -> None:
        model, x = self._model, self._pulls.X[number]
        assert model is not None
        if self._arms is not None and self.resparsify == 0.0:
            mean, variance = self._arms.prospect(int(self._rows()[number]))
            variance /= model.gp.regularization
        else:
            mean, variance = model.prospect(x)
        direction = model.hallucinate(number, x, mean, variance, self._joins(variance) if grow is None else grow)
        if self._arms is not None:
            if direction is None:
                self._show()
            else:
                self._arms.observe(direction)
            if self.avoid_repeats:
                self._arms.exclude(int(self._rows()[number]))

    def _joins(self, variance: float) -> bool:
        """Whether a new point joins the dictionary between two draws."""
        assert self._model is not None
        if self.resparsify == 0.0 or self._overgrown():
            return False
        return bool(self._rng.random() < self.qbar * variance)

    def _overgrown(self) -> bool:
        assert self._model is not None
        return self.max_dictionary is not None and self._model.gp.m >= OVERGROWTH * self.max_dictionary

    # -- lines 11 to 18 ----------------------------------------------------------------------------------------

    def _end_batch(self) -> None:
        model, n = self._model, self._history.n
        assert model is not None
        told = self._pulls.told(self._history)
        arrived = self._pulls.counts(told[self._fed_back :])
        weight = self._confidence.weight(str(self.beta))
        for number, variance in zip(model.batch, model.variances, strict=True):
            if arrived[number] > 0:
                arrived[number] -= 1
                self._information += math.log1p(weight * variance)
        if n > self._fed_back:
            self._batch_sizes.append(n - self._fed_back)
        drawn_long_ago = n >= self._drawn_at * (1.0 + self.resparsify) or self._overgrown()
        if drawn_long_ago or self._kernel.due(n):
            self._resparsify()
            return
        fresh = [(int(number), model.prospect(self._pulls.X[number])[1]) for number in told[self._fed_back :]]
        model.thaw()
        for number, variance in fresh:
            model.learn(number, self._pulls.X[number], self._joins(variance))
        self._settle()

    def _resparsify(self) -> None:
        """Draw a dictionary from all points, told and pending, and condition on the observations."""
        history, pulls, old = self._history, self._pulls, self._model
        told, pending = pulls.told(history), self._pending()
        wanted, counts = pulls.counts(np.concatenate([told, pending])), pulls.counts(told)
        points, numbers = np.flatnonzero(counts), np.flatnonzero(wanted)
        learned = self._kernel.due(history.n)
        if learned:
            self._kernel.learn(history.X, history.values(), self._rng)
        if old is None:
            chosen, certain = self._first_dictionary(pulls.X[points])
            numbers = points
        else:
            leverage = self._leverages(old, numbers, points, counts, learned) * wanted[numbers]
            chosen, certain = self._draw(leverage)
        self._drawn = numbers[chosen]
        gp = SparseGP(self._kernel.covariance, pulls.X[self._drawn])
        gp.condition(pulls.X[points], counts[points].astype(np.float64))
        self._model = FrozenModel(gp, points, self._drawn[gp.kept])
        self._effective_dimension = float(counts[points] @ gp.variances())
        if old is None:
            self._information = gp.log_determinant()
        self._drawn_at, self._draws = history.n, self._draws + 1
        self._settle(certain[gp.kept])

    def _leverages(self, old: FrozenModel, numbers: Indices, points: Indices, counts: Indices, learned: bool) -> Array:
        """``var~_fb`` of the points ``numbers``; under a new covariance, ``var~`` on the old dictionary."""
        out = np.zeros(self._pulls.u)
        if learned:
            gp = SparseGP(self._kernel.covariance, old.gp.dictionary)
            gp.condition(self._pulls.X[points], counts[points].astype(np.float64))
            out[numbers] = gp.predict(self._pulls.X[numbers])[1]
            return out[numbers]
        out[old.batch] = old.variances
        batch = dict(zip(old.batch, old.variances, strict=True))
        old.thaw()
        out[old.points] = old.gp.variances()
        unknown = [int(i) for i in numbers if out[i] == 0.0 and int(i) not in batch]
        if unknown:
            out[unknown] = old.gp.predict(self._pulls.X[unknown])[1]
        return out[numbers]

    def _settle(self, lasting: NDArray[np.bool_] | None = None) -> None:
        """Take in the values that have arrived, and hallucinate what is still out."""
        model, history = self._model, self._history
        assert model is not None
        self._feed(history.n)
        lam = self._kernel.covariance.noise_variance
        self._multiplier = float(self.beta) if not isinstance(self.beta, str) else self._width(self.beta) / math.sqrt(lam)
        self._show(lasting)
        for number in self._pending().tolist():
            self._hallucinate(number)

    def _feed(self, n: int) -> None:
        """Set the values of the first ``n`` observations and freeze the model there."""
        assert self._model is not None
        values = self._kernel.transformed(self._history.values(n))
        told = self._pulls.told(self._history, n)
        self._model.set_sums(np.bincount(told, weights=values, minlength=self._pulls.u))
        self._model.freeze()
        self._fed_back = n

    def _width(self, schedule: str) -> float:
        """alpha_fb of a named schedule."""
        lam = self._kernel.covariance.noise_variance
        return self._confidence.bbkb(schedule, self._information, self.ratio_threshold, lam)

    def _show(self, lasting: NDArray[np.bool_] | None = None) -> None:
        """Let the arms, if there are any, take in the model as it is now."""
        model, self._ratios = self._model, None
        if self._arms is None or model is None:
            return
        rows, certain = self._rows(), np.zeros(len(model.atoms), dtype=bool) if lasting is None else lasting
        self._arms.condition(model.gp, rows[model.points], rows[model.atoms], certain)
        self._arms.start(self._multiplier, self._excluded(), by_variance=self._exploring)

    # -- the rest ----------------------------------------------------------------------------------------------

    def _predict(self, X: Array) -> tuple[Array, Array]:
        probe = copy.copy(self)  # looking at the model changes nothing about what is suggested next
        probe._rng, probe._model, probe._kernel = copy.deepcopy((self._rng, self._model, self._kernel))
        probe._history, probe._arms = copy.copy(self._history), None
        probe._history.pending = {}
        if probe._model is not None and probe._fed_back < probe._history.n:
            probe._batch_sizes = []
            probe._catch_up()
            probe._end_batch()
        elif probe._model is None:
            probe._resparsify()
        else:
            probe._model.thaw()
        assert probe._model is not None
        return probe._to_user(probe._model.gp, X)

    def _settings(self) -> dict[str, Any]:
        names = ("ratio_threshold", "stopping", "beta", "min_batch", "resparsify")
        return super()._settings() | {name: getattr(self, name) for name in names}

    def _model_state(self) -> dict[str, Any]:
        model = self._model
        state = super()._model_state() | {
            "counters": (self._fed_back, self._drawn_at, self._draws, self._exploring),
            "numbers": (self._multiplier, self._information, self._effective_dimension),
            "batch_sizes": list(self._batch_sizes),
        }
        if model is None:
            return state
        return state | {
            "drawn": self._drawn.copy(),
            "learned": list(model.learned),
            "batch": list(zip(model.batch, model.grown, strict=True)),
        }

    def _restore_model(self, state: dict[str, Any]) -> None:
        """Build the model by the same steps as it was, so that it is the same to the last bit."""
        super()._restore_model(state)
        self._fed_back, self._drawn_at, self._draws, self._exploring = state["counters"]
        self._multiplier, self._information, self._effective_dimension = state["numbers"]
        self._batch_sizes = list(state["batch_sizes"])
        if "drawn" not in state:
            return
        pulls, self._drawn = self._pulls, state["drawn"].copy()
        counts = pulls.counts(pulls.told(self._history, self._drawn_at))
        points = np.flatnonzero(counts)
        gp = SparseGP(self._kernel.covariance, pulls.X[self._drawn])
        gp.condition(pulls.X[points], counts[points].astype(np.float64))
        self._model = FrozenModel(gp, points, self._drawn[gp.kept])
        for number, grow in state["learned"]:
            self._model.learn(number, pulls.X[number], grow)
        self._feed(self._fed_back)
        self._show()
        for number, grow in state["batch"]:
            self._hallucinate(number, grow)
