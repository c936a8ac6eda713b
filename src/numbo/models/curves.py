"""Prediction of the ends of learning curves: a chain of regressions of ranks, from each rung to the next.

The reports of a pruned trial show its beginning but not its end. The end is predicted from the curves of other trials.
Of the steps of the longest curve some are kept as *rungs*, each `RATIO` times as late as the one before. The transition
from one rung to the next, and from the last rung to the final value, is learned from the curves that made it: the
normal scores of values after a transition are a linear function of the scores before it, with normal errors
(`numbo.kernels.curves`). A curve is extrapolated along the rungs by samples.

Pruners decide by values that the regressions use. So expected ends are nearly unbiased if most stopped curves reached a
rung, and curves of all kinds ended ("missing at random", Rubin 1976). Under the median rule, biases are below a tenth
to a third of the spread of all values, and larger if good curves begin slowly. Under successive halving few curves end,
and predictions are off in either direction by half of the spread and more. If a curve was stopped between two rungs,
the value of equal rank at the earlier rung takes its place.

Regressions of the values themselves are as good for the mean of all ends, but missed the best ends by up to six
standard deviations: most curves stay where they are, a few improve greatly, and a small lead shows which. With ranks
the error is about two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

from numbo._plain import copied
from numbo._types import Array, Indices, Mask
from numbo.kernels.curves import carry, of_equal_rank, scores_of
from numbo.models.moments import Prediction
from numbo.models.transforms import LARGE, LARGEST, OutputTransform
from numbo.trials import Curve, finite_range
from numbo.trials.ends import Expected
from numbo.trials.schedule import Schedule
from numbo.trials.trials import Trials

#: Each rung is this many times as late as the one before. This and the next constants were not tuned.
RATIO = 1.5
#: Number of samples of an end, and of the end of a running trial, which changes with every report. Compared with 1,024
#: samples, the mean error with 32 is .03 standard deviations in the mean and 14 % in the deviation (128: .014, 6 %).
PARTICLES = 128
FEW = 32
#: Maximum number of steps at which curves are compared between rungs, and of curves that are compared at each.
LADDER = 256
BESIDE = 256
#: Prior of the regressions: scores are multiplied by this factor; it counts as much as `PRIOR` curves.
KEPT = 0.9
PRIOR = 3.0
#: The chain is fitted again when the number of trials has grown by this share.
GROWTH = 0.1
#: Upper limit of standard deviations, as their squares have to be finite.
LARGEST_STD = 1e150


class Step(NamedTuple):
    """The transition from a rung to the next one, from the curves that made it.

    Attributes:
        samples: (3, n) ascending: their values one rung before, at its beginning, and at its end.
        scores: (n,) the normal scores of each sample.
        coefficients: (2,) of the score at the beginning, and of its increase since the rung before.
        spread: (2, 2) their covariance, in units of the variance of scores.
        noise: standard deviation of the score at the end.
    """

    samples: Array
    scores: Array
    coefficients: Array
    spread: Array
    noise: float

    @classmethod
    def of(cls, before: Array, start: Array, end: Array) -> Step:
        """From values (n,) of the same curves; NaN ``before`` if unknown."""
        n = len(start)
        known = np.where(np.isnan(before), start, before)
        samples = np.sort(np.array([known, start, end]), axis=1)
        scores = _normal_scores(n)
        old = scores_of(samples[0], scores, known)
        now = scores_of(samples[1], scores, start)
        new = scores_of(samples[2], scores, end)
        F = np.column_stack([now, now - old])
        (a, b), (_, c) = np.einsum("ni,nj->ij", F, F) + PRIOR * np.eye(2)
        spread = np.array([[c, -b], [-b, a]]) / (a * c - b * b)
        target = np.einsum("ni,n->i", F, new) + PRIOR * np.array([KEPT, 0.0])
        coefficients = np.einsum("ij,j->i", spread, target)
        squares = float(np.sum((new - np.einsum("ni,i->n", F, coefficients)) ** 2))
        noise = math.sqrt((PRIOR * (1.0 - KEPT**2) + squares) / (PRIOR + n))
        return cls(samples, scores, coefficients, spread, noise)


class Chain:
    """The transitions along the rungs of some curves.

    As long as none of the curves has ended, the last rung is the end.

    Args:
        curves: of the trials, None without reports.
        ends: (n,) the final values, NaN if unknown.

    Attributes:
        rungs: the steps (r,) of the rungs.
        transform: of the values.
    """

    def __init__(self, curves: Sequence[Curve | None], ends: Array) -> None:
        ends = np.where([curve is None for curve in curves], np.nan, ends)  # without a curve there is nothing to learn
        ladder = _longest(curves).steps
        self.rungs = ladder[_places(len(ladder))]
        self._ladder = ladder[np.unique(np.linspace(0, len(ladder) - 1, LADDER).astype(np.int64))]
        self._ladder = np.union1d(self._ladder, self.rungs)
        self._curves = curves
        self._ended = ~np.isnan(ends)
        self._last = np.array([-np.inf if curve is None else curve.steps[-1] for curve in curves])
        self._beside: dict[float, tuple[Array, Array]] = {}
        table = np.column_stack([_at_rungs(curves, self._ended, self.rungs), ends])
        known = table[~np.isnan(table)]
        finite = known[np.isfinite(known)]
        self._range = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
        # values beyond the known ones must be distinguished, too: the logarithm is not clipped
        self.transform = replace(OutputTransform.fit(finite_range(known), "log"), floor=-LARGEST / 4.0)
        Z = self.transformed(table)
        self._arrays = _padded([_step(Z, k) for k in range(len(self.rungs))])

    def transformed(self, values: Array) -> Array:
        """The transformed ``values``, NaN for NaN; infinite ones count as the best or worst finite one."""
        finite = np.where(np.isinf(values), np.clip(values, *self._range), values)
        with np.errstate(over="ignore"):
            found = np.clip(self.transform.forward(finite), -LARGE, LARGE)
        return np.where(np.isnan(values), np.nan, found)

    def ends(self, curves: Sequence[Curve], particles: int = PARTICLES) -> Array:
        """Samples (m, p) of where ``curves`` (m,) may end, in transformed values."""
        steps = np.array([curve.steps[-1] for curve in curves])
        first = np.maximum(np.searchsorted(self.rungs, steps, "right") - 1, 0)
        before = [curve.at(self.rungs[k - 1]) if k else np.nan for curve, k in zip(curves, first, strict=True)]
        last = self.transformed(np.array([curve.last for curve in curves]))
        self._stand_at_rungs(last, steps, self.rungs[first])
        normal = _normal_numbers(particles, len(self.rungs))
        out: Array = carry(*self._arrays, last, self.transformed(np.array(before)), first, normal)
        return out

    def _stand_at_rungs(self, z: Array, steps: Array, rungs: Array) -> None:
        """Replace the values ``z (m,)`` at ``steps (m,)`` by those of equal rank at the ``rungs (m,)`` before."""
        passed = self._ladder[np.maximum(np.searchsorted(self._ladder, steps, "right") - 1, 0)]
        for step in np.unique(passed[passed > rungs]):
            at = np.flatnonzero(passed == step)
            now, then = self._both(float(step), float(rungs[at[0]]))
            if len(now):
                z[at] = of_equal_rank(now, then, _normal_scores(len(now)), z[at])

    def _both(self, step: float, rung: float) -> tuple[Array, Array]:
        """The values (n,) at a step and at the rung before it of some curves that reached the step; each ascending."""
        if step not in self._beside:
            rows = np.flatnonzero((self._last >= step) | (self._ended & (self._last >= rung)))
            rows = rows[np.unique(np.linspace(0, len(rows) - 1, BESIDE).astype(np.int64))] if len(rows) else rows
            found = [(curve.at(step), curve.at(rung)) for t in rows.tolist() if (curve := self._curves[t]) is not None]
            now, then = self.transformed(np.array(found).reshape(-1, 2)).T
            known = ~(np.isnan(now) | np.isnan(then))
            self._beside[step] = np.sort(now[known]), np.sort(then[known])
        return self._beside[step]

    def values(self, curves: Sequence[Curve], particles: int = PARTICLES) -> Prediction:
        """Ends of ``curves`` in the units of the values: medians (m,) and standard deviations (m,).

        A standard deviation is at most the range of all values, or the distance of the median from the last value.
        """
        ends = self.ends(curves, particles)
        found = self.transform.backward(ends.mean(axis=1), ends.std(axis=1))
        low, high = self._range
        last = np.clip([curve.last for curve in curves], -LARGEST / 4.0, LARGEST / 4.0)
        with np.errstate(over="ignore"):
            farthest = np.maximum(high - low, np.abs(found.mean - last))
        return found._replace(std=np.minimum(found.std, farthest))


def _step(Z: Array, k: int) -> Step:
    """The transition from rung ``k`` to the next, from the curves ``Z`` that made it."""
    rows = np.flatnonzero(~np.isnan(Z[:, k]) & ~np.isnan(Z[:, k + 1]))
    before = Z[rows, k - 1] if k else np.full(len(rows), np.nan)
    return Step.of(before, Z[rows, k], Z[rows, k + 1])


def _padded(steps: Sequence[Step]) -> tuple[Array, Array, Indices, Array, Array, Array]:
    """The transitions as arguments of `carry`."""
    counts = np.array([len(step.scores) for step in steps])
    samples = np.zeros((len(steps), 3, max(1, *counts)))
    scores = np.zeros((len(steps), max(1, *counts)))
    for k, step in enumerate(steps):
        samples[k, :, : counts[k]] = step.samples
        scores[k, : counts[k]] = step.scores
    coefficients = np.array([step.coefficients for step in steps])
    spreads = np.array([step.spread for step in steps])
    return samples, scores, counts, coefficients, spreads, np.array([step.noise for step in steps])


def _normal_scores(n: int) -> Array:
    from scipy.special import ndtri

    out: Array = ndtri((np.arange(n) + 0.5) / max(n, 1))
    return out


@cache
def _normal_numbers(p: int, r: int) -> Array:
    """Normal numbers (p, r), p even: pairs of a Kronecker sequence (Roberts 2018) and its mirror image, scaled to 1."""
    from scipy.special import ndtri

    root = 1.0
    for _ in range(32):
        root = (1.0 + root) ** (1.0 / (r + 1.0))
    steps = (1.0 / root) ** np.arange(1.0, r + 1.0)
    half = ndtri((0.5 + np.arange(1.0, p // 2 + 1.0)[:, None] * steps) % 1.0)
    out: Array = np.concatenate([half, -half]) / np.sqrt(np.mean(half**2, axis=0))
    return out


def _longest(curves: Sequence[Curve | None]) -> Curve:
    """The curve with the most reports; of ties, the one with the latest step."""
    return max((c for c in curves if c is not None), key=lambda c: (len(c.steps), c.steps[-1]))


def _places(count: int) -> list[int]:
    """Positions of rungs among ``count`` steps: the first one, each `RATIO` times as late as the last, and the end."""
    places = [0]
    while places[-1] < count - 1:
        places.append(min(max(places[-1] + 1, round(RATIO * (places[-1] + 1)) - 1), count - 1))
    return places


def _at_rungs(curves: Sequence[Curve | None], ended: Mask, rungs: Array) -> Array:
    """The last values (n, r) at or before each of the ``rungs``, NaN if there is none, or the curve was stopped.

    A curve that has ``ended`` keeps its last value, since others may be longer.
    """
    table = np.full((len(curves), len(rungs)), np.nan)
    for row, curve, whole in zip(table, curves, ended, strict=True):
        if curve is not None:
            place = np.searchsorted(curve.steps, rungs, "right") - 1
            known = (place >= 0) & (whole | (rungs <= curve.steps[-1]))
            row[known] = curve.values[place[known]]
    return table


class Curves:
    """The expected ends of all stopped and running trials, updated by the trials in the order in which they were told.

    When a chain is fitted depends only on the number of trials that have reported; it is fitted when first needed.
    """

    def __init__(self) -> None:
        self._seen = Schedule(GROWTH)
        self._fits = Schedule(GROWTH)
        #: Number of trials looked at, and the positions of those of them that have reported.
        self._looked_at = 0
        self._reporters = list[int]()
        self._chain: Chain | None = None
        #: The ends of trials that ran at the last call, by the identity of their curves, which are kept here.
        self._running: dict[int, tuple[Curve, float, float]] = {}

    __copy__ = copied  # a chain does not change

    def see(self, trials: Trials, n: int) -> bool:
        """Whether the chain after the first ``n`` of the ``trials`` differs from that of the last call."""
        return self._seen.advance(self._reported(trials, n))

    def end_of(self, curve: Curve, trials: Trials) -> tuple[float, float] | None:
        """The expected end of another curve, and its standard deviation; None if the ``trials`` have no curves."""
        if all(known is None for known in trials.curves):
            return None
        chain = _chain(trials, trials.n)
        found = chain.values([curve])
        return float(found.mean[0]), float(found.std[0])

    def expected(self, curves: Sequence[Curve], trials: Trials, n: int) -> Expected:
        """Expected values (m,) at the ends of ``curves (m,)``, given the first ``n`` trials, and their variances (m,).

        NaN as long as none of these trials has reported anything.
        """
        return self._ends(self._after(trials, n), curves, PARTICLES)

    def running(self, curves: Sequence[Curve], trials: Trials, n: int) -> Expected:
        """As `expected`, for running trials; fast for curves that have not changed since the last call."""
        chain = self._after(trials, n)
        known = self._running
        fresh = [curve for curve in curves if id(curve) not in known]
        for curve, value, variance in zip(fresh, *self._ends(chain, fresh, FEW), strict=True):
            known[id(curve)] = curve, float(value), float(variance)
        self._running = {id(curve): known[id(curve)] for curve in curves}
        return Expected(*np.array([known[id(curve)][1:] for curve in curves]).reshape(-1, 2).T)

    def _after(self, trials: Trials, n: int) -> Chain | None:
        """The chain after the first ``n`` trials; None if none of these has reported anything."""
        if self._fits.advance(self._reported(trials, n)):
            self._chain = _chain(trials, self._reporters[self._fits.at - 1] + 1)
            self._running = {}
        return self._chain

    def _reported(self, trials: Trials, n: int) -> int:
        """How many of the first ``n`` trials have reported something."""
        new = range(self._looked_at, n)
        self._reporters += [t for t in new if trials.curves_of(np.array([t]))]
        self._looked_at = max(n, self._looked_at)
        return len(self._reporters)

    @staticmethod
    def _ends(chain: Chain | None, curves: Sequence[Curve], particles: int) -> Expected:
        """The ends of ``curves (m,)`` by a chain; NaN without one."""
        if chain is None or not curves:
            return Expected.of_nothing(len(curves))
        found = chain.values(curves, particles)
        return Expected(found.mean, np.minimum(found.std, LARGEST_STD) ** 2)


def _chain(trials: Trials, n: int) -> Chain:
    """The chain of the first ``n`` of the trials."""
    return Chain(trials.curves[:n], np.where(trials.final, trials.Y[:, 0], np.nan)[:n])
