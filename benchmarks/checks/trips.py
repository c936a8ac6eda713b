"""The way of one suggestion and of one told value through the package: files, calls, moves between files, returns.

A move is a call into another file than the call before; a return is a move to a file that was there earlier. Kernels
are not counted: their calls are not Python's.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

import numbo
from benchmarks.checks.situations import SITUATIONS, Situation
from numbo import GSSBO

PACKAGE = Path(numbo.__file__).resolve().parent
#: Trials before the one that is looked at.
TRIALS = 40
#: Suggestions that are looked at; the median counts.
LOOKS = 5
KINDS = (
    "plain",
    "categories",
    "branches",
    "noise",
    "a constraint",
    "two objectives",
    "curves",
    "known errors",
    "a table",
)


class Trip(NamedTuple):
    """How many files a call enters, its calls in the package, moves between files, and returns to a file left."""

    files: int
    calls: int
    moves: int
    returns: int


def trip(action: Callable[[], Any]) -> tuple[Any, Trip]:
    """The result of an ``action``, and its way."""
    files: list[str] = []

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and (name := frame.f_code.co_filename).startswith(str(PACKAGE)):
            files.append(name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        result = action()
    finally:
        sys.setprofile(before)
    stays = [file for file, last in zip(files, ["", *files], strict=False) if file != last]
    return result, Trip(len(set(files)), len(files), max(len(stays) - 1, 0), len(stays) - len(set(files)))


def trips(kind: str) -> tuple[Trip, Trip]:
    """The median ways of a suggestion and of a told value of GSSBO in a situation."""
    situation = SITUATIONS[kind]
    rng = np.random.default_rng(7)
    opt = GSSBO(situation.space, seed=0, **situation.arguments)
    asks: list[Trip] = []
    tells: list[Trip] = []
    for _ in range(TRIALS + LOOKS):
        point, asked = trip(opt.ask)
        given = _given(situation, opt, point, rng)
        _, told = trip(partial(opt.tell, point, **given))
        asks.append(asked)
        tells.append(told)
    return _median(asks[-LOOKS:]), _median(tells[-LOOKS:])


def _given(situation: Situation, opt: Any, point: Any, rng: np.random.Generator) -> dict[str, Any]:
    told = situation.program(opt.space.encode(point), point, rng)
    given = {"value": told.value, "std": told.std, "constraints": told.constraints}
    if told.reports is not None:
        given |= {"reports": told.reports, "partial": told.stopped}
    return {name: value for name, value in given.items() if value is not None}


def _median(ways: list[Trip]) -> Trip:
    return Trip(*(int(np.median(numbers)) for numbers in zip(*ways, strict=True)))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)


def main(arguments: argparse.Namespace) -> None:
    print("| situation | ask: files | calls | moves | returns | tell: files | calls | moves | returns |")
    print("|---" * 9 + "|")
    for kind in arguments.kinds:
        asked, told = trips(kind)
        print("| " + " | ".join(map(str, (kind, *asked, *told))) + " |", flush=True)
