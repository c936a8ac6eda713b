"""Learning curves, carried along the rungs of a ladder by their ranks among the curves that made the same step.

What a small lead at an early step is worth differs by orders of magnitude from curve to curve, and from step to step.
Its rank says more. So values at a rung become *normal scores*, the quantiles of a normal distribution by their rank.
Scores of the next rung are a linear function of them with normal errors: a Gaussian copula.
"""

from __future__ import annotations

import numpy as np

from numbo.compiling.jit import jit, subroutine

#: Beyond the ends of a sample, values go on as they did over the last so much of a score, at most so much farther. Not
#: tuned, as the next one.
TAIL, FARTHEST = 1.0, 3.0
#: How uncertain that is, as a share of the distance.
DOUBT = 0.5
#: An allowance for misfit in every step: the variance of a score near the median of a sample, times its size. Without
#: it, 73 % of intervals of 90 % hold where curves cross, with it 85 %; where none cross, intervals are too wide.
SAMPLED = 0.5 * np.pi


@subroutine
def between(xs, ys, n, x):
    """Piecewise linear interpolation at ``x``; ``xs[:n]`` ascending. Constant beyond its ends."""
    if x <= xs[0]:
        return ys[0]
    if x >= xs[n - 1]:
        return ys[n - 1]
    k = np.searchsorted(xs[:n], x)
    share = (x - xs[k - 1]) / (xs[k] - xs[k - 1])
    return ys[k - 1] + share * (ys[k] - ys[k - 1])


@subroutine
def tails(values, scores, n):
    """Values per score below and above the sample; few that tie say little, where values have a spread of 1."""
    span, least = min(TAIL, 0.5 * (scores[n - 1] - scores[0])), 1.0 / (n * n)
    if not span > 0.0:
        return least, least
    low = between(scores, values, n, scores[0] + span) - values[0]
    high = values[n - 1] - between(scores, values, n, scores[n - 1] - span)
    return max(low / span, least), max(high / span, least)


@subroutine
def score_of(values, scores, n, below, above, value):
    """The normal score of a ``value`` in the sample ``values[:n]``, ascending; ties have that of their mean rank.

    ``below`` and ``above`` are its `tails`.
    """
    low = np.searchsorted(values[:n], value)
    high = np.searchsorted(values[:n], value, "right")
    if high > low:
        return 0.5 * (scores[low] + scores[high - 1])
    if low == 0:
        return scores[0] - min((values[0] - value) / below, FARTHEST)
    if low == n:
        return scores[n - 1] + min((value - values[n - 1]) / above, FARTHEST)
    share = (value - values[low - 1]) / (values[low] - values[low - 1])
    return scores[low - 1] + share * (scores[low] - scores[low - 1])


@subroutine
def value_of(values, scores, n, below, above, score):
    """The value that has this normal ``score`` in the sample ``values[:n]``, ascending; its `tails` as `score_of`."""
    if score < scores[0]:
        return values[0] - below * (scores[0] - score)
    if score > scores[n - 1]:
        return values[n - 1] + above * (score - scores[n - 1])
    return between(scores, values, n, score)


@subroutine
def lead_left_out(values, n, below, above, value):
    """By how much a ``value`` lies beyond the farthest scores that are told apart; below the sample it is negative."""
    if value > values[n - 1]:
        return max(value - values[n - 1] - FARTHEST * above, 0.0)
    return min(value - values[0] + FARTHEST * below, 0.0)


@jit
def scores_of(values, scores, X):
    """Normal scores (m,) of ``X (m,)`` in the sample ``values (n,)``, ascending."""
    (m,), (n,) = X.shape, values.shape
    out = np.zeros(m)
    if n > 0:
        below, above = tails(values, scores, n)
        for i in range(m):
            out[i] = score_of(values, scores, n, below, above, X[i])
    return out


@jit
def of_equal_rank(values, others, scores, X):
    """The values (m,) that have the normal scores in ``others (n,)`` that ``X (m,)`` have in ``values (n,)``.

    A lead that ranks cannot tell is kept.
    """
    (m,), (n,) = X.shape, values.shape
    out = np.empty(m)
    below, above = tails(values, scores, n)
    low, high = tails(others, scores, n)
    for i in range(m):
        score = score_of(values, scores, n, below, above, X[i])
        lead = lead_left_out(values, n, below, above, X[i])
        out[i] = value_of(others, scores, n, low, high, score) + lead
    return out


@jit
def carry(samples, scores, counts, coefficients, spreads, noise, z, before, first, E):
    """Where curves may end: samples (m, p).

    A lead over all curves that is too large for ranks to tell may be kept, lost, or anything in between.

    Args:
        samples: (r, 3, n) of the curves that made each step, ascending: values one rung before it, at its beginning and
            at its end.
        scores: (r, n) their normal scores.
        counts: (r,) how many there are; a step that none has made changes nothing.
        coefficients: (r, 2) of the score at the beginning, and of what it rose since the rung before.
        spreads: (r, 2, 2) covariances of these, in units of the variance of scores.
        noise: (r,) standard deviations of scores.
        z, before, first: (m,) values of the curves, their values one rung before, and the rungs where they are.
        E: (p, r) standard normal numbers.
    """
    m, (p, r) = z.shape[0], E.shape
    out, ends = np.empty((m, p)), np.zeros((r, 3, 2))
    for k in range(r):
        if counts[k] > 0:
            for s in range(3):
                ends[k, s] = tails(samples[k, s], scores[k], counts[k])
    for i in range(m):
        lead, start = 0.0, first[i]
        if counts[start] > 0:
            lead = lead_left_out(samples[start, 1], counts[start], ends[start, 1, 0], ends[start, 1, 1], z[i])
        for j in range(p):
            now, last = z[i], before[i]
            for k in range(start, r):
                n = counts[k]
                if n > 0:
                    score, rise = score_of(samples[k, 1], scores[k], n, ends[k, 1, 0], ends[k, 1, 1], now), 0.0
                    if k > 0 and not np.isnan(last):
                        rise = score - score_of(samples[k, 0], scores[k], n, ends[k, 0, 0], ends[k, 0, 1], last)
                    known = spreads[k, 0, 0] * score * score + spreads[k, 1, 1] * rise * rise
                    beyond = DOUBT * max(abs(score) - scores[k, n - 1], 0.0)
                    known += 1.0 + 2.0 * spreads[k, 0, 1] * score * rise
                    error = np.sqrt(noise[k] * noise[k] * known + beyond * beyond + SAMPLED / n)
                    score = coefficients[k, 0] * score + coefficients[k, 1] * rise + error * E[j, k]
                    last, now = now, value_of(samples[k, 2], scores[k], n, ends[k, 2, 0], ends[k, 2, 1], score)
            out[i, j] = now + lead * (j + 0.5) / p
    return out
