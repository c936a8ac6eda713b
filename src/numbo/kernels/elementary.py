"""Elementary functions from the C library, which NumPy's own differ from in the last digit on some processors."""

from __future__ import annotations

import math

import numpy as np

from numbo.compiling.jit import jit

EXP, EXPM1, LOG, LOG1P = 0, 1, 2, 3


@jit
def elementary(kind, x):
    """The function of this ``kind`` at each of ``x (n,)``."""
    out = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        if kind == EXP:
            out[i] = math.exp(x[i])
        elif kind == EXPM1:
            out[i] = math.expm1(x[i])
        elif kind == LOG:
            out[i] = math.log(x[i])
        else:
            out[i] = math.log1p(x[i])
    return out
