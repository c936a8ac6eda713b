"""The one decorator that compiles numbo's kernels, and the cache policy that goes with it.

Numba's on-disk cache checks only the file that holds a kernel. An edit to a callee in another file, or an
upgrade that changes it, would leave the caller's stale machine code in use. Every kernel of this package is
therefore stamped with a digest of *all* kernel sources. Where no cache place can be written (a read-only
installation without a home directory) kernels are compiled afresh in each process instead of failing to import.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba


@functools.cache
def source_digest() -> str:
    """Digest of all kernel sources and of the settings that change the code made from them."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    digest.update(os.environ.get("NUMBA_BOUNDSCHECK", "").encode())
    return digest.hexdigest()


def jit(function: Callable[..., Any]) -> Any:
    """Compile lazily in nopython mode, serially, without the GIL, and cache the machine code on disk."""
    dispatcher: Any = numba.njit(nogil=True, error_model="numpy")(function)
    if hasattr(dispatcher, "enable_caching"):  # a plain function under NUMBA_DISABLE_JIT
        try:
            dispatcher.enable_caching()
            dispatcher._cache._cache_file._source_stamp = source_digest()
        except (AttributeError, OSError, RuntimeError):
            dispatcher = numba.njit(nogil=True, error_model="numpy")(function)
    return dispatcher
