"""Interrupts always propagate.

A signal handler may raise while machine code returns its result. Python then raises a `SystemError` caused by the
handler's exception, so that a `KeyboardInterrupt` looks like an ordinary error. Or the handler raises inside a callback
that cannot propagate exceptions, such as LLVM's while a kernel is loaded. Python then reports the exception to
`sys.unraisablehook` and continues.
"""

from __future__ import annotations

import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import ContextDecorator, contextmanager
from typing import Any


def raise_interrupt(error: BaseException) -> None:
    """Raise the `KeyboardInterrupt`, `SystemExit` or the like behind ``error``, if there is one."""
    cause: BaseException | None = error
    while isinstance(cause, SystemError):
        cause = cause.__cause__
    if cause is not None and not isinstance(cause, Exception):
        raise cause


@contextmanager
def signals_kept() -> Iterator[list[tuple[int, Any]]]:
    """Signals that have a Python handler are kept in a list, with their frames, until the block ends.

    Only the main thread handles signals.
    """
    arrived: list[tuple[int, Any]] = []
    if threading.current_thread() is not threading.main_thread():
        yield arrived
        return
    handlers = {s: handler for s in map(int, signal.valid_signals()) if callable(handler := signal.getsignal(s))}
    try:
        for s in handlers:
            signal.signal(s, lambda number, frame: arrived.append((number, frame)))
        yield arrived
    finally:
        for s, handler in handlers.items():
            signal.signal(s, handler)


class interrupts_get_out(ContextDecorator):
    """Interrupts inside the block are raised as themselves, at the latest when it ends."""

    _hook: _Keep | None = None

    def _recreate_cm(self) -> interrupts_get_out:  # each call of a decorated function has its own
        return type(self)()

    def __reduce__(self) -> tuple[type[interrupts_get_out], tuple[()]]:  # copies of what keeps it have their own, too
        return type(self), ()

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():  # signals are handled there
            self._before = sys.unraisablehook
            self._hook = _Keep(self._before, self)
            sys.unraisablehook = self._hook

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        hook = self._hook
        if hook is None:
            return
        before = self._before
        sys.unraisablehook = before if isinstance(before, _Keep) and before.block() is not None else hook.report
        if error is None and hook.swallowed:
            raise hook.swallowed[0]
        if isinstance(error, SystemError):
            raise_interrupt(error)


class _Keep:
    """A `sys.unraisablehook` that keeps interrupts while its ``block`` lasts, and passes the rest to the one before.

    An interrupt may leave it in place when the block has ended; it then passes everything on.
    """

    def __init__(self, before: Callable[[Any], Any], block: object) -> None:
        self.report: Callable[[Any], Any] = before.report if isinstance(before, _Keep) else before
        self.swallowed: list[BaseException] = []
        self.block = weakref.ref(block)

    def __call__(self, unraisable: Any) -> None:
        error = unraisable.exc_value
        if error is None or isinstance(error, Exception) or self.block() is None:
            self.report(unraisable)
        else:
            self.swallowed.append(error)
