"""Known constraints: points moved to where they hold.

Constraints are linear in the values of parameters, which are linear or exponential in the coordinates. A point is moved
onto one violated constraint after the other, within the box: coordinates that reach a bound stay there, and the others
make up for them. That is the nearest point of a simplex (Michelot 1986), and of several constraints it is a point of
their intersection (Bregman 1965). Then all but some parameters are set to 0, discrete coordinates are rounded, and
steps of single ones mend what that has broken. What is still outside is pulled back along the line to a known point.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from numbo._types import Array, Indices, Mask
from numbo.compiling.jit import jit, subroutine

#: How often all constraints are visited, and how many Newton steps one of them takes.
ROUNDS = 8
PASSES = 24
#: In units of the largest sum of a constraint: how far from it a sum may be that has to be equal to a number, by how
#: much one of discrete values may be rounded beyond its bound, how far inside of it points are moved, and how near to
#: that a move has to end.
TOLERANCE = 1e-12
ROUNDING = 1e-14
MARGIN = 1e-13
EXACT = 1e-15
#: Largest number of steps of discrete coordinates of a point.
STEPS = 40


class Polytope(NamedTuple):
    """Linear constraints ``low <= weights @ values <= high``, and groups of which few members differ from 0.

    Attributes:
        weights: (w,) of the values in all constraints.
        columns: (w,) the parameters that they belong to.
        starts: (m + 1,) constraint ``i`` has those from ``starts[i]`` to ``starts[i + 1]``.
        low, high: (m,) infinite ones are none.
        scale: (m,) the largest sum, in which violations are measured.
        rough: (m,) whether parameters in a constraint are discrete, so that sums are only known up to rounding.
        whole: (m,) which constraints apply only where all their parameters are active; others, where one is.
        first, span: (d,) a value is ``first + span u``, and its exponential where ``log (d,)``.
        sizes: (d,) number of values of a discrete coordinate in play, 0 for all others.
        groups: (q, d) the members of each group.
        most: (q,) how many may differ from 0.
        zero: (d,) the coordinate of the value 0.
    """

    weights: Array
    columns: Indices
    starts: Indices
    low: Array
    high: Array
    scale: Array
    rough: Mask
    whole: Mask
    first: Array
    span: Array
    log: Mask
    sizes: Indices
    groups: Mask
    most: Indices
    zero: Array


@subroutine
def value_of(p, j, u):
    """The value of parameter ``j`` at the coordinate ``u``."""
    value = p.first[j] + p.span[j] * u
    return math.exp(value) if p.log[j] else value


@subroutine
def rounded(p, j, u):
    """The coordinate of the discrete value of parameter ``j`` nearest to ``u``."""
    if p.log[j]:
        low, high = round(math.exp(p.first[j]) + 0.5), round(math.exp(p.first[j] + p.span[j]) - 0.5)
        whole = min(max(round(math.exp(p.first[j] + p.span[j] * u)), low), high)
        return (math.log(whole) - p.first[j]) / p.span[j]
    size = p.sizes[j]
    return (min(max(math.floor(u * size), 0), size - 1) + 0.5) / size


@subroutine
def stepped(p, j, u, change):
    """The coordinate of parameter ``j`` after a ``change`` of its value, rounded."""
    value = value_of(p, j, u) + change
    if p.log[j]:
        return rounded(p, j, (math.log(max(value, 0.5)) - p.first[j]) / p.span[j])
    return rounded(p, j, (value - p.first[j]) / p.span[j])


@subroutine
def applies(p, i, x):
    """Whether constraint ``i`` applies to the point ``x (d,)``."""
    some, every = False, True
    for c in range(p.starts[i], p.starts[i + 1]):
        active = x[p.columns[c]] >= 0.0
        some = some or active
        every = every and active
    return every if p.whole[i] else some


@subroutine
def total_of(p, i, x):
    """The sum of constraint ``i`` at ``x (d,)``; what is inactive counts as 0."""
    total = 0.0
    for c in range(p.starts[i], p.starts[i + 1]):
        j = p.columns[c]
        if x[j] >= 0.0:
            total += p.weights[c] * value_of(p, j, x[j])
    return total


@subroutine
def is_equality(p, i):
    """Whether the bounds of constraint ``i`` leave no room between them."""
    return p.high[i] - p.low[i] <= 2.0 * MARGIN * p.scale[i]


@subroutine
def rounding_of(p, i):
    """By how much a sum may be beyond a bound of constraint ``i`` that is no equality, in units of the largest one."""
    return ROUNDING if p.rough[i] else 0.0


@subroutine
def excess_after(p, i, total):
    """By how much constraint ``i`` is violated by a sum, in units of its largest one."""
    excess = max(0.0, total - p.high[i], p.low[i] - total) / p.scale[i]
    return excess if excess > (TOLERANCE if is_equality(p, i) else rounding_of(p, i)) else 0.0


@subroutine
def excess_of(p, i, x):
    """By how much constraint ``i`` is violated at ``x (d,)``, in units of its largest sum; 0 where it holds."""
    if not applies(p, i, x):
        return 0.0
    return excess_after(p, i, total_of(p, i, x))


@subroutine
def too_many(p, q, x):
    """How many members of group ``q`` differ from 0 at ``x (d,)`` beyond those that may."""
    count = -p.most[q]
    for j in range(x.shape[0]):
        count += p.groups[q, j] and x[j] >= 0.0 and x[j] != p.zero[j]
    return count


@subroutine
def holds_at(p, x):
    """Whether all constraints hold at ``x (d,)``."""
    for i in range(p.low.shape[0]):
        if excess_of(p, i, x) > 0.0:
            return False
    beyond = 0
    for q in range(p.groups.shape[0]):
        beyond += max(0, too_many(p, q, x))
    return beyond == 0


@subroutine
def move_onto(p, i, rest, x, v, held, low, high):
    """Move coordinates of ``x (d,)`` and values ``v (d,)`` until the sum of constraint ``i`` has grown by ``rest``.

    Coordinates that are ``held (d,)`` stay, others between ``low`` and ``high (d,)``. Returns whether any was moved.
    """
    start, stop = p.starts[i], p.starts[i + 1]
    for t in range(PASSES):
        if abs(rest) <= EXACT * p.scale[i]:
            return t > 0
        square = 0.0
        for c in range(start, stop):
            j = p.columns[c]
            if x[j] >= 0.0 and not held[j]:
                slope = p.weights[c] * p.span[j] * (v[j] if p.log[j] else 1.0)
                if (x[j] < high[j]) if rest * slope > 0.0 else (x[j] > low[j]):
                    square += slope * slope
        if square == 0.0:
            return t > 0
        share, gained = rest / square, 0.0
        for c in range(start, stop):
            j = p.columns[c]
            if x[j] >= 0.0 and not held[j]:
                slope = p.weights[c] * p.span[j] * (v[j] if p.log[j] else 1.0)
                x[j] = min(max(x[j] + share * slope, low[j]), high[j])
                value = value_of(p, j, x[j])
                gained += p.weights[c] * (value - v[j])
                v[j] = value
        rest -= gained
    return True


@subroutine
def settle(p, x, held, low, high):
    """Move ``x (d,)`` onto the violated constraints in turns, until all hold; returns whether they do."""
    v = np.zeros(x.shape[0])
    for j in range(x.shape[0]):
        if x[j] >= 0.0:
            v[j] = value_of(p, j, x[j])
    for _ in range(ROUNDS):
        fine, moved = True, False
        for i in range(p.low.shape[0]):
            if not applies(p, i, x):
                continue
            total = 0.0
            for c in range(p.starts[i], p.starts[i + 1]):
                total += p.weights[c] * v[p.columns[c]]
            margin, rounding = MARGIN * p.scale[i], rounding_of(p, i) * p.scale[i]
            if is_equality(p, i):
                if abs(total - p.high[i]) <= margin:
                    continue
                rest = p.high[i] - total
            elif total > p.high[i] + rounding:
                rest = p.high[i] - margin - total
            elif total < p.low[i] - rounding:
                rest = p.low[i] + margin - total
            else:
                continue
            fine = False
            moved |= move_onto(p, i, rest, x, v, held, low, high)
        if fine or not moved:
            return fine
    return False


@subroutine
def keep_most(p, x, held, frozen):
    """Set members of groups to 0, the smallest first, until few enough differ; they are ``frozen (d,)`` then.

    Returns whether any was, or is 0.
    """
    changed = False
    for q in range(p.groups.shape[0]):
        while too_many(p, q, x) > 0:
            least, size = -1, np.inf
            for j in range(x.shape[0]):
                away = abs(x[j] - p.zero[j])
                if p.groups[q, j] and x[j] >= 0.0 and not held[j] and x[j] != p.zero[j] and away < size:
                    least, size = j, away
            if least < 0:
                break
            x[least] = p.zero[least]
            changed = True
        if too_many(p, q, x) == 0:
            for j in range(x.shape[0]):
                if p.groups[q, j] and x[j] == p.zero[j]:
                    frozen[j] = True
    return changed


@subroutine
def take_steps(p, table, x, held):
    """Steps of discrete coordinates of ``x (d,)`` that are not ``held (d,)``, each the best, while violations fall.

    ``table (m, d)`` has the weights.
    """
    m, d = table.shape
    v, lowest, highest, totals = np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(m)
    counts = np.empty(m, dtype=np.bool_)
    for j in range(d):
        if x[j] >= 0.0:
            v[j] = value_of(p, j, x[j])
            if p.sizes[j] > 0:
                lowest[j] = value_of(p, j, rounded(p, j, 0.0))
                highest[j] = value_of(p, j, rounded(p, j, 1.0))
    now = 0.0
    for i in range(m):
        counts[i] = applies(p, i, x)
        for j in range(d):
            totals[i] += table[i, j] * v[j]
        now += excess_after(p, i, totals[i]) if counts[i] else 0.0
    for _ in range(STEPS):
        if now == 0.0:
            return
        best, place, change = now, -1, 0.0
        for i in range(m):
            if not counts[i] or excess_after(p, i, totals[i]) == 0.0:
                continue
            rest = (p.high[i] if totals[i] > p.high[i] else p.low[i]) - totals[i]
            for j in range(d):
                if table[i, j] == 0.0 or p.sizes[j] == 0 or x[j] < 0.0 or held[j]:
                    continue
                step = 1.0 if p.log[j] else p.span[j] / p.sizes[j]
                wanted = np.floor(rest / (table[i, j] * step) + 1e-9)
                for c in range(4):  # the two nearest to what is wanted, and the neighbours
                    count = wanted + c if c < 2 else 2.0 * c - 5.0
                    delta = min(max(v[j] + count * step, lowest[j]), highest[j]) - v[j]
                    found = 0.0
                    for k in range(m):
                        if counts[k]:
                            found += excess_after(p, k, totals[k] + table[k, j] * delta)
                    if found < best:
                        best, place, change = found, j, delta
        if place < 0:
            return
        x[place] = stepped(p, place, x[place], change)
        v[place] += change
        for i in range(m):
            totals[i] += table[i, place] * change
        now = best


@subroutine
def pull_back(p, x, anchor):
    """Move ``x (d,)`` to where the line to ``anchor (d,)``, at which all constraints hold, enters them."""
    share = 1.0
    for i in range(p.low.shape[0]):
        if not applies(p, i, x):
            continue
        there, here = total_of(p, i, anchor), total_of(p, i, x)
        margin, rounding = MARGIN * p.scale[i], rounding_of(p, i) * p.scale[i]
        if is_equality(p, i):
            if abs(here - p.high[i]) > TOLERANCE * p.scale[i]:
                share = 0.0
        elif here > p.high[i] + rounding:
            share = min(share, max(0.0, p.high[i] - margin - there) / (here - there))
        elif here < p.low[i] - rounding:
            share = min(share, max(0.0, there - p.low[i] - margin) / (there - here))
    for j in range(x.shape[0]):
        if x[j] >= 0.0 and x[j] != anchor[j]:
            if p.log[j]:
                here, there = value_of(p, j, x[j]), value_of(p, j, anchor[j])
                x[j] = (math.log(there + share * (here - there)) - p.first[j]) / p.span[j]
            else:
                x[j] = anchor[j] + share * (x[j] - anchor[j])


@subroutine
def nearest_anchor(p, x, anchors):
    """The row of ``anchors (a, d)`` nearest to ``x (d,)`` of those with the same active coordinates; -1 for none."""
    best, row = np.inf, -1
    for a in range(anchors.shape[0]):
        distance = 0.0
        for j in range(x.shape[0]):
            if (x[j] >= 0.0) != (anchors[a, j] >= 0.0):
                distance = np.inf
            distance += (x[j] - anchors[a, j]) ** 2
        if distance < best:
            best, row = distance, a
    return row


@jit
def repaired(p, X, held, anchors):
    """Points ``X (n, d)`` moved to where all constraints hold, as little as it takes.

    Args:
        p: the `Polytope`.
        X: points, -1 where inactive.
        held: (n, d) which coordinates stay as they are.
        anchors: (a, d) known points, for rows without such coordinates.

    Returns:
        the points (n, d), and at which (n,) all constraints hold.
    """
    out = X.copy()
    fine = np.empty(X.shape[0], dtype=np.bool_)
    d = X.shape[1]
    low, high = np.zeros(d), np.ones(d)
    frozen = np.empty(d, dtype=np.bool_)
    table = np.zeros((p.low.shape[0], d))
    for i in range(p.low.shape[0]):
        for c in range(p.starts[i], p.starts[i + 1]):
            table[i, p.columns[c]] = p.weights[c]
    for r in range(X.shape[0]):
        x = out[r]
        fine[r] = holds_at(p, x)
        if fine[r]:
            continue
        free = True
        for j in range(d):
            frozen[j] = held[r, j]
            free = free and not held[r, j]
        settled = settle(p, x, frozen, low, high)
        if p.groups.shape[0] > 0 and keep_most(p, x, held[r], frozen):
            settled = settle(p, x, frozen, low, high)
        discrete = False
        for j in range(d):
            if p.sizes[j] > 0 and x[j] >= 0.0 and not frozen[j]:
                x[j] = rounded(p, j, x[j])
                discrete = True
        if discrete:
            for j in range(d):
                frozen[j] = frozen[j] or p.sizes[j] > 0
            settled = settle(p, x, frozen, low, high)
            if not settled:
                take_steps(p, table, x, held[r])
                settled = settle(p, x, frozen, low, high)
        fine[r] = holds_at(p, x) and (settled or not free)
        if not fine[r] and free:
            a = nearest_anchor(p, x, anchors)
            if a >= 0:
                for j in range(d):
                    if p.sizes[j] > 0:
                        x[j] = anchors[a, j]
                pull_back(p, x, anchors[a])
                fine[r] = holds_at(p, x)
                if not fine[r]:
                    x[:] = anchors[a]
                    fine[r] = True
    return out, fine


@jit
def holding(p, X):
    """At which of the points ``X (n, d)`` all constraints hold."""
    out = np.empty(X.shape[0], dtype=np.bool_)
    for r in range(X.shape[0]):
        out[r] = holds_at(p, X[r])
    return out
