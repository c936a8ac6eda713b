"""Interrupts that strike inside a compiled kernel.

A signal handler may raise while machine code returns its result. Python reports that as a `SystemError` whose cause is
what was raised, and a `KeyboardInterrupt` would then be taken for an ordinary error.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


def raise_interrupt(error: BaseException) -> None:
    """Raise the `KeyboardInterrupt`, `SystemExit` or the like that ``error`` stands for, if it does."""
    cause: BaseException | None = error
    while isinstance(cause, SystemError):
        cause = cause.__cause__
    if cause is not None and not isinstance(cause, Exception):
        raise cause


@contextmanager
def interrupts_get_out() -> Iterator[None]:
    """Interrupts that strike inside come out as what they are."""
    try:
        yield
    except SystemError as error:
        raise_interrupt(error)
        raise
