"""The posterior of many observations through the members of a surrogate, for values that are noisy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from numbo._types import ObservationIndices
from numbo.models.fitc import FITC
from numbo.models.gp import ExactGP
from numbo.models.transform_choice import transformed
from numbo.models.transforms import OutputTransform
from numbo.trials import Data
from numbo.trials.schedule import Schedule

#: Share, and minimum number, of new observations after which the atoms are chosen again.
STALE = 0.02, 8
#: Likewise, if a point was measured again that the atoms do not represent.
LACKING = 0.002
#: Maximum number of such points that become atoms.
MORE = 64


class Overlay:
    """A sparse posterior, with the members and other points that were measured again as its atoms.

    Args:
        gp: the model of the members.
        transform: of the values.
        data: all observations.
        members, rows: those that are atoms, and those that it stands on.
        anchor: index of the observation that the members lie around, -1 for none.
        built_at: number of observations when they were.
    """

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
        self.model = FITC(gp.covariance, targets, atoms)
        if len(again := self.model.unrepresented()[:MORE]):
            self.model = FITC(gp.covariance, targets, np.concatenate([atoms, targets.X[again]]))

    def stale(self, data: Data) -> bool:
        """Whether so much of the ``data`` is new that other atoms are chosen, or values that it stands on have changed.

        The latter are those of trials that were stopped, which may be expected to end elsewhere than before.
        """
        n = data.n
        if not np.array_equal(data.variance[self.rows], self._variance):
            return True
        return (replace(self._built, growth=LACKING, shortest=1) if self.model.lacking else self._built).due(n)

    def add(self, data: Data, rows: ObservationIndices) -> None:
        """Take in the observations ``rows (m,)`` as well."""
        for x, target, variance in zip(*transformed(data.at(rows), self._transform), strict=True):
            self.model.add(x, float(target), float(variance))
        self.rows = np.append(self.rows, rows)
        self._variance = np.append(self._variance, data.variance[rows])

    def state_dict(self) -> dict[str, Any]:
        """From which it is built again, by the same steps."""
        return {
            "rows": self.rows[: self._first_rows].copy(),
            "added": self.rows[self._first_rows :].copy(),
            "built_at": self._built.at,
            "anchor": self.anchor,
        }
