"""Options that several commands have."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from benchmarks.storage import RESULTS

Value = TypeVar("Value")


def one_of(kind: str, known: Iterable[Value], of: Callable[[str], Value]) -> Callable[[str], Value]:
    """A type of arguments for `argparse`: what ``of`` makes of the text, which is one of the ``known`` values."""
    values = list(known)

    def checked(text: str) -> Value:
        try:
            value = of(text)
        except ValueError:
            value = None
        if value not in values:
            raise argparse.ArgumentTypeError(f"{kind} must be one of {', '.join(map(str, values))}; got {text!r}")
        return value

    return checked


def add_names(
    parser: argparse.ArgumentParser,
    option: str,
    kind: str,
    known: Iterable[str],
    default: Sequence[str] | None = None,
    *,
    help: str = "all by default",
) -> None:
    """An option that takes some of the ``known`` names of a kind."""
    names = list(known)
    default = names if default is None else list(default)
    parser.add_argument(
        option, nargs="+", metavar=kind.upper(), type=one_of(kind, names, str), default=default, help=help
    )


def add_name(parser: argparse.ArgumentParser, name: str) -> None:
    """Of the files in ``benchmarks/results``."""
    parser.add_argument("--name", default=name, help="results go to benchmarks/results/NAME.jsonl and NAME.md")


def add_runs(parser: argparse.ArgumentParser, *, seeds: int, jobs: int | None = None) -> None:
    """Number of seeds, and of runs at the same time: one for each core by default."""
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--jobs", type=int, default=jobs or os.cpu_count(), help="number of runs at the same time")


def results(arguments: argparse.Namespace) -> Path:
    """The file that `add_name` names."""
    return RESULTS / f"{arguments.name}.jsonl"
