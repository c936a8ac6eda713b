"""Expected hypervolume improvement over a front, in closed form.

The region that a front does not dominate, above a reference point, is divided into disjoint cells: boxes with corners
``lower`` and ``upper``. If objectives are independent and normal, the expected gain of a point within a cell is the
product over the objectives of

    E[(y - lower)+] - E[(y - upper)+] = sd (h(z_lower) - h(z_upper)),  z = (mu - bound) / sd,

with ``h`` of `numbo.kernels.acquisition` (Emmerich et al. 2011; for the cells Daulton, Balandat & Bakshy 2020). The
corners of all cells have few distinct values in each objective; ``h`` is computed once for each of these.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from numbo.compiling.jit import jit, subroutine
from numbo.kernels.acquisition import SQRT_2PI, floored_sd, log_h
from numbo.kernels.covariance import prior_variance

#: Below the first z, h is less than 1e-130 of its usual size; above the second one h(z) = z, to all digits.
FAR, NEAR = -25.0, 9.0
#: Gains below this number are computed by their logarithms, which takes ten times as long.
LEAST = 1e-200


class Front(NamedTuple):
    """The ``c`` cells of a front of ``k`` objectives; larger values are better.

    Attributes:
        bounds: (k, t) the values that corners have, ascending; the last one is infinite.
        lower, upper: (c, k) positions in them.
    """

    bounds: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


@jit
def cells(points, reference):
    """Lower and upper corners (c, k) of the cells above ``reference (k,)`` that the ``points (f, k)`` do not dominate.

    The third result is the volume that they dominate there: the sum of what each adds to those before it.

    Each point removes the region that it dominates from the cells so far, which leaves up to k boxes of a cell. Boxes
    that form a larger box are merged. With points in descending order of the last objective there are then ``f + 1``
    cells for two objectives, and about ``2 f`` for three.
    """
    k = len(reference)
    lower, upper, volume = reference.copy().reshape(1, k), np.full((1, k), np.inf), 0.0
    for p in points:
        hit = np.ones(len(lower), dtype=np.bool_)
        for c in range(len(lower)):
            for j in range(k):
                hit[c] &= lower[c, j] < p[j]
            if hit[c]:
                gain = 1.0
                for j in range(k):
                    gain *= min(upper[c, j], p[j]) - lower[c, j]
                volume += gain
        room = k * int(hit.sum())
        new_lower, new_upper, count = np.empty((room, k)), np.empty((room, k)), 0
        for axis in range(k):  # the last objective first: the box above the point in it is not cut further
            j = (axis + k - 1) % k
            first = count
            for row in np.flatnonzero(hit):
                if not p[j] < upper[row, j]:
                    continue
                low, high = new_lower[count], new_upper[count]
                for i in range(k):
                    low[i], high[i] = lower[row, i], upper[row, i]
                low[j] = max(low[j], p[j])
                for before in range(axis):
                    i = (before + k - 1) % k
                    high[i] = min(high[i], p[i])
                count += 1
            count = merged(new_lower, new_upper, first, count)
        kept_lower, kept_upper = lower[~hit], upper[~hit]
        lower = np.concatenate((kept_lower, new_lower[:count]))
        upper = np.concatenate((kept_upper, new_upper[:count]))
    return lower, upper, volume


@subroutine
def merged(lower, upper, first, count):
    """Merge boxes from ``first`` on that differ along one axis and touch there; returns how many are left."""
    k, a = lower.shape[1], first
    while a < count:
        b, grew = a + 1, False
        while b < count:
            axis, same = -1, True
            for j in range(k):
                if lower[a, j] != lower[b, j] or upper[a, j] != upper[b, j]:
                    same = same and axis < 0
                    axis = j
            if same and axis >= 0 and (upper[a, axis] == lower[b, axis] or upper[b, axis] == lower[a, axis]):
                lower[a, axis] = min(lower[a, axis], lower[b, axis])
                upper[a, axis] = max(upper[a, axis], upper[b, axis])
                count -= 1
                for j in range(k):
                    lower[b, j], upper[b, j] = lower[count, j], upper[count, j]
                grew = True
            else:
                b += 1
        if not grew:
            a += 1
    return count


class Divided(NamedTuple):
    """Lower and upper corners (c, k) of `cells`, and the volume that points dominate."""

    lower: np.ndarray
    upper: np.ndarray
    volume: float


def divided(above: np.ndarray, reference: np.ndarray) -> Divided:
    """The `cells` of points (f, k) that lie ``above`` the ``reference (k,)``, in the order that gives few cells."""
    ordered = above[np.lexsort(-above.T)]
    return Divided(*cells(np.ascontiguousarray(ordered), np.ascontiguousarray(reference)))


def front_of(points: np.ndarray, reference: np.ndarray) -> Front:
    """The front of ``points (f, k)``, which do not dominate each other, above ``reference (k,)``."""
    lower, upper, _ = divided(points[(points > reference).all(axis=1)], reference)
    values = [np.unique(np.concatenate([lower[:, j], upper[:, j], [np.inf]])) for j in range(len(reference))]
    bounds = np.full((len(values), max(map(len, values))), np.inf)
    for j, own in enumerate(values):
        bounds[j, : len(own)] = own
    at = [[np.searchsorted(own, side[:, j]) for j, own in enumerate(values)] for side in (lower, upper)]
    return Front(bounds, *(np.ascontiguousarray(np.array(one).T) for one in at))


def hypervolume(points: np.ndarray, reference: np.ndarray) -> float:
    """The volume above ``reference (k,)`` dominated by ``points (f, k)``, which do not dominate each other."""
    above = points[(points > reference).all(axis=1)]
    if not len(above):
        return 0.0
    if len(reference) == 2:
        y = above[np.argsort(-above[:, 0])]
        with np.errstate(over="ignore"):
            return float(np.sum((y[:, 0] - reference[0]) * np.diff(y[:, 1], prepend=reference[1])))
    return float(divided(above, reference).volume)


@subroutine
def gains_into(front, mu, sd, h, ratios):
    """The expected gain in units of the product of the deviations, without logarithms; 0 if it may have underflown.

    ``h``, ``Phi`` and ``phi`` of all bounds are written to ``h (k, t)`` and ``ratios (2, k, t)``.
    """
    k, t = front.bounds.shape
    for j in range(k):
        for i in range(t):
            bound = front.bounds[j, i]
            z = (mu[j] - bound) / sd[j]
            if bound == np.inf:
                h[j, i] = ratios[0, j, i] = ratios[1, j, i] = 0.0
            elif z > NEAR:
                h[j, i], ratios[0, j, i], ratios[1, j, i] = z, 1.0, 0.0
            elif z < FAR:
                if i == 0:
                    return 0.0
                h[j, i] = ratios[0, j, i] = ratios[1, j, i] = 0.0
            else:
                phi = math.exp(-0.5 * z * z) / SQRT_2PI
                cdf = 0.5 * math.erfc(-z / math.sqrt(2.0))
                h[j, i], ratios[0, j, i], ratios[1, j, i] = phi + z * cdf, cdf, phi
    total = 0.0
    for c in range(front.lower.shape[0]):
        gain = 1.0
        for j in range(k):
            gain *= h[j, front.lower[c, j]] - h[j, front.upper[c, j]]
        total += gain
    return total if total > LEAST else 0.0


@subroutine
def bounds_into(front, mu, sd, logs, ratios):
    """Write ``log h (k, t)`` of all bounds to ``logs``, and ``Phi / h`` and ``phi / h`` to ``ratios (2, k, t)``."""
    k, t = front.bounds.shape
    for j in range(k):
        for i in range(t):
            bound = front.bounds[j, i]
            if bound == np.inf:
                logs[j, i], ratios[0, j, i], ratios[1, j, i] = -np.inf, 0.0, 0.0
            else:
                logs[j, i], ratios[0, j, i], ratios[1, j, i] = log_h((mu[j] - bound) / sd[j])


@subroutine
def log_gains_into(front, logs, gains):
    """The logarithm of the expected gain, as `gains_into`; the logarithms of cells are written to ``gains (c,)``."""
    k, best = front.bounds.shape[0], -np.inf
    for c in range(gains.shape[0]):
        gain = 0.0
        for j in range(k):
            low = logs[j, front.lower[c, j]]
            gain += low + math.log(-math.expm1(min(logs[j, front.upper[c, j]] - low, 0.0)))
        gains[c] = gain
        best = max(best, gain)
    if best == -np.inf:
        return best
    total = 0.0
    for c in range(gains.shape[0]):
        total += math.exp(gains[c] - best)
    return best + math.log(total)


@jit
def improvements(front, mean, sd):
    """The logarithm of the expected hypervolume improvement (m,), from moments ``mean (k, m)`` and ``sd (k, m)``."""
    k, t = front.bounds.shape
    h, ratios, gains = np.empty((k, t)), np.empty((2, k, t)), np.empty(len(front.lower))
    out, mu, spread = np.empty(mean.shape[1]), np.empty(k), np.empty(k)
    for i in range(mean.shape[1]):
        volume = 0.0
        for j in range(k):
            mu[j], spread[j] = mean[j, i], sd[j, i]
            volume += math.log(spread[j])
        gain = gains_into(front, mu, spread, h, ratios)
        if gain > 0.0:
            out[i] = volume + math.log(gain)
        else:
            bounds_into(front, mu, spread, h, ratios)
            out[i] = volume + log_gains_into(front, h, gains)
    return out


@subroutine
def improvement_gradient_into(front, mu, sd, d_mu, d_sd):
    """The logarithm of the expected hypervolume improvement from moments ``mu (k,)`` and ``sd (k,)``.

    Its derivatives with respect to these are written to ``d_mu (k,)`` and ``d_sd (k,)``.
    """
    k, t = front.bounds.shape
    h, ratios, gains = np.empty((k, t)), np.empty((2, k, t)), np.empty(len(front.lower))
    volume = 0.0
    for j in range(k):
        d_mu[j] = d_sd[j] = 0.0
        volume += math.log(sd[j])
    total = gains_into(front, mu, sd, h, ratios)
    if total > 0.0:  # d/dmu sd h = Phi and d/dsd sd h = phi
        for c in range(gains.shape[0]):
            for j in range(k):
                others = 1.0
                for i in range(k):
                    if i != j:
                        others *= h[i, front.lower[c, i]] - h[i, front.upper[c, i]]
                low, high = front.lower[c, j], front.upper[c, j]
                scale = others / (total * sd[j])
                d_mu[j] += scale * (ratios[0, j, low] - ratios[0, j, high])
                d_sd[j] += scale * (ratios[1, j, low] - ratios[1, j, high])
        return volume + math.log(total)
    bounds_into(front, mu, sd, h, ratios)
    value = log_gains_into(front, h, gains)
    if value == -np.inf:
        return value
    for c in range(gains.shape[0]):
        share = math.exp(gains[c] - value)
        if share < 1e-12:
            continue
        for j in range(k):
            low, high = front.lower[c, j], front.upper[c, j]
            r = math.exp(min(h[j, high] - h[j, low], 0.0))
            scale = share / ((1.0 - r) * sd[j])
            d_mu[j] += scale * (ratios[0, j, low] - r * ratios[0, j, high])
            d_sd[j] += scale * (ratios[1, j, low] - r * ratios[1, j, high])
    return volume + value


@jit
def deviations(covariance, Z, variance):
    """Posterior standard deviations (c,) at ``Z (c, d)``, never quite 0."""
    out = np.empty(len(variance))
    for c in range(len(variance)):
        out[c] = floored_sd(variance[c], prior_variance(covariance, Z[c]))
    return out
