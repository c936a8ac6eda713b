"""Imports that no interrupt tears.

A signal handler raises in the main thread, wherever this is, and an import that it ends may leave a library half
imported for the rest of the process. So what the first suggestion loads is imported in a thread of its own, which no
interrupt reaches; the one who asked waits for it, and can be interrupted.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading

#: What fits and designs use. The import of numbo takes half as long again with them.
NEEDED = ("scipy.optimize", "scipy.stats")


def load_needed() -> None:
    """Import what suggestions need, once; never raises an error of its own."""
    missing = [name for name in NEEDED if name not in sys.modules]
    if missing:
        loader = threading.Thread(target=_load, args=[missing], name="numbo imports")
        loader.start()
        loader.join()


def _load(names: list[str]) -> None:
    for name in names:
        with contextlib.suppress(Exception):  # it is raised where it is needed
            importlib.import_module(name)
