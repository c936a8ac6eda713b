"""Population searches beside a local search: when they start, which points they propose, and when the next one follows.

When a search has converged, the next one starts elsewhere, with a population twice as large (Auger & Hansen 2005). All
observations are points of its model (`numbo.search.population`), by whomever they were proposed, but for a search that
looks around on its own: where many optima lie in a funnel, whoever starts at the best of them does not leave it.

The searches are a fold over the observations: they depend on their order, on who proposed them, and on when the local
search gives up a region.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from numbo._plain import Kept, Saved
from numbo.kernels.acquisition import success_probabilities
from numbo.models.outputs import Outputs
from numbo.run.situation import Situation, Suggestion
from numbo.search.credit import IDLE, MOST, Credit, is_turn
from numbo.search.engine import BOXES, Engine, Origin
from numbo.search.forecast import Forecast, foreseeable
from numbo.search.local_search import LocalSearch
from numbo.search.population import WIDE, Population, best_of, first_size, moved_coordinates
from numbo.spaces import INACTIVE, Space
from numbo.trials import History, point_key

#: For so many evaluations a search gets most suggestions if it was foreseen to rank, and a third at least otherwise.
#: They count from when there are enough points for all terms of its model.
#: Later, the first search of all gets most of them as long as it saves this share of the evaluations
#: (`benchmarks/results/single-runs.md`).
TRIAL = 60
MOST_SAVED = 0.75
#: As long as it saves this share, it has a third at least if it was foreseen to rank. Other shares were not tried.
SOME_SAVED = 0.5
#: A search looks around on its own if the second half of all observations has improved on the first by at most this
#: share of the distance between the best value of the first half and the median of the first so many observations. This
#: is looked at every so many observations.
LITTLE = 0.01
FIRST = 100
OFTEN = 50
#: Before so many observations no search does (`benchmarks/results/compare-around-early.md`).
LONG = 1000
#: Nor does one while the first search of all is on its way: until it has been without most of the suggestions for
#: `TRIAL` evaluations, and as long as the longest standard deviation of its population is above this; or while it has
#: brought more lately than is presumed where nobody gains anything (`benchmarks/results/single-runs.md`). Other widths
#: were not tried.
ON_ITS_WAY = 0.02
#: A population without a result of its points for so many observations is given up: it may have none that can be
#: suggested. Each time, later ones are given twice as many, since results may be late. Not tuned
#: (`benchmarks/results/compare-given-up.md`).
QUIET = 100
#: Largest population; and the number of origins of a population.
LARGEST = 1024
SLOTS = 2**16
#: So many times as many points are drawn if the first ones failed, or are known.
MORE = np.array([1, 4, 16])
#: Largest number of observations that wait to be taken in.
MANY = 256
#: Least number of coordinates that are moved.
FEWEST = 2
#: At most so many points of a population are pending at once, or half of it, and more as time goes by
#: (`benchmarks/results/single-runs.md`).
FEW = 4


class Around(NamedTuple):
    """When a search last began to look around on its own.

    Attributes:
        n: number of observations.
        size: of its populations.
        generation: number of its first population.
    """

    n: int = 0
    size: int = 0
    generation: int = 0


class PopulationSearch(Kept, Engine):
    """A population search and its restarts, beside a local search.

    It starts when a full quadratic foresees how observations rank (`numbo.search.forecast`), in spaces of numbers, or
    when the local search has given up a region. From then on its share of the suggestions depends on what the searches
    have brought lately (`Credit`); the first search has most of them as long as its full quadratic stands for three
    quarters of the evaluations and, where ranks were foreseen, at its start. Where they were not, and nobody has gained
    much for long, a search looks around on its own, as long as it comes nearer to the best value of others; the next
    one when there are twice as many observations.

    Args:
        beside: the local search.
        number: of this engine in its algorithm.
    """

    models: tuple[Outputs, ...] = ()
    _kept = ("_forecast", "_credit", "_now")
    #: Number of observations before the start, -1 before it.
    _begun_at: Saved[int] = -1
    #: Whether ranks were foreseen at the start.
    _foreseen: Saved[bool] = False
    #: Whether the first population was looked for.
    _opened: Saved[bool] = False
    _looked_around: Saved[Around] = Around()
    #: Observations that are not taken in yet, with their origins.
    _waiting: Saved[list[tuple[int, int]]]
    #: One more than the number of restarts after a search has converged or was given up; and the number of populations.
    _starts: Saved[int] = 1
    _generation: Saved[int] = 0
    #: Number of observations when the present population began.
    _begun_population: Saved[int] = 0
    #: Number of observations of points of this search since its model has all terms, and how many there were of all
    #: after the last one.
    _tried: Saved[int] = 0
    _heard_at: Saved[int] = 0
    #: Number of observations of its own points when most suggestions were last its own.
    _led_until: Saved[int] = 0
    #: For how many observations without a result a population is kept.
    _patience: Saved[int] = QUIET

    def __init__(self, space: Space, beside: LocalSearch, number: int) -> None:
        self.space = space
        self._beside = beside
        self._number = number
        #: Until the start.
        self._forecast = Forecast(space.d) if foreseeable(space) else None
        self._waiting = []
        self._credit = Credit()
        self._now: Population | None = None

    # -- proposing -----------------------------------------------------------------------------------------------

    def eager(self, run: Situation) -> bool:
        """Whether the next suggestion is among its share of all.

        Results that arrive after the next population has begun teach the model only, so few points are pending at once;
        more as time goes by, since some may be lost.

        None are its own under noise, with constraints, and after trials that were stopped; nor with a default, from
        which its points differ everywhere.
        """
        history = run.history
        if self._begun_at < 0 or run.available.fixed is not None or run.space.default is not None:
            return False
        if run.noise.found or history.constrained or not history.final.all():
            return False
        with run.times.phase("model"):
            now = self._up_to_date(history)
        if now is None or not is_turn(run.turn, self._share(now)):
            return False
        others = (history.n - self._begun_population) // now.size
        return len(self._pending(run)) < max(FEW, now.size // 2) + others

    def _share(self, now: Population) -> float:
        """Its share of the suggestions."""
        if self._leads(now):
            return MOST
        ranks = self._foreseen and self._saves(now, SOME_SAVED)
        return max(IDLE, self._credit.share) if self._tried < TRIAL or now.alone or ranks else self._credit.share

    def _leads(self, now: Population) -> bool:
        """Whether most suggestions are its own."""
        return self._saves(now, 0.0 if self._tried < TRIAL and self._foreseen else MOST_SAVED)

    def _saves(self, now: Population, share: float) -> bool:
        """Whether it is the first search, with a full quadratic that saves this ``share`` of the evaluations."""
        return self._starts == 1 and now.model.full and now.saved >= share

    def propose(self, run: Situation) -> Suggestion | None:
        """The most promising point of the population that is not evaluated yet; None if it is not its turn."""
        if not self.eager(run):
            return None
        with run.times.phase("search"):
            now = self._up_to_date(run.history)
            assert now is not None
            success = run.success()
            available = run.available
            prior = run.prior()
            asked = self._pending(run) | {slot for slot, _ in now.told}
            for count in (now.size + len(asked)) * MORE:
                X = now.points(count, self._rng(run.history))
                succeeds = (success_probabilities(success, X) >= success.threshold) & run.costs.fit(run.history, X)
                new = (k for k in now.order(X, prior) if k not in asked and succeeds[k] and not available.taken(X[k]))
                failed = run.history.visits.only_failed
                slots = (k for k in new if not failed(point_key(self.space.representable(X[k]))))
                if (slot := next(slots, None)) is not None:
                    return Suggestion(X[slot], Origin(self._number, self._generation * SLOTS + slot).packed)
        return None

    def _pending(self, run: Situation) -> set[int]:
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

    def tell(self, run: Situation, i: int, y: float, origin: int) -> None:
        history = run.history
        if history.constrained:
            return
        if self._begun_at >= 0:
            self._waiting.append((i, origin))
            self._credit.see(y, second=self._is_own(origin))
            if len(self._waiting) >= MANY:
                self._up_to_date(history)
        elif self._starts_after(history, i):
            self._begun_at = i + 1
            self._begun_population = i + 1
            self._forecast = None
            self._credit = Credit(float(np.max(history.values(i + 1))))

    def _is_own(self, origin: int, since: int = 0) -> bool:
        """Whether it is the origin of a point of this search, in the population number ``since`` or later."""
        asked = Origin.of(origin)
        return asked.engine == self._number and asked.box // SLOTS >= since

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
        now = self._now if self._opened else self._begin(history, self._begun_at)
        self._opened = True
        for i, origin in self._waiting:
            if self._is_own(origin):
                self._tried += now is None or now.model.complete
                self._heard_at = i + 1
            now = self._begin(history, i + 1) if now is None else self._after(history, now, i, origin)
            if now is not None and self._leads(now):
                self._led_until = self._tried
            if now is not None and (i + 1) % OFTEN == 0:
                now = self._reviewed(history, now, i + 1)
        self._waiting.clear()
        self._now = now
        return now

    def _after(self, history: History, now: Population, i: int, origin: int) -> Population | None:
        """The present population after ``now`` has taken in observation ``i``."""
        if now.alone and not self._is_own(origin, self._looked_around.generation):
            now.see(float(history.y[i]))
            return now
        now.learn(history, i, i + 1)
        slot = self._slot(origin)
        if slot is None or not now.observe(slot, i):
            return now
        now.advance(history, now.points(now.size, self._rng(history)), i)
        self._next_population(i + 1)
        last = not now.approaches if now.alone else not now.holds_unmoved(history.X[best_of(history, i)])
        if last:
            return self._begin(history, i + 1)
        known = now.recall(history, now.points(now.size, self._rng(history)), i)
        return self._again(history, i, 2 * now.size) if known or now.converged else now

    def _begin(self, history: History, n: int) -> Population | None:
        """A population around the best of ``n`` observations, as wide as the best tenth of them is.

        The newest observations are points of its model. None if the best point has too few coordinates to be moved.
        """
        best = np.argsort(-history.values(n), kind="stable")[: max(10, n // 10)]
        base = history.X[best[0]]
        moved = moved_coordinates(self.space, base)
        if moved.sum() < FEWEST:
            return None
        near = history.X[best][:, moved]
        offsets = near[np.all(near != INACTIVE, axis=1)] - base[moved]
        size = first_size(int(moved.sum()))
        now = Population(self.space, base, size, sigma=float(np.sqrt(np.mean(offsets**2))) or WIDE)
        now.learn(history, max(0, n - now.model.kept), n)
        return now

    def _reviewed(self, history: History, now: Population, n: int) -> Population | None:
        """``now``, or the population that takes its place after ``n`` observations.

        A search that looks around on its own has twice the population of the last such search.
        """
        if n - max(self._begun_population, self._heard_at) >= self._patience:
            self._patience *= 2
            self._next_population(n)
            return self._again(history, n - 1, now.size)
        lately = self._led_until > 0 and self._tried < self._led_until + TRIAL
        on_its_way = (lately and now.distribution.longest > ON_ITS_WAY) or self._credit.share > IDLE
        if now.alone or on_its_way or not self._is_stuck(history, n):
            return now
        self._next_population(n)
        record = best_of(history, n - 1)
        size = min(2 * self._looked_around.size, LARGEST)
        around = self._elsewhere(history, record, size, rival=float(history.values(n)[record]))
        self._looked_around = Around(n, size if around is None else around.size, self._generation)
        return around

    def _next_population(self, n: int) -> None:
        self._generation += 1
        self._begun_population = n

    def _is_stuck(self, history: History, n: int) -> bool:
        """Whether the second half of ``n`` observations has brought little, where ranks were not foreseen."""
        if self._foreseen or n < max(LONG, 2 * self._looked_around.n):
            return False
        values = history.values(n)
        record = float(np.max(values[: n // 2]))
        typical = float(np.quantile(values[:FIRST], 0.5, method="lower"))
        return float(np.max(values)) - record <= LITTLE * (record - typical)

    def _again(self, history: History, i: int, size: int) -> Population | None:
        """The next population, without points of its model."""
        self._starts += 1
        return self._elsewhere(history, best_of(history, i), min(size, LARGEST))

    def _elsewhere(self, history: History, record: int, size: int, *, rival: float = -math.inf) -> Population | None:
        """A population anywhere, not too near to the bounds, in the coordinates of the ``record`` that are moved.

        A ``size`` of 0 is that of a first one. None if the coordinates are too few.
        """
        base = history.X[record]
        k = int(np.count_nonzero(moved_coordinates(self.space, base)))
        if k < FEWEST:
            return None
        return Population(self.space, base, size or first_size(k), self._rng(history).uniform(0.1, 0.9, k), rival=rival)

    # -- state -----------------------------------------------------------------------------------------------------

    def restore(self, state: Mapping[str, Any], data: Any = None) -> None:
        if (now := state["now"]) is not None:
            self._now = Population(self.space, now["base"], now["size"])
        super().restore(state)
