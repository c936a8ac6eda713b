"""Turns: locks between the processes on a machine, so that one at a time does something.

A turn is a lock on one byte of a file. The operating system releases it when its holder ends, however it ends. If files
cannot be locked, turns are always granted.
"""

from __future__ import annotations

import contextlib
import os
import time
import zlib
from collections.abc import Callable, Iterator

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

POLL = 0.01
#: One descriptor per file for the life of the process: closing any of them would release all locks on its file.
_files: dict[tuple[str, int], int] = {}


def possible() -> bool:
    """Whether this system can lock files."""
    return fcntl is not None


@contextlib.contextmanager
def turn(path: str | None, name: str, patience: float, waiting: Callable[[], None] = lambda: None) -> Iterator[bool]:
    """Wait for the turn ``name`` of the file ``path`` for at most ``patience`` seconds; yields whether it was granted.

    ``waiting`` is called again and again meanwhile. Without a path, or if the file cannot be locked, it is granted at
    once.
    """
    descriptor = _open(path)
    if descriptor is None:
        yield True
        return
    byte = zlib.crc32(name.encode()) & 0x7FFFFFFF
    deadline = time.monotonic() + patience
    while not (mine := _lock(descriptor, byte)) and time.monotonic() < deadline:
        waiting()
        time.sleep(POLL)
    try:
        yield mine
    finally:
        if mine:
            with contextlib.suppress(OSError):
                fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, byte)


def _open(path: str | None) -> int | None:
    if path is None or fcntl is None:
        return None
    key = path, os.getpid()  # locks belong to the process
    if key not in _files:
        try:
            _files[key] = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError:
            return None
    return _files[key]


def _lock(descriptor: int, byte: int) -> bool:
    """Lock the byte if no other process has locked it; also True if locks do not work."""
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True
    return True
