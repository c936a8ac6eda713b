"""How much a user's beliefs count: less with each trial (Hvarfner et al. 2022, "piBO"), nothing once data disagree.

The utility of a point x, a logarithm, is that without beliefs plus ``b / n log pi(x)``: n is the number of trials, and
pi the density of what is believed.

Data disagree with a belief if trials at points that it favours have worse values than others: by the rank correlation
of values and log densities, whose standard deviation is ``1 / sqrt(n - 1)`` if they have nothing to do with each other.
"""

from __future__ import annotations

import math

import numpy as np

from numbo._types import Array
from numbo.spaces.beliefs import Beliefs
from numbo.trials import History

#: b, and the largest exponent.
STRENGTH = 2.0
LARGEST = 0.3
#: Data disagree with all beliefs together, or with that of one parameter, from so many standard deviations on, and from
#: so many trials.
TOGETHER = 2.5
ALONE = 3.0
LEAST = 8


def believed(beliefs: Beliefs, history: History) -> Array | None:
    """The logarithms (d, g) of densities that count for the next suggestion, times the exponent; None if none does."""
    left = np.array([name not in contradicted(beliefs, history) for name in beliefs.columns])
    weights = left * min(LARGEST, STRENGTH / max(history.step, 1))
    return weights[:, None] * beliefs.logs if (left & beliefs.logs.any(axis=1)).any() else None


def contradicted(beliefs: Beliefs, history: History) -> tuple[str, ...]:
    """The names of the parameters whose beliefs the data disagree with: of all, or of those that mislead alone."""
    single = beliefs.single(history.X)
    scores = history.scores()
    if disagreement(np.nansum(single, axis=1), scores) >= TOGETHER:
        return tuple(beliefs.names)
    found = []
    for name, logs in zip(beliefs.columns, single.T, strict=True):
        active = ~np.isnan(logs)
        if name in beliefs.names and disagreement(logs[active], scores[active]) >= ALONE:
            found.append(name)
    return tuple(found)


def disagreement(logs: Array, scores: Array) -> float:
    """By how many standard deviations scores (n,) are smaller where log densities (n,) are larger; 0 if unknown."""
    n = len(logs)
    if n < LEAST or np.ptp(logs) == 0.0 or len(set(scores.tolist())) < 2:
        return 0.0
    from scipy.stats import rankdata

    a = rankdata(logs) - 0.5 * (n + 1)
    b = rankdata(scores) - 0.5 * (n + 1)
    correlation = float(np.sum(a * b)) / math.sqrt(float(np.sum(a * a)) * float(np.sum(b * b)))
    return -correlation * math.sqrt(n - 1.0)
