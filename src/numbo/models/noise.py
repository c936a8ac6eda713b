"""Whether values are noisy: the noise that models estimate, checked by repeated measurements.

A GP treats everything that it cannot resolve as noise: noise of the measurements, but also ripples, steps and narrow
optima. Repeated measurements distinguish them. Different values at one point are noise. Equal values are evidence
against noise, unless noisy values would often be equal by chance: accuracies and outcomes of 0 or 1 often tie,
continuous values never do. So each repeated point with equal values multiplies the probability of the data by the
chance of a tie (`Tie`) under noise, and by 1 without noise. Noise is refuted when the repeats together are `ODDS` times
as probable without it.

Last values of trials that were stopped differ without noise. They are compared with others of their point at the last
step that both have reported: `hinted` says how they differ there, which shows that there is noise, but not how much
there is in the end. Where values were told with their own
variances, `known` is what these alone amount to: it is noise, too, and of the differences of repeats only what it does
not explain is common noise.

The terms of `Noise`, from the weakest to the strongest:

    claimed      the noise variance that a model estimates
    plausible    it is large enough to matter (`NOISY`), and repeats do not refute it
    shown        repeats differ as much, or known variances matter
    credible     it is shown; or it is plausible, and a repeat was made if the search asks for one; or trials were
                 stopped, and it is claimed
    found        the largest claim is credible: points may be measured again, posteriors average
    refuted      repeats agree, and would not have under noise: the values are exact, whatever models claim
    unsettled    one more measurement of the best point could decide

Only measurements that a search asked for count against noise. The same value told twice may be a copy: an import of
earlier results, or a cache. Unless other points have the value too, models leave it out.

Comparisons with the state before these rules: ``benchmarks/results/compare-noise-by-evidence.md`` (noisy and
conditional problems) and ``benchmarks/results/compare-rough-is-not-noisy.md`` (smooth, rough, mixed and real ones).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from numbo._plain import copied
from numbo._types import Array, ObservationIndices
from numbo.trials import UNASKED, History, finite_range
from numbo.trials.effort import effort

#: Noise matters if it is more than this share of the variance of the values.
NOISY = 1e-2
#: Values at one point agree if their variance is at most this, in units of the variance of all values.
SCATTER = 1e-4
#: Noise is refuted if the repeats are this many times as probable without it: strong evidence according to Kass &
#: Raftery (1995), "Bayes Factors".
ODDS = 20.0
#: Differences of repeats are more than variances explain if they are so many standard errors larger.
SURPRISE = 2.0
#: Values with at most this many levels are coarse, like outcomes of 0 or 1. Their noise varies over the space, and may
#: be small near the best value, whatever a model claims.
LEVELS = 4
#: If values are coarse, one observation in this many may be used to find out whether there is noise
#: (`benchmarks/results/single-runs.md`).
COARSELY = 10
#: Size of rounding errors, in units of the spread of the values.
DUST = 1e-9
#: Of the first `FIRST` observations, at most two are used to check a claim of noise; of `LATER` later ones, one is.
FIRST = 100
LATER = 200
#: Where trials were stopped, a model sees too little of the noise to claim it: once this number have run to their end,
#: the best point is measured again anyway: ``benchmarks/results/compare-confirm.md``.
FINISHED = 12
#: Distance of the quartiles of a normal distribution, in standard deviations.
QUARTILES = 1.349
#: Median absolute difference of two normal values, in standard deviations.
MEDIAN_GAP = 0.954
#: The noise that repeats show is at least as large as `Noise.scatter` says, but in this share of cases.
UNSURE = 0.05


class Claims(Protocol):
    """A model that estimates the noise."""

    @property
    def claimed_noise(self) -> float | None:
        """Variance of the noise, in units of the variance of the values; None before the first fit."""


class Claimed(NamedTuple):
    """A claim at one moment."""

    claimed_noise: float | None


class Tie(NamedTuple):
    """The quantities that determine the probability of equal noisy measurements at a point (`tie`).

    Attributes:
        common: how often values of different points tie.
        step: between neighbouring values, in standard deviations of all values.
        least: the lowest probability that can be estimated from the number of values.
        gap: between the two measurements, in the unit of ``step``; 0 if they are equal.
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
        """The probability that two noisy measurements agree so closely, with noise of this share of the variance."""
        sigma = math.sqrt(NOISY if self.coarse else noise)
        equal = min(self.common, math.erf(self.step / (4.0 * sigma)))
        return max(equal, math.erf(self.gap / (2.0 * math.sqrt(noise))), self.least)


@dataclass
class Repeats:
    """The evidence of repeats: observations at points that already had one.

    Attributes:
        known: number of repeats evaluated so far.
        norm: root of the sum of the squares of the ``gaps``.
        explained: the same of the deviations of the gaps by the variances that were told.
        surprise: sum of the squares of the gaps in units of these deviations; infinite where none was told.
        unfinished: number of repeats that were stopped.
        hints: the squares of their differences, in units of the variance of all values at the same step.
        finished: the first finished observation at a point whose first observation was stopped.
        asked: the first repeat that was asked for, by the index of the first observation at its point.
        agreed: repeats that were asked for and have exactly the value of their point's first observation.
        copies: repeats with that value that were told without being asked for; no other point has their value.
        gaps: absolute differences from the first value at the point, of all repeats that are measurements, not copies.
    """

    known: int = 0
    norm: float = 0.0
    explained: float = 0.0
    surprise: float = 0.0
    unfinished: int = 0
    hints: list[float] = field(default_factory=list)
    finished: dict[int, int] = field(default_factory=dict)
    asked: dict[int, int] = field(default_factory=dict)
    agreed: list[int] = field(default_factory=list)
    copies: list[int] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Noise:
    """The evidence of noise in a run: a function of its history, and of the claims of its models.

    Args:
        history: the observations; read only.
        models: the models whose claims count.
        asks: whether the search measures the best point again to check a claim (`Availability.probe`). Until then, no
            claim is credible.
        output: index of the output.
    """

    history: History
    models: tuple[Claims, ...] = ()
    asks: bool = False
    output: int = 0

    @property
    def claimed(self) -> float | None:
        """The largest noise that a model claims (`Claims`); None as long as none is fitted."""
        claims = (model.claimed_noise for model in self.models)
        return max((claim for claim in claims if claim is not None), default=None)

    @property
    def checks(self) -> int:
        """Number of times that a point was evaluated again: repeats, stopped ones and failures included."""
        repeats = self.repeats
        return len(repeats.gaps) + repeats.unfinished + self.history.visits.failed_again

    @property
    def known(self) -> float:
        """The median variance that values were told with, in units of that of all values without outliers."""
        return self.history.fact(known_variance, self.output)

    @property
    def share(self) -> float:
        """Variance of the common noise by repeats, in units of that of all values without outliers; 0 without repeats.

        It is 0 as well if the variances that values were told with explain the differences.
        """
        spread = self.history.fact(spread_of, self.output) if self.repeats.norm > 0.0 else 0.0
        ratio = self._common / spread if spread > 0.0 else 0.0
        return ratio * ratio / (2.0 * max(len(self.repeats.gaps), 1))  # `**` would raise if this is infinite

    @property
    def hinted(self) -> float:
        """Variance of the noise by repeats that were stopped, in units of that of all values at the same step."""
        hints = self.repeats.hints
        return float(np.mean(hints)) / 2.0 if hints else 0.0

    @property
    def _common(self) -> float:
        """Root of the sum of squares of the gaps, less what variances that were told explain."""
        repeats = self.repeats
        count = len(repeats.gaps)
        if repeats.surprise <= count + SURPRISE * math.sqrt(2.0 * count):
            return 0.0
        part = min(repeats.explained / repeats.norm, 1.0)
        return repeats.norm * math.sqrt(1.0 - part * part)

    @property
    def deviation(self) -> float:
        """Standard deviation of the common noise by repeats, in units of the values; 0 without noise.

        Unlike `scatter` it is not robust: the median difference of outcomes of 0 or 1 may be 0.
        """
        return self._common / math.sqrt(2.0 * len(self.repeats.gaps)) if self.share > SCATTER else 0.0

    @property
    def scatter(self) -> float:
        """The standard deviation of the noise by repeats, at least, in units of the values; 0 without noise.

        The lower bound of a confidence interval, since few differences say little. Outliers do not raise it beyond the
        median difference.
        """
        from scipy.special import chdtri

        if self.share <= SCATTER:
            return 0.0
        repeats = self.repeats
        typical = min(statistics.median(repeats.gaps) / MEDIAN_GAP, float(np.finfo(float).max))
        lowest = repeats.norm / math.sqrt(2.0 * float(chdtri(len(repeats.gaps), UNSURE)))
        return min(typical, lowest) * (self._common / repeats.norm)

    @property
    def refuted(self) -> bool:
        """Whether repeats show that there is no noise.

        If values tie, they do so most often near the best one, since accuracies have a ceiling. So one repeat that
        agrees is not enough then, however rare ties are elsewhere: accuracies on 50 to 200 samples agree at the best
        point in 0.4 to 0.2 of cases, and for pairs of other points in 0.05 to 0.02.
        """
        if not self.repeats.asked or self.share > SCATTER or self.known > NOISY:
            return False
        ties = self._ties.values()
        if len(ties) == 1 and not all(one.continuous for one in ties):
            return False
        noise = max(self.claimed or 0.0, NOISY)
        return -sum(math.log(one.chance(noise)) for one in ties) >= math.log(ODDS)

    def plausible(self, claimed: float | None) -> bool:
        """Whether ``claimed`` noise, as a share of the variance of the values, matters and is not refuted."""
        return claimed is not None and claimed > NOISY and not self.refuted

    def credible(self, claimed: float | None) -> bool:
        """Whether repeats show noise, or a model's claim is plausible and was checked.

        If the search asks, a check is a repeat that differs, or that agrees where ties are too common to refute noise.
        Where trials were stopped, ends are expected only, and what a model claims is more than noise of measurements:
        it averages anyway.
        """
        if self.shown:
            return True
        if not self.history.final.all():
            return claimed is not None and claimed > NOISY
        if not self.plausible(claimed):
            return False
        return not self.asks or bool(self.repeats.asked) or self.share > SCATTER

    @property
    def shown(self) -> bool:
        """Whether repeats, or variances that were told, show noise that matters."""
        return max(self.share, self.known, self.hinted) > NOISY

    @property
    def found(self) -> bool:
        """Whether values are noisy, by repeats or by a credible claim."""
        return self.credible(self.claimed)

    @property
    def unsettled(self) -> bool:
        """Whether one more measurement of the best point could decide whether a model's noise is real.

        This is so if a model claims noise and no repeat confirms it, or if trials were stopped and none was repeated.
        Among the first hundred observations at most two measurements are used for this, the second one only if noisy
        values might have tied; later, one in two hundred.

        If values are so coarse that ties are weak evidence, like outcomes of 0 or 1, one in `COARSELY` is used,
        whatever a model claims: it may fit the outcomes as if they were the objective.
        """
        if not self.asks or self.share > SCATTER or self.shown:
            return False
        n = self.history.n
        ties = self._ties.values()
        refuted = self.refuted
        spent = self.checks + self.history.visits.observed(self.history.pending.values())
        if ties and not refuted and all(one.coarse for one in ties):
            return spent < n // COARSELY
        if not spent and self.history.fact(effort).stopped and np.count_nonzero(self.history.final) >= FINISHED:
            return True
        allowed = 1 + (n + FIRST) // LATER
        return (self.claimed or 0.0) > NOISY and spent < (allowed if refuted else max(2, allowed))

    @property
    def copies(self) -> ObservationIndices:
        """Observations (c,) without new information, with the known value of their point.

        These are copies, and all equal repeats if noise is refuted. They would make a model fit every value, however
        rough: on rotated Rastrigin functions its noise falls from some percent to none.
        """
        repeats = self.repeats
        if not (repeats.copies or repeats.agreed):
            return np.empty(0, dtype=np.int64)
        exact = bool(repeats.agreed) and self.refuted
        return np.array(repeats.copies + repeats.agreed if exact else repeats.copies, dtype=np.int64)

    def distinct(self, rows: ObservationIndices) -> ObservationIndices:
        """The observations ``rows (m,)`` without `copies`."""
        copies = self.copies
        return rows[~np.isin(rows, copies)] if len(copies) else rows

    @property
    def repeats(self) -> Repeats:
        """The evidence of all repeats."""
        return self.history.fact(evidence, self.output)

    @property
    def _ties(self) -> Mapping[int, Tie]:
        """The `Tie` of each point that was asked for again, by the index of its first observation.

        Needed only while all repeats agree, as each takes the time of sorting all values.
        """
        return self.history.fact(ties_of, self.output)


def spread_of(known: float | None, history: History, output: int) -> float:
    """The fold of the `robust_std` of all values of an ``output``."""
    return robust_std(history.values(output=output))


def known_variance(known: float | None, history: History, output: int) -> float:
    """The fold of `Noise.known`."""
    if output > 0 or not history.variance.any():
        return 0.0
    variance = history.variance[history.final]
    told = float(np.median(variance)) if variance.any() else 0.0
    spread = history.fact(spread_of, output) if told > 0.0 else 0.0
    ratio = math.sqrt(told) / spread if spread > 0.0 else 0.0
    return ratio * ratio


def ties_of(known: Mapping[int, Tie] | None, history: History, output: int) -> Mapping[int, Tie]:
    """The fold of the `Tie` of each point that was asked for again, by the index of its first observation."""
    repeats = history.fact(evidence, output)
    found = {} if known is None else dict(known)
    repeated = np.zeros(history.n, dtype=bool)
    repeated[[i for _, i in history.visits.again]] = True
    for first in repeats.asked.keys() - found.keys():
        i = repeats.asked[first]
        one = repeats.finished.get(first, first)
        others = ~repeated[:i] & history.final[:i]
        others[one] = False
        y = history.output(output)
        found[first] = tie(y[:i][others], float(y[one]), float(y[i]))
    return {first: found[first] for first in repeats.asked}


def evidence(known: Repeats | None, history: History, output: int) -> Repeats:
    """The fold of the `Repeats` of an ``output``."""
    if known is not None and known.known == len(history.visits.again):
        return known
    found = Repeats() if known is None else copied(known)
    y = history.output(output)
    final = history.final
    variance = history.trials.variance[history.positions] if output == 0 else np.zeros(history.n)
    for point, i in history.visits.again[found.known :]:
        first = found.finished.get(point, point)
        if not (final[first] and final[i]):
            found.unfinished += not final[i]
            found.hints += _hint(history, first, i)
            if final[i]:
                found.finished[point] = i
            continue
        one = float(y[first])
        other = float(y[i])
        gap = 0.0 if one == other else one - other  # the values may be infinite
        asked = int(history.trials.origins[history.positions[i]]) != UNASKED
        same = gap == 0.0 and alike(history, first, i)
        if same and asked:
            found.agreed.append(i)
        elif same:
            same_value = np.flatnonzero(y[:i] == one)
            if (history.X[same_value] == history.X[i]).all():
                found.copies.append(i)
            continue
        found.norm = math.hypot(found.norm, gap)  # values may be of any size
        told = math.sqrt(variance[first] + variance[i])
        found.explained = math.hypot(found.explained, told)
        if gap != 0.0:
            ratio = abs(gap) / told if told > 0.0 else math.inf
            found.surprise += ratio * ratio
        found.gaps.append(abs(gap))
        if asked:
            found.asked.setdefault(point, i)
    found.known = len(history.visits.again)
    return found


def alike(history: History, i: int, j: int) -> bool:
    """Whether all outputs of two observations are the same, using expected ends for stopped trials."""
    one, other = history.trials.Y[history.positions[[i, j]], 1:]
    return bool(history.y[i] == history.y[j]) and bool((one == other).all())


def _hint(history: History, one: int, other: int) -> list[float]:
    """By how much two trials of a point differ at the last step of both; empty if they have none in common."""
    trials = history.trials
    pair = history.positions[[one, other]].tolist()
    curves = trials.curves_of(np.array(pair))
    if len(curves) < 2:
        return []
    step = min(curve.steps[-1] for curve in curves)
    before = [c.at(step) for c in trials.curves[: pair[1]] if c is not None and c.steps[0] <= step <= c.steps[-1]]
    spread = robust_std(finite_range(np.array(before))) if before else 0.0
    gap = curves[0].at(step) - curves[1].at(step)
    ratio = gap / spread if spread > 0.0 else 0.0
    return [ratio * ratio] if math.isfinite(ratio) else []


def robust_std(y: Array) -> float:
    """Standard deviation of ``y (n,)`` without outliers, by the quartiles; of all values if these are equal."""
    low, high = np.quantile(y, (0.25, 0.75))
    unit = float(np.max(np.abs(y))) or 1.0
    with np.errstate(over="ignore"):  # values may be of any size
        return float((high - low) / QUARTILES if high > low else np.std(y / unit) * unit)


def tie(y: Array, value: float, again: float) -> Tie:
    """The `Tie` of two measurements ``value`` and ``again`` at a point, by the values ``y (n,)`` of other points.

    The frequency of ties is estimated by the share of tied pairs of points, with the rule of succession, or by the
    share of points with this value. The latter is doubled: for a good value this is the share among the better half.
    But points may also tie because the objective has plateaus. Then the step between neighbouring values is small
    compared with their spread: rounded to steps, normal noise ties with probability ``erf(step / (4 sigma))``. The
    smaller of the two probabilities counts. Measurements that nearly agree have the probability
    ``erf(gap / (2 sigma))`` that normal noise differs so little.

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
