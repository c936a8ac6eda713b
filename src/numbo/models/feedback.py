"""The model of BKB, BBKB and S-BPE: a sparse posterior that takes values in batch by batch.

Between two feedbacks pulls are hallucinated (`numbo.models.batch_model`). A feedback takes in the values that have
arrived, and either draws a new dictionary or lets new points join the current one; the algorithms decide when.

Whatever changes the model returns what has happened: that a batch begins (`NewBatch`), or that points have joined it
(`Pulled`). The algorithms hand it on to the search that chooses points by the model.
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from numbo._plain import Kept, Saved, copied
from numbo._types import Array, Indices, Mask, PointNumbers
from numbo.kernels.acquisition import UCB, Acquisition, Posterior, Success
from numbo.models.batch_model import Base, Batch, Draw
from numbo.models.confidence import Information
from numbo.models.dictionaries import DictionaryRule
from numbo.models.learned_kernel import LearnedKernel
from numbo.models.moments import moments
from numbo.models.sparse_gp import SparseGP
from numbo.models.view import ModelView
from numbo.trials import History, Pulls


@dataclass(frozen=True)
class Pulled:
    """Points have joined the batch.

    Attributes:
        numbers: of the points.
        directions: (m,) by which each of them reduces variances; none where pulls are not hallucinated one by one.
    """

    numbers: tuple[int, ...] = ()
    directions: tuple[Array, ...] = ()


@dataclass(frozen=True)
class NewBatch:
    """A batch has begun: after a feedback, or once more because one of its points was released.

    Attributes:
        pulled: the points that it begins with.
        certain: (m,) the atoms that were drawn with probability 1; None if no dictionary was drawn.
    """

    pulled: Pulled = field(default_factory=Pulled)
    certain: Mask | None = None


Change: TypeAlias = NewBatch | Pulled


@dataclass(frozen=True)
class SparseStatus:
    """The present state of a sparse optimizer's model.

    Attributes:
        effective_dimension: ``sum var~(x_s)`` over the observations, when the dictionary was last drawn.
        dictionary_size: number of atoms.
        batch_size: number of pulls since the last feedback.
        batch_sizes: of the completed batches, by the values that were taken in.
        beta_tilde: multiplier of ``sqrt(var~)`` in the upper confidence bound, beta~ of BKB and ``alpha~_fb = C~
            beta~_fb`` of BBKB; `Explanation.beta` is that of the standard deviation ``sqrt(lambda var~)``.
        resparsifications: number of dictionaries drawn.
    """

    effective_dimension: float
    dictionary_size: int
    batch_size: int
    batch_sizes: tuple[int, ...]
    beta_tilde: float
    resparsifications: int


class FeedbackModel(Kept):
    """A sparse posterior with delayed feedback (Calandriello et al. 2020, algorithm 1, lines 7 to 18).

    Args:
        d: number of coordinates.
        kernel: the covariance function.
        dictionary: how dictionaries are drawn.
        resparsify: a dictionary is drawn again when the history has grown by this share; in between, new points join
            it with their sampling probability. 0 draws one at every feedback, as in the papers.
        one_by_one: whether pulls are hallucinated one by one, each an update of V, as in the papers.
        by_variance: whether points are chosen by their variance alone, until `end_exploration`. Pending points are then
            as good as observations.
        on_schedule: whether the kernel is learned again as the history grows; otherwise the owner decides.
        counting: how the information of confidence schedules is counted.

    Attributes:
        batch: the pulls since the last feedback, over the posterior then.
        window: index of the first observation that the model uses.
        fed_back, drawn_at: number of observations at the last feedback and at the last draw of a dictionary.
        draws: number of dictionaries drawn.
        information: ``sum log(1 + w var~_fb(x_s))`` over all pulls.
        effective_dimension: ``sum var~(x_s)`` over the observations, at the last draw.
    """

    _kept = ("kernel", "pulls", "by_variance", "batch")
    window: Saved[int] = 0
    fed_back: Saved[int] = 0
    drawn_at: Saved[int] = 0
    draws: Saved[int] = 0
    information: Saved[float] = 0.0
    effective_dimension: Saved[float] = 0.0
    #: The number of observations at which all pulls of an exploration have been counted.
    _explored: Saved[int] = 0

    def __init__(
        self,
        d: int,
        kernel: LearnedKernel,
        dictionary: DictionaryRule,
        *,
        resparsify: float,
        one_by_one: bool,
        by_variance: bool = False,
        on_schedule: bool = True,
        counting: Information = Information(),  # noqa: B008, it is frozen
    ) -> None:
        self.kernel = kernel
        self.dictionary = dictionary
        self.resparsify = resparsify
        self.one_by_one = one_by_one
        self.by_variance = by_variance
        self._on_schedule = on_schedule
        self._counting = counting
        self.pulls = Pulls(d)
        self.batch = Batch(Base.prior(kernel.covariance, d))
        #: A batch that had all pulls, and when: the number of trials, and the generation and number of pending points.
        self._synced: tuple[Batch | None, int, object, int] = None, 0, None, 0

    @property
    def empty(self) -> bool:
        """Whether the dictionary is empty, as it is at first (line 2); the posterior is the prior then."""
        return self.base.gp.m == 0

    @property
    def base(self) -> Base:
        """The posterior at the last feedback."""
        return self.batch.base

    @property
    def assumes(self) -> bool:
        """Whether pending points were treated as observations when the dictionary was drawn."""
        return len(self.base.draw.assumed) > 0

    def given_batch(self) -> tuple[Posterior, PointNumbers]:
        """The posterior with all pulls of the batch hallucinated jointly, and the points that it has besides atoms."""
        return self.batch.joint(self.pulls.X)

    def forget(self, window: int) -> None:
        """Discard the model: the next dictionary is a first one, of the observations from ``window`` on."""
        self.batch = Batch(Base.prior(self.kernel.covariance, self.pulls.d))
        self.window = window
        self.fed_back = window
        self.drawn_at = window

    def end_exploration(self, history: History) -> None:
        """From now on, values count as well; a dictionary for which pending points were assumed told is to be drawn.

        The information of the exploration is counted when its values are taken in: its variances have shrunk by then.
        """
        self._explored = history.n + len(history.pending)
        self.by_variance = False

    # -- pulls -------------------------------------------------------------------------------------------------

    def usable(self, history: History) -> bool:
        """Whether the dictionary can be kept: there is one, and no point that was assumed told has been released."""
        return not self.empty and not (self.assumes and self._missing(history, []) is None)

    def hallucinate(self, history: History, rng: np.random.Generator) -> Change:
        """Lines 7 and 8: let variances shrink by what was pulled since the last call.

        A dictionary is drawn first if there is none that can be kept.
        """
        return self.sync(history) if self.usable(history) else self.redraw(history, rng)

    def sync(self, history: History) -> Change:
        """Lines 7 and 8: hallucinate what was pulled since the last call. The dictionary must be `usable`."""
        joined = self._joined(history)
        missing = self._missing(history, self.batch.pulls) if joined is None else joined
        if missing is None:
            return self._begin(history, self.base)  # a point was released, and a single pull cannot be undone
        change = self._enter(missing)
        pending = history.pending
        self._synced = self.batch, history.told, pending.generation, len(pending)
        return change

    def _joined(self, history: History) -> list[int] | None:
        """As `_missing`, for the batch: where points have only become pending since the last call, only these.

        None if more has happened.
        """
        batch, told, generation, known = self._synced
        pending = history.pending
        if batch is not self.batch or told != history.told or generation is not pending.generation:
            return None
        return sorted(self.pulls.number(p.x, p.identity) for p in pending.after(known))

    def told(self, history: History, n: int | None = None) -> PointNumbers:
        """Numbers of the points of the observations that the model uses, of the first ``n`` in the history."""
        return self.pulls.told(history, n)[self.window :]

    def _missing(self, history: History, entered: list[int]) -> list[int] | None:
        """The pulls, by number, that are neither in the posterior nor among those that ``entered``.

        None if a point was released that is among these, or was assumed told.
        """
        wanted = self._fresh(history).tolist() + self.pulls.pending(history.pending.values())
        known = self.base.draw.assumed.tolist() + entered
        if wanted[: len(known)] == known:  # as long as no value overtakes another
            return sorted(wanted[len(known) :])
        missing = Counter(wanted)
        missing.subtract(known)
        return sorted(missing.elements()) if min(missing.values()) >= 0 else None

    def _fresh(self, history: History) -> PointNumbers:
        """Numbers of the points of the observations since the last feedback."""
        return self.pulls.told(history)[self.fed_back :]

    def _enter(self, numbers: list[int]) -> Pulled:
        """Add pulls of these points to the batch."""
        X = self.pulls.X
        if self.one_by_one:
            return Pulled(tuple(numbers), tuple(self.batch.pull(number, X[number]) for number in numbers))
        if numbers:
            for number, variance in zip(numbers, self.base.variance(X[numbers]), strict=True):
                self.batch.note(number, float(variance))
        return Pulled(tuple(numbers))

    # -- feedback ----------------------------------------------------------------------------------------------

    def may_take_in(self, history: History) -> bool:
        """Whether there is feedback to take in. Taken literally, the algorithm also draws a dictionary without any."""
        return self.resparsify == 0.0 or history.n > self.fed_back

    def take_in(self, history: History, rng: np.random.Generator) -> NewBatch:
        """Lines 11 to 18: take in the values that have arrived, with a new dictionary if one is due.

        Otherwise (the papers draw one at every feedback) new points join the old one with the probability of line 13.
        """
        batch = self.batch
        n = history.n
        fresh = self._fresh(history)
        arrived = self.pulls.counts(fresh)
        for number, variance in zip(batch.pulls, batch.variances, strict=True):
            if arrived[number] > 0:
                arrived[number] -= 1
                self.information += math.log1p(self._counting.weight * variance)
        grown = n - self.drawn_at >= self.resparsify * (self.drawn_at - self.window)
        if (
            self.fed_back < self._explored
            or grown
            or self.dictionary.overgrown(self.base.gp.m)
            or self._learning_is_due(n)
            or self.assumes
        ):
            return self.redraw(history, rng)
        variances = self.base.variance(self.pulls.X[fresh])

        def joins(i: int, size: int) -> bool:
            return self.resparsify > 0.0 and self.dictionary.joins(variances[i], size, rng)

        base = self.base.taking_in(fresh, self.pulls.X, joins, self._sums(history))
        self.fed_back = n
        return self._begin(history, base)

    def _learning_is_due(self, n: int) -> bool:
        return (self._on_schedule or self.kernel.fits.at == 0) and self.kernel.due(n)

    def redraw(self, history: History, rng: np.random.Generator) -> NewBatch:
        """Lines 11 to 18: draw a dictionary from all points, told and pending, and condition on the observations.

        If points are chosen by variance alone and pulled one by one, pending points are conditioned on like the others.
        """
        pulls = self.pulls
        first = self.empty
        told = self.told(history)
        pending = np.array(pulls.pending(history.pending.values()), dtype=np.int64)
        assumed = pending if self.by_variance and self.one_by_one else pending[:0]
        wanted = pulls.counts(np.concatenate([told, pending]))
        counts = wanted if len(assumed) == len(pending) else pulls.counts(told)
        numbers = np.flatnonzero(wanted)
        learned = self._learning_is_due(history.n)
        if learned:
            means = None if first else moments(self.base.posterior, history.X).mean
            self.kernel.learn(history.X, history.values(), rng, means)
        if first:
            chosen, certain = self.dictionary.first(self.kernel.covariance, pulls.X[numbers], rng)
        else:  # lines 11 to 15; a point that was pulled several times counts as often
            leverage = self._leverages(numbers, counts, learned) * wanted[numbers]
            chosen, certain = self.dictionary.draw(leverage, rng)
        draw = Draw(numbers, numbers[chosen], assumed)
        base = self._conditioned(draw, counts, self._sums(history))  # lines 17 and 18
        gp = base.gp
        self.effective_dimension = float(np.sum(counts[numbers] * gp.variances()))
        # batches count neither a first history nor pulls assumed told, and those of an exploration for too much
        if first or self.by_variance or self.fed_back < self._explored or self.assumes:
            arrivals = np.searchsorted(numbers, np.concatenate([told, assumed]))
            self.information = self._counting.carried(gp, arrivals)
        self.drawn_at = history.n
        self.draws = self.draws + 1
        self.fed_back = history.n
        return self._begin(history, base, certain[gp.kept])

    def _conditioned(self, draw: Draw, counts: Indices, sums: Array) -> Base:
        """The posterior on a dictionary of the points it was drawn from.

        They were pulled ``counts (numbers,)`` times, and ``sums (numbers,)`` are those of their values.
        """
        covariance = self.kernel.covariance
        observed = counts[draw.points].astype(np.float64)
        gp = self.base.gp
        same = gp.u == len(draw.points) and all(map(np.array_equal, draw[:2], self.base.draw[:2]))
        if self.base.learned or gp.covariance is not covariance or not same:
            atoms = np.searchsorted(draw.points, draw.chosen)
            gp = SparseGP.over(covariance, self.pulls.X[draw.points], observed, atoms)
        else:  # most draws over few arms
            gp = gp.recounted(observed)
        return Base(gp, draw.points, draw.chosen[gp.kept], sums, draw)

    def _leverages(self, numbers: PointNumbers, counts: Indices, learned: bool) -> Array:
        """Line 13: ``var~_fb`` of the points ``numbers``; under a new covariance ``var~``, on the same dictionary."""
        X = self.pulls.X
        base = self.base
        if learned:
            points = np.flatnonzero(counts)
            gp = SparseGP(self.kernel.covariance, base.gp.dictionary)
            gp.condition(X[points], counts[points].astype(np.float64))
            return gp.mean_variance(X[numbers])[1]
        variances = np.full(self.pulls.u, np.nan)
        variances[self.batch.pulls] = self.batch.variances
        variances[base.points] = base.gp.variances()
        out = variances[numbers]
        unknown = np.isnan(out)
        if unknown.any():
            out[unknown] = base.variance(X[numbers[unknown]])
        return out

    def _begin(self, history: History, base: Base, certain: Mask | None = None) -> NewBatch:
        """Start a batch over a posterior; hallucinate what is pending, or was told since."""
        self.batch = Batch(base)
        missing = self._missing(history, [])
        assert missing is not None, "the dictionary is not usable"
        return NewBatch(self._enter(missing), certain)

    def _sums(self, history: History, n: int | None = None) -> Array:
        """Sums (numbers,) of the first ``n`` transformed values, by the number of their point."""
        values = self.kernel.fit_transform(history.values(n))[self.window :]
        return np.bincount(self.told(history, n), values, self.pulls.u).astype(np.float64)

    # -- looking inside ----------------------------------------------------------------------------------------

    def worst(self, history: History) -> float:
        """The value that a failure counts as: the worst one observed."""
        return float(self.kernel.transform.forward(history.values()).min())

    def status(self, width: float, batch_sizes: tuple[int, ...]) -> SparseStatus:
        """The present state; the ``width`` of confidence bounds is their multiplier of ``sqrt(lambda var~)``."""
        return SparseStatus(
            effective_dimension=self.effective_dimension,
            dictionary_size=self.base.gp.m,
            batch_size=len(self.batch.pulls),
            batch_sizes=batch_sizes,
            beta_tilde=width * math.sqrt(self.kernel.covariance.noise_variance),
            resparsifications=self.draws,
        )

    def settled(self, history: History, rng: np.random.Generator) -> FeedbackModel:
        """A model of all observations of a history in which nothing is pending; this one is not changed."""
        twin = copied(self)
        twin.kernel = copy.deepcopy(self.kernel)
        twin.one_by_one = False  # the batch is taken in at once
        if twin.window > 0:
            twin.forget(0)
        if twin.empty:
            twin.redraw(history, rng)
        elif twin.fed_back < history.n or twin.assumes:
            twin.hallucinate(history, rng)
            twin.take_in(history, rng)
        return twin

    def view(
        self,
        history: History,
        rng: np.random.Generator,
        success: Success,
        width: float,
        batch_sizes: tuple[int, ...],
    ) -> ModelView:
        """The view of a `settled` model, with the ``width`` and the ``batch_sizes`` of `status`.

        ``rng`` is the source of the draws needed to find how values are shown.
        """
        kernel = self.kernel.shown(history.X, history.values(), rng)
        searched = self.base.posterior
        if self.by_variance:
            searched = searched._replace(alpha=np.zeros(searched.n))
        worst = self.worst(history) if searched.alpha.any() else 0.0
        shown = self.base.gp if kernel is self.kernel else self._under(kernel, history)
        numbers, first = np.unique(self.pulls.told(history), return_index=True)
        return ModelView(
            posterior=shown.posterior,
            transform=kernel.transform,
            searched=searched,
            acquisition=Acquisition(UCB, width, success, worst),
            members=np.sort(first[np.isin(numbers, self.base.atoms)]),
            lengthscales=kernel.lengthscales,
            noise_std=math.sqrt(kernel.covariance.noise_variance) * kernel.transform.scale,
            noise_is_given=kernel.fixed,
            sparse=shown,
            beta=None if self.by_variance else width,
            # where few atoms leave much variance at the points, the sum exceeds any dimension
            effective_dimension=min(self.effective_dimension, float(len(numbers))),
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

    def _rebuild(self, state: Mapping[str, Any], data: History) -> None:
        then = self.batch
        draw = self.base.draw
        if not len(draw.chosen):
            return
        counts = self.pulls.counts(np.concatenate([self.told(data, self.drawn_at), draw.assumed]))
        sums = self._sums(data, self.fed_back)
        learned = then.base.learned
        fresh = np.array([number for number, _ in learned], dtype=np.int64)
        base = self._conditioned(draw, counts, sums)
        self.batch = Batch(base.taking_in(fresh, self.pulls.X, lambda i, _: learned[i][1], sums))
        self._enter(then.pulls)

    def begin_again(self) -> Change:
        """The change from no batch to the present one, for a search that has not followed it."""
        pulls = self.batch.pulls
        self.batch = Batch(self.base)
        return Pulled() if self.empty else NewBatch(self._enter(pulls))
