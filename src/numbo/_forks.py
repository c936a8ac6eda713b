"""Forks while other threads work.

The child of a fork has only the thread that forked. A lock that another thread had would never be released there, and
what it guards would be half done, such as a kernel that LLVM was compiling. So a fork waits for the locks that are
registered here. Its child finds them free. Objects that can start anew are not waited for: if one was in use, its child
forgets what it had learned.

A signal that arrives meanwhile is handled after the fork, as Python would ignore what its handler raises.
"""

from __future__ import annotations

import _thread
import os
import threading
import weakref
from contextlib import AbstractContextManager, ExitStack
from typing import Any, ClassVar

from numbo._interrupts import signals_kept

_locks: list[AbstractContextManager[Any]] = []
_forking = threading.local()


def wait_for(lock: AbstractContextManager[Any]) -> None:
    """Let forks wait until no other thread has this lock, which has to be reentrant.

    A thread that has it may take locks that were registered before, by lower layers, but none that was registered
    later. It must not wait for a thread that may fork.
    """
    _locks.append(lock)


class StartsAnew:
    """What starts anew from a pickle, and in the child of a fork, if another thread had its ``_lock``."""

    _lock: Any
    #: The attributes that `_start` makes, which are in no pickle.
    _started: ClassVar[tuple[str, ...]] = ("_lock",)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in self._started}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._start()

    def _start(self) -> None:
        """Make the lock, and what it guards; subclasses extend this, and call it when they are made or unpickled."""
        _guarded.add(self)


_guarded: weakref.WeakSet[StartsAnew] = weakref.WeakSet()


def _before() -> None:
    held = _forking.held = ExitStack()
    _forking.arrived = held.enter_context(signals_kept())
    for lock in reversed(_locks):
        held.enter_context(lock)


def _in_parent() -> None:
    _forking.held.close()
    for number, _ in _forking.arrived:
        _thread.start_new_thread(_thread.interrupt_main, (number,))  # which does not interrupt this function


def _in_child() -> None:
    _forking.held.close()
    for guarded in list(_guarded):
        if guarded._lock.acquire(blocking=False):
            guarded._lock.release()
        else:
            guarded._start()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
