"""The trust region of a local search, as a function of the history.

Eriksson et al. (2019), "Scalable Global Optimization via Local Bayesian Optimization", section 2: a box around the
incumbent, whose sides follow the lengthscales, doubles after a run of successes and halves after a run of
failures; when it has become too small, the search starts again elsewhere.

Late in a search, most improvements are found close to the best point, and the rest far away from it. So regions of
three kinds take turns. One starts at points proposed by the global model. One, a *refinement*, continues around the
*record*, the best point of all regions, at the scale at which the region that found it was given up. One starts among
unexplored points.

The region is updated by the observations in the order in which they were told, so that a resumed study and another
process get the same region. Under noise the update uses the model's means at the time (`LocalSearch`). A restored
optimizer continues with its saved region, but a study that is rebuilt from its trials uses the values told.

Every observation has an origin, the box that proposed it, and counts for that box only. Results that arrive after a
restart or a change of the box, and proposals of the global model, do not change the counters. So a batch of failures
halves the region once. The paper counts a batch as one success or failure. Here results count one by one, so that a
wide batch may halve the region in spite of an improvement. A late result from an earlier box of the region still moves
the center.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from numbo import _elementary
from numbo._types import Array, Mask
from numbo.spaces import Corners

INITIAL_LENGTH = 0.8
MAX_LENGTH = 1.6
#: A region starts with `INITIAL_LENGTH` and is given up below this length. A refinement starts with up to 4 times
#: `record_length` and is given up below ``record_length * MIN_LENGTH``.
MIN_LENGTH = 2.0**-7
#: No refinement starts if `record_length` is below this.
FINEST = 2.0**-24
SUCCESSES = 3
#: Regions of three kinds take turns.
CYCLE = 3
#: Number of observations after a start; the best of them becomes the first incumbent.
SCOUTS = 6
#: A region that is at most as long as this is narrow, and so are all that follow the first one: what is left to find
#: lies in other basins (`benchmarks/results/single-runs.md`).
NARROW = 2.0**-4
#: An upper bound on the number of lengths from `MAX_LENGTH` down to the shortest one.
LENGTHS = 64


@dataclass(frozen=True)
class Region:
    """The trust region of a local search.

    Attributes:
        number: how many regions were given up before it.
        length: side of the box before it is scaled by the lengthscales, in units of the unit cube.
        center: position of its center among all trials told, failures included; -1 while there is none.
    """

    number: int
    length: float
    center: int


@dataclass
class TrustRegion:
    """The state of a trust region.

    Attributes:
        d: dimensions of the space.
        number: how many regions were given up before this one.
        length: side of the box before it is scaled by the lengthscales, in units of the unit cube.
        successes, failures: lengths of the present runs of successes and failures.
        seen: observations since the start of the region.
        center: index of the incumbent among the observations of the history, -1 before there is one.
        best: its value.
        shortest: the length at which the region is given up.
        record: the best value of all regions.
        record_center: index of the observation with that value.
        record_length: the length down to which regions around that observation were searched.
    """

    d: int
    number: int = 0
    length: float = INITIAL_LENGTH
    successes: int = 0
    failures: int = 0
    seen: int = 0
    center: int = -1
    best: float = -np.inf
    shortest: float = MIN_LENGTH
    record: float = -np.inf
    record_center: int = -1
    record_length: float = INITIAL_LENGTH

    @property
    def origin(self) -> int:
        """A number for the present box, by region and length: the origin of the points proposed in it."""
        return self.number * LENGTHS + round(math.log2(MAX_LENGTH / self.length))

    @property
    def scouting(self) -> bool:
        """Whether the region still needs observations to choose its center."""
        return self.center < 0 or self.seen < SCOUTS

    @property
    def exploring(self) -> bool:
        """Whether the region starts from points that fill the space, not from points of the global model."""
        return self.number % CYCLE == 2

    @property
    def narrow(self) -> bool:
        """Whether the search has narrowed down to a region, now or before, and has a center."""
        return not self.scouting and (self.number > 0 or self.length <= NARROW)

    def tell(self, i: int, y: float, origin: int, active: int | None = None, *, record: bool = True) -> None:
        """Update the region by observation ``i`` with value ``y`` (larger is better).

        A run of failures halves the region if it is as long as the number of dimensions that are ``active`` at the
        center, by default all, and at least 4.

        A point that the region did not propose moves its center only if it is better than all observations so far: the
        global model may return to an optimum that an earlier region has found. Pass ``record=False`` for a noisy value
        that may just be lucky.
        """
        scouting = self.scouting
        self.seen += 1
        better = y > self.best and (origin // LENGTHS == self.number or scouting or y > self.record)
        if better:
            self.recenter(i, y, record=record)
        if not scouting:
            self.count(better, origin, active)

    def count(self, better: bool, origin: int, active: int | None = None) -> None:
        """Count a success or failure of the box with this ``origin``, if it is the present one."""
        if origin != self.origin:
            return
        if better:
            self.successes = self.successes + 1
            self.failures = 0
        else:
            self.successes = 0
            self.failures = self.failures + 1
        if self.successes == SUCCESSES:
            self.length = min(2.0 * self.length, MAX_LENGTH)
            self.successes = 0
        elif self.failures >= max(4, self.d if active is None else active):
            self.length = 0.5 * self.length
            self.failures = 0
        if self.length < self.shortest:
            self.give_up()

    def expect(self, y: float) -> None:
        """Set the value at the center to ``y``."""
        self.best = y
        if self.record_center == self.center:
            self.record = y

    def recenter(self, i: int, y: float, *, record: bool = True) -> None:
        """Move the center to observation ``i`` with value ``y``, which may be a ``record``."""
        self.center = i
        self.best = y
        if record and y > self.record:
            self.record = y
            self.record_center = i

    def give_up(self) -> None:
        """Start the next region."""
        if self.center == self.record_center:
            self.record_length = self.length
        self.number = self.number + 1
        self.successes = 0
        self.failures = 0
        if self.number % CYCLE == 1 and self.record_length >= FINEST:
            self.seen = SCOUTS
            self.center = self.record_center
            self.best = self.record
            self.length = min(4.0 * self.record_length, INITIAL_LENGTH)
            self.shortest = self.record_length * MIN_LENGTH
        else:
            self.seen = 0
            self.center = -1
            self.best = -np.inf
            self.length = INITIAL_LENGTH
            self.shortest = MIN_LENGTH

    def box(self, center: Array, lengthscales: Array, numerical: Mask) -> Corners:
        """The region in the unit cube; categorical sides are whole."""
        box = Corners.of_cube(self.d)
        if numerical.any():
            scales = lengthscales[numerical]
            sides = self.length * scales / _elementary.exp(np.mean(_elementary.log(scales)))
            box.lower[numerical] = np.clip(center[numerical] - 0.5 * sides, 0.0, 1.0)
            box.upper[numerical] = np.clip(center[numerical] + 0.5 * sides, 0.0, 1.0)
        return box
