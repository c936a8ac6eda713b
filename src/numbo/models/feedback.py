"""The model of BKB, BBKB and S-BPE: a sparse posterior that takes values in batch by batch.

Between two feedbacks a `BatchModel` hallucinates pulls. A feedback takes in the values that have arrived, and either
draws a new dictionary or lets new points join the current one; the algorithms decide when.

Model and chooser call each other: `sync`, `take_in` and `redraw` change the model, then call ``chooser.show``. A pull
goes ``model.enter -> chooser.pull -> batch.note, batch.pull``; if not one by one, `enter` notes all and calls ``show``.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from numbo._types import Array, Indices, Mask, PointNumbers
from numbo.kernels.acquisition import UCB, Acquisition, Posterior, Success
from numbo.models.batch_model import Base, Batch
from numbo.models.confidence import Information
from numbo.models.dictionaries import DictionaryRule
from numbo.models.learned_kernel import LearnedKernel
from numbo.models.sparse_gp import SparseGP
from numbo.models.view import ModelView
from numbo.trials import History, Pulls


class Chooser:
    """Chooses the next point by a `FeedbackModel`, and is notified of its changes.

    Attributes:
        one_by_one: whether pulls are hallucinated one by one, each an update of V, as in the papers.
    """

    one_by_one = False

    def show(self, model: FeedbackModel, certain: Mask | None = None) -> None:
        """The posterior has changed; ``certain (m,)`` marks the atoms drawn with probability 1."""

    def pull(self, model: FeedbackModel, number: int) -> None:
        """Add the point ``number`` to the batch, if pulls are hallucinated one by one."""
        raise NotImplementedError


@dataclass(frozen=True)
class SparseStatus:
    """The present state of a sparse optimizer's model.

    Attributes:
        effective_dimension: ``sum var~(x_s)`` over the observations, when the dictionary was last drawn.
        dictionary_size: number of atoms.
        batch_size: number of pulls since the last feedback.
        batch_sizes: of the completed batches, by the values that were taken in.
        beta_tilde: multiplier of ``sqrt(var~)`` in the upper confidence bound; `Explanation.beta` is that of the
            standard deviation ``sqrt(lambda var~)``.
        resparsifications: number of dictionaries drawn.
    """

    effective_dimension: float
    dictionary_size: int
    batch_size: int
    batch_sizes: tuple[int, ...]
    beta_tilde: float
    resparsifications: int


class FeedbackModel:
    """A sparse posterior with delayed feedback (Calandriello et al. 2020, algorithm 1, lines 7 to 18).

    Args:
        d: number of coordinates.
        kernel: the covariance function.
        dictionary: how dictionaries are drawn.
        resparsify: a dictionary is drawn again when the history has grown by this share; in between, new points join
            it with their sampling probability. 0 draws one at every feedback, as in the papers.
        width: returns the multiplier of ``sqrt(lambda var~)`` in confidence bounds; called after each feedback.
        counting: how the information of confidence schedules is counted.

    Attributes:
        batch: the pulls since the last feedback, over the posterior then.
        chooser: notified of changes.
        by_variance: whether points are chosen by their variance alone. Pending points are then as good as observations.
        on_schedule: whether the kernel is learned again as the history grows; otherwise the owner decides.
        window: index of the first observation that the model uses.
        fed_back, drawn_at: number of observations at the last feedback and at the last draw of a dictionary.
        draws: number of dictionaries drawn.
        multiplier: the present multiplier of ``sqrt(lambda var~)``.
        information: ``sum log(1 + w var~_fb(x_s))`` over all pulls.
        effective_dimension: ``sum var~(x_s)`` over the observations, at the last draw.
    """

    def __init__(
        self,
        d: int,
        kernel: LearnedKernel,
        dictionary: DictionaryRule,
        *,
        resparsify: float,
        width: Callable[[FeedbackModel], float],
        counting: Information = Information(),  # noqa: B008, it is frozen
    ) -> None:
        self.kernel = kernel
        self.dictionary = dictionary
        self.resparsify = resparsify
        self._width = width
        self._counting = counting
        self.pulls = Pulls(d)
        self.chooser = Chooser()
        self.by_variance = False
        self.on_schedule = True
        self.batch = self._nothing()
        self._drawn: PointNumbers = np.empty(0, dtype=np.int64)  # numbers of the atoms as they were drawn
        self._drawn_from = self._drawn  # the points they were drawn from; pending points assumed told
        self._assumed = self._drawn_from
        self.window = 0
        self.fed_back = 0
        self.drawn_at = 0
        self.draws = 0
        self.multiplier = 0.0
        self.information = 0.0
        self.effective_dimension = 0.0

    @property
    def empty(self) -> bool:
        """Whether no dictionary has been drawn yet."""
        return self.base.gp.m == 0

    @property
    def base(self) -> Base:
        """The posterior at the last feedback; the prior if there was none."""
        return self.batch.base

    def _nothing(self) -> Batch:
        """Line 2: the dictionary is empty, and nothing was fed back."""
        return Batch(Base.prior(self.kernel.covariance, self.pulls.d))

    @property
    def assumes(self) -> bool:
        """Whether pending points were treated as observations when the dictionary was drawn."""
        return len(self._assumed) > 0

    def given_batch(self) -> Posterior:
        """The posterior with all pulls of the batch hallucinated jointly and exactly."""
        return self.base.gp.extended(self.pulls.X[self.batch.pulls])

    def forget(self) -> None:
        """Discard the model: the next dictionary is a first one, of the observations from `window` on."""
        self.batch = self._nothing()
        self._assumed = self._assumed[:0]
        self.fed_back = self.window
        self.drawn_at = self.fed_back

    # -- pulls -------------------------------------------------------------------------------------------------

    def sync(self, history: History, rng: np.random.Generator) -> None:
        """Lines 7 and 8: hallucinate what was pulled since the last call; draw a first dictionary if there is none."""
        if self.empty:
            self.redraw(history, rng)
            return
        if (self._missing(history) < 0).any():  # a point was released: a single pull cannot be undone
            self.batch = Batch(self.base)
            if (self._missing(history) < 0).any():
                self.redraw(history, rng)
                return
            self.chooser.show(self)
        self._enter_missing(history)

    def told(self, history: History, n: int | None = None) -> PointNumbers:
        """Numbers of the points of the observations that the model uses, of the first ``n`` in the history."""
        return self.pulls.told(history, n)[self.window :]

    def _missing(self, history: History) -> Indices:
        """How many pulls of each point (numbers,) have not entered the model yet."""
        wanted = self.pulls.counts(np.concatenate([self.told(history), self._pending(history)]))
        batch = np.array(self.batch.pulls, dtype=np.int64)
        known = np.concatenate([self.told(history, self.fed_back), self._assumed, batch])
        return wanted - self.pulls.counts(known)

    def _pending(self, history: History) -> PointNumbers:
        return self.pulls.pending(history.pending.values())

    def _enter_missing(self, history: History) -> None:
        missing = self._missing(history)
        self.enter(np.repeat(np.flatnonzero(missing > 0), missing[missing > 0]).tolist())

    def enter(self, numbers: list[int]) -> None:
        """Add the pulls ``numbers`` to the batch."""
        if self.chooser.one_by_one:
            for number in numbers:
                self.chooser.pull(self, number)
        elif numbers:
            for number, variance in zip(numbers, self.base.variance(self.pulls.X[numbers]), strict=True):
                self.batch.note(number, float(variance))
            self.chooser.show(self)

    # -- feedback ----------------------------------------------------------------------------------------------

    def may_take_in(self, history: History) -> bool:
        """Whether there is feedback to take in. Taken literally, the algorithm also draws a dictionary without any."""
        return self.resparsify == 0.0 or history.n > self.fed_back

    def take_in(self, history: History, rng: np.random.Generator) -> None:
        """Lines 11 to 18: take in the values that have arrived, with a new dictionary if one is due."""
        batch = self.batch
        n = history.n
        told = self.told(history)
        fresh = told[self.fed_back - self.window :]
        arrived = self.pulls.counts(fresh)
        for number, variance in zip(batch.pulls, batch.variances, strict=True):
            if arrived[number] > 0:
                arrived[number] -= 1
                self.information += math.log1p(self._counting.weight * variance)
        grown = n - self.drawn_at >= self.resparsify * (self.drawn_at - self.window)
        if grown or self.dictionary.overgrown(self.base.gp.m) or self._learning_is_due(n) or self.assumes:
            self.redraw(history, rng)
            return
        variances = self.base.variance(self.pulls.X[fresh])

        def joins(i: int, size: int) -> bool:
            return self.resparsify > 0.0 and self.dictionary.joins(variances[i], size, rng)

        self.batch = Batch(self.base.taking_in(fresh, self.pulls.X, joins, self._sums(history)))
        self._start_batch(history)

    def _learning_is_due(self, n: int) -> bool:
        return (self.on_schedule or self.kernel.fits.at == 0) and self.kernel.due(n)

    def redraw(self, history: History, rng: np.random.Generator) -> None:
        """Lines 11 to 16: draw a dictionary from all points, told and pending, and condition on the observations.

        If points are chosen by variance alone and pulled one by one, pending points are conditioned on like the others.
        """
        pulls = self.pulls
        first = self.empty
        told = self.told(history)
        pending = self._pending(history)
        self._assumed = pending if self.by_variance and self.chooser.one_by_one else pending[:0]
        wanted = pulls.counts(np.concatenate([told, pending]))
        counts = pulls.counts(np.concatenate([told, self._assumed]))
        numbers = np.flatnonzero(wanted)
        learned = self._learning_is_due(history.n)
        if learned:
            self.kernel.learn(history.X, history.values(), rng)
        if first:
            chosen, certain = self.dictionary.first(self.kernel.covariance, pulls.X[numbers], rng)
        else:
            leverage = self._leverages(numbers, counts, learned) * wanted[numbers]
            chosen, certain = self.dictionary.draw(leverage, rng)
        self._drawn = numbers[chosen]
        self._drawn_from = numbers
        gp = self._conditioned(counts)
        self.effective_dimension = float(counts[numbers] @ gp.variances())
        self.batch = Batch(Base(gp, numbers, self._drawn[gp.kept], self._sums(history)))
        if first or self.by_variance:  # batches count neither a first history nor pulls assumed told
            arrivals = np.searchsorted(numbers, np.concatenate([told, self._assumed]))
            self.information = self._counting.carried(gp, arrivals)
        self.drawn_at = history.n
        self.draws = self.draws + 1
        self._start_batch(history, certain[gp.kept])

    def _conditioned(self, counts: Indices) -> SparseGP:
        """The model on the last dictionary, of the points it was drawn from, pulled ``counts (numbers,)`` times."""
        numbers = self._drawn_from
        atoms = np.searchsorted(numbers, self._drawn)
        return SparseGP.over(self.kernel.covariance, self.pulls.X[numbers], counts[numbers].astype(np.float64), atoms)

    def _leverages(self, numbers: PointNumbers, counts: Indices, learned: bool) -> Array:
        """``var~_fb`` of the points ``numbers``; under a new covariance, ``var~`` on the present dictionary."""
        X = self.pulls.X
        base = self.base
        out = np.zeros(self.pulls.u)
        if learned:
            points = np.flatnonzero(counts)
            gp = SparseGP(self.kernel.covariance, base.gp.dictionary)
            gp.condition(X[points], counts[points].astype(np.float64))
            out[numbers] = gp.mean_variance(X[numbers])[1]
            return out[numbers]
        batch = np.array(self.batch.pulls, dtype=np.int64)
        out[batch] = self.batch.variances
        out[base.points] = base.gp.variances()
        unknown = np.setdiff1d(numbers, np.concatenate([base.points, batch]))
        if len(unknown):
            out[unknown] = base.variance(X[unknown])
        return out[numbers]

    def _start_batch(self, history: History, certain: Mask | None = None) -> None:
        """Start a batch after all observations were taken in; hallucinate what is still pending."""
        self.fed_back = history.n
        self.multiplier = self._width(self)
        self.chooser.show(self, certain)
        self._enter_missing(history)

    def _sums(self, history: History, n: int | None = None) -> Array:
        """Sums (numbers,) of the first ``n`` transformed values, by the number of their point."""
        values = self.kernel.fit_transform(history.values(n))[self.window :]
        return np.bincount(self.told(history, n), values, self.pulls.u).astype(np.float64)

    # -- looking inside ----------------------------------------------------------------------------------------

    def worst(self, history: History, posterior: Posterior) -> float:
        """The value that a failure counts as: the worst one observed; 0 where the mean is not used."""
        return float(self.kernel.transform.forward(history.values()).min()) if posterior.alpha.any() else 0.0

    def status(self, batch_sizes: tuple[int, ...]) -> SparseStatus:
        """The present state; ``batch_sizes`` are those of the completed batches."""
        return SparseStatus(
            effective_dimension=self.effective_dimension,
            dictionary_size=self.base.gp.m,
            batch_size=len(self.batch.pulls),
            batch_sizes=batch_sizes,
            beta_tilde=self.multiplier * math.sqrt(self.kernel.covariance.noise_variance),
            resparsifications=self.draws,
        )

    def settled(self, history: History, rng: np.random.Generator) -> FeedbackModel:
        """An independent model of all observations of a history in which nothing is pending."""
        twin = copy.copy(self)
        twin.batch = self.batch.copy()
        twin.kernel = copy.deepcopy(self.kernel)
        twin.pulls = self.pulls.copy()
        twin.chooser = Chooser()
        if twin.window > 0:
            twin.window = 0
            twin.forget()
        if twin.empty:
            twin.redraw(history, rng)
        elif twin.fed_back < history.n or twin.assumes:
            twin.sync(history, rng)
            twin.take_in(history, rng)
        return twin

    def view(
        self, history: History, rng: np.random.Generator, success: Success, batch_sizes: tuple[int, ...]
    ) -> ModelView:
        """The view of all observations of a history in which nothing is pending; this model is not changed.

        Args:
            history: the observations.
            rng: source of the draws needed to bring a model up to date.
            success: the probability of success.
            batch_sizes: sizes of the completed batches.
        """
        twin = self.settled(history, rng)
        kernel = twin.kernel.shown(history.X, history.values(), rng)
        gp = twin.base.gp
        searched = twin.base.posterior
        if twin.by_variance:
            searched = searched._replace(alpha=np.zeros(searched.n))
        shown = gp if kernel is twin.kernel else twin._under(kernel, history)
        numbers, first = np.unique(twin.pulls.told(history), return_index=True)
        return ModelView(
            posterior=shown.posterior,
            transform=kernel.transform,
            searched=searched,
            acquisition=Acquisition(UCB, twin.multiplier, success, twin.worst(history, searched)),
            members=np.sort(first[np.isin(numbers, twin.base.atoms)]),
            lengthscales=kernel.lengthscales,
            noise_std=math.sqrt(kernel.covariance.noise_variance) * kernel.transform.scale,
            noise_is_given=kernel.fixed,
            sparse=shown,
            beta=None if twin.by_variance else twin.multiplier,
            effective_dimension=twin.effective_dimension,
            batch_sizes=batch_sizes,
        )

    def _under(self, kernel: LearnedKernel, history: History) -> SparseGP:
        """A model of all observations under another ``kernel``, on the same dictionary."""
        told = self.told(history)
        pulls = self.pulls
        counts = pulls.counts(told)
        points = np.flatnonzero(counts)
        gp = SparseGP(kernel.covariance, self.base.gp.dictionary)
        gp.condition(pulls.X[points], counts[points].astype(np.float64))
        values = kernel.transform.forward(history.values())[self.window :]
        gp.set_values(np.bincount(told, values, pulls.u)[points].astype(np.float64))
        return gp

    # -- state -------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        state = {
            "kernel": self.kernel.state_dict(),
            "pulls": self.pulls.X.copy(),
            "by_variance": self.by_variance,
            "counters": (self.window, self.fed_back, self.drawn_at, self.draws),
            "numbers": (self.multiplier, self.information, self.effective_dimension),
        }
        if self.empty:
            return state
        return state | {
            "drawn": self._drawn.copy(),
            "drawn_from": self._drawn_from.copy(),
            "assumed": self._assumed.copy(),
            "learned": list(self.base.learned),
            "batch": list(self.batch.pulls),
        }

    def restore(self, state: dict[str, Any], history: History) -> None:
        """Restore a `state_dict`; the posterior is rebuilt by the original steps, so that it is bitwise identical."""
        self.kernel.restore(state["kernel"])
        self.pulls.restore(state["pulls"])
        self.by_variance = state["by_variance"]
        self.window, self.fed_back, self.drawn_at, self.draws = state["counters"]
        self.multiplier, self.information, self.effective_dimension = state["numbers"]
        if "drawn" not in state:
            return
        self._drawn = state["drawn"].copy()
        self._drawn_from = state["drawn_from"].copy()
        self._assumed = state["assumed"].copy()
        gp = self._conditioned(self.pulls.counts(np.concatenate([self.told(history, self.drawn_at), self._assumed])))
        sums = self._sums(history, self.fed_back)
        base = Base(gp, self._drawn_from, self._drawn[gp.kept], sums)
        learned = state["learned"]
        fresh = np.array([number for number, _ in learned], dtype=np.int64)
        self.batch = Batch(base.taking_in(fresh, self.pulls.X, lambda i, _: learned[i][1], sums))
        self.chooser.show(self)
        self.enter(state["batch"])
