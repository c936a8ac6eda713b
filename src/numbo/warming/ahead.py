"""Kernels are compiled in the background while the initial design is evaluated.

If the cache has no compiled kernels, the first suggestions would wait for the compiler. So the first ask starts
processes of low priority that compile the kernels of the algorithm into the cache, where this process finds them. They
are new processes, not forks. They have no terminal and no output, and end with the process that started them, at the
latest. No process is started if the cache has the kernels or cannot be written, if files cannot be locked, if there is
only one processor, if Python cannot be started again (as in a frozen application), or if the environment has
``NUMBO_COMPILE_AHEAD=0``.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numbo import _forks

SWITCH = "NUMBO_COMPILE_AHEAD"
NICE = 10
#: Number of processes; compiling is divided among them.
PARTS = 2
#: Seconds between two checks whether the parent process is still alive.
POLL = 0.1
CHILD = """
import json, sys
sys.path[:], parent, algorithm, part, lock = json.loads(sys.argv[1])
from numbo.warming import ahead
with ahead.work(parent, algorithm, part, lock) as wanted:
    if wanted:
        from numbo.warming.first_use import compile_part
        compile_part(algorithm, part, lock)
"""
_lock = threading.RLock()
_forks.wait_for(_lock)
_children: list[subprocess.Popen[bytes]] = []
_considered: set[type] = set()
_owner = 0  # the process that started the children; a fork has the list, but they are not its children


def compile_ahead(algorithm: type) -> None:
    """Start to compile the kernels of an optimizer in the background, once, if the cache lacks them; never raises."""
    if algorithm in _considered:
        if _children and os.getpid() == _owner:
            with _lock:
                _children[:] = [child for child in _children if child.poll() is None]
        return
    with _lock, contextlib.suppress(Exception):
        if algorithm not in _considered:
            _considered.add(algorithm)
            _start(algorithm)


def _start(algorithm: type) -> None:
    """Start the processes, if an algorithm's kernels have to be compiled, and processes can compile them."""
    global _owner
    from numbo.compiling import jit, turns  # here, as children import this module before they have work
    from numbo.warming.first_use import ALGORITHMS

    known = next(cls for cls in algorithm.__mro__ if cls in ALGORITHMS)
    kernels = ALGORITHMS[known]
    lock = jit.lock_path(kernels[0])
    if os.environ.get(SWITCH) == "0" or lock is None or not turns.possible() or _cores() == 1:
        return
    if all(map(jit.is_cached, kernels)) or not _python_can_be_started():
        return
    if _owner != os.getpid():
        _owner = os.getpid()
        _children.clear()
        atexit.register(_end)
    for part in range(PARTS):
        task = json.dumps([[str(Path(p or ".").absolute()) for p in sys.path], _owner, known.__name__, part, lock])
        _children.append(
            subprocess.Popen(
                [sys.executable, "-I", "-B", "-c", CHILD, task],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=os.environ | {SWITCH: "0"},
                start_new_session=True,  # Ctrl-C in a terminal is for this process only
            )
        )


def _python_can_be_started() -> bool:
    name = os.path.basename(sys.executable or "").lower()
    return not getattr(sys, "frozen", False) and name.startswith(("python", "pypy"))


def _cores() -> int:
    affinity: Any = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _end() -> None:
    """End the children with the process that started them."""
    if os.getpid() != _owner:
        return
    with _lock:
        for child in _children:
            child.kill()
            child.wait()
        _children.clear()


# -- in the child ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def work(parent: int, algorithm: str, part: int, lock: str) -> Iterator[bool]:
    """Whether to compile this part; not if another process of this machine does so already."""
    from numbo.compiling import turns

    os.nice(NICE)
    threading.Thread(target=_end_with, args=[parent], daemon=True).start()
    with turns.turn(lock, f"compile ahead {algorithm} {part}", 0.0) as mine:
        yield mine


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL)
    os._exit(0)
