"""CMA-ES with a quadratic surrogate, one evaluation at a time: a search that learns scales and axes of the landscape.

After Hansen (2019), "A Global Surrogate Assisted CMA-ES". Of each population, those points are evaluated that are best
by the model (`numbo.models.quadratic`). As soon as the model ranks the newest observations as their values do, its
values stand for those of all, and the next population follows; otherwise the whole population is evaluated. The
optimum of the model, and the best observation if it is new, are members of the next population.

When a search starts, and whose turn it is, is another matter (`numbo.search.population_search`).
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from numbo._plain import Kept, Saved
from numbo._types import Array, Mask
from numbo.kernels.tables import table_sums
from numbo.models.quadratic import GATE, Quadratic
from numbo.search.distribution import Constants, Distribution
from numbo.spaces import INACTIVE, Corners, Space
from numbo.trials import History, point_key

#: Step size of a restart, as a share of the unit cube.
WIDE = 0.2
#: Largest standard deviation along an axis.
WIDEST = 1.0
#: The model stands for the rest of a population if its tau is at least `GATE`, over at least so many of the newest
#: points.
LOOKED_AT = 15
#: A search on its own ends if the newest third of its populations, at least so many of them, is not nearer to the best
#: value of others than this share of the distance of the third before, by the medians of their median values.
NEWEST = 8
NEARER = 0.8
#: Weight of the last population in the mean share of evaluations that were saved.
RECENT = 0.1
#: A search has converged if the longest standard deviation is below this, or if the best values of populations differ
#: by at most this share of their size, or of this share of the range of all values.
NARROW = 1e-9
FLAT = 1e-12
TINY = 1e-6
#: Numbers of the points of a population that are the optimum of the model, and the best observation.
OPTIMUM = 0
RECORD = 1


class Population(Kept):
    """One search from its start until it has converged.

    Args:
        space: the space.
        base: (d,) a point whose numerical, active coordinates are moved; the others stay as they are there.
        size: number of points of a population.
        mean: (k,) where it starts, in the coordinates that are moved.
        sigma: the standard deviation at the start.
        rival: the best value of others, if its model and its populations are to consist of its own points only.

    Attributes:
        alone: whether they do.
        saved: the share of populations that was not evaluated, a running mean.
        told: the points of the present population that were evaluated: their numbers, and their observations.
    """

    _kept = ("base", "size", "_rival", "distribution", "model", "told", "_injected", "_best", "_typical")
    saved: Saved[float] = 0.0
    #: The best observation at the last population.
    _record: Saved[int] = -1
    #: The number of evaluations after which the model is asked whether it ranks them.
    _due: Saved[int] = 1

    def __init__(
        self,
        space: Space,
        base: Array,
        size: int,
        mean: Array | None = None,
        sigma: float = WIDE,
        *,
        rival: float = -math.inf,
    ) -> None:
        self._space = space
        self.base = base
        self.moved = moved_coordinates(space, base)
        self.size = size
        self._rival = rival
        self.distribution = Distribution.around(base[self.moved] if mean is None else mean, sigma)
        k = int(self.moved.sum())
        self.model = Quadratic(k)
        #: Least standard deviations (k,) of discrete coordinates, so large that a point has another value than the mean
        #: in a coordinate with probability 1 / (k size + 1) (after Hamano et al. 2022, "CMA-ES with Margin").
        self._margin = 0.5 / space.sizes[self.moved] / NormalDist().inv_cdf(1.0 - 0.5 / (k * size + 1))
        self.told: list[tuple[int, int]] = []
        #: Points that take the place of drawn ones, by their numbers.
        self._injected: dict[int, Array] = {}
        #: Best and median value of each population.
        self._best: list[float] = []
        self._typical: list[float] = []

    @property
    def alone(self) -> bool:
        return self._rival > -math.inf

    def points(self, count: int, rng: np.random.Generator) -> Array:
        """The first ``count`` points (count, d) of the present population, which has any number of them."""
        k = len(self.distribution.mean)
        # of coordinates that a moved one makes active
        dormant = rng.random((1, self._space.d)) if self._space.conditional.any() else None
        Z = rng.standard_normal((count, 2, k))
        lacking = np.sqrt(np.maximum(0.0, self._margin**2 - self.distribution.deviations**2))
        inner = self.distribution.points(Z[:, 0]) + lacking * Z[:, 1]
        inner = 1.0 - np.abs(1.0 - np.abs(inner) % 2.0)  # reflected at the bounds
        for slot, x in self._injected.items():
            inner[slot] = x
        X = np.tile(self.base, (count, 1))
        X[:, self.moved] = inner
        X = self._space.snap(X, dormant)
        return X if self._space.allowed is None else self._space.allowed.mended(X)[0]

    def order(self, X: Array, prior: Array | None = None) -> list[int]:
        """The points of the population ``X (n, d)``, the most promising first.

        By the standardised values of its model, and what is believed of good values, a ``prior (d, g)``
        (`Situation.prior`).
        """
        own = np.arange(min(self.size, len(X)))
        values = self.model.values(self._inner(X[own])) if self.model.fitted else np.zeros(len(own))
        if prior is not None:
            values = (values - np.mean(values)) / (np.std(values) or 1.0) + table_sums(prior, X[own])
        own = own[np.argsort(-values, kind="stable")]
        return [*own.tolist(), *range(len(own), len(X))]

    def learn(self, history: History, first: int, last: int) -> None:
        """Add observations ``first`` to ``last - 1`` to the model.

        Those that differ in a coordinate that is not moved are left out.
        """
        X = history.X[first:last]
        y = history.y[first:last]
        alike = np.isfinite(y) & np.all(X[:, ~self.moved] == self.base[~self.moved], axis=1)
        for x, value in zip(self._inner(X[alike]), y[alike].tolist(), strict=True):
            self.model.add(x, value)
        if not self.model.fitted:
            self.model.refresh()

    def see(self, value: float) -> None:
        """Take in a value of another search, if this one is on its own."""
        if math.isfinite(value):
            self._rival = max(self._rival, value)

    def observe(self, slot: int, i: int) -> bool:
        """Take in observation ``i``, of point ``slot``; returns whether the population is complete."""
        self.told.append((slot, i))
        if len(self.told) >= self.size:
            return True
        if len(self.told) < self._due:
            return False
        if self.model.determined:
            self.model.refresh()
            count = max(LOOKED_AT, int(min(1.2 * len(self.told), 0.75 * self.size)))
            if self.model.tau(count) >= GATE:  # it ranks the newest as their values do, and does not just interpolate
                return True
        self._due += math.ceil(len(self.told) / 2)
        return False

    def advance(self, history: History, X: Array, i: int) -> None:
        """The next population, by the values of the present one, which observation ``i`` completes.

        The values are those of the model at its points ``X (size, d)``, unless that many were evaluated.
        """
        rows = [i for _, i in self.told]
        values = history.values(i + 1)[rows]
        evaluated = len(rows) >= self.size
        inner = self._inner(history.X[rows] if evaluated else X)
        ranking = np.argsort(-(values if evaluated else self.model.values(inner)), kind="stable")
        constants = Constants.of(inner.shape[1], self.size)
        self.distribution = self.distribution.updated(inner[ranking[: self.size]], constants)
        if len(values) > 1 and np.sort(values)[-math.ceil(0.7 * len(values))] == np.max(values):
            self.distribution = self.distribution.wider(constants)
        self.distribution = self.distribution.at_most(WIDEST)
        self.saved += RECENT * (max(0.0, 1.0 - len(rows) / self.size) - self.saved)
        self._best.append(float(np.max(values)))
        self._typical.append(float(np.median(values)))
        self.told.clear()
        self._due = 1
        self._injected.clear()
        if self.model.fitted:
            self.model.refresh()
            mean = self.distribution.mean
            largest = self.model.largest(mean, Corners.of_cube(len(mean)))
            self._injected[OPTIMUM] = self.distribution.within_reach(largest)
        if not self.alone:
            self._join(history, i, rows)

    def recall(self, history: History, X: Array, i: int) -> bool:
        """Take in the points of the population ``X (size, d)`` that were observed up to ``i``; returns whether all
        were."""
        told = {slot for slot, _ in self.told}
        for slot, x in enumerate(X):
            known = history.visits.first.get(point_key(self._space.representable(x)), -1)
            if slot not in told and 0 <= known <= i:
                self.told.append((slot, known))
        self._due = len(self.told) + 1
        return len(self.told) >= self.size

    def _join(self, history: History, i: int, own: list[int]) -> None:
        """Make the best observation up to ``i`` a member of the population, if it is new and none of its ``own``."""
        record = best_of(history, i)
        if record == self._record:
            return
        self._record = record
        x = history.X[record]
        if record in own or not self.holds_unmoved(x):
            return
        inner = self._inner(x[None])[0]
        within = self.distribution.within_reach(inner)
        self._injected[RECORD] = within
        if within is inner:
            self.told.append((RECORD, record))

    def holds_unmoved(self, x: Array) -> bool:
        """Whether ``x (d,)`` has the values of all coordinates that are not moved."""
        return np.array_equal(x[~self.moved], self.base[~self.moved])

    def _inner(self, X: Array) -> Array:
        """The coordinates (n, k) of ``X (n, d)`` that are moved; those that are inactive have the mean's values."""
        inner = X[:, self.moved]
        return np.where(inner == INACTIVE, self.distribution.mean, inner)

    @property
    def approaches(self) -> bool:
        """Whether its newest third is clearly nearer to the best value of others than the third before, or better.

        Of a search on its own.
        """
        third = len(self._typical) // 3
        if third < NEWEST:
            return True
        newest = self._rival - float(np.median(self._typical[-third:]))
        before = self._rival - float(np.median(self._typical[-2 * third : -third]))
        return newest <= max(0.0, NEARER * before)

    @property
    def converged(self) -> bool:
        """Whether the search has come to an end (Hansen 2016, appendix B.3; without progress, after as many populations
        as in Hansen's `cma`, since few points of a population are evaluated while a model stands for the others)."""
        now = self.distribution
        if now.longest < NARROW or now.degenerate:
            return True
        k = len(now.mean)
        flat = 10 + math.ceil(30 * k / self.size)
        last = self._best[-flat:]
        resolution = FLAT * (abs(last[-1]) + TINY * (max(self._best) - min(self._typical)))
        if len(self._best) >= flat and max(last) - min(last) <= resolution:
            return True
        enough = 100 + int(100 * k * math.sqrt(k) / self.size)
        if len(self._best) < 2 * enough:
            return False
        span = max(enough, len(self._best) // 5)
        third = span // 3
        return all(
            np.median(values[-third:]) <= np.median(values[-span : third - span])
            for values in (self._best, self._typical)
        )


def moved_coordinates(space: Space, base: Array) -> Mask:
    """Which coordinates (d,) a search from ``base (d,)`` moves."""
    found: Mask = ~space.categorical & (base != INACTIVE)
    return found


def first_size(k: int) -> int:
    """The size of the first population that moves ``k`` coordinates (Hansen 2016)."""
    return 4 + int(3 * math.log(k))


def best_of(history: History, i: int) -> int:
    """The best of the observations up to ``i``."""
    return int(np.argmax(history.values(i + 1)))
