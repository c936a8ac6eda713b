"""Types that all modules share, and names for the kinds of indices.

The type of an array of indices says what it indexes:

* `ObservationIndices`: observations of a `numbo.trials.History`, in the order in which they were told. ``members`` are
  the observations that a model is fitted to, ``rows`` of a `numbo.models.surrogate.Surrogate` those that its posterior
  is conditioned on.
* `TrialPositions`: all trials told, including failures; `History.positions` has those of the observations.
* `PointNumbers`: distinct points of a history, in the order in which they were seen first (`numbo.trials.Pulls`).
* `SparseRows`: rows of a `numbo.models.sparse_gp.SparseGP`; each represents one or more observations.
* `AtomIndices`: the points of a dictionary, among the points it was drawn from (`numbo.models.dictionaries`). If these
  are points of a history, the indices are `PointNumbers`.
* `ArmIndices`: points of an enumerated space: rows of its grid, or of the features of `numbo.Arms`.
* `Indices`: positions in a local array, such as the candidates of a criterion; and counts.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

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

# Words that arguments and settings accept; `numbo._checks` checks them when they are given.
Direction: TypeAlias = Literal["minimize", "maximize"]
AvoidRepeats: TypeAlias = bool | Literal["auto"]
LearnFailures: TypeAlias = bool | Literal["auto"]
Preset: TypeAlias = Literal["default", "paper"]
Kernel: TypeAlias = Literal["matern52", "matern32", "rbf"]
AcquisitionName: TypeAlias = Literal["ucb", "log_ei", "alternate"]
BufferSize: TypeAlias = int | Literal["dynamic"]
MaxDictionary: TypeAlias = int | Literal["auto"] | None
Stopping: TypeAlias = Literal["global", "global-local"]
InitialDictionary: TypeAlias = Literal["bless", "rls"]
#: Multipliers of standard deviations: of GSSBO and GP-UCB, of BKB and BBKB, and of S-BPE.
Beta: TypeAlias = float | Literal["log"]
ScheduledBeta: TypeAlias = float | Literal["paper", "reference"]
PhaseBeta: TypeAlias = float | Literal["union", "paper"]
BufferRule: TypeAlias = Literal["work", "time"]
