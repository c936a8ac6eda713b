"""What more trials would bring, forecast by how often and by how much the best value has improved so far.

Improvements are a marked point process. Their rate after t trials is proportional to ``t^-GAMMA``: between a search
that converges steadily, and random search, whose rate is 1/t. Their number in the next trials has a negative binomial
distribution, as the rate is learned from the improvements so far (a gamma prior; recent ones count most). Their
logarithms are normal, with a trend from one to the next that is learned by Bayesian regression (Gelman et al. 2013,
*Bayesian Data Analysis*, section 14.8). Gains are sums of sizes, by Monte Carlo.

A search of a finite space may have found its best point, after which nothing comes. The probability of that grows with
the square of the trials, and falls with the square root of the number of points. It is as in a mixture cure model
(Boag 1949), and was found on tables.

The forecast is corrected by those that it would have made earlier in the same run: if more came than these expected,
more is expected now (Dawid 1984: probability integral transforms).

It needs no model of the objective, and is the same for whatever suggests points. What a Gaussian process expects of its
next suggestion says little about fifty of them: it does not know what a local search will find.
"""

from __future__ import annotations

import math

import numpy as np

from numbo._types import Array
from numbo.trials import finite_range

#: Number of samples of a forecast, and of an earlier one.
PATHS, EARLIER_PATHS = 1024, 256
#: Constants of the process, chosen on made-up functions (`benchmarks/results/compare-forecasts.md`): the half-life of
#: weights of the rate, as a share of the trials; the prior's shape, and its mean times the number of trials; the
#: exponent of the rate; the ratio of the weights of successive sizes; the prior of the trend (strength, mean), and its
#: upper limit; the prior of the spread (weight, value); the weight that limits how well the level is known; and the
#: largest size, as the logarithm of its ratio to the largest of the last. This one and `FOUND` were chosen later, on
#: other functions and tables.
HALF_LIFE = 0.1
SHAPE, MEAN = 0.55, 5.0
GAMMA = 0.3
RECENT = 0.47
TREND_STRENGTH, TREND, STEEPEST = 6.5, -0.2, -0.1
SPREAD_WEIGHT, SPREAD = 2.3, 2.4
LEVEL_WEIGHT = 0.23
CAP = -0.2
#: The odds that n trials have found the best of N points are ``(n / this)^2 / sqrt(N)``, if most points were not tried.
FOUND = 6.0
#: The spread of values is that of the best from this quantile of so many of the first: most of these may be penalties.
#: Gains below the first share of it are none. Smaller improvements show how small the next ones are, but not smaller
#: than the second share; nor do larger ones than the spread count as larger.
FIRST, QUANTILE = 10, 0.75
DIGITS, SMALLEST = 1e-8, 1e-12
#: The largest size is that of so many of the last.
LAST = 5
#: Most improvements of a path.
MOST = 400
#: The correction by earlier forecasts, each for twice the trials: their number, the least number of trials that they
#: are made after, the ratio of the weights of successive ones, and the weight of having none.
LOOKED_BACK, FROM, FADING, DOUBT = 5, 10, 0.8, 4.0
#: Earlier outcomes count at most as these quantiles.
EXTREME = 0.02


def differ(values: Array) -> bool:
    """Whether some of the ``values (n,)`` that count are different, so that there is a forecast."""
    return len(set(finite_range(values[~np.isnan(values)]).tolist())) > 1


class Improvements:
    """Forecasts of how much the best of some values will improve.

    Args:
        values: (n,) of the trials so far, larger ones being better; NaN for those that do not count. They `differ`.
        left: number of points of the space that were not tried.
    """

    def __init__(self, values: Array, left: float = math.inf) -> None:
        counted = ~np.isnan(values)
        finite = finite_range(values[counted])
        first = int(np.argmax(counted))
        self._unit = float(np.abs(finite).max())
        finite = finite / self._unit
        filled = np.full(len(values) - first, -np.inf)
        filled[counted[first:]] = finite
        best = np.maximum.accumulate(filled)
        self._spread = _spread(finite)
        #: From below up to 0, in units of the spread.
        self._best = (best - best[-1]) / self._spread
        self._left = left
        self._surprise = _surprise(self._best, left)
        #: Accuracies, say, have steps: gains of less are none.
        self._step = 0.5 * float(np.diff(np.unique(finite)).min())

    def gains(self, trials: int) -> Array:
        """Samples (PATHS,), in ascending order, of the gain in so many more trials; none is smaller with more."""
        found = _corrected(np.sort(_forecast(self._best, trials, PATHS, self._left)), self._surprise) * self._spread
        found[found < self._step] = 0.0
        with np.errstate(over="ignore"):
            out: Array = np.minimum(found * self._unit, np.finfo(float).max)
        return out


def _spread(values: Array) -> float:
    """The difference between the best of ``values (n,)`` and the first ones, or all others if these are as good."""
    best = float(values.max())
    start = float(np.quantile(values[:FIRST], QUANTILE))
    return max(best - (start if start < best else float(np.median(values[values < best]))), np.finfo(float).tiny)


def _forecast(best: Array, trials: int, paths: int, left: float = math.inf) -> Array:
    """Samples (paths,) of the gain in so many more trials, given the ``best (n,)`` value after each one so far.

    With more trials, each of them is at least as large: random numbers are the same. ``left`` as `Improvements`.
    """
    from scipy.special import pdtrik

    rng = np.random.default_rng(0)
    steps = np.diff(best)
    at = np.flatnonzero(steps > 0.0)
    n = len(best)
    weights = 0.5 ** ((n - 2 - np.arange(n - 1)) / (HALF_LIFE * n))
    shape = float(weights[at].sum()) + SHAPE
    rate = float(weights.sum()) + SHAPE * n / MEAN
    exposure = n * ((1.0 + trials / n) ** (1.0 - GAMMA) - 1.0) / (1.0 - GAMMA)
    expected = rng.gamma(shape, 1.0 / rate, paths) * exposure
    share = rng.random(paths)
    count = np.where(share <= np.exp(-expected), 0.0, np.minimum(np.ceil(pdtrik(share, expected)), MOST))
    if math.isfinite(left):
        count[rng.random(paths) < _found(n, left)] = 0.0
    (level, level_sd), (trend, trend_sd), sd, largest = _sizes(np.log(np.clip(steps[at], SMALLEST, 1.0)))
    levels = level + level_sd * rng.normal(size=paths)
    trends = np.minimum(trend + trend_sd * rng.normal(size=paths), STEEPEST)
    j = np.arange(1, max(int(count.max()), 1) + 1)[:, None]
    logs = levels + trends * j + sd * rng.normal(size=(len(j), paths))
    gain = np.where(j <= count, np.exp(np.minimum(logs, largest)), 0.0).sum(axis=0)
    out: Array = np.where(gain > DIGITS, gain, 0.0)
    return out


def _found(tried: int, left: float) -> float:
    """The probability that the best of a space was found, if so many of its points were ``tried``, others ``left``."""
    return 1.0 / (1.0 + left / ((tried / FOUND) ** 2 * math.sqrt(tried + left)))


def _sizes(logs: Array) -> tuple[tuple[float, float], tuple[float, float], float, float]:
    """The distribution of the next sizes, given the logarithms (r,) of those so far, in units of the spread.

    The logarithm of each is normal. Returned are the mean just before the first, and its change from one to the next,
    each with its standard deviation; the standard deviation of a size, and the upper limit.
    """
    if not len(logs):
        logs = np.zeros(1)  # the best value is the first: it is one spread away from the others
    i = np.arange(len(logs)) - (len(logs) - 1.0)
    weights = RECENT**-i
    total = float(weights.sum())
    at, mean = float(weights @ i) / total, float(weights @ logs) / total
    strength = float(weights @ (i - at) ** 2) + TREND_STRENGTH
    trend = (float(weights @ ((i - at) * (logs - mean))) + TREND_STRENGTH * TREND) / strength
    level = mean - trend * at
    squares = float(weights @ (logs - level - trend * i) ** 2)
    sd = math.sqrt((squares + SPREAD_WEIGHT * SPREAD**2) / (total + SPREAD_WEIGHT))
    levels = level, sd / math.sqrt(total + LEVEL_WEIGHT)
    return levels, (trend, sd / math.sqrt(strength)), sd, float(logs[-LAST:].max()) + CAP


def _surprise(best: Array, left: float = math.inf) -> float:
    """By how many standard deviations outcomes were above earlier forecasts, shrunk towards 0.

    Each forecast was for as many trials as there had been. ``left`` as `Improvements`, now.
    """
    from scipy.special import ndtri

    end, weight, total, weights = len(best), 1.0, 0.0, DOUBT
    for _ in range(LOOKED_BACK):
        start = end // 2
        if start < FROM:
            break
        gain = best[end - 1] - best[start - 1]
        gain = gain if gain > DIGITS else 0.0
        found = _forecast(best[:start], end - start, EARLIER_PATHS, left + len(best) - start)
        rank = 0.5 * (np.mean(found < gain) + np.mean(found <= gain))
        total += weight * float(ndtri(np.clip(rank, EXTREME, 1.0 - EXTREME)))
        weights += weight
        weight *= FADING
        end = start
    return total / weights


def _corrected(gain: Array, surprise: float) -> Array:
    """The quantiles (n,) of a distribution that is moved by ``surprise`` standard deviations, from samples ``gain``."""
    from scipy.special import ndtr, ndtri

    even = (np.arange(len(gain)) + 0.5) / len(gain)
    out: Array = np.quantile(gain, ndtr(ndtri(even) + surprise))
    return out
