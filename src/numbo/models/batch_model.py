"""A sparse posterior frozen at its last feedback, and the pulls made since then.

Within a batch only variances change: the mean, the dictionary and the variances ``var~_fb`` at the start of the batch
are fixed. A pull is hallucinated, whether its value is pending or has arrived meanwhile: its value is taken to be the
model's mean there. Arms are pulled one by one, each a rank-one update of V as in the papers. Points of large spaces,
which a dictionary seldom represents, are conditioned on jointly and exactly (`SparseGP.extended`).
"""

from __future__ import annotations

import numpy as np

from numbo._types import Array, PointNumbers
from numbo.kernels.acquisition import Posterior, mean_variance
from numbo.models.sparse_gp import SparseGP


class BatchModel:
    """A `SparseGP` whose points and atoms are identified by the numbers of `numbo.trials.pulls.Pulls`.

    Args:
        gp: conditioned on the points with the numbers ``points (u,)``; its atoms have the numbers ``atoms (m,)``.
        sums: (numbers,) sums of the observed values of all points, by number.

    Attributes:
        gp: the sparse model, with the pulls entered since the last feedback.
        atoms: numbers (m,) of its atoms.
        posterior: mean and variance at the last feedback.
        pulls, variances: numbers of the pulls since the last feedback, and ``var~_fb`` of each.
        total: sum of ``variances``.
        ratio_sums, summed: sums of lemma 3 at all arms, over the first ``summed`` pulls of the batch.
        learned: pulls entered as feedback since the dictionary was drawn, and whether they were to become atoms.
    """

    def __init__(self, gp: SparseGP, points: PointNumbers, atoms: PointNumbers, sums: Array) -> None:
        self.gp = gp
        self._row = {int(p): row for row, p in enumerate(points)}
        self.atoms = atoms
        self.learned: list[tuple[int, bool]] = []
        self.take_in(sums)

    def take_in(self, sums: Array) -> None:
        """Set the values of all points by number, ``sums (numbers,)``; all is feedback now and the batch is empty."""
        self.gp.set_values(sums[self.points])
        self.gp.mark()
        self.posterior: Posterior = self.gp.posterior
        self._frozen = len(self._row)
        self._start_batch()

    def _start_batch(self) -> None:
        self.pulls: list[int] = []
        self.variances: list[float] = []
        self.total = 0.0
        self.summed = 0
        self.ratio_sums: Array | float = 0.0

    def thaw(self) -> None:
        """Forget the pulls since the last feedback."""
        self.gp.rollback()
        while len(self._row) > self._frozen:
            self._row.popitem()
        self._start_batch()

    @property
    def points(self) -> PointNumbers:
        """Numbers (u,) of the model's points."""
        return np.fromiter(self._row, dtype=np.int64, count=len(self._row))

    def variance(self, X: Array) -> Array:
        """``var~_fb (n,)`` at ``X (n, d)``."""
        return mean_variance(self.posterior, X)[1] / self.gp.regularization

    def learn(self, number: int, x: Array, grow: bool) -> None:
        """Enter a pull whose value has arrived, as an atom if ``grow``; call `take_in` next."""
        self.learned.append((number, grow))
        if grow and self.gp.grow(x):
            self.atoms = np.append(self.atoms, number)
        self.pull(number, x, 0.0)

    def note(self, number: int, variance: float) -> None:
        """Add a pull, with its ``var~_fb``, to the batch."""
        self.pulls.append(number)
        self.variances.append(variance)
        self.total += variance

    def pull(self, number: int, x: Array, value: float) -> Array:
        """Enter a pull by an update of V; returns the direction by which it reduces variances."""
        row = self._row.get(number)
        if row is None:
            self._row[number] = self.gp.u
            return self.gp.add(x, value)
        return self.gp.repeat(row, value)

    def ratios(self, X: Array, pulled: Array) -> Array:
        """``sum_s k~_fb(x, x_s)^2 / var~_fb(x)`` over the points ``pulled (b, d)``, at ``X (n, d)`` (lemma 3).

        For models whose batch is not pulled one by one, so that `gp` is unchanged since the last feedback.
        """
        variance = np.maximum(self.variance(X), np.finfo(float).tiny)
        out: Array = np.sum(self.gp.cross(X, pulled) ** 2, axis=1) / variance
        return out
