"""Whether values are noisy: what a model claims, weighed against points that were measured again.

A GP takes for noise whatever it cannot resolve: noise of the measurements, but also ripples, steps and narrow optima.
Repeated measurements tell one from the other. Values that differ at one point are noise. Values that agree speak
against noise, but only as far as noisy values would not have agreed there by chance: accuracies and outcomes that are 0
or 1 tie often, continuous values never. So each point that was measured again and agrees multiplies the probability of
the data under noise by a chance of a tie (`Tie`), and without noise by 1. Noise is refuted when all of them
together are `ODDS` times as probable without it.

Only measurements that a search asked for count against noise. The same value told twice may be a copy: an import of
earlier results, or a cache.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np

from numbo._types import Array, ObservationIndices
from numbo.trials import UNASKED, History, finite_range

#: Share of the variance of the values from which noise matters.
NOISY = 1e-2
#: Variance of the values at one point, in units of the variance of all values, up to which they agree.
SCATTER = 1e-4
#: Noise is refuted if what is known of repeats is so many times as probable without it: strong evidence according to
#: Kass & Raftery (1995), "Bayes Factors".
ODDS = 20.0
#: Neighbouring values so many standard deviations of all values apart are coarse, like outcomes that are 0 or 1: their
#: noise is not the same everywhere, and near the best value there may be little, whatever a model claims.
COARSE = 0.5
#: Of the first so many observations, at most two are spent on telling whether a claim of noise is right; of so many
#: later ones, one.
FIRST, LATER = 100, 200
#: Quartiles of a normal distribution lie this many standard deviations apart.
QUARTILES = 1.349


class Claims(Protocol):
    """A model that estimates the noise."""

    @property
    def claimed_noise(self) -> float | None:
        """Variance of the noise, in units of the variance of the values; None before the first fit."""


class Tie(NamedTuple):
    """What decides how likely two noisy measurements at a point have the same value there (`tie`).

    Attributes:
        common: how often values tie at all.
        step: between neighbouring values, in standard deviations of all values.
        least: the lowest chance that so few values can show.
    """

    common: float
    step: float
    least: float

    def chance(self, noise: float = NOISY) -> float:
        """How likely that is if the variance of the ``noise`` is so large a share of that of all values."""
        sigma = math.sqrt(noise if self.step < COARSE else NOISY)
        return max(min(self.common, math.erf(self.step / (4.0 * sigma))), self.least)


class Repeats(NamedTuple):
    """What the points that were measured again say.

    Attributes:
        known: how many repeats were looked at.
        measured: how many of them are measurements, and no copies.
        norm: root of the sum over these of the squared difference from the first value at the point.
        agreed: how likely values tie at the points whose repeats agreed, by the index of their first observation.
        copies: all that have the very value of their point's first observation.
    """

    known: int = 0
    measured: int = 0
    norm: float = 0.0
    agreed: Mapping[int, Tie] = {}
    copies: tuple[int, ...] = ()


class Noise:
    """What is known of the noise of a run: a function of its history, and of what its models claim.

    Args:
        history: what was observed; read only.
        models: whose claims count.
        asks: whether the search measures the best point again to see whether a claim is right (`Run.probe`). Until it
            has, no claim is believed.
    """

    def __init__(self, history: History, models: tuple[Claims, ...] = (), *, asks: bool = False) -> None:
        self._history, self.models, self.asks = history, models, asks
        self._cached = Repeats()
        self._spread = 0, 0.0

    def of(self, history: History) -> Noise:
        """The same knowledge for a copy of the history."""
        twin = self.anew(history)
        twin._cached, twin._spread = self._cached, self._spread
        return twin

    def anew(self, history: History) -> Noise:
        """The same models and rule for another history."""
        return Noise(history, self.models, asks=self.asks)

    @property
    def claimed(self) -> float | None:
        """The largest noise that a model claims (`Claims`); None as long as none is fitted."""
        claims = (model.claimed_noise for model in self.models)
        return max((claim for claim in claims if claim is not None), default=None)

    @property
    def repeatable(self) -> bool:
        """Whether repeats say anything: values that are not final may differ without noise."""
        return not self._history.partial

    @property
    def measured(self) -> int:
        """How many values are known at points that had one before, apart from copies."""
        return self._repeats.measured

    @property
    def share(self) -> float:
        """Variance of the noise by repeats, in units of that of all values without outliers; 0 without repeats."""
        repeats = self._repeats
        if not (repeats.norm > 0.0 and self.repeatable):
            return 0.0
        spread = self._scale()
        ratio = repeats.norm / spread if spread > 0.0 else 0.0
        return ratio * ratio / (2.0 * repeats.measured)  # `**` raises where this is infinite

    @property
    def refuted(self) -> bool:
        """Whether repeats show that there is no noise."""
        agreed = self._repeats.agreed.values()
        if not (agreed and self.repeatable) or self.share > SCATTER:
            return False
        noise = max(self.claimed or 0.0, NOISY)
        return -sum(math.log(tie.chance(noise)) for tie in agreed) >= math.log(ODDS)

    def plausible(self, claimed: float | None) -> bool:
        """Whether noise that a model claims, as a share of the variance of the values, matters and is not refuted."""
        return claimed is not None and claimed > NOISY and not self.refuted

    def credible(self, claimed: float | None) -> bool:
        """Whether there is noise by repeats, or a model's claim is plausible and believed.

        Where the search asks, that takes repeats that differ, or ties so common that repeats which agree say little.
        """
        if self.share > NOISY:
            return True
        if not self.plausible(claimed):
            return False
        return not (self.asks and self.repeatable) or bool(self._repeats.agreed) or self.share > SCATTER

    @property
    def found(self) -> bool:
        """Whether values are noisy, by repeats or by a credible claim."""
        return self.credible(self.claimed)

    @property
    def unsettled(self) -> bool:
        """Whether one more measurement of the best point could tell noise from what a model cannot resolve.

        That is where a model claims noise and no repeats confirm it. At most two measurements are spent on it among the
        first hundred observations, a second one only where noisy values might have tied, and one in two hundred later.
        """
        if not (self.asks and self.repeatable) or (self.claimed or 0.0) <= NOISY or self.share > SCATTER:
            return False
        allowed = 1 + (self._history.n + FIRST) // LATER
        spent = self.measured + self._history.pending_again()
        return spent < (allowed if self.refuted else max(2, allowed))

    @property
    def copies(self) -> ObservationIndices:
        """Where noise is refuted, the observations (c,) at points that were known, with the value that was known.

        They say nothing new about the objective. But a model would take them for proof that it has to follow every
        value, however rough: on rotated Rastrigin functions its noise falls from some percent to none.
        """
        copies = self._repeats.copies
        return np.array(copies if copies and self.refuted else (), dtype=np.int64)

    def distinct(self, rows: ObservationIndices) -> ObservationIndices:
        """The observations ``rows (m,)`` without `copies`."""
        copies = self.copies
        return rows[~np.isin(rows, copies)] if len(copies) else rows

    @property
    def unmeasured(self) -> bool:
        """Whether no point was measured again, or is pending again, though that would say something."""
        return self.repeatable and not self.measured and not self._history.pending_again()

    @property
    def _repeats(self) -> Repeats:
        """The evidence of all repeats; what is new is taken in by one assignment, which an interrupt cannot halve."""
        if self._cached.known < len(self._history.again):
            self._cached = self._with(self._cached)
        return self._cached

    def _with(self, repeats: Repeats) -> Repeats:
        """``repeats`` with those that the history has beyond them."""
        history = self._history
        _, measured, norm, agreed, copies = repeats
        agreed, new = dict(agreed), list(copies)
        for first, i in history.again[repeats.known :]:
            one, other = float(history.y[first]), float(history.y[i])
            gap = 0.0 if one == other else one - other  # which may be infinite values
            if gap == 0.0:
                new.append(i)
            asked = int(history.origins[i]) != UNASKED
            if not asked and gap == 0.0:
                continue
            measured += 1
            norm = math.hypot(norm, gap)  # values may be of any size
            if asked and first not in agreed:
                repeated = [j for _, j in history.again if j < i]
                agreed[first] = tie(np.delete(history.y[:i], [*repeated, first]), one)
        return Repeats(len(history.again), measured, norm, agreed, tuple(new))

    def _scale(self) -> float:
        """`robust_std` of all values."""
        history = self._history
        if self._spread[0] != history.n:
            self._spread = history.n, robust_std(history.values())
        return self._spread[1]


def robust_std(y: Array) -> float:
    """Standard deviation of ``y (n,)`` without outliers, by the quartiles; of all values where these are equal."""
    low, high = np.quantile(y, (0.25, 0.75))
    unit = float(np.max(np.abs(y))) or 1.0
    with np.errstate(over="ignore"):  # values may be of any size
        return float((high - low) / QUARTILES if high > low else np.std(y / unit) * unit)


def tie(y: Array, value: float) -> Tie:
    """How likely two noisy measurements at a point would both be ``value``, by the values ``y (n,)`` of other points.

    Ties are as common as pairs of points have tied at all, by the rule of succession, or as points have this very
    value; twice their share is the share among the better half, for a good value. But points may also tie because an
    objective has plateaus. Then the values lie close together beside their spread: normal noise between values of a
    ``step`` ties with probability ``erf(step / (4 sigma))``. The smaller of the two counts.
    """
    y = finite_range(y)
    distinct, counts = np.unique(y, return_counts=True)
    pairs = len(y) * (len(y) - 1.0) / 2.0
    tied = (float(np.sum(counts * (counts - 1.0))) / 2.0 + 1.0) / (pairs + 2.0)
    same = min(1.0, 2.0 * np.count_nonzero(y == value) / max(len(y), 1))
    spread = robust_std(y) if len(y) else 0.0
    step = float(np.min(np.diff(distinct), initial=math.inf)) / spread if spread > 0.0 else math.inf
    return Tie(max(tied, same), step, 1.0 / (pairs + 2.0))
