"""A sparse posterior frozen at its last feedback, and the pulls that were made since.

Inside a batch nothing but variances moves: the mean, the dictionary and the variances ``var~_fb`` that the batch
started with stay. A pull is hallucinated, whether its value is still out or has arrived since: it counts with the
mean that the model has there. Arms are pulled one by one, each a rank-one update of V as in the papers. Points of large
spaces, which a dictionary seldom represents, are conditioned on together and exactly (`SparseGP.extended`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numbo.kernels.acquisition import Posterior, predict
from numbo.models import SparseGP

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class FrozenModel:
    """A `SparseGP` whose points and atoms carry the numbers of `numbo.optimizers._pulls.Pulls`.

    `set_sums` and `freeze` complete it.

    Args:
        gp: conditioned on the points with the numbers ``points (u,)``; its atoms have the numbers ``atoms (m,)``.

    Attributes:
        posterior: mean and variance at the last feedback.
        total: sum of ``variances``.
        ratio_sums, summed: sums of lemma 3 over the first so many pulls of the batch, at all arms.
        batch, variances: numbers of the pulls since then, and ``var~_fb`` of each.
        learned: pulls that entered as feedback since the dictionary was drawn, with whether they became atoms.
    """

    def __init__(self, gp: SparseGP, points: Indices, atoms: Indices) -> None:
        self.gp = gp
        self._row = {int(p): row for row, p in enumerate(points)}
        self.atoms = atoms
        self.learned: list[tuple[int, bool]] = []

    def freeze(self) -> None:
        """All that the model knows is feedback; the batch is empty."""
        self.gp.mark()
        self.posterior: Posterior = self.gp.posterior
        self._frozen = len(self._row)
        self._start_batch()

    def _start_batch(self) -> None:
        self.batch: list[int] = []
        self.variances: list[float] = []
        self.total, self.summed = 0.0, 0
        self.ratio_sums: Array | float = 0.0

    def thaw(self) -> None:
        """Forget the pulls since the last feedback."""
        self.gp.rollback()
        while len(self._row) > self._frozen:
            self._row.popitem()
        self._start_batch()

    @property
    def points(self) -> Indices:
        """Numbers (u,) of the model's points."""
        return np.fromiter(self._row, dtype=np.int64, count=len(self._row))

    def variance(self, X: Array) -> Array:
        """``var~_fb (n,)`` at ``X (n, d)``."""
        return predict(self.posterior, X)[1] / self.gp.regularization

    def learn(self, number: int, x: Array, grow: bool) -> None:
        """Enter a pull whose value has arrived, with ``grow`` as an atom; `set_sums` and `freeze` come next."""
        self.learned.append((number, grow))
        if grow and self.gp.grow(x):
            self.atoms = np.append(self.atoms, number)
        self.pull(number, x, 0.0)

    def note(self, number: int, variance: float) -> None:
        """Take a pull, with its ``var~_fb``, into the batch."""
        self.batch.append(number)
        self.variances.append(variance)
        self.total += variance

    def pull(self, number: int, x: Array, value: float) -> Array:
        """Enter a pull by an update of V; returns the direction it takes off variances."""
        row = self._row.get(number)
        if row is None:
            self._row[number] = self.gp.u
            return self.gp.add(x, value)
        return self.gp.repeat(row, value)

    def set_sums(self, sums: Array) -> None:
        """Values of all points, by number: ``sums (numbers,)`` over their observations."""
        self.gp.set_values(sums[self.points])

    def ratios(self, X: Array, pulled: Array) -> Array:
        """``sum_s k~_fb(x, x_s)^2 / var~_fb(x)`` over the points ``pulled (b, d)``, at ``X (n, d)`` (lemma 3).

        For models whose batch is not pulled one by one: their `gp` is as it was at the last feedback.
        """
        variance = np.maximum(self.variance(X), np.finfo(float).tiny)
        out: Array = np.sum(self.gp.cross(X, pulled) ** 2, axis=1) / variance
        return out
