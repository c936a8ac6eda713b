"""Imports that an interrupt cannot leave half done.

A signal handler may raise anywhere in the main thread. If it ends an import, a library may stay half imported for the
rest of the process. So the libraries of the first suggestion are imported in a separate thread, which interrupts do not
reach. The caller waits for it, and can be interrupted. Forks wait for it too: in the child of a fork, a module that
another thread was importing could never be imported.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading

from numbo import _forks

#: Modules that designs use. With them, the import of numbo would take half as long again.
NEEDED = ("scipy.stats",)
_importing = threading.RLock()
_forks.wait_for(_importing)


def load_needed() -> None:
    """Import the modules in `NEEDED`, once; never raises an error of its own."""
    missing = [name for name in NEEDED if name not in sys.modules]
    if missing:
        loader = threading.Thread(target=_load, args=[missing], name="numbo imports")
        loader.start()
        loader.join()


def _load(names: list[str]) -> None:
    with _importing:
        for name in names:
            with contextlib.suppress(Exception):  # it is raised where the module is used
                importlib.import_module(name)
