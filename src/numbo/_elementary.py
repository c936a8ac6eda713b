"""Exponentials and logarithms of arrays, with the same digits on all processors with one C library.

Those of NumPy have a variant for AVX-512, which differs from the others in the last digit. Kernels call the C library
anyway; these functions do so too, and never warn.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from numbo._types import Array
from numbo.kernels.elementary import EXP, EXPM1, LOG, LOG1P, elementary


def _each(kind: int, x: Any) -> Array:
    values = np.asarray(x, dtype=np.float64)
    out: Array = elementary(kind, values.ravel()).reshape(values.shape)
    return out


exp = partial(_each, EXP)
expm1 = partial(_each, EXPM1)
log = partial(_each, LOG)
log1p = partial(_each, LOG1P)
