"""Types that all modules share, and the words for what an index counts.

An array of indices says in its type what it counts:

* `ObservationIndices`: observations of a `numbo.trials.History`, in the order in which they were told. ``members`` are
  those that a model is fitted to, ``rows`` of a `numbo.models.surrogate.Surrogate` those that its posterior stands on.
* `TrialPositions`: all trials told, failures among them; `History.positions` counts observations so.
* `PointNumbers`: distinct points of a history, in the order in which they were seen first (`numbo.trials.Pulls`).
* `SparseRows`: rows of a `numbo.models.sparse_gp.SparseGP`, which stand for one or more observations each.
* `AtomIndices`: points that make up a dictionary, among those that it was drawn from (`numbo.models.dictionaries`).
  Once these are points of a history, they are `PointNumbers`.
* `ArmIndices`: points of a space that is enumerated: rows of its grid, or of the features of `numbo.Arms`.
* `Indices`: positions in an array that is at hand, such as the candidates of a criterion; and counts.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
Indices: TypeAlias = NDArray[np.int64]

ObservationIndices: TypeAlias = NDArray[np.int64]
TrialPositions: TypeAlias = NDArray[np.int64]
PointNumbers: TypeAlias = NDArray[np.int64]
SparseRows: TypeAlias = NDArray[np.int64]
AtomIndices: TypeAlias = NDArray[np.int64]
ArmIndices: TypeAlias = NDArray[np.int64]
