"""The decorators that compile numbo's kernels, and their cache.

Numba's on-disk cache checks only the file that holds a kernel. After a change of a callee in another file, it would
still use the caller's stale machine code. A digest of *all* kernel sources is therefore part of the name of every cache
file. Storing the digest inside the files is not enough: Numba writes the index before the code, so a killed process
would leave old code under the new digest. If no cache folder is writable (a read-only installation without a home
directory), kernels are compiled in each process. Unreadable files are rewritten. If a file cannot be written, the
kernel is not cached.

Processes that start at the same time, such as the workers of a study, compile each kernel once: the process that has
the kernel's lock compiles it, and the others then find it in the cache. A process waits for a limited time
(`wait_at_most`), since the process with the lock may be stopped or very slow.

If a signal handler raises while LLVM compiles or loads a kernel, LLVM is left in a state that crashes the process
later. So signals that arrive meanwhile are deferred until the kernel is ready.

Whoever waits for the compiler for long is told once, at the next kernel that begins or ends, or while another process
is waited for. No thread or alarm is needed for this.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.compiler_lock import global_compiler_lock

from numbo.compiling import turns

logger = logging.getLogger("numbo")
waits = logging.getLogger("numbo.compiling")
#: Seconds of compiling, and of waiting for it, after which a warning says what one waits for.
LONG = 5.0
_patience = 15.0
_seconds = 0.0
_depth = 0
_unwritable = False
_announce: Callable[[], None] | None = None
_long: float | None = LONG
_began = 0.0
_waited = 0.0
_waiting = False


def wait_at_most(seconds: float) -> None:
    """Set how long this process waits for another one to compile a kernel, before it compiles the kernel itself."""
    global _patience
    _patience = seconds


def announce_by(say: Callable[[], None]) -> None:
    """Let ``say`` be called once, before the first kernel that is not in the cache is compiled or waited for."""
    global _announce
    _announce = say


def warn_after(seconds: float | None) -> float | None:
    """Set after how many seconds of compiling a warning comes, None for none; returns what was set before."""
    global _long
    before = _long
    _long = seconds
    return before


def seconds_spent() -> float:
    """Seconds that this process has spent on getting kernels ready: compiling, loading, waiting for others."""
    return _seconds


@functools.cache
def source_digest() -> str:
    """Digest of all kernel sources, the version of Numba, and the settings that change the compiled code."""
    digest = hashlib.sha256(numba.__version__.encode())
    kernels = Path(__file__).parents[1] / "kernels"
    for path in (*sorted(kernels.glob("*.py")), Path(__file__)):
        digest.update(path.read_bytes())
    digest.update(os.environ.get("NUMBA_BOUNDSCHECK", "").encode())
    return digest.hexdigest()


@contextmanager
def signals_wait() -> Iterator[None]:
    """Defer signals that have a Python handler to the end of the block. Only the main thread handles signals.

    All of them are then handled, even if a handler raises.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {int(s): handler for s in signal.valid_signals() if callable(handler := signal.getsignal(s))}
    arrived: list[tuple[int, Any]] = []
    try:
        for s in handlers:
            signal.signal(s, lambda number, frame: arrived.append((number, frame)))
        yield
    finally:
        for s, handler in handlers.items():
            signal.signal(s, handler)
        with ExitStack() as stack:
            for number, frame in reversed(arrived):
                stack.callback(handlers[number], number, frame)


class KernelCache(FunctionCache):
    """Numba's cache for one kernel, in files named after `source_digest`; cache errors never reach the caller."""

    def __init__(self, py_func: Callable[..., Any]) -> None:
        super().__init__(py_func)
        name = f"{self._impl.filename_base}-{source_digest()[:16]}"
        self._cache_file = IndexDataCacheFile(self._cache_path, name, source_digest())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            found = super().load_overload(sig, target_context)
        except Exception as error:  # a damaged file may raise anything
            if not isinstance(error, OSError):
                with suppress(OSError):
                    self.flush()
            found = None
        if found is None:
            _wait(self.cache_path)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        global _unwritable
        try:
            super().save_overload(sig, data)
        except Exception as error:
            if not _unwritable:
                _unwritable = True
                what = "Compiled kernels cannot be cached, and are compiled again by other processes"
                logger.warning(f"{what}: {self.cache_path} cannot be written ({error}).")
        _wait(self.cache_path)

    def holds_code(self, codegen: Any) -> bool:
        """Whether there is machine code for this processor, for any types."""
        try:
            index = self._cache_file._load_index()
            magic = codegen.magic_tuple()
            files = [self._cache_file._data_path(name) for (_, own, _), name in index.items() if own == magic]
            return any(os.path.getsize(path) for path in files if os.path.exists(path))
        except Exception:
            return False


def cache_path(kernel: Any) -> str | None:
    """The folder where the machine code of a kernel is cached; None if no folder is writable."""
    stats = getattr(kernel, "stats", None)
    return None if stats is None else stats.cache_path


def is_cached(kernel: Any) -> bool:
    """Whether the cache has machine code of a kernel, up to date and for this processor, for any types."""
    cache = getattr(kernel, "_cache", None)
    return isinstance(cache, KernelCache) and cache.holds_code(kernel.targetctx.codegen())


def lock_path(kernel: Any) -> str | None:
    """The file whose locks decide which process compiles a kernel; None if nothing is cached."""
    folder = cache_path(kernel)
    return None if folder is None else os.path.join(folder, "numbo.lock")


@contextmanager
def _timed() -> Iterator[None]:
    """Add the time of the block to `seconds_spent`, unless it is part of another such block."""
    global _seconds, _depth, _began, _waited, _waiting
    started = time.perf_counter()
    if _depth == 0:
        _began = started
        _waiting = False
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if _depth == 0:
            took = time.perf_counter() - started
            _seconds += took
            _waited += took * _waiting


def _wait(folder: str | None) -> None:
    """Called while a kernel is compiled or waited for, whose cache is in this folder; after long enough, it warns once.

    Time that went into loading kernels from the cache does not count.
    """
    global _long, _waiting
    _waiting = True
    if _long is None or _waited + time.perf_counter() - _began < _long:
        return
    _long = None
    once = f"once, and caches them in {folder}" if folder else "in every process, as no cache folder is writable"
    waits.warning(
        f"numbo compiles its kernels for this machine, {once}. This takes about half a minute, or more if the "
        "processor is busy; numbo.warmup() or `python -m numbo info` does it beforehand."
    )


def _in_turn(dispatcher: Any, compile_: Callable[..., Any]) -> Callable[..., Any]:
    """Compile while no other process compiles the same kernel, with signals deferred."""

    @functools.wraps(compile_)
    def compile_in_turn(*args: Any) -> Any:
        global _patience, _announce
        if _announce is not None and not is_cached(dispatcher):
            say = _announce
            _announce = None
            say()
        wait = functools.partial(_wait, cache_path(dispatcher))
        # Threads take the compiler's lock first: a thread with the turn, but without that lock, could block another.
        # Processes cannot block each other, as a kernel waits only for kernels that it calls.
        with (
            global_compiler_lock,
            _timed(),
            turns.turn(lock_path(dispatcher), dispatcher.py_func.__qualname__, _patience, wait) as came,
        ):
            usual = _patience
            if not came:  # the other process probably has the turn of one of this kernel's callees, too
                _patience = 0.0
            try:
                with signals_wait():
                    if not isinstance(dispatcher._cache, KernelCache):
                        wait()
                    return compile_(*args)
            finally:
                _patience = usual

    return compile_in_turn


def jit(function: Callable[..., Any]) -> Any:
    """Compile lazily in nopython mode, serially, without the GIL, and cache the machine code on disk."""
    return _compiled(function)


def subroutine(function: Callable[..., Any]) -> Any:
    """As `jit`, for a function that only kernels call; a call from Python is refused.

    The wrapper for calls from Python is not compiled. For a NamedTuple that holds others, it has as much code as the
    function itself.
    """
    dispatcher = _compiled(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{function.__name__} is called by kernels only.")

    if dispatcher is not function:  # as it is under NUMBA_DISABLE_JIT
        dispatcher._compile_for_args = refuse
        dispatcher.add_overload = lambda result: dispatcher.overloads.update({tuple(result.signature.args): result})
    return dispatcher


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    dispatcher: Any = numba.njit(nogil=True, error_model="numpy", **options)(function)
    if hasattr(dispatcher, "enable_caching"):  # a plain function under NUMBA_DISABLE_JIT
        with suppress(AttributeError, OSError, RuntimeError):  # which mean that no folder is writable
            dispatcher._cache = KernelCache(function)
        dispatcher.compile = _in_turn(dispatcher, dispatcher.compile)
    return dispatcher
