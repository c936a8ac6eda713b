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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


@contextmanager
def interrupts_get_out() -> Iterator[None]:
    """Interrupts inside the block are raised as themselves, at the latest when it ends."""
    if threading.current_thread() is not threading.main_thread():  # signals are handled in the main thread
        yield
        return
    before = sys.unraisablehook
    hook, inside_another = _Keep(before), isinstance(before, _Keep) and not before.ended
    try:
        sys.unraisablehook = hook
        yield
    except SystemError as error:
        raise_interrupt(error)
        raise
    finally:
        hook.ended = True
        sys.unraisablehook = before if inside_another else hook.report
    if hook.swallowed:
        raise hook.swallowed[0]


class _Keep:
    """A `sys.unraisablehook` that keeps interrupts and passes the rest to the previous hook."""

    def __init__(self, before: Callable[[Any], Any]) -> None:
        # an interrupt may have left an earlier hook of this kind in place
        self.report: Callable[[Any], Any] = before.report if isinstance(before, _Keep) else before
        self.swallowed: list[BaseException] = []
        self.ended = False

    def __call__(self, unraisable: Any) -> None:
        error = unraisable.exc_value
        if error is None or isinstance(error, Exception):
            self.report(unraisable)
        else:
            self.swallowed.append(error)
