"""One file per algorithm, on one base class: ask, tell, pending points, predict, state."""

from numbo.inspection import Explanation, LearningCurve, Snapshot
from numbo.optimizers.base import Optimizer
from numbo.optimizers.bbkb import BBKB
from numbo.optimizers.bkb import BKB
from numbo.optimizers.gp_ucb import GPUCB
from numbo.optimizers.gssbo import GSSBO
from numbo.optimizers.sbpe import SBPE
from numbo.run.run import GLOBAL, Suggestion

__all__ = [
    "BBKB",
    "BKB",
    "GLOBAL",
    "GPUCB",
    "GSSBO",
    "SBPE",
    "Explanation",
    "LearningCurve",
    "Optimizer",
    "Snapshot",
    "Suggestion",
]
