"""Whether values are noisy: what a model claims, weighed against points that were measured again.

A GP takes for noise whatever it cannot resolve: noise of the measurements, but also ripples, steps and narrow optima.
Repeated measurements tell one from the other. Values that differ at one point are noise. Values that agree speak
against noise, but only as far as noisy values would not have agreed there by chance: accuracies and outcomes that are 0
or 1 tie often, continuous values never. So each point that was measured again and agrees multiplies the probability of
the data under noise by a chance of a tie (`tie_chance`), and without noise by 1. Noise is refuted when all of them
together are `ODDS` times as probable without it.

Only measurements that a search asked for count against noise. The same value told twice may be a copy: an import of
earlier results, or a cache.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from numbo.trials import UNASKED, History

Array = NDArray[np.float64]

#: Share of the variance of the values from which noise matters.
NOISY = 1e-2
#: Variance of the values at one point, in units of the variance of all values, up to which they agree.
SCATTER = 1e-4
#: Noise is refuted if what is known of repeats is so many times as probable without it: strong evidence according to
#: Kass & Raftery (1995), "Bayes Factors".
ODDS = 20.0
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


class Repeats(NamedTuple):
    """What the points that were measured again say.

    Attributes:
        known: how many repeats were looked at.
        measured: how many of them are measurements, and no copies.
        norm: root of the sum over these of the squared difference from the first value at the point.
        agreed: logarithms of the `tie_chance` of the points, by the index of their first observation.
    """

    known: int = 0
    measured: int = 0
    norm: float = 0.0
    agreed: Mapping[int, float] = {}


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
        agreed = self._repeats.agreed
        if not (agreed and self.repeatable):
            return False
        return -sum(agreed.values()) >= math.log(ODDS) and self.share <= SCATTER

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
        _, measured, norm, agreed = repeats
        agreed = dict(agreed)
        for first, i in history.again[repeats.known :]:
            one, other = float(history.y[first]), float(history.y[i])
            gap = 0.0 if one == other else one - other  # which may be infinite values
            asked = int(history.origins[i]) != UNASKED
            if not asked and gap == 0.0:
                continue
            measured += 1
            norm = math.hypot(norm, gap)  # values may be of any size
            if asked and first not in agreed:
                agreed[first] = math.log(tie_chance(history, first, i))
        return Repeats(len(history.again), measured, norm, agreed)

    def _scale(self) -> float:
        """Standard deviation of the values without outliers, by their quartiles."""
        history = self._history
        if self._spread[0] != history.n:
            y = history.values()
            low, high = np.quantile(y, (0.25, 0.75))
            unit = float(np.max(np.abs(y))) or 1.0
            with np.errstate(over="ignore"):  # values may be of any size
                self._spread = history.n, float((high - low) / QUARTILES if high > low else np.std(y / unit) * unit)
        return self._spread[1]


def tie_chance(history: History, first: int, again: int) -> float:
    """How likely noisy values would tie at a point, by the values of all other points known then.

    It is the larger of two estimates: how many pairs of points have tied at all, by the rule of succession, and twice
    the share of points with exactly this value, which is the share among the better half of them for a good one.

    Args:
        history: what was observed.
        first, again: indices of the first and of a later observation at the point.
    """
    repeated = [i for _, i in history.again if i < again]
    values = np.delete(history.y[:again], [*repeated, first])
    _, counts = np.unique(values, return_counts=True)
    ties, pairs = float(np.sum(counts * (counts - 1.0))) / 2.0, len(values) * (len(values) - 1.0) / 2.0
    same = np.count_nonzero(values == history.y[first])
    return max((ties + 1.0) / (pairs + 2.0), min(1.0, 2.0 * same / max(len(values), 1)))
