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
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding, ir
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock

from numbo import _forks
from numbo._interrupts import signals_kept
from numbo.compiling import turns

logger = logging.getLogger("numbo")
waits = logging.getLogger("numbo.compiling")
#: Seconds of compiling, and of waiting for it, after which a warning says what one waits for.
LONG = 5.0
#: How the names of the variables begin that hold the environment of a function.
ENVIRONMENT = "_ZN08NumbaEnv"
_patience = 15.0
_seconds = 0.0
_unwritable = False
_announce: Callable[[], None] | None = None
_long: float | None = LONG
_waited = 0.0
_forks.wait_for(global_compiler_lock)


class _Now(threading.local):
    """When this thread began to get a kernel ready, None if it does not, and whether it has had to wait."""

    began: float | None = None
    waiting = False


_now = _Now()


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
    """Defer signals that have a Python handler to the end of the block. All are then handled, even if one raises."""
    with ExitStack() as stack, signals_kept() as arrived:
        stack.callback(_handle, arrived)
        yield


def _handle(arrived: list[tuple[int, Any]]) -> None:
    with ExitStack() as stack:
        for number, frame in reversed(arrived):
            handler: Any = signal.getsignal(number)
            stack.callback(handler, number, frame)


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


class Inlay(JITCodeLibrary):
    """The code of a subroutine, which becomes part of kernels and is optimised and translated with them only.

    Numba would optimise each function on its own, with all that it calls, and translate it to machine code that nobody
    runs. That took as long as the kernels themselves.
    """

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        """Keep the code for callers. What is translated has only the variables by which Numba knows the functions."""
        self._finalized = True
        code = self._get_module_for_linking()
        empty = self._codegen._create_empty_module(code.name)
        for variable in code.global_variables:
            if variable.name.startswith(ENVIRONMENT):
                kept = ir.GlobalVariable(empty, ir.IntType(8).as_pointer(), variable.name)
                kept.linkage = "common"
                kept.initializer = ir.Constant(kept.value_type, None)
        self._final_module = binding.parse_assembly(str(empty))
        super()._finalize_final_module()


class Inlaid(Compiler):
    """Compiles a function to an `Inlay`."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        self.state.library = Inlay(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()
        return super().compile_extra(func)


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
    global _seconds, _waited
    if _now.began is not None:
        yield
        return
    began = _now.began = time.perf_counter()
    _now.waiting = False
    try:
        yield
    finally:
        took = time.perf_counter() - began
        _now.began = None
        _seconds += took
        _waited += took * _now.waiting


def _wait(folder: str | None) -> None:
    """Called while a kernel is compiled or waited for, whose cache is in this folder; after long enough, it warns once.

    Time that went into loading kernels from the cache does not count.
    """
    global _long
    _now.waiting = True
    now = time.perf_counter()
    if _long is None or _waited + now - (_now.began or now) < _long:
        return
    _long = None
    once = f"once, and caches them in {folder}" if folder else "in every process, as no cache folder is writable"
    waits.warning(
        f"numbo compiles its kernels for this machine, {once}. This takes about half a minute, or more if the "
        "processor is busy; numbo.warmup() or `python -m numbo info` does it beforehand."
    )


def _turn(dispatcher: Any, patience: float) -> AbstractContextManager[bool]:
    wait = functools.partial(_wait, cache_path(dispatcher))
    return turns.turn(lock_path(dispatcher), dispatcher.py_func.__qualname__, patience, wait)


def callees(dispatcher: Any) -> list[Any]:
    """The kernels that a kernel calls, directly or not; none comes before one that it calls itself."""
    found: dict[int, Any] = {}

    def visit(function: Any) -> None:
        for name in function.__code__.co_names:
            other = function.__globals__.get(name)
            if isinstance(other, type(dispatcher)) and id(other) not in found:
                visit(other.py_func)
                found[id(other)] = other

    visit(dispatcher.py_func)
    return list(found.values())


def _wait_for_callees(dispatcher: Any) -> None:
    """If a kernel has to be compiled, wait until no other process compiles one that it calls."""
    for callee in callees(dispatcher):
        with _turn(callee, 0.0) as free:
            pass
        if free:
            continue
        if is_cached(dispatcher):
            return
        with _turn(callee, _patience) as came:
            pass
        if not came:  # the other process probably compiles more of them
            return


def _in_turn(dispatcher: Any, compile_: Callable[..., Any]) -> Callable[..., Any]:
    """Compile while no other process compiles the same kernel, with signals deferred.

    Whoever has the compiler's lock waits for no other process: forks and all other threads wait for this lock. So what
    a kernel calls is waited for beforehand. Threads cannot block each other, as a thread that has the lock needs
    nothing else, and processes cannot, as a kernel waits only for kernels that it calls.
    """

    @functools.wraps(compile_)
    def compile_in_turn(*args: Any) -> Any:
        global _announce
        if global_compiler_lock.is_locked():  # by this thread, for a kernel that calls this one
            with _timed(), _turn(dispatcher, 0.0), signals_wait():
                return compile_(*args)
        if _announce is not None and not is_cached(dispatcher):
            say = _announce
            _announce = None
            say()
        with _timed(), _turn(dispatcher, _patience) as came:
            if came:
                _wait_for_callees(dispatcher)
            with global_compiler_lock, signals_wait():
                if not isinstance(dispatcher._cache, KernelCache):
                    _wait(None)
                return compile_(*args)

    return compile_in_turn


def jit(function: Callable[..., Any]) -> Any:
    """Compile lazily in nopython mode, serially, without the GIL, and cache the machine code on disk."""
    return _compiled(function)


def subroutine(function: Callable[..., Any]) -> Any:
    """As `jit`, for a function that only kernels call; a call from Python is refused.

    The wrapper for calls from Python is not compiled. For a NamedTuple that holds others, it has as much code as the
    function itself. Nor is there machine code for it alone (`Inlay`).
    """
    dispatcher = _compiled(function, no_cpython_wrapper=True, no_cfunc_wrapper=True, pipeline_class=Inlaid)

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
