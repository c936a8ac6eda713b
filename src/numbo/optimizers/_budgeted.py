"""The life of a budgeted model: pulls enter it, a dictionary is drawn, feedback is taken in.

`numbo.optimizers.bbkb` and `numbo.optimizers.sbpe` say when; what happens is the same.
"""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numbo import _checks
from numbo.kernels.acquisition import UCB, Acquisition, Posterior, acquisition_values
from numbo.models import SparseGP
from numbo.optimizers._base import GLOBAL
from numbo.optimizers._frozen_model import FrozenModel
from numbo.optimizers._inspection import SparseStatus
from numbo.optimizers._kernel import KernelSchedule
from numbo.optimizers._sparse_optimizer import SPREAD, SparseOptimizer

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

#: Between two draws a dictionary may outgrow `max_dictionary` by this factor.
OVERGROWTH = 1.25


class BudgetedOptimizer(SparseOptimizer):
    """A `SparseOptimizer` whose model is frozen between feedbacks (`numbo.optimizers._frozen_model`).

    Args:
        resparsify: the dictionary is drawn anew when the history has grown by this share; in between, new points
            join it with their probability as feedback is taken in. 0 draws it at the end of every batch, as the
            papers do: the default under a fixed kernel. 0.1 by default where the kernel is learned.
        options: those of `SparseOptimizer`.
    """

    def __init__(self, space: Any = None, *, resparsify: float | None = None, **options: Any) -> None:
        super().__init__(space, **options)
        resparsify = (0.0 if self._kernel.fixed else 0.1) if resparsify is None else resparsify
        self.resparsify = _checks.number("resparsify", resparsify, 0.0)
        self._model: FrozenModel | None = None
        self._drawn: Indices = np.empty(0, dtype=np.int64)
        self._drawn_from = self._extra = self._drawn
        self._window = self._fed_back = self._drawn_at = self._draws = 0
        self._multiplier = self._information = self._effective_dimension = 0.0
        self._batch_sizes: list[int] = []

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

    # -- what an algorithm supplies ------------------------------------------------------------------------------

    @abstractmethod
    def _batch_is_over(self) -> bool:
        """Whether the model has to take in feedback, or to draw a new dictionary, before it is used again."""

    @abstractmethod
    def _confidence_multiplier(self) -> float:
        """What multiplies the standard deviation ``sqrt(lambda var~)`` until the next feedback."""

    def _learning_is_due(self) -> bool:
        """Whether the covariance is to be learned anew before the next dictionary is drawn."""
        return self._kernel.due(self._history.n)

    def _carried(self, gp: SparseGP, arrivals: Indices) -> float:
        """The information that the observations carry which a model starts from: rows (n,) of its points, in order."""
        return gp.log_determinant()

    #: w of the information ``sum log(1 + w var~_fb(x_s))`` that pulls carry.
    _information_weight = 3.0

    @property
    def _by_variance(self) -> bool:
        """Whether arms are chosen by their variance alone."""
        return False

    def _count_batch(self, size: int) -> None:
        """Take note that ``size`` values were taken in together."""
        self._batch_sizes.append(size)

    # -- choosing ----------------------------------------------------------------------------------------------

    def _propose(self) -> tuple[Array, int]:
        # the search has a stream of its own: what it draws does not depend on what the model had to draw before
        self._search_rng = np.random.default_rng(int(self._rng.integers(2**63)))
        with self._times.phase("model"):
            self._catch_up()
            if self._batch_is_over() and (self.resparsify == 0.0 or self._history.n > self._fed_back):
                self._end_batch()
        with self._times.phase("search"):
            return self._select()

    def _select(self) -> tuple[Array, int]:
        assert self._model is not None
        if self._arms is None:
            elites = self._elites(self._history.values())
            groups = self._starts.groups(elites, self._kernel.lengthscales, self._search_rng, SPREAD)
            x = self._maximize(self._given_batch(), self._multiplier, groups, self.taken)
            return (self._space_filling() if x is None else x), GLOBAL
        assert self._grid is not None
        if self._weigh_arms() or self._pinned is not None or self._sliced:
            self._start(self._multiplier, by_variance=self._by_variance)
        arm = self._choose()
        return (self._space_filling() if arm < 0 else self._grid[arm]), GLOBAL

    def _given_batch(self) -> Posterior:
        """The posterior with all pulls of the batch hallucinated, exactly."""
        assert self._model is not None
        return self._model.gp.extended(self._pulls.X[self._model.batch])

    @property
    def _one_by_one(self) -> bool:
        """Whether pulls are hallucinated one by one, as in the papers."""
        return self._arms is not None and self.resparsify == 0.0

    def _choose(self) -> int:
        """The next arm, -1 if none is left."""
        assert self._arms is not None
        return self._arms.choose()

    # -- pulls -----------------------------------------------------------------------------------------------

    def _catch_up(self) -> None:
        """Hallucinate what was pulled since the model was last looked at; make a model if there is none."""
        told, pending = self._told(), self._pending()
        if self._model is None:
            self._resparsify()
            return
        if (self._missing(told, pending) < 0).any():  # a point was released: its pull cannot be taken back alone
            self._model.thaw()
            if (self._missing(told, pending) < 0).any():
                self._resparsify()
                return
            self._show()
        self._enter_missing(self._missing(told, pending))

    def _told(self, n: int | None = None) -> Indices:
        """Numbers of the points of the observations that the model is about, up to the ``n``-th of the history."""
        return self._pulls.told(self._history, n)[self._window :]

    def _pending(self) -> Indices:
        return self._pulls.pending(self._history.pending.values())

    def _missing(self, told: Indices, pending: Indices) -> Indices:
        """How many pulls of each point (numbers,) did not enter the model yet."""
        assert self._model is not None
        wanted = self._pulls.counts(np.concatenate([told, pending]))
        batch = np.array(self._model.batch, dtype=np.int64)
        return wanted - self._pulls.counts(np.concatenate([self._told(self._fed_back), self._extra, batch]))

    def _enter_missing(self, missing: Indices) -> None:
        """Hallucinate the ``missing`` pulls of each point (numbers,)."""
        self._enter(np.repeat(np.flatnonzero(missing > 0), missing[missing > 0]).tolist())

    def _enter(self, numbers: list[int]) -> None:
        """Take the pulls ``numbers`` into the batch."""
        if self._one_by_one:
            for number in numbers:
                self._hallucinate(number)
        elif numbers:
            assert self._model is not None
            for number, variance in zip(numbers, self._model.variance(self._pulls.X[numbers]), strict=True):
                self._model.note(number, float(variance))
            self._show()

    def _hallucinate(self, number: int) -> None:
        """Pull an arm."""
        model, row = self._model, int(self._rows()[number])
        assert model is not None
        assert self._arms is not None
        mean, variance = self._arms.prospect(row)
        model.note(number, variance / model.gp.regularization)
        self._arms.observe(model.pull(number, self._pulls.X[number], mean))
        if self.avoid_repeats:
            self._arms.exclude(row)

    def _joins(self, variance: float) -> bool:
        """Whether a new point joins the dictionary between two draws."""
        assert self._model is not None
        if self.resparsify == 0.0 or self._overgrown():
            return False
        return bool(self._rng.random() < self.qbar * variance)

    def _overgrown(self) -> bool:
        assert self._model is not None
        return self.max_dictionary is not None and self._model.gp.m >= OVERGROWTH * self.max_dictionary

    # -- dictionary and feedback -------------------------------------------------------------------------------

    def _end_batch(self) -> None:
        model, n = self._model, self._history.n
        assert model is not None
        told = self._told()
        fresh = told[self._fed_back - self._window :]
        arrived = self._pulls.counts(fresh)
        for number, variance in zip(model.batch, model.variances, strict=True):
            if arrived[number] > 0:
                arrived[number] -= 1
                self._information += math.log1p(self._information_weight * variance)
        if n > self._fed_back:
            self._count_batch(n - self._fed_back)
        drawn_long_ago = n - self._drawn_at >= self.resparsify * (self._drawn_at - self._window) or self._overgrown()
        if drawn_long_ago or self._learning_is_due() or len(self._extra):
            self._resparsify()
            return
        variances = model.variance(self._pulls.X[fresh])
        model.thaw()
        for number, variance in zip(fresh.tolist(), variances, strict=True):
            model.learn(number, self._pulls.X[number], self._joins(variance))
        self._settle()

    def _resparsify(self) -> None:
        """Draw a dictionary from all points, told and pending, and condition on the observations.

        Where values do not matter, pending points are conditioned on like the others.
        """
        history, pulls, old = self._history, self._pulls, self._model
        told, pending = self._told(), self._pending()
        self._extra = pending if self._by_variance and self._one_by_one else pending[:0]
        wanted = pulls.counts(np.concatenate([told, pending]))
        counts = pulls.counts(np.concatenate([told, self._extra]))
        points, numbers = np.flatnonzero(counts), np.flatnonzero(wanted)
        learned = self._learning_is_due()
        if learned:
            self._kernel.learn(history.X, history.values(), self._rng)
        if old is None:
            chosen, certain = self._first_dictionary(pulls.X[numbers])
        else:
            leverage = self._leverages(old, numbers, points, counts, learned) * wanted[numbers]
            chosen, certain = self._draw(leverage)
        self._drawn = numbers[chosen]
        gp = self._conditioned(numbers, counts[numbers])
        self._model = FrozenModel(gp, numbers, self._drawn[gp.kept])
        self._effective_dimension = float(counts[numbers] @ gp.variances())
        if old is None or self._by_variance:
            self._information = self._carried(gp, np.searchsorted(numbers, np.concatenate([told, self._extra])))
        self._drawn_at, self._draws = history.n, self._draws + 1
        self._settle(certain[gp.kept])

    def _conditioned(self, numbers: Indices, counts: Indices) -> SparseGP:
        """The model of the points ``numbers (u,)``, pulled ``counts (u,)`` times, on the dictionary that was drawn."""
        self._drawn_from = numbers
        atoms = np.searchsorted(numbers, self._drawn)
        return SparseGP.over(self._kernel.covariance, self._pulls.X[numbers], counts.astype(np.float64), atoms)

    def _leverages(self, old: FrozenModel, numbers: Indices, points: Indices, counts: Indices, learned: bool) -> Array:
        """``var~_fb`` of the points ``numbers``; under a new covariance, ``var~`` on the old dictionary."""
        out = np.zeros(self._pulls.u)
        if learned:
            gp = SparseGP(self._kernel.covariance, old.gp.dictionary)
            gp.condition(self._pulls.X[points], counts[points].astype(np.float64))
            out[numbers] = gp.predict(self._pulls.X[numbers])[1]
            return out[numbers]
        out[old.batch] = old.variances
        batch = np.array(old.batch, dtype=np.int64)
        old.thaw()
        out[old.points] = old.gp.variances()
        unknown = np.setdiff1d(numbers, np.concatenate([old.points, batch]))
        if len(unknown):
            out[unknown] = old.gp.predict(self._pulls.X[unknown])[1]
        return out[numbers]

    def _settle(self, lasting: NDArray[np.bool_] | None = None) -> None:
        """Take in the values that have arrived, and hallucinate what is still out."""
        model, history = self._model, self._history
        assert model is not None
        self._feed(history.n)
        self._multiplier = self._confidence_multiplier()
        self._show(lasting)
        self._enter_missing(self._missing(self._told(), self._pending()))

    def _feed(self, n: int) -> None:
        """Set the values of the first ``n`` observations and freeze the model there."""
        assert self._model is not None
        values = self._kernel.transformed(self._history.values(n))[self._window :]
        told = self._told(n)
        self._model.set_sums(np.bincount(told, values, self._pulls.u).astype(np.float64))
        self._model.freeze()
        self._fed_back = n

    def _show(self, lasting: NDArray[np.bool_] | None = None) -> None:
        """Let the arms, if there are any, take in the model as it is now."""
        model = self._model
        if self._arms is None or model is None:
            return
        rows = self._rows()
        together = model.batch if not self._one_by_one else []
        stands_for = np.concatenate([model.atoms, np.array(together, dtype=np.int64)])
        certain = np.zeros(len(stands_for), dtype=bool)
        if not self._one_by_one:
            certain[: len(model.atoms)] = True  # until the next draw, atoms only come
        elif lasting is not None:
            certain[: len(model.atoms)] = lasting
        posterior = model.gp.extended(self._pulls.X[together])
        self._arms.condition(model.gp, rows[model.points], rows[stands_for], certain, posterior)
        self._start(self._multiplier, by_variance=self._by_variance)

    # -- the rest ----------------------------------------------------------------------------------------------

    def _bring_up_to_date(self) -> None:
        parts = (self._model, self._kernel, self._pulls, self._feasibility)
        self._model, self._kernel, self._pulls, self._feasibility = copy.deepcopy(parts)
        ended, self._batch_sizes, self._arms = self._batch_sizes, [], None
        if self._model is None:
            self._resparsify()
        elif self._fed_back < self._history.n or len(self._extra):
            self._catch_up()
            self._end_batch()
        else:
            self._model.thaw()
        self._batch_sizes = ended  # this is no end of a batch
        assert self._model is not None
        kernel = self._kernel.shown(self._history.X, self._history.values(), self._rng)
        self._shown = kernel, self._model.gp if kernel is self._kernel else self._conditioned_by(kernel)

    def _conditioned_by(self, kernel: KernelSchedule) -> SparseGP:
        """A model of all observations under another ``kernel``, on the same dictionary."""
        assert self._model is not None
        told, pulls = self._told(), self._pulls
        counts = pulls.counts(told)
        points = np.flatnonzero(counts)
        gp = SparseGP(kernel.covariance, self._model.gp.dictionary)
        gp.condition(pulls.X[points], counts[points].astype(np.float64))
        values = kernel.transform.forward(self._history.values())[self._window :]
        gp.set_values(np.bincount(told, values, pulls.u)[points].astype(np.float64))
        return gp

    def _acquire(self, X: Array) -> Array:
        assert self._model is not None
        posterior = self._model.gp.posterior
        if self._by_variance:
            posterior = posterior._replace(alpha=np.zeros(posterior.n))
        acquisition = Acquisition(UCB, self._multiplier, self._success(), self._worst(posterior))
        values: Array = acquisition_values(posterior, acquisition, X)
        return values

    def _describe(self) -> dict[str, Any]:
        assert self._model is not None
        kernel, _ = self._shown
        numbers, first = np.unique(self._pulls.told(self._history, None), return_index=True)
        return {
            "members": self._history.order_of(np.sort(first[np.isin(numbers, self._model.atoms)])),
            "lengthscales": dict(zip(self.parameter_names, kernel.lengthscales.tolist(), strict=True)),
            "noise_std": math.sqrt(kernel.covariance.noise_variance) * kernel.transform.scale,
            "beta": None if self._by_variance else self._multiplier,
            "effective_dimension": self._effective_dimension,
            "batch_sizes": tuple(self._batch_sizes),
        }

    def _model_state(self) -> dict[str, Any]:
        model = self._model
        state = super()._model_state() | {
            "counters": (self._window, self._fed_back, self._drawn_at, self._draws),
            "numbers": (self._multiplier, self._information, self._effective_dimension),
            "batch_sizes": list(self._batch_sizes),
        }
        if model is None:
            return state
        return state | {
            "drawn": self._drawn.copy(),
            "extra": self._extra.copy(),
            "numbers_drawn_from": self._drawn_from.copy(),
            "learned": list(model.learned),
            "batch": list(model.batch),
        }

    def _restore_model(self, state: dict[str, Any]) -> None:
        """Build the model by the same steps as it was, so that it is the same to the last bit."""
        super()._restore_model(state)
        self._window, self._fed_back, self._drawn_at, self._draws = state["counters"]
        self._multiplier, self._information, self._effective_dimension = state["numbers"]
        self._batch_sizes = list(state["batch_sizes"])
        if "drawn" not in state:
            return
        pulls, self._drawn, self._extra = self._pulls, state["drawn"].copy(), state["extra"].copy()
        numbers = state["numbers_drawn_from"]
        counts = pulls.counts(np.concatenate([self._told(self._drawn_at), self._extra]))[numbers]
        gp = self._conditioned(numbers, counts)
        self._model = FrozenModel(gp, numbers, self._drawn[gp.kept])
        for number, grow in state["learned"]:
            self._model.learn(number, pulls.X[number], grow)
        self._feed(self._fed_back)
        self._show()
        self._enter(state["batch"])
