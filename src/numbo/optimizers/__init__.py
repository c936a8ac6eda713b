"""One file an algorithm, over one small base: ask, tell, pending points, predict, state."""

from numbo.optimizers._base import GLOBAL, Optimizer
from numbo.optimizers._inspection import Explanation
from numbo.optimizers.bbkb import BBKB
from numbo.optimizers.bkb import BKB
from numbo.optimizers.gp_ucb import GPUCB
from numbo.optimizers.gssbo import GSSBO
from numbo.optimizers.sbpe import SBPE

__all__ = ["BBKB", "BKB", "GLOBAL", "GPUCB", "GSSBO", "SBPE", "Explanation", "Optimizer"]
