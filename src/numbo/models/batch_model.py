"""A sparse posterior at its last feedback, and the pulls made since then.

Within a batch only variances change: the mean, the dictionary and the variances ``var~_fb`` at the start of the batch
are those of the last feedback. A pull is hallucinated, whether its value is pending or has arrived meanwhile: its value
is taken to be the model's mean there. Where every feedback draws a dictionary (``resparsify=0``), arms are pulled one
by one, each a rank-one update of V as in the papers. Otherwise, and in large spaces, whose points a dictionary seldom
represents, pulls are conditioned on jointly and exactly (`numbo.models.pending`), up to `EXACT` of them. Of more, the
newest ones are, and the others are represented by `REPRESENTATIVES` of them.

The posterior at a feedback is a `Base`, which never changes. The pulls since then are a `Batch` over it: to forget them
is to start another batch over the same base.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from numbo._plain import Kept, copied
from numbo._types import Array, PointNumbers
from numbo.kernels.acquisition import Posterior, mean_variance
from numbo.kernels.covariance import Covariance
from numbo.models.pending import Growing, represented
from numbo.models.sparse_gp import SparseGP

#: Up to this number of pulls are conditioned on jointly and exactly.
EXACT = 256
#: Of more, the newest ones: at most this number, fewer by less than `OLDER`.
NEWEST = 128
#: So many at once become older ones, which are represented by `REPRESENTATIVES` of them at most
#: (`benchmarks/results/single-runs.md`).
OLDER = 64
REPRESENTATIVES = 256


class Draw(NamedTuple):
    """How a dictionary was drawn; with the observations then, the posterior follows from it.

    Attributes:
        points: numbers (u,) of the points it was drawn from, told or pending.
        chosen: those (c,) that were drawn.
        assumed: pending points (a,) that the posterior is conditioned on as if they had been told.
    """

    points: PointNumbers
    chosen: PointNumbers
    assumed: PointNumbers


#: No points, and how the dictionary of a model without points was drawn.
NONE = np.empty(0, dtype=np.int64)
NOT_DRAWN = Draw(NONE, NONE, NONE)


class Base(Kept):
    """The posterior at a feedback: a value, which changes only when it is restored. `taking_in` makes the next one.

    Points and atoms of its model are identified by the numbers of `numbo.trials.pulls.Pulls`.

    Args:
        gp: conditioned on the points; nobody else changes it from now on.
        points: numbers (u,) of its points.
        atoms: numbers (m,) of its atoms.
        sums: (numbers,) sums of the observed values of all points, by number.
        draw: how its dictionary was drawn.
        learned: feedback taken in since then: the points, and whether each was to become an atom.
    """

    _kept = ("draw", "learned")

    def __init__(
        self,
        gp: SparseGP,
        points: PointNumbers,
        atoms: PointNumbers,
        sums: Array,
        draw: Draw = NOT_DRAWN,
        learned: tuple[tuple[int, bool], ...] = (),
    ) -> None:
        gp.set_values(sums[points])
        self.gp = gp
        self.points = points
        self.atoms = atoms
        self.draw = draw
        self.learned = learned

    @classmethod
    def prior(cls, covariance: Covariance, d: int) -> Base:
        """The posterior on an empty dictionary: ``mu~ = 0`` and ``var~ = k(x, x) / lambda``."""
        return cls(SparseGP(covariance, np.empty((0, d))), NONE, NONE, np.empty(0))

    @cached_property
    def posterior(self) -> Posterior:
        """Mean and variance."""
        return self.gp.posterior

    def row(self, number: int) -> int:
        """The row of a point in the model, -1 if it has none."""
        if not len(self.points):
            return -1
        row = int((self.points == number).argmax())
        return row if self.points[row] == number else -1

    def variance(self, X: Array) -> Array:
        """``var~_fb (n,)`` at ``X (n, d)``."""
        return mean_variance(self.posterior, X)[1] / self.gp.regularization

    def ratios(self, X: Array, pulled: Array) -> Array:
        """``sum_s k~_fb(x, x_s)^2 / var~_fb(x)`` over the points ``pulled (b, d)``, at ``X (n, d)`` (lemma 3)."""
        variance = np.maximum(self.variance(X), np.finfo(float).tiny)
        out: Array = np.sum(self.gp.cross(X, pulled) ** 2, axis=1) / variance
        return out

    def taking_in(self, fresh: PointNumbers, X: Array, joins: Callable[[int, int], bool], sums: Array) -> Base:
        """The posterior after more feedback, on the same dictionary and the points that join it.

        Args:
            fresh: numbers (f,) of the points of the new values.
            X: all points (numbers, d), by number.
            joins: whether the ``i``-th of ``fresh`` is to join a dictionary of so many atoms.
            sums: (numbers,) as those of the class.
        """
        gp = self.gp.copy()
        added: dict[int, int] = {}
        atoms = self.atoms.tolist()
        learned = list(self.learned)
        for i, number in enumerate(fresh.tolist()):
            join = joins(i, gp.m)
            learned.append((number, join))
            if join and gp.grow(X[number]):
                atoms.append(number)
            row = added.get(number, self.row(number))
            if row < 0:
                added[number] = gp.u
                gp.add(X[number])
            else:
                gp.repeat(row)
        points = np.concatenate([self.points, np.array(list(added), dtype=np.int64)])
        return Base(gp, points, np.array(atoms, dtype=np.int64), sums, self.draw, tuple(learned))


class Batch(Kept):
    """The pulls since the last feedback, over the posterior then, its ``base``.

    Attributes:
        pulls, variances: numbers of the points, and ``var~_fb`` of each.
        total: sum of ``variances``.
        LV: the Cholesky factor of V given the pulls, where they are pulled one by one.
    """

    _kept = ("base", "pulls")

    def __init__(self, base: Base) -> None:
        self.base = base
        self.pulls: list[int] = []
        self.variances: list[float] = []
        self.total = 0.0
        self.LV = base.gp.LV
        self._embedded: dict[int, Array] = {}  # points that are none of the base
        #: The older pulls, by their number; those that stand for them, and the posterior to which others are added.
        self._joint: tuple[int, PointNumbers, Growing] | None = None

    def __copy__(self) -> Batch:
        twin = copied(self)
        twin._joint = None  # which pulls are added to
        return twin

    def note(self, number: int, variance: float) -> None:
        """Add a pull, with its ``var~_fb``."""
        self.pulls.append(number)
        self.variances.append(variance)
        self.total += variance

    def pull(self, number: int, x: Array) -> Array:
        """Add a pull of the point ``x (d,)`` by an update of V; returns the direction by which it reduces variances."""
        gp = self.base.gp
        self.note(number, gp.variance(x))
        if self.LV is gp.LV:
            self.LV = gp.LV.copy()
        return gp.hallucinate(self.LV, self._embed(number, x))

    def joint(self, X: Array) -> tuple[Posterior, PointNumbers]:
        """The posterior given all pulls jointly; ``X (numbers, d)`` are all points, by number.

        It has a row for each atom of the base, and one for each of the points whose numbers (q,) are returned with it.
        """
        count = len(self.pulls)
        older = 0 if count <= EXACT else OLDER * -(-(count - NEWEST) // OLDER)
        if self._joint is None or self._joint[0] != older:
            numbers = np.array(self.pulls[:older], dtype=np.int64)
            noise = self.base.gp.regularization
            posterior = self.base.posterior
            if older:
                posterior, chosen = represented(posterior, X[numbers], noise, REPRESENTATIVES)
                numbers = numbers[chosen]
            self._joint = older, numbers, Growing(posterior, noise)
        _, numbers, grown = self._joint
        newest = self.pulls[older:]
        grown.add(X[newest[grown.count :]])
        return grown.posterior, np.concatenate([numbers, np.array(newest, dtype=np.int64)])

    def _embed(self, number: int, x: Array) -> Array:
        """The point ``x (d,)`` as it is embedded (m,)."""
        row = self.base.row(number)
        if row >= 0:
            return self.base.gp.Z[row]
        if number not in self._embedded:
            self._embedded[number] = self.base.gp.embed_one(x)
        return self._embedded[number]
