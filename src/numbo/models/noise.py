"""Whether values are noisy: what a model claims, weighed against points that were measured again.

A GP takes for noise whatever it cannot resolve: noise of the measurements, but also ripples, steps and narrow optima.
Repeated measurements tell one from the other. Values that differ at one point are noise. Values that agree speak
against noise, but only as far as noisy values would not have agreed there by chance: accuracies and outcomes that are 0
or 1 tie often, continuous values never. So each point that was measured again and agrees multiplies the probability of
the data under noise by a chance of a tie (`Tie`), and without noise by 1. Noise is refuted when all of them
together are `ODDS` times as probable without it.

What is asked of `Noise`, from the weakest to the strongest word:

    claimed      a model estimates so much noise
    plausible    it matters (`NOISY`), and repeats do not refute it
    credible     repeats differ as much; or it is plausible, and a repeat was looked at where the search asks for one
    found        the largest claim is credible: points may be measured again, posteriors average
    refuted      repeats agree, and would not have under noise: exact, as if nothing had been claimed
    unsettled    one more measurement of the best point could tell

Only measurements that a search asked for count against noise. The same value told twice may be a copy: an import of
earlier results, or a cache. Unless the value is known of other points too, models leave it out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np

from numbo._types import Array, ObservationIndices
from numbo.trials import History, finite_range

#: Share of the variance of the values from which noise matters.
NOISY = 1e-2
#: Variance of the values at one point, in units of the variance of all values, up to which they agree.
SCATTER = 1e-4
#: Noise is refuted if what is known of repeats is so many times as probable without it: strong evidence according to
#: Kass & Raftery (1995), "Bayes Factors".
ODDS = 20.0
#: Values on so many levels or fewer are coarse, like outcomes that are 0 or 1: their noise is not the same everywhere,
#: and near the best value there may be little, whatever a model claims. By steps in units of the spread, errors of a
#: classifier that are crowded around the best one would count as coarse, and cost 6 to 9 repeats in 150 trials.
LEVELS = 4
#: Where values are coarse, one observation in so many may be spent on telling whether there is noise. With two in all,
#: 0/1 outcomes were taken for exact in 2 of 20 runs on a grid and 4 of 10 among categories, whose recommendations lost
#: 0.05 and 0.20 in the mean; with this, 0.03 and 0.07 (`benchmarks.problems.families.successes` is a grid of the kind).
COARSELY = 10
#: Rounding errors, in the same unit.
DUST = 1e-9
#: Of the first so many observations, at most two are spent on telling whether a claim of noise is right; of so many
#: later ones, one.
FIRST = 100
LATER = 200
#: Quartiles of a normal distribution lie this many standard deviations apart.
QUARTILES = 1.349


class Claims(Protocol):
    """A model that estimates the noise."""

    @property
    def claimed_noise(self) -> float | None:
        """Variance of the noise, in units of the variance of the values; None before the first fit."""


class Claimed(NamedTuple):
    """What was claimed at one moment."""

    claimed_noise: float | None


class Tie(NamedTuple):
    """What decides how likely two noisy measurements at a point have the same value there (`tie`).

    Attributes:
        common: how often values tie at all.
        step: between neighbouring values, in standard deviations of all values.
        least: the lowest chance that so few values can show.
        gap: between the two measurements, in the same unit; 0 if they are equal.
        coarse: whether all values lie on at most `LEVELS` levels, a step apart.
    """

    common: float
    step: float
    least: float
    gap: float = 0.0
    coarse: bool = False

    @property
    def continuous(self) -> bool:
        """Whether no values at different points have tied."""
        return self.common <= self.least

    def chance(self, noise: float = NOISY) -> float:
        """How likely two noisy measurements at a point agree so closely, with noise of this share of the variance."""
        sigma = math.sqrt(NOISY if self.coarse else noise)
        equal = min(self.common, math.erf(self.step / (4.0 * sigma)))
        return max(equal, math.erf(self.gap / (2.0 * math.sqrt(noise))), self.least)


class Repeats(NamedTuple):
    """What the points that were measured again say.

    Attributes:
        known: how many repeats were looked at.
        norm: root of the sum of the squares of the ``gaps``.
        asked: the first repeat that was asked for, by the index of the first observation at its point.
        agreed: those that were asked for and have the very value of their point's first observation.
        copies: likewise, those that were told without being asked for; no other point has their value.
        gaps: absolute differences from the first value at the point, of all repeats that are measurements, not copies.
    """

    known: int = 0
    norm: float = 0.0
    asked: Mapping[int, int] = {}
    agreed: tuple[int, ...] = ()
    copies: tuple[int, ...] = ()
    gaps: tuple[float, ...] = ()


class Noise:
    """What is known of the noise of a run: a function of its history, and of what its models claim.

    Args:
        history: what was observed; read only.
        models: whose claims count.
        asks: whether the search measures the best point again to see whether a claim is right (`Availability.probe`).
            Until it has, no claim is believed.
        output: which of the outputs.
    """

    def __init__(
        self, history: History, models: tuple[Claims, ...] = (), *, asks: bool = False, output: int = 0
    ) -> None:
        self._history = history
        self.models = models
        self.asks = asks
        self._output = output
        self._cached = Repeats()
        self._spread = 0, 0.0
        self._found_ties: dict[int, Tie] = {}
        self._left_out: tuple[Repeats | None, bool, ObservationIndices] = None, False, np.empty(0, dtype=np.int64)

    def of(self, history: History) -> Noise:
        """The same knowledge for a copy of the history; what the models claim later does not affect it."""
        twin = Noise(history, (Claimed(self.claimed),), asks=self.asks, output=self._output)
        twin._cached = self._cached
        twin._spread = self._spread
        twin._found_ties = dict(self._found_ties)
        return twin

    def anew(self, history: History) -> Noise:
        """The same models and rule for another history."""
        return Noise(history, self.models, asks=self.asks, output=self._output)

    def listen(self, models: tuple[Claims, ...], *, asks: bool) -> None:
        """Let the claims of these models count from now on."""
        self.models = models
        self.asks = asks

    @property
    def claimed(self) -> float | None:
        """The largest noise that a model claims (`Claims`); None as long as none is fitted."""
        claims = (model.claimed_noise for model in self.models)
        return max((claim for claim in claims if claim is not None), default=None)

    @property
    def repeatable(self) -> bool:
        """Whether repeats say anything: values that are not final may differ without noise."""
        return self._history.all_final

    @property
    def measured(self) -> int:
        """How many values are known at points that had one before, apart from copies."""
        return len(self._repeats.gaps)

    @property
    def share(self) -> float:
        """Variance of the noise by repeats, in units of that of all values without outliers; 0 without repeats."""
        repeats = self._repeats
        if not (repeats.norm > 0.0 and self.repeatable):
            return 0.0
        spread = self._scale()
        ratio = repeats.norm / spread if spread > 0.0 else 0.0
        return ratio * ratio / (2.0 * len(repeats.gaps))  # `**` raises where this is infinite

    @property
    def scatter(self) -> float:
        """Standard deviation of the noise by repeats, in units of the values, whatever outliers there are; 0 if none.

        Half of the differences of two normal values with this deviation are smaller than 0.954 times it.
        """
        if self.share <= SCATTER:
            return 0.0
        gaps = sorted(self._repeats.gaps)
        return min(gaps[len(gaps) // 2] / 0.954, float(np.finfo(float).max))

    @property
    def refuted(self) -> bool:
        """Whether repeats show that there is no noise.

        Where values tie at all, they do so most often near the best one: accuracies have a ceiling. So one repeat that
        agrees is not enough there, however rare ties are elsewhere: accuracies of 50 to 200 agree at the best point in
        0.4 to 0.2 of cases, and pairs of other points in 0.05 to 0.02.
        """
        if not (self._repeats.asked and self.repeatable) or self.share > SCATTER:
            return False
        ties = self._ties.values()
        if len(ties) == 1 and not all(one.continuous for one in ties):
            return False
        noise = max(self.claimed or 0.0, NOISY)
        return -sum(math.log(one.chance(noise)) for one in ties) >= math.log(ODDS)

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
        return not (self.asks and self.repeatable) or bool(self._repeats.asked) or self.share > SCATTER

    @property
    def found(self) -> bool:
        """Whether values are noisy, by repeats or by a credible claim."""
        return self.credible(self.claimed)

    @property
    def unsettled(self) -> bool:
        """Whether one more measurement of the best point could tell noise from what a model cannot resolve.

        That is where a model claims noise and no repeats confirm it. At most two measurements are spent on it among the
        first hundred observations, a second one only where noisy values might have tied, and one in two hundred later.

        Where values are so coarse that ties say next to nothing, like outcomes that are 0 or 1, one in `COARSELY` is,
        whatever a model claims: it may take outcomes for the objective.
        """
        if not (self.asks and self.repeatable) or self.share > SCATTER:
            return False
        n = self._history.n
        ties = self._ties.values()
        refuted = self.refuted
        spent = self.measured + self._history.pending_again()
        if ties and not refuted and all(one.coarse for one in ties):
            return spent < n // COARSELY
        allowed = 1 + (n + FIRST) // LATER
        return (self.claimed or 0.0) > NOISY and spent < (allowed if refuted else max(2, allowed))

    @property
    def copies(self) -> ObservationIndices:
        """Observations (c,) that say nothing new, with the value that was known of their point.

        These are copies, and where noise is refuted all. A model would take them for proof that it has to follow every
        value, however rough: on rotated Rastrigin functions its noise falls from some percent to none.
        """
        repeats = self._repeats
        if not (repeats.copies or repeats.agreed):
            return np.empty(0, dtype=np.int64)
        exact = bool(repeats.agreed) and self.refuted
        if self._left_out[0] is not repeats or self._left_out[1] != exact:  # it is asked for several times an ask
            left_out = repeats.copies + repeats.agreed if exact else repeats.copies
            self._left_out = repeats, exact, np.array(left_out, dtype=np.int64)
        return self._left_out[2]

    def distinct(self, rows: ObservationIndices) -> ObservationIndices:
        """The observations ``rows (m,)`` without `copies`."""
        copies = self.copies
        return rows[~np.isin(rows, copies)] if len(copies) else rows

    def asked_again(self, first: int) -> bool:
        """Whether the point of the observation ``first`` was asked for again, and not only told once more."""
        return first in self._repeats.asked

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

    @property
    def _ties(self) -> Mapping[int, Tie]:
        """How likely values tie at the points that were asked for again, by the index of their first observation.

        Looked for only as long as all repeats agree: each takes the time of sorting all values.
        """
        history = self._history
        asked = self._repeats.asked
        known = self._found_ties
        if missing := asked.keys() - known.keys():
            repeated = np.zeros(history.n, dtype=bool)
            repeated[[i for _, i in history.again]] = True
            for first in missing:
                i = asked[first]
                others = ~repeated[:i]
                others[first] = False
                y = history.output(self._output)
                known[first] = tie(y[:i][others], float(y[first]), float(y[i]))
        return {first: known[first] for first in asked}

    def _with(self, repeats: Repeats) -> Repeats:
        """``repeats`` with those that the history has beyond them."""
        history = self._history
        norm = repeats.norm
        asked_again = dict(repeats.asked)
        agreed = list(repeats.agreed)
        copies = list(repeats.copies)
        gaps = list(repeats.gaps)
        y = history.output(self._output)
        for first, i in history.again[repeats.known :]:
            one = float(y[first])
            other = float(y[i])
            gap = 0.0 if one == other else one - other  # which may be infinite values
            asked = history.asked(i)
            same = gap == 0.0 and history.alike(first, i)
            if same and asked:
                agreed.append(i)
            elif same:
                same_value = np.flatnonzero(y[:i] == one)
                if (history.X[same_value] == history.X[i]).all():
                    copies.append(i)
                continue
            norm = math.hypot(norm, gap)  # values may be of any size
            gaps.append(abs(gap))
            if asked:
                asked_again.setdefault(first, i)
        return Repeats(len(history.again), norm, asked_again, tuple(agreed), tuple(copies), tuple(gaps))

    def _scale(self) -> float:
        """`robust_std` of all values."""
        history = self._history
        if self._spread[0] != history.n:
            self._spread = history.n, robust_std(history.values(output=self._output))
        return self._spread[1]


def robust_std(y: Array) -> float:
    """Standard deviation of ``y (n,)`` without outliers, by the quartiles; of all values where these are equal."""
    low, high = np.quantile(y, (0.25, 0.75))
    unit = float(np.max(np.abs(y))) or 1.0
    with np.errstate(over="ignore"):  # values may be of any size
        return float((high - low) / QUARTILES if high > low else np.std(y / unit) * unit)


def tie(y: Array, value: float, again: float) -> Tie:
    """How likely two noisy measurements at a point are ``value`` and ``again``, by the values ``y (n,)`` of others.

    Ties are as common as pairs of points have tied at all, by the rule of succession, or as points have this very
    value; twice their share is the share among the better half, for a good value. But points may also tie because an
    objective has plateaus. Then the values lie close together beside their spread: normal noise between values of a
    ``step`` ties with probability ``erf(step / (4 sigma))``. The smaller of the two counts. Measurements that nearly
    agree are as likely as normal noise lies so close together, ``erf(gap / (2 sigma))``.

    Values that differ by rounding errors (`DUST`) are equal.
    """
    spread = robust_std(y := finite_range(y)) if len(y) else 0.0
    unit = spread if spread > 0.0 else float(np.max(np.abs(y), initial=0.0)) or 1.0
    with np.errstate(over="ignore"):  # values may be of any size
        scaled = finite_range(np.round(finite_range(np.array([value, again, *y])) / unit / DUST))
    one = float(scaled[0])
    other = float(scaled[1])
    rest = scaled[2:]
    distinct, counts = np.unique(rest, return_counts=True)
    pairs = len(y) * (len(y) - 1.0) / 2.0
    tied = (float(np.sum(counts * (counts - 1.0))) / 2.0 + 1.0) / (pairs + 2.0)
    same = min(1.0, 2.0 * np.count_nonzero(rest == one) / max(len(y), 1))
    with np.errstate(over="ignore"):
        smallest = float(np.min(np.diff(distinct), initial=math.inf))
        coarse = len(distinct) > 1 and bool(distinct[-1] - distinct[0] < LEVELS * smallest)
    step = smallest * DUST if spread > 0.0 else math.inf
    return Tie(max(tied, same), step, 1.0 / (pairs + 2.0), abs(one - other) * DUST, coarse)
