"""Interrupts at chosen lines of a call."""

from __future__ import annotations

import contextlib
import os
import sys
from itertools import count
from pathlib import Path

import numbo

#: Where an interrupt strikes: in the package's own files, and in what enters and leaves blocks. The files of others may
#: lie in a folder called numbo, too.
PACKAGE = str(Path(numbo.__file__).parent) + os.sep
BLOCKS = contextlib.__file__


class Interrupted(BaseException):
    """Stands for an interrupt at a chosen place."""


def struck(call, at):
    """Whether a call is interrupted at its line ``at``: it may not have so many."""
    lines = 0

    def trace(frame, event, argument):
        nonlocal lines
        name = frame.f_code.co_filename
        if not (name.startswith(PACKAGE) or name == BLOCKS):
            return None
        if event == "line":
            lines += 1
            if lines == at:
                sys.settrace(None)
                raise Interrupted
        return trace

    before = sys.gettrace()  # that of a coverage measurement
    sys.settrace(trace)
    try:
        call()
    except Interrupted:
        return True
    finally:
        sys.settrace(before)
    return False


def interrupted(make, step=1):
    """What ``make`` makes together with a call, after this call was interrupted at its first line, its second, ..."""
    for at in count(1, step):
        one, call = make()
        if not struck(call, at):
            assert at > 50
            return
        yield one
