"""Children that are forked while threads of the process compile, each of which uses kernels.

``python -m tests.harness.forks 200`` forks two hundred. The cache is empty at first, in a temporary folder.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Callable

os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp()

from numba.core import event

from numbo.compiling.jit import jit, warn_after

THREADS = 4


@jit
def inner(x: float) -> float:
    return x + 1.0


def made(i: int) -> Callable[[float], float]:
    @jit
    def kernel(x: float) -> float:
        return inner(x) + i

    return kernel


class Compiling(event.Listener):
    """Whether a kernel has begun to compile since the last fork."""

    def __init__(self) -> None:
        self.begun = threading.Event()

    def on_start(self, event: object) -> None:
        self.begun.set()

    def on_end(self, event: object) -> None:
        pass


def fork(children: int) -> list[int]:
    """The exit codes of that many children; none returns if one hangs."""
    warn_after(None)
    compiling = Compiling()
    event.register("numba:compile", compiling)  # type: ignore[no-untyped-call]
    kernels = [made(i) for i in range(children + 1)]
    running = threading.Semaphore(0)

    def compile_all(first: int) -> None:
        for kernel in kernels[first::THREADS]:
            kernel(1.0)
        running.release()

    for first in range(THREADS):
        threading.Thread(target=compile_all, args=[first], daemon=True).start()
    codes = []
    for i in range(children):
        # the last ones may have begun before the event was cleared
        while not all(kernel.overloads for kernel in kernels):  # type: ignore[attr-defined]
            if compiling.begun.wait(0.05):
                break
        child = os.fork()
        if not child:
            os._exit(not all(kernels[k](1.0) == k + 2.0 for k in (i, children)))
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        compiling.begun.clear()
        if all(kernel.overloads for kernel in kernels):  # type: ignore[attr-defined]
            compiling.begun.set()
    for _ in range(THREADS):
        running.acquire()
    return codes


if __name__ == "__main__":
    codes = fork(int(sys.argv[1]))
    print(f"{codes.count(0)} of {len(codes)} children have ended well.")
