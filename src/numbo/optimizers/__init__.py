"""One file per algorithm, on one base class: ask, tell, pending points, predict, state."""

from numbo._settings import Settings
from numbo.inspection import Explanation, LearningCurve, Remaining, Snapshot
from numbo.optimizers.base import Optimizer
from numbo.optimizers.bbkb import BBKB, BBKBSettings
from numbo.optimizers.bkb import BKB, BKBSettings
from numbo.optimizers.gp_ucb import GPUCB, GPUCBSettings
from numbo.optimizers.gssbo import GSSBO, GSSBOSettings
from numbo.optimizers.port import Port
from numbo.optimizers.sbpe import SBPE, SBPESettings
from numbo.run.situation import GLOBAL, Suggestion

__all__ = [
    "BBKB",
    "BKB",
    "GLOBAL",
    "GPUCB",
    "GSSBO",
    "SBPE",
    "BBKBSettings",
    "BKBSettings",
    "Explanation",
    "GPUCBSettings",
    "GSSBOSettings",
    "LearningCurve",
    "Optimizer",
    "Port",
    "Remaining",
    "SBPESettings",
    "Settings",
    "Snapshot",
    "Suggestion",
]
