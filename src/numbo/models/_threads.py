"""One BLAS thread for small problems.

The linear algebra inside SciPy's L-BFGS-B works on short vectors of hyperparameters. More threads never help there; if
there are more processes than cores, they contend for cores, and a suggestion takes several times as long.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_limiting = threading.Lock()


@functools.cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()  # scans all loaded libraries: a few milliseconds


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit the BLAS of the process to one thread inside the block, and restore its threads afterwards.

    If another thread is already inside, its limit applies.
    """
    if not _limiting.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _limiting.release()
