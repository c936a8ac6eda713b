"""How near to a known point another one most likely has exactly its value.

Accuracies on few samples, step functions and tables whose nearest row answers are flat next to a known point. A search
that stays there learns nothing, however good the point is. Where values of a continuous objective tie, the distances at
which neighbours do say how far such flat places reach.
"""

from __future__ import annotations

import copy
from collections import Counter

import numpy as np

from numbo._types import Array, Indices, Mask
from numbo.kernels.covariance import Covariance, nearest_before
from numbo.models.noise import LEVELS, Noise
from numbo.trials import History

#: Observations in which neighbours are looked for: the newest. So many take 0.1 ms.
LATEST = 128
#: Observations from which points keep away: the newest, so that a long study that ties all over takes no longer.
NEWEST = 1024
#: So many neighbours have to tie, and this share of all that are as near. On recorded trainings of networks (8 tasks of
#: TaskSet, the nearest configuration answering, 60 trials) the mean regret over 20 seeds was 0.27 with three and 0.75,
#: 0.28 with two, 0.31 with 0.85. Over 40 seeds it is 0.30, and 0.40 without. What other problems gain and pay is in
#: ``benchmarks/results/compare-ties.md``.
TIES = 3
SHARE = 0.75


class Resolution:
    """Looks for ties in a history.

    Args:
        history: the observations.
        noise: where values are noisy, ties say nothing.
    """

    def __init__(self, history: History, noise: Noise) -> None:
        self._history = history
        self._noise = noise
        self._first: dict[float, int] = {}
        self._known = 0
        self._tied = 0

    def over(self, history: History, noise: Noise) -> Resolution:
        """The same for another history, which has the same observations."""
        twin = copy.copy(self)
        twin._history = history
        twin._noise = noise
        twin._first = dict(self._first)
        return twin

    def radius(self, covariance: Covariance) -> float:
        """The squared distance, in a covariance's metric, within which points most likely have their neighbour's value.

        It is 0 where no ties are known, and where there are so few values that noise would make them tie, as outcomes
        that are 0 or 1 do.
        """
        if not self._ties() or self._noise.found:
            return 0.0
        history = self._history
        latest = np.arange(max(0, history.n - LATEST), history.n)
        X = history.X[latest]
        levels = Counter(history.last_values(latest).tolist())
        if 1 < len(levels) <= LEVELS:
            return 0.0
        nearest, distances = nearest_before(covariance, X)
        tied = np.isfinite(distances) & history.agree(latest, latest[nearest])
        return reach(distances, tied, tied_by_chance(np.array(list(levels.values()))))

    def _ties(self) -> bool:
        """Whether enough observations have a value that another point has."""
        history = self._history
        new = np.arange(self._known, history.n)
        for i, value in zip(new.tolist(), history.last_values(new).tolist(), strict=True):
            first = self._first.setdefault(value, i)
            self._tied += first != i and not np.array_equal(history.X[first], history.X[i])
        self._known = history.n
        return self._tied >= TIES


def tied_by_chance(counts: Indices) -> float:
    """The share of pairs of values that tie, if there are so many (l,) of each."""
    n = int(np.sum(counts))
    return float(np.sum(counts * (counts - 1)) / max(n * (n - 1), 1))


def reach(distances: Array, tied: Mask, chance: float) -> float:
    """The largest of the ``distances (m,)`` between neighbours up to which most of them are ``tied (m,)``.

    Args:
        distances, tied: of pairs.
        chance: the share of ties among points that are no neighbours; the larger it is, the less a tie says.
    """
    order = np.argsort(distances, kind="stable")
    ties = np.cumsum(tied[order])
    number = np.arange(1, len(order) + 1)
    enough = (ties >= TIES) & (ties >= (1.0 - (1.0 - SHARE) * (1.0 - chance)) * number) & tied[order]
    within = np.flatnonzero(enough)
    return float(distances[order[within[-1]]]) if len(within) else 0.0
