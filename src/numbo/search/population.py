"""CMA-ES with a quadratic surrogate, one evaluation at a time: a search that learns scales and axes of the landscape.

After Hansen (2019), "A Global Surrogate Assisted CMA-ES". Of each population, those points are evaluated that are best
by the model (`numbo.models.quadratic`). As soon as the model ranks the newest observations as their values do, its
values stand for those of the others, and the next population follows; otherwise the whole population is evaluated. The
optimum of the model is a member of the next population. When a search has converged, the next one starts elsewhere,
with a population twice as large (Auger & Hansen 2005).

All observations are points of the model, by whomever they were proposed. The search is a fold over them: it depends on
their order, and on nothing else.
"""

from __future__ import annotations

import math
import zlib
from statistics import NormalDist
from typing import Any

import numpy as np

from numbo._types import Array, Mask
from numbo.kernels.acquisition import success_probabilities
from numbo.models._threads import one_blas_thread
from numbo.models.outputs import Outputs
from numbo.models.quadratic import Frame, Quadratic
from numbo.run.run import Run, Suggestion
from numbo.search.credit import IDLE, MOST, Credit, is_turn
from numbo.search.distribution import Constants, Distribution
from numbo.search.engine import BOXES, Engine, Origin
from numbo.search.forecast import Forecast, foreseeable
from numbo.search.local_search import LocalSearch
from numbo.search.trust_region import Region
from numbo.spaces import INACTIVE, Corners
from numbo.spaces.domain import SearchSpace
from numbo.trials import History

#: Step size of a restart, as a share of the unit cube.
WIDE = 0.2
#: Largest standard deviation along an axis.
WIDEST = 1.0
#: The model stands for the rest of a population if tau is at least this, over at least so many of the newest points.
GATE = 0.85
LOOKED_AT = 15
#: For so many evaluations a search gets most suggestions if it was foreseen to rank, and a third at least otherwise.
#: Later, the first search of all gets most of them as long as it saves this share of the evaluations. On BBOB's f10 and
#: f11 in 20 dimensions, one run each, 2,032 and 2,956 evaluations were needed to come within 10 of the optimum without
#: the second rule, and 1,618 and 956 with it.
TRIAL = 60
MOST_SAVED = 0.75
#: Weight of the last population in the mean share of evaluations that were saved.
RECENT = 0.1
#: A search has converged if the longest standard deviation is below this, or if the best values of populations differ
#: by at most this share of their size, or of this share of the range of all values.
NARROW = 1e-9
FLAT = 1e-12
TINY = 1e-6
#: Largest population; and the number of origins of a population.
LARGEST = 1024
SLOTS = 2**16
#: So many times as many points are drawn if the first ones failed, or are known.
MORE = np.array([1, 4, 16])
#: Numbers of the points of a population that are the optimum of the model, and the best observation.
OPTIMUM = 0
RECORD = 1
#: Largest number of observations that wait to be taken in.
MANY = 256
#: Least number of coordinates that are moved.
FEWEST = 2
#: At most so many points of a population are pending at once, or half of it. With batches of 64 and any number, the
#: first results completed a population, and nine tenths of its points came late: errors of two runs in ten dimensions
#: after 640 evaluations were 2e-7 and 8e-8, and with this limit 4e-10 and 2e-10.
FEW = 4


class Population:
    """One search from its start until it has converged.

    Args:
        space: the space.
        base: (d,) a point whose numerical, active coordinates are moved; the others stay as they are there.
        size: number of points of a population.
        mean: (k,) where it starts, in the coordinates that are moved.

    Attributes:
        saved: the share of populations that was not evaluated, a running mean.
        told: the points of the present population that were evaluated: their numbers, and their observations.
    """

    def __init__(
        self, space: SearchSpace, base: Array, size: int, mean: Array | None = None, sigma: float = WIDE
    ) -> None:
        self._space = space
        self.base = base
        self.moved = _moved(space, base)
        self.size = size
        self.distribution = Distribution.around(base[self.moved] if mean is None else mean, sigma)
        k = int(self.moved.sum())
        self.model = Quadratic(k)
        #: Least standard deviations (k,) of discrete coordinates: of all populations, one in so many has another value
        #: than the mean in each of them (after Hamano et al. 2022, "CMA-ES with Margin").
        self._margin = 0.5 / space.sizes[self.moved] / NormalDist().inv_cdf(1.0 - 0.5 / (k * size + 1))
        self.saved = 0.0
        self.told: list[tuple[int, int]] = []
        #: Points that take the place of drawn ones, by their numbers.
        self._injected: dict[int, Array] = {}
        #: The best observation at the last population.
        self._record = -1
        #: The number of evaluations after which the model is asked whether it ranks them.
        self._due = 1
        #: Best and median value of each population.
        self._best: list[float] = []
        self._typical: list[float] = []

    def points(self, count: int, rng: np.random.Generator) -> Array:
        """The first ``count`` points (count, d) of the present population, which has any number of them."""
        k = len(self.distribution.mean)
        Z = rng.standard_normal((count, 2, k))
        lacking = np.sqrt(np.maximum(0.0, self._margin**2 - self.distribution.deviations**2))
        inner = self.distribution.points(Z[:, 0]) + lacking * Z[:, 1]
        inner = 1.0 - np.abs(1.0 - np.abs(inner) % 2.0)  # reflected at the bounds
        for slot, x in self._injected.items():
            inner[slot] = x
        X = np.tile(self.base, (count, 1))
        X[:, self.moved] = inner
        return self._space.snap(X)

    def order(self, X: Array) -> list[int]:
        """The points of the population ``X (n, d)``, the most promising first."""
        own = np.arange(min(self.size, len(X)))
        if self.model.fitted:
            own = own[np.argsort(-self.model.values(self._inner(X[own])), kind="stable")]
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
            self.refresh()

    def observe(self, slot: int, i: int) -> bool:
        """Take in observation ``i``, of point ``slot``; returns whether the population is complete."""
        self.told.append((slot, i))
        if len(self.told) >= self.size:
            return True
        if len(self.told) < self._due:
            return False
        if self._ranks_newest():
            return True
        self._due += math.ceil(len(self.told) / 2)
        return False

    def _ranks_newest(self) -> bool:
        """Whether the model ranks the newest observations as their values do, and does not just interpolate them."""
        if not self.model.determined:
            return False
        self.refresh()
        count = max(LOOKED_AT, int(min(1.2 * len(self.told), 0.75 * self.size)))
        return self.model.tau(count) >= GATE

    def refresh(self) -> None:
        """Fit the model anew, if it has enough new points."""
        now = self.distribution
        self.model.refresh(Frame(now.mean, now.whitening, now.deviations))

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
            self.refresh()
            mean = self.distribution.mean
            largest = self.model.largest(mean, Corners.of_cube(len(mean)))
            self._injected[OPTIMUM] = self.distribution.within_reach(largest)
        self._join(history, i, rows)

    def recall(self, history: History, X: Array, i: int) -> bool:
        """Take in the points of the population ``X (size, d)`` that were observed up to ``i``; returns whether all
        were."""
        told = {slot for slot, _ in self.told}
        for slot, x in enumerate(X):
            known = history.first_at(self._space.representable(x))
            if slot not in told and 0 <= known <= i:
                self.told.append((slot, known))
        self._due = len(self.told) + 1
        return len(self.told) >= self.size

    def _join(self, history: History, i: int, own: list[int]) -> None:
        """Make the best observation up to ``i`` a member of the population, if it is new and none of its ``own``."""
        record = _best(history, i)
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
    def converged(self) -> bool:
        """Whether the search has come to an end (Hansen 2016, appendix B.3)."""
        now = self.distribution
        if now.longest < NARROW or now.degenerate:
            return True
        k = len(now.mean)
        flat = 10 + math.ceil(30 * k / self.size)
        last = self._best[-flat:]
        resolution = FLAT * (abs(last[-1]) + TINY * (max(self._best) - min(self._typical)))
        if len(self._best) >= flat and max(last) - min(last) <= resolution:
            return True
        enough = 120 + 30 * k // self.size
        if len(self._best) < 2 * enough:
            return False
        span = max(enough, len(self._best) // 5)
        third = span // 3
        return all(
            np.median(values[-third:]) <= np.median(values[-span : third - span])
            for values in (self._best, self._typical)
        )

    # -- state -----------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        return {
            "base": self.base,
            "size": self.size,
            "distribution": self.distribution.state_dict(),
            "model": self.model.state_dict(),
            "saved": self.saved,
            "told": list(self.told),
            "injected": dict(self._injected),
            "record": self._record,
            "due": self._due,
            "best": list(self._best),
            "typical": list(self._typical),
        }

    @classmethod
    def of(cls, space: SearchSpace, state: dict[str, Any]) -> Population:
        """A population from its `state_dict`."""
        self = cls(space, state["base"], state["size"])
        self.distribution = Distribution(**state["distribution"])
        self.model.restore(state["model"])
        self.saved = state["saved"]
        self.told = [(slot, i) for slot, i in state["told"]]
        self._injected = dict(state["injected"])
        self._record = state["record"]
        self._due = state["due"]
        self._best = list(state["best"])
        self._typical = list(state["typical"])
        return self


def _moved(space: SearchSpace, base: Array) -> Mask:
    """Which coordinates (d,) a search from ``base (d,)`` moves."""
    moved: Mask = ~space.categorical & (base != INACTIVE)
    return moved


def _silent(run: Run) -> bool:
    """Whether it makes no suggestions: under noise, with constraints, and after trials that were stopped."""
    return run.noise.found or run.history.constrained or not run.history.all_final


def _best(history: History, i: int) -> int:
    """The best of the observations up to ``i``."""
    return int(np.argmax(history.values(i + 1)))


class PopulationSearch(Engine):
    """A population search and its restarts, beside a local search.

    It starts when a full quadratic foresees how observations rank (`numbo.search.forecast`), in spaces of numbers, or
    when the local search has given up a region. From then on its share of the suggestions depends on what the searches
    have brought lately (`Credit`); where ranks were foreseen, it has most of them as long as its model stands for most
    evaluations.

    Args:
        space: the space.
        beside: the local search.
        number: number of this engine in its algorithm.
    """

    models: tuple[Outputs, ...] = ()

    def __init__(self, space: SearchSpace, beside: LocalSearch, number: int) -> None:
        self.space = space
        self._beside = beside
        self._number = number
        #: Number of observations before the start, -1 before it.
        self._begun_at = -1
        #: Until the start.
        self._forecast = Forecast(space.d) if foreseeable(space) else None
        #: Whether ranks were foreseen at the start.
        self._foreseen = False
        #: Observations that are not taken in yet, with their origins.
        self._waiting: list[tuple[int, int]] = []
        self._credit = Credit()
        #: Numbers of starts and of populations so far.
        self._starts = 1
        self._generation = 0
        #: Number of observations when the present population began.
        self._begun_population = 0
        #: Number of observations of points of this search.
        self._tried = 0
        self._now: Population | None = None

    # -- proposing -----------------------------------------------------------------------------------------------

    def eager(self, run: Run) -> bool:
        """Whether the next suggestion is among its share of all.

        Results that arrive after the next population has begun teach the model only, so few points are pending at once;
        more as time goes by, since some may be lost.
        """
        if self._begun_at < 0 or run.available.fixed is not None or _silent(run):
            return False
        with run.times.phase("model"), one_blas_thread():
            now = self._up_to_date(run.history)
        if now is None or not is_turn(run.step, self._share(now)):
            return False
        others = (run.history.n - self._begun_population) // now.size
        return len(self._pending(run)) < max(FEW, now.size // 2) + others

    def _share(self, now: Population) -> float:
        """Its share of the suggestions."""
        trial = self._tried < TRIAL
        ranks = (trial and self._foreseen) or now.saved >= MOST_SAVED
        if self._starts == 1 and now.model.full and ranks:
            return MOST
        return max(IDLE, self._credit.share) if trial else self._credit.share

    def propose(self, run: Run) -> Suggestion | None:
        """The most promising point of the population that is not evaluated yet; None if it is not its turn."""
        if not self.eager(run):
            return None
        with run.times.phase("acquisition"), one_blas_thread():
            now = self._up_to_date(run.history)
            assert now is not None
            success = run.success()
            asked = self._pending(run) | {slot for slot, _ in now.told}
            for count in (now.size + len(asked)) * MORE:
                X = now.points(count, self._rng(run.history))
                succeeds = success_probabilities(success, X) >= success.threshold
                slots = (k for k in now.order(X) if k not in asked and succeeds[k] and not self._is_known(run, X[k]))
                if (slot := next(slots, None)) is not None:
                    return Suggestion(X[slot], Origin(self._number, self._generation * SLOTS + slot).packed)
        return None

    def _is_known(self, run: Run, x: Array) -> bool:
        """Whether ``x (d,)`` should not be suggested, or has failed."""
        return run.available.taken(x) or run.history.has_failed(self.space.representable(x))

    def _pending(self, run: Run) -> set[int]:
        """The numbers of the pending points of the present population."""
        engines, boxes = np.divmod(run.history.pending.origins, BOXES)
        generations, slots = np.divmod(boxes, SLOTS)
        return set(slots[(engines == self._number) & (generations == self._generation)].tolist())

    def _slot(self, origin: int) -> int | None:
        """The number in the present population of the point with this ``origin``; None for other points."""
        asked = Origin.of(origin)
        generation, slot = divmod(asked.box, SLOTS)
        return slot if asked.engine == self._number and generation == self._generation else None

    def _rng(self, history: History) -> np.random.Generator:
        """The random numbers of the present population, the same in all processes that know the first observation."""
        return np.random.default_rng([zlib.crc32(history.X[0].tobytes()), self._generation])

    # -- observations ----------------------------------------------------------------------------------------------

    def tell(self, run: Run, i: int, y: float, origin: int) -> None:
        if run.history.constrained:
            return
        if self._begun_at >= 0:
            self._waiting.append((i, origin))
            self._credit.see(y, second=self._is_own(origin))
            if len(self._waiting) >= MANY:
                with one_blas_thread():
                    self._up_to_date(run.history)
        elif self._starts_after(run.history, i):
            self._begun_at = i + 1
            self._begun_population = i + 1
            self._forecast = None
            self._credit = Credit(float(np.max(run.history.values(i + 1))))

    def _is_own(self, origin: int) -> bool:
        return Origin.of(origin).engine == self._number

    def _starts_after(self, history: History, i: int) -> bool:
        """Whether it starts after observation ``i``."""
        if self._forecast is not None:
            self._forecast.learn(history.X[i], float(history.y[i]))
            self._foreseen = self._forecast.holds
        return self._foreseen or self._beside.trust_region.number > 0

    def _up_to_date(self, history: History) -> Population | None:
        """The present population, after it has taken in the waiting observations in their order.

        None as long as the best point has too few coordinates that could be moved.
        """
        now = self._begin(history, self._begun_at) if self._now is None else self._now
        for i, origin in self._waiting:
            self._tried += self._is_own(origin)
            now = self._begin(history, i + 1) if now is None else self._after(history, now, i, origin)
        self._waiting.clear()
        self._now = now
        return now

    def _after(self, history: History, now: Population, i: int, origin: int) -> Population | None:
        """The present population after ``now`` has taken in observation ``i``."""
        now.learn(history, i, i + 1)
        slot = self._slot(origin)
        if slot is None or not now.observe(slot, i):
            return now
        now.advance(history, now.points(now.size, self._rng(history)), i)
        self._generation += 1
        self._begun_population = i + 1
        if not now.holds_unmoved(history.X[_best(history, i)]):
            return self._begin(history, i + 1)
        known = now.recall(history, now.points(now.size, self._rng(history)), i)
        return self._again(history, i, now.size) if known or now.converged else now

    def _begin(self, history: History, n: int) -> Population | None:
        """A population around the best of ``n`` observations, as wide as the best tenth of them is.

        The newest observations are points of its model. None if the best point has too few coordinates to be moved.
        """
        best = np.argsort(-history.values(n), kind="stable")[: max(10, n // 10)]
        base = history.X[best[0]]
        moved = _moved(self.space, base)
        if moved.sum() < FEWEST:
            return None
        near = history.X[best][:, moved]
        offsets = near[np.all(near != INACTIVE, axis=1)] - base[moved]
        size = 4 + int(3 * math.log(moved.sum()))
        now = Population(self.space, base, size, sigma=float(np.sqrt(np.mean(offsets**2))) or WIDE)
        now.learn(history, max(0, n - now.model.kept), n)
        return now

    def _again(self, history: History, i: int, size: int) -> Population:
        """The next population, anywhere, and without points of its model."""
        base = history.X[_best(history, i)]
        self._starts += 1
        mean = self._rng(history).uniform(0.1, 0.9, np.count_nonzero(_moved(self.space, base)))
        return Population(self.space, base, min(2 * size, LARGEST), mean)

    def region(self, history: History) -> Region | None:
        return None

    # -- state -----------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        return {
            "begun_at": self._begun_at,
            "forecast": None if self._forecast is None else self._forecast.state_dict(),
            "foreseen": self._foreseen,
            "waiting": list(self._waiting),
            "credit": self._credit.state_dict(),
            "starts": self._starts,
            "generation": self._generation,
            "begun_population": self._begun_population,
            "tried": self._tried,
            "now": None if self._now is None else self._now.state_dict(),
        }

    def restore(self, state: dict[str, Any], history: History) -> None:
        """Restore a `state_dict`."""
        self._begun_at = state["begun_at"]
        self._foreseen = state["foreseen"]
        self._waiting = [(i, origin) for i, origin in state["waiting"]]
        self._credit = Credit(**state["credit"])
        self._starts = state["starts"]
        self._generation = state["generation"]
        self._begun_population = state["begun_population"]
        self._tried = state["tried"]
        with one_blas_thread():
            forecast = state["forecast"]
            self._forecast = None if forecast is None else Forecast.of(self.space.d, forecast)
            self._now = None if state["now"] is None else Population.of(self.space, state["now"])
