"""GP-UCB on all data: the exact baseline (Srinivas et al. 2010, algorithm 1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numbo.optimizers._gp_optimizer import GPOptimizer


class GPUCB(GPOptimizer):
    """Exact GP-UCB. O(n^2) a suggestion and O(n^3) at a refit: for comparison, and for a few hundred trials.

    Takes the arguments of `GPOptimizer` and of `Optimizer`.
    """

    def _members(self) -> NDArray[np.int64]:
        return np.arange(self._history.n)
