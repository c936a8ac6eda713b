"""One BLAS thread for small problems.

The linear algebra inside SciPy's L-BFGS-B is on vectors of the hyperparameters. More threads never help there; where
there are more processes than cores they wait for each other instead, and a suggestion takes several times as long.
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

    return ThreadpoolController()  # looks at all loaded libraries: a few milliseconds


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """The BLAS of the process has one thread inside, and what it had before afterwards.

    A second thread that comes in meanwhile leaves the limit to the first one.
    """
    if not _limiting.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _limiting.release()
