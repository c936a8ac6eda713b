"""One file an algorithm, over one small base: ask, tell, pending points, predict, state."""

from numbo.optimizers._base import GLOBAL, Optimizer
from numbo.optimizers.bbkb import BBKB
from numbo.optimizers.bkb import BKB
from numbo.optimizers.gp_ucb import GPUCB
from numbo.optimizers.gssbo import GSSBO

__all__ = ["BBKB", "BKB", "GLOBAL", "GPUCB", "GSSBO", "Optimizer"]
