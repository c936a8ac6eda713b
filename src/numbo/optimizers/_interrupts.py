"""Interrupts get out, wherever they strike.

A signal handler may raise while machine code returns its result: Python reports that as a `SystemError` whose cause is
what was raised, and a `KeyboardInterrupt` would then be taken for an ordinary error. Or it raises inside a callback
that cannot raise, such as one from LLVM while a kernel is loaded: Python then reports it to `sys.unraisablehook` and
goes on.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def raise_interrupt(error: BaseException) -> None:
    """Raise the `KeyboardInterrupt`, `SystemExit` or the like that ``error`` stands for, if it does."""
    cause: BaseException | None = error
    while isinstance(cause, SystemError):
        cause = cause.__cause__
    if cause is not None and not isinstance(cause, Exception):
        raise cause


@contextmanager
def interrupts_get_out() -> Iterator[None]:
    """Interrupts that strike inside come out as what they are, at the latest when it ends."""
    if threading.current_thread() is not threading.main_thread():  # signals are handled in the main thread
        yield
        return
    swallowed: list[BaseException] = []
    report = sys.unraisablehook

    def keep(unraisable: Any) -> None:
        error = unraisable.exc_value
        if error is None or isinstance(error, Exception):
            report(unraisable)
        else:
            swallowed.append(error)

    sys.unraisablehook = keep
    try:
        yield
    except SystemError as error:
        raise_interrupt(error)
        raise
    finally:
        sys.unraisablehook = report
    if swallowed:
        raise swallowed[0]
