"""A sparse posterior of many observations, with the members of a surrogate as atoms, for noisy values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from numbo._plain import Kept
from numbo._types import ObservationIndices
from numbo.models.fitc import FITC
from numbo.models.gp import ExactGP
from numbo.models.transform_choice import transformed
from numbo.models.transforms import OutputTransform
from numbo.trials import Data
from numbo.trials.schedule import Schedule

#: Share, and minimum number, of new observations after which the atoms are chosen again.
STALE = 0.02, 8
#: The same share, if a point that the atoms do not represent was measured again.
LACKING = 0.002
#: Maximum number of repeated points that become atoms because the members do not represent them.
MORE = 64


class Overlay(Kept):
    """A sparse posterior, with the members and some repeated points as its atoms.

    Args:
        gp: the model of the members.
        transform: of the values.
        data: all observations.
        members, rows: the observations that are atoms, and those that the posterior is conditioned on.
        anchor: index of the observation that the members lie around, -1 for none.
        built_at: number of observations when the atoms were chosen.
    """

    _kept = ("rows", "_first_rows", "anchor", "_built")

    def __init__(
        self,
        gp: ExactGP,
        transform: OutputTransform,
        data: Data,
        members: ObservationIndices,
        rows: ObservationIndices,
        anchor: int,
        built_at: int,
    ) -> None:
        self.rows = rows
        self.anchor = anchor
        self._transform = transform
        self._variance = data.variance[rows]
        self._built = Schedule(*STALE, at=built_at)
        self._first_rows = len(rows)
        targets = transformed(data.at(rows), transform)
        atoms = data.X[members]
        self.model = FITC(gp.covariance, targets, atoms, gp.basis)
        if len(again := self.model.unrepresented()[:MORE]):
            self.model = FITC(gp.covariance, targets, np.concatenate([atoms, targets.X[again]]), gp.basis)

    def stale(self, data: Data) -> bool:
        """Whether enough of the ``data`` is new to choose other atoms, or used values have changed.

        Values change if the expected ends of stopped trials do.
        """
        n = data.n
        if not np.array_equal(data.variance[self.rows], self._variance):
            return True
        return (replace(self._built, growth=LACKING, shortest=1) if self.model.lacking else self._built).due(n)

    def add(self, data: Data, rows: ObservationIndices) -> None:
        """Add the observations ``rows (m,)``."""
        for x, target, variance in zip(*transformed(data.at(rows), self._transform), strict=True):
            self.model.add(x, float(target), float(variance))
        self.rows = np.append(self.rows, rows)
        self._variance = np.append(self._variance, data.variance[rows])
